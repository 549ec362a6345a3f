"""The documents of an import, where they are at hand: hashes, and which page numbers cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from looseleaf.adapters.imports.source import RowProblem
from looseleaf.benchmarks.folder import DocumentFolder
from looseleaf.document import Document, default_store
from looseleaf.errors import DataError, DocumentError
from looseleaf.memory import Finding
from looseleaf.roles import Observation
from looseleaf.trajectory import Step

__all__ = ["Checked", "Documents", "checked_steps", "impossible_sources"]


class Checked(NamedTuple):
    """Steps without pages that cannot be, and those pages."""

    steps: tuple[Step, ...]
    impossible: tuple[int, ...]


class Documents:
    """Finds and opens the documents that rows name.

    Args:
        folder: folder of documents, or `None` where none are at hand.
        known: documents that are found already, by their name in the questions.

    Raises:
        DataError: the folder is none.
    """

    def __init__(self, folder: Path | None, known: Mapping[str, Path] | None = None) -> None:
        if folder is not None and not folder.is_dir():
            raise DataError(f"{folder} is not a folder; give the folder that holds the documents.")
        root = folder or Path()
        self._folder = DocumentFolder(root, (root,) if folder is not None else ())
        self._known = known or {}
        self._facts: dict[str, tuple[str, int] | None] = {}
        self.unopened: dict[str, str] = {}

    def facts_of(self, doc_id: str, where: str) -> tuple[str, int] | None:
        """Hash and number of pages of a document; `None` where it is not here or cannot be opened.

        Raises:
            RowProblem: the name could lead out of the folder.
        """
        if doc_id not in self._facts:
            self._facts[doc_id] = self._opened(doc_id, where)
        return self._facts[doc_id]

    def _opened(self, doc_id: str, where: str) -> tuple[str, int] | None:
        try:
            path = self._known.get(doc_id) or self._folder.find(doc_id, where)
        except DataError as problem:
            raise RowProblem(str(problem).removeprefix(f"{where}: ").rstrip(".")) from problem
        if path is None:
            return None
        try:
            document = Document.open(path, store=default_store(), doc_id=doc_id)
        except DocumentError as problem:
            self.unopened[doc_id] = str(problem)
            return None
        return document.sha256, document.page_count


def checked_steps(steps: Sequence[Step], page_count: int | None) -> Checked:
    """The steps without pages below 1 or beyond the document's last, where its length is known."""
    impossible: list[int] = []

    def possible(page: int) -> bool:
        fits = page >= 1 and (page_count is None or page <= page_count)
        if not fits:
            impossible.append(page)
        return fits

    kept = []
    for step in steps:
        seen = step.observation
        observation = Observation(
            text=seen.text,
            returned=tuple(returned for returned in seen.returned if possible(returned.page)),
            shown=tuple(page for page in seen.shown if possible(page)),
        )
        kept.append(step if observation == seen else msgspec.structs.replace(step, observation=observation))
    return Checked(tuple(kept), tuple(dict.fromkeys(impossible)))


def impossible_sources(memory: Sequence[Finding], page_count: int | None) -> int:
    """Findings that cite a page which cannot be; they load as they are."""
    return sum(f.source_page < 1 or (page_count is not None and f.source_page > page_count) for f in memory)
