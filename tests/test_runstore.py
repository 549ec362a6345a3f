"""A RUN on disk: nothing that was written is lost, nothing half-written is read, one writer at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import make_question
from looseleaf import Finding, StopReason, Trajectory
from looseleaf.errors import RunError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runstore import ExtractionRow, Ledger, ReadingRow, Run, ScoreRow, config_id
from looseleaf.schemas import RECORDS, SCHEMA_FOLDER, schema_of, write_schemas
from looseleaf.score import Unscored
from looseleaf.trajectory import TRAJECTORY_VERSION


def reading(number: int, text: str = "seven") -> ReadingRow:
    return ReadingRow(trajectory_id=f"mini:{number}#0", text=text)


def trajectory(number: int = 0, **fields: Any) -> Trajectory:
    given = {
        "trajectory_id": f"mini:{number}#0",
        "question_id": f"mini:{number}",
        "benchmark": "mini",
        "doc_id": "a.pdf",
        "question": "What?",
        "stop_reason": StopReason.ANSWERED,
        "answer": "7",
        "memory": (Finding("A fact.", 3),),
    }
    return Trajectory(**(given | fields))


def ledger(path: Path) -> Ledger:
    return Ledger(path, ReadingRow)


def write(path: Path, *rows: ReadingRow) -> None:
    made = ledger(path)
    for row in rows:
        made.append(row)
    made.close()


# -- ledgers ---------------------------------------------------------------------------------------------------


def test_a_ledger_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert list(ledger(tmp_path / "none.jsonl").read()) == []


def test_rows_are_appended_over_sessions_one_line_each(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.jsonl"
    rows = [reading(0), reading(1, "two\nlines\u2028and more"), reading(2, "ü 😀 \x00")]
    for row in rows:
        write(path, row)
    assert list(ledger(path).read()) == rows
    assert len(path.read_bytes().split(b"\n")) == 4


def test_a_torn_last_line_is_dropped_wherever_it_was_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # for speed
    path = tmp_path / "rows.jsonl"
    rows = [reading(0), reading(1, "ü"), reading(2)]
    write(path, *rows)
    whole = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        kept = sum(end <= cut for end in ends)
        assert list(ledger(path).read()) == rows[:kept], cut
        write(path, reading(9))
        assert list(ledger(path).read()) == [*rows[:kept], reading(9)], cut


@pytest.mark.parametrize("torn", [65_535, 65_536, 65_537, 200_000])
@pytest.mark.parametrize("before", [0, 1])
def test_a_torn_line_longer_than_a_block_is_dropped(tmp_path: Path, torn: int, before: int) -> None:
    path = tmp_path / "rows.jsonl"
    write(path, *[reading(0)] * before)
    with path.open("ab") as file:
        file.write(b"{" + b"x" * (torn - 1))
    write(path, reading(1))
    assert list(ledger(path).read()) == [*[reading(0)] * before, reading(1)]


@pytest.mark.parametrize("broken", [b"not json\n", b'{"trajectory_id": 3}\n', b'{"text": "\xff"}\n'])
def test_a_broken_line_in_the_middle_is_named(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    write(path, reading(0))
    with path.open("ab") as file:
        file.write(broken)
    write(path, reading(1))
    with pytest.raises(RunError, match=r"Line 2 of .*rows\.jsonl.*repair or remove"):
        list(ledger(path).read())


def test_fields_of_later_versions_and_other_writers_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"trajectory_id": "a#0", "text": "7", "colour": "blue"}\n\n', encoding="utf-8")
    assert list(ledger(path).read()) == [ReadingRow(trajectory_id="a#0", text="7")]


def test_a_record_is_one_append_of_its_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bytes] = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (calls.append(bytes(data)), real(fd, data))[1])
    path = tmp_path / "rows.jsonl"
    first, second = ledger(path), ledger(path)
    first.append(reading(0))
    second.append(reading(1))
    first.append(reading(2))
    assert len(calls) == 3
    assert all(call.endswith(b"\n") for call in calls)
    assert [row.trajectory_id for row in ledger(path).read()] == ["mini:0#0", "mini:1#0", "mini:2#0"]


def test_a_disk_that_fills_up_leaves_whole_lines_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    made = ledger(path)
    made.append(reading(0))
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: real(fd, data[:9]))
        with pytest.raises(RunError, match="full; free some space"):
            made.append(reading(1))
    made.append(reading(2))
    made.close()
    assert [row.trajectory_id for row in ledger(path).read()] == ["mini:0#0", "mini:2#0"]


@pytest.mark.parametrize(
    ("text", "stored"), [("a\ud800b", "a\ufffdb"), ("\udcff", "\ufffd"), ("\u2028\x00😀", "\u2028\x00😀")]
)
def test_text_that_utf_8_cannot_hold_is_stored_readably(tmp_path: Path, text: str, stored: str) -> None:
    path = tmp_path / "rows.jsonl"
    write(path, reading(0, text))
    assert [row.text for row in ledger(path).read()] == [stored]


def test_numbers_beyond_64_bits_are_stored_as_text(tmp_path: Path) -> None:
    scores = Ledger(tmp_path / "scores.jsonl", ScoreRow)
    scores.append(ScoreRow(trajectory_id="a#0", target="answer", value=0.0, prediction=[2**70, "\ud800"]))
    scores.close()
    assert [row.prediction for row in scores.read()] == [[str(2**70), "\ufffd"]]


def test_trajectories_are_fsynced_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), real(fd))[1])
    run = Run.create(tmp_path / "run")
    run.trajectory_ledger.append(trajectory(0))
    run.trajectory_ledger.append(trajectory(1))
    assert len(synced) == 2
    run.close()


# -- runs ------------------------------------------------------------------------------------------------------


def test_the_last_record_of_a_trajectory_wins(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run")
    fault = trajectory(0, stop_reason=StopReason.PROVIDER_ERROR, answer=None, error="away")
    with run.writing():
        for record in (fault, trajectory(1), trajectory(0, answer="8")):
            run.trajectory_ledger.append(record)
    found = Run.open(tmp_path / "run").trajectories()
    assert list(found) == ["mini:0#0", "mini:1#0"]
    assert found["mini:0#0"].answer == "8"


def test_a_trajectory_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """A later format may mean something else by the same names, so it is not read as if it were this one."""
    run = Run.create(tmp_path / "run")
    later = trajectory(0, version=TRAJECTORY_VERSION + 1)
    (run.path / "trajectories.jsonl").write_bytes(msgspec.json.encode(later) + b"\n")
    with pytest.raises(RunError, match=r"version 2.*newer looseleaf"):
        run.trajectories()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    run, other = Run.create(tmp_path / "run"), Run.create(tmp_path / "run")
    with run.writing(), pytest.raises(RunError, match="Another process is writing"), other.writing():
        pytest.fail("two writers")
    with other.writing():
        other.trajectory_ledger.append(trajectory())


def test_the_lock_is_released_when_the_writer_fails(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run")
    with pytest.raises(ZeroDivisionError), run.writing():
        raise ZeroDivisionError
    with Run.create(tmp_path / "run").writing():
        pass


def test_reading_needs_no_lock(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run")
    with run.writing():
        run.trajectory_ledger.append(trajectory())
        assert len(Run.open(tmp_path / "run").trajectories()) == 1


WRITER = """
import sys
from pathlib import Path
from looseleaf import StopReason, Trajectory
from looseleaf.runstore import Run
run = Run.create(Path(sys.argv[1]))
with run.writing():
    for number in range(100_000):
        run.trajectory_ledger.append(Trajectory(trajectory_id=f"mini:{number}#0", question_id=f"mini:{number}",
            benchmark="mini", doc_id="a.pdf", question="What? " * 500, stop_reason=StopReason.ANSWERED))
        print(number, flush=True)
