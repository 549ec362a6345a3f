"""Scorers by their canonical, printable names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.question import Question
from looseleaf.score import Score, Unscored
from looseleaf.scoring import (
    binary_judge,
    dude,
    equivalence_judge,
    extraction,
    longdocurl,
    mmlongbench,
    qasper,
)

__all__ = ["SCORERS", "JudgeScorer", "References", "Scorer", "default_scorer", "get_scorer"]


class References(StrEnum):
    """Which of a question's reference answers a scorer compares with."""

    FIRST = "first"
    """The first one only, as the official scripts do."""
    ALL = "all"
    """All at once: the rule itself takes a list."""
    BEST = "best"
    """Each by itself; the best score counts."""


class Scorer(msgspec.Struct, frozen=True, kw_only=True):
    """A scorer that is a pure function of gold answer and prediction.

    Attributes:
        name: canonical name; it is the table header and the command-line argument.
        title: what it is, in words.
        official: whether it is a benchmark's own rule.
        score: `score(gold, prediction, answer_format)`.
        parse: takes the short answer out of an extractor's output as upstream does; `ValueError` where it cannot.
        read: what the official pipeline makes of a short answer before it is scored.
        upstream: what the official pipeline records for an extractor's output, or for `None` (the extractor failed),
            a gold answer and a format; `None` where it records nothing or there is no official pipeline.
        references: which reference answers are used.
    """

    name: str
    title: str
    official: bool
    score: Callable[[Any, Any, str], Score]
    parse: Callable[[str], str] = extraction.short_answer
    read: Callable[[str], Any] = str
    upstream: Callable[[str | None, Any, str], float | None] = lambda text, gold, answer_format: None
    references: References = References.FIRST

    def golds_of(self, question: Question) -> list[Any]:
        """The gold answers of a question, each in the form that `score` takes."""
        if self.references is References.ALL:
            return [list(question.references)]
        return list(question.references[:1] if self.references is References.FIRST else question.references)

    def score_answer(self, question: Question, answer: str) -> Score:
        """The score of a short answer to a question; unscored where the question has no reference answer."""
        if not question.references:
            return Score(unscored=Unscored.NO_GOLD)
        prediction = self.read(answer)
        scores = [self.score(gold, prediction, question.answer_format) for gold in self.golds_of(question)]
        return max(scores, key=lambda scored: scored.value or 0.0)

    def upstream_value(self, question: Question, extractor_text: str | None) -> float | None:
        """What the official pipeline records for an extractor's output on this question."""
        if not question.references:
            return None
        return self.upstream(extractor_text, self.golds_of(question)[0], question.answer_format)


class JudgeScorer(msgspec.Struct, frozen=True, kw_only=True):
    """A scorer that asks a judge.

    Attributes:
        name: canonical name.
        title: what it is, in words.
        prompt: `prompt(question, gold, response, answer_format)`, the text for the judge.
        parse: the score in a reply; unscored where it has none.
        upstream: what the benchmark that has such a judge records for a reply, or for `None` (the judge failed).
        wants_extraction: whether the response goes through the extractor first.
    """

    name: str
    title: str
    prompt: Callable[[str, Any, str, str], str]
    parse: Callable[[str], Score]
    upstream: Callable[[str | None], float | None]
    wants_extraction: bool = False

    def prompt_for(self, question: Question, response: str) -> str:
        """The prompt for a response to a question; only its first reference is shown."""
        gold = question.references[0] if question.references else ""
        return self.prompt(question.question, gold, response, question.answer_format)


def _mmlongbench_upstream(text: str | None, gold: Any, answer_format: str) -> float | None:
    return mmlongbench.official_pipeline(text, gold, answer_format).value


def _longdocurl_upstream(text: str | None, gold: Any, answer_format: str) -> float | None:
    recorded = longdocurl.official_pipeline(text, gold, answer_format)
    return recorded.value if recorded.written else None


def _equivalence_upstream(reply: str | None) -> float:
    return equivalence_judge.parse(reply or "").value or 0.0


_ALL: Final[tuple[Scorer | JudgeScorer, ...]] = (
    Scorer(
        name="mmlongbench",
        title="MMLongBench-Doc, official rule",
        official=True,
        score=mmlongbench.score,
        parse=mmlongbench.parse_extraction,
        upstream=_mmlongbench_upstream,
    ),
    Scorer(
        name="mmlongbench.safe",
        title="MMLongBench-Doc, safe rule (not official)",
        official=False,
        score=mmlongbench.safe,
        references=References.BEST,
    ),
    Scorer(
        name="longdocurl",
        title="LongDocURL, official rule",
        official=True,
        score=longdocurl.score,
        parse=longdocurl.parse_extraction,
        read=longdocurl.official_prediction,
        upstream=_longdocurl_upstream,
    ),
    Scorer(
        name="longdocurl.safe",
        title="LongDocURL, safe rule (not official)",
        official=False,
        score=longdocurl.safe,
        references=References.BEST,
    ),
    Scorer(
        name="dude.anls",
        title="DUDE, ANLS, official rule",
        official=True,
        score=dude.score,
        read=dude.answers,
        references=References.ALL,
    ),
    Scorer(
        name="qasper.f1",
        title="QASPER, token F1, official rule",
        official=True,
        score=qasper.score,
        read=qasper.spelled_refusal,
        references=References.ALL,
    ),
    JudgeScorer(
        name="judge.binary",
        title="judge 0/1 in the manner of MDocAgent",
        prompt=binary_judge.prompt,
        parse=binary_judge.parse,
        upstream=binary_judge.upstream_value,
    ),
    JudgeScorer(
        name="judge.equivalence",
        title="equivalence judge in the manner of MMLongBench-Doc-V2",
        prompt=equivalence_judge.prompt,
        parse=equivalence_judge.parse,
        upstream=_equivalence_upstream,
    ),
)

SCORERS: Final[Mapping[str, Scorer | JudgeScorer]] = MappingProxyType(
    {scorer.name: scorer for scorer in _ALL}
)
"""Every scorer by its canonical name."""

_DEFAULTS: Final[Mapping[str, str]] = {
    "mmlongbench-doc": "mmlongbench",
    "procedural": "mmlongbench",
    "longdocurl": "longdocurl",
    "papertab": "qasper.f1",
    "papertext": "qasper.f1",
    "fetatab": "qasper.f1",
    "dude": "dude.anls",
    "dude-sub": "dude.anls",
}


def get_scorer(name: str) -> Scorer | JudgeScorer:
    """The scorer of this name; capitals are accepted.

    Raises:
        ConfigError: there is none.
    """
    found = SCORERS.get(name.strip().lower())
    if found is None:
        raise ConfigError(f"There is no scorer {name!a:.60}; use one of {', '.join(SCORERS)}.")
    return found


def default_scorer(benchmark: str) -> str:
    """Name of the official rule of a benchmark, or of the safe rule for question sets that have none.

    PaperTab, PaperText and FetaTab get token F1, the rule of UDA, where they come from; ALDEN and MDocAgent report
    `judge.binary` on them.
    """
    return _DEFAULTS.get(benchmark.strip().lower().replace("_", "-"), "mmlongbench.safe")
