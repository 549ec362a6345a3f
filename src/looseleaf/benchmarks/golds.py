"""Whether a gold answer can be reached at all under its benchmark's official rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from looseleaf.question import Question
from looseleaf.score import Score
from looseleaf.scoring import dude, longdocurl, mmlongbench, qasper

__all__ = ["gold_against_itself"]


def _mmlongbench(question: Question) -> Score:
    gold = question.references[0]
    return mmlongbench.score(gold, gold, question.answer_format)


def _longdocurl(question: Question) -> Score:
    gold = question.references[0]
    return longdocurl.score(gold, gold, question.answer_format)


def _qasper(question: Question) -> Score:
    """The best reference given as the prediction: a reference of articles and punctuation alone has no token."""
    references = list(question.references)
    scores = [qasper.score(references, reference) for reference in references]
    return max(scores, key=lambda score: score.value or 0.0)


def _dude(question: Question) -> Score:
    answers = list(question.references)
    return dude.score(answers, answers, question.answer_format)


_RULES: Mapping[str, Callable[[Question], Score]] = {
    "dude": _dude,
    "dude-sub": _dude,
    "fetatab": _qasper,
    "longdocurl": _longdocurl,
    "mmlongbench-doc": _mmlongbench,
    "papertab": _qasper,
    "papertext": _qasper,
    "procedural": _mmlongbench,
}
"""Official rule by benchmark; one's own questions and training questions have none."""


def gold_against_itself(question: Question) -> Score | None:
    """The score of the gold answer given as the prediction, or `None` where the set has no official rule."""
    rule = _RULES.get(question.benchmark)
    return None if rule is None or not question.references else rule(question)
