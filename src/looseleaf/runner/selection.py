"""Which questions a run has: the denominator of every result."""

from __future__ import annotations

from pathlib import Path

from looseleaf.benchmarks import QuestionSet, load_benchmark, load_questions
from looseleaf.errors import ConfigError
from looseleaf.question import Question
from looseleaf.runner.config import DataConfig, RunConfig

__all__ = ["has_gold_pages", "load_data", "select"]


def load_data(config: DataConfig) -> QuestionSet:
    """The questions and documents of a data configuration.

    Raises:
        UserError: they cannot be used.
    """
    own = Path(config.benchmark)
    if own.suffix in {".jsonl", ".json"}:
        return load_questions(own, Path(config.path))
    return load_benchmark(config.benchmark, Path(config.path), **config.options)


def select(question_set: QuestionSet, config: RunConfig) -> list[Question]:
    """The selected questions, in order: the denominator of every result.

    Raises:
        ConfigError: an id is unknown, or nothing is left.
    """
    pool = question_set.questions if config.strict else question_set.runnable
    if config.is_ep_given:
        pool = tuple(question for question in pool if has_gold_pages(question))
    if config.ids:
        by_id = {name: question for question in pool for name in (question.question_id, question.native_id)}
        unknown = [wanted for wanted in config.ids if wanted not in by_id]
        if unknown:
            raise ConfigError(f"There is no question {unknown[0]!r} with a document here; check --ids.")
        chosen = {by_id[wanted].question_id for wanted in config.ids}
        pool = tuple(question for question in pool if question.question_id in chosen)
    selected = list(pool if config.limit is None else pool[: config.limit])
    if not selected:
        raise ConfigError("No question is left to run; check --limit and --ids.")
    return selected


def has_gold_pages(question: Question) -> bool:
    """Whether EP-given can be run on the question: on answerable rows only, as in AWM (arXiv 2608.25618)."""
    return bool(question.evidence_pages) and not question.unanswerable
