"""The whole demonstration: one starting point, then every arm and seed as a process of its own, side by side."""

from __future__ import annotations

import os
import subprocess  # nosec: our own module, a list of arguments, no shell
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from looseleaf.errors import RunError
from looseleaf.runstore import write_atomically
from looseleaf.training.demo.arm import ARMS, Arm, ArmResult, Started, result_path
from looseleaf.training.demo.summary import Summary, lines_of, summarise
from looseleaf.training.demo.warm_start import WarmStart, warm_start
from looseleaf.training.demo.world import write_world
from looseleaf.training.processing import require_training

__all__ = ["DEFAULT_SEEDS", "run_demo"]

DEFAULT_SEEDS = 5
SFT_DOCUMENTS, TRAIN_DOCUMENTS, HELD_OUT_DOCUMENTS = 300, 60, 40
"""Documents of four pages each, one question a page; no document is in two sets."""
WORLD_SEEDS = {"sft": 11, "train": 12, "held_out": 14}
READING_STEPS = 400
SFT_STEPS = 400
GRPO_STEPS = 150
WARM_SEED = 0


def run_demo(
    out: Path,
    seeds: int = DEFAULT_SEEDS,
    *,
    arms: Sequence[Arm] = ARMS,
    steps: int = GRPO_STEPS,
    processes: int = 2,
    say: Callable[[str], None] = print,
) -> Summary:
    """Run what is not finished yet, then summarise.

    Args:
        out: folder of everything; a demonstration that was interrupted goes on there.
        seeds: repetitions of each arm.
        arms: rewards to compare.
        steps: optimiser steps of each arm.
        processes: arms that run side by side, one thread each.
        say: prints a line.

    Returns:
        The summary, also written to `OUT/summary.json`.

    Raises:
        ConfigError: the training extra is not installed.
        RunError: an arm failed; its output is in its folder.
    """
    require_training()
    out = out.resolve()
    started = _start(out, say)
    jobs = [(arm, seed) for seed in range(seeds) for arm in arms]
    missing = [job for job in jobs if not result_path(out, *job).exists()]
    say(f"{len(jobs) - len(missing)} of {len(jobs)} arms are finished; {processes} run side by side")
    _run_all(out, missing, steps, processes, say)
    results = [msgspec.json.decode(result_path(out, *job).read_bytes(), type=ArmResult) for job in jobs]
    summary = summarise(results, reading=started.reading, start_cpu_seconds=started.cpu_seconds)
    for line in lines_of(summary):
        say(line)
    write_atomically(out / "summary.json", msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    return summary


def _start(out: Path, say: Callable[[str], None]) -> Started:
    """The documents and the shared starting point, made once."""
    path = out / "start.json"
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=Started)
    say("making documents, and a model that reads pages and writes notes of both kinds")
    began = time.process_time()
    world = out / "world"
    written = {
        name: write_world(world, name, documents, WORLD_SEEDS[name])
        for name, documents in (
            ("sft", SFT_DOCUMENTS),
            ("train", TRAIN_DOCUMENTS),
            ("held_out", HELD_OUT_DOCUMENTS),
        )
    }
    warm: WarmStart = warm_start(
        out / "start", world, written["sft"], reading_steps=READING_STEPS, steps=SFT_STEPS, seed=WARM_SEED
    )
    started = Started(model=str(warm.model), reading=warm.reading, cpu_seconds=time.process_time() - began)
    write_atomically(path, msgspec.json.encode(started))
    say(f"it reads {warm.reading:.0%} of pages that it never saw ({started.cpu_seconds:.0f} CPU seconds)")
    return started


def _run_all(
    out: Path,
    jobs: list[tuple[Arm, int]],
    steps: int,
    processes: int,
    say: Callable[[str], None],
) -> None:
    waiting = list(jobs)
    running: dict[tuple[Arm, int], subprocess.Popen[bytes]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                job = waiting.pop(0)
                running[job] = _spawn(out, *job, steps)
            time.sleep(POLL)
            for job, process in list(running.items()):
                if process.poll() is not None:
                    _finished(out, job, running.pop(job), say)
    finally:
        for process in running.values():
            process.terminate()


POLL = 0.5
"""Seconds between looks at the running arms."""


def _spawn(out: Path, arm: Arm, seed: int, steps: int) -> subprocess.Popen[bytes]:
    folder = result_path(out, arm, seed).parent
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-P",
        "-m",
        "looseleaf.training.demo.arm_process",
        str(out),
        arm,
        str(seed),
        str(steps),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with (folder / "output.txt").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)  # noqa: S603


def _finished(
    out: Path, job: tuple[Arm, int], process: subprocess.Popen[bytes], say: Callable[[str], None]
) -> None:
    arm, seed = job
    path = result_path(out, arm, seed)
    if process.returncode != 0 or not path.exists():
        raise RunError(
            f"The arm {arm} with seed {seed} failed; see {path.parent / 'output.txt'}, and run the same command again."
        )
    found = msgspec.json.decode(path.read_bytes(), type=ArmResult)
    say(
        f"{arm}, seed {seed}: s_ans {found.before.s_ans:.2f} → {found.after.s_ans:.2f}, "
        f"s_mem {found.before.s_mem:.2f} → {found.after.s_mem:.2f} ({found.cpu_seconds:.0f} CPU seconds)"
    )
