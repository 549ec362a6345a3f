"""One arm in a process of its own: `python -m looseleaf.training.demo.arm_process OUT ARM SEED STEPS`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from looseleaf.training.demo.arm import ARMS, Started, result_path, run_arm

__all__ = ["main"]


def main(out: str, arm: str, seed: str, steps: str) -> None:
    """Run an arm of the demonstration in folder `out`."""
    folder = Path(out)
    started = msgspec.json.decode((folder / "start.json").read_bytes(), type=Started)
    run_arm(
        next(known for known in ARMS if known == arm),
        int(seed),
        start=Path(started.model),
        world=folder / "world",
        out=result_path(folder, arm, int(seed)).parent,
        steps=int(steps),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
