"""The kinds of stages by name: what their items and records are, and how to make one from its context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from looseleaf.runner.executor.stage import Stage

__all__ = ["Kind", "kind_named"]


class Kind(NamedTuple):
    """One kind of stage."""

    item: Any
    record: Any
    make: Callable[[bytes], Stage[Any, Any]]


def kind_named(name: str) -> Kind:
    """The kind of that name.

    Raises:
        KeyError: there is none.
    """
    from looseleaf.runner import answering, bootstrapping, indexing, scoring_stages
    from looseleaf.runstore import ExtractionRow, ReadingRow, ScoreRow
    from looseleaf.trajectory import Trajectory

    kinds = {
        "answer": Kind(answering.Job, Trajectory, answering.AnswerStage.of),
        "read": Kind(scoring_stages.ToRead, ReadingRow, scoring_stages.ReadStage.of),
        "extract": Kind(scoring_stages.Response, ExtractionRow, scoring_stages.ExtractStage.of),
        "score": Kind(scoring_stages.ToScore, ScoreRow, scoring_stages.ScoreStage.of),
        "index": Kind(indexing.IndexJob, indexing.Indexed, indexing.IndexStage.of),
        "bootstrap": Kind(bootstrapping.Sums, bootstrapping.Ratios, bootstrapping.BootstrapStage.of),
    }
    return kinds[name]
