"""`looseleaf export inspect`: a stored run as a log that `inspect view` shows.

Messages are the conversation that our own client would have sent, rebuilt from the trajectories. Pages are named by
document and number; on request they are rendered from the documents and put into the log as images. Every sample also
holds its trajectory as the run has it, so that nothing is lost on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from looseleaf import __version__
from looseleaf.adapters.exporter import Exporter
from looseleaf.adapters.inspect_conversation import conversation_of
from looseleaf.adapters.inspect_source import StoredRun
from looseleaf.errors import ConfigError, RunError
from looseleaf.question import Question
from looseleaf.runstore import Run
from looseleaf.trajectory import StopReason, Trajectory

if TYPE_CHECKING:
    from inspect_ai.log import EvalError, EvalLog, EvalSample, EvalSampleLimit, EvalSpec
    from inspect_ai.model import ModelUsage

__all__ = ["INSPECT", "export_inspect"]

YES = frozenset({"", "1", "true", "yes"})
"""Values that switch an option on, in lower case; given without a value it is on."""
FILE_FORMATS = (".eval", ".json")
"""Formats of Inspect's logs, by how their names end."""
LOG_VERSION = 2
"""Version of Inspect's log format (`EvalLog.version` of inspect_ai 0.3.285)."""
METRICS = {
    "*": [
        {"name": "inspect_ai/mean", "options": {}},
        {"name": "inspect_ai/stderr", "options": {"cluster": "doc_id"}},
        {"name": "looseleaf/by_source", "options": {}},
    ],
    "memory": [{"name": "looseleaf/outcome", "options": {}}],
}
"""Metrics of our scorer as Inspect records them in a log, from which it computes them."""


def export_inspect(folder: Path, out: Path, options: Mapping[str, str]) -> list[str]:
    """Write a scored run as an Inspect log.

    Args:
        folder: the RUN.
        out: the log, `*.eval` or `*.json`.
        options: see `INSPECT.options`.

    Returns:
        Lines that say what was written.

    Raises:
        RunError: the run cannot be read or is not scored, or the log cannot be written.
        ConfigError: the log has no usable name, or pages were asked for and the documents are not there.
    """
    from inspect_ai.log import write_eval_log

    if out.suffix not in FILE_FORMATS:
        raise ConfigError(f"The log {out} must end in {' or '.join(FILE_FORMATS)}; give it such a name.")
    pages = options.get("pages", "no").lower() in YES
    source = StoredRun(
        Run.open(folder),
        options.get("score"),
        options.get("reading"),
        options.get("data", ""),
        options.get("ids", ""),
    )
    if pages:
        source.documents.require("An export with pages")
    log = asyncio.run(_log(source, pages=pages))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_eval_log(log, str(out))
    except OSError as problem:
        raise RunError(f"{out} cannot be written ({problem.strerror}); choose another --out.") from problem
    lines = [
        f"{len(log.samples or [])} samples: {out}. Look at them with: inspect view --log-dir {out.parent}"
    ]
    if pages and source.documents.changed:
        lines.append(f"Without images, since they have changed: {', '.join(source.documents.changed)}.")
    return lines


INSPECT = Exporter(
    name="inspect",
    title="an Inspect AI log (.eval or .json), for `inspect view`",
    write=export_inspect,
    options={
        "pages": "yes puts page images into the log, rendered from the documents",
        "ids": "only these questions, with commas between them; pages take about 0.4 MB each",
        "data": "folder of the documents, where it is not the run's own",
        "score": "ledger of scores; the last scoring's by default",
        "reading": "ledger of readings; the last scoring's by default",
    },
    needs="inspect_ai",
    extra="inspect",
)


async def _log(source: StoredRun, *, pages: bool) -> EvalLog:
    """The log, with the metrics that Inspect computes from it by our definitions."""
    from inspect_ai.log import EvalLog, EvalPlan, EvalPlanStep, EvalStats, recompute_metrics

    import looseleaf.adapters.inspect_scorers  # noqa: F401  (registers the metrics)

    samples = [await _sample(source, key, question, pages) for key, question in source.questions.items()]
    created = _created(source.run)
    log = EvalLog(
        version=LOG_VERSION,
        status="success",
        eval=_spec(source, created),
        plan=EvalPlan(steps=[EvalPlanStep(solver="looseleaf", params=source.run.config)]),
        stats=EvalStats(started_at=created, completed_at=created),
        samples=samples,
    )
    recompute_metrics(log)
    return log


