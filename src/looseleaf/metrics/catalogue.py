"""All metrics by their canonical names."""

from __future__ import annotations

from looseleaf.errors import ConfigError
from looseleaf.metrics.answers import ANSWER_METRICS
from looseleaf.metrics.memory import MEMORY_METRICS
from looseleaf.metrics.metric import Metric
from looseleaf.metrics.navigation import NAVIGATION_METRICS

__all__ = ["METRICS", "metric_named"]

METRICS: dict[str, Metric] = {m.name: m for m in (*ANSWER_METRICS, *MEMORY_METRICS, *NAVIGATION_METRICS)}


def metric_named(name: str) -> Metric:
    """The metric of that canonical name.

    Raises:
        ConfigError: there is none.
    """
    if name not in METRICS:
        raise ConfigError(f"There is no metric {name!r}; use one of {', '.join(METRICS)}.")
    return METRICS[name]
