"""`PageModel`: a page's text as lines, table rows and sentences."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec

from looseleaf.models.extractive.line import Line, read_lines
from looseleaf.models.extractive.words import STOPWORDS, stem, stem_set, tokens

__all__ = ["Line", "PageModel", "Sentence", "read_page"]

MAX_SENTENCE_WORDS: Final = 90
"""A run of lines without a full stop is cut here: it is a table or a chart, not a sentence."""

LABEL_WORDS: Final = 3
"""Words of a line below a caption that belongs to the figure, not to the caption."""
SHORT_LINE: Final = 0.6
"""A line shorter than this share of the widest one ends a paragraph where the next starts with a capital."""
LEAST_ENTRIES: Final = 6
ENTRY_SHARE: Final = 0.4
RISING_SHARE: Final = 0.75
"""What makes a page one of contents: entries, their share of the lines, and of page numbers that rise."""
MOST_FIGURES: Final = 0.35
"""Share of words with digits from which a run of words is no sentence."""

_LEADERS: Final = re.compile(r"(?:\s?\.){4,}|\s*…{2,}")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|et al|vs|fig|figs|eq|no|nos|dr|mr|mrs|ms|prof|inc|ltd|co|corp|st|jr|sr|u\.s|approx|dept"
    r"|sec|vol|pp|cf|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_INITIALS: Final = re.compile(r"\b(?:[A-Z]\.){2,}$|\b(?:Inc|Co|Corp|Ltd)\.$")
_OPENING: Final = re.compile(r"(?:We|The|This|These|They|It|In|Our|However|A|An|For|As)\s")
"""Words that start sentences even behind an abbreviation."""
_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])(?:\[\d+\])*[\"”’)]*\s+(?=[\"“‘(\[]?[A-Z0-9])|(?<=[a-z][.!?])[\"”’]?\d{1,2}\s+(?=[\"“‘]?[A-Z])"
)
"""Where a sentence ends, with the marks or the number of a footnote behind it."""


class Sentence(msgspec.Struct, frozen=True):
    """One sentence.

    Attributes:
        text: the sentence on one line.
        stems: its content stems.
        line: index of the line that it starts on.
        whole: whether it reads as a sentence; a chart's or table's words and numbers do not.
    """

    text: str
    stems: frozenset[str]
    line: int
    whole: bool


class PageModel(msgspec.Struct, frozen=True):
    """A page, taken apart.

    Attributes:
        lines: the lines that are not empty, without a lone page number at the top or bottom.
        sentences: sentences of the running text; chart labels and table rows come out as fragments.
        headings: for each line the index of the last heading at or above it, or -1.
        stems: all content stems of the page.
        contents: whether it is a table of contents or an index, whose numbers are page numbers.
        lowercase: stems of words that the page holds in small letters somewhere: the others are names.
    """

    lines: tuple[Line, ...]
    sentences: tuple[Sentence, ...]
    headings: tuple[int, ...]
    stems: frozenset[str]
    lowercase: frozenset[str]
    contents: bool = False

    def heading(self, line: int) -> str:
        """Text of the heading that a line stands under, or empty."""
        index = self.headings[line] if 0 <= line < len(self.headings) else -1
        return self.lines[index].text if index >= 0 else ""


def _without_page_number(text: str) -> str:
    """The text without a first and last line that is a bare number."""
    lines = text.strip().splitlines()
    for end in (0, -1):
        if len(lines) > 1 and lines[end].strip().isdigit():
            del lines[end]
    return "\n".join(lines)


def _sentences(lines: list[Line]) -> list[Sentence]:
    sentences: list[Sentence] = []
    run: list[Line] = []
    widths = sorted(len(line.text) for line in lines if "\t" not in line.text)
    widest = widths[int(0.8 * (len(widths) - 1))] if widths else 0
    for line in lines:
        if run and _breaks(run[-1], line, widest):
            sentences += _cut(run)
            run = []
        run.append(line)
    return sentences + _cut(run)


def _breaks(above: Line, line: Line, widest: int) -> bool:
    """Whether a new paragraph starts at `line`."""
    if "\t" in above.text or "\t" in line.text or line.kind in {"bullet", "numbered", "caption"}:
        return True
    ended = above.text[-1] in ".:?!" and not _ABBREVIATION.search(above.text)
    starts = not line.text[0].islower()
    if starts and (above.kind == "heading" or (line.kind == "heading" and ended)):
        return True
    if above.kind == "caption" and starts and len(line.text.split()) <= LABEL_WORDS:
        return True
    short = len(above.text) < SHORT_LINE * widest
    return short and (
        ended or (starts and above.text.split()[-1].lower() not in STOPWORDS and above.text[-1] != ",")
    )


def _cut(run: list[Line]) -> list[Sentence]:
    """Sentences of a paragraph; `line` of each is found again by its offset."""
    text, offsets = "", []
    for line in run:
        glue = "" if not text else " "
        offsets.append(len(text) + len(glue))
        text += glue + line.text.replace("\t", " ")
    pieces, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        ended = not _ABBREVIATION.search(text[: match.start()][-12:])
        if ended or (_INITIALS.search(text[: match.start()]) and _OPENING.match(text, match.end())):
            pieces.append((start, match.start()))
            start = match.end()
    pieces.append((start, len(text)))
    found = []
    for first, last in pieces:
        index = max((i for i, offset in enumerate(offsets) if offset <= first), default=0)
        found += _bounded(text[first:last].strip(), run[index].index if run else 0)
    return found


def _bounded(text: str, line: int) -> list[Sentence]:
    words = text.split()
    chunks = [words[i : i + MAX_SENTENCE_WORDS] for i in range(0, len(words), MAX_SENTENCE_WORDS)]
    return [Sentence(" ".join(chunk), stem_set(" ".join(chunk)), line, _is_whole(chunk)) for chunk in chunks]


def _is_whole(words: list[str]) -> bool:
    """Whether words end like a sentence and are mostly words."""
    figures = sum(any(c.isdigit() for c in word) for word in words)
    return (
        words[-1][-1] in '.!?"”)' and len(words) > 3 and figures < MOST_FIGURES * len(words)
        if words
        else False
    )


def _is_contents(lines: list[Line]) -> bool:
    """Whether many lines end in one whole number each, and these mostly rise."""
    ends = [line.row.numbers[-1] for line in lines if line.row is not None and len(line.row.cells) == 1]
    pages = [n.value for n in ends if n is not None and n.text.isdigit()]
    rising = sum(a <= b for a, b in pairwise(pages))
    return len(pages) >= max(LEAST_ENTRIES, ENTRY_SHARE * len(lines)) and rising >= RISING_SHARE * (
        len(pages) - 1
    )


def _headings(lines: list[Line]) -> list[int]:
    found, last = [], -1
    for line in lines:
        if line.kind in {"heading", "caption"} and line.row is None:
            last = line.index
        found.append(last)
    return found


@lru_cache(maxsize=1024)
def read_page(text: str) -> PageModel:
    """Take a page's text apart; depends on the text only."""
    lines = read_lines(_without_page_number(_LEADERS.sub("  ", text.replace("\ufffe", ""))))
    return PageModel(
        lines=tuple(lines),
        sentences=tuple(_sentences(lines)),
        headings=tuple(_headings(lines)),
        stems=frozenset().union(*(line.stems for line in lines)),
        contents=_is_contents(lines),
        lowercase=frozenset(stem(token) for token in set(tokens(text)) if token[0].islower()),
    )
