"""`RunDocuments`: the documents of a stored run, where they are still there and unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.document import Document, PageStore, default_store, ocr_engine
from looseleaf.errors import ConfigError, DataError, DocumentError, UserError
from looseleaf.question import Question
from looseleaf.runner.config import DataConfig
from looseleaf.runner.selection import load_data
from looseleaf.runstore import Run
from looseleaf.trajectory import Trajectory

__all__ = ["RunDocuments"]


class RunDocuments:
    """Opens the document of a question.

    Args:
        run: the stored run.
        data: data folder in place of the run's own, or empty.
        store: page store; the process-wide one by default.
    """

    def __init__(self, run: Run, data: str = "", store: PageStore | None = None) -> None:
        self._store = store or default_store()
        self._ocr = _uses_ocr(run.config) and ocr_engine() is not None
        self._set: QuestionSet | None = None
        self._open: dict[str, Document] = {}
        self._changed: set[str] = set()
        self.problem = ""
        try:
            self._set = load_data(_data_config(run, data))
        except UserError as problem:
            self.problem = str(problem)

    @property
    def available(self) -> bool:
        """Whether the data folder can be used."""
        return self._set is not None

    @property
    def changed(self) -> tuple[str, ...]:
        """Documents that are not the ones that the run read, by name."""
        return tuple(sorted(self._changed))

    def require(self, what: str) -> None:
        """Stop where there are no documents.

        Raises:
            ConfigError: what was asked for needs documents, and there are none.
        """
        if not self.available:
            raise ConfigError(f"{what} needs the documents of the run; add --data DIR ({self.problem})")

    def open(self, question: Question, trajectory: Trajectory | None = None) -> Document:
        """The question's document.

        Args:
            question: whose document.
            trajectory: what read it, to tell whether it is still the same.

        Raises:
            DocumentError: it is not there, cannot be opened, or is not the one that was read.
        """
        if self._set is None:
            raise DocumentError(self.problem)
        document = self._open.get(question.doc_id)
        if document is None:
            try:
                document = self._set.open(question, self._store, ocr=self._ocr)
            except DataError as problem:
                raise DocumentError(str(problem)) from problem
            self._open = {question.doc_id: document}  # questions of one document follow each other
        if trajectory is not None and trajectory.doc_sha256 not in ("", document.sha256):
            self._changed.add(question.doc_id)
            raise DocumentError(
                f"{question.doc_id} is not the document that the run read; give the folder of the run with --data."
            )
        return document


def _uses_ocr(config: Mapping[str, Any]) -> bool:
    return str(config.get("pages", {}).get("ocr", "none")) != "none"


def _data_config(run: Run, data: str) -> DataConfig:
    """The run's data, in another folder if one is given.

    Raises:
        ConfigError: neither the run nor the user says where the data are.
    """
    stored = run.config.get("data", {})
    questions = run.questions()
    benchmark = str(stored.get("benchmark") or (questions[0].benchmark if questions else ""))
    path = data or str(stored.get("path", ""))
    if not benchmark or not path:
        raise ConfigError("The run does not say where its documents are; add --data DIR.")
    if not Path(path).exists():
        raise ConfigError(f"There is no data folder {path}; add --data DIR.")
    return DataConfig(benchmark=benchmark, path=path, options=stored.get("options", {}))
