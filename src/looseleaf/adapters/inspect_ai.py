"""Inspect AI: every benchmark as a task, our environment as the solver, our scorers and metrics.

The entry point `inspect_ai` of the package names this module, so that tasks are found by name:

    inspect eval looseleaf/mmlongbench_doc --model openai/MODEL -T data=DIR

Roles: `--model` acts; `--model-role reader=…`, `extractor=…` and `judge=…` read, extract and judge, and the embedded
reader and extractor do where none is bound.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from looseleaf import __version__
from looseleaf.adapters.inspect_model import INSPECTS_OWN, InspectClient, as_client
from looseleaf.adapters.inspect_scorers import TRAJECTORY_KEY, looseleaf_scorer, question_of
from looseleaf.agent import run_agent
from looseleaf.benchmarks import QuestionSet
from looseleaf.document import default_store, require_ocr
from looseleaf.environment import Environment
from looseleaf.errors import AgentError, ConfigError, DataError, DocumentError, FaultError, UserError
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.policy import ChatPolicy
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import named_protocol
from looseleaf.question import Question
from looseleaf.roles import PolicyTurn, PolicyView
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runner.library import Library
from looseleaf.runner.selection import load_data, select
from looseleaf.runstore import config_id
from looseleaf.scoring.registry import default_scorer, get_scorer
from looseleaf.trajectory import StopReason, Trajectory

__all__ = [
    "dude",
    "dude_sub",
    "fetatab",
    "longdocurl",
    "looseleaf_agent",
    "make_task",
    "mmlongbench_doc",
    "own_questions",
    "papertab",
    "papertext",
    "procedural",
]

BACKEND = "inspect"
"""Backend of the policy in the stored configuration: a model that Inspect was given with `--model`."""
WORLDS = 4
"""Data sets kept open: a task and its solver use the same one."""


# -- the solver ------------------------------------------------------------------------------------------------


class _World(NamedTuple):
    """The data of one configuration."""

    config: RunConfig
    questions: QuestionSet
    library: Library


@functools.lru_cache(maxsize=WORLDS)
def _world(encoded: bytes) -> _World:
    config = msgspec.json.decode(encoded, type=RunConfig)
    if config.ocr:
        require_ocr()
    questions = load_data(config.data)
    library = Library(questions, config.retriever_in_force, default_store(), ocr=config.ocr)
    return _World(config, questions, library)


@solver
def looseleaf_agent(run: dict[str, Any], options: dict[str, Any]) -> Solver:
    """Lets the model act in our environment; the trajectory goes into the sample's store.

    Args:
        run: a `RunConfig` as JSON values.
        options: `ChatOptions` of the policy that say how pages are shown and actions written.
    """
    encoded = msgspec.json.encode(run)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        world = await asyncio.to_thread(_world, encoded)
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


def _environment(world: _World, question: Question) -> Environment:
    opened = world.library.open(question)
    window = world.questions.window_of(question)
    return Environment(question, opened.document, opened.retriever, world.config.protocol, window=window)


async def _act(state: TaskState, world: _World, environment: Environment, options: dict[str, Any]) -> None:
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
    world: _World, question: Question, state: TaskState, reason: StopReason, problem: Exception
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


# -- the tasks -------------------------------------------------------------------------------------------------


def make_task(
    data: DataConfig,
    *,
    protocol: str = "awm",
    max_turns: int | None = None,
    retriever: str = "bm25",
    ocr: bool = False,
    limit: int | None = None,
    ids: str | list[str] = "",
    strict: bool = False,
    seed: int | None = None,
    scorer: str = "",
    threshold: str = ">0",
    actions: Literal["tools", "tags", "json"] | None = None,
    pages: Literal["images", "text", "both"] = "images",
    images_kept: int | None = None,
    max_image_pixels: int | None = None,
) -> Task:
    """A task over the questions of a data configuration.

    Args:
        data: questions and documents.
        protocol: name of the protocol.
        max_turns: the protocol's budget of generations, changed.
        retriever: spec of the retriever.
        ocr: read what has no text layer by OCR.
        limit: at most so many questions, in order; the denominator of what is reported.
        ids: only these question ids, a list or words with commas between them.
        strict: questions without their document count as unscored.
        seed: sample i of a question is asked for with `seed + i`; no seed is sent by default.
        scorer: canonical name of a scorer; the benchmark's official one by default.
        threshold: above what a graded score counts as correct.
        actions: how the model writes actions; the protocol's own format by default.
        pages: what the model sees of a page.
        images_kept: page images that stay in the conversation, the newest; all by default.
        max_image_pixels: pages are made smaller until width × height is at most this.

    Raises:
        UserError: the data or the configuration cannot be used.
    """
    run = RunConfig(
        data=data,
        policy=RoleSpec(backend=BACKEND),
        protocol=named_protocol(protocol, max_turns=max_turns),
        retriever=retriever,
        ocr=ocr,
        limit=limit,
        ids=tuple(ids.split(",") if isinstance(ids, str) and ids else ids),
        strict=strict,
        seed=seed or 0,
    )
    options = {
        "send_seed": seed is not None,
        "actions": actions,
        "pages": pages,
        "images_kept": images_kept,
        "max_image_pixels": max_image_pixels,
    }
    options = {name: value for name, value in options.items() if value is not None}
    chat = ChatOptions.of("policy", RoleSpec(backend=BACKEND, options=options))
    world = _world(msgspec.json.encode(run))
    selected = select(world.questions, world.config)
    rule = get_scorer(scorer or default_scorer(selected[0].benchmark)).name
    samples = [_sample(world, question) for question in selected]
    return Task(
        dataset=MemoryDataset(samples, name=selected[0].benchmark),
        solver=looseleaf_agent(run=msgspec.to_builtins(run), options=options),
        scorer=looseleaf_scorer(rule, threshold, has_memory=run.protocol.memory != "none"),
        config=GenerateConfig(temperature=0.0, max_tokens=chat.max_tokens),
        version=__version__,
        metadata={"run": run.as_tables(), "data": world.questions.describe()},
    )


def _sample(world: _World, question: Question) -> Sample:
    config = world.config
    return Sample(
        id=question.question_id,
        input=question.question,
        target=[str(reference) for reference in question.references] or "",
        metadata={
            **msgspec.to_builtins(question),
            "document_missing": question.doc_id not in world.questions.documents,
            "settings": {
                "protocol": config.protocol.name,
                "retriever": config.retriever_name,
                "ocr": config.ocr,
                "oracle": {"gold_pages": True} if config.is_ep_given else dict(world.questions.oracle),
            },
        },
    )


def _from_command_line(data: DataConfig, settings: dict[str, Any]) -> Task:
    """`make_task` with what a user wrote; mistakes are one sentence of Inspect's, not a traceback."""
    known = [name for name in inspect.signature(make_task).parameters if name != "data"]
    unknown = [name for name in settings if name not in known]
    try:
        if unknown:
            raise ConfigError(f"The task has no argument {unknown[0]!r}; it has {', '.join(known)}.")
        return make_task(data, **settings)
    except (UserError, msgspec.ValidationError) as problem:
        raise PrerequisiteError(f"looseleaf: {problem}") from problem


