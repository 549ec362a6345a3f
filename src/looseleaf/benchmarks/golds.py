"""Whether a gold answer can be reached at all under its benchmark's official rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from looseleaf.question import Question
from looseleaf.score import Score
from looseleaf.scoring import longdocurl, mmlongbench

__all__ = ["gold_against_itself"]


def _mmlongbench(question: Question) -> Score:
    gold = question.references[0]
    return mmlongbench.score(gold, gold, question.answer_format)


def _longdocurl(question: Question) -> Score:
    gold = question.references[0]
    return longdocurl.score(gold, gold, question.answer_format)


_RULES: Mapping[str, Callable[[Question], Score]] = {
    "longdocurl": _longdocurl,
    "mmlongbench-doc": _mmlongbench,
    "procedural": _mmlongbench,
}
"""Official rule by benchmark; one's own questions and training questions have none."""


def gold_against_itself(question: Question) -> Score | None:
    """The score of the gold answer given as the prediction, or `None` where the set has no official rule."""
    rule = _RULES.get(question.benchmark)
    return None if rule is None or not question.references else rule(question)
