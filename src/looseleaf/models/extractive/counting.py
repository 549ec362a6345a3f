"""Answers that count: figures and tables by their captions, numbered things, items of lists, rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.listing import ITEM_WORDS, SHORT_ITEM
from looseleaf.models.extractive.lists import listings
from looseleaf.models.extractive.page import PageModel
from looseleaf.models.extractive.place import TOTALS
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.span import find_spans
from looseleaf.models.extractive.table import read_tables
from looseleaf.models.extractive.words import roman, stem, stem_set, stems

__all__ = ["count_candidates"]

CAPTIONED: Final = {
    "figur": r"fig(?:ure)?",
    "tabl": r"table",
    "chart": r"chart",
    "exhibit": r"exhibit",
    "box": r"box",
    "diagram": r"diagram",
}
"""Stems of things that documents number in captions, with the pattern of the caption's first word."""
CAPTION_SCORE: Final = 0.8
NUMBERED_SCORE: Final = 0.6
NUMBERED_LIST: Final = 0.85
LEAST_NUMBERED: Final = 3
INSTANCES: Final = 0.7
_ITEM: Final = re.compile(r"^\s*\(?(\d{1,2})(?:[.)]|\t|\s)\s*(?=\S)")
ADDRESSES: Final = {
    "website": Kind.URL,
    "url": Kind.URL,
    "web address": Kind.URL,
    "email": Kind.EMAIL,
    "e-mail": Kind.EMAIL,
}
MOST_LINE_WORDS: Final = 14
LINES: Final = 0.55
LIST_SHARE: Final = 0.75
"""Factor for counting the items of a list, against a count that the text itself gives."""
RUNNING_SHARE: Final = 0.6
"""Factor for counting what a sentence lists, which may be some of the things only."""
ROW_SHARE: Final = 0.7
_NUMBERED_WORD: Final = re.compile(
    r"\b([A-Z][A-Za-z]+)\s?(?:#|[Nn]o\.?\s?|[Nn]umber\s)?(\d{1,2})\b(?![.,]\d|%)"
)


def count_candidates(pool: Pool) -> Iterator[Candidate]:
    """Candidates of all ways to count, where the question asks how many."""
    if pool.query.kind is not Kind.COUNT or not pool.focus:
        return
    yield from _captions(pool)
    yield from _numbered(pool)
    yield from _last_number(pool)
    yield from _instances(pool)
    yield from _addresses(pool)
    yield from _lines_with(pool)
    yield from _items(pool)
    yield from _rows(pool)


def _in_scope(pool: Pool) -> list[tuple[int, str]]:
    """Pages and texts that the count is over: those that the question names, or all."""
    named = [p for p in pool.passages if pool.in_scope(p.page)]
    return [(p.page, p.text) for p in named]


def _captions(pool: Pool) -> Iterator[Candidate]:
    """How many captions of the kind asked for; on the whole document their highest number."""
    kinds = [CAPTIONED[root] for root in pool.focus if root in CAPTIONED]
    extra = [
        root
        for root in pool.weights
        if root not in pool.focus and pool.weights[root] >= 1.0 and not root.isdigit()
    ]
    if not kinds or len(extra) > 1:
        return
    pattern = re.compile(rf"^\s*{kinds[-1]}\.?\s*(\d+|[ivx]+)\b", re.IGNORECASE | re.MULTILINE)
    seen: dict[int, int] = {}
    for page, text in sorted(_in_scope(pool)):
        for match in pattern.finditer(text):
            number = int(match[1]) if match[1].isdigit() else roman(match[1])
            if number is not None and number < 200:
                seen.setdefault(number, page)
    if seen:
        count = len(seen) if pool.query.pages else max(seen)
        evidence = (
            f"Captions: {', '.join(f'{kinds[-1]} {n} (page {p})' for n, p in sorted(seen.items())[:8])}"
        )
        yield Candidate(
            str(count), min(seen.values()), evidence, CAPTION_SCORE, "count:captions", computed=True
        )


def _numbered(pool: Pool) -> Iterator[Candidate]:
    """Distinct numbers after the thing counted ("Quiz #4", "Unit 16")."""
    head = pool.focus[-1]
    if head in CAPTIONED:
        return
    seen: dict[int, tuple[int, str]] = {}
    for page, text in _in_scope(pool):
        for root, number, words in _numbered_words(text):
            if _same(root, head):
                seen.setdefault(number, (page, words))
    numbers = sorted(seen)
    if len(numbers) >= 2 and numbers[-1] <= 2 * len(numbers):
        evidence = "; ".join(seen[n][1] for n in numbers[:12])
        count = len(numbers) if pool.query.pages else numbers[-1]
        yield Candidate(
            str(count), seen[numbers[0]][0], evidence, NUMBERED_SCORE, "count:numbered", computed=True
        )


@lru_cache(maxsize=1024)
def _numbered_words(text: str) -> tuple[tuple[str, int, str], ...]:
    """Capitalised words with a number after them: stem, number and text."""
    return tuple((stem(match[1]), int(match[2]), match[0]) for match in _NUMBERED_WORD.finditer(text))


