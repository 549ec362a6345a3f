"""`import_run`: foreign rows into an ordinary RUN.

The run is written beside its place and moved there when it is whole, so that an import that stops halfway leaves
nothing that looks like one. Trajectories are written one by one: memory does not grow with their length.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from looseleaf.adapters.imports.documents import Documents, checked_steps, impossible_sources
from looseleaf.adapters.imports.json_file import file_hash
from looseleaf.adapters.imports.matching import BenchmarkMatcher, Matcher, OwnQuestions
from looseleaf.adapters.imports.provenance import ImportOutcome, ImportRow, Tally, manifest_of, tables_of
from looseleaf.adapters.imports.source import Rejected, RowProblem, SourceFormat, SourceRow
from looseleaf.benchmarks import QuestionSet
from looseleaf.errors import DataError, RunError
from looseleaf.question import Question
from looseleaf.runstore import Ledger, Run, config_id, write_atomically
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["ImportRequest", "import_run"]


class ImportRequest(NamedTuple):
    """What is imported.

    Attributes:
        source: the format.
        path: the file or folder.
        options: options of the format.
        questions: benchmark to match the rows with; `None` makes questions of the rows.
        docs: folder of the documents, if they are at hand.
        only_present: leave out questions of the benchmark that the file says nothing of.
    """

    source: SourceFormat
    path: Path
    options: Mapping[str, str] = {}
    questions: QuestionSet | None = None
    docs: Path | None = None
    only_present: bool = False


def import_run(request: ImportRequest, out: Path) -> ImportOutcome:
    """Read a foreign file or folder and write it as the RUN `out`.

    Raises:
        DataError: the file cannot be read, or not one of its rows can be used.
        RunError: `out` holds something already, or cannot be written.
    """
    if not request.path.exists():
        raise DataError(f"There is no file {request.path}; check the path.")
    with _beside(out) as folder:
        run = Run.create(folder)
        imported = _Import(request, run)
        imported.read()
        imported.finish(out)
    return imported.tally.outcome(Run(out))


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place at the end, or is removed."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} holds something already; choose another --out.")
    folder = out.parent / f".{out.name}.importing-{os.getpid()}"
    try:
        yield folder
        folder.replace(out)
    except OSError as problem:
        raise RunError(f"{out} cannot be written ({problem.strerror}); choose another --out.") from problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Import:
    """The state of one import."""

    def __init__(self, request: ImportRequest, run: Run) -> None:
        self.tally = Tally()
        self._request = request
        self._run = run
        found, source = request.questions, request.source
        known = source.questions(request.path) if source.questions is not None and found is None else ()
        self._matcher: Matcher = (
            OwnQuestions(source.name, known) if found is None else BenchmarkMatcher(found.questions)
        )
        self._documents = Documents(request.docs, found.documents if found is not None else None)
        self._samples: Counter[str] = Counter()
        self._taken: set[str] = set()
        self._free: Counter[str] = Counter()
        self._met: set[str] = set()
        self._unnameable: set[str] = set()

    def read(self) -> None:
        """Write the trajectories; what cannot be used is counted and named."""
        trajectories = Ledger(self._run.path / "trajectories.jsonl", Trajectory)
        provenance = Ledger(self._run.path / "imports.jsonl", ImportRow)
        rows = self._request.source.read(self._request.path, self._request.options)
        with self._run.writing():
            for row in rows:
                if isinstance(row, Rejected):
                    self.tally.reject(row)
                else:
                    self._take(row, trajectories, provenance)
            trajectories.close()
            provenance.close()
        if not self.tally.rows:
            raise DataError(f"{self._request.path} holds no row; check the file and the format.")
        if not self._met:
            first = self.tally.rejected[0]
            raise DataError(
                f"None of the {self.tally.rows} rows of {self._request.path.name} can be used as "
                f"{self._request.source.name}; the first is {first.where}: {first.why}."
            )

    def _take(self, row: SourceRow, trajectories: Ledger[Trajectory], provenance: Ledger[ImportRow]) -> None:
        try:
            question = self._matcher.question_of(row)
            facts = self._facts_of(question.doc_id, row.where)
        except RowProblem as problem:
            self.tally.reject(Rejected(row.where, str(problem)))
            return
        self._met.add(question.question_id)
        self.tally.take(row)
        if row.stop_reason is None:
            return
        sample = self._sample(question, row)
        pages = facts[1] if facts else None
        checked = checked_steps(row.steps, pages)
        made = _trajectory(row, question, sample, facts[0] if facts else "", self._run_id)
        self.tally.finished(row, checked.impossible, impossible_sources(row.memory, pages))
        trajectories.append(msgspec.structs.replace(made, steps=checked.steps))
        provenance.append(
            ImportRow(
                trajectory_id=made.trajectory_id,
                where=row.where,
                raw_pages=row.raw_pages,
                impossible_pages=checked.impossible,
                notes=row.notes,
            )
        )

    def _facts_of(self, doc_id: str, where: str) -> tuple[str, int] | None:
        try:
            return self._documents.facts_of(doc_id, where) if doc_id else None
        except RowProblem:
            self._unnameable.add(doc_id)
            raise

    @property
    def _run_id(self) -> str:
        return config_id("imported", {"format": self._request.source.name, "path": str(self._request.path)})

    def _sample(self, question: Question, row: SourceRow) -> int:
        """The row's own sample number where it is free, else the next free one."""
        sample = row.sample_index
        if sample is None or f"{question.question_id}#{sample}" in self._taken:
            sample = next(
                n
                for n in count(self._free[question.question_id])
                if f"{question.question_id}#{n}" not in self._taken
            )
            self._free[question.question_id] = (
                sample + 1
            )  # so that many rows of one question take linear time
        self._taken.add(f"{question.question_id}#{sample}")
        self._samples[question.question_id] = max(self._samples[question.question_id], sample + 1)
        return sample

    def _usual_samples(self) -> int:
        """Trajectories that most questions have; what single questions have beyond that is kept and not counted."""
        usual = max(
            Counter(self._samples.values()).items(), key=lambda found: (found[1], found[0]), default=(1, 0)
        )[0]
        self.tally.beyond = sum(max(0, count - usual) for count in self._samples.values())
        return usual

    def finish(self, out: Path) -> None:
        """Write questions, configuration and manifest."""
        questions = self._matcher.questions()
        if self._request.only_present:
            questions = tuple(q for q in questions if q.question_id in self._met)
        self.tally.unopened = dict(self._documents.unopened)
        self._run.write_questions(questions)
        data = self._data(out, questions)
        samples = self._usual_samples()
        source_hash = file_hash(self._request.path)
        self._run.write_config(
            tables_of(
                self._request.source, self._request.path, self._request.options, data, samples, self.tally
            )
        )
        described: dict[str, Any]
        if self._request.questions is not None:
            described = self._request.questions.describe()
        else:
            described = {
                "name": self._request.source.name,
                "version": f"imported from {self._request.path.name}",
                "sha256": source_hash,
            }
        self._run.write_manifest(
            manifest_of(
                self._request.source, self._run_id, source_hash, described, len(questions), self.tally
            )
        )

    def _data(self, out: Path, questions: tuple[Question, ...]) -> dict[str, Any]:
        """Where questions and documents are; questions made of the rows become a file that `looseleaf eval` takes."""
        found = self._request.questions
        if found is not None and self._request.docs is None:
            return {
                "benchmark": found.name,
                "path": str(found.data.resolve()),
                "options": dict(found.options),
            }
        name = f"{self._request.source.name}-questions.jsonl"
        # A question whose document name is refused stays in the RUN, unscored; in a file it would stop every reader.
        askable = [question for question in questions if question.doc_id not in self._unnameable]
        lines = b"".join(msgspec.json.encode(_own_row(question)) + b"\n" for question in askable)
        write_atomically(self._run.path / name, lines)
        docs = self._request.docs
        return {"benchmark": str(out.resolve() / name), **({"path": str(docs.resolve())} if docs else {})}


def _own_row(question: Question) -> dict[str, Any]:
    return {
        "question_id": question.question_id,
        "doc_id": question.doc_id or "unknown",
        "question": question.question,
        "references": list(question.references),
        "answer_format": question.answer_format,
        "evidence_pages": None if question.evidence_pages is None else list(question.evidence_pages),
        "evidence_sources": list(question.sources),
        "doc_type": question.doc_type,
        "unanswerable": question.unanswerable,
    }


def _trajectory(row: SourceRow, question: Question, sample: int, sha256: str, run_id: str) -> Trajectory:
    assert row.stop_reason is not None
    answered = row.stop_reason is StopReason.ANSWERED
    return Trajectory(
        run_id=run_id,
        trajectory_id=f"{question.question_id}#{sample}",
        question_id=question.question_id,
        benchmark=question.benchmark,
        doc_id=question.doc_id,
        doc_sha256=sha256,
        question=question.question,
        seed=row.seed,
        sample_index=sample,
        steps=row.steps,
        memory=row.memory,
        answer=row.answer if answered else row.answer or None,
        stop_reason=row.stop_reason,
        usage=row.usage,
        seconds=row.seconds,
        error=row.error,
        undefined=tuple(sorted(set(row.undefined))),
    )
