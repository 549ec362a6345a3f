"""Does the result depend on who reads? Agreement of readers, repeated samples, and what a reader knew already."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec

from looseleaf.lab.measure import Outcome, measured
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.variants import VariantKind
from looseleaf.metrics import UNDEFINED, UNSCORED, MetricValue, Ratio, Row
from looseleaf.statistics import SeedSummary, seed_summary

__all__ = ["Agreement", "Knowledge", "Sampled", "agreement", "agreements", "knowledge", "sampled"]


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Two readers on the same memories.

    Attributes:
        first, second: ledgers of their readings.
        n: rows that both have scored.
        agree: share of rows with the same s_mem.
        kappa: Cohen's κ of s_mem; `None` where one verdict is all there is.
        p_mmc: P_mmc of each, over the rows that both have scored.
        flips: of the correct answers, the share whose cell differs between the readers.
        rescued: of the first reader's memory-missing correct rows, the share that the second reader answers.
        lost: of the first reader's memory-supported correct rows, the share that the second reader does not answer.
    """

    first: str
    second: str
    n: int
    agree: MetricValue
    kappa: float | None
    p_mmc: tuple[MetricValue, MetricValue]
    flips: MetricValue
    rescued: MetricValue
    lost: MetricValue


def agreements(scored: ScoredRun, reading_ids: Sequence[str], threshold: str) -> list[Agreement]:
    """Every pair of readers."""
    rows = {reading_id: scored.rows(reading_id, threshold=threshold) for reading_id in reading_ids}
    return [agreement(a, b, rows[a], rows[b]) for a, b in combinations(reading_ids, 2)]


def agreement(first: str, second: str, rows: Sequence[Row], others: Sequence[Row]) -> Agreement:
    """Two readers on the same rows, answerable and not; rows are in the same order."""
    pairs = [
        (row, a, b)
        for row, other in zip(rows, others, strict=True)
        if (a := row.memory_correct) is not None and (b := other.memory_correct) is not None
    ]
    correct = [(row, a, b) for row, a, b in pairs if row.answer_correct]

    def share(name: str, of: Sequence[tuple[Row, bool, bool]], hits: Sequence[bool]) -> MetricValue:
        return measured(
            name,
            [(Ratio(float(hit)), row.question.doc_id) for (row, _, _), hit in zip(of, hits, strict=True)],
        )

    missing = [pair for pair in correct if not pair[1]]
    supported = [pair for pair in correct if pair[1]]
    return Agreement(
        first=first,
        second=second,
        n=len(pairs),
        agree=share("agree on s_mem", pairs, [a == b for _, a, b in pairs]),
        kappa=cohens_kappa([(a, b) for _, a, b in pairs]),
        p_mmc=(
            share("P_mmc, first reader", correct, [not a for _, a, _ in correct]),
            share("P_mmc, second reader", correct, [not b for _, _, b in correct]),
        ),
        flips=share("correct answers whose cell flips", correct, [a != b for _, a, b in correct]),
        rescued=share("10 to 11", missing, [b for _, _, b in missing]),
        lost=share("11 to 10", supported, [not b for _, _, b in supported]),
    )


def cohens_kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's κ (1960, Educ. Psychol. Meas. 20, 37–46) of two binary raters; `None` where chance agreement is 1."""
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    first, second = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    chance = first * second + (1 - first) * (1 - second)
    return None if chance == 1 else (observed - chance) / (1 - chance)


class Sampled(msgspec.Struct, frozen=True, kw_only=True):
    """Repeated samples of one reader.

    Attributes:
        reading_id: ledger of the readings.
        samples: readings a row.
        mean_correct: mean over rows of the share of samples that answer.
        unanimous: share of rows where all samples say the same.
        p_mmc: P_mmc of each sample with mean, standard deviation and per-question variance.
    """

    reading_id: str
    samples: int
    mean_correct: MetricValue
    unanimous: MetricValue
    p_mmc: SeedSummary


def sampled(scored: ScoredRun, reading_id: str, threshold: str) -> Sampled | None:
    """Summary of a reader's samples on the answerable rows; `None` where it has fewer than two."""
    count = scored.sample_count(reading_id)
    if count < 2:
        return None
    columns = [scored.rows(reading_id, sample=sample, threshold=threshold) for sample in range(count)]
    lines = [line for line in zip(*columns, strict=True) if not line[0].question.unanswerable]
    return Sampled(
        reading_id=reading_id,
        samples=count,
        mean_correct=measured("mean correctness of samples", map(_mean_correct, lines)),
        unanimous=measured("samples unanimous", map(_unanimous, lines)),
        p_mmc=seed_summary(
            [[_missing(row) for row in line] for line in lines],
            [[_correct(row) for row in line] for line in lines],
        ),
    )


def _verdicts(line: Sequence[Row]) -> list[bool]:
    return [row.memory_correct for row in line if row.memory_correct is not None]


def _mean_correct(line: Sequence[Row]) -> Outcome:
    found = _verdicts(line)
    return (Ratio(sum(found) / len(found)) if found else UNSCORED), line[0].question.doc_id


def _unanimous(line: Sequence[Row]) -> Outcome:
    found = _verdicts(line)
    return (Ratio(float(len(set(found)) == 1)) if found else UNSCORED), line[0].question.doc_id


NAN = float("nan")


def _missing(row: Row) -> float:
    memory = row.memory_correct
    return NAN if memory is None or row.answer_correct is None else float(row.answer_correct and not memory)


def _correct(row: Row) -> float:
    return NAN if row.memory_correct is None or row.answer_correct is None else float(row.answer_correct)


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader answers without any memory.

    Attributes:
        reading_id: ledger of the readings.
        known: share of answerable rows that the reader answers from the question alone.
        supported_known: the same among the rows that it answers from the memory: there the memory may add nothing.
        p_mmc_unknown: P_mmc on the answerable rows that it does not know.
    """

    reading_id: str
    known: MetricValue
    supported_known: MetricValue
    p_mmc_unknown: MetricValue


def knowledge(scored: ScoredRun, reading_id: str, threshold: str) -> Knowledge | None:
    """How much a reader knew already; `None` where it was not asked the question alone."""
    if VariantKind.QUESTION_ONLY not in scored.variants(reading_id):
        return None
    own = scored.rows(reading_id, threshold=threshold)
    alone = scored.rows(reading_id, VariantKind.QUESTION_ONLY, threshold=threshold)
    pairs = [(a, b) for a, b in zip(own, alone, strict=True) if not a.question.unanswerable]
    return Knowledge(
        reading_id=reading_id,
        known=measured("answered from the question alone", [_known(a, b, True) for a, b in pairs]),
        supported_known=measured(
            "the same, of rows that the memory answers", [_known(a, b, a.memory_correct) for a, b in pairs]
        ),
        p_mmc_unknown=measured(
            "P_mmc of rows not answered from the question alone", [_unknown(a, b) for a, b in pairs]
        ),
    )


def _known(own: Row, alone: Row, counts: bool | None) -> Outcome:
    known = alone.memory_correct
    if not counts:
        return UNDEFINED, own.question.doc_id
    return (UNSCORED if known is None else Ratio(float(known))), own.question.doc_id


def _unknown(own: Row, alone: Row) -> Outcome:
    known, memory = alone.memory_correct, own.memory_correct
    if known or own.answer_correct is False:
        return UNDEFINED, own.question.doc_id
    scored = known is not None and memory is not None and own.answer_correct is not None
    return (Ratio(float(not memory)) if scored else UNSCORED), own.question.doc_id
