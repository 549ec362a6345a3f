"""The official headline aggregates of a run, and breakdowns that do not overlap beside the official ones.

MMLongBench-Doc: accuracy and F1 over rows as `eval/eval_score.py` @ d73f0dc computes them. LongDocURL: generalised and
rectified accuracy and the fine-grained sums as `utils/calculate_metrics*.py` @ 3807c0e compute them. Rows that are
unscored here are left out of our own column; the column of upstream counts every failure as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from looseleaf.metrics import Row
from looseleaf.question import Question
from looseleaf.report.blocks import Block
from looseleaf.report.scorers import has_pipeline, prediction_of, upstream_of
from looseleaf.scoring import longdocurl, mmlongbench
from looseleaf.scoring.aggregates import Sample, Slice, added_up
from looseleaf.scoring.fine_grained import OFFICIAL_COUNTS, Table, score_sums

__all__ = ["Aggregate", "OfficialAggregates", "OfficialSlice", "official_aggregates", "official_blocks"]

FAILED: Final[Mapping[str, str]] = MappingProxyType(
    {"mmlongbench": mmlongbench.FAILED_TO_EXTRACT, "longdocurl": longdocurl.FAIL_TO_EXTRACT}
)
"""What each official pipeline records as the prediction of a row that failed."""
PAGE_SLICES = ("Single-page", "Cross-page", "Unanswerable")
"""The official page slices, which overlap."""


class Aggregate(msgspec.Struct, frozen=True, kw_only=True):
    """One headline number.

    Attributes:
        name: as the benchmark calls it.
        value: over the scored rows.
        n: scored rows.
        upstream: with every failure as 0, over all rows.
        n_upstream: all rows.
    """

    name: str
    value: float
    n: int
    upstream: float
    n_upstream: int


class OfficialSlice(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a breakdown.

    Attributes:
        label: its name.
        value: mean score of its scored rows.
        n: its rows, scored or not.
        total: sum of the scores, where the official table is one of sums.
    """

    label: str
    value: float | None
    n: int
    total: float | None = None


class OfficialAggregates(msgspec.Struct, frozen=True, kw_only=True):
    """The official aggregates of one target.

    Attributes:
        scorer: `mmlongbench` or `longdocurl`.
        target: `answer` or `memory`.
        headline: the headline numbers.
        official: the official breakdown, whose slices overlap.
        partition: a breakdown in which every row is in exactly one slice of each group.
        notes: what a reader must know of them.
    """

    scorer: str
    target: str
    headline: list[Aggregate]
    official: list[OfficialSlice]
    partition: list[OfficialSlice]
    notes: list[str]


class _Sample(Mapping[str, Any]):
    """A row of one target as the official functions read it, made of the row when it is asked: rows are many.

    Args:
        question: whose gold and labels.
        pred: the short answer.
        score: its score; a sample without one has no such key.
    """

    __slots__ = ("_pred", "_question", "_score")

    def __init__(self, question: Question, pred: str, score: float | None) -> None:
        self._question = question
        self._pred = pred
        self._score = score

    def __getitem__(self, key: str) -> Any:
        if key == "pred":
            return self._pred
        if key == "score":
            if self._score is None:
                raise KeyError(key)
            return self._score
        of_question = ABOUT.get(key)
        return self._question.tags[key] if of_question is None else of_question(self._question)

    def __contains__(self, key: object) -> bool:
        if key == "score":
            return self._score is not None
        return key == "pred" or key in ABOUT or key in self._question.tags

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*self._question.tags, *ABOUT, "pred"])
        if self._score is not None:
            yield "score"

    def __len__(self) -> int:
        return sum(1 for _ in self)


ABOUT: Mapping[str, Callable[[Question], Any]] = {
    "answer": lambda question: question.references[0],
    "answer_format": lambda question: question.answer_format,
    "doc_type": lambda question: question.doc_type,
    "evidence_pages": lambda question: question.evidence_pages or (),
    "evidence_sources": lambda question: question.sources,
}
"""Keys of an official sample, with what stands there of a question."""


class _Samples(NamedTuple):
    """The rows of one target: our samples, and the ones that upstream would have."""

    ours: list[_Sample]
    upstream: list[_Sample]


