"""One document, one question and one script: what every way of driving the environment must make the same of.

The script holds refused turns, so that a driver which hides, repeats or drops one is found. `expected` is what the own
agent loop makes of it; `assert_same` compares a trajectory from elsewhere with it, apart from what a driver may
decide: ids, seeds, times, tokens and the raw wording of a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fakes import make_question, pdf_bytes
from looseleaf import Action, Document, Environment, PolicyTurn, Protocol, Question, Trajectory
from looseleaf.agent import run_agent
from looseleaf.document import PageStore
from looseleaf.models.scripted import ScriptedPolicy
from looseleaf.protocol import PROTOCOLS
from looseleaf.retrieval import BM25Retriever, Retriever

PAGES = (
    "Annual report of the northern railway\nContents",
    "The city of Oslo has 7 stations.",
    "The city of Lima has 12 stations.",
    "Index of cities",
)
QUESTION = "How many stations does the city of Lima have?"

SCRIPT: tuple[Action, ...] = (
    Action.search("stations in the city of Lima"),
    Action.fetch(3),
    Action.note("Lima has 12 stations.", 99),
    Action.note("The city of Lima has 12 stations.", 3),
    Action.fetch(77),
    Action.fetch(2),
    Action.note("The city of Oslo has 7 stations, which is not asked for.", 2),
    Action("zoom", {"page": 2}),
    Action.answer("12 stations"),
)
"""A driver plays these turns, one a generation."""

REFUSED = (2, 3, 5, 8)
"""Turns of the script (1-based) that the rules refuse: a fetch and a note that may not be, a page and an action that
there are not."""

DRIVERS_OWN = ("run_id", "trajectory_id", "sample_index", "seed", "step_of_training", "usage", "seconds")
"""Fields that are a driver's own business."""
DRIVERS_OWN_IN_STEPS = ("model_text", "usage", "seconds", "thought")


class World(NamedTuple):
    """What an environment is made of."""

    question: Question
    document: Document
    retriever: Retriever
    protocol: Protocol

    def environment(self) -> Environment:
        """A fresh environment."""
        return Environment(self.question, self.document, self.retriever, self.protocol)


def make_world(folder: Path, protocol: Protocol = PROTOCOLS["awm"]) -> World:
    """Write the document and open it."""
    path = folder / "railway.pdf"
    path.write_bytes(pdf_bytes(*PAGES))
    document = Document.open(path, store=PageStore(folder / "cache"))
    retriever = BM25Retriever()
    retriever.index(document)
    question = make_question(
        doc_id="railway.pdf", question=QUESTION, references=("12",), answer_format="Int", evidence_pages=(3,)
    )
    return World(question, document, retriever, protocol)


def expected(world: World, turns: Sequence[Action | PolicyTurn] = SCRIPT) -> Trajectory:
    """What the own agent loop makes of the script, or of other turns."""
    policy = ScriptedPolicy(list(turns))
    return asyncio.run(run_agent(policy, world.environment()))


def assert_same(one: Trajectory, other: Trajectory) -> None:
    """Equal but for what a driver may decide."""
    assert comparable(one) == comparable(other)


def comparable(trajectory: Trajectory) -> dict[str, Any]:
    """The trajectory without what a driver may decide."""
    tables: dict[str, Any] = msgspec.to_builtins(trajectory)
    for name in DRIVERS_OWN:
        tables.pop(name, None)
    for step in tables["steps"]:
        for name in DRIVERS_OWN_IN_STEPS:
            step.pop(name, None)
    return tables
