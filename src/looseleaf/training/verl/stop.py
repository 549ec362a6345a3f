"""How a rollout that must end the training says so.

verl catches what an agent loop raises: its trainer logs the exception, calls the prompt's group failed, and trains on
the rest (verl 0.9.1, `AgentLoopWorkerTQ._run_prompt` and `ReplayBuffer`). So a rollout that met a bug does not raise.
It returns `STOPPING` as its reward and leaves a note, and the advantage estimator, through which every batch passes
before anything is learnt from it, ends the training with the note's sentence.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

__all__ = ["STOPPING", "read_note", "remove_note", "write_note"]

STOPPING = math.inf
"""The reward of a rollout that ends the training; no reward of ours is infinite."""
NOTE = "stopped.txt"
"""File in the output folder with the sentence."""


def write_note(out: Path | None, sentence: str) -> None:
    """Leave the sentence, if there is a folder for it and no earlier one."""
    if out is None:
        return
    with contextlib.suppress(OSError):  # without the note the worker's log has the sentence
        out.mkdir(parents=True, exist_ok=True)
        with (out / NOTE).open("x", encoding="utf-8") as note:
            note.write(sentence + "\n")


def read_note(out: Path | None) -> str:
    """The sentence, or where to look for one."""
    if out is not None and (out / NOTE).is_file():
        return (out / NOTE).read_text(encoding="utf-8").strip()
    return "A rollout failed by no doing of the model; the log of its agent loop worker says how."


def remove_note(out: Path) -> None:
    """Forget the note of an earlier start."""
    (out / NOTE).unlink(missing_ok=True)
