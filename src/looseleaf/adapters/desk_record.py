"""`DeskRecord`: the RUN that the sessions of a desk are written into, like any other run."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import msgspec

from looseleaf import __version__
from looseleaf.benchmarks import QuestionSet
from looseleaf.question import Question
from looseleaf.runner.config import DataConfig, RunConfig, check_same_config
from looseleaf.runner.library import Library
from looseleaf.runner.manifest import freeze
from looseleaf.runner.selection import select
from looseleaf.runstore import Run, config_id
from looseleaf.trajectory import Trajectory

__all__ = ["ASKED", "DeskRecord"]

ASKED = "asked"
"""Name of the question set that free questions make up; its file lies in the RUN, so that pages can be found later."""


class DeskRecord:
    """Holds the writer's lock of a RUN from `__enter__` to `__exit__`.

    Args:
        out: the RUN folder, new or to be continued.
        config: the configuration of all sessions; for free questions its data are `free_data`.
        question_set: the questions that can be asked, or `None` for free ones.
        library: their documents, likewise.
    """

    def __init__(
        self,
        out: Path,
        config: RunConfig,
        question_set: QuestionSet | None = None,
        library: Library | None = None,
    ) -> None:
        self._run = Run.create(out)
        self._config = config
        self._set = question_set
        self._library = library
        self._stack = ExitStack()
        self.run_id = config_id("run", config.as_tables())

    @staticmethod
    def free_data(out: Path, documents: Path) -> DataConfig:
        """The data of a run of free questions: their file in the RUN, and the folder of the documents."""
        return DataConfig(benchmark=str(out / f"{ASKED}.jsonl"), path=str(documents))

    def __enter__(self) -> Self:
        """Lock the run, and save the configuration or check that it is the same.

        Raises:
            RunError: another process writes to it, or it was made under other settings.
        """
        with ExitStack() as stack:
            stack.enter_context(self._run.writing())
            if self._set is not None and self._library is not None:
                freeze(self._run, self._config, self._set, select(self._set, self._config), self._library)
            else:
                self._freeze_free()
            self._stack = stack.pop_all()
        self.run_id = str(self._run.manifest.get("run_id", self.run_id))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _freeze_free(self) -> None:
        tables = self._config.as_tables()
        if self._run.config:
            check_same_config(self._run.config, tables, str(self._run.path))
            return
        self._run.write_questions(())
        self._run.write_manifest(
            {
                "run_id": self.run_id,
                "versions": {"looseleaf": __version__},
                "retriever": {"name": self._config.retriever_name},
                "protocol": self._config.protocol.name,
            }
        )
        self._run.write_config(tables)

    def new_question(self, text: str, doc_id: str) -> Question:
        """A free question, added to the run."""
        known = self._run.questions()
        question = free_question(len(known), text, doc_id)
        self._run.write_questions([*known, question])
        row = json.dumps({"doc_id": doc_id, "question": text}, ensure_ascii=False)
        with (self._run.path / f"{ASKED}.jsonl").open("a", encoding="utf-8") as file:
            file.write(row + "\n")
        return question

    def is_finished(self, question: Question) -> bool:
        """Whether the question has a trajectory that did not end on a fault."""
        found = self._run.trajectories().get(f"{question.question_id}#0")
        return found is not None and not found.stop_reason.is_fault

    def append(self, trajectory: Trajectory, client: str) -> None:
        """Write a finished trajectory; the manifest names the assistants that there were."""
        manifest = self._run.manifest
        clients = manifest.get("clients", [])
        if client and client not in clients:
            self._run.write_manifest(manifest | {"clients": [*clients, client]})
        self._run.trajectory_ledger.append(msgspec.structs.replace(trajectory, run_id=self.run_id))


def free_question(index: int, text: str, doc_id: str) -> Question:
    """A question that nobody has a gold answer to."""
    return Question(
        question_id=f"{ASKED}:{index}",
        native_id=str(index),
        benchmark=ASKED,
        split="own",
        doc_id=doc_id,
        question=text,
        references=(),
        answer_format="",
    )
