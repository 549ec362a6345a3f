"""`Place`: a number on a page with the words that say what it is: row, column head and caption, or its sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec

from looseleaf.lab.echo import MONTHS
from looseleaf.lab.grounding.dates import without_days
from looseleaf.lab.grounding.mentions import Mention, mentions_in
from looseleaf.lab.grounding.units import UNITS, Unit, units_in
from looseleaf.lab.specificity import without_references
from looseleaf.models.extractive.page import Line, PageModel, Sentence, read_page
from looseleaf.models.extractive.table import Table, TableRow, read_tables
from looseleaf.models.extractive.words import STOPWORDS, stem, stem_set

__all__ = ["Place", "PlaceKind", "labels_in", "numbered_labels", "parts_of", "places_on"]

PlaceKind = str
"""`cell`, `sentence` or `line`: only places of one kind can stand for each other."""


class Place(msgspec.Struct, frozen=True):
    """One number on a page.

    Attributes:
        mention: the number.
        kind: where it stands.
        group: which table, from 1, or which sentence, from 0 downwards.
        near: stems of its row and column head, or of its sentence.
        around: stems of caption and lines above, or of the heading.
        units: units at the number or, for a cell, in the column head, the row label and the caption.
        reliable: whether `near` is what the number belongs to; chart labels are paired by guess.
        line: index of its line on the page.
        labels: names and years of its part of the sentence, where the sentence has parallel parts.
        after: stems of the words right behind it in a sentence, up to a comma or the next number: what is counted.
        page_units: every unit that the page names anywhere.
        years: what a table's caption gives as the years of all its cells; none where column heads or rows give years.
    """

    mention: Mention
    kind: PlaceKind
    group: int
    near: frozenset[str]
    around: frozenset[str]
    units: tuple[Unit, ...]
    reliable: bool
    line: int
    labels: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    page_units: frozenset[Unit] = frozenset()
    years: frozenset[int] = frozenset()


@lru_cache(maxsize=1024)
def places_on(text: str) -> tuple[Place, ...]:
    """All numbers of a page; depends on the text only."""
    model = read_page(text)
    tables = read_tables(text)
    covered = {row.line for table in tables if not table.chart for row in table.rows}
    found = (
        *(place for group, table in enumerate(tables, 1) for place in _cells(table, group)),
        *_loose_rows(model, covered),
        *_sentences(model, covered | {line.index for line in model.lines if _is_loose_row(line)}),
    )
    units = frozenset(units_in(text)).union(unit for place in found for unit in place.mention.units)
    return tuple(msgspec.structs.replace(place, page_units=units) for place in found)


@lru_cache(maxsize=1024)
def numbered_labels(text: str) -> tuple[str, ...]:
    """Row labels and column heads of a page that hold digits, such as "Ages 18-29" or "Model (N = 1)"."""
    found = {
        label
        for table in read_tables(text)
        for label in (*table.header, *(row.label for row in table.rows if row.numbers[0] is None))
        if any(map(str.isdigit, label)) and any(map(str.isalpha, label))
    }
    return tuple(sorted(found))


# -- tables -------------------------------------------------------------------------------------------------------


def _cells(table: Table, group: int) -> Iterator[Place]:
    heads = stem_set(" ".join(table.header)) - stem_set(table.caption)
    years = _years_of(table)
    for row in table.rows:
        label = _row_words(row)
        for column, cell in enumerate(row.cells):
            if column == 0 and not row.numbers[0]:
                continue
            head = table.header[column] if column < len(table.header) else ""
            for mention in mentions_in(without_days(cell)):
                yield Place(
                    mention=mention,
                    kind="cell",
                    group=group,
                    near=label | stem_set(head),
                    around=table.stems - heads,
                    units=_cell_units(mention, head, row.cells[0], table),
                    reliable=not table.chart,
                    line=row.line,
                    years=years,
                )


_YEAR = re.compile(r"(?<![\w.,-])(?:19|20)\d\d(?![\w-]|[.,]\d)")


def _years_of(table: Table) -> frozenset[int]:
    """The years that a caption gives to a whole table, ranges filled; none where heads or row labels have years.

    Charts have none: which caption is theirs is a guess.
    """
    if table.chart or _YEAR.search(" ".join((*table.header, *(row.label for row in table.rows)))):
        return frozenset()
    found = [int(year) for year in _YEAR.findall(table.caption)]
    return frozenset(range(min(found), max(found) + 1)) if found else frozenset()


def _row_words(row: TableRow) -> frozenset[str]:
    """Words of the cells of a row that hold no number."""
    texts = [
        cell
        for cell, number in zip(row.cells, row.numbers, strict=True)
        if number is None or cell is row.cells[0]
    ]
    return stem_set(" ".join(texts))


def _cell_units(mention: Mention, head: str, label: str, table: Table) -> tuple[Unit, ...]:
    """Units of a cell: its own, else of its column head, else of its row's label, else of the caption."""
    return _with(mention.units, head, label, table.caption)


