"""Checking the words of a finding: names, codes, dates, text cells of tables, and what is left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from rapidfuzz import fuzz, process

from looseleaf.lab.grounding.claims import Claims
from looseleaf.lab.grounding.dates import dates_in
from looseleaf.lab.grounding.page_index import PageIndex
from looseleaf.lab.grounding.record import ClaimKind, ClaimVerdict, Verdict
from looseleaf.lab.grounding.units import UNITS
from looseleaf.models.extractive.number import Number
from looseleaf.models.extractive.page import read_page
from looseleaf.models.extractive.table import Table, TableRow, read_tables
from looseleaf.models.extractive.words import STOPWORDS, number_word, stem, stem_set, tokens

__all__ = ["check_cells", "check_codes", "check_dates", "check_names", "check_references", "check_words"]

SAME_NAME = 88
"""Similarity from which two names are spellings of one (recognised text has wrong letters), in percent."""
FUZZY_LETTERS = 6
"""Shorter words must be equal: they resemble each other by chance."""
COMMON_NAME = 0.3
"""Share of pages from which a name is the document's own subject, which a page need not repeat."""
LEAST_WORDS = 0.5
"""Share of a finding's new words that a page that says it holds."""
LEAST_WORDS_UNASKED = 0.34
"""The same where the question is not known, so that words which only repeat it cannot be told apart."""
FEWEST_WORDS = 2
"""New words that a finding needs for that share to say anything."""


def check_codes(claims: Claims, page: str) -> Iterator[ClaimVerdict]:
    """Codes must stand on the page, unless the question gave them."""
    plain = _joined(page)
    for code in claims.codes:
        if _joined(code) in plain:
            yield ClaimVerdict(ClaimKind.CODE, code, Verdict.GROUNDED)
        elif code not in claims.question:
            yield ClaimVerdict(ClaimKind.CODE, code, Verdict.NOT_FOUND)


@lru_cache(maxsize=1024)
def _joined(text: str) -> str:
    return re.sub(r"[\s–—‐-]+", "", text).lower()


def check_dates(claims: Claims, page: str) -> Iterator[ClaimVerdict]:
    """Dates must stand on the page; one that differs in its year only is contradicted."""
    there = {found.date for found in dates_in(page)}
    asked = {found.date for found in dates_in(claims.question)}
    for found in sorted(dates_in(claims.text)):
        if found.date.is_in(there):
            yield ClaimVerdict(ClaimKind.NUMBER, found.text, Verdict.GROUNDED)
        elif there and found.date not in asked:
            near = any(date[1:] == found.date[1:] for date in there)
            verdict = Verdict.CONTRADICTED if near else Verdict.NOT_FOUND
            yield ClaimVerdict(ClaimKind.NUMBER, found.text, verdict)


_REFERENCE = re.compile(r"\b(figure|fig|table|exhibit)\.?\s*(\d+(?:\.\d+)?)", re.IGNORECASE)


@lru_cache(maxsize=2048)
def _references(text: str) -> frozenset[tuple[str, str]]:
    """Figures, tables and exhibits that a text names, by kind and number."""
    return frozenset((kind.lower()[:3], number) for kind, number in _REFERENCE.findall(text))


def check_references(claims: Claims, index: PageIndex, page: int) -> Iterator[ClaimVerdict]:
    """A figure or table that the finding names must be named on the page, if the document names it at all."""
    for kind, number in sorted(_references(claims.text) - _references(claims.question)):
        pages = [p for p in range(1, index.page_count + 1) if (kind, number) in _references(index.text(p))]
        if pages and page not in pages:
            found = f"page {pages[0]} names it"
            yield ClaimVerdict(ClaimKind.PAGE, f"{kind} {number}", Verdict.NOT_FOUND, found)