def _spec(source: StoredRun, created: str) -> EvalSpec:
    from inspect_ai.log import EvalSpec

    from looseleaf.adapters.inspect_score import SCORE_NAME

    questions = {question.question_id: question for question in source.questions.values()}
    benchmark = next(iter(questions.values())).benchmark
    run_id = str(source.run.manifest.get("run_id", source.run.path.name))
    options = {
        "scorer": source.settings["scorer"] or "",
        "threshold": source.threshold,
        "has_memory": source.reading_id is not None,
    }
    return EvalSpec.model_validate(
        {
            "run_id": run_id,
            "created": created,
            "task": f"looseleaf/{benchmark.replace('-', '_')}",
            "task_id": run_id,
            "task_version": __version__,
            "dataset": {
                "name": benchmark,
                "location": source.run.config.get("data", {}).get("path"),
                "samples": len(questions),
                "sample_ids": list(questions),
            },
            "model": _model(source),
            "model_base_url": source.policy.options.get("base_url"),
            "config": {"epochs": max(1, len(source.questions) // len(questions))},
            "packages": {"looseleaf": __version__, "inspect_ai": metadata.version("inspect_ai")},
            "metadata": {"run": source.run.config, "manifest": source.run.manifest},
            "scorers": [{"name": SCORE_NAME, "options": options, "metrics": METRICS}],
        }
    )


def _model(source: StoredRun) -> str:
    """The policy as a model that Inspect knows: by its name on a server, and as none of Inspect's where it is none.

    `none` is Inspect's provider that never generates, so a log under it can be scored again without a model.
    """
    policy = source.policy
    return f"openai/{policy.argument}" if policy.backend == "openai" else f"none/{policy.name}"


def _created(run: Run) -> str:
    """When the run was last written to, since a run keeps no clock."""
    written = run.trajectory_ledger.path if run.trajectory_ledger.path.exists() else run.path
    return datetime.fromtimestamp(written.stat().st_mtime, UTC).isoformat()


async def _sample(source: StoredRun, trajectory_id: str, question: Question, pages: bool) -> EvalSample:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    from looseleaf.adapters.inspect_model import inspect_messages
    from looseleaf.adapters.inspect_score import SCORE_NAME, TRAJECTORY_KEY, inspect_score

    trajectory = source.trajectories.get(trajectory_id)
    score = inspect_score(
        question,
        trajectory,
        source.judged(trajectory_id),
        has_memory=source.reading_id is not None,
        threshold=source.threshold,
        settings=source.settings | {"oracle": {} if trajectory is None else trajectory.oracle},
    )
    sample = EvalSample(
        id=question.question_id,
        epoch=int(trajectory_id.rpartition("#")[2]) + 1,
        input=question.question,
        target=[str(reference) for reference in question.references] or "",
        metadata={**msgspec.to_builtins(question), "settings": source.settings},
        scores={SCORE_NAME: score},
    )
    if trajectory is not None:
        document = source.document(question, trajectory)
        messages = await conversation_of(source, trajectory, document, pages=pages)
        sample.messages = inspect_messages(messages)
        sample.output = ModelOutput.from_content(_model(source), trajectory.answer or "")
        sample.store = {TRAJECTORY_KEY: msgspec.to_builtins(trajectory)}
        sample.total_time = trajectory.seconds
        sample.turn_count = trajectory.turns
        sample.model_usage = {_model(source): _usage(trajectory)}
        sample.error = _error(trajectory)
        sample.limit = _limit(trajectory, source)
    return sample


def _usage(trajectory: Trajectory) -> ModelUsage:
    from inspect_ai.model import ModelUsage

    used = trajectory.usage
    return ModelUsage(
        input_tokens=used.prompt_tokens,
        output_tokens=used.completion_tokens,
        total_tokens=used.prompt_tokens + used.completion_tokens,
        total_cost=used.cost,
    )


def _error(trajectory: Trajectory) -> EvalError | None:
    """The fault that ended the trajectory, which Inspect shows as an error of the sample."""
    from inspect_ai.log import EvalError

    if not trajectory.stop_reason.is_fault:
        return None
    return EvalError(
        message=f"{trajectory.stop_reason}: {trajectory.error or ''}", traceback="", traceback_ansi=""
    )


def _limit(trajectory: Trajectory, source: StoredRun) -> EvalSampleLimit | None:
    """The budget of turns, where it ended the trajectory."""
    from inspect_ai.log import EvalSampleLimit

    if trajectory.stop_reason is not StopReason.TURN_LIMIT or source.protocol is None:
        return None
    return EvalSampleLimit(type="turn", limit=source.protocol.max_turns)
