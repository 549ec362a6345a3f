"""QASPER: token F1 against the best of the references, the official rule.

Source: allenai/qasper-led-baseline @ afd0fb9, `scripts/evaluator.py`, which follows SQuAD v1.1. Written anew from its
behaviour.

Quirks, all reproduced:

1. Both texts are lower-cased, ASCII punctuation is deleted ("3.5" is "35", "BERT-base" is "bertbase"), the articles a,
   an, the become spaces, whitespace is squeezed. Unicode punctuation and accents stay.
2. F1 is over bags of tokens, so order does not matter and repeated tokens count as often as both have them.
3. No common token is 0, also where both texts are empty ("the" against "a").
4. The best reference counts. "Unanswerable" is the refusal, an answer like any other.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from looseleaf.score import Score, Unscored
from looseleaf.scoring.short_answers import is_refusal

__all__ = ["UNANSWERABLE", "normalized", "score", "spelled_refusal", "token_f1"]

UNANSWERABLE: Final = "Unanswerable"
"""The refusal in QASPER's gold answers (`get_answers_and_evidence`)."""

_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")


def score(gold: Any, prediction: Any, answer_format: str = "") -> Score:
    """Token F1 of one prediction.

    Args:
        gold: a reference answer, or a list of them of which the best counts.
        prediction: the predicted answer.
        answer_format: not used; every format has the same rule.
    """
    references: Sequence[Any] = gold if isinstance(gold, (list, tuple)) else [gold]
    if not references:
        return Score(unscored=Unscored.NO_GOLD)
    tokens = normalized(prediction).split()
    return Score(value=max(_f1(tokens, normalized(reference).split()) for reference in references))


def token_f1(gold: object, prediction: object) -> float:
    """F1 over the bags of tokens of two texts, 0 without a common token."""
    return _f1(normalized(prediction).split(), normalized(gold).split())


def normalized(value: object) -> str:
    """Lower case without ASCII punctuation and articles, single spaces."""
    text = str(value).lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", text).split())


def spelled_refusal(text: str) -> str:
    """`text`, or "Unanswerable" where it refuses in the words of another benchmark."""
    return UNANSWERABLE if is_refusal(text) else text


def _f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    common = sum((Counter(prediction) & Counter(gold)).values())
    if not common:
        return 0.0
    precision = 1.0 * common / len(prediction)
    recall = 1.0 * common / len(gold)
    return 2 * precision * recall / (precision + recall)
