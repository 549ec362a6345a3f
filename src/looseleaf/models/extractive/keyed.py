"""Answers from `key: value` lines, captions and numbered headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.page import Line, PageModel
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.query import Kind
from looseleaf.models.extractive.span import find_spans
from looseleaf.models.extractive.words import roman, stem_set

__all__ = ["keyed_candidates"]

LEAST_COVERAGE: Final = 0.3
_KEY: Final = re.compile(r"^(?P<key>[^:]{2,60}?)\s*(?::|\s[–—-]\s|\t|\s{2,})\s*(?P<value>\S.*)$")
_TYPED: Final = frozenset(
    {Kind.EMAIL, Kind.URL, Kind.PHONE, Kind.DATE, Kind.TIME, Kind.YEAR, Kind.MONTH, Kind.IDENTIFIER}
)


def keyed_candidates(pool: Pool) -> Iterator[Candidate]:
    """Values of keys that the question names, and titles of numbered things that it names."""
    for page, model in pool.pages():
        for line in model.lines:
            yield from _key_value(pool, page, model, line)
            yield from _numbered_title(pool, page, model, line)


def _key_value(pool: Pool, page: int, model: PageModel, line: Line) -> Iterator[Candidate]:
    match = _KEY.match(line.text)
    if match is None or line.text.count("\t") > 1:
        return
    key = stem_set(match["key"])
    matched = pool.roots(key)
    if not matched:
        return
    value = match["value"].strip(" .")
    if pool.query.kind in _TYPED:
        spans = find_spans(value, pool.query.kind)
        if not spans:
            return
        value = spans[0].text
    elif pool.query.kind in {Kind.COUNT, Kind.PERCENT, Kind.MONEY} and not any(c.isdigit() for c in value):
        return
    score = pool.coverage(key, stem_set(model.heading(line.index)) | line.stems) * (
        0.5 + 0.5 * len(matched) / len(key)
    )
    if score >= LEAST_COVERAGE:
        yield Candidate(value, page, line.text, score * pool.page_factor(page), "keyed")


def _numbered_title(pool: Pool, page: int, model: PageModel, line: Line) -> Iterator[Candidate]:
    """The words after "Unit 14:" or "Figure 3." where the question asks about that one."""
    for name, number in pool.query.labels:
        match = re.match(rf"^{name[:3]}\w*\.?[\s-]*(\d+|[IVX]+)\s*[:.–—-]?\s+(.+)$", line.text, re.IGNORECASE)
        if match is None or (int(match[1]) if match[1].isdigit() else roman(match[1])) != number:
            continue
        asks_title = (
            bool({"titl", "topic", "name", "caption", "call", "subject"} & set(pool.query.terms))
            or len(pool.weights) <= 3
        )
        if match[2].strip().endswith(":"):
            continue
        title = _with_next_line(model, line, match[2].strip())
        if asks_title and pool.query.kind not in {Kind.COUNT, Kind.PERCENT}:
            yield Candidate(
                title, page, line.text, 0.85 * pool.page_factor(page), "keyed:title", computed=True
            )


def _with_next_line(model: PageModel, line: Line, title: str) -> str:
    """The title with its continuation on the next line, if it seems cut."""
    following = model.lines[line.index + 1] if line.index + 1 < len(model.lines) else None
    if following is not None and following.text[0].islower() and title[-1] not in ".:":
        return f"{title} {following.text}"
    return title.strip(" .")
