"""The human audit: who is drawn, what people see, what their labels are worth, and what is refused."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from audit_world import ROWS, AuditWorld, draw_labels, make_world
from conftest import Cli
from fakes import make_question
from looseleaf.errors import ConfigError, DataError, RunError
from looseleaf.lab.human_audit import FEWEST_DRAWN, allocate, audit_rows, by_stratum, draw_sample
from looseleaf.lab.human_audit_estimate import estimate_audit, estimate_run
from looseleaf.lab.human_audit_file import LABELS, read_design, read_labels, write_sample
from looseleaf.lab.human_audit_record import AuditDesign, Label
from looseleaf.memory import Finding
from looseleaf.runstore import Run, ScoreRow
from looseleaf.statistics import wilson_interval
from looseleaf.trajectory import StopReason
from reward_runs import SCORE_ID, make_trajectory, score_row

READING_ID = "reader-00000000"
SECOND_ID = "judge-11111111"
N = 120
VERDICTS = [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (1.0, 1.0)]
"""The judge's verdicts of rows 0 to 4, and again: cells 11, 10, 01, 00, 11."""


def make_run(path: Path, *, second: bool = True, faults: int = 0, unscored: int = 0) -> Run:
    """120 questions of 30 documents; a second scorer says otherwise on the final answer of every tenth row.

    The first `faults` rows ended on a fault, the next `unscored` ones have no verdict on their final answer.
    """
    run = Run.create(path)
    run.write_questions(
        make_question(index, doc_id=f"{index // 4}.pdf", unanswerable=index % 6 == 5) for index in range(N)
    )
    run.write_sidecar("readings", READING_ID, {"reader": {"backend": "x"}})
    for score_id in (SCORE_ID, SECOND_ID) if second else (SCORE_ID,):
        run.write_sidecar("scores", score_id, {"scorer": score_id})
    run.write_manifest({"score": {"score_id": SCORE_ID, "reading_ids": [READING_ID]}})
    trajectories = []
    with run.writing():
        for index in range(N):
            key = f"mini:{index}#0"
            answer, memory = VERDICTS[index % 5]
            stop = {"stop_reason": StopReason.PROVIDER_ERROR} if index < faults else {}
            missing = faults <= index < faults + unscored
            trajectories.append(make_trajectory(key, doc_id=f"{index // 4}.pdf", **stop))
            run.scores(SCORE_ID).append(score_row(key, "answer", None if missing else answer))
            run.scores(SCORE_ID).append(score_row(key, "memory", memory))
            if second:
                run.scores(SECOND_ID).append(
                    score_row(key, "answer", 1 - answer if index % 10 == 0 else answer)
                )
                run.scores(SECOND_ID).append(score_row(key, "memory", memory))
    lines = b"".join(msgspec.json.encode(trajectory) + b"\n" for trajectory in trajectories)
    (path / "trajectories.jsonl").write_bytes(lines)  # one by one, each would wait for the disk
    return run


