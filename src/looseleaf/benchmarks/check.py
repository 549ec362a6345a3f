"""`check`: what of a benchmark is there, and what is wrong with it."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.benchmarks.annotation_rules import annotation_faults
from looseleaf.benchmarks.corpus_rules import (
    duplicate_documents,
    misplaced_documents,
    renamed_documents,
    wrong_documents,
)
from looseleaf.benchmarks.document_rules import document_faults
from looseleaf.benchmarks.faults import Fault, FaultKind
from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.document import Document, PageStore
from looseleaf.errors import DocumentError
from looseleaf.question import Question

__all__ = ["CheckReport", "DocumentRecord", "check"]


class DocumentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One present document.

    Attributes:
        doc_id: the source's name.
        file: path below the data folder.
        sha256: hash of its bytes; empty where it cannot be opened.
        pages: number of pages; 0 where it cannot be opened.
        has_text: whether any page has a text layer.
        questions: number of questions about it.
        labels_differ: whether any printed label differs from the physical page number.
    """

    doc_id: str
    file: str
    sha256: str
    pages: int
    has_text: bool
    questions: int
    labels_differ: bool


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """What `check` found.

    Attributes:
        data: the question set's own description (`QuestionSet.describe`).
        counts: numbers of questions, documents, pages and faults.
        formats: number of questions by answer format.
        documents: the present documents, by name; empty if they were not opened.
        missing: documents that are not present, with their numbers of questions.
        extra: files that no question names.
        broken: documents that cannot be opened, with the reason.
        faults: everything that is wrong, annotations first.
    """

    data: Mapping[str, Any]
    counts: Mapping[str, int]
    formats: Mapping[str, int]
    documents: tuple[DocumentRecord, ...]
    missing: Mapping[str, int]
    extra: tuple[str, ...]
    broken: Mapping[str, str]
    faults: tuple[Fault, ...]

    def of_kind(self, kind: FaultKind) -> tuple[Fault, ...]:
        """The faults of one kind."""
        return tuple(fault for fault in self.faults if fault.kind == kind)

    @property
    def by_kind(self) -> dict[FaultKind, int]:
        """Number of faults of each kind that occurs, in the order of `FaultKind`."""
        found = Counter(fault.kind for fault in self.faults)
        return {kind: found[kind] for kind in FaultKind if found[kind]}

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        value: dict[str, Any] = msgspec.to_builtins(fields, str_keys=True)
        return value

    def rows(self) -> list[tuple[str, str, str, str]]:
        """One `(kind, question or document, certainty, message)` for each fault, as text for a table."""
        return [
            (
                fault.kind.value,
                fault.question_id or fault.doc_id,
                "certain" if fault.certain else "suspected",
                fault.message,
            )
            for fault in self.faults
        ]

    def text(self) -> str:
        """The report as plain lines."""
        counts = [f"{name.replace('_', ' ')}: {number}" for name, number in self.counts.items()]
        kinds = [f"  {kind.value}: {number}" for kind, number in self.by_kind.items()]
        faults = [f"{kind}  {place}  {message}" for kind, place, _, message in self.rows()]
        notes = [f"note: {note}" for note in self.data["notes"]]
        title = f"{self.data['name']} {self.data['version']}"
        return "\n".join([title, *notes, *counts, *kinds, *faults])


def check(
    question_set: QuestionSet, store: PageStore | None = None, *, open_documents: bool = True
) -> CheckReport:
    """Find what is missing, broken or wrong.

    Args:
        question_set: a loaded set; load it with `require_documents=False` to check annotations alone.
        store: where pages are cached and read.
        open_documents: also open the present documents; without it, only what the annotations and the folder
            listing show is reported.
    """
    asked: dict[str, list[Question]] = defaultdict(list)
    for question in question_set.questions:
        asked[question.doc_id].append(question)
    opened, broken = _opened(question_set, asked, store) if open_documents else ({}, {})
    faults = [
        *annotation_faults(question_set.questions),
        *_folder_faults(question_set, asked, opened, broken),
    ]
    records = tuple(_record(question_set, doc_id, opened.get(doc_id), asked) for doc_id in [*opened, *broken])
    missing = {doc_id: len(asked[doc_id]) for doc_id in question_set.missing}
    return CheckReport(
        data=question_set.describe(),
        counts=_counts(question_set, records, broken, faults),
        formats=dict(Counter(question.answer_format for question in question_set.questions).most_common()),
        documents=tuple(sorted(records, key=lambda record: record.doc_id)),
        missing=missing,
        extra=tuple(question_set.extra),
        broken=broken,
        faults=tuple(faults),
    )


