"""That a question runs on its own document, and on no other."""

from __future__ import annotations

from collections.abc import Mapping

from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.document import Document, PageStore
from looseleaf.errors import DataError
from looseleaf.question import Question

__all__ = ["document_hashes", "verify_routing"]


def document_hashes(question_set: QuestionSet, store: PageStore | None = None) -> dict[str, str]:
    """`doc_id` to the sha256 of its present document.

    Raises:
        DocumentError: a document cannot be opened.
    """
    first = {question.doc_id: question for question in reversed(question_set.runnable)}
    return {doc_id: question_set.open(question, store).sha256 for doc_id, question in sorted(first.items())}


def verify_routing(question: Question, document: Document, hashes: Mapping[str, str] | None = None) -> None:
    """Check that `document` is the one that `question` asks about.

    Args:
        question: the question about to run.
        document: the document it would run on.
        hashes: expected sha256 by `doc_id`, from `document_hashes` or a stored manifest.

    Raises:
        DataError: it is another document, or its bytes are not the expected ones.
    """
    if document.doc_id != question.doc_id:
        raise DataError(
            f"{question.question_id} asks about {question.doc_id}, not about {document.doc_id}; "
            "open the question's own document."
        )
    if hashes is None:
        return
    expected = hashes.get(question.doc_id)
    if expected != document.sha256:
        raise DataError(
            f"{question.question_id}: {question.doc_id} has sha256 {document.sha256[:12]}…, expected "
            f"{(expected or 'none')[:12]}…; restore the document or start a new run."
        )
