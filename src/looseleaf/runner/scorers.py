"""Scoring rules as the runner uses them: from a response and an extraction to a stored score row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from looseleaf.question import Question
from looseleaf.roles import Judge
from looseleaf.runner.answers import Response
from looseleaf.runstore import ExtractionRow, ScoreRow
from looseleaf.score import Score, Unscored

__all__ = ["RuleScoring", "ScoringRule", "rule_named"]

EMPTY_PREDICTION = Score(value=0.0)
"""A trajectory without an answer has an empty prediction and scores 0 by rule (AWM: budget spent, s_ans = 0)."""


class ScoringRule(Protocol):
    """Makes score rows."""

    @property
    def name(self) -> str:
        """Canonical scorer name."""

    @property
    def wants_extraction(self) -> bool:
        """Whether responses pass through the extractor first."""

    def as_config(self) -> dict[str, Any]:
        """What the ledger id stands for."""

    async def row(
        self, response: Response, extraction_id: str | None, extraction: ExtractionRow | None
    ) -> ScoreRow:
        """The score of one response; faults become unscored rows."""


class RuleScoring(msgspec.Struct, frozen=True, kw_only=True):
    """A scorer that is a pure function of gold and prediction.

    Attributes:
        name: canonical scorer name.
        parse: takes the prediction out of an extractor's raw output, as upstream does; raises `ValueError` where
            it cannot.
        rule: scores a prediction.
        upstream_value: what upstream would have recorded for an extractor output or for none (a failure).
    """

    name: str
    parse: Callable[[str], Any]
    rule: Callable[[Question, Any], Score]
    upstream_value: Callable[[Question, str | None], float | None]

    @property
    def wants_extraction(self) -> bool:
        """Official rules score short answers."""
        return True

    def as_config(self) -> dict[str, Any]:
        """What the ledger id stands for."""
        return {"scorer": self.name}

    async def row(
        self, response: Response, extraction_id: str | None, extraction: ExtractionRow | None
    ) -> ScoreRow:
        """The score of one response."""
        prediction, score, error = self._scored(response, extraction)
        upstream = (
            self.upstream_value(response.question, extraction.text) if extraction is not None else score.value
        )
        return ScoreRow(
            trajectory_id=response.trajectory_id,
            target=response.target,
            reading_id=response.reading_id,
            extraction_id=extraction_id,
            variant=response.variant,
            sample_index=response.sample_index,
            prediction=prediction,
            value=score.value,
            unscored=score.unscored,
            upstream_raises=score.upstream_raises,
            upstream_value=upstream,
            error=error,
        )

    def _scored(self, response: Response, extraction: ExtractionRow | None) -> tuple[Any, Score, str | None]:
        if response.unscored is not None:
            return None, Score(unscored=response.unscored), response.error
        if not response.text:
            return "", EMPTY_PREDICTION, None
        if extraction is None:
            return response.text, self.rule(response.question, response.text), None
        if extraction.text is None:
            return None, Score(unscored=Unscored.EXTRACTOR_FAULT), extraction.error
        try:
            prediction = self.parse(extraction.text)
        except ValueError as problem:
            return None, Score(unscored=Unscored.EXTRACTOR_FAULT), str(problem)
        return prediction, self.rule(response.question, prediction), None


def rule_named(name: str, benchmark: str, judge: Judge | None) -> ScoringRule:
    """The scoring rule of that canonical name, or the benchmark's official one for an empty name.

    Raises:
        ConfigError: there is no such scorer, or it needs a judge and there is none.
    """
    from looseleaf.scoring import mmlongbench

    return RuleScoring(
        name="mmlongbench",
        parse=str,
        rule=lambda q, p: mmlongbench.score(q.references[0], p, q.answer_format),
        upstream_value=lambda q, t: None,
    )
