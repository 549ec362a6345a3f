"""Where the questions of a desk come from: the assistant's own, or a list with gold answers."""

from __future__ import annotations

from typing import NamedTuple

from looseleaf.adapters.desk_record import DeskRecord, free_question
from looseleaf.adapters.shelf import Shelf
from looseleaf.benchmarks import QuestionSet
from looseleaf.errors import DataError
from looseleaf.question import Question
from looseleaf.retrieval import Retriever, RetrieverMaker
from looseleaf.retrieval.collection import AnyDocument
from looseleaf.runner.library import Library

__all__ = ["FreeQuestions", "Inquiry", "ListedQuestions"]


class Inquiry(NamedTuple):
    """A question with all that an environment is made of.

    Attributes:
        question: the question.
        document: what is read.
        retriever: indexed for the document.
        window: page window of the input, an oracle setting, or `None`.
    """

    question: Question
    document: AnyDocument
    retriever: Retriever
    window: tuple[int, int] | None = None


class FreeQuestions:
    """Any question, about one document or about all of them.

    Args:
        shelf: the documents.
        maker: makes a retriever for a document.
        record: numbers and keeps the questions, if they are kept.
    """

    def __init__(self, shelf: Shelf, maker: RetrieverMaker, record: DeskRecord | None = None) -> None:
        self._shelf = shelf
        self._maker = maker
        self._record = record
        self._indexed: dict[str, Retriever] = {}
        self._asked = 0

    def open(self, text: str, document: str) -> Inquiry:
        """The question about the named document, or about all where no name is given.

        Raises:
            UserError: there is no question or no such document.
            FaultError: the retriever failed.
        """
        if not text.strip():
            raise DataError("The question is empty; say what you want to know.")
        opened = self._shelf.open(document)
        if opened.doc_id not in self._indexed:
            retriever = self._maker()
            retriever.index(opened)
            self._indexed[opened.doc_id] = retriever
        question = self._numbered(text.strip(), opened.doc_id)
        return Inquiry(question, opened, self._indexed[opened.doc_id])

    def _numbered(self, text: str, doc_id: str) -> Question:
        if self._record is not None:
            return self._record.new_question(text, doc_id)
        self._asked += 1
        return free_question(self._asked - 1, text, doc_id)


class ListedQuestions:
    """The questions of a file, each to be answered once, so that the assistant is measured on all of them.

    Args:
        questions: the questions that are asked.
        question_set: the set they are from.
        library: their documents.
        record: knows which are answered.
    """

    def __init__(
        self,
        questions: list[Question],
        question_set: QuestionSet,
        library: Library,
        record: DeskRecord | None = None,
    ) -> None:
        self._questions = questions
        self._set = question_set
        self._library = library
        self._record = record

    def open(self, text: str, document: str) -> Inquiry:
        """The question of that id or wording; its document is the one of the list.

        Raises:
            UserError: it is not in the list, is answered, or its document cannot be opened.
            FaultError: the retriever failed.
        """
        wanted = text.strip()
        question = next((one for one in self._questions if wanted in (one.question_id, one.question)), None)
        if question is None:
            raise DataError("That question is not in the list; use an id of list_questions.")
        if self._record is not None and self._record.is_finished(question):
            raise DataError(f"{question.question_id} is answered; take another one of list_questions.")
        opened = self._library.open(question)
        return Inquiry(question, opened.document, opened.retriever, self._set.window_of(question))

    def listing(self) -> str:
        """Id, document and wording of the questions that are left, one a line."""
        left = [one for one in self._questions if self._record is None or not self._record.is_finished(one)]
        lines = [f"{one.question_id} ({one.doc_id}): {one.question}" for one in left]
        return "\n".join([f"{len(left)} of {len(self._questions)} questions are left.", *lines])
