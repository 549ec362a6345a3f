"""Which question of a benchmark a foreign row belongs to, or a question made of the row itself."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol

from looseleaf.adapters.imports.source import Gold, RowProblem, SourceRow
from looseleaf.benchmarks.folder import normalised_name
from looseleaf.question import NOT_ANSWERABLE, Question

__all__ = ["BenchmarkMatcher", "Matcher", "OwnQuestions", "comparable"]


def comparable(text: str) -> str:
    """The form in which texts of questions are compared: composed, case folded, blanks squeezed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Matcher(Protocol):
    """Gives each row its question."""

    def question_of(self, row: SourceRow) -> Question:
        """The row's question.

        Raises:
            RowProblem: it has none.
        """

    def questions(self) -> tuple[Question, ...]:
        """All questions, in order: the denominator of every result."""


class BenchmarkMatcher:
    """Matches rows with the questions of a benchmark.

    A row matches by its identifier where the text of the question agrees or is not given; else by document and text;
    else, for rows that name no document, by text where only one document has it. Where several questions agree in all
    of that, the row's gold answer decides, and else their order: the first row gets the first question.

    Args:
        questions: the questions to choose from.
    """

    def __init__(self, questions: Iterable[Question]) -> None:
        self._all = tuple(questions)
        self._by_id = {name: q for q in self._all for name in (q.native_id, q.question_id)}
        self._by_text: dict[str, list[Question]] = defaultdict(list)
        for question in self._all:
            self._by_text[comparable(question.question)].append(question)
        self._given: dict[tuple[str, str], int] = defaultdict(int)

    def questions(self) -> tuple[Question, ...]:
        """All questions of the benchmark."""
        return self._all

    def question_of(self, row: SourceRow) -> Question:
        """The row's question; see the class.

        Raises:
            RowProblem: no question fits.
        """
        text = comparable(row.question)
        named = self._by_id.get(row.native_id) if row.native_id else None
        if named is not None and (not text or comparable(named.question) == text):
            return named
        found = self._by_text.get(text, []) if text else []
        fitting = [q for q in found if not row.doc_id or _same_document(q.doc_id, row.doc_id)]
        if not fitting or (not row.doc_id and len({q.doc_id for q in fitting}) > 1):
            raise RowProblem("no question of the benchmark has its identifier, or its document and text")
        return self._one_of(fitting, row)

    def _one_of(self, fitting: list[Question], row: SourceRow) -> Question:
        alike = (
            [q for q in fitting if q.references[:1] == row.gold.references[:1]] if row.gold.references else []
        )
        fitting = alike or fitting
        if len(fitting) == 1:
            return fitting[0]
        key = (fitting[0].doc_id, comparable(row.question))
        self._given[key] += 1
        return fitting[(self._given[key] - 1) % len(fitting)]


def _same_document(known: str, given: str) -> bool:
    return known == given or normalised_name(_last(known)) == normalised_name(_last(given))


def _last(name: str) -> str:
    """The name without folders: sources store paths of their own machines."""
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]


class OwnQuestions:
    """Makes the questions out of the rows; rows of one question share it.

    Args:
        name: benchmark name of the questions.
        known: questions that the source holds itself.
    """

    def __init__(self, name: str, known: Iterable[Question] = ()) -> None:
        self._name = name
        self._made = {(question.question_id, "", "", ""): question for question in known}

    def questions(self) -> tuple[Question, ...]:
        """The questions so far, in order of first appearance."""
        return tuple(self._made.values())

    def question_of(self, row: SourceRow) -> Question:
        """The row's question, new or met before.

        Raises:
            RowProblem: the row has no text of a question.
        """
        if row.known is None and not row.question.strip():
            raise RowProblem("it has no question; match it with a benchmark by --questions")
        if row.known is not None:
            return self._made.setdefault((row.known.question_id, "", "", ""), row.known)
        # Two rows that agree in all but the gold answer are two questions (MMLongBench-Doc has such a pair).
        key = (row.native_id, row.doc_id, comparable(row.question), repr(row.gold.references))
        if key not in self._made:
            self._made[key] = _question(row, self._name, len(self._made))
        return self._made[key]


def _question(row: SourceRow, name: str, index: int) -> Question:
    gold = row.gold
    return Question(
        question_id=f"{name}:{index}",
        native_id=row.native_id or str(index),
        benchmark=name,
        split="imported",
        doc_id=row.doc_id,
        question=row.question,
        references=gold.references,
        answer_format=gold.answer_format or _format_of(gold.references),
        evidence_pages=gold.evidence_pages,
        raw_evidence=gold.raw_evidence,
        sources=gold.sources,
        doc_type=gold.doc_type,
        tags=gold.tags,
        unanswerable=_unanswerable(gold),
    )


def _unanswerable(gold: Gold) -> bool:
    if gold.unanswerable is not None:
        return gold.unanswerable
    return bool(gold.references) and gold.references[0] == NOT_ANSWERABLE


def _format_of(references: tuple[Any, ...]) -> str:
    """The label that MMLongBench-Doc's rule expects for a value of this type."""
    if not references:
        return ""
    first = references[0]
    kinds = ((bool, "Str"), (int, "Int"), (float, "Float"), (list, "List"))
    return (
        "None"
        if first == NOT_ANSWERABLE
        else next((name for kind, name in kinds if isinstance(first, kind)), "Str")
    )
