"""Answers from forms and registers: entries below their keys, and what is said behind a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.keyed import LEAST_COVERAGE, SHORT_VALUE, key_score, suited
from looseleaf.models.extractive.kinds import NUMERIC, Kind
from looseleaf.models.extractive.line import Line
from looseleaf.models.extractive.page import PageModel
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import stem_set

__all__ = ["form_candidates"]

FORM_LINES: Final = 3
"""Lines that the key of an entry may have."""
FORM_PAGE: Final = 30
"""Lines of a page up to which all of it is about the one thing that the form is for."""
FORM: Final = 0.95
APPOSITION: Final = 0.7


def form_candidates(pool: Pool) -> Iterator[Candidate]:
    """Short lines below keys that the question names, and words behind names of the question."""
    for page, model in pool.pages():
        yield from _forms(pool, page, model)
        for line in model.lines:
            if ", " in line.text:
                yield from _appositions(pool, page, line)


def _forms(pool: Pool, page: int, model: PageModel) -> Iterator[Candidate]:
    """Entries of forms: a question or key over one to three lines, and a short line right below."""
    for start, line in enumerate(model.lines):
        if not pool.roots(line.stems):
            continue
        key = ""
        for end in range(start, min(start + FORM_LINES, len(model.lines) - 1)):
            key = f"{key} {model.lines[end].text}".strip()
            if key[-1] in "?:)" and "\t" not in key:
                yield from _entry(pool, page, model, key, model.lines[end + 1])
                break
        if line.kind == "heading" and pool.knows_all(line.stems) and start + 1 < len(model.lines):
            yield from _entry(pool, page, model, line.text, model.lines[start + 1])


def _entry(pool: Pool, page: int, model: PageModel, key: str, below: Line) -> Iterator[Candidate]:
    if (
        len(below.text.split()) > SHORT_VALUE
        or below.kind in {"bullet", "numbered"}
        or below.text[-1] in ":?"
    ):
        return
    text = below.text.split("\t")[0].strip(" .")
    value = suited(pool, text.split(",")[0] if pool.query.kind is Kind.PERSON else text)
    context = stem_set(_section(model, below.index))
    if len(model.lines) <= FORM_PAGE:
        context |= model.stems
    score = FORM * key_score(pool, key, context)
    if value and score >= LEAST_COVERAGE:
        yield Candidate(
            value, page, f"{key.rstrip(':')}: {below.text}", score * pool.page_factor(page), "keyed:form"
        )


def _section(model: PageModel, index: int) -> str:
    """The heading above the key right above a line."""
    heading = model.headings[index - 1]
    return (
        model.heading(heading - 1) if heading >= index - FORM_LINES and heading > 0 else model.heading(index)
    )


def _appositions(pool: Pool, page: int, line: Line) -> Iterator[Candidate]:
    """What a list says behind a name of the question ("Judy Biggert, Illinois")."""
    name, comma, rest = line.text.partition(", ")
    words = name.split()
    if (
        not comma
        or len(words) < 2
        or len(rest.split()) > SHORT_VALUE
        or not all(w[0].isupper() for w in words)
    ):
        return
    if name.lower() in pool.asked and pool.query.kind not in NUMERIC and rest[0].isupper():
        yield Candidate(
            rest.strip(" .,"), page, line.text, APPOSITION * pool.page_factor(page), "keyed:apposition"
        )
