"""Large stored runs: rows are joined record by record, equal to the plain join, in little memory and linear time."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest

from looseleaf.lab.compare import compare_runs
from looseleaf.metrics import METRICS, Row, evaluate_rows, rows_of
from looseleaf.metrics.stored import StoredRun, stored_rows
from looseleaf.metrics.table import evaluate_by
from looseleaf.report import build_report
from looseleaf.runstore import Ledger, Run
from looseleaf.statistics import resample_blocks, resample_weights
from looseleaf.trajectory import StopReason, Trajectory


def perf_script() -> ModuleType:
    path = Path(__file__).parents[1] / "perf" / "stored_runs.py"
    spec = importlib.util.spec_from_file_location("stored_runs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["stored_runs"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run of 96 trajectories in which some are missing, some failed and were tried again, and some lack parts."""
    path = tmp_path / "run"
    perf_script().make_run(path, 96)
    dice = random.Random(3)
    lines = [msgspec.json.decode(line) for line in (path / "trajectories.jsonl").read_bytes().splitlines()]
    dice.shuffle(lines)
    kept, late = lines[8:], []
    for line in kept[:10]:
        late.append(line | {"answer": "again"})
        line["stop_reason"] = "provider_error"
    for line in kept[10:14]:
        line["undefined"] = ["memory", "pages", "steps"]
    for line in kept[14:17]:
        line["oracle"] = {"gold_pages": True}
    foreign = [
        lines[20] | {"trajectory_id": name} for name in ("other:1#0", "synthetic:1#01", "synthetic:1#9", "x")
    ]
    everything = [*kept, *foreign, *late]
    (path / "trajectories.jsonl").write_bytes(
        b"".join(msgspec.json.encode(line) + b"\n" for line in everything)
    )
    scores = next((path / "scores").glob("*.jsonl"))
    rows = [msgspec.json.decode(line) for line in scores.read_bytes().splitlines()]
    dice.shuffle(rows)
    for row in rows[:6]:
        row |= {"value": None, "unscored": "judge_fault", "upstream_value": 0.0}
    again = [row | {"value": 0.25, "unscored": None} for row in rows[:3]]
    other = [row | {"variant": "empty"} for row in rows if row["target"] == "memory"][:20]
    scores.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in [*rows[:-4], *other, *again]))
    return Run.open(path)


def plain_rows(run: Run, score_id: str, reading_id: str | None) -> list[Row]:
    """The join as it is defined: everything in memory, looked up by trajectory id."""
    last = {row.key: row for row in run.scores(score_id).read()}.values()
    answers = {row.trajectory_id: row for row in last if row.target == "answer"}
    memories = {
        row.trajectory_id: row
        for row in last
        if (row.target, row.reading_id, row.variant, row.sample_index) == ("memory", reading_id, "own", 0)
    }
    return rows_of(
        run.questions(),
        run.trajectories(),
        {key: row.score for key, row in answers.items()},
        None if reading_id is None else {key: row.score for key, row in memories.items()},
        samples=int(run.config["run"]["samples"]),
        upstream={key: row.upstream_value for key, row in answers.items()},
        predictions={key: str(row.prediction) for key, row in answers.items()},
        readings={key: str(row.prediction) for key, row in memories.items()},
    )


def chosen(run: Run) -> tuple[str, str]:
    return next(iter(run.sidecars("scores"))), next(iter(run.sidecars("readings")))


def test_rows_are_those_of_the_plain_join(run: Run) -> None:
    score_id, reading_id = chosen(run)
    for reader in (reading_id, None):
        found, plain = stored_rows(run, score_id, reader), plain_rows(run, score_id, reader)
        assert len(found) == len(plain) == 96
        for a, b in zip(found, plain, strict=True):
            assert a.key == b.key
            assert (a.question, a.answer, a.memory) == (b.question, b.answer, b.memory)
            assert (a.upstream, a.prediction, a.reading) == (b.upstream, b.prediction, b.reading)
            assert (a.trajectory is None) == (b.trajectory is None)
        assert evaluate_rows(found) == evaluate_rows(plain)


def test_what_is_kept_of_a_trajectory_is_what_it_says(run: Run) -> None:
    by_key = run.trajectories()
    names = (
        "stop_reason",
        "turns",
        "invalid_turns",
        "shown_pages",
        "finding_count",
        "undefined",
        "oracle",
        "usage",
    )
    for place, kept in enumerate(StoredRun(run).trajectories):
        made = by_key.get(f"synthetic:{place // 8}#{place % 8}")
        assert (kept is None) == (made is None)
        if kept is not None and made is not None:
            assert [getattr(kept, name) for name in names] == [getattr(made, name) for name in names]
            assert kept.seconds == made.seconds
    assert any(kept is None for kept in StoredRun(run).trajectories)


def test_a_slim_run_gives_the_same_metrics_and_shares_equal_questions(run: Run) -> None:
    score_id, reading_id = chosen(run)
    whole = StoredRun(run)
    slim = StoredRun(run, slim=True, like=whole)
    assert evaluate_rows(slim.rows(score_id, reading_id)) == evaluate_rows(whole.rows(score_id, reading_id))
    assert all(a is b for a, b in zip(slim.questions, whole.questions, strict=True))