def _benchmark_task(name: str) -> Callable[..., Task]:
    """The task of a benchmark, named as Python names are."""

    def build(data: str, window: str | None = None, overlay: str | None = None, **settings: Any) -> Task:
        loading = {"pages": window, "overlay": overlay}
        options = {option: value for option, value in loading.items() if value is not None}
        return _from_command_line(DataConfig(benchmark=name, path=str(data), options=options), settings)

    build.__name__ = build.__qualname__ = name.replace("-", "_")
    build.__doc__ = f"""{name}.

    Args:
        data: the benchmark's data folder.
        window: page window of the official input, e.g. `official-30` of LongDocURL (an oracle setting).
        overlay: file with corrections of the annotations.
        settings: those of `make_task`.
    """
    return task(build)


mmlongbench_doc = _benchmark_task("mmlongbench-doc")
longdocurl = _benchmark_task("longdocurl")
papertab = _benchmark_task("papertab")
papertext = _benchmark_task("papertext")
fetatab = _benchmark_task("fetatab")
dude = _benchmark_task("dude")
dude_sub = _benchmark_task("dude-sub")
procedural = _benchmark_task("procedural")


@task
def own_questions(questions: str, docs: str, **settings: Any) -> Task:
    """One's own questions, as JSON lines, over a folder of documents.

    Args:
        questions: the file.
        docs: the folder.
        settings: those of `make_task`.
    """
    return _from_command_line(DataConfig(benchmark=str(questions), path=str(docs)), settings)
