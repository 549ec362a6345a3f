"""The items of the scorer-drift ledger: questions with gold answers and responses, made by our own code.

Source: `scripts/make_drift_items.py`, which writes `items.jsonl` anew, the same every time. The items never change, so
that what an extractor or a judge says of them today can be held against what it said before.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

import msgspec

from looseleaf.question import NOT_ANSWERABLE, Question
from looseleaf.scoring.qasper import UNANSWERABLE

__all__ = ["DriftItem", "drift_items", "items_sha256"]


class DriftItem(msgspec.Struct, frozen=True, kw_only=True):
    """One question with its gold answer, and a response to it that is to be scored.

    Attributes:
        item_id: "000" to "299".
        kind: what is asked and how the response is written, e.g. `stations/false_start`.
        question: the question.
        response: the response, as a model might write it.
        gold: the gold answer as a JSON value, `Not answerable` where there is none.
        answer_format: `Int`, `Float`, `Str`, `List` or `None`.
        right: whether the response commits to the gold answer.
    """

    item_id: str
    kind: str
    question: str
    response: str
    gold: Any
    answer_format: str
    right: bool

    def question_for(self, scorer: str) -> Question:
        """The item as a question whose gold answer is written as that scorer's benchmark writes it."""
        references, answer_format = _SPELLINGS.get(scorer.partition(".")[0], _mmlongbench)(self)
        return Question(
            question_id=f"drift:{self.item_id}",
            native_id=self.item_id,
            benchmark="drift",
            split="pinned",
            doc_id="",
            question=self.question,
            references=references,
            answer_format=answer_format,
            unanswerable=self.gold == NOT_ANSWERABLE,
        )

    @property
    def items(self) -> list[str]:
        """The gold answer as a list of texts, empty where there is none."""
        if self.gold == NOT_ANSWERABLE:
            return []
        return [str(item) for item in (self.gold if isinstance(self.gold, list) else [self.gold])]


Spelled = tuple[tuple[Any, ...], str]


def _mmlongbench(item: DriftItem) -> Spelled:
    """Everything is text."""
    return (str(item.gold),), item.answer_format


def _longdocurl(item: DriftItem) -> Spelled:
    """JSON values, with longer words for the formats."""
    return (item.gold,), {"Int": "Integer", "Str": "String"}.get(item.answer_format, item.answer_format)


def _dude(item: DriftItem) -> Spelled:
    """A list of texts, [""] where there is no answer."""
    answer_type = {"None": "not-answerable", "List": "list/extractive"}.get(item.answer_format, "extractive")
    return tuple(item.items or [""]), answer_type


def _qasper(item: DriftItem) -> Spelled:
    """One text."""
    return (", ".join(item.items) or UNANSWERABLE,), item.answer_format


_SPELLINGS: Final[Mapping[str, Callable[[DriftItem], Spelled]]] = MappingProxyType(
    {"mmlongbench": _mmlongbench, "longdocurl": _longdocurl, "dude": _dude, "qasper": _qasper}
)


@functools.cache
def drift_items() -> tuple[DriftItem, ...]:
    """All 300 items, in order."""
    decoder = msgspec.json.Decoder(DriftItem)
    return tuple(map(decoder.decode, _file().splitlines()))


@functools.cache
def items_sha256() -> str:
    """Which items these are."""
    return hashlib.sha256(_file()).hexdigest()


def _file() -> bytes:
    return resources.files(__package__).joinpath("items.jsonl").read_bytes()