def test_rows_are_read_once_for_every_scorer_and_reader(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    score_id, reading_id = chosen(run)
    reads: list[str] = []
    read = Ledger.read

    def counted(self: Ledger[Any]) -> Any:
        reads.append(self.path.name)
        return read(self)

    monkeypatch.setattr(Ledger, "read", counted)
    build_report(run, score_id=score_id, reading_id=reading_id)
    assert reads.count("trajectories.jsonl") == 1
    assert reads.count(f"{score_id}.jsonl") == 1


def test_one_pass_over_rows_is_enough(run: Run) -> None:
    score_id, reading_id = chosen(run)
    rows = stored_rows(run, score_id, reading_id)
    assert evaluate_rows(iter(rows)) == evaluate_rows(rows)
    by_type = evaluate_by(iter(rows), lambda row: [row.question.doc_type], METRICS)
    for table in by_type:
        part = [row for row in rows if row.question.doc_type == table.label]
        assert table == evaluate_rows(part, label=table.label)
    assert evaluate_rows([], ["Acc"]).n_rows == 0
    assert evaluate_rows([], ["Acc"])["Acc"].value is None


def test_a_run_against_itself_differs_in_nothing(run: Run) -> None:
    found = compare_runs(run, run)
    for line in found.metrics:
        assert line.difference.value in (0.0, None)
        assert line.first == line.second
        if line.bootstrap is not None:
            assert (line.bootstrap.low, line.bootstrap.high) == (0.0, 0.0)


@pytest.mark.parametrize("clusters", [1, 7, 131])
@pytest.mark.parametrize("cells", [1, 500, 10**6])
def test_blocks_of_resamples_are_the_same_draws(clusters: int, cells: int) -> None:
    whole = resample_weights(clusters, resamples=64, seed=5)
    blocks = list(resample_blocks(clusters, resamples=64, seed=5, cells=cells))
    assert max(block.size for block in blocks) <= max(cells, clusters)
    np.testing.assert_array_equal(np.concatenate(blocks), whole)


def test_records_of_a_ledger_in_the_order_of_the_last_ones(tmp_path: Path) -> None:
    def made(key: str, answer: str) -> Trajectory:
        return Trajectory(
            trajectory_id=key,
            question_id="q",
            benchmark="b",
            doc_id="d",
            question="?",
            answer=answer,
            stop_reason=StopReason.ANSWERED,
        )

    run = Run.create(tmp_path / "run")
    for key, answer in (("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("b", "5"), ("a", "6")):
        run.trajectory_ledger.append(made(key, answer))
    run.close()
    with (run.path / "trajectories.jsonl").open("ab") as torn:
        torn.write(b'{"trajectory_id": "c", "ans')
    assert [(t.trajectory_id, t.answer) for t in run.read_trajectories()] == [
        ("c", "4"),
        ("b", "5"),
        ("a", "6"),
    ]
    assert list(Run.open(run.path).read_questions()) == []


# -- memory and time -------------------------------------------------------------------------------------------------

FAST_SIZES = (10_000, 100_000)
FAST_PEAK_MB = 200
"""A hundred thousand trajectories are 106 MB of JSON; the libraries alone take 60 MB, the bootstrap 40."""


def measured(sizes: tuple[int, ...], tmp_path: Path, commands: Sequence[str]) -> dict[tuple[str, int], Any]:
    perf = perf_script()
    found = {}
    for size in sizes:
        runs = [tmp_path / f"{name}-{size}" for name in "ab"][: 2 if "compare" in commands else 1]
        for seed, path in enumerate(runs):
            perf.make_run(path, size, seed)
        for command in commands:
            found[command, size] = perf.measure(command, size, *(runs if command == "compare" else runs[:1]))
    return found


def test_ten_times_the_trajectories_in_little_memory_and_linear_time(tmp_path: Path) -> None:
    small, large = FAST_SIZES
    found = measured(FAST_SIZES, tmp_path, ["report"])
    assert found["report", large].peak_mb < FAST_PEAK_MB
    assert found["report", large].seconds / found["report", small].seconds < large / small * 1.35


def test_exporting_takes_the_same_memory_whatever_the_size(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    perf = perf_script()
    peaks = []
    for size in FAST_SIZES:
        perf.make_run(tmp_path / f"run-{size}", size)
        arguments = ("parquet", tmp_path / f"run-{size}", "--out", tmp_path / f"tables-{size}")
        peaks.append(perf.measure("export", size, *arguments).peak_mb)
    assert peaks[1] < peaks[0] + EXPORT_GROWTH_MB


EXPORT_GROWTH_MB = 15
"""Ninety thousand more trajectories are 95 MB of JSON and far more as objects; what may grow is the batches' size."""


@pytest.mark.slow
def test_a_million_trajectories_in_less_than_a_gigabyte_and_linear_time(tmp_path: Path) -> None:
    small, large = 100_000, 1_000_000
    found = measured((small, large), tmp_path, ["report", "compare"])
    for command in ("report", "compare"):
        assert found[command, large].peak_mb < 1000
        growth = found[command, large].seconds / found[command, small].seconds
        assert growth < large / small * 1.35
