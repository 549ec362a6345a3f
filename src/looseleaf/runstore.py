"""A RUN on disk: append-only JSON lines, one writer, safe against kill -9.

Layout:

* `config.toml`: the frozen, resolved configuration
* `manifest.json`: hashes, versions and counts
* `questions.jsonl`: the selected questions with their gold answers, so that a run can be re-scored anywhere
* `trajectories.jsonl`, `readings/<id>.jsonl`, `extractions/<id>.jsonl`, `scores/<id>.jsonl`, each of the last three
  with a sidecar `<id>.json` that holds the configuration behind the id
* `drift/<id>.jsonl` with a sidecar: the pinned items replayed through an extractor or judge (`looseleaf.lab.drift`)
* `report/`

Every record is one `O_APPEND` write. A torn last line is dropped when the file is opened.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import numpy as np
import tomli_w

from looseleaf.errors import RunError
from looseleaf.question import Question
from looseleaf.roles import Usage
from looseleaf.score import Score, Unscored
from looseleaf.trajectory import TRAJECTORY_VERSION, Trajectory, storable_value

__all__ = ["ExtractionRow", "Ledger", "ReadingRow", "Run", "ScoreRow", "config_id"]

Record = TypeVar("Record", bound=msgspec.Struct)

CONFIG_ID_HEX = 8
"""Hexadecimal digits of a configuration's hash in an id: collisions are out of the question inside one run."""


class ReadingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a reader from one memory.

    Attributes:
        trajectory_id: whose memory.
        variant: which memory, e.g. `own`.
        sample_index: 0-based sample of a stochastic reader.
        text: the answer, or `None` where the reader failed.
        unscored: why there is no text.
        error: the sentence of the fault.
        usage: what it took.
    """

    trajectory_id: str
    variant: str = "own"
    sample_index: int = 0
    text: str | None = None
    unscored: Unscored | None = None
    error: str | None = None
    usage: Usage = Usage()

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.trajectory_id}|{self.variant}|{self.sample_index}"


class ExtractionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One raw output of an extractor, for a final answer or for a reading.

    Attributes:
        trajectory_id: the trajectory.
        target: `answer` or `memory`.
        reading_id: ledger id of the reading for `memory`, else `None`.
        variant: memory variant of the reading.
        sample_index: sample of the reading.
        text: raw output, or `None` where the extractor failed.
        unscored: why there is no text.
        error: the sentence of the fault.
        usage: what it took.
    """

    trajectory_id: str
    target: str
    reading_id: str | None = None
    variant: str = "own"
    sample_index: int = 0
    text: str | None = None
    unscored: Unscored | None = None
    error: str | None = None
    usage: Usage = Usage()

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.trajectory_id}|{self.target}|{self.reading_id}|{self.variant}|{self.sample_index}"


class ScoreRow(msgspec.Struct, frozen=True, kw_only=True):
    """One score of one target of one trajectory; see `ExtractionRow` for the identifying fields.

    Attributes:
        prediction: the parsed short answer that was scored.
        value: the score, if there is one.
        unscored: why there is none.
        upstream_raises: exception that escapes the official function on this input.
        upstream_value: what a run of the upstream code would have recorded (failure = 0), its own column.
        error: the sentence of the fault.
        usage: what a judge took.
    """

    trajectory_id: str
    target: str
    reading_id: str | None = None
    extraction_id: str | None = None
    variant: str = "own"
    sample_index: int = 0
    prediction: Any = None
    value: float | None = None
    unscored: Unscored | None = None
    upstream_raises: str | None = None
    upstream_value: float | None = None
    error: str | None = None
    usage: Usage = Usage()

    def __post_init__(self) -> None:
        _ = (
            self.score
        )  # a row that is neither scored nor unscored is refused when it is made and when it is read

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.trajectory_id}|{self.target}|{self.reading_id}|{self.variant}|{self.sample_index}"

    @property
    def score(self) -> Score:
        """The score as the object that metrics take."""
        return Score(value=self.value, unscored=self.unscored, upstream_raises=self.upstream_raises)


def config_id(name: str, config: dict[str, Any]) -> str:
    """`<name>-<8 hex of the canonical configuration>`, the name of a ledger.

    The canonical form is JSON with sorted keys, no spaces and UTF-8.
    """
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{_file_safe(name)}-{hashlib.sha256(canonical.encode()).hexdigest()[:CONFIG_ID_HEX]}"


def _file_safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._" else "-" for c in name).strip(".-") or "unnamed"


