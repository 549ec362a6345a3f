"""The starting point that all arms share: a tiny model that reads pages and writes notes of both kinds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from looseleaf.agent import run_agent
from looseleaf.document import PageStore
from looseleaf.environment import Environment
from looseleaf.models.scripted import ScriptedPolicy
from looseleaf.protocol import Protocol, named_protocol
from looseleaf.retrieval import BM25Retriever
from looseleaf.roles import Action
from looseleaf.runner.config import DataConfig
from looseleaf.runner.selection import load_data
from looseleaf.runstore import Ledger
from looseleaf.training.config_file import train_config
from looseleaf.training.conversation import Conversation
from looseleaf.training.demo.reading import learn_to_read
from looseleaf.training.demo.world import THINGS, DemoQuestion
from looseleaf.training.processing import load_processor
from looseleaf.training.sft import run_sft
from looseleaf.training.tiny_model import make_tiny_model
from looseleaf.trajectory import Trajectory

__all__ = ["PROTOCOL", "SPECIFIC_SHARE", "WarmStart", "make_demonstrations", "make_model", "warm_start"]

MAX_TURNS = 4
"""Fetch, note, answer, and one to spare."""
PROTOCOL: Protocol = named_protocol("awm", max_turns=MAX_TURNS)
SPECIFIC_SHARE = 0.35
"""Share of the demonstrations whose note says the number."""
LEARNING_RATE = 1.5e-3
SFT_BATCH = 32


class WarmStart(NamedTuple):
    """Where the arms start.

    Attributes:
        model: folder of the model.
        reading: share of held-out pages that it read before it met a conversation.
    """

    model: Path
    reading: float


def warm_start(
    folder: Path,
    world: Path,
    questions: Sequence[DemoQuestion],
    *,
    reading_steps: int,
    steps: int,
    seed: int,
) -> WarmStart:
    """Make the model, teach it to read, make the demonstrations, and fine-tune the one on the other.

    Args:
        folder: where everything goes.
        world: has the documents and `sft.jsonl`.
        questions: the questions of `sft.jsonl`.
        reading_steps: optimiser steps of reading.
        steps: optimiser steps on demonstrations.
        seed: of weights, demonstrations and order.
    """
    model = folder / "reading"
    accuracy = learn_to_read(make_model(folder / "untrained", seed), model, steps=reading_steps, seed=seed)
    demonstrations = make_demonstrations(folder / "demonstrations.jsonl", world, questions, seed)
    config = train_config(
        {
            "train": {
                "stage": "sft",
                "model": str(model),
                "output": str(folder / "sft"),
                "seed": seed,
                "steps": steps,
                "batch_size": SFT_BATCH,
                "micro_batch": SFT_BATCH,
                "learning_rate": LEARNING_RATE,
                "schedule": "linear",
                "warmup": 0.1,
                "dtype": "float32",
                "save_every": 0,
            },
            "protocol": {"name": "awm", "max_turns": MAX_TURNS},
            "data": {
                "benchmark": str(world / "sft.jsonl"),
                "path": str(world / "documents"),
                "trajectories": [str(demonstrations)],
            },
        }
    )
    return WarmStart(run_sft(config).folder, accuracy)


def make_model(folder: Path, seed: int) -> Path:
    """The tiny model; its tokeniser has one token for the system message, which is the same in every conversation."""
    said = [
        f"How many {thing} are on page {page}? page {page} has {page} {thing} page {page} counts {thing}"
        for thing, page in itertools.product(THINGS, range(1, 5))
    ]
    make_tiny_model(folder, seed, texts=said)
    conversation = Conversation(load_processor(folder), PROTOCOL)
    return make_tiny_model(folder, seed, texts=said, phrases=[conversation.system_text()])


def make_demonstrations(path: Path, world: Path, questions: Sequence[DemoQuestion], seed: int) -> Path:
    """Scripted trajectories of the real environment over all questions; a share of the notes says the number."""
    generator = np.random.default_rng(seed)
    held = load_data(DataConfig(benchmark=str(world / "sft.jsonl"), path=str(world / "documents")))
    path.unlink(missing_ok=True)
    ledger = Ledger(path, Trajectory)
    store = PageStore()
    for asked, question in zip(questions, held.questions, strict=True):
        note = asked.specific_note() if generator.random() < SPECIFIC_SHARE else asked.generic_note()
        script = [
            Action.fetch(asked.page),
            Action.note(note, asked.page),
            Action.answer(str(asked.answer)),
        ]
        environment = Environment(question, held.open(question, store), BM25Retriever(), PROTOCOL)
        ledger.append(asyncio.run(run_agent(ScriptedPolicy(script), environment)))
    ledger.close()
    return path
