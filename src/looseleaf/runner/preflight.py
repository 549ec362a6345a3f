"""Preflight of a configured run: its size from the data, then its servers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

import msgspec

from looseleaf.benchmarks import QuestionSet
from looseleaf.document import Document, PageStore, default_store
from looseleaf.document.facts import DEFAULT_DPI
from looseleaf.errors import DocumentError
from looseleaf.models.preflight import PreflightReport, RunPlan, preflight
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleName, RoleSpec
from looseleaf.question import Question
from looseleaf.runner.config import RunConfig, ScoreConfig
from looseleaf.runner.library import Library
from looseleaf.runner.selection import load_data, select
from looseleaf.runstore import Run
from looseleaf.scoring.drift import drift_items
from looseleaf.scoring.registry import JudgeScorer, default_scorer, get_scorer

__all__ = ["plan_of", "preflight_run"]

MEASURED = 3
"""Documents that are opened to learn how long and how large they are."""
POINTS_PER_INCH = 72


def preflight_run(
    config: RunConfig,
    score: ScoreConfig | None = None,
    *,
    run: Run | None = None,
    store: PageStore | None = None,
) -> PreflightReport:
    """Probe the servers of a run and of its scoring, and estimate what they will take.

    Args:
        config: of the run.
        score: of the scoring that follows, if any.
        run: the RUN to be continued; what it has finished is not counted again.
        store: page store; the process-wide one by default.

    Raises:
        UserError: the data cannot be used, or a server, key, model or setting cannot work; nothing was started.
    """
    roles = _roles(config, score)
    if not any(spec.backend in CHAT_BACKENDS for _, spec in roles):
        return PreflightReport()
    question_set = load_data(config.data)
    selected = select(question_set, config)
    library = Library(question_set, config.retriever_in_force, store or default_store(), ocr=config.ocr)
    plan = plan_of(config, selected, question_set, library, run, len(score.readers) if score else 0)
    return preflight(roles, _with_scoring(plan, score, config.data.benchmark))


def _with_scoring(plan: RunPlan, score: ScoreConfig | None, benchmark: str) -> RunPlan:
    """The plan with what the scoring asks besides one extraction of every response."""
    if score is None:
        return plan
    scorers = [get_scorer(name or default_scorer(benchmark)) for name in score.scorers]
    return msgspec.structs.replace(
        plan,
        judgings=sum(isinstance(scorer, JudgeScorer) for scorer in scorers),
        replayed=len(drift_items()) if score.drift else 0,
    )


def _roles(config: RunConfig, score: ScoreConfig | None) -> list[tuple[RoleName, RoleSpec]]:
    roles: list[tuple[RoleName, RoleSpec]] = [("policy", config.policy)]
    if score is not None:
        roles += [("reader", reader) for reader in score.readers]
        roles += [("extractor", score.extractor), ("judge", score.judge)]
    return roles


def plan_of(
    config: RunConfig,
    selected: Sequence[Question],
    question_set: QuestionSet,
    library: Library,
    run: Run | None = None,
    readers: int = 1,
) -> RunPlan:
    """How large a run is: what is left of it, and the size of its first documents.

    Args:
        config: of the run.
        selected: its questions.
        question_set: where they come from.
        library: opens their documents.
        run: the RUN to be continued.
        readers: readers that will answer from the memories.
    """
    done = run.trajectories() if run is not None else {}
    finished = {name for name, found in done.items() if not found.stop_reason.is_fault}
    jobs = (f"{question.question_id}#{sample}" for question in selected for sample in range(config.samples))
    left = math.ceil(sum(job not in finished for job in jobs) / config.samples)
    usual = RunPlan(
        questions=left,
        samples=config.samples,
        protocol=config.protocol,
        readers=readers,
        concurrency=config.concurrency,
    )
    opened = list(_opened(selected, question_set, library))
    if not opened:
        return usual
    scale = DEFAULT_DPI / POINTS_PER_INCH
    sizes = [document.page_size(1) for document in opened]
    texts = [len(text) for document in opened for text in document.texts()]
    return msgspec.structs.replace(
        usual,
        pages=round(statistics.mean(document.page_count for document in opened)),
        page_size=(
            max(1, round(scale * statistics.mean(width for width, _ in sizes))),
            max(1, round(scale * statistics.mean(height for _, height in sizes))),
        ),
        page_characters=round(statistics.mean(texts)),
    )


def _opened(selected: Sequence[Question], question_set: QuestionSet, library: Library) -> Iterator[Document]:
    """The first few documents that can be opened."""
    first = {question.doc_id: question for question in selected if question.doc_id in question_set.documents}
    for question in list(first.values())[:MEASURED]:
        try:
            yield library.open(question).document
        except DocumentError:
            continue