def fill(path: Path, label: Callable[[str], dict[str, Any]], to: Path | None = None) -> Path:
    """Fill in a labelling file, as a person would."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    done = [row | label(row["trajectory_id"]) for row in rows]
    out = to or path.with_name("filled.jsonl")
    out.write_text("".join(json.dumps(row) + "\n" for row in done), encoding="utf-8")
    return out


def as_judged(trajectory_id: str) -> dict[str, Any]:
    answer, memory = VERDICTS[int(trajectory_id.split(":")[1].split("#")[0]) % 5]
    return {"final_right": "yes" if answer else "no", "memory_sufficient": "yes" if memory else "no"}


# -- the sample ------------------------------------------------------------------------------------------------------


def test_strata_are_cells_and_disagreement(tmp_path: Path) -> None:
    rows, left_out = audit_rows(make_run(tmp_path), SCORE_ID, READING_ID, [SECOND_ID], ">0")
    assert left_out == 0
    assert {name: len(members) for name, members in by_stratum(rows).items()} == {
        **{"00": 24, "01": 24, "10": 24, "11": 36, "11, scorers disagree": 12}
    }


def test_faults_cannot_be_labelled_and_unscored_rows_are_a_stratum_of_their_own(tmp_path: Path) -> None:
    rows, left_out = audit_rows(
        make_run(tmp_path, second=False, faults=3, unscored=7), SCORE_ID, READING_ID, [], ">0"
    )
    assert (left_out, len(rows)) == (3, N - 3)
    assert Counter(row.stratum for row in rows)["unscored"] == 7


def test_every_stratum_is_drawn_from_and_the_draw_repeats(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    design = draw_sample(run, 60, seed=3)
    assert len(design.drawn) == 60
    assert {name: plan.drawn for name, plan in design.strata.items()} == Counter(design.drawn.values())
    assert min(plan.drawn for plan in design.strata.values()) >= FEWEST_DRAWN
    assert design.others == [SECOND_ID]
    assert draw_sample(run, 60, seed=3) == design
    assert draw_sample(run, 60, seed=4).drawn != design.drawn


def test_rows_on_which_scorers_disagree_are_drawn_more_often() -> None:
    counts = allocate({"11": 400, "11, scorers disagree": 100, "01": 3}, 73)
    assert sum(counts.values()) == 73
    assert counts["01"] == 3
    assert counts["11, scorers disagree"] == pytest.approx(30, abs=1)  # 300 weighted of 700


def test_sizes_that_cannot_be_drawn() -> None:
    with pytest.raises(ConfigError, match="at least 10 rows and not 7"):
        allocate({"11": 50, "00": 50}, 7)
    with pytest.raises(ConfigError, match="Only 8 rows can be labelled"):
        allocate({"11": 5, "00": 3}, 9)
    assert allocate({"11": 5, "00": 3}, 8) == {"11": 5, "00": 3}


def test_a_run_without_readings_or_scores(tmp_path: Path) -> None:
    run = Run.create(tmp_path)
    run.write_questions([make_question(0)])
    with pytest.raises(RunError, match="not scored yet"):
        draw_sample(run, 5)
    run.write_sidecar("scores", SCORE_ID, {})
    with pytest.raises(RunError, match="no readings"):
        draw_sample(run, 5)


# -- the file --------------------------------------------------------------------------------------------------------


def test_people_see_what_they_need_and_not_what_the_judge_says(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    path = write_sample(run, draw_sample(run, 60))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 60
    assert list(rows[0])[2:4] == list(LABELS)
    assert rows[0]["memory"] == ["[page 5] Number 0 is 7."]
    assert {"question", "gold_answer", "final_answer", "document", "evidence_pages"} <= set(rows[0])
    assert not re.search("stratum|disagree|cell|score|verdict", path.read_text(encoding="utf-8"))
    order = [int(row["trajectory_id"].split(":")[1].split("#")[0]) for row in rows]
    assert order != sorted(order)


def test_a_labelling_file_is_never_overwritten(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_sample(run, draw_sample(run, 60))
    with pytest.raises(RunError, match="may hold labels"):
        write_sample(run, draw_sample(run, 60))
    with pytest.raises(ConfigError, match=r"neither \.jsonl nor \.csv"):
        write_sample(run, draw_sample(run, 60), tmp_path / "labels.xlsx")


def test_a_spreadsheet_goes_there_and_back(tmp_path: Path) -> None:
    """No cell starts a formula, whatever a model wrote."""
    run = make_run(tmp_path)
    evil = make_trajectory(
        "mini:0#0", doc_id="0.pdf", answer='=HYPERLINK("x")', memory=(Finding("+1, then", 2),)
    )
    with run.writing():
        run.trajectory_ledger.append(evil)
    path = write_sample(run, draw_sample(run, N), tmp_path / "labels.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    assert (
        next(row["final_answer"] for row in rows if row["trajectory_id"] == "mini:0#0") == '\'=HYPERLINK("x")'
    )
    for row in rows:
        row.update(as_judged(row["trajectory_id"]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    audit_id, labels = read_labels(path)
    assert len(labels) == N
    found = estimate_run(run, read_design(run, audit_id), labels)
    assert found.estimates["final answer right"].value == pytest.approx(0.6)
    assert found.estimates["final answer right"].error == 0  # every row is labelled


@pytest.mark.parametrize("word", ["yes", "Y", "1", "true", "RIGHT", True, 1])
def test_words_for_yes(tmp_path: Path, word: object) -> None:
    assert self_labels(tmp_path, word, "no")[1] == {"a": Label(True, False)}


def self_labels(folder: Path, final: object, memory: object, **more: object) -> tuple[str, dict[str, Label]]:
    path = folder / "labels.jsonl"
    row = {
        "audit_id": "audit-1",
        "trajectory_id": "a",
        "final_right": final,
        "memory_sufficient": memory,
        **more,
    }
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return read_labels(path)


def test_labels_that_cannot_be_understood(tmp_path: Path) -> None:
    assert self_labels(tmp_path, "", None)[1] == {}
    with pytest.raises(DataError, match=r"Line 1 .* final_right = 'maybe'; write yes or no"):
        self_labels(tmp_path, "maybe", "no")
    with pytest.raises(DataError, match="one of its two labels"):
        self_labels(tmp_path, "yes", "")
    path = tmp_path / "two.jsonl"
    lines = [
        {"audit_id": "audit-1", "trajectory_id": "a", "final_right": 1, "memory_sufficient": memory}
        for memory in (1, 0)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with pytest.raises(DataError, match="labels a again and otherwise"):
        read_labels(path)
    path.write_text("no json", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be read as labels"):
        read_labels(path)
    path.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="rows of 0 samples"):
        read_labels(path)
    with pytest.raises(DataError, match="cannot be read as labels"):
        read_labels(tmp_path / "nowhere.jsonl")


# -- the estimate ----------------------------------------------------------------------------------------------------


def test_labels_that_agree_give_the_judges_rates_but_no_certainty(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    design = draw_sample(run, 60)
    _, labels = read_labels(fill(write_sample(run, design), as_judged))
    found = estimate_run(run, design, labels)
    for name, expected in (
        ("final answer right", 0.6),
        ("memory sufficient", 0.6),
        ("P_mmc", 1 / 3),
        ("Cell10", 0.2),
    ):
        estimate = found.estimates[name]
        assert estimate.value == pytest.approx(estimate.judged) == pytest.approx(expected)
        assert estimate.error == 0
        assert estimate.interval is not None
        assert estimate.interval.low < expected < estimate.interval.high
    assert found.judges["final"].kappa == 1
    assert found.judges["final"].disagreement.value == 0


def test_the_confusion_matrix_is_weighted_up_to_the_run(tmp_path: Path) -> None:
    """People hold every answer of cell 10 for wrong: 24 of 120 rows, whatever their share of the sample."""
    run = make_run(tmp_path)
    design = draw_sample(run, 60)

    def stern(key: str) -> dict[str, Any]:
        said = as_judged(key)
        return said | {"final_right": "no"} if said["memory_sufficient"] == "no" else said

    found = estimate_run(run, design, read_labels(fill(write_sample(run, design), stern))[1])
    judge = found.judges["final"]
    drawn = design.strata["10"].drawn
    assert judge.labelled["right/wrong"] == drawn
    assert judge.estimated == pytest.approx(
        {"right/right": 48, "right/wrong": 24, "wrong/right": 0, "wrong/wrong": 48}
    )
    assert judge.disagreement.value == pytest.approx(0.2)
    assert judge.kappa == pytest.approx((0.8 - 0.48) / (1 - 0.48))  # chance: .6·.4 + .4·.6 = .48
    assert found.estimates["final answer right"].value == pytest.approx(0.4)
    assert found.estimates["P_mmc"].value == 0
    assert found.judges["memory"].disagreement.value == 0


def test_unscored_rows_rest_on_people_alone(tmp_path: Path) -> None:
    """The judge's own rate is over the rows it scored; people's is over all."""
    run = make_run(tmp_path, second=False, unscored=20)
    design = draw_sample(run, 100)
    found = estimate_run(run, design, read_labels(fill(write_sample(run, design), as_judged))[1])
    estimate = found.estimates["final answer right"]
    assert estimate.judged == pytest.approx(60 / 100)
    assert estimate.rows == N
    assert abs((estimate.value or 0) - 0.6) < 0.06
    assert sum(found.judges["final"].labelled.values()) == 100 - found.labelled["unscored"]


@pytest.mark.parametrize("left", [0, 1])
def test_an_unlabelled_stratum_is_refused(tmp_path: Path, left: int) -> None:
    run = make_run(tmp_path)
    design = draw_sample(run, 60)
    _, labels = read_labels(fill(write_sample(run, design), as_judged))
    gone = [key for key, stratum in design.drawn.items() if stratum == "01"][left:]
    for key in gone:
        del labels[key]
    with pytest.raises(DataError, match=f"stratum “01” of 24 rows has {left} labels"):
        estimate_run(run, design, labels)


def test_an_estimate_from_half_of_the_labels(tmp_path: Path) -> None:
    """People stop when they are tired; what they labelled counts."""
    run = make_run(tmp_path)
    design = draw_sample(run, 60)
    path = write_sample(run, design)
    _, labels = read_labels(fill(path, as_judged))
    some = {
        key: label
        for place, (key, label) in enumerate(labels.items())
        if place % 2 or design.drawn[key] == "01"
    }
    found = estimate_run(run, design, some)
    assert sum(found.labelled.values()) == len(some)
    assert found.estimates["final answer right"].value == pytest.approx(0.6)


def test_labels_of_other_rows_or_of_other_scores_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    design = draw_sample(run, 60)
    _, labels = read_labels(fill(write_sample(run, design), as_judged))
    stranger = next(f"mini:{i}#0" for i in range(N) if f"mini:{i}#0" not in design.drawn)
    with pytest.raises(DataError, match=f"{stranger} is not a row of {design.audit_id}"):
        estimate_run(run, design, labels | {stranger: Label(True, True)})
    with run.writing():
        run.scores(SCORE_ID).append(ScoreRow(trajectory_id="mini:3#0", target="answer", value=1.0))
    with pytest.raises(RunError, match="not those that"):
        estimate_run(run, design, labels)
    with pytest.raises(RunError, match="has no sample 'audit-2'"):
        read_design(run, "audit-2")
    with pytest.raises(RunError, match="has no sample"):
        read_design(run, "../audit-2")


# -- what it is worth ------------------------------------------------------------------------------------------------

ESTIMATES = ("final answer right", "memory sufficient", "P_mmc[answerable]")
LABELLED = 100
JUDGES = {
    "errs on 5 % of verdicts": {},
    "errs on hard rows only": {"easy": 0.0},
    "errs on 10 % of verdicts": {"easy": 0.05, "hard": 0.5},
    "hardly errs": {"easy": 0.01, "hard": 0.01},
}


def simulated(world: AuditWorld, repetitions: int) -> dict[str, np.ndarray]:
    """(value, low, high) of each estimate in each repetition."""
    counts = allocate({name: len(rows) for name, rows in by_stratum(world.rows).items()}, LABELLED)
    design: AuditDesign = world.design(counts)
    generator = np.random.default_rng(1)
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ESTIMATES}
    for _ in range(repetitions):
        result = estimate_audit(world.rows, design, draw_labels(world, LABELLED, generator))
        for name in ESTIMATES:
            estimate = result.estimates[name]
            assert estimate.interval is not None
            found[name].append((estimate.value or 0.0, estimate.interval.low, estimate.interval.high))
    return {name: np.array(rows) for name, rows in found.items()}


def simple_sample(world: AuditWorld, name: str) -> tuple[float, float]:
    """Standard deviation and half width of a simple random sample of as many labels, finite run included."""
    truth, share = world.rate(name), 1.0
    if name.startswith("P_mmc"):
        share = sum(r.answerable and world.truth[r.trajectory_id].final_right for r in world.rows) / ROWS
    n = LABELLED * share / (1 - LABELLED / ROWS)
    low, high = wilson_interval(truth * n, n)
    return math.sqrt(truth * (1 - truth) / n), (high - low) / 2


def check_worth(judge: str, repetitions: int) -> None:
    world = make_world(1, **JUDGES[judge])
    for name, rows in simulated(world, repetitions).items():
        truth = world.rate(name)
        value, low, high = rows.T
        assert abs(value.mean() - truth) < 4 * value.std() / math.sqrt(repetitions) + 0.001, name
        spread, half = simple_sample(world, name)
        assert value.std() < 0.7 * spread, name
        assert np.mean(high - low) / 2 < half, name
        assert np.mean((low <= truth) & (truth <= high)) >= 0.95, name


@pytest.mark.parametrize("judge", ["errs on 5 % of verdicts"])
def test_the_estimate_is_unbiased_and_narrower_than_a_simple_sample_roughly(judge: str) -> None:
    check_worth(judge, 120)


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_the_estimate_is_unbiased_and_narrower_than_a_simple_sample(judge: str) -> None:
    check_worth(judge, 4_000)


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_commands_from_sample_to_estimate(cli: Cli, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    outcome = cli("audit", "sample", run.path, "-n", 60, "--seed", 2)
    assert outcome.code == 0, outcome.err
    assert "11, scorers disagree" in outcome.out
    path = next((run.path / "audit").glob("*.jsonl"))
    assert f"looseleaf audit estimate {run.path} {path}" in " ".join(outcome.out.split())
    outcome = cli("audit", "estimate", run.path, fill(path, as_judged))
    assert outcome.code == 0, outcome.err
    printed = " ".join(outcome.out.split())
    for words in (
        "final answer right │ 60.0",
        "P_mmc[answerable]",
        "judge: right",
        "They differ on 0.0 %",
        SECOND_ID,
    ):
        assert words in printed
    result = json.loads(next((run.path / "audit").glob("*.result.json")).read_text(encoding="utf-8"))
    assert result["estimates"]["memory sufficient"]["value"] == pytest.approx(0.6)
    assert (
        next((run.path / "audit").glob("*.result.md")).read_text(encoding="utf-8").startswith("# Human audit")
    )


def test_the_commands_refuse_in_one_sentence(cli: Cli, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    path = write_sample(run, draw_sample(run, 60))
    for arguments, words in (
        (("sample", run.path, "-n", 60), "may hold labels"),
        (("sample", run.path, "-n", 900), "Only 120 rows"),
        (("sample", tmp_path / "nowhere"), "There is no run"),
        (("estimate", run.path, path), "has 0 labels"),
        (("estimate", run.path, tmp_path / "none.csv"), "cannot be read"),
    ):
        outcome = cli("audit", *arguments)
        assert (outcome.code, outcome.out) == (2, ""), outcome
        assert words in outcome.err
        assert len(outcome.err.splitlines()) == 1
