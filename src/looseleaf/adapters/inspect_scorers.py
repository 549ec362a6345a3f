"""Our scorers as one Inspect scorer with two values, `answer` and `memory`, and our metrics as Inspect metrics.

Standard errors take documents as clusters; slices by evidence source overlap, since a question may have several. Rows
without a value are left out of metrics by Inspect and counted apart.
"""

from __future__ import annotations

from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, Value, mean, metric, scorer, stderr
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import TaskState

from looseleaf.adapters.inspect_model import InspectClient, as_client, model_of_role
from looseleaf.adapters.inspect_score import (
    SCORE_NAME,
    TRAJECTORY_KEY,
    inspect_score,
    question_of,
    trajectory_of,
)
from looseleaf.adapters.judging import judge_trajectory
from looseleaf.metrics.row import Row
from looseleaf.metrics.sources import source_names
from looseleaf.metrics.table import evaluate_rows
from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.text_roles import ChatExtractor, ChatJudge, ChatReader
from looseleaf.models.embedded import EmbeddedReader
from looseleaf.models.role_spec import RoleName, RoleSpec
from looseleaf.roles import Extractor, Judge, Reader
from looseleaf.runner.scorers import rule_named
from looseleaf.score import Score
from looseleaf.scoring.extraction import RuleExtractor
from looseleaf.scoring.thresholds import threshold_named
from looseleaf.statistics import Clusters
from looseleaf.statistics.ratio import linearised_error

__all__ = [
    "by_source",
    "looseleaf_scorer",
    "outcome",
]

OUTCOME_METRICS = ("P_mmc[answerable]", "P_mmc", "Cell11", "Cell10", "Cell01", "Cell00", "Gap")
"""Our metrics of the two scores together, by their canonical names (`looseleaf.metrics`)."""
MIN_CLUSTERS = 2
"""Fewest documents that give a standard error."""


# -- metrics ---------------------------------------------------------------------------------------------------


@metric
def by_source() -> Metric:
    """Mean and document-clustered standard error for each evidence source; a question counts in each of its own."""

    def measure(scores: list[SampleScore]) -> Value:
        parts: dict[str, list[SampleScore]] = {}
        for score in scores:
            question = question_of(score.sample_metadata or {})
            for source in source_names(question) if question.sources else ():
                parts.setdefault(str(source), []).append(score)
        return {name: number for source in sorted(parts) for name, number in _slice(source, parts[source])}

    return measure


def _slice(source: str, scores: list[SampleScore]) -> list[tuple[str, float]]:
    values = [score.score.as_float() for score in scores]
    documents = Clusters([(score.sample_metadata or {})["doc_id"] for score in scores])
    entries = [(source, sum(values) / len(values))]
    if len(documents) >= MIN_CLUSTERS:
        error = linearised_error(documents.sums(values), documents.sums([1.0] * len(values)))
        entries.append((f"{source} stderr", error))
    return entries


@metric(scores="unreduced")
def outcome() -> Metric:
    """`OUTCOME_METRICS` over the rows that have both scores; every epoch is a row, as every sample is in a run."""

    def measure(scores: list[SampleScore]) -> Value:
        rows = [row for score in scores if (row := _row(score)) is not None]
        values = evaluate_rows(rows, OUTCOME_METRICS).values
        return {name: found.value for name, found in values.items() if found.value is not None}

    return measure


def _row(score: SampleScore) -> Row | None:
    kept = score.score.metadata or {}
    answer = kept.get("scores", {}).get("answer", {}).get("value")
    if answer is None:
        return None
    return Row(
        question=question_of(score.sample_metadata or {}),
        trajectory=None,
        answer=Score(value=answer),
        memory=Score(value=score.score.as_float()),
        threshold=kept["settings"]["threshold"],
    )


# -- the scorer ------------------------------------------------------------------------------------------------


@scorer(
    metrics={"*": [mean(), stderr(cluster="doc_id"), by_source()], "memory": [outcome()]}, name=SCORE_NAME
)
def looseleaf_scorer(scorer: str = "", threshold: str = ">0", has_memory: bool = True) -> Scorer:
    """Scores the final answer, and what a reader answers from the terminal memory alone.

    The reader, the extractor and the judge are the models bound to the roles `reader`, `extractor` and `judge`; the
    embedded reader and extractor where none is bound.

    Args:
        scorer: canonical name of a scorer; the benchmark's official one by default.
        threshold: above what a graded score counts as correct in the outcome cell.
        has_memory: whether the protocol has a memory to be read.

    Raises:
        ConfigError: there is no such scorer or threshold, or the scorer needs a judge and none is bound.
    """
    threshold_named(threshold)

    async def score(state: TaskState, target: Target) -> InspectScore:
        question = question_of(state.metadata)
        trajectory = trajectory_of(state.store.get(TRAJECTORY_KEY))
        rule = rule_named(scorer, question.benchmark, _judge())
        reader, extractor = _reader(), _extractor()
        judged = await judge_trajectory(
            question,
            trajectory,
            rule,
            reader=reader if has_memory else None,
            extractor=extractor,
            sample_index=state.epoch - 1,
            missing=state.metadata.get("document_missing", False),
        )
        settings = state.metadata.get("settings", {}) | {
            "scorer": rule.name,
            "reader": _name("reader") if has_memory else None,
            "extractor": _name("extractor") if rule.wants_extraction else None,
            "judge": _name("judge", "none"),
        }
        return inspect_score(
            question, trajectory, judged, has_memory=has_memory, threshold=threshold, settings=settings
        )

    return score


def _reader() -> Reader:
    client = _client("reader")
    return EmbeddedReader() if client is None else ChatReader(client)


def _extractor() -> Extractor:
    client = _client("extractor")
    return RuleExtractor() if client is None else ChatExtractor(client)


def _judge() -> Judge | None:
    client = _client("judge")
    return None if client is None else ChatJudge(client)


def _client(role: RoleName) -> ChatClient | None:
    """A client of the model that is bound to a role; its own settings win over the role's usual ones."""
    model = model_of_role(role)
    if model is None:
        return None
    options = ChatOptions.of(role, RoleSpec(backend="inspect", argument=model.name))
    usual = GenerateConfig(temperature=0.0, max_tokens=options.max_tokens)
    return as_client(InspectClient(model, options, config=usual.merge(model.config)))


def _name(role: RoleName, default: str = "embedded") -> str:
    model = model_of_role(role)
    return default if model is None else f"inspect:{model}"
