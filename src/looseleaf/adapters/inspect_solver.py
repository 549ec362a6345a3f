"""The solver: a model of Inspect acts in our environment, by our own loop."""

from __future__ import annotations

import asyncio
import functools
from typing import Any, NamedTuple

import msgspec
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from looseleaf.adapters.inspect_model import INSPECTS_OWN, InspectClient, as_client
from looseleaf.adapters.inspect_score import TRAJECTORY_KEY, question_of
from looseleaf.agent import run_agent
from looseleaf.benchmarks import QuestionSet
from looseleaf.document import default_store, require_ocr
from looseleaf.environment import Environment
from looseleaf.errors import AgentError, DataError, DocumentError, FaultError
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.policy import ChatPolicy
from looseleaf.models.role_spec import RoleSpec
from looseleaf.question import Question
from looseleaf.roles import PolicyTurn, PolicyView
from looseleaf.runner.config import RunConfig
from looseleaf.runner.library import Library
from looseleaf.runner.selection import load_data
from looseleaf.runstore import config_id
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["BACKEND", "World", "looseleaf_agent", "open_world"]

BACKEND = "inspect"
"""Backend of the policy in the stored configuration: a model that Inspect was given with `--model`."""
WORLDS = 4
"""Data sets kept open: a task and its solver use the same one."""


class World(NamedTuple):
    """The data of one configuration.

    Attributes:
        config: the configuration.
        questions: all questions and where their documents are.
        library: opens documents.
    """

    config: RunConfig
    questions: QuestionSet
    library: Library


@functools.lru_cache(maxsize=WORLDS)
def open_world(encoded: bytes) -> World:
    """The data of a `RunConfig` that is given as JSON.

    Raises:
        UserError: the data or the configuration cannot be used.
    """
    config = msgspec.json.decode(encoded, type=RunConfig)
    if config.ocr:
        require_ocr()
    questions = load_data(config.data)
    library = Library(questions, config.retriever_in_force, default_store(), ocr=config.ocr)
    return World(config, questions, library)


@solver
def looseleaf_agent(run: dict[str, Any], options: dict[str, Any]) -> Solver:
    """Lets the model act in our environment; the trajectory goes into the sample's store.

    Args:
        run: a `RunConfig` as JSON values.
        options: `ChatOptions` of the policy that say how pages are shown and actions written.
    """
    encoded = msgspec.json.encode(run)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        world = await asyncio.to_thread(open_world, encoded)
        question = question_of(state.metadata)
        if state.metadata["document_missing"]:
            return state
        try:
            environment = await asyncio.to_thread(_environment, world, question)
        except (DocumentError, DataError) as problem:
            _keep(state, _unstarted(world, question, state, StopReason.DOCUMENT_ERROR, problem))
        except FaultError as problem:
            _keep(state, _unstarted(world, question, state, StopReason.PROVIDER_ERROR, problem))
        else:
            await _act(state, world, environment, options)
        return state

    return solve


def _environment(world: World, question: Question) -> Environment:
    opened = world.library.open(question)
    window = world.questions.window_of(question)
    return Environment(question, opened.document, opened.retriever, world.config.protocol, window=window)


async def _act(state: TaskState, world: World, environment: Environment, options: dict[str, Any]) -> None:
    model = get_model()
    sample = state.epoch - 1
    chat = ChatOptions.of("policy", RoleSpec(backend=BACKEND, argument=model.name, options=options))
    seed = world.config.seed + sample if chat.send_seed else None
    policy = _InspectPolicy(model, chat, seed, state)
    run_id = config_id("run", world.config.as_tables())
    try:
        trajectory = await run_agent(policy, environment, run_id=run_id, sample_index=sample, seed=seed)
    except BaseException:  # cancelled: a time limit of Inspect, or its operator
        environment.stop(StopReason.CANCELLED, "Inspect ended the sample.")
        _keep(state, environment.trajectory(run_id=run_id, sample_index=sample, seed=seed))
        raise
    _keep(state, trajectory)
    if policy.ended_by is not None:
        raise policy.ended_by


class _InspectPolicy(ChatPolicy):
    """The chat policy over Inspect's model. What Inspect raises to end a sample is kept, to be raised behind the loop.

    Attributes:
        ended_by: what Inspect raised, if it did.
    """

    def __init__(self, model: Model, options: ChatOptions, seed: int | None, state: TaskState) -> None:
        def show(sent: list[ChatMessage], output: ModelOutput) -> None:
            state.messages = sent if output.empty else [*sent, output.message]

        config = GenerateConfig() if seed is None else GenerateConfig(seed=seed)
        super().__init__(as_client(InspectClient(model, options, config=config, listener=show)))
        self.ended_by: Exception | None = None

    async def act(self, view: PolicyView) -> PolicyTurn:
        """The next turn.

        Raises:
            AgentError: Inspect ended the sample.
        """
        try:
            return await super().act(view)
        except INSPECTS_OWN as problem:
            self.ended_by = problem
            if isinstance(problem, LimitExceededError) and isinstance(view, Environment):
                view.stop(StopReason.TURN_LIMIT, f"Inspect's limit: {problem.message}")
            raise AgentError(f"Inspect ended the sample: {problem}") from problem


def _unstarted(
    world: World, question: Question, state: TaskState, reason: StopReason, problem: Exception
) -> Trajectory:
    return Trajectory(
        run_id=config_id("run", world.config.as_tables()),
        trajectory_id=f"{question.question_id}#{state.epoch - 1}",
        question_id=question.question_id,
        benchmark=question.benchmark,
        doc_id=question.doc_id,
        question=question.question,
        protocol=world.config.protocol.name,
        sample_index=state.epoch - 1,
        stop_reason=reason,
        error=str(problem),
    )


def _keep(state: TaskState, trajectory: Trajectory) -> None:
    state.store.set(TRAJECTORY_KEY, msgspec.to_builtins(trajectory))
    state.output = ModelOutput.from_content(str(state.model), trajectory.answer or "")
    state.completed = True
