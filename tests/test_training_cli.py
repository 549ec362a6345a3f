"""`looseleaf train` and its verbs, from the command line."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tomli_w

from conftest import Cli, OwnSet
from looseleaf.runstore import Run
from tiny_training import PIXELS


class Setup(NamedTuple):
    """A configuration file and the folders that it names."""

    config: Path
    out: Path
    collected: Path


@pytest.fixture
def setup(own_set: OwnSet, tmp_path: Path) -> Setup:
    """Both stages in one file over one's own questions: the first document for training, the second held out."""
    first = [f"mini:{n}" for n, row in enumerate(own_set.rows) if row["doc_id"] == "report_0.pdf"]
    other = [f"mini:{n}" for n, row in enumerate(own_set.rows) if row["doc_id"] != "report_0.pdf"]
    data = {"benchmark": str(own_set.questions), "path": str(own_set.docs)}
    out, collected = tmp_path / "out", tmp_path / "collected"
    tables = {
        "train": {
            "stage": "sft",
            "model": str(tmp_path / "tiny"),
            "output": f"{out}/{{variant}}",
            "batch_size": 2,
            "micro_batch": 2,
            "group_size": 2,
            "groups_per_step": 1,
            "max_turn_tokens": 8,
            "max_completion_tokens": 2048,
            "dtype": "float32",
            "save_every": 1,
            "steps": 1,
            "learning_rate": 1e-3,
        },
        "grpo": {"model": f"{out}/sft/final"},
        "data": {**data, "ids": first, "trajectories": [str(collected / "sft.jsonl")]},
        "protocol": {"max_pixels": PIXELS, "max_turns": 4},
        "evaluation": {**data, "ids": other[:1], "readers": ["constant:31"], "check_pages": False},
    }
    path = tmp_path / "train.toml"
    path.write_text(tomli_w.dumps(tables))
    return Setup(path, out, collected)


def collected(cli: Cli, setup: Setup) -> Any:
    return cli("train", "collect", setup.config, "--teacher", "embedded", "--out", setup.collected)


def test_collect_says_what_became_of_every_question(cli: Cli, setup: Setup) -> None:
    done = collected(cli, setup)
    assert done.code == 0, done.err
    assert (
        "2 trajectories kept of 4 questions (0 wrong, 0 with refused turns, 2 not drawn, 0 unscored)."
        in done.out
    )
    assert (setup.collected / "candidates.json").is_file()
    assert Run.open(setup.collected).config["roles"]["policy"]["backend"] == "embedded"
    strict = cli(
        *("train", "collect", setup.config, "--teacher", "embedded", "--out", setup.collected),
        "--require-memory",
    )
    assert "whose memory does not answer" in strict.out


def test_a_dry_run_prints_the_plan_and_touches_nothing(cli: Cli, setup: Setup) -> None:
    collected(cli, setup)
    done = cli("train", setup.config, "--dry-run")
    assert done.code == 0, done.err
    assert "sft: " in done.out
    assert "data: 2 trajectories" in done.out
    assert "no overlap with the held-out questions" in done.out
    assert "readers unseen in training: constant:31; beside them embedded" in done.out
    grpo = cli(
        "train", "--dry-run", setup.config, "--set", "train.stage=grpo", "--set", "reward.name=answer-only"
    )
    assert grpo.code == 0, grpo.err
    assert "answer-only: " in grpo.out
    assert "at most 4 generations, 1 scoring of the answer; 0 of these ask a chat model" in grpo.out
    assert "2 rollouts" in grpo.out
    assert not setup.out.exists()


