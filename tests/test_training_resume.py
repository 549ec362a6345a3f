"""A training that was killed goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from looseleaf.runstore import Run
from looseleaf.training.grpo import last_checkpoint, run_grpo, step_of
from looseleaf.training.rollout_rewards import RolloutScorer
from looseleaf.training.telemetry import StepLog
from training_world import config_of, hashed_evidence, settings

TRAIN = {"steps": 5, "save_every": 2, "group_size": 4, "groups_per_step": 2, "kl": 0.01, "keep": 2}
SERIES = ("loss", "grad_norm", "kl", "looseleaf/rewards_mean", "looseleaf/s_ans", "looseleaf/tokens/observed")
PATIENCE = 300.0


def test_killed_and_continued_equals_unbroken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RolloutScorer, "evidence", hashed_evidence)
    unbroken = tmp_path / "unbroken"
    unbroken.mkdir()
    whole = run_grpo(config_of(unbroken, train=TRAIN), say=lambda line: None)
    assert [line["step"] for line in whole.log] == [1, 2, 3, 4, 5]
    assert any(line["grad_norm"] > 0 for line in whole.log)

    killed = tmp_path / "killed"
    killed.mkdir()
    tables = settings(killed, train=TRAIN)
    _kill_after(killed, tables, step=3)
    found = last_checkpoint(killed / "out")
    assert step_of(found) == 2
    (killed / "out" / "checkpoint-4").mkdir(exist_ok=True)  # as if the kill had come while it was written
    assert last_checkpoint(killed / "out") == found
    continued = run_grpo(config_of(killed, train=TRAIN), say=lambda line: None)

    assert [line["step"] for line in continued.log] == [1, 2, 3, 4, 5]
    for ours, theirs in zip(continued.log, whole.log, strict=True):
        for name in SERIES:
            assert ours[name] == pytest.approx(theirs[name], abs=1e-6), (ours["step"], name)
    one, other = (Run.open(folder / "out" / "rollouts").trajectories() for folder in (killed, unbroken))
    assert one.keys() == other.keys()
    said = {key: [step.model_text for step in found.steps] for key, found in one.items()}
    assert said == {key: [step.model_text for step in found.steps] for key, found in other.items()}


def _kill_after(folder: Path, tables: dict[str, Any], step: int) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(tables))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).parent / "training_world.py"), str(path)]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    log = folder / "out" / "steps.jsonl"
    try:
        end = time.monotonic() + PATIENCE
        while not (log.exists() and log.read_bytes().count(b"\n") >= step):
            assert process.poll() is None, "the training ended before it was killed"
            assert time.monotonic() < end, "the training did not get that far"
            time.sleep(0.02)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_steps_that_are_done_again_are_dropped(tmp_path: Path) -> None:
    log = StepLog(tmp_path / "steps.jsonl")
    for step in (1, 2, 3):
        log.append(step, {"loss": float(step), "nothing": float("nan"), "words": "no"})
    with (tmp_path / "steps.jsonl").open("ab") as torn:
        torn.write(b'{"step": 4, "lo')
    again = StepLog(tmp_path / "steps.jsonl", after=2)
    assert again.read() == [{"step": 1, "loss": 1.0}, {"step": 2, "loss": 2.0}]
