"""DUDE: average normalised Levenshtein similarity (ANLS) of one question, the official rule.

Source: Jordy-VL/DUDEeval @ 8bd6dea, `evaluate_submission.py`. Written anew from its behaviour.

Quirks, all reproduced:

1. Both texts are lower-cased and their whitespace is squeezed before the distance is taken, but the length that it is
   divided by is that of the raw texts in upper case.
2. The best of the gold answers counts; answer variants do not. A similarity below 0.5 is 0; exactly 0.5 stays (in
   MMLongBench-Doc it is 0).
3. A prediction is a list of texts: of several, the first counts; an empty list is the text "".
4. `not-answerable`: the gold answers [] and [""] both stand for "", so that an empty prediction is 1 and any text, "Not
   answerable" included, is 0. `answers` turns a refusal into the empty prediction.
5. Answer types that contain "list" match the two lists one to one by the same similarity, 0 below 0.5, and divide the
   sum by the larger of the number of *different* gold answers and the number of predictions.
6. Gold answers [] of any other type raise `ValueError` ("not answerable" without the hyphen is such a type).

Where upstream divides 0 by 0 (a list without gold answers and predictions) the row is unscored: there is no gold.
The sum over matched pairs is exact to the last bit unless several matchings are equally good; then it may differ from
upstream's in the last bit (21 of 20,000 random matrices that are full of ties).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from looseleaf.score import Score, Unscored
from looseleaf.scoring.assignment import best_matching
from looseleaf.scoring.matching import edit_distance
from looseleaf.scoring.short_answers import is_refusal, listed_items

__all__ = ["THRESHOLD", "answers", "score", "similarity"]

THRESHOLD: Final = 0.5
"""Similarities below this are 0 (upstream's default `--anls_threshold`)."""


def score(gold: Any, prediction: Any, answer_format: str) -> Score:
    """ANLS of one question.

    Args:
        gold: the gold answers, a list of texts (one text is a list of one).
        prediction: the predicted answers, a list of texts; one text is a list of one, `None` the empty list.
        answer_format: DUDE's `answer_type`, e.g. `extractive`, `list/abstractive`, `not-answerable`.
    """
    golds, predictions = _texts(gold), _texts(prediction)
    if answer_format == "not-answerable":
        golds, predictions = golds or [""], predictions or [""]
    if "list" in answer_format:
        if not golds and not predictions:
            return Score(unscored=Unscored.NO_GOLD)
        return Score(value=_list_similarity(golds, predictions))
    if not golds:
        return Score(value=0.0, upstream_raises="ValueError")
    first = predictions[0] if predictions else ""
    return Score(value=max(similarity(answer, first) for answer in golds))


def answers(text: str) -> list[str]:
    """The prediction that a short answer stands for: none for a refusal, the items of a list, else the text itself."""
    if is_refusal(text):
        return []
    return listed_items(text) or [text]


def similarity(gold: str, prediction: str) -> float:
    """Similarity of two texts, 0 below `THRESHOLD`."""
    distance = edit_distance(_squeezed(gold), _squeezed(prediction))
    length = max(len(gold.upper()), len(prediction.upper()))
    value = 1.0 if length == 0 else 1 - distance / length
    return 0.0 if value < THRESHOLD else value


def _list_similarity(golds: Sequence[str], predictions: Sequence[str]) -> float:
    import numpy as np  # here, so that importing the scorers stays light

    if not golds or not predictions:
        return 0.0
    # The shorter list gives the rows, the predictions where both are as long: the order in which upstream adds up.
    rows, columns = (golds, predictions) if len(golds) < len(predictions) else (predictions, golds)
    table = [[similarity(row, column) for column in columns] for row in rows]
    matched = [table[row][column] for row, column in best_matching(table)]
    return float(np.sum(matched) / max(len(set(golds)), len(predictions)))


def _squeezed(text: str) -> str:
    return " ".join(text.lower().split())


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    items = value if isinstance(value, (list, tuple)) else [value]
    return [item if isinstance(item, str) else str(item) for item in items]
