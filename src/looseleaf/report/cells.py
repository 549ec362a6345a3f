"""How one metric value is printed."""

from __future__ import annotations

from looseleaf.metrics import METRICS, MetricValue

__all__ = ["interval_text", "scored_text", "value_text"]


def value_text(value: MetricValue) -> str:
    """The value in percent or as a number, `–` where it is undefined."""
    return _number(value, value.value)


def interval_text(value: MetricValue) -> str:
    """The interval, and the bounds in brackets where rows are unscored."""
    parts = []
    if value.interval is not None:
        parts.append(f"{_number(value, value.interval.low)} – {_number(value, value.interval.high)}")
    if value.n_scored < value.n and value.lowest is not None:
        parts.append(f"[{_number(value, value.lowest)} … {_number(value, value.highest)}]")
    return " ".join(parts)


def scored_text(value: MetricValue) -> str:
    """`n_scored / n`, or `n` where they are equal."""
    return str(value.n) if value.n == value.n_scored else f"{value.n_scored} / {value.n}"


def _number(value: MetricValue, number: float | None) -> str:
    if number is None:
        return "–"
    metric = METRICS.get(value.name)
    return f"{100 * number:.1f}" if metric is None or metric.percent else f"{number:.2f}"
