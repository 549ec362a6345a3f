"""Answers from `key: value` lines, captions and numbered headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.page import Line, PageModel
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.span import find_spans
from looseleaf.models.extractive.words import roman, stem_set

__all__ = ["keyed_candidates"]

LEAST_COVERAGE: Final = 0.3
TITLE: Final = 0.85
TITLES: Final = 0.95
CODE: Final = 0.55
FEW_TERMS: Final = 3
TITLE_WORDS: Final = frozenset(["titl", "topic", "name", "caption", "call", "subject"])
_KEY: Final = re.compile(r"^(?P<key>[^:]{2,60}?)\s*(?::|\s[–—-]\s|\t|\s{2,})\s*(?P<value>\S.*)$")
_TYPED: Final = frozenset(
    {Kind.EMAIL, Kind.URL, Kind.PHONE, Kind.DATE, Kind.TIME, Kind.YEAR, Kind.MONTH, Kind.IDENTIFIER}
)


def keyed_candidates(pool: Pool) -> Iterator[Candidate]:
    """Values of keys that the question names, and titles of numbered things that it names."""
    typed = pool.query.kind in _TYPED
    titles = _asks_title(pool)
    codes = _codes(pool)
    for page, model in pool.pages():
        for line in model.lines:
            if not model.contents and _DIVIDER.search(line.text):
                yield from _key_value(pool, page, model, line)
            if typed:
                yield from _pairs(pool, page, line)
            if titles:
                yield from _numbered_title(pool, page, model, line)
            if codes and "\t" in line.text:
                yield from _coded(pool, page, model, line, codes)
    if _STANDS_FOR.search(pool.query.text):
        yield from _expansions(pool)
    if len(pool.query.labels) > 1 and pool.query.form.listed:
        yield from _titles(pool)


_DIVIDER: Final = re.compile(r":|\t|\s[–—-]\s|\s{2}")


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


_INNER_PAIR: Final = re.compile(r"(?P<key>[A-Za-z][\w.’' ]{1,40}?)(?::|\bNo\.|#)\s*(?P<value>\S+)")


def _pairs(pool: Pool, page: int, line: Line) -> Iterator[Candidate]:
    """Values of keys that stand in the middle of a line ("Case: 21-13199 Date Filed: 01/05/2022")."""
    for match in _INNER_PAIR.finditer(line.text):
        key = stem_set(match["key"])
        matched = pool.roots(key)
        spans = find_spans(match["value"], pool.query.kind)
        if matched and spans:
            score = (
                pool.coverage(key, line.stems)
                * (0.5 + 0.5 * len(matched) / len(key))
                * pool.page_factor(page)
            )
            yield Candidate(spans[0].text, page, line.text, score, "keyed:pair")


def _asks_title(pool: Pool) -> bool:
    """Whether the title of a numbered thing is asked for."""
    if not pool.query.labels or pool.query.kind in {Kind.COUNT, Kind.PERCENT}:
        return False
    return bool(TITLE_WORDS & set(pool.query.terms)) or len(pool.weights) <= FEW_TERMS


def _numbered_title(pool: Pool, page: int, model: PageModel, line: Line) -> Iterator[Candidate]:
    """The words after "Unit 14:" or "Figure 3." where the question asks about that one."""
    for label in pool.query.labels:
        found = _label_title(label, line)
        if found is not None and not found.endswith(":"):
            title = _with_next_line(model, line, found)
            score = (TITLE if ":" in line.text else TITLE - 0.05) * pool.page_factor(page)
            yield Candidate(title, page, line.text, score, "keyed:title", computed=True)


def _label_title(label: tuple[str, int], line: Line) -> str | None:
    """The title on a line that starts with the label ("Unit 14: …"), or `None`."""
    name, number = label
    match = re.match(rf"^{name[:3]}\w*\.?[\s-]*(\d+|[IVX]+)\s*[:.–—-]?\s+(.+)$", line.text, re.IGNORECASE)
    if match is None or (int(match[1]) if match[1].isdigit() else roman(match[1])) != number:
        return None
    return match[2].strip()


def _titles(pool: Pool) -> Iterator[Candidate]:
    """The titles of several numbered things, as a list."""
    found: list[tuple[int, str, str]] = []
    for label in pool.query.labels:
        titles = [
            (":" in line.text, -page, title, line.text)
            for page, model in pool.pages()
            for line in model.lines
            if (title := _label_title(label, line)) is not None and not title.endswith(":")
        ]
        if titles:
            best = max(titles)
            found.append((-best[1], best[2], best[3]))
    if len(found) > 1:
        evidence = "; ".join(line for _, _, line in found)
        parts = tuple(Passage(page, line) for page, _, line in found)
        text = str([title for _, title, _ in found])
        yield Candidate(text, found[0][0], evidence, TITLES, "keyed:titles", computed=True, parts=parts)


def _codes(pool: Pool) -> frozenset[str]:
    """Numbers and codes of the question that may stand first in a row."""
    codes = {*pool.query.numbers, *(name for name in pool.query.names if any(c.isdigit() for c in name))}
    return frozenset(codes - set(map(str, pool.query.pages)))


def _coded(pool: Pool, page: int, model: PageModel, line: Line, codes: frozenset[str]) -> Iterator[Candidate]:
    """The cell after a code or number that the question names ("88<tab>Boiler: over-temperature")."""
    first, _, rest = line.text.partition("\t")
    if not line.index or first.strip() not in codes:
        return
    value = rest.split("\t")[0].strip()
    following = model.lines[line.index + 1] if line.index + 1 < len(model.lines) else None
    if following is not None and following.text[0].islower() and "\t" not in following.text:
        value = f"{value} {following.text}"
    score = (CODE + 0.3 * pool.coverage(model.stems)) * pool.page_factor(page)
    yield Candidate(value, page, f"{first.strip()}: {value}", score, "keyed:code", computed=True)


def _with_next_line(model: PageModel, line: Line, title: str) -> str:
    """The title with its continuation on the next line, if it seems cut."""
    following = model.lines[line.index + 1] if line.index + 1 < len(model.lines) else None
    if following is not None and following.text[0].islower() and title[-1] not in ".:":
        return f"{title} {following.text}"
    return title.strip(" .")


_STANDS_FOR: Final = re.compile(
    r"\bstand(?:s|ing)? for\b|\babbreviation\b|\bacronym\b|\bfull (?:name|form)\b", re.IGNORECASE
)
EXPANSION: Final = 0.9


def _expansions(pool: Pool) -> Iterator[Candidate]:
    """The words that an abbreviation of the question stands for: "National Laboratory (NL)", "NL (National …)"."""
    for short in (name for name in pool.query.names if name.isupper() and len(name) > 1):
        for passage in pool.passages:
            text = " ".join(passage.text.split())
            for match in re.finditer(rf"\b{re.escape(short)}\b", text):
                words = _initials_before(text[: match.start()], short) or _initials_after(
                    text[match.end() :], short
                )
                if words:
                    evidence = f"{short} stands for {words}"
                    yield Candidate(
                        words, passage.page, evidence, EXPANSION, "keyed:abbreviation", computed=True
                    )


def _initials_before(text: str, short: str) -> str:
    """The words right before "(SHORT" whose initials it is."""
    if not text.rstrip().endswith("("):
        return ""
    return _with_initials(text.rstrip(" (").split(), short, from_end=True)


def _initials_after(text: str, short: str) -> str:
    match = re.match(r"\s*[(:–—=-]+\s*(?:stands for |is )?", text)
    return (
        _with_initials(re.split(r"[),.;]", text[match.end() :])[0].split(), short, from_end=False)
        if match
        else ""
    )


def _with_initials(words: list[str], short: str, *, from_end: bool) -> str:
    """The shortest run of words at one end whose capital initials spell the abbreviation."""
    for size in range(len(short), len(short) + MOST_SMALL_WORDS + 1):
        part = words[-size:] if from_end else words[:size]
        initials = "".join(
            word[0] for piece in part for word in piece.split("-") if word and word[0].isupper()
        )
        if len(part) == size and initials.upper() == short and part[0][0].isupper():
            return " ".join(part)
    return ""


MOST_SMALL_WORDS: Final = 3
"""Small words ("of", "the") that an abbreviation may leave out."""
