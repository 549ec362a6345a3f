"""What the lab must say about note-writers on generated documents, where the truth is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.lab.answerability import answerability
from looseleaf.lab.carriers import carriers
from looseleaf.lab.controls import controls
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.twins import CausalScore, causal_score
from looseleaf.models.role_spec import RoleSpec
from looseleaf.procedural import make
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.lab import LabConfig, run_lab
from looseleaf.runner.score import score_run

Scored = tuple[ScoredRun, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six generated documents with twins."""
    made = tmp_path_factory.mktemp("procedural") / "data"
    make(made, documents=6, seed=11, split="test", difficulty=0.2, questions=8, twins=True)
    return made


@pytest.fixture(scope="module")
def runs(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scored]:
    """Runs of the writers, read by the embedded reader."""
    here = tmp_path_factory.mktemp("runs")
    changed, control = folder / "twins" / "changed", folder / "twins" / "control"
    wanted = {
        "specific": (folder, {}),
        "generic": (folder, {"style": "generic"}),
        "specific, changed": (changed, {}),
        "specific, control": (control, {}),
        "memorised, changed": (changed, {"notes_from": str(folder)}),
        "memorised, control": (control, {"notes_from": str(folder)}),
    }
    return {name: scored(data, here / name, options) for name, (data, options) in wanted.items()}


def scored(data: Path, out: Path, options: dict[str, str]) -> Scored:
    policy = RoleSpec(
        backend="python", argument="note_writers:make", options={"folder": str(data), **options}
    )
    config = RunConfig(data=DataConfig(benchmark="procedural", path=str(data)), policy=policy)
    run = execute(config, out).run
    outcome = score_run(run, ScoreConfig())
    return ScoredRun(run, outcome.score_id), outcome.reading_ids[0]


def test_the_same_answers_with_specific_and_with_generic_notes(runs: dict[str, Scored]) -> None:
    specific, generic = (answerability(*runs[name]).headline for name in ("specific", "generic"))
    assert specific["Acc"].value == generic["Acc"].value == 1
    assert specific["P_mmc[answerable]"].n == generic["P_mmc[answerable]"].n > 30
    missed = specific["P_mmc[answerable]"].value, generic["P_mmc[answerable]"].value
    assert missed[0] is not None
    assert missed[1] is not None
    assert missed[0] <= 0.05
    assert missed[1] >= 0.80


def test_controls_move_on_generated_documents(runs: dict[str, Scored]) -> None:
    run = runs["specific"][0].run
    outcome = run_lab(run, LabConfig())
    assert outcome.unscored == 0
    read, reader = ScoredRun(run, outcome.score_id), outcome.reading_ids[0]
    table = {control.variant: control for control in controls(read, reader, ">0")}
    for name in ("empty", "question-only", "answer-removed", "prediction-removed"):
        lost = table[name].lost.value
        assert lost is not None
        assert lost >= 0.95, name
    shuffled = table["shuffled"]
    assert shuffled.lost.value is not None
    assert shuffled.same_gold is not None
    assert shuffled.same_gold.value is not None
    assert shuffled.lost.value >= 0.95 - shuffled.same_gold.value
    found = carriers(read, reader, ">0")
    assert found is not None
    assert found.one_suffices.value == found.one_needed.value == 1, "one finding holds the answer"
    assert found.gold_page.value == 1


def score_of(runs: dict[str, Scored], writer: str) -> CausalScore:
    return causal_score(runs["specific"], runs[f"{writer}, changed"], runs[f"{writer}, control"])


def test_the_causal_score_of_specific_notes(runs: dict[str, Scored]) -> None:
    found = score_of(runs, "specific")
    assert found.n_answered >= 0.95 * found.pairs
    assert found.score is not None
    assert found.score >= 0.95


def test_memorised_notes_have_p_mmc_0_and_cf_0(runs: dict[str, Scored]) -> None:
    found = score_of(runs, "memorised")
    assert found.p_mmc.value == 0
    assert (found.cf.value, found.stability.value, found.score) == (0, 1, 0)
    assert found.stuck.value == 1
