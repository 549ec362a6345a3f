"""Two processes give the advantages, and take the step, that one process would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from training_world import settings

WORLD = Path(__file__).parent / "training_world.py"


def _trained(folder: Path, processes: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    folder.mkdir()
    tables = settings(folder, train={"steps": 1, "micro_batch": 2})
    path = folder / "config.json"
    path.write_text(json.dumps(tables))
    launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, *(launch if processes > 1 else []), str(WORLD), str(path), "scripted"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    ranks = [json.loads((folder / f"advantages-{rank}.json").read_text()) for rank in range(processes)]
    (step,) = map(json.loads, (folder / "out" / "steps.jsonl").read_text().splitlines())
    return ranks, step


def test_two_processes_are_as_one(tmp_path: Path) -> None:
    (one,), alone = _trained(tmp_path / "one", 1)
    both, together = _trained(tmp_path / "two", 2)
    assert len(set(one["all"])) > 2
    for rank in both:
        assert rank["all"] == one["all"]
        assert len(rank["mine"]) == 4
    assert sorted(both[0]["mine"] + both[1]["mine"]) == sorted(one["mine"])
    for name in ("looseleaf/rewards_mean", "looseleaf/cells/11", "looseleaf/rollouts", "grad_norm"):
        assert together[name] == pytest.approx(alone[name], rel=1e-4), name