def official_aggregates(
    scorer: str, rows: Sequence[Row], target: str, records: bool | None = None
) -> OfficialAggregates | None:
    """The aggregates of a benchmark's official scorer; `None` for other scorers and without rows.

    Args:
        scorer: canonical name of the scorer of the rows.
        rows: the rows.
        target: `answer` or `memory`.
        records: whether upstream's pipeline has recorded anything; as the rows say by default.
    """
    if scorer not in _AGGREGATES:
        return None
    chosen = [row for row in rows if row.question.references]
    if not chosen:
        return None
    records = has_pipeline(rows, target) if records is None else records
    samples = _Samples(
        [_own_sample(row, target, FAILED[scorer]) for row in chosen],
        [_upstream_sample(row, target, FAILED[scorer], records) for row in chosen],
    )
    return _AGGREGATES[scorer](target, samples)


def _value(row: Row, target: str) -> float | None:
    score = row.memory if target == "memory" else row.answer
    return None if score is None else score.value


def _own_sample(row: Row, target: str, failed: str) -> _Sample:
    prediction, value = prediction_of(row, target), _value(row, target)
    return _Sample(row.question, prediction if prediction or value is None else failed, value)


def _upstream_sample(row: Row, target: str, failed: str, records: bool) -> _Sample:
    prediction = prediction_of(row, target)
    recorded = upstream_of(row, target) if records and row.trajectory is not None else None
    given = prediction if _value(row, target) is not None and prediction else failed
    return _Sample(row.question, given, recorded or 0.0)


# -- MMLongBench-Doc -----------------------------------------------------------------------------------------------


def _mmlongbench(target: str, samples: _Samples) -> OfficialAggregates:
    ours, upstream = samples
    found, recorded = mmlongbench.acc_and_f1(ours), mmlongbench.acc_and_f1(upstream)
    _, _, *official = mmlongbench.breakdown(ours)
    pages = [part.n for part in official if part.label in PAGE_SLICES]
    return OfficialAggregates(
        scorer="mmlongbench",
        target=target,
        headline=[
            Aggregate(name=name, value=a, n=found.n, upstream=b, n_upstream=recorded.n)
            for name, a, b in (("Acc", found.acc, recorded.acc), ("F1", found.f1, recorded.f1))
        ],
        official=_slices(official, ours, mmlongbench.breakdown),
        partition=_slices(mmlongbench.partition(ours), ours, mmlongbench.partition),
        notes=[
            f"The official page slices may overlap: {' + '.join(map(str, pages))} = {sum(pages):,} of {len(ours):,} "
            "rows. A row with several sources is in each of them.",
        ],
    )


def _slices(
    parts: Sequence[Slice], samples: Sequence[Sample], of: Callable[[Any], list[Slice]]
) -> list[OfficialSlice]:
    """Slices without a scored row have no value; the official function says 0."""
    scored = {part.label: part.n for part in of([sample for sample in samples if "score" in sample])}
    return [
        OfficialSlice(label=part.label, value=part.value if scored.get(part.label) else None, n=part.n)
        for part in parts
    ]


# -- LongDocURL ----------------------------------------------------------------------------------------------------


def _longdocurl(target: str, samples: _Samples) -> OfficialAggregates:
    every = samples.ours
    ours = [_evaluated(sample) for sample in every if "score" in sample]
    recorded = added_up(sample["score"] for sample in samples.upstream)
    official, notes = _fine_grained(ours, len(every))
    return OfficialAggregates(
        scorer="longdocurl",
        target=target,
        headline=_gacc(ours, recorded, len(every)),
        official=official,
        partition=_slices(longdocurl.partition(every), every, longdocurl.partition),
        notes=[
            f"Rectified: the sum of the scores over all {longdocurl.OFFICIAL_ROWS:,} rows of the full set.",
            *notes,
        ],
    )


def _gacc(ours: Sequence[dict[str, Any]], recorded: float, n: int) -> list[Aggregate]:
    if not ours:
        return []
    found = longdocurl.gacc(ours)
    names = {
        "GAcc": (found.value, recorded / n),
        "GAcc, rectified": (found.rectified, recorded / longdocurl.OFFICIAL_ROWS),
    }
    return [
        Aggregate(name=name, value=value, n=found.n, upstream=upstream, n_upstream=n)
        for name, (value, upstream) in names.items()
    ]