def check_names(claims: Claims, index: PageIndex, page: int) -> Iterator[ClaimVerdict]:
    """Names must stand on the page, unless the question gave them or the whole document is about them."""
    for name in claims.names:
        missing = [word for word in _name_words(name) if not _has_word(word, index, page)]
        if not missing:
            yield ClaimVerdict(ClaimKind.NAME, name, Verdict.GROUNDED)
        elif any(_must_stand(word, claims, index) for word in missing):
            yield ClaimVerdict(ClaimKind.NAME, name, Verdict.NOT_FOUND)
    for name in claims.starters:
        word = stem(name)
        elsewhere = index.pages_with(word) > 0 and not index.lower_case(word)
        if elsewhere and not _has_word(name, index, page) and _must_stand(name, claims, index):
            yield ClaimVerdict(ClaimKind.NAME, name, Verdict.NOT_FOUND)


def _name_words(name: str) -> list[str]:
    return [word for word in tokens(name) if word.lower() not in STOPWORDS and len(word) > 1]


def _must_stand(word: str, claims: Claims, index: PageIndex) -> bool:
    found = stem(word)
    common = index.page_count > 1 and index.pages_with(found) >= COMMON_NAME * index.page_count
    return found not in claims.asked and not common


def _has_word(word: str, index: PageIndex, page: int) -> bool:
    found = stem(word)
    if found in index.stems(page):
        return True
    if len(found) < FUZZY_LETTERS:
        return False
    if index.pages_with(found):
        return False  # the document spells it so on another page: what is like it here is another name
    return process.extractOne(found, index.stems(page), scorer=fuzz.ratio, score_cutoff=SAME_NAME) is not None


# -- text cells of tables -----------------------------------------------------------------------------------------

LONGEST_CELL = 6
"""Words of a text cell that counts as a value."""


def check_cells(claims: Claims, page: str) -> Iterator[ClaimVerdict]:
    """A finding that names a row of a table and gives the text cell of another row is contradicted."""
    said, asked = _said(claims.text), _said(claims.question)
    for table in read_tables(page):
        if not table.chart:
            mixed = list(_mixed_rows(table, claims.text, said, asked))
            yield from mixed or _check_rows(table, said, asked, claims)


def _said(text: str) -> str:
    return f" {' '.join(token.lower() for token in tokens(text))} "


def _mixed_rows(table: Table, text: str, said: str, asked: str) -> Iterator[ClaimVerdict]:
    """Text cells of two columns that the finding holds, where no row has both."""
    columns = [
        column for column in range(min(len(row.cells) for row in table.rows)) if _is_textual(table, column)
    ]
    hits: dict[int, dict[str, set[int]]] = {}
    for column in columns:
        for index, row in enumerate(table.rows):
            cell = _plain(row.cells[column])
            if _is_value(cell) and cell in said and _telling(row.cells[column], text):
                hits.setdefault(column, {}).setdefault(cell, set()).add(index)
    for first, second in combinations(sorted(hits), 2):
        one, two = (set().union(*hits[column].values()) for column in (first, second))
        if not one & two and (claim := _claimed(hits[first], hits[second], asked)):
            yield ClaimVerdict(
                ClaimKind.CELL, claim.strip(), Verdict.CONTRADICTED, "it stands in another row"
            )


def _is_textual(table: Table, column: int) -> bool:
    """Whether a column holds texts; a text in a column of numbers is a head or a remark."""
    cells = [row.numbers[column] for row in table.rows if column < len(row.numbers)]
    return sum(number is None for number in cells) > len(cells) / 2


def _telling(cell: str, text: str) -> bool:
    """Whether a cell that a finding holds is more than a common word: several words, a code, or a name as printed."""
    if len(tokens(cell)) > 1 or any(map(str.isdigit, cell)):
        return True
    return cell[:1].isupper() and re.search(rf"(?<!\w){re.escape(cell.strip())}(?!\w)", text) is not None


def _claimed(first: Iterable[str], second: Iterable[str], asked: str) -> str:
    """The cell that the question does not give, if there is one."""
    return next((cell for cell in (*second, *first) if cell not in asked), "")