"""


def test_kill_9_loses_at_most_what_is_in_flight_and_frees_the_lock(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(25)]
    with pytest.raises(RunError, match="Another process"), Run.create(folder).writing():
        pytest.fail("two writers")
    writer.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in writer.stdout.read().split()]
    writer.wait()
    writer.stdout.close()
    run = Run.open(folder)
    found = list(run.trajectories())
    assert found[: len(acknowledged)] == [f"mini:{number}#0" for number in acknowledged]
    assert len(found) - len(acknowledged) in (0, 1)
    with run.writing():
        run.trajectory_ledger.append(trajectory(999_999))
    assert len(run.trajectories()) == len(found) + 1


def test_opening_needs_a_run(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(RunError, match="There is no run in"):
            Run.open(path)


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/looseleaf"])
def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(RunError, match=r"cannot be written.*--out"):
        Run.create(tmp_path / where)


def test_a_run_whose_folders_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run")
    (run.path / "readings").write_text("a file where a folder should be", encoding="utf-8")
    (run.path / ".lock").mkdir()
    with pytest.raises(RunError, match="cannot be written"):
        run.readings("x").append(reading(0))
    with pytest.raises(RunError, match="cannot be written"):
        run.write_sidecar("readings", "x", {})
    with pytest.raises(RunError, match="cannot be written"), run.writing():
        pytest.fail("no lock could be taken")


# -- configuration, manifest, sidecars -------------------------------------------------------------------------


def test_the_configuration_comes_back_as_it_was(tmp_path: Path) -> None:
    config = RunConfig(
        data=DataConfig(benchmark="mmlongbench-doc", path='da"ta\\ü', options={"window": True, "share": 0.5}),
        policy=RoleSpec(backend="openai", argument="m", options={"temperature": 0.0, "stop": ["\n", "]"]}),
        protocol=PROTOCOLS["alden"],
        ids=("a", "b"),
    )
    run = Run.create(tmp_path / "run")
    assert run.config == {}
    run.write_config(config.as_tables())
    stored = Run.open(tmp_path / "run").config
    assert set(stored) >= {"data", "protocol", "retriever", "roles", "run"}
    assert stored["data"] == {
        "benchmark": "mmlongbench-doc",
        "path": 'da"ta\\ü',
        "options": {"window": True, "share": 0.5},
    }
    assert stored["protocol"] == msgspec.to_builtins(PROTOCOLS["alden"])
    assert stored["roles"]["policy"]["options"] == {"temperature": 0.0, "stop": ["\n", "]"]}
    assert "limit" not in stored["run"], "TOML has no null"


TOML = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=5), TOML, max_size=4))
def test_any_configuration_comes_back(
    tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any]
) -> None:
    run = Run.create(tmp_path_factory.mktemp("run"))
    run.write_config(config)
    assert run.config == config


def test_manifest_and_sidecars_come_back(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run")
    assert run.manifest == {}
    assert run.sidecars("scores") == {}
    run.write_config({"run": {"samples": 1}})
    run.write_manifest({"counts": {"n_set": 3}})
    run.write_sidecar("scores", "a-1", {"scorer": "a"})
    run.write_sidecar("scores", "b-2", {"scorer": "b"})
    run.scores("a-1").append(ScoreRow(trajectory_id="mini:0#0", target="answer", value=1.0))
    run.close()
    again = Run.open(run.path)
    assert again.manifest == {"counts": {"n_set": 3}}
    assert again.sidecars("scores") == {"a-1": {"scorer": "a"}, "b-2": {"scorer": "b"}}
    assert not list(run.path.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("name", "broken"),
    [("config.toml", "[data\n"), ("manifest.json", "{"), ("scores/x-1.json", "["), ("config.toml", "\udcff")],
)
def test_a_damaged_file_is_a_sentence(tmp_path: Path, name: str, broken: str) -> None:
    run = Run.create(tmp_path / "run")
    (run.path / name).parent.mkdir(exist_ok=True)
    (run.path / name).write_bytes(broken.encode("utf-8", "surrogateescape"))
    with pytest.raises(RunError, match=rf"{name}.*cannot be read"):
        _ = (run.config, run.manifest, run.sidecars("scores"))


def test_an_interrupted_rewrite_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.create(tmp_path / "run")
    run.write_manifest({"n": 1})

    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(RunError, match="No space left"):
            run.write_manifest({"n": 2})
    assert run.manifest == {"n": 1}
    assert [path.name for path in run.path.iterdir()] == ["manifest.json"]


def test_ids_are_the_hash_of_the_canonical_configuration() -> None:
    """`printf '{"a":1,"b":"é"}' | sha256sum` begins with these digits."""
    assert config_id("exact", {"b": "é", "a": 1}) == "exact-09ad9fd2"
    assert config_id("exact", {"a": 1, "b": "é"}) == config_id("exact", {"b": "é", "a": 1})
    assert config_id("exact", {"a": 2, "b": "é"}) != config_id("exact", {"a": 1, "b": "é"})


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "openai:org/model", "..", "", "a\x00b", "CON\n"])
def test_ids_are_names_of_files(name: str) -> None:
    made = config_id(name, {})
    assert "/" not in made
    assert not made.startswith(".")
    assert made.isprintable()
    assert Path(made).name == made


# -- records ---------------------------------------------------------------------------------------------------


def test_questions_come_back_with_every_field(tmp_path: Path) -> None:
    questions = [
        make_question(0, references=(["a", 2, None, {"k": 0.5}],), evidence_pages=None, window=(2, 9)),
        make_question(1, evidence_pages=(), sources=("Table",), tags={"x": [1]}, unanswerable=True),
    ]
    run = Run.create(tmp_path / "run")
    run.write_questions(questions)
    back = run.questions()
    assert back == questions
    assert (back[0].evidence_pages, back[1].evidence_pages) == (None, ())


def test_keys_tell_rows_apart() -> None:
    rows = [
        ReadingRow(trajectory_id="a#0"),
        ReadingRow(trajectory_id="a#1"),
        ReadingRow(trajectory_id="a#0", variant="empty"),
        ReadingRow(trajectory_id="a#0", sample_index=1),
    ]
    assert len({row.key for row in rows}) == 4
    fault: dict[str, Any] = {"trajectory_id": "a#0", "unscored": Unscored.JUDGE_FAULT}
    for kind in (ExtractionRow, ScoreRow):
        rows_of_kind = [
            kind(target="answer", **fault),
            kind(target="memory", reading_id="r-1", **fault),
            kind(target="memory", reading_id="r-2", **fault),
            kind(target="memory", reading_id="r-1", variant="empty", **fault),
            kind(target="memory", reading_id="r-1", sample_index=1, **fault),
        ]
        assert len({row.key for row in rows_of_kind}) == 5


def test_a_score_row_is_a_score() -> None:
    row = ScoreRow(trajectory_id="a#0", target="answer", value=0.5, upstream_raises="ValueError")
    assert (row.score.value, row.score.unscored, row.score.upstream_raises) == (0.5, None, "ValueError")
    fault = ScoreRow(trajectory_id="a#0", target="answer", unscored=Unscored.JUDGE_FAULT)
    assert (fault.score.value, fault.score.unscored) == (None, Unscored.JUDGE_FAULT)


def test_a_score_row_that_is_neither_scored_nor_unscored_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        ScoreRow(trajectory_id="a#0", target="answer")
    path = tmp_path / "scores.jsonl"
    path.write_text('{"trajectory_id": "a#0", "target": "answer", "value": null}\n', encoding="utf-8")
    with pytest.raises(RunError, match="Line 1"):
        list(Ledger(path, ScoreRow).read())


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_shipped_schemas_are_what_the_types_say(name: str, tmp_path: Path) -> None:
    """After a change of a record: `python -m looseleaf.schemas`."""
    write_schemas(tmp_path)
    file = f"{name}.schema.json"
    assert (SCHEMA_FOLDER / file).read_bytes() == (tmp_path / file).read_bytes()
    assert json.loads((SCHEMA_FOLDER / file).read_bytes()) == json.loads(json.dumps(schema_of(name)))
    assert {path.name for path in tmp_path.iterdir()} == {
        path.name for path in SCHEMA_FOLDER.glob("*.schema.json")
    }