def _last_number(pool: Pool) -> Iterator[Candidate]:
    """The last number of a list that starts at 1 under a fitting heading and may go on over the next pages."""
    models = dict(pool.pages())
    for page, model in models.items():
        for line in model.lines:
            if _item_number(line.text) != 1:
                continue
            above = model.lines[line.index - 1].text if line.index else ""
            heading = stem_set(f"{model.heading(line.index)} {above}")
            if not heading & set(pool.focus) and not ITEM_WORDS & set(pool.focus):
                continue
            last = _run_end(models, page, line.index)
            score = NUMBERED_LIST * pool.coverage(heading, model.stems) * pool.page_factor(page)
            if last >= LEAST_NUMBERED:
                evidence = f"{model.heading(line.index) or above}: numbered 1 to {last}"
                yield Candidate(str(last), page, evidence, score, "count:last", computed=True)


def _item_number(text: str) -> int | None:
    match = _ITEM.match(text)
    return int(match[1]) if match else None


def _run_end(models: dict[int, PageModel], page: int, start: int) -> int:
    """The last number that follows 1, 2, 3 … from line `start` of a page on, over pages that follow each other."""
    last, index = 0, start
    while page in models:
        for line in models[page].lines[index:]:
            number = _item_number(line.text)
            if number == last + 1:
                last = number
            elif number == 1 and last > 1:
                return last
        page, index = page + 1, 0
    return last


def _instances(pool: Pool) -> Iterator[Candidate]:
    """Lines that begin with the thing counted and go on differently ("Case Study: …")."""
    phrase = [root for root in pool.focus if root not in CAPTIONED]
    if len(phrase) < 2:
        return
    seen: dict[str, tuple[int, str]] = {}
    for page, model in pool.pages():
        for line in model.lines:
            roots = stems(line.text)
            if roots[: len(phrase)] == phrase and len(roots) > len(phrase):
                seen.setdefault(" ".join(roots[len(phrase) :][:4]), (page, line.text))
    if len(seen) > 1:
        texts = "; ".join(text for _, text in seen.values())
        page = next(iter(seen.values()))[0]
        yield Candidate(str(len(seen)), page, texts, INSTANCES, "count:instances", computed=True)


def _addresses(pool: Pool) -> Iterator[Candidate]:
    """Distinct web or e-mail addresses on the pages in question."""
    kind = next((kind for word, kind in ADDRESSES.items() if word in pool.query.text.lower()), None)
    if kind is None:
        return
    found = {
        span.text.lower().rstrip("/"): page
        for page, text in _in_scope(pool)
        for span in find_spans(text, kind)
    }
    if found:
        evidence = f"{len(found)} addresses: {', '.join(found)}"
        yield Candidate(
            str(len(found)), min(found.values()), evidence, CAPTION_SCORE, "count:addresses", computed=True
        )


def _lines_with(pool: Pool) -> Iterator[Candidate]:
    """Short lines with a name of the question, under a line that is just the thing counted."""
    for name in _name_runs(pool.query.text):
        hits: list[tuple[int, str]] = []
        under = False
        for page, model in sorted(pool.pages(), key=lambda one: one[0]):
            for line in model.lines:
                under = under or line.stems == set(pool.focus)
                if under and name.lower() in line.text.lower() and len(line.text.split()) <= MOST_LINE_WORDS:
                    hits.append((page, line.text))
        if hits:
            evidence = "; ".join(text for _, text in hits)
            yield Candidate(str(len(hits)), hits[0][0], evidence, LINES, "count:lines", computed=True)


def _name_runs(text: str) -> list[str]:
    """Names after "from", "of", "in" or "by" at the end of a question ("… come from Columbia University")."""
    match = re.search(r"\b(?:from|by|at)\s+((?:the )?[A-Z][\w’'-]*(?: (?:of )?[A-Z][\w’'-]*)*)", text)
    return [match[1].removeprefix("the ")] if match else []


def _same(first: str, second: str) -> bool:
    """Whether two stems are one word: a stemmer leaves `quiz` and `quizz` apart."""
    return first == second or (
        min(len(first), len(second)) >= 4 and (first.startswith(second) or second.startswith(first))
    )


def _items(pool: Pool) -> Iterator[Candidate]:
    for listing in listings(pool)[:4]:
        if set(pool.focus) & (stem_set(listing.introduction) | ITEM_WORDS):
            yield Candidate(
                str(len(listing.items)),
                listing.page,
                listing.evidence,
                listing.score * (RUNNING_SHARE if listing.kind in {"inline", "names"} else LIST_SHARE),
                "count:items",
                computed=True,
            )


def _rows(pool: Pool) -> Iterator[Candidate]:
    """Rows of a table whose label column is headed by the thing counted."""
    for page, text in _in_scope(pool):
        for table in read_tables(text):
            if pool.focus[-1] in stem_set(table.header[0]) and len(table.header[0].split()) <= SHORT_ITEM:
                rows = [row for row in table.rows if not row.stems[0] & TOTALS]
                score = pool.coverage(stem_set(table.header[0]), table.stems) * ROW_SHARE
                evidence = f"{table.header[0]}: {'; '.join(row.label for row in rows)}"
                yield Candidate(str(len(rows)), page, evidence, score, "count:rows", computed=True)
