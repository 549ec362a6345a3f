"""Where two scorers of one run agree, where not, and on which rows the official and the safe rule differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from looseleaf.lab.robustness import cohens_kappa
from looseleaf.metrics import Row
from looseleaf.report.blocks import Block
from looseleaf.score import Score
from looseleaf.scoring.comparison import differences
from looseleaf.scoring.registry import SCORERS, Scorer
from looseleaf.scoring.thresholds import THRESHOLDS, binarise

__all__ = [
    "Disagreement",
    "SafeDifference",
    "SafeDifferences",
    "ScorerAgreement",
    "agreement_blocks",
    "safe_block",
    "safe_differences",
    "scorer_agreements",
]

SHOWN = 50
"""Rows of a list that the Markdown report shows; the JSON report has all."""
TEXT_SHOWN = 80
"""Characters of a prediction or gold answer in a table."""
MEMORY = "memory"


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """One row that is correct for one scorer only.

    Attributes:
        question_id: which question.
        trajectory_id: which sample of it.
        gold: the gold answer.
        predictions: what each scorer scored; a judge gets the response, a rule the short answer in it.
        values: both scores.
    """

    question_id: str
    trajectory_id: str
    gold: str
    predictions: tuple[str, str]
    values: tuple[float, float]


class ScorerAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Two scorers on the same rows under one threshold.

    Attributes:
        first: name of one scorer.
        second: name of the other.
        target: `answer` or `memory`.
        threshold: name of the binarisation.
        n_rows: rows of the target.
        n: rows that both have scored.
        both: rows that are correct for both.
        only_first: rows that are correct for the first only.
        only_second: likewise.
        neither: rows that are wrong for both.
        kappa: Cohen's κ; `None` where chance agreement is 1.
        disagreements: rows that are correct for one only, under the threshold in force; empty for the others.
    """

    first: str
    second: str
    target: str
    threshold: str
    n_rows: int
    n: int
    both: int
    only_first: int
    only_second: int
    neither: int
    kappa: float | None
    disagreements: list[Disagreement] = []


class SafeDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One row that the official and the safe rule of a benchmark score differently.

    Attributes:
        question_id: which question.
        trajectory_id: which sample of it.
        target: `answer` or `memory`.
        answer_format: the source's label.
        gold: the gold answer.
        prediction: the short answer.
        official: the official score.
        upstream_raises: exception that escapes the official function.
        safe: the safe score.
    """

    question_id: str
    trajectory_id: str
    target: str
    answer_format: str
    gold: str
    prediction: str
    official: float | None
    upstream_raises: str | None
    safe: float | None


class SafeDifferences(msgspec.Struct, frozen=True, kw_only=True):
    """Official against safe rule on the short answers of one run.

    Attributes:
        official: name of the official scorer.
        sign: mark that its numbers carry.
        n: short answers that were compared.
        rows: those that are scored differently.
    """

    official: str
    sign: str
    n: int
    rows: list[SafeDifference]


def scorer_agreements(
    rows: Mapping[str, Sequence[Row]], targets: Sequence[str], threshold: str
) -> list[ScorerAgreement]:
    """Every pair of scorers, every target, every named threshold.

    Args:
        rows: rows under each scorer by its name, all in the same order.
        targets: `answer`, and `memory` where there are readings.
        threshold: the one in force, whose disagreements are listed.
    """
    wanted = threshold.replace(" ", "")
    return [
        _agreement((a, b), list(zip(rows[a], rows[b], strict=True)), target, name, listed=name == wanted)
        for a, b in combinations(rows, 2)
        for target in targets
        for name in THRESHOLDS
    ]


def _agreement(
    names: tuple[str, str], pairs: Sequence[tuple[Row, Row]], target: str, threshold: str, *, listed: bool
) -> ScorerAgreement:
    scored = [
        (a, b, (x, y))
        for a, b in pairs
        if (x := _value(a, target)) is not None and (y := _value(b, target)) is not None
    ]
    verdicts = [(binarise(x, threshold), binarise(y, threshold)) for _, _, (x, y) in scored]
    return ScorerAgreement(
        first=names[0],
        second=names[1],
        target=target,
        threshold=threshold,
        n_rows=sum(_score(a, target) is not None for a, _ in pairs),
        n=len(scored),
        both=verdicts.count((True, True)),
        only_first=verdicts.count((True, False)),
        only_second=verdicts.count((False, True)),
        neither=verdicts.count((False, False)),
        kappa=cohens_kappa(verdicts),
        disagreements=[
            _disagreement(a, b, values, target)
            for (a, b, values), (x, y) in zip(scored, verdicts, strict=True)
            if listed and x != y
        ],
    )


def _score(row: Row, target: str) -> Score | None:
    return row.memory if target == MEMORY else row.answer


def _value(row: Row, target: str) -> float | None:
    score = _score(row, target)
    return None if score is None else score.value


def _prediction(row: Row, target: str) -> str:
    return row.reading if target == MEMORY else row.prediction


def _disagreement(a: Row, b: Row, values: tuple[float, float], target: str) -> Disagreement:
    return Disagreement(
        question_id=a.question.question_id,
        trajectory_id=a.key,
        gold=gold_text(a),
        predictions=(_prediction(a, target), _prediction(b, target)),
        values=values,
    )


def gold_text(row: Row) -> str:
    """The gold answers as text."""
    return " | ".join(map(str, row.question.references))


def agreement_blocks(agreements: Sequence[ScorerAgreement], threshold: str) -> list[Block]:
    """The table of κ and the lists of disagreements.

    Args:
        agreements: every pair of scorers and target under every threshold.
        threshold: the one in force, whose counts are printed.
    """
    if not agreements:
        return []
    by_pair: dict[tuple[str, str, str], dict[str, ScorerAgreement]] = {}
    for each in agreements:
        by_pair.setdefault((each.first, each.second, each.target), {})[each.threshold] = each
    wanted = threshold.replace(" ", "")
    table = Block(
        title=f"Agreement of scorers (counts: correct if {wanted})",
        head=(
            *("scorers", "of", *(f"κ {name}" for name in THRESHOLDS)),
            *("both", "first only", "second only", "neither", "n"),
        ),
        rows=tuple(_agreement_cells(found, wanted) for found in by_pair.values()),
        sentences=(
            "κ: Cohen's, of correct or not under each threshold; – where one verdict is all there is.",
        ),
    )
    return [table, *(_disagreement_block(each) for each in agreements if each.disagreements)]


def _agreement_cells(found: Mapping[str, ScorerAgreement], threshold: str) -> tuple[str, ...]:
    counted = found[threshold]
    kappas = [found[name].kappa for name in THRESHOLDS]
    return (
        f"{counted.first} / {counted.second}",
        counted.target,
        *("–" if kappa is None else f"{kappa:.2f}" for kappa in kappas),
        *map(str, (counted.both, counted.only_first, counted.only_second, counted.neither)),
        str(counted.n) if counted.n == counted.n_rows else f"{counted.n} / {counted.n_rows}",
    )


def _disagreement_block(agreement: ScorerAgreement) -> Block:
    found = agreement.disagreements
    return Block(
        title=f"{agreement.first} against {agreement.second}, {agreement.target}, correct if {agreement.threshold}",
        head=("question", "scored by the first", "by the second", "gold", agreement.first, agreement.second),
        rows=tuple(
            (each.question_id, *map(_cut, (*each.predictions, each.gold)), *map(_number, each.values))
            for each in found[:SHOWN]
        ),
        sentences=_rest(len(found)),
        brief=False,
    )


def safe_differences(
    scorer: str, rows: Sequence[Row], targets: Sequence[str], sign: str = ""
) -> SafeDifferences | None:
    """Rows of a run that an official rule and its safe one score differently; `None` where there is no such pair.

    Args:
        scorer: name of the scorer of the rows, official or safe.
        rows: the rows, with the short answers that were scored.
        targets: `answer`, and `memory` where there are readings.
        sign: mark of the numbers.
    """
    name = scorer.removesuffix(".safe")
    official, safe = SCORERS.get(name), SCORERS.get(f"{name}.safe")
    if not isinstance(official, Scorer) or not isinstance(safe, Scorer):
        return None
    given = {target: [row for row in rows if _has_short_answer(row, target)] for target in targets}
    return SafeDifferences(
        official=name,
        sign=sign,
        n=sum(map(len, given.values())),
        rows=[
            difference
            for target, chosen in given.items()
            for difference in _safe_differences(official, safe, chosen, target)
        ],
    )


def _has_short_answer(row: Row, target: str) -> bool:
    return bool(row.question.references and _prediction(row, target)) and _value(row, target) is not None


def _safe_differences(
    official: Scorer, safe: Scorer, rows: Sequence[Row], target: str
) -> list[SafeDifference]:
    given = (
        (row.question.references[0], _prediction(row, target), row.question.answer_format) for row in rows
    )

    def official_rule(gold: Any, prediction: Any, answer_format: str) -> Score:
        return official.score(gold, official.read(prediction), answer_format)

    return [
        SafeDifference(
            question_id=rows[found.position].question.question_id,
            trajectory_id=rows[found.position].key,
            target=target,
            answer_format=found.row.answer_format,
            gold=gold_text(rows[found.position]),
            prediction=str(found.row.prediction),
            official=found.first.value,
            upstream_raises=found.first.upstream_raises,
            safe=found.second.value,
        )
        for found in differences(given, official_rule, safe.score)
    ]


def safe_block(found: SafeDifferences) -> Block:
    """The table of rows on which the two rules differ."""
    return Block(
        title="Official against safe rule",
        head=(
            *("question", "of", "format", "prediction", "gold"),
            *(f"{name} {found.sign}".rstrip() for name in (found.official, f"{found.official}.safe")),
        ),
        rows=tuple(_safe_cells(each) for each in found.rows[:SHOWN]),
        sentences=(
            f"The rules differ on {len(found.rows)} of {found.n} short answers; the safe rule is not official.",
            *_rest(len(found.rows)),
        ),
        brief=False,
    )


def _safe_cells(each: SafeDifference) -> tuple[str, ...]:
    raised = f" ({each.upstream_raises})" if each.upstream_raises else ""
    return (
        *(each.question_id, each.target, each.answer_format),
        *map(_cut, (each.prediction, each.gold)),
        _number(each.official) + raised,
        _number(each.safe),
    )


def _rest(count: int) -> tuple[str, ...]:
    return (f"{count - SHOWN} more rows are in report.json.",) if count > SHOWN else ()


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN else text[: TEXT_SHOWN - 1] + "…"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
