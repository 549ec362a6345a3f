"""Final answers under swapped memories: `replay` asks the policy again, `memory-only` its model with nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from looseleaf.agent import as_turn, resolved
from looseleaf.errors import (
    AgentError,
    ConfigError,
    ContextOverflowError,
    DocumentError,
    FaultError,
    boundary,
)
from looseleaf.lab.replay import ReplayView
from looseleaf.memory import WorkingMemory
from looseleaf.models.registry import make_policy, make_reader
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleSpec
from looseleaf.protocol import Protocol
from looseleaf.question import Question
from looseleaf.roles import Action, Policy
from looseleaf.runner.closing import closing
from looseleaf.runner.lab.config import LabConfig, stored_role
from looseleaf.runner.lab.documents import RunDocuments
from looseleaf.runner.stage import StageProgress, work_off
from looseleaf.runner.stages import ReadingTask, Stages, last_rows
from looseleaf.runstore import Ledger, ReadingRow, Run, config_id
from looseleaf.score import Unscored
from looseleaf.trajectory import Trajectory

__all__ = ["Answers", "Swapped", "answer_anew", "answerer_of"]

CONCURRENCY = 8
"""Answers being given at once."""


class Swapped(NamedTuple):
    """One trajectory under one memory."""

    question: Question
    trajectory: Trajectory
    variant: str
    memory: WorkingMemory

    @property
    def key(self) -> str:
        """Identity of the answer inside its ledger."""
        return f"{self.trajectory.trajectory_id}|{self.variant}|0"


class Answers(NamedTuple):
    """Where the answers are, and which."""

    answer_id: str
    name: str
    rows: list[ReadingRow]


def answerer_of(run: Run, config: LabConfig) -> tuple[str, RoleSpec]:
    """Printable name and spec of who answers.

    Raises:
        ConfigError: the policy has no form that answers from a memory alone, or cannot be asked again.
    """
    stored = run.config.get("roles", {}).get("policy")
    if config.answerer == "replay":
        policy = _replayable(stored, config.answer_model)
        return f"replay, {policy.name} with the pages of its trajectory", policy
    model = config.answer_model or _as_reader(stored)
    if model is None:
        name = _name(stored) if stored else "not recorded"
        raise ConfigError(
            f"The policy ({name}) cannot answer from a memory alone; name a model that can with --answer-model."
        )
    return f"memory-only, {model.name} without pages", model


def _name(stored: dict[str, Any]) -> str:
    backend, argument = stored.get("backend", "not recorded"), stored.get("argument")
    return f"{backend}:{argument}" if argument else str(backend)


def _replayable(stored: dict[str, Any] | None, given: RoleSpec | None) -> RoleSpec:
    """The run's policy: as the user names it, else as the run does where that is harmless."""
    if not stored:
        raise ConfigError(
            "The run does not say who its policy was; use --answerer memory-only --answer-model …"
        )
    if given is None:
        return stored_role(stored, "answer-model")
    if given.name != _name(stored):
        raise ConfigError(
            f"The policy of the run is {_name(stored)} and not {given.name}; replay asks the policy itself again."
        )
    return given


def _as_reader(stored: dict[str, Any] | None) -> RoleSpec | None:
    """The policy's own model as a reader."""
    if not stored or stored.get("backend") not in {"embedded", *CHAT_BACKENDS}:
        return None
    policy = stored_role(stored, "answer-model")
    return RoleSpec(backend="embedded") if policy.backend == "embedded" else policy


async def answer_anew(
    run: Run,
    config: LabConfig,
    stages: Stages,
    swapped: Iterable[Swapped],
    documents: RunDocuments,
    progress: StageProgress | None = None,
) -> Answers:
    """Have every trajectory answered under every memory that is not answered yet."""
    name, spec = answerer_of(run, config)
    sidecar = {"answerer": config.answerer, "role": spec.identity()}
    answer_id = config_id(f"{config.answerer}-{spec.name}", sidecar)
    run.write_sidecar("interventions", answer_id, sidecar)
    ledger = Ledger(run.path / "interventions" / f"{answer_id}.jsonl", ReadingRow)
    try:
        if config.answerer == "memory-only":
            tasks = [
                ReadingTask(s.trajectory.trajectory_id, s.question.question, s.memory, s.variant)
                for s in swapped
            ]
            async with closing(make_reader(spec)) as reader:
                rows = await stages.read_into(ledger, f"answerer {spec.name}", reader, tasks)
        else:
            rows = await _replayed(run, spec, ledger, list(swapped), documents, progress)
    finally:
        ledger.close()
    return Answers(answer_id, name, rows)


async def _replayed(
    run: Run,
    spec: RoleSpec,
    ledger: Ledger[ReadingRow],
    swapped: list[Swapped],
    documents: RunDocuments,
    progress: StageProgress | None,
) -> list[ReadingRow]:
    documents.require("--answerer replay")
    protocol = msgspec.convert(run.config["protocol"], Protocol)
    done = {row.key for row in ledger.read() if row.unscored is None}
    work = [one for one in swapped if one.key not in done]
    async with closing(make_policy(spec)) as policy:

        async def answer(one: Swapped) -> ReadingRow:
            return await _answer(policy, protocol, one, documents)

        name = f"answerer {spec.name}"
        await work_off(name, work, answer, ledger, concurrency=CONCURRENCY, progress=progress)
    return last_rows(ledger.read())


async def _answer(policy: Policy, protocol: Protocol, one: Swapped, documents: RunDocuments) -> ReadingRow:
    """The policy's answer in its last turn; a turn that is no answer is an empty prediction, as in a run."""
    fields: dict[str, Any] = {"trajectory_id": one.trajectory.trajectory_id, "variant": one.variant}
    try:
        document = await asyncio.to_thread(documents.open, one.question, one.trajectory)
        view = ReplayView(one.trajectory, document, protocol, one.memory)
        with boundary(AgentError, "The policy failed"):
            turn = as_turn(await resolved(policy.act(view)))
    except ContextOverflowError:
        return ReadingRow(**fields, text="")
    except (FaultError, DocumentError) as problem:
        return ReadingRow(**fields, unscored=Unscored.AGENT_FAULT, error=str(problem))
    return ReadingRow(**fields, text=_answer_text(turn.action), usage=turn.usage)


def _answer_text(action: Action | None) -> str:
    if action is None or action.name != "answer":
        return ""
    return str(action.arguments.get("text", ""))
