"""Do the intervals cover and do the tests keep their level, on documents as unequal as a real benchmark's?

The quick version runs a few hundred repetitions and allows for their noise; `pytest -m slow` runs 4,000 and holds the
numbers to their bounds. `python tests/test_statistics_coverage.py` prints the whole table.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from document_sizes import ALL_DOCUMENTS, SOME_DOCUMENTS, sizes_of
from looseleaf.statistics import (
    Clusters,
    bootstrap_ratios,
    clustered_mean_interval,
    clustered_ratio_interval,
    mcnemar_test,
    obuchowski_test,
    paired_difference,
    percentile_interval,
    resample_weights,
    sign_flip_test,
    split_conditional_rate,
)
from worlds import Floats, Outcome, Truth, World, draw

DOCUMENTS = {37: SOME_DOCUMENTS, 135: ALL_DOCUMENTS}
CORRELATIONS = (0.0, 0.15, 0.4)
DESIGNS = [(documents, correlation) for documents in DOCUMENTS for correlation in CORRELATIONS]
OWN_DOCUMENTS = 0.65
"""`shared` where policies have documents that they are good at."""
QUICK, FULL = 300, 4_000
COVERS = (0.93, 0.97)
LEVEL = (0.035, 0.065)
BOOTSTRAPPED = 1_000
"""Resamples inside a simulation; a report draws 10,000."""
HEADLINE = ("Acc", "MemAcc", "P_mmc[answerable]", "Gap", "Acc A−B", "P_mmc A−B")
PAIRED = (
    "Obuchowski Acc",
    "Obuchowski s_ans",
    "sign flip s_ans",
    "t P_mmc",
    "t P_mmc within",
    "t P_mmc composition",
)


class Pair(NamedTuple):
    """One draw of two runs, with all that intervals take."""

    world: World
    first: Outcome
    second: Outcome
    clusters: Clusters
    names: list[int]

    def missing(self, run: Outcome) -> tuple[Floats, Floats]:
        """Numerator and denominator of P_mmc on answerable rows."""
        right = run.right * self.world.answerable
        return right * (1 - run.memory), right

    def difference(self, of: str) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Cluster sums of both runs."""
        ones = np.ones(len(self.names))
        rows = {
            "Acc": [(run.score, ones) for run in (self.first, self.second)],
            "P_mmc": [self.missing(run) for run in (self.first, self.second)],
        }[of]
        first, second = [(self.clusters.sums(x), self.clusters.sums(y)) for x, y in rows]
        return first, second


def pairs(world: World, repetitions: int) -> list[Pair]:
    generator = np.random.default_rng(
        [len(world.sizes), round(100 * world.correlation), round(100 * world.shared)]
    )
    names = world.documents.tolist()
    clusters = Clusters(names)
    return [Pair(world, *draw(world, generator), clusters, names) for _ in range(repetitions)]


def covered(world: World, repetitions: int) -> dict[str, float]:
    """Share of repetitions in which each interval holds the truth."""
    true_missing = world.missing(world.first)
    truths = {
        "Acc": world.accuracy(world.first),
        "MemAcc": world.first.right * (1 - true_missing) + 0.1 * (1 - world.first.right),
        "P_mmc[answerable]": true_missing,
        "Gap": world.first.right * true_missing - 0.1 * (1 - world.first.right),
        "Acc A−B": world.accuracy(world.first) - world.accuracy(world.second),
        "P_mmc A−B": true_missing - world.missing(world.second),
    }
    truths |= {f"bootstrap {name}": truths[name] for name in ("Acc", "P_mmc[answerable]")}
    weights = resample_weights(len(world.sizes), resamples=BOOTSTRAPPED)
    hits: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for pair in pairs(world, repetitions):
        for name, ends in intervals(pair, weights).items():
            if ends is not None:
                made[name] += 1
                hits[name] += ends[0] <= truths[name] <= ends[1]
    return {name: hits[name] / made[name] for name in made}


def intervals(pair: Pair, weights: Floats) -> dict[str, tuple[float, float] | None]:
    """Both ends of every interval."""
    run, names = pair.first, pair.names
    ones = np.ones(len(names))
    missing = pair.missing(run)
    found = {
        "Acc": clustered_ratio_interval(run.score, ones, names),
        "MemAcc": clustered_ratio_interval(run.memory, ones, names),
        "P_mmc[answerable]": clustered_ratio_interval(*missing, names),
        "Gap": clustered_mean_interval(run.right - run.memory, ones, names),
        "Acc A−B": paired_difference(*pair.difference("Acc")).interval,
        "P_mmc A−B": paired_difference(*pair.difference("P_mmc")).interval,
    }
    sums = pair.clusters.sums([[run.score, missing[0]], [ones, missing[1]]])
    for name, ratios in zip(
        ("Acc", "P_mmc[answerable]"), bootstrap_ratios(sums[0], sums[1], weights), strict=True
    ):
        found[f"bootstrap {name}"] = percentile_interval(ratios, len(pair.clusters))  # type: ignore[assignment]
    return {name: None if each is None else (each.low, each.high) for name, each in found.items()}


