"""`Run`: one RUN folder."""

from __future__ import annotations

import fcntl
import os
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from looseleaf.errors import RunError
from looseleaf.question import Question
from looseleaf.runstore.files import (
    json_of,
    pretty,
    readable,
    shaped,
    without_none,
    writable,
    write_atomically,
)
from looseleaf.runstore.ledger import Ledger, Record
from looseleaf.runstore.rows import ExtractionRow, ReadingRow, ScoreRow
from looseleaf.runstore.shapes import MOST_SAMPLES, Config, Manifest, Sidecar, TrajectoryKey
from looseleaf.trajectory import TRAJECTORY_VERSION, Trajectory

__all__ = ["Run"]


class Run:
    """One RUN folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ledgers: list[Ledger[Any]] = []
        self.trajectory_ledger = Ledger(path / "trajectories.jsonl", Trajectory, fsync=True)

    @classmethod
    def create(cls, path: Path) -> Run:
        """Make the folder, or take it as it is.

        Raises:
            RunError: the folder cannot be made or written.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as problem:
            raise RunError(
                f"The output folder {path} cannot be written ({problem.strerror}); choose another one with --out."
            ) from problem
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Run:
        """Open an existing run for reading.

        Raises:
            RunError: there is no run there.
        """
        if not (path / "trajectories.jsonl").exists() and not (path / "config.toml").exists():
            raise RunError(f"There is no run in {path}; make one with `looseleaf eval … --out {path}`.")
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock; all ledgers are closed at the end.

        Raises:
            RunError: another process writes to this run.
        """
        with writable(self.path / ".lock", "make the folder writable or copy the run to one that is"):
            descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(descriptor)
            raise RunError(
                f"Another process is writing to {self.path}; wait until it ends or choose another --out."
            ) from problem
        try:
            yield
        finally:
            self.close()
            os.close(descriptor)

    def close(self) -> None:
        """Close every ledger that was opened for writing."""
        self.trajectory_ledger.close()
        for ledger in self._ledgers:
            ledger.close()

    # -- configuration and manifest -------------------------------------------------------------------------

    @property
    def config(self) -> dict[str, Any]:
        """The frozen configuration; empty for a run that was imported without one."""
        path = self.path / "config.toml"
        with readable(path):
            return shaped(tomllib.loads(path.read_text(encoding="utf-8")), Config) if path.exists() else {}

    def write_config(self, config: dict[str, Any]) -> None:
        """Write the configuration (values that are `None` are left out: TOML has no null)."""
        write_atomically(self.path / "config.toml", tomli_w.dumps(without_none(config)).encode())

    @property
    def samples(self) -> int:
        """Trajectories that there should be of each question."""
        return int(self.config.get("run", {}).get("samples", 1))

    @property
    def keeps_memory(self) -> bool:
        """Whether the run's protocol has a working memory; without one, memory metrics are undefined."""
        memory: str = self.config.get("protocol", {}).get("memory", "mandatory")
        return memory != "none"

    @property
    def manifest(self) -> dict[str, Any]:
        """Hashes, versions and counts; empty if there is none."""
        path = self.path / "manifest.json"
        return json_of(path, Manifest) if path.exists() else {}

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write the manifest."""
        write_atomically(self.path / "manifest.json", pretty(manifest))

    # -- records --------------------------------------------------------------------------------------------

    def write_questions(self, questions: Iterable[Question]) -> None:
        """Write the selected questions."""
        lines = b"".join(msgspec.json.encode(question) + b"\n" for question in questions)
        write_atomically(self.path / "questions.jsonl", lines)

    def questions(self) -> list[Question]:
        """The selected questions, in order."""
        return list(Ledger(self.path / "questions.jsonl", Question).read())

    def read_questions(self) -> Iterator[Question]:
        """The selected questions, in order, one at a time."""
        return Ledger(self.path / "questions.jsonl", Question).read()

    def read_trajectories(self) -> Iterator[Trajectory]:
        """The last record of each trajectory, one at a time.

        Raises:
            RunError: a record cannot be read, or a later version of looseleaf wrote it.
        """
        for record in self.trajectory_ledger.read_last(
            lambda record: str(record.trajectory_id), TrajectoryKey
        ):
            yield _of_this_version(record, self.path)

    def read_all_trajectories(self) -> Iterator[Trajectory]:
        """Every record as it stands, also those that a later one of the same trajectory supersedes.

        Raises:
            RunError: a record cannot be read, or a later version of looseleaf wrote it.
        """
        return (_of_this_version(record, self.path) for record in self.trajectory_ledger.read())

    def trajectories(self) -> dict[str, Trajectory]:
        """The last record of each trajectory, by trajectory id.

        Raises:
            RunError: a record cannot be read, or a later version of looseleaf wrote it.
        """
        return {record.trajectory_id: record for record in self.read_all_trajectories()}

    def readings(self, ledger_id: str) -> Ledger[ReadingRow]:
        """Ledger of a reader's answers."""
        return self._ledger("readings", ledger_id, ReadingRow)

    def extractions(self, ledger_id: str) -> Ledger[ExtractionRow]:
        """Ledger of an extractor's outputs."""
        return self._ledger("extractions", ledger_id, ExtractionRow)

    def scores(self, ledger_id: str) -> Ledger[ScoreRow]:
        """Ledger of a scorer's values."""
        return self._ledger("scores", ledger_id, ScoreRow)

    def _ledger(self, kind: str, ledger_id: str, record_type: type[Record]) -> Ledger[Record]:
        ledger = Ledger(self.path / kind / f"{ledger_id}.jsonl", record_type)
        self._ledgers.append(ledger)
        return ledger

    def write_sidecar(self, kind: str, ledger_id: str, config: dict[str, Any]) -> None:
        """Save the configuration that a ledger id stands for."""
        with writable(self.path / kind, "choose another folder"):
            (self.path / kind).mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / kind / f"{ledger_id}.json", pretty(config))

    def sidecars(self, kind: str) -> dict[str, dict[str, Any]]:
        """Configurations of all ledgers of a kind (`readings`, `extractions`, `scores`), by id."""
        folder = self.path / kind
        paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
        shape = Sidecar if kind in ("readings", "extractions", "scores") else None
        return {path.stem: json_of(path, shape) for path in paths}


def _of_this_version(record: Trajectory, where: Path) -> Trajectory:
    if record.version > TRAJECTORY_VERSION:
        raise RunError(
            f"{where} holds trajectories of version {record.version} and this looseleaf reads {TRAJECTORY_VERSION}; "
            "use a newer looseleaf."
        )
    if not 0 <= record.sample_index < MOST_SAMPLES:
        raise RunError(
            f"{where} holds a trajectory with sample_index {record.sample_index}, which is not one of the first "
            f"{MOST_SAMPLES:,}; repair or remove that line and try again."
        )
    return record
