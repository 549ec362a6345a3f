"""Answers about the document itself: titles, authors, captions, and the pages that hold something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import AUTHOR, Kind
from looseleaf.models.extractive.page import Line, PageModel
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.span import find_spans, name_spans
from looseleaf.models.extractive.words import stem, stem_set, tokens

__all__ = ["AUTHORS", "TITLE", "structure_candidates"]

SOLE_SPAN: Final = 0.7
"""Score of the only e-mail address, web address or telephone number of the pages, where one is asked for."""
SAME_PAGE: Final = 0.9
"""Share of the best page's score from which on a page belongs to the list too."""
FIRST_PAGE: Final = 1
MOST_TITLE_LINES: Final = 3
_AFFILIATION: Final = re.compile(
    r"\b(?:university|institute|department|college|school|laborator(?:y|ies)|faculty)\b|@", re.IGNORECASE
)
_FIRST: Final = re.compile(r"\bfirst (?:\d+|[a-z]+) \w+", re.IGNORECASE)
COUNTED_WORDS: Final = 3
OPENING_LINES: Final = 12
LEAST_COVERAGE: Final = 0.35
_RARE: Final = frozenset({Kind.EMAIL, Kind.PHONE, Kind.URL})
TITLE: Final = re.compile(
    r"\b(?:title|name) of (?:the|this) "
    r"(?:document|paper|report|book|article|presentation|brochure|guide|study|manual)\b",
    re.IGNORECASE,
)
_DOCUMENT_DATE: Final = re.compile(
    r"\bdate of (?:the|this) (?:document|report|letter|paper|slide|presentation|filing)\b"
    r"|\bdate\b.*\b(?:published|issued|released)\b",
    re.IGNORECASE,
)
AUTHORS: Final = re.compile(rf"{AUTHOR}|\bwho (?:wrote|prepared|created|published)\b", re.IGNORECASE)
_BY: Final = re.compile(r"^(?:(?:written|prepared|authored|edited|published)\s+)?by:?\s+(.+)$", re.IGNORECASE)
LEADING: Final = frozenset(["before", "by", "the", "with", "and", "from", "to", "for", "in", "of"])
_PERSON: Final = r"[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*){1,3}"
TITLED: Final = 0.45
ROLES: Final = stem_set(
    "judge president director chairman editor author attorney officer manager professor ceo cfo"
)
_MARKS: Final = "*∗†‡§¶⋆♠♣♥♦"
_MARKED: Final = re.compile(rf"[\d{_MARKS}]")
_NAME: Final = re.compile(r"[A-Z][\w’'.-]+(?: (?:[A-Z][\w’'.-]*|van|von|de|der|di|la))+")


def structure_candidates(pool: Pool) -> Iterator[Candidate]:
    """Candidates of all mechanisms that look at the document's make-up."""
    if pool.query.kind in _RARE:
        yield from _sole(pool)
    if pool.query.kind is Kind.DATE and (pool.query.pages or _DOCUMENT_DATE.search(pool.query.text)):
        yield from _on_named_page(pool)
    if pool.query.kind is Kind.PAGE:
        yield from _pages(pool)
    if pool.query.kind is Kind.PERSON:
        yield from _titled(pool)
    for page, model in pool.pages():
        if page == FIRST_PAGE and TITLE.search(pool.query.text):
            yield from _title(page, model)
        if page <= FIRST_PAGE + 2 and AUTHORS.search(pool.query.text):
            yield from _authors(pool, page, model)


def _sole(pool: Pool) -> Iterator[Candidate]:
    """Addresses, best first where few are to be found."""
    found = [
        (p.page, span.text, p.text) for p in pool.passages for span in find_spans(p.text, pool.query.kind)
    ]
    distinct = list(dict.fromkeys(text for _, text, _ in found))
    for page, text, whole in found:
        line = next((line for line in whole.splitlines() if text in line), text)
        score = SOLE_SPAN / len(distinct) ** 0.5 + 0.3 * pool.coverage(stem_set(line))
        yield Candidate(
            text, page, line.strip(), score * pool.page_factor(page), "structure:address", computed=True
        )


def _on_named_page(pool: Pool) -> Iterator[Candidate]:
    """Dates on the page that the question names."""
    for passage in pool.passages:
        if passage.page in (pool.query.pages or (FIRST_PAGE,)):
            for span in find_spans(passage.text, pool.query.kind)[:1]:
                yield Candidate(
                    span.text, passage.page, f"Date on this page: {span.text}", 0.6, "structure:date"
                )


def _pages(pool: Pool) -> Iterator[Candidate]:
    """The page whose text covers the question best, or all pages with what is asked for."""
    scored: list[tuple[float, int, str]] = []
    for page, model in pool.pages():
        best = max(
            (pool.coverage(s.stems, stem_set(model.heading(s.line))) for s in model.sentences), default=0.0
        )
        score = 0.5 * best + 0.4 * pool.coverage(model.stems)
        if score >= LEAST_COVERAGE and model.lines:
            scored.append((score, page, model.lines[0].text))
    for score, page, line in scored:
        yield Candidate(str(page), page, f"Page {page}: {line}", score, "structure:page", computed=True)
    if pool.query.form.listed and len(scored) > 1:
        top = max(scored)[0]
        pages = sorted(page for score, page, _ in scored if score >= SAME_PAGE * top)
        text = str([_page_name(pool.query.raw, page) for page in pages])
        evidence = f"Pages {', '.join(map(str, pages))}"
        yield Candidate(text, pages[0], evidence, top, "structure:pages", computed=True)