def test_mistakes_are_one_sentence_and_exit_2(cli: Cli, setup: Setup, tmp_path: Path) -> None:
    for arguments, sentence in (
        ((tmp_path / "none.toml",), "cannot be read"),
        ((setup.config, "--set", "train.sede=1"), "did you mean 'seed'?"),
        (
            (setup.config, "--set", "reward.name=gold"),
            "[reward] name is 'gold'; use one of alden, answer-only, awm, cells, placebo.",
        ),
        ((setup.config, "--set", "seed=1"), "TABLE.KEY=VALUE"),
        ((setup.config, "--dry-run"), "looseleaf train collect"),
        (
            ("collect", setup.config, "--teacher", "nobody", "--out", tmp_path / "c"),
            "There is no policy 'nobody'",
        ),
        (("evaluate", setup.config), "holds no checkpoint"),
        (("evaluate", setup.config, "--policy", "embedded"), "name it with one --step"),
    ):
        done = cli("train", *arguments)
        assert done.code == 2, (arguments, done)
        assert sentence in done.err
        assert done.err.strip().count("\n") == 0


def test_without_the_extra_one_sentence_says_what_to_install(
    cli: Cli, setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "trl" else found(name, *rest)
    )
    for arguments in ((setup.config,), (setup.config, "--gates"), ("demo", "--out", setup.out)):
        done = cli("train", *arguments)
        assert done.code == 2
        assert done.err.strip() == (
            "looseleaf: Training needs torch, transformers and TRL; install them with "
            "`pip install 'looseleaf[train]'`."
        )


def test_the_demonstration_gets_what_was_asked_for(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trl")
    from looseleaf.training import demo

    asked: list[Any] = []
    monkeypatch.setattr(demo, "run_demo", lambda *places, **names: asked.append((places, names)))
    assert cli("train", "demo", "--out", tmp_path, "--seeds", 2, "--steps", 3, "--processes", 1).code == 0
    assert cli("train", "demo", "--out", tmp_path).code == 0
    (places, names), (_, usual) = asked
    assert places == (tmp_path, 2)
    assert (names["steps"], names["processes"]) == (3, 1)
    assert "steps" not in usual


def test_the_verb_may_be_left_out_and_help_lists_all_verbs(cli: Cli, setup: Setup) -> None:
    assert cli("train", setup.config, "--set", "train.sede=1") == cli(
        "train", "start", setup.config, "--set", "train.sede=1"
    )
    text = cli("train", "--help").out
    for verb in ("start", "collect", "pool", "evaluate", "demo"):
        assert verb in text


def test_from_a_teacher_to_a_trained_and_evaluated_model(cli: Cli, setup: Setup, own_set: OwnSet) -> None:
    """collect, SFT, gates, GRPO with evaluation, the curve, and the checkpoint as an agent."""
    pytest.importorskip("torch")
    pytest.importorskip("trl")
    from tiny_training import tiny_model

    tiny_model(setup.config.parent / "tiny")
    collected(cli, setup)
    sft = cli("train", setup.config)
    assert sft.code == 0, sft.err
    assert "2 trajectories; 1 steps." in sft.out
    assert (setup.out / "sft" / "final" / "config.json").is_file()

    grpo = (setup.config, "--set", "train.stage=grpo")
    gates = cli("train", *grpo, "--gates")
    assert gates.code == 0, gates.err
    assert gates.out.count("gate passed · ") == 5
    assert not (setup.out / "awm").exists()

    trained = cli("train", *grpo, "--set", "train.eval_every=1")
    assert trained.code == 0, trained.err
    assert trained.out.count("gate passed · ") == 5
    assert "trained model: " in trained.out
    assert "step 1, memory, training against " in trained.out
    runs = sorted((setup.out / "awm" / "evaluations").iterdir())
    assert [run.name for run in runs] == ["awm-000000", "awm-000001"]
    report = cli("report", *runs)
    assert report.code == 0, report.err
    page = (runs[0] / "report" / "report-awm-000000-awm-000001.html").read_text(encoding="utf-8")
    assert "MemAcc by step of training" in page

    again = cli("train", "evaluate", *grpo, "--step", 1)
    assert again.code == 0, again.err
    assert again.out.splitlines()[-1] == f"looseleaf report {runs[1]}"
    asked = cli(
        *("eval", own_set.questions, "--docs", own_set.docs, "--out", setup.out / "run", "--limit", 1),
        *("--policy", f"hf:{setup.out / 'awm' / 'final'}", "--max-turns", 1),
    )
    assert asked.code == 0, asked.err
    assert json.loads((setup.out / "run" / "manifest.json").read_bytes())["prompts"]