def _evaluated(sample: Sample) -> dict[str, Any]:
    """The sample with the value that the official pipeline makes of the short answer."""
    pred = sample["pred"]
    return {
        **sample,
        "pred": pred if pred == longdocurl.FAIL_TO_EXTRACT else longdocurl.official_prediction(pred),
    }


def _fine_grained(ours: Sequence[dict[str, Any]], n_rows: int) -> tuple[list[OfficialSlice], list[str]]:
    """The official sums; nothing where the annotation file does not say what kind of task a row is."""
    tagged = [sample for sample in ours if "task_tag" in sample]
    if not tagged:
        return [], []
    found = longdocurl.fine_grained(tagged)
    whole = n_rows == longdocurl.OFFICIAL_ROWS
    counts = OFFICIAL_COUNTS if whole else score_sums((sample, 1.0) for sample in tagged)[0]
    denominators = (
        "the official ones" if whole else "the scored rows here, as the official ones are of the full set"
    )
    notes = [
        f"Fine-grained: sum of scores / rows; denominators are {denominators}. A row is counted once for each of its "
        "elements, so the columns overlap."
    ]
    if found.fatal:
        notes.append(
            f"{found.fatal} rows would end the official fine-grained script; they are left out of its cells."
        )
    return list(_leaves(found.sums, counts)), notes


def _leaves(sums: Table, counts: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[OfficialSlice]:
    for key, value in sums.items():
        if isinstance(value, dict):
            yield from _leaves(value, counts[key], (*above, key))
        else:
            n = round(counts[key])
            yield OfficialSlice(
                label=": ".join((*above, key)), value=value / n if n else None, n=n, total=value
            )


_AGGREGATES: Final[Mapping[str, Callable[[str, _Samples], OfficialAggregates]]] = MappingProxyType(
    {"mmlongbench": _mmlongbench, "longdocurl": _longdocurl}
)


# -- printing ------------------------------------------------------------------------------------------------------


def official_blocks(found: Sequence[OfficialAggregates], signs: Mapping[str, str]) -> list[Block]:
    """Headline numbers, the official breakdown and the one without overlaps.

    Args:
        found: one for each target.
        signs: marks that the numbers of each target carry.
    """
    if not found:
        return []
    name = {"mmlongbench": "MMLongBench-Doc", "longdocurl": "LongDocURL"}[found[0].scorer]
    return [
        Block(
            title=f"{name}: official aggregates",
            head=("", "of", "value", "n", "upstream", "n"),
            rows=tuple(_headline_row(each, line, signs) for each in found for line in each.headline),
            sentences=("upstream: every failed extraction or answer counts as 0.",),
        ),
        _slice_block(
            f"{name}: official breakdown (slices overlap)", found, signs, lambda each: each.official, True
        ),
        _slice_block(f"{name}: breakdown without overlaps", found, signs, lambda each: each.partition, False),
    ]


def _headline_row(found: OfficialAggregates, line: Aggregate, signs: Mapping[str, str]) -> tuple[str, ...]:
    return (
        f"{line.name} {signs.get(found.target, '')}".rstrip(),
        found.target,
        f"{100 * line.value:.1f}",
        str(line.n),
        f"{100 * line.upstream:.1f}",
        str(line.n_upstream),
    )


def _slice_block(
    title: str,
    found: Sequence[OfficialAggregates],
    signs: Mapping[str, str],
    of: Callable[[OfficialAggregates], list[OfficialSlice]],
    noted: bool,
) -> Block:
    by_target = {each.target: {part.label: part for part in of(each)} for each in found}
    labels = dict.fromkeys(label for parts in by_target.values() for label in parts)
    heads = tuple(f"{target} {signs.get(target, '')}".rstrip() for target in by_target)
    return Block(
        title=title,
        head=("", *(column for head in heads for column in (head, "n"))),
        rows=tuple(
            (label, *(cell for parts in by_target.values() for cell in _slice_cells(parts.get(label))))
            for label in labels
        ),
        sentences=tuple(dict.fromkeys(note for each in found for note in each.notes)) if noted else (),
        brief=False,
    )


def _slice_cells(part: OfficialSlice | None) -> tuple[str, str]:
    if part is None or part.value is None:
        return "–", "0" if part is None else str(part.n)
    mean = f"{100 * part.value:.1f}"
    return (mean if part.total is None else f"{part.total:.2f} = {mean} %"), str(part.n)