def _opened(
    question_set: QuestionSet, asked: Mapping[str, Sequence[Question]], store: PageStore | None
) -> tuple[dict[str, Document], dict[str, str]]:
    opened: dict[str, Document] = {}
    broken: dict[str, str] = {}
    for doc_id in question_set.documents:
        try:
            document = question_set.open(asked[doc_id][0], store)
        except DocumentError as error:
            broken[doc_id] = str(error)
            continue
        if document.page_count:
            opened[doc_id] = document
        else:
            broken[doc_id] = f"{document.path} has no page."
    return opened, broken


def _folder_faults(
    question_set: QuestionSet,
    asked: Mapping[str, Sequence[Question]],
    opened: Mapping[str, Document],
    broken: Mapping[str, str],
) -> list[Fault]:
    faults = list(renamed_documents(question_set.documents))
    faults += misplaced_documents(question_set.missing, question_set.extra)
    faults += [
        Fault(kind=FaultKind.BROKEN_DOCUMENT, message=reason, doc_id=doc_id)
        for doc_id, reason in broken.items()
    ]
    for doc_id, document in opened.items():
        faults += document_faults(document, asked[doc_id])
    if opened:
        hashes = {doc_id: document.sha256 for doc_id, document in opened.items()}
        faults += duplicate_documents(hashes, _extra_hashes(question_set.extra))
        faults += wrong_documents(asked, opened)
    return faults


def _extra_hashes(extra: Mapping[str, Path]) -> dict[str, str]:
    hashes: dict[str, str] = {}
    for name, path in extra.items():
        # A link may lead anywhere, and a folder of images is compared only when a question asks about it.
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def _record(
    question_set: QuestionSet, doc_id: str, document: Document | None, asked: Mapping[str, Sequence[Question]]
) -> DocumentRecord:
    path = question_set.documents[doc_id]
    pages = document.page_count if document else 0
    return DocumentRecord(
        doc_id=doc_id,
        file=path.relative_to(question_set.data).as_posix(),
        sha256=document.sha256 if document else "",
        pages=pages,
        has_text=bool(document and document.has_text),
        questions=len(asked[doc_id]),
        labels_differ=bool(document and list(document.labels) != [str(page) for page in range(1, pages + 1)]),
    )


def _counts(
    question_set: QuestionSet,
    records: Sequence[DocumentRecord],
    broken: Mapping[str, str],
    faults: Sequence[Fault],
) -> dict[str, int]:
    questions = question_set.questions
    no_text = {record.doc_id for record in records if record.pages and not record.has_text}
    return {
        "questions": len(questions),
        "runnable": len(question_set.runnable),
        "unanswerable": sum(question.unanswerable for question in questions),
        "unanswerable_runnable": sum(question.unanswerable for question in question_set.runnable),
        "without_gold": sum(not question.references for question in questions),
        "without_document": len(questions) - len(question_set.runnable),
        "documents": len(question_set.documents),
        "documents_missing": len(question_set.missing),
        "documents_extra": len(question_set.extra),
        "documents_broken": len(broken),
        "documents_without_text": len(no_text),
        "questions_without_text": sum(question.doc_id in no_text for question in questions),
        "pages": sum(record.pages for record in records),
        "faults": sum(fault.certain for fault in faults),
        "suspicions": sum(not fault.certain for fault in faults),
    }