def _check_rows(table: Table, said: str, asked: str, claims: Claims) -> Iterator[ClaimVerdict]:
    """The one row whose label the finding holds, and another row's text cell in a column where its own is not held."""
    named = [row for row in table.rows if _names(row, said)]
    if len(named) != 1:
        return
    row = named[0]
    for column in range(1, len(row.cells)):
        right = _plain(row.cells[column])
        if not right or right in said or _has_number(row.numbers[column], claims):
            continue
        if not _is_textual(table, column):
            continue
        others = {_plain(other.cells[column]) for other in table.rows if column < len(other.cells)} - {right}
        for other in others:
            if _is_value(other) and other in said and other not in asked and not _in_row(other, row):
                yield ClaimVerdict(
                    ClaimKind.CELL, other.strip(), Verdict.CONTRADICTED, f"there stands {right.strip()}"
                )


def _has_number(number: Number | None, claims: Claims) -> bool:
    """Whether a finding holds the number of a cell."""
    return number is not None and any(claim.value == abs(number.value) for claim in claims.numbers)


def _names(row: TableRow, said: str) -> bool:
    label = _plain(row.label)
    return _is_value(label) and label in said


def _plain(cell: str) -> str:
    """A cell as words between spaces, or an empty text."""
    words = [token.lower() for token in tokens(cell)]
    return f" {' '.join(words)} " if words else ""


def _is_value(cell: str) -> bool:
    words = cell.split()
    return 0 < len(words) <= LONGEST_CELL and bool(stem_set(cell)) and any(c.isalpha() for c in cell)


def _in_row(value: str, row: TableRow) -> bool:
    return any(value in _plain(cell) for cell in row.cells)


# -- other words --------------------------------------------------------------------------------------------------


def check_words(claims: Claims, index: PageIndex, page: int) -> Iterator[ClaimVerdict]:
    """Of the words that the question does not have, at least half must stand on the page; phrases from another page
    must not be missing.
    """
    if claims.value and (lacking := _lacking(claims.value, index, page)):
        yield ClaimVerdict(ClaimKind.WORDS, lacking, Verdict.NOT_FOUND)
        return
    new = [word for word in claims.new_words if index.pages_with(word) or len(word) >= FUZZY_LETTERS]
    held = [word for word in new if word in index.stems(page)]
    least = LEAST_WORDS if claims.asked else LEAST_WORDS_UNASKED
    if len(new) >= FEWEST_WORDS and len(held) < least * len(new):
        missing = [word for word in new if word not in held]
        yield ClaimVerdict(ClaimKind.WORDS, " ".join(missing), Verdict.NOT_FOUND)
    elif phrase := _foreign_phrase(claims, index, page):
        yield ClaimVerdict(ClaimKind.WORDS, phrase, Verdict.NOT_FOUND)
    elif new:
        yield ClaimVerdict(ClaimKind.WORDS, " ".join(new), Verdict.GROUNDED)


def _lacking(value: str, index: PageIndex, page: int) -> str:
    """The words of a value that the page lacks; numbers and codes are checked by themselves."""
    words = [token for token in tokens(value) if token.lower() not in STOPWORDS and token.isalpha()]
    missing = [
        word
        for word in words
        if stem(word) not in index.stems(page) and number_word(word) is None and word not in UNITS
    ]
    return " ".join(missing)


FEW_PAGES = 0.2
"""Share of pages up to which a word is telling of where it stands."""


def _foreign_phrase(claims: Claims, index: PageIndex, page: int) -> str:
    """Two or more new words in a row that this page lacks and another page has in that order; else empty."""
    here = index.stems(page)
    most = max(1.0, FEW_PAGES * index.page_count)
    run: list[str] = []
    for token in [*tokens(claims.text), ""]:
        word = stem(token) if token else ""
        foreign = (
            bool(word)
            and word not in here
            and word not in claims.asked
            and 0 < index.pages_with(word) <= most
        )
        if foreign:
            run.append(token)
            continue
        if len(run) > 1 and _elsewhere(run, index, page):
            return " ".join(run)
        run = []
    return ""


def _elsewhere(run: Sequence[str], index: PageIndex, page: int) -> bool:
    words = [stem(token) for token in run]
    pages = (p for p in range(1, index.page_count + 1) if p != page and set(words) <= index.stems(p))
    return any(
        _in_order(words, sentence.stems) for p in pages for sentence in read_page(index.text(p)).sentences
    )


def _in_order(words: Iterable[str], there: frozenset[str]) -> bool:
    return all(word in there for word in words)