def rejected(world: World, repetitions: int) -> dict[str, float]:
    """Share of repetitions in which each test rejects at .05 that the two runs are the same."""
    counts: Counter[str] = Counter()
    for pair in pairs(world, repetitions):
        for name, p_value in p_values(pair).items():
            counts[name] += p_value is not None and p_value < 0.05
    return {name: count / repetitions for name, count in counts.items()}


def p_values(pair: Pair) -> dict[str, float | None]:
    a, b = pair.first, pair.second
    wins = pair.clusters.sums(a.right - b.right)
    split = split_conditional_rate(
        (1 - a.memory, 1 - b.memory),
        (a.right * pair.world.answerable, b.right * pair.world.answerable),
        pair.clusters,
    )
    only_a, only_b = int(np.sum(a.right > b.right)), int(np.sum(a.right < b.right))
    return {
        "Obuchowski Acc": obuchowski_test(pair.clusters.sums(a.score - b.score)).p_value,
        "Obuchowski s_ans": obuchowski_test(wins).p_value,
        "sign flip s_ans": sign_flip_test(wins).p_value,
        "t P_mmc": split.total.p_value,
        "t P_mmc within": split.within.p_value,
        "t P_mmc composition": split.composition.p_value,
        "McNemar s_ans": mcnemar_test(only_a, only_b).p_value,
    }


def coverage_world(documents: int, correlation: float) -> World:
    """Two runs that differ by what the paper's variants differ by."""
    return World(sizes_of(DOCUMENTS[documents]), correlation, Truth(), Truth(0.47, 0.25), OWN_DOCUMENTS)


def null_world(documents: int, correlation: float, shared: float) -> World:
    return World(sizes_of(DOCUMENTS[documents]), correlation, shared=shared)


def outside(found: dict[str, float], names: tuple[str, ...], bounds: tuple[float, float]) -> dict[str, float]:
    return {name: found[name] for name in names if not bounds[0] <= found[name] <= bounds[1]}


@pytest.mark.parametrize(("documents", "correlation"), [(37, 0.4), (135, 0.15)])
def test_headline_intervals_cover_roughly(documents: int, correlation: float) -> None:
    """300 repetitions have a standard error of 1.3 points, hence the room."""
    found = covered(coverage_world(documents, correlation), QUICK)
    assert not outside(found, HEADLINE, (0.90, 0.985)), found


def test_clustered_tests_keep_their_level_where_mcnemar_does_not() -> None:
    found = rejected(null_world(135, 0.4, OWN_DOCUMENTS), QUICK)
    assert not outside(found, PAIRED, (0.015, 0.09)), found
    assert found["McNemar s_ans"] >= 0.10


@pytest.mark.slow
@pytest.mark.parametrize(("documents", "correlation"), DESIGNS)
def test_headline_intervals_cover(documents: int, correlation: float) -> None:
    found = covered(coverage_world(documents, correlation), FULL)
    assert not outside(found, HEADLINE, COVERS), found


@pytest.mark.slow
@pytest.mark.parametrize("shared", [1.0, OWN_DOCUMENTS])
@pytest.mark.parametrize(("documents", "correlation"), DESIGNS)
def test_clustered_tests_keep_their_level(documents: int, correlation: float, shared: float) -> None:
    found = rejected(null_world(documents, correlation, shared), FULL)
    assert not outside(found, PAIRED, LEVEL), found
    if shared < 1 and correlation > 0:
        assert found["McNemar s_ans"] >= 0.10, found


@pytest.mark.skipif("LOOSELEAF_DATA" not in os.environ, reason="LOOSELEAF_DATA is not set")
def test_the_sizes_are_those_of_the_benchmark() -> None:
    folder = Path(os.environ["LOOSELEAF_DATA"]) / "mmlongbench"
    rows = json.loads((folder / "samples.json").read_text(encoding="utf-8"))
    present = {path.name for path in (folder / "documents").iterdir()}
    for counted, keep in ((ALL_DOCUMENTS, {row["doc_id"] for row in rows}), (SOME_DOCUMENTS, present)):
        kept = [row for row in rows if row["doc_id"] in keep]
        questions = Counter(row["doc_id"] for row in kept)
        answers = Counter(row["doc_id"] for row in kept if row["answer"] != "Not answerable")
        assert Counter((questions[name], answers[name]) for name in questions) == counted


def table(repetitions: int) -> None:
    """Print everything."""
    for documents, correlation in DESIGNS:
        print(
            documents,
            correlation,
            "covers",
            _percent(covered(coverage_world(documents, correlation), repetitions)),
        )
        for shared in (1.0, OWN_DOCUMENTS):
            found = rejected(null_world(documents, correlation, shared), repetitions)
            print(documents, correlation, f"shared {shared} rejects", _percent(found), flush=True)


def _percent(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.1f}" for name, share in found.items())


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else FULL)