def _with(units: Iterable[Unit], *texts: str) -> tuple[Unit, ...]:
    """Units, and those of further families that some texts name, the first text first."""
    found = list(units)
    for text in texts:
        for unit in units_in(text):
            if all(unit.family != known.family for known in found):
                found.append(unit)
    return tuple(found)


LOOSE_ROWS = 1000
"""Group numbers of rows that belong to no table start here."""


def _loose_rows(model: PageModel, covered: set[int]) -> Iterator[Place]:
    """Rows with tabs that were not read as part of a table, such as those of very wide ones: they have no heads."""
    group = LOOSE_ROWS
    last = -2
    for line in model.lines:
        row = line.row
        if line.index in covered or row is None or not _is_loose_row(line):
            continue
        group += line.index > last + 1
        last = line.index
        texts = [cell for cell, number in zip(row.cells, row.numbers, strict=True) if number is None]
        near = stem_set(" ".join([row.label, *texts]))
        around = stem_set(model.heading(line.index))
        for cell, number in zip(row.cells, row.numbers, strict=True):
            for mention in mentions_in(cell) if number is not None else ():
                yield Place(
                    mention=mention,
                    kind="cell",
                    group=group,
                    near=near,
                    around=around,
                    units=_with(mention.units, row.label),
                    reliable=True,
                    line=line.index,
                )


def _is_loose_row(line: Line) -> bool:
    row = line.row
    return (
        row is not None and "\t" in line.text and len(row.label.split()) <= LONGEST_LABEL and any(row.numbers)
    )


LONGEST_LABEL = 8
"""Words of a row's label; longer ones are the labels of a chart's axis in one line."""


# -- running text -------------------------------------------------------------------------------------------------

_PART = re.compile(
    r"[;,]\s|\s(?:and|while|whereas|but|versus|vs\.?|compared (?:to|with)|against|or)\s|\s[–—-]\s"
)
"""Where a sentence may be cut so that each part holds one number with its words."""


def _sentences(model: PageModel, covered: set[int]) -> Iterator[Place]:
    sentences = model.sentences
    for index, sentence in enumerate(sentences):
        if sentence.line in covered and not sentence.whole:
            continue
        yield from _in_sentence(sentence, stem_set(model.heading(sentence.line)), index)


def _in_sentence(sentence: Sentence, around: frozenset[str], index: int) -> Iterator[Place]:
    text = without_days(without_references(sentence.text))
    mentions = mentions_in(text)
    parts = parts_of(text, mentions)
    for mention in mentions:
        part = next((piece for start, end, piece in parts if start <= mention.start < end), "")
        if text.startswith(part):
            part = part.partition(" ")[2]  # the capital of a sentence's first word says nothing
        behind = _behind(text, mention)
        yield Place(
            mention=mention,
            kind="sentence" if sentence.whole else "line",
            group=-index,
            near=sentence.stems,
            around=around,
            units=_with(mention.units, behind),
            reliable=len(sentence.stems) > 1,
            line=sentence.line,
            labels=frozenset(labels_in(part)),
            after=stem_set(behind),
        )


def labels_in(text: str) -> Iterator[str]:
    """Stems of the names, codes and years of a part of a sentence: what tells it from a parallel part."""
    for mention in mentions_in(text):
        if mention.year:
            yield mention.text
    for word in _NAME.findall(text):
        if word.lower() not in STOPWORDS and word.lower()[:3] not in MONTHS and word not in UNITS:
            yield stem(word)


_WORDS_AFTER = re.compile(r"\s*(?:%|(?:[A-Za-zµ'’/-]+|(?:19|20)\d\d)\b(?!\.\d))")
MOST_AFTER = 4
"""Words behind a number that say what it counts."""


def _behind(text: str, mention: Mention) -> str:
    position, words = mention.end, 0
    while words < MOST_AFTER and (match := _WORDS_AFTER.match(text, position)):
        position = match.end()
        words += match.group().strip().lower() not in STOPWORDS
    return text[mention.end : position]


_NAME = re.compile(r"(?<![\w-])[A-Z][\w-]*")


def parts_of(text: str, mentions: Sequence[Mention]) -> list[tuple[int, int, str]]:
    """Parts of a sentence with start and end, where each holds exactly one number that is no year; else none."""
    if sum(not mention.year for mention in mentions) < 2:
        return []
    cuts = [0, *(match.end() for match in _PART.finditer(text)), len(text)]
    spans = [(start, end) for start, end in pairwise(cuts) if end > start]
    counts = [sum(start <= m.start < end and not m.year for m in mentions) for start, end in spans]
    if max(counts) > 1:
        return []
    return [(start, end, text[start:end]) for start, end in _merged(spans, counts)]


def _merged(spans: Iterable[tuple[int, int]], counts: Sequence[int]) -> list[tuple[int, int]]:
    """Parts without a number go with the part before them; leading ones with the first that has one."""
    merged: list[tuple[int, int]] = []
    started = False
    for (start, end), count in zip(spans, counts, strict=True):
        if merged and (not count or not started):
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
        started = started or bool(count)
    return merged