class Ledger(Generic[Record]):
    """One append-only JSON-lines file of one record type; `key` tells rows apart and the last one wins."""

    def __init__(self, path: Path, record_type: type[Record], *, fsync: bool = False) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(record_type)
        self._fsync = fsync
        self._descriptor: int | None = None

    def read(self) -> Iterator[Record]:
        """All whole records, oldest first; a torn last line is passed over.

        Raises:
            RunError: a line in the middle of the file cannot be read.
        """
        if not self.path.exists():
            return
        with _readable(self.path):
            lines = self.path.open("rb")
        with lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    return
                if line.strip():
                    yield self._decode(line, number)

    def read_last(
        self, key: Callable[[Any], str], key_type: type[msgspec.Struct] | None = None
    ) -> Iterator[Record]:
        """The last whole record of each key, in the order in which these stand; one record in memory at a time.

        Resuming appends a second record where the first one ended on a fault. The file is read once for the keys, of
        which eight bytes a record are kept, and once for the records.

        Args:
            key: identity of a record; of a `key_type` where one is given.
            key_type: the fields that `key` needs, which are read faster than whole records.

        Raises:
            RunError: a line in the middle of the file cannot be read.
        """
        keys = self if key_type is None else Ledger(self.path, key_type)
        hashes = np.fromiter((hash(key(record)) for record in keys.read()), dtype=np.int64)
        values, counts = np.unique(hashes, return_counts=True)
        repeated = frozenset(values[counts > 1].tolist())
        last: dict[str, int] = {}
        if repeated:
            for number, record in enumerate(keys.read()):
                if hash(name := key(record)) in repeated:
                    last[name] = number
        for number, whole in enumerate(self.read()):
            if not repeated or last.get(key(whole), number) == number:
                yield whole

    def _decode(self, line: bytes, number: int) -> Record:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise RunError(
                f"Line {number} of {self.path} cannot be read ({problem}); repair or remove that line and try again."
            ) from problem

    def append(self, record: Record) -> None:
        """Write one record with a single `O_APPEND` write, and fsync it if the ledger says so."""
        if self._descriptor is None:
            self._open()
        line = self._encoded(record) + b"\n"
        assert self._descriptor is not None
        _write_whole(self._descriptor, line, self.path)
        if self._fsync:
            os.fsync(self._descriptor)

    def _encoded(self, record: msgspec.Struct) -> bytes:
        try:
            return self._encoder.encode(record)
        except (UnicodeEncodeError, OverflowError, RecursionError):  # what a model said cannot stop a run
            return self._encoder.encode(storable_value(msgspec.to_builtins(record)))

    def _open(self) -> None:
        with _writable(self.path, "choose another --out"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            _drop_torn_line(self._descriptor)

    def close(self) -> None:
        """Flush to disk and close."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None


def _write_whole(descriptor: int, line: bytes, path: Path) -> None:
    with _writable(path, "free some space and run the same command again"):
        written = os.write(descriptor, line)
    if written != len(line):
        # Whoever still has a record in flight must not append it to half a line.
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
        raise RunError(f"The disk that holds {path} is full; free some space and run the same command again.")


@contextmanager
def _writable(path: Path, advice: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise RunError(f"{path} cannot be written ({problem.strerror}); {advice}.") from problem


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except RecursionError as problem:
        raise RunError(
            f"{path} is nested too deeply to be read; repair it or make the run again."
        ) from problem
    except (OSError, ValueError) as problem:  # errors of TOML, JSON, UTF-8 and of shape are ValueErrors
        raise RunError(f"{path} cannot be read ({problem}); repair it or make the run again.") from problem


def _drop_torn_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    end = size
    block = 65536
    while end > 0:
        start = max(0, end - block)
        chunk = os.pread(descriptor, end - start, start)
        newline = chunk.rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        os.ftruncate(descriptor, end)


# What readers of a folder rely on. The folder may be another person's: other fields are free, these have these types.

MOST_SAMPLES = 100_000
"""Most trajectories of one question: every one of them has a row, so a huge number in a file must not be believed."""
Table = dict[str, Any]


class _Role(msgspec.Struct, frozen=True):
    backend: str = ""
    argument: str = ""
    options: Table = {}


class _Roles(msgspec.Struct, frozen=True):
    policy: _Role | None = None
    extractor: _Role | None = None
    judge: _Role | None = None
    reader: list[_Role] | _Role = []


class _ProtocolTable(msgspec.Struct, frozen=True):
    name: str = ""
    memory: str = "mandatory"
    max_pixels: int | None = None


class _RunTable(msgspec.Struct, frozen=True):
    samples: Annotated[int, msgspec.Meta(ge=1, le=MOST_SAMPLES)] = 1
    strict: bool = False


class _DataTable(msgspec.Struct, frozen=True):
    benchmark: str = ""
    path: str = ""
    options: Table = {}


class _ScoreTable(msgspec.Struct, frozen=True):
    scorer: str = ""
    threshold: str = ""


class _Config(msgspec.Struct, frozen=True):
    data: _DataTable = _DataTable()
    protocol: _ProtocolTable = _ProtocolTable()
    retriever: Table = {}
    pages: Table = {}
    roles: _Roles = _Roles()
    run: _RunTable = _RunTable()
    score: _ScoreTable = _ScoreTable()
    train: Table = {}
    reward: Table = {}


class _LastScore(msgspec.Struct, frozen=True):
    score_id: str | None = None
    also: list[str] = []
    reading_ids: list[str] = []
    threshold: str = ">0"


class _Described(msgspec.Struct, frozen=True):
    name: str = ""
    sha256: str = ""
    version: str = ""
    notes: list[str] = []
    oracle: Table = {}


class _Counts(msgspec.Struct, frozen=True):
    n_set: int = 0
    n_selected: int = 0
    n_without_document: int = 0
    n_without_gold_pages: int = 0


class _PageImages(msgspec.Struct, frozen=True):
    dpi: int | None = None
    max_pixels: int | None = None


class _Imported(msgspec.Struct, frozen=True):
    rows: int = 0
    imported: int = 0
    not_run: int = 0
    rejected: int = 0
    undefined: Table = {}
    notices: list[str] = []


class _Manifest(msgspec.Struct, frozen=True):
    run_id: str = ""
    versions: Table = {}
    data: _Described = _Described()
    counts: _Counts = _Counts()
    retriever: Table = {}
    page_images: _PageImages | None = None
    prompts: Table = {}
    last_session: Table = {}
    score: _LastScore = _LastScore()
    clients: list[str] = []
    imported: _Imported | None = msgspec.field(default=None, name="import")


class _Sidecar(msgspec.Struct, frozen=True):
    scorer: str = ""
    extraction_id: str | None = None
    variant: str = ""
    extractor: _Role | None = None
    judge: _Role | None = None
    reader: _Role | None = None


class _TrajectoryKey(msgspec.Struct):
    """What tells trajectories apart."""

    trajectory_id: str


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
        with _writable(self.path / ".lock", "make the folder writable or copy the run to one that is"):
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
        with _readable(path):
            return _shaped(tomllib.loads(path.read_text(encoding="utf-8")), _Config) if path.exists() else {}

    def write_config(self, config: dict[str, Any]) -> None:
        """Write the configuration (values that are `None` are left out: TOML has no null)."""
        write_atomically(self.path / "config.toml", tomli_w.dumps(_without_none(config)).encode())

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
        return _json_of(path, _Manifest) if path.exists() else {}

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write the manifest."""
        write_atomically(self.path / "manifest.json", _pretty(manifest))

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
            lambda record: str(record.trajectory_id), _TrajectoryKey
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
        with _writable(self.path / kind, "choose another folder"):
            (self.path / kind).mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / kind / f"{ledger_id}.json", _pretty(config))

    def sidecars(self, kind: str) -> dict[str, dict[str, Any]]:
        """Configurations of all ledgers of a kind (`readings`, `extractions`, `scores`), by id."""
        folder = self.path / kind
        paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
        shape = _Sidecar if kind in ("readings", "extractions", "scores") else None
        return {path.stem: _json_of(path, shape) for path in paths}


def write_atomically(path: Path, content: bytes) -> None:
    """Write a whole file so that a reader sees either the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _writable(path, "choose another folder"):
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


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


def _json_of(path: Path, shape: type[msgspec.Struct] | None = None) -> dict[str, Any]:
    with _readable(path):
        return _shaped(json.loads(path.read_bytes()), shape)


def _shaped(value: Any, shape: type[msgspec.Struct] | None) -> dict[str, Any]:
    """The value as it is, if it is an object whose known fields have the types that readers rely on.

    Raises:
        ValueError: it is not (`msgspec.ValidationError`).
    """
    msgspec.convert(value, shape or dict[str, Any])
    return dict(value)


def _pretty(content: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(item) for item in value if item is not None]
    return value
