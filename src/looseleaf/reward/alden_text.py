"""What ALDEN's reward reads out of text: turn formats, the boxed answer, refusals, token F1.

Source: gipplab/ALDEN @ 8a0d3d4, `examples/score_function/doc_agent.py`. Written anew from its behaviour. Patterns that
cost quadratic time on hostile text are replaced by searches for their fixed parts, which accept the same texts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from typing import Literal

__all__ = [
    "ALDEN_REFUSAL",
    "answer_part",
    "boxed",
    "is_answer_turn",
    "is_refusal",
    "tagged_action",
    "token_f1",
]

ALDEN_REFUSAL = "The problem is not answerable"
"""The refusal that the prompt asks for, and the gold answer of unanswerable questions."""
EXACT_WORDS = frozenset({"yes", "no", "noanswer"})
"""Answers that must match as a whole to earn any F1."""

THINK_OPEN = "<think>"
SEARCH = (re.compile(r"</think>\s*<search>"), "</search>")
ANSWER = (re.compile(r"</think>\s*<answer>"), "</answer>")
FETCH_TAIL = re.compile(r"</think>\s*<fetch>\s*[1-9]\d*-th\s*</fetch>\Z")
BOX, SPACED_BOX = "\\boxed", "\\boxed "


def tagged_action(text: str) -> Literal["search", "fetch"] | None:
    """The action of a turn before the last, or `None` for bad format.

    `<think>…</think> <search>…</search>` and `<think>…</think> <fetch>7-th</fetch>`, with nothing around them.
    """
    if _wrapped(text, *SEARCH):
        return "search"
    if text.startswith(THINK_OPEN) and FETCH_TAIL.search(text, len(THINK_OPEN)):
        return "fetch"
    return None


def is_answer_turn(text: str) -> bool:
    """Whether a turn is `<think>…</think> <answer>…</answer>` with nothing around it."""
    return _wrapped(text, *ANSWER)


def _wrapped(text: str, middle: re.Pattern[str], closing: str) -> bool:
    if not (text.startswith(THINK_OPEN) and text.endswith(closing)):
        return False
    return middle.search(text, len(THINK_OPEN), len(text) - len(closing)) is not None


def answer_part(text: str) -> str | None:
    """What stands between the *first* `<answer>` and the next `</answer>`, wherever they are."""
    _, opening, rest = text.partition("<answer>")
    inside, closing, _ = rest.partition("</answer>")
    return inside if opening and closing else None


def boxed(text: str) -> str | None:
    """Content of the last `\\boxed{…}`, or `None`; one `\\boxed …` with a space goes before all braces."""
    if SPACED_BOX in text:
        return text.rsplit(SPACED_BOX, 1)[1].split("$", 1)[0]
    start = text.rfind(BOX)
    if start < 0 or not text.startswith("{", start + len(BOX)):
        return None
    depth = 0
    for position in range(start + len(BOX), len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return text[start + len(BOX) + 1 : position]
    return None


def is_refusal(text: str, refusal: str = ALDEN_REFUSAL) -> bool:
    """Whether the refusal occurs in the text once LaTeX, punctuation and case are gone."""
    return bool(text) and _plain(refusal) in _plain(text)


def _plain(text: str) -> str:
    text = re.sub(r"\\[a-zA-Z]+", "", text.lower())
    text = re.sub(r"[^a-z0-9\s]", "", text)
    return re.sub(r"\s+", " ", text).strip()


def token_f1(prediction: str, references: Iterable[str]) -> float:
    """Token F1 after SQuAD normalisation, best over the references; yes, no and noanswer must match exactly."""
    found = _normalised(prediction)
    return max((_f1(found, _normalised(reference)) for reference in references), default=0.0)


def _f1(prediction: str, reference: str) -> float:
    if prediction != reference and (prediction in EXACT_WORDS or reference in EXACT_WORDS):
        return 0.0
    tokens, wanted = prediction.split(), reference.split()
    same = sum((Counter(tokens) & Counter(wanted)).values())
    if not same:
        return 0.0
    precision, recall = same / len(tokens), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


def _normalised(text: str) -> str:
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())
