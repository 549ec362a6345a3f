"""Checkpoints as agents of ordinary runs, evaluation in training, its agreement with training, and the curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from conftest import Cli, OwnSet
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, DataError
from looseleaf.lab.robustness import cohens_kappa
from looseleaf.models.registry import make_policy
from looseleaf.models.role_spec import RoleSpec
from looseleaf.report import build_report
from looseleaf.report.html import comparison_page
from looseleaf.runstore import Run
from looseleaf.training import local_policy
from looseleaf.training.agreement import StepAgreement
from looseleaf.training.checkpoint_eval import evaluate_in_memory, evaluation_callback
from looseleaf.training.config import TrainConfig
from looseleaf.training.grpo import run_grpo
from looseleaf.training.hf_policy import in_memory
from looseleaf.training.processing import load_processor
from looseleaf.training.sft import run_sft
from looseleaf.training.step_eval import AGREEMENT_FILE, evaluate_step, evaluation_folder
from looseleaf.training.weights import load_checkpoint
from tiny_training import configured, tables, teacher_run, tiny_model

TURNS = 3


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def config(own_set: OwnSet, model: Path, tmp_path: Path) -> TrainConfig:
    """Learns from the first document's questions and is evaluated on the second one's."""
    given = tables(own_set.questions, own_set.docs, model, tmp_path / "out", steps=2, eval_every=2)
    given["train"] |= {"max_turn_tokens": 12}
    given["protocol"] |= {"max_turns": TURNS}
    first = [f"mini:{number}" for number, row in enumerate(own_set.rows) if row["doc_id"] == "report_0.pdf"]
    other = [f"mini:{number}" for number, row in enumerate(own_set.rows) if row["doc_id"] != "report_0.pdf"]
    given["data"]["ids"] = first
    given["evaluation"] = {
        "benchmark": str(own_set.questions),
        "path": str(own_set.docs),
        "ids": other[:2],
        "readers": ["constant:31"],
        "check_pages": False,
    }
    return configured(given)


def test_a_checkpoint_is_the_policy_of_an_ordinary_evaluation(
    cli: Cli, own_set: OwnSet, model: Path, tmp_path: Path
) -> None:
    role = tmp_path / "policy.toml"
    role.write_text(f'backend = "hf"\nargument = "{model}"\n[options]\nmax_turn_tokens = 8\n')
    arguments = ("--docs", own_set.docs, "--out", tmp_path / "run", "--max-turns", 2, "--limit", 2)
    done = cli("eval", own_set.questions, *arguments, "--policy", role)
    assert done.code == 0, done.err
    run = Run.open(tmp_path / "run")
    assert run.config["roles"]["policy"]["backend"] == "hf"
    assert "awm.v1.md" in run.manifest["prompts"]
    trajectories = list(run.trajectories().values())
    assert len(trajectories) == 2
    for trajectory in trajectories:
        assert str(trajectory.stop_reason) == "turn_limit"
        assert trajectory.turns == 2
        assert trajectory.usage.completion_tokens > 0


def test_mistakes_in_the_role_are_one_sentence(model: Path) -> None:
    with pytest.raises(ConfigError, match="hf needs a checkpoint"):
        make_policy(RoleSpec.parse("hf"))
    with pytest.raises(ConfigError, match="its options are temperature"):
        make_policy(RoleSpec.parse(f"hf:{model}", temprature=1))
    with pytest.raises(ConfigError, match="cannot be loaded"):
        make_policy(RoleSpec.parse("hf:/nowhere/at/all"))


def test_a_policy_in_memory_stands_for_its_checkpoint_only_inside_the_block() -> None:
    held: Any = object()
    with in_memory("/nowhere/checkpoint-7", held):
        assert make_policy(RoleSpec.parse("hf:/nowhere/checkpoint-7")) is held
    with pytest.raises(ConfigError):
        make_policy(RoleSpec.parse("hf:/nowhere/checkpoint-7"))


@pytest.fixture
def evaluated(config: TrainConfig, store: PageStore) -> dict[int, Any]:
    """Two steps of SFT with evaluations before and after."""
    teacher_run(config, Path(config.data.trajectories[0]), store, ids=config.data.ids)
    callback = evaluation_callback(config, load_processor(config.train.model), store=store)
    outcome = run_sft(config, store=store, callbacks=[callback])
    found: dict[int, Any] = callback.evaluated
    found[-1] = outcome
    return found


def test_evaluations_are_ordinary_runs_with_their_step(
    evaluated: dict[int, Any], config: TrainConfig, store: PageStore
) -> None:
    assert sorted(evaluated) == [-1, 0, 2]
    assert config.evaluation is not None
    for step in (0, 2):
        run = Run.open(evaluation_folder(config, step))
        trajectories = run.trajectories().values()
        assert {trajectory.step_of_training for trajectory in trajectories} == {step}
        assert {trajectory.question_id for trajectory in trajectories} == set(config.evaluation.ids)
        assert run.config["roles"]["policy"]["argument"].endswith(f"checkpoint-{step}")
        assert run.config["train"]["output"] == config.train.output
        assert run.config["reward"]["name"] == "awm"
        readings = run.manifest["score"]["reading_ids"]
        assert [name.partition("-")[0] for name in readings] == ["constant", "embedded"]
        assert build_report(run).settings["reader"].startswith("constant")

    # Evaluation takes nothing from training: the losses are those of a training without it.
    plain = msgspec.structs.replace(
        config,
        train=msgspec.structs.replace(config.train, output=f"{config.train.output}-plain", eval_every=0),
    )
    assert run_sft(plain, store=store).losses == evaluated[-1].losses

    # The runs draw the curve of their training.
    runs = [Run.open(evaluation_folder(config, step)) for step in (0, 2)]
    page = comparison_page([build_report(run) for run in runs], [])
    assert "Acc by step of training" in page
    assert "MemAcc by step of training" in page
    assert page.count("<polyline") >= 2


def test_agreement_is_that_of_the_stored_verdicts(
    config: TrainConfig, own_set: OwnSet, store: PageStore
) -> None:
    """With a policy that answers, so that there are verdicts of both kinds to agree on."""
    assert config.evaluation is not None
    everything = msgspec.structs.replace(config.evaluation, ids=())
    config = msgspec.structs.replace(config, evaluation=everything)
    evaluated = evaluate_step(config, RoleSpec.parse("embedded"), 40, store=store)
    stored = msgspec.json.decode((evaluated.run.path / AGREEMENT_FILE).read_bytes(), type=StepAgreement)
    assert stored == evaluated.agreement
    assert stored.step == 40
    answer, memory = stored.pairs
    assert (answer.target, memory.target) == ("answer", "memory")
    assert memory.training.reading_id is not None
    assert memory.evaluation.reading_id is not None
    ours = _memory_verdicts(evaluated.run, memory.training.score_id, memory.training.reading_id)
    theirs = _memory_verdicts(evaluated.run, memory.evaluation.score_id, memory.evaluation.reading_id)
    pairs = [(ours[key], theirs[key]) for key in ours]
    assert memory.n == memory.n_rows == len(own_set.rows) == len(pairs)
    assert memory.kappa == cohens_kappa(pairs)
    assert memory.only_training == sum(a and not b for a, b in pairs) > 0
    assert memory.both == sum(a and b for a, b in pairs)
    assert answer.only_training == answer.only_evaluation == 0  # one and the same scorer
    assert answer.both > 0


def _memory_verdicts(run: Run, score_id: str, reading_id: str) -> dict[str, bool]:
    rows = run.scores(score_id).read()
    return {
        row.trajectory_id: (row.value or 0) > 0
        for row in rows
        if row.target == "memory" and row.reading_id == reading_id
    }


def test_evaluating_again_repeats_nothing(config: TrainConfig, store: PageStore) -> None:
    first = evaluate_step(config, RoleSpec.parse("embedded"), 3, store=store)
    lines = (first.run.path / "trajectories.jsonl").read_bytes()
    again = evaluate_step(config, RoleSpec.parse("embedded"), 3, store=store)
    assert (again.run.path / "trajectories.jsonl").read_bytes() == lines
    assert again.agreement == first.agreement


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_nothing_is_learnt_where_training_and_evaluation_overlap(
    config: TrainConfig, store: PageStore, stage: Literal["sft", "grpo"]
) -> None:
    assert config.evaluation is not None
    taught = config.data.trajectories[0]
    teacher_run(config, Path(taught), store, ids=config.data.ids)
    before = sorted(Path(config.train.output).rglob("*"))
    same = msgspec.structs.replace(
        config,
        train=msgspec.structs.replace(config.train, stage=stage, group_size=2, groups_per_step=1),
        evaluation=msgspec.structs.replace(config.evaluation, ids=config.data.ids),
    )
    with pytest.raises(DataError, match="overlaps with"):
        run_sft(same, store=store) if stage == "sft" else run_grpo(same, store=store)
    assert sorted(Path(config.train.output).rglob("*")) == before


def test_evaluation_computes_in_the_precision_of_training(
    config: TrainConfig, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    seen: list[bool] = []

    def generate(model: Any, processor: Any, prompts: Any, **kwargs: Any) -> list[list[int]]:
        seen.append(torch.is_autocast_enabled("cpu"))
        return [[processor.tokenizer.eos_token_id] for _ in prompts]

    monkeypatch.setattr(local_policy, "generate", generate)
    processor, model = load_processor(config.train.model), load_checkpoint(config.train.model)
    for step, (dtype, half) in enumerate((("float32", False), ("bfloat16", True))):
        train = msgspec.structs.replace(config.train, dtype=dtype)
        seen.clear()
        model.train()
        evaluate_in_memory(msgspec.structs.replace(config, train=train), model, processor, step, store=store)
        assert model.training
        assert set(seen) == {half}


def test_sharded_weights_are_not_evaluated_in_training(
    config: TrainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor: Any = None
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(ConfigError, match="looseleaf train evaluate"):
        evaluation_callback(config, processor)


def test_runs_of_several_trainings_get_a_line_each(tmp_path: Path) -> None:
    from reward_runs import READING_ID, make_scored_run

    runs = []
    for series, rates in (("awm", (0, 1)), ("answer-only", (0, 0))):
        for step, memory in zip((0, 40), rates, strict=True):
            run = make_scored_run(tmp_path / series / f"{series}-{step}", [[(1, memory)], [(1, 0)]])
            run.write_config(run.config | {"run": {"samples": 1, "step_of_training": step}})
            run.write_sidecar("readings", READING_ID, {"reader": {"backend": "constant"}})
            runs.append(run)
    reports = [build_report(run) for run in runs]
    assert [report.training.step for report in reports if report.training] == [0, 40, 0, 40]
    page = comparison_page(reports, [])
    assert "MemAcc, awm" in page
    assert "MemAcc, answer-only" in page
    assert json.dumps(page).count("<polyline") == 6
    assert "by step of training" not in comparison_page(reports[:1] + reports[2:3], [])
