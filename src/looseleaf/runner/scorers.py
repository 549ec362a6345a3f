"""Scorers as the runner uses them: from a response and an extraction to a stored score row."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from looseleaf.errors import AgentError, ConfigError, FaultError, boundary
from looseleaf.roles import Judge, Judgement, Usage
from looseleaf.runner.answers import Response
from looseleaf.runner.checked import role_result
from looseleaf.runstore import ExtractionRow, ScoreRow
from looseleaf.score import Score, Unscored
from looseleaf.scoring.registry import JudgeScorer, Scorer, default_scorer, get_scorer

__all__ = ["JudgeScoring", "RuleScoring", "ScoringRule", "rule_named"]

EMPTY_PREDICTION = Score(value=0.0)
"""A trajectory without an answer has an empty prediction and scores 0 by rule (AWM: budget spent, s_ans = 0)."""


class Scored(NamedTuple):
    """What became of one response."""

    score: Score
    prediction: Any = None
    upstream_value: float | None = None
    error: str | None = None
    usage: Usage = Usage()


class ScoringRule(Protocol):
    """Makes score rows."""

    @property
    def name(self) -> str:
        """Canonical scorer name."""

    @property
    def wants_extraction(self) -> bool:
        """Whether responses pass through the extractor first."""

    async def scored(self, response: Response, extraction: ExtractionRow | None) -> Scored:
        """The score of one response that is there; faults become unscored."""


class RuleScoring:
    """A scorer that is a pure function of gold and prediction."""

    wants_extraction = True

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.name = scorer.name

    async def scored(self, response: Response, extraction: ExtractionRow | None) -> Scored:
        """Parse the extraction as upstream does and apply the rule."""
        if extraction is None:
            return Scored(self._scorer.score_answer(response.question, response.text), response.text)
        upstream = self._scorer.upstream_value(response.question, extraction.text)
        if extraction.text is None:
            return Scored(Score(unscored=Unscored.EXTRACTOR_FAULT), None, upstream, extraction.error)
        try:
            answer = self._scorer.parse(extraction.text)
        except ValueError as problem:
            return Scored(Score(unscored=Unscored.EXTRACTOR_FAULT), None, upstream, str(problem))
        return Scored(self._scorer.score_answer(response.question, answer), answer, upstream)


class JudgeScoring:
    """A scorer that asks a judge."""

    def __init__(self, scorer: JudgeScorer, judge: Judge) -> None:
        self._scorer = scorer
        self._judge = judge
        self.name = scorer.name
        self.wants_extraction = scorer.wants_extraction

    async def scored(self, response: Response, extraction: ExtractionRow | None) -> Scored:
        """Ask the judge and parse the reply strictly."""
        prompt = self._scorer.prompt_for(response.question, response.text)
        try:
            with boundary(AgentError, "The judge failed"):
                reply = await role_result(self._judge.judge(prompt), Judgement, "judge")
        except FaultError as problem:
            unscored = Score(unscored=Unscored.JUDGE_FAULT)
            return Scored(unscored, response.text, self._scorer.upstream(None), str(problem))
        score = self._scorer.parse(reply.text)
        error = None if score.scored else f"The judge's reply holds no verdict: {reply.text[:REPLY_SHOWN]}"
        return Scored(score, response.text, self._scorer.upstream(reply.text), error, reply.usage)


REPLY_SHOWN = 200
"""Characters of a reply without verdict that its error keeps."""


async def score_row(
    rule: ScoringRule, response: Response, extraction_id: str | None, extraction: ExtractionRow | None
) -> ScoreRow:
    """The stored score of one response, there or not."""
    if response.unscored is not None:
        scored = Scored(Score(unscored=response.unscored), error=response.error)
    elif not response.text:
        scored = Scored(EMPTY_PREDICTION, "", 0.0)
    else:
        scored = await rule.scored(response, extraction)
    return ScoreRow(
        trajectory_id=response.trajectory_id,
        target=response.target,
        reading_id=response.reading_id,
        extraction_id=extraction_id,
        variant=response.variant,
        sample_index=response.sample_index,
        prediction=scored.prediction,
        value=scored.score.value,
        unscored=scored.score.unscored,
        upstream_raises=scored.score.upstream_raises,
        upstream_value=scored.upstream_value,
        error=scored.error,
        usage=scored.usage,
    )


def rule_named(name: str, benchmark: str, judge: Judge | None) -> ScoringRule:
    """The scoring rule of that canonical name, or the benchmark's own for an empty name.

    Raises:
        ConfigError: there is no such scorer, or it needs a judge and there is none.
    """
    scorer = get_scorer(name or default_scorer(benchmark))
    if isinstance(scorer, Scorer):
        return RuleScoring(scorer)
    if judge is None:
        raise ConfigError(f"The scorer {scorer.name} needs a judge; add --judge openai:MODEL.")
    return JudgeScoring(scorer, judge)