def _page_name(question: str, page: int) -> str:
    """A page the way that the question's example names pages ("Page 2", "p2", 2)."""
    match = re.search(r"\[\s*[\"'‘“]([A-Za-z]+ ?)\d+", question)
    return f"{match[1]}{page}" if match else str(page)


def _titled(pool: Pool) -> Iterator[Candidate]:
    """A name with the title asked for right after or before it ("Scott Bradley, Judge", "Judge Bradley")."""
    heads = [
        token for token in tokens(pool.query.text) if stem(token) in pool.focus[:2] or stem(token) in ROLES
    ]
    for head in dict.fromkeys(heads):
        word = re.escape(head.rstrip("s"))
        pattern = re.compile(
            rf"(?P<before>{_PERSON})\s*,\s*(?P<title>(?:[\w-]+\s){{0,3}}?(?i:{word})\b)"
            rf"|(?P<titled>(?:[A-Z][\w-]*\s)?\b(?i:{word}))s?:?\s+(?P<after>{_PERSON})"
        )
        for passage in pool.passages:
            for match in pattern.finditer(passage.text):
                name = _without_link(match["before"] or match["after"])
                title = stem_set(match["title"] or match["titled"] or "")
                fit = len(pool.roots(title)) / max(len(title), 1)
                score = (
                    TITLED * fit + 0.4 * pool.coverage(title, stem_set(passage.text))
                ) * pool.page_factor(passage.page)
                line = " ".join(match[0].split())
                yield Candidate(name, passage.page, line, score, "structure:titled", computed=True)


def _without_link(name: str) -> str:
    """A name without a function word that only starts its sentence ("Before William Pryor")."""
    first, _, rest = name.partition(" ")
    return rest if rest and first.lower() in LEADING else name


def _title(page: int, model: PageModel) -> Iterator[Candidate]:
    """The first lines of the first page, up to a name or a sentence."""
    lines = [line for line in model.lines[:OPENING_LINES] if any(c.isalpha() for c in line.text)]
    taken: list[str] = []
    for line in lines:
        if taken and (
            line.text[-1] in ".:,"
            or len(taken) >= MOST_TITLE_LINES
            or _names_people(line.text)
            or (line.kind != "heading" and not _continues(taken[-1]))
        ):
            break
        taken.append(line.text)
    if taken:
        yield Candidate(
            " ".join(taken), page, f"Title: {' '.join(taken)}", 0.7, "structure:title", computed=True
        )


def _names_people(text: str) -> bool:
    """Whether a line is one of authors or of where they are from."""
    return bool(_person_names(text)) or bool(_AFFILIATION.search(text))


def _continues(text: str) -> bool:
    """Whether a title line asks for a continuation."""
    return (
        text.split()[-1].lower() in {"of", "the", "and", "for", "in", "on", "a", "to", "with", "from"}
        or text[-1] in ":-–"
    )


def _authors(pool: Pool, page: int, model: PageModel) -> Iterator[Candidate]:
    """Names after "by", or the first line of the first page that is nothing but names of persons."""
    lines = model.lines[: 3 * OPENING_LINES]
    for line in lines:
        match = _BY.match(line.text)
        names = [span.text for span in name_spans(match[1]) if " " in span.text] if match else []
        if not names and page == FIRST_PAGE and line.index:
            names = _person_names(line.text)
            names += _further_names(lines, line.index + 1) if names else []
        if names:
            yield from _as_asked(pool, page, names, line.text)
            if not match:
                return


def _counted(text: str) -> str:
    """What is counted: the words right behind "how many"."""
    _, _, behind = text.lower().partition("how many ")
    return " ".join((behind or text).split()[:COUNTED_WORDS])


def _further_names(lines: Sequence[Line], start: int) -> list[str]:
    """Names on the lines that follow, as long as these hold marked names and nothing else."""
    found: list[str] = []
    for line in lines[start:]:
        names = _only_names(line.text)
        if not names or (len(names) == 1 and not _MARKED.search(line.text)):
            break
        found += names
    return found


def _as_asked(pool: Pool, page: int, names: list[str], line: str) -> Iterator[Candidate]:
    """Authors as a number, a list or one name."""
    if pool.query.wanted and _FIRST.search(pool.query.text):
        names = names[: pool.query.wanted]
    if pool.query.kind is Kind.COUNT:
        if not AUTHORS.search(_counted(pool.query.text)):
            return
        text = str(len(names))
    else:
        text = str(names) if len(names) > 1 and pool.query.form.listed else ", ".join(names)
    evidence = f"{len(names)} authors: {', '.join(names)}"
    yield Candidate(text, page, evidence, 0.7, "structure:author", computed=True)


def _person_names(text: str) -> list[str]:
    """The names on a line that holds at least two names of persons and nothing else."""
    names = _only_names(text)
    return names if len(names) > 1 else []


def _only_names(text: str) -> list[str]:
    """The names on a line that holds nothing but names of persons and marks of their institutions."""
    parts = [part.strip() for part in re.split(rf",|\t|\band\b|&|;|[\d{_MARKS}]+", text)]
    parts = [part for part in parts if part]
    return parts if parts and all(_NAME.fullmatch(part) for part in parts) else []
