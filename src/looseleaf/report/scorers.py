"""Several scorers of one run side by side: scorer × {answer, memory}, and upstream's own convention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from looseleaf.errors import RunError
from looseleaf.metrics import MetricValue, Row, evaluate_rows
from looseleaf.report.blocks import Block
from looseleaf.report.cells import interval_text, scored_text, value_text
from looseleaf.report.marks import EXTRACTOR_MARK, READER_MARK, backend_of, marks_of
from looseleaf.runstore import Run

__all__ = [
    "TARGETS",
    "ScorerLine",
    "chosen_scores",
    "has_pipeline",
    "prediction_of",
    "scorer_lines",
    "scorers_block",
    "short_names",
    "upstream_of",
]

TARGETS = {"answer": "Acc", "memory": "MemAcc"}
"""What is scored, with the metric that is its mean score."""


class ScorerLine(msgspec.Struct, frozen=True, kw_only=True):
    """One scorer on final answers or on readings from memory.

    Attributes:
        score_id: ledger of the scores.
        scorer: canonical name.
        target: `answer` or `memory`.
        extractor: who extracted, or `none`.
        judge: who judged, or `none`.
        mean: mean score with n_scored, n, bounds and interval.
        upstream: mean of what upstream's code would have recorded, failures as 0; `None` where the scorer has no
            upstream pipeline.
        marks: signs of what the number must be marked with.
    """

    score_id: str
    scorer: str
    target: str
    extractor: str
    judge: str
    mean: MetricValue
    upstream: float | None
    marks: str


def chosen_scores(run: Run, wanted: Sequence[str]) -> list[str]:
    """Ledgers of scores by id or by the name of a scorer, or those of the last scoring where nothing is asked for.

    Raises:
        RunError: there is no such ledger, or a scorer has several.
    """
    if not wanted:
        last = run.manifest.get("score", {})
        ids = (last.get("score_id"), *last.get("also", []))
        return list(dict.fromkeys(score_id for score_id in ids if score_id))
    return list(dict.fromkeys(_chosen(run, name) for name in wanted))


def _chosen(run: Run, name: str) -> str:
    sidecars = run.sidecars("scores")
    if name in sidecars:
        return name
    found = [score_id for score_id, config in sidecars.items() if config.get("scorer") == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        raise RunError(
            f"{run.path} has several ledgers of {name}; choose one of {', '.join(found)} with --score."
        )
    raise RunError(f"{run.path} has no scores {name!r}; make them with `looseleaf score {run.path}`.")


def scorer_lines(run: Run, rows: Mapping[str, Sequence[Row]], reading_id: str | None) -> list[ScorerLine]:
    """One line for each scorer and target.

    Args:
        run: the run.
        rows: its rows under each ledger of scores.
        reading_id: reader whose readings from the terminal memories are meant, or `None`.
    """
    return [line for score_id, found in rows.items() for line in _lines(run, score_id, reading_id, found)]


def _lines(run: Run, score_id: str, reading_id: str | None, rows: Sequence[Row]) -> list[ScorerLine]:
    config = run.sidecars("scores").get(score_id, {})
    extraction = run.sidecars("extractions").get(str(config.get("extraction_id") or ""), {})
    signs = marks_of(run, score_id, reading_id)
    means = evaluate_rows(rows, TARGETS.values())
    targets = TARGETS if reading_id is not None else {"answer": "Acc"}
    return [
        ScorerLine(
            score_id=score_id,
            scorer=str(config.get("scorer", score_id)),
            target=target,
            extractor=_role(extraction.get("extractor")),
            judge=_role(config.get("judge")),
            mean=means[metric],
            upstream=_upstream_mean(rows, target),
            marks="".join(sign for sign in signs if sign != READER_MARK or target == "memory"),
        )
        for target, metric in targets.items()
    ]


def _role(spec: dict[str, object] | None) -> str:
    argument = spec.get("argument") if spec else None
    return f"{backend_of(spec)}:{argument}" if argument else backend_of(spec) or "none"


def has_pipeline(rows: Iterable[Row], target: str) -> bool:
    """Whether the scorer of the rows has an upstream pipeline, which would have recorded something."""
    return any(upstream_of(row, target) is not None and prediction_of(row, target) for row in rows)


def upstream_of(row: Row, target: str) -> float | None:
    """What upstream's code would have recorded for the answer or for the memory's answer; `None` counts as 0."""
    return row.memory_upstream if target == "memory" else row.upstream


def prediction_of(row: Row, target: str) -> str:
    """The short answer that was scored, of the answer or of the reading from memory."""
    return row.reading if target == "memory" else row.prediction


def _upstream_mean(rows: Sequence[Row], target: str) -> float | None:
    n = sum(bool(row.question.references) for row in rows)
    if n == 0 or not has_pipeline(rows, target):
        return None
    return sum(upstream_of(row, target) or 0.0 for row in rows) / n


def scorers_block(lines: Sequence[ScorerLine], marks: Mapping[str, str]) -> Block:
    """The table. A failed extraction or judgement is unscored in the mean and 0 in the column of upstream."""
    several = len({line.score_id for line in lines}) > 1
    return Block(
        title="Scorers side by side",
        head=("scorer", "of", "mean", "95 % interval", "n", "upstream", "extractor", "judge"),
        rows=tuple(_cells(line) for line in lines),
        sentences=(
            "upstream: mean of what the benchmark's own code would have recorded, every failure as 0; – where there is "
            "no such code.",
            *(f"{sign} {meaning}" for sign, meaning in marks.items()),
        ),
        brief=several,
    )


def _cells(line: ScorerLine) -> tuple[str, ...]:
    sign = EXTRACTOR_MARK * (EXTRACTOR_MARK in line.marks)
    return (
        f"{line.scorer} {line.marks}".rstrip(),
        line.target,
        value_text(line.mean),
        interval_text(line.mean),
        scored_text(line.mean),
        "–" if line.upstream is None else f"{100 * line.upstream:.1f} {sign}".rstrip(),
        line.extractor,
        line.judge,
    )


def short_names(run: Run, score_ids: Sequence[str]) -> dict[str, str]:
    """Names for column heads: the scorer's, or the ledger's where two ledgers have one scorer."""
    names = {
        score_id: str(run.sidecars("scores").get(score_id, {}).get("scorer", score_id))
        for score_id in score_ids
    }
    taken = list(names.values())
    return {score_id: name if taken.count(name) == 1 else score_id for score_id, name in names.items()}
