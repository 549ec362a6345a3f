"""Whether the extractor or judge behind a run's scores still says what it said when its replies were pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.runstore import Ledger, Run
from looseleaf.scoring.drift import DriftRow, PairedChange, drift_items, item_value, paired_change
from looseleaf.scoring.registry import JudgeScorer, Scorer, get_scorer

__all__ = ["Drift", "drift_of", "drift_warning"]

SECONDS = 19
"""Characters of an ISO 8601 time up to its seconds."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """One replay of the drift items beside a run's scores.

    Attributes:
        role: `extractor` or `judge`.
        name: who plays it.
        scorer: the scorer that makes values of the replies.
        replay: when the replay began.
        pinned: when the pinned replies began.
        models: models that answered in the replay, as their server named them; empty where it did not say.
        pinned_models: models that gave the pinned replies, likewise.
        same: items whose reply is the same word for word.
        replied: items that got a reply.
        change: the values now against the pinned ones.
    """

    role: str
    name: str
    scorer: str
    replay: str
    pinned: str
    models: tuple[str, ...]
    pinned_models: tuple[str, ...]
    same: int
    replied: int
    change: PairedChange

    @property
    def is_reference(self) -> bool:
        """Whether this replay pinned the replies, so that there is nothing to hold it against."""
        return self.replay == self.pinned

    def text(self) -> str:
        """One sentence."""
        who = f"The {self.role} {self.name} ({_models(self.models)}, {self.replay[:SECONDS]})"
        if self.is_reference:
            return (
                f"{who} was pinned by this run on {self.replied} drift items; later runs are held against it."
            )
        change = self.change
        if change.mean is None or change.low is None or change.high is None:
            return f"{who} got no drift item to hold against the pinned ones."
        moved = f"{_points(change.mean)} points [{_points(change.low)}, {_points(change.high)}]"
        return (
            f"{who} against {_models(self.pinned_models)}, {self.pinned[:SECONDS]}: mean(now − pinned) "
            f"of {self.scorer} is {moved} on {change.n} of {change.items} drift items ({change.up} up, "
            f"{change.down} down, exact p = {change.p_value:.3g}; {self.replied - self.same} replies differ)."
        )

    def warning(self) -> str | None:
        """The sentence for a comparison, where the interval excludes 0."""
        if self.is_reference or not self.change.excludes_zero:
            return None
        return f"Scorer drift, so scores of different days may not compare. {self.text()}"


def drift_of(run: Run, score_id: str) -> Drift | None:
    """The latest replay of the extractor or judge behind a ledger of scores; `None` where there was none.

    Raises:
        RunError: a ledger cannot be read.
    """
    scorer = _scorer_of(run, score_id)
    if scorer is None:
        return None
    role, spec = _role_of(run, score_id, scorer)
    for drift_id, found in run.sidecars("drift").items():
        serves = found.get("scorer", scorer.name) == scorer.name
        if serves and (found.get("role"), found.get("model")) == (role, spec):
            return _drift(run, drift_id, found, scorer)
    return None


def drift_warning(run: Run, score_id: str | None = None) -> list[str]:
    """What a comparison with this run must say about its extractor or judge; nothing where it did not drift.

    Args:
        run: the run.
        score_id: ledger of the scores; that of the last scoring by default.
    """
    score_id = score_id or run.manifest.get("score", {}).get("score_id")
    found = drift_of(run, score_id) if score_id else None
    warning = found.warning() if found else None
    return [f"{run.path.resolve().name}: {warning}"] if warning else []


def _scorer_of(run: Run, score_id: str) -> Scorer | JudgeScorer | None:
    name = run.sidecars("scores").get(score_id, {}).get("scorer", "")
    try:
        return get_scorer(str(name))
    except ConfigError:  # somebody's own, or one of a later version
        return None


def _role_of(run: Run, score_id: str, scorer: Scorer | JudgeScorer) -> tuple[str, Any]:
    scores = run.sidecars("scores")[score_id]
    if isinstance(scorer, JudgeScorer):
        return "judge", scores.get("judge")
    return "extractor", run.sidecars("extractions").get(str(scores.get("extraction_id")), {}).get("extractor")


def _drift(run: Run, drift_id: str, found: Mapping[str, Any], scorer: Scorer | JudgeScorer) -> Drift:
    ledger = Ledger(run.path / "drift" / f"{drift_id}.jsonl", DriftRow)
    rows = {row.item_id: row for row in ledger.read() if row.replay == found["replay"]}
    pairs = [(item, rows[item.item_id]) for item in drift_items() if item.item_id in rows]
    spec = found["model"]
    return Drift(
        role=found["role"],
        name=":".join(filter(None, [spec.get("backend"), spec.get("argument")])),
        scorer=scorer.name,
        replay=found["replay"],
        pinned=found["pinned"],
        models=tuple(found["models"]),
        pinned_models=tuple(found["pinned_models"]),
        same=sum(row.text is not None and row.text == row.pinned for _, row in pairs),
        replied=sum(row.text is not None for _, row in pairs),
        change=paired_change(
            [item_value(scorer, item, row.pinned) for item, row in pairs],
            [item_value(scorer, item, row.text) for item, row in pairs],
        ),
    )


def _models(names: tuple[str, ...]) -> str:
    return " and ".join(names) or "snapshot not recorded"


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"
