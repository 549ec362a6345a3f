"""Inspect AI: every benchmark as a task, our environment as the solver, our scorers and metrics.

The entry point `inspect_ai` of the package names this module, so that tasks are found by name:

    inspect eval looseleaf/mmlongbench_doc --model openai/MODEL -T data=DIR

Roles: `--model` acts; `--model-role reader=…`, `extractor=…` and `judge=…` read, extract and judge, and the embedded
reader and extractor do where none is bound.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, cast

import msgspec
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig

from looseleaf import __version__
from looseleaf.adapters.inspect_scorers import looseleaf_scorer
from looseleaf.adapters.inspect_solver import BACKEND, World, looseleaf_agent, open_world
from looseleaf.errors import ConfigError, UserError
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import named_protocol
from looseleaf.question import Question
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runner.selection import select
from looseleaf.scoring.registry import default_scorer, get_scorer

__all__ = [
    "dude",
    "dude_sub",
    "fetatab",
    "longdocurl",
    "make_task",
    "mmlongbench_doc",
    "own_questions",
    "papertab",
    "papertext",
    "procedural",
]


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
    world = open_world(msgspec.json.encode(run))
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


def _sample(world: World, question: Question) -> Sample:
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


def _words(loading: str) -> dict[str, str]:
    """`NAME=VALUE; NAME=VALUE` as a table; a word without a value has an empty one, which is left out."""
    pairs = (word.partition("=") for word in str(loading).split(";"))
    return {option.strip(): value.strip() for option, _, value in pairs if option.strip()}


def _benchmark_task(name: str) -> Callable[..., Task]:
    """The task of a benchmark, named as Python names are."""

    def build(data: str, window: str = "", overlay: str = "", loading: str = "", **settings: Any) -> Task:
        options = {"pages": window, "overlay": overlay, **_words(loading)}
        options = {option: value for option, value in options.items() if value}
        return _from_command_line(DataConfig(benchmark=name, path=str(data), options=options), settings)

    build.__name__ = build.__qualname__ = name.replace("-", "_")
    build.__doc__ = f"""{name}.

    Args:
        data: the benchmark's data folder.
        window: page window of the official input, e.g. `official-30` of LongDocURL (an oracle setting).
        overlay: file with corrections of the annotations.
        loading: further options of the benchmark's loader, `NAME=VALUE` with semicolons between them.
        settings: those of `make_task`.
    """
    return cast(Callable[..., Task], task(build))


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
