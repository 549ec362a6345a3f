"""What policies that read nothing score: a protocol under which they do well leaks the answer."""

from __future__ import annotations

from typing import NamedTuple

from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.errors import DataError
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.scoring.registry import Scorer, default_scorer, get_scorer

__all__ = ["ConstantScores", "constant_scores"]


class ConstantScores(NamedTuple):
    """What "Not answerable" scores under the set's own rule. Accuracies are shares, 0 to 1.

    Attributes:
        questions: how many have a gold answer and their document.
        without_pages: how many of them list no gold page.
        always: accuracy of refusing every question.
        informed: accuracy of refusing only where the set lists no gold page and being wrong elsewhere, as a protocol
            that shows the gold pages would let any model do.
        reveals: whether every question without gold pages is unanswerable, so that seeing none gives the answer away.
    """

    questions: int
    without_pages: int
    always: float
    informed: float
    reveals: bool


def constant_scores(question_set: QuestionSet) -> ConstantScores:
    """Score "Not answerable" on every question that has its document.

    Raises:
        DataError: no question has a gold answer.
    """
    scorer = get_scorer(default_scorer(question_set.name))
    assert isinstance(scorer, Scorer)  # benchmarks' own rules are functions, not judges
    scored = [
        (scorer.score_answer(question, NOT_ANSWERABLE).value, bool(question.evidence_pages))
        for question in question_set.runnable
    ]
    rows = [(value, has_pages) for value, has_pages in scored if value is not None]
    if not rows:
        raise DataError(
            f"{question_set.name} has no gold answers here, so constant policies cannot be scored; add answers."
        )
    without = [value for value, has_pages in rows if not has_pages]
    return ConstantScores(
        questions=len(rows),
        without_pages=len(without),
        always=sum(value for value, _ in rows) / len(rows),
        informed=sum(without) / len(rows),
        reveals=bool(without) and sum(without) == len(without),
    )
