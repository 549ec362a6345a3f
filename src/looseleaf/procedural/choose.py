"""Chooses the questions of a document: the wanted mix, and no question that another page gives away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from looseleaf.procedural.author import Author
from looseleaf.procedural.draft import CHART, FIGURE, LAYOUT, TABLE, TEXT, Draft
from looseleaf.procedural.page import Sheet
from looseleaf.procedural.programs import Answer, evaluate

__all__ = ["FORMAT_DECK", "Chosen", "choose"]

FORMAT_DECK = ("None",) * 4 + ("Int",) * 5 + ("Str",) * 5 + ("Float",) * 3 + ("List",) * 3
"""Answer formats of twenty questions; MMLongBench-Doc has .21 None, .28 Int, .23 Str, .15 Float, .14 List."""
SOURCE_WEIGHTS = {TEXT: 0.28, TABLE: 0.24, CHART: 0.2, FIGURE: 0.16, LAYOUT: 0.14}
RARE = {"table.yesno": 0.25, "layout.tick_count": 0.5, "table.mean": 0.5, "chart.mean": 0.5, "table.total": 0.6,
        "cross.chart_table": 0.4}  # fmt: skip
"""Weights of question kinds that would otherwise crowd a format, or that a guess can meet."""
TRIES = 40
EQUAL_COUNTS = 0.2
"""Share of look-alike places whose count may be the same; counts are too few to be all different."""


class Chosen(NamedTuple):
    """A question with its exact answer and its evidence pages (physical, from 1)."""

    draft: Draft
    answer: Answer
    pages: tuple[int, ...]


def choose(author: Author, sheets: Sequence[Sheet], count: int) -> list[Chosen]:
    """Up to `count` questions in the wanted mix of formats and sources."""
    picker = Picker(author, sheets)
    deck = author.rng.sample(FORMAT_DECK, len(FORMAT_DECK))
    chosen = []
    for i in range(count):
        found = picker.pick(deck[i % len(deck)]) or picker.pick(None)
        if found:
            chosen.append(found)
    return chosen


def plain(text: str) -> str:
    """Text as it is compared: lower case, no thousands commas, single blanks."""
    return re.sub(r"\s+", " ", re.sub(r"(?<=\d),(?=\d{3})", "", text)).lower()


def contains(page: str, item: str) -> bool:
    """Whether a plain text holds an item as a word of its own (not inside a longer word or number)."""
    return re.search(rf"(?<![\w.]){re.escape(item)}(?![\w]|\.\d)", page) is not None


class Picker:
    """Draws questions one by one, remembering what was asked."""

    def __init__(self, author: Author, sheets: Sequence[Sheet]) -> None:
        self.author = author
        self.rng: Random = author.rng
        self.words = [plain(sheet.visible_words) for sheet in sheets]
        self.pages: dict[str, set[int]] = {}
        for number, sheet in enumerate(sheets, start=1):
            for mark in sheet.marks:
                self.pages.setdefault(mark.slot_id, set()).add(number)
        self.pool: dict[str, list[tuple[Draft, Answer]]] = {}
        for draft in author.drafts:
            answer = evaluate(draft.program, author.values)
            self.pool.setdefault(answer.answer_format, []).append((draft, answer))
        self.asked: set[str] = set()
        self.kinds: Counter[str] = Counter()
        self.sources: Counter[str] = Counter()

    def pick(self, answer_format: str | None) -> Chosen | None:
        """A question of one format, or of any; none if no draft passes."""
        pool = self.pool.get(answer_format, []) if answer_format else self._others()
        for _ in range(TRIES):
            if not pool:
                return None
            weights = self._weights(pool)
            index = self.rng.choices(range(len(pool)), weights)[0]
            draft, answer = pool.pop(index)
            pages = self._pages_of(draft)
            if draft.text not in self.asked and self._sound(draft, answer, pages):
                self._note(draft)
                return Chosen(draft, answer, pages)
        return None

    def _others(self) -> list[tuple[Draft, Answer]]:
        return [pair for name, pairs in self.pool.items() if name != "None" for pair in pairs]

    def _weights(self, pool: Sequence[tuple[Draft, Answer]]) -> list[float]:
        """Each source has its share whatever the number of its drafts; asked kinds become rarer."""
        present = Counter(draft.sources[:1] for draft, _ in pool)
        return [
            sum(
                SOURCE_WEIGHTS[source] / (1 + self.sources[source]) for source in draft.sources[:1] or (TEXT,)
            )
            / present[draft.sources[:1]]
            * RARE.get(_kind(draft), 1.0)
            * self._reach(draft)
            / (1 + 3 * self.kinds[_kind(draft)])
            for draft, _ in pool
        ]

    def _reach(self, draft: Draft) -> float:
        """Questions over several pages are wanted more as the difficulty grows."""
        return 1.0 + 6.0 * self.author.difficulty if len(self._pages_of(draft)) > 1 else 1.0

    def _note(self, draft: Draft) -> None:
        self.asked.add(draft.text)
        self.kinds[_kind(draft)] += 1
        self.sources.update(draft.sources)

    def _pages_of(self, draft: Draft) -> tuple[int, ...]:
        pages: set[int] = set()
        for slot in draft.evidence:
            pages |= self.pages.get(slot, set())
        return tuple(sorted(pages))

    def _sound(self, draft: Draft, answer: Answer, pages: tuple[int, ...]) -> bool:
        """Evidence stands on a page, the question does not tell the answer, and no other page gives it away."""
        if answer.answer_format == "None":
            return True  # the odd key comes fresh from the mint, or is a year or column held back on purpose
        if not pages or any(slot not in self.pages for slot in draft.program.operands):
            return False
        question = plain(draft.text)
        items = [plain(item) for item in answer.items]
        if not items or len(set(items)) < len(items):
            return False
        if draft.program.op != "exceeds" and any(contains(question, item) for item in items):
            return False
        equal = sum(evaluate(sibling, self.author.values).items == answer.items for sibling in draft.siblings)
        if equal > (len(draft.siblings) * EQUAL_COUNTS if draft.program.op == "count" else 0):
            return False
        return draft.common or not self._elsewhere(items, pages)

    def _elsewhere(self, items: Sequence[str], pages: tuple[int, ...]) -> bool:
        bare = [item.rstrip("%") for item in items]
        others = [words for number, words in enumerate(self.words, start=1) if number not in pages]
        return any(contains(words, item) for words in others for item in bare)


def _kind(draft: Draft) -> str:
    """The question kind without split and wording number."""
    return draft.template.rsplit(".", 2)[0]
