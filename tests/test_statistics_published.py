"""From the counts that the AWM paper prints (arXiv 2608.25618), the code prints the paper's numbers to the digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes import make_question
from looseleaf.lab.intervention import Intervention, Outcome, intervene
from looseleaf.metrics import Row, evaluate_rows
from looseleaf.report.cells import value_text
from looseleaf.score import Score
from looseleaf.statistics import INDEPENDENT, independent_interval

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "awm_published.json").read_text(encoding="utf-8")
)
CELLS: dict[str, int] = PUBLISHED["cells_ep_given"]
MEMORIES = ("empty", "own", "improved")


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def rows_with(cells: dict[str, int]) -> list[Row]:
    """One answerable row for each count of a cell."""
    return [
        Row(
            question=make_question(index, doc_id=f"{index % 50}.pdf"),
            trajectory=None,
            answer=Score(value=float(cell[0])),
            memory=Score(value=float(cell[1])),
        )
        for index, cell in enumerate(cell for cell, count in cells.items() for _ in range(count))
    ]


@pytest.mark.parametrize("name", PUBLISHED["p_mmc"])
def test_p_mmc(name: str) -> None:
    counts = PUBLISHED["p_mmc"][name]
    rows = rows_with({"10": counts["missing"], "11": counts["correct"] - counts["missing"], "00": 50})
    for metric in ("P_mmc", "P_mmc[answerable]"):
        value = evaluate_rows(rows, [metric])[metric].value
        assert f"{value:.3f}".removeprefix("0") == counts["printed"]


def test_the_four_cells_give_the_other_numbers_of_the_ep_given_row() -> None:
    found = evaluate_rows(rows_with(CELLS), ["Acc", "MemAcc", "P_mmc", "Gap"])
    assert [value_text(found[name]) for name in ("Acc", "MemAcc", "P_mmc")] == ["36.2", "30.2", "42.5"]
    assert found["Gap"].value == pytest.approx((77 - 47) / 500)


@pytest.fixture(scope="module")
def tables() -> Intervention:
    """500 rows whose outcomes have the published margins; within a cell, the first rows are the hits."""
    cells = [cell for cell, count in CELLS.items() for _ in range(count)]
    finals = {name: PUBLISHED["intervention"][name]["final"]["hits"] for name in MEMORIES}
    outcomes = {name: memory_outcomes(name, cells, finals[name]) for name in MEMORIES}
    stored = [cell[0] == "1" for cell in cells]
    docs = [f"{index % 50}.pdf" for index in range(len(cells))]
    return intervene(outcomes, stored, docs, answerer="replay")


def memory_outcomes(name: str, cells: list[str], finals: int) -> list[Outcome]:
    by_cell = {cell: counts[name] for cell, counts in PUBLISHED["by_original_cell"].items() if name in counts}
    left = by_cell or {"00": PUBLISHED["intervention"][name]["memory"]["hits"]}
    answers = [cell[0] == "1" for cell in cells] if name == "own" else [i < finals for i in range(len(cells))]
    outcomes = []
    for cell, answer in zip(cells, answers, strict=True):
        left[cell] = left.get(cell, 0) - 1
        outcomes.append(Outcome(answer, left[cell] >= 0))
    return outcomes


@pytest.mark.parametrize("memory", MEMORIES)
def test_tables_3_and_8(tables: Intervention, memory: str) -> None:
    published = PUBLISHED["intervention"][memory]
    final, alone = tables.final[memory], tables.memory[memory]
    assert (final.hits, final.n, alone.hits) == (published["final"]["hits"], 500, published["memory"]["hits"])
    assert percent(final.hits / final.n) == published["final"]["printed"]
    assert [percent(final.independent.low), percent(final.independent.high)] == published["final"]["wilson"]
    assert percent(alone.hits / alone.n) == published["memory"]["printed"]
    assert INDEPENDENT in final.independent.method


def test_only_the_empty_memory_only_count_is_inferred() -> None:
    """2.6 % of 500 rows is 13 rows; no other whole number of rows prints as 2.6."""
    inferred = [name for name in MEMORIES if PUBLISHED["intervention"][name]["memory"].get("inferred")]
    assert inferred == ["empty"]
    assert [hits for hits in range(501) if percent(hits / 500) == "2.6"] == [13]


def test_table_9(tables: Intervention) -> None:
    lines = {line.cell: (line.n, line.before, line.after) for line in tables.transitions["improved"]}
    assert lines == {
        cell: (counts["n"], counts["own"], counts["improved"])
        for cell, counts in PUBLISHED["by_original_cell"].items()
    }


@pytest.mark.parametrize("name", ["answer_string_removed", "source_pages"])
def test_the_audits_of_improved_memory(name: str) -> None:
    counts = PUBLISHED[name]
    assert percent(counts["hits"] / counts["n"]) == counts["printed"]


def test_the_manual_audit() -> None:
    counts = PUBLISHED["manual_audit"]
    found = independent_interval(counts["hits"], counts["n"])
    assert [percent(found.low), percent(found.high)] == counts["wilson"]


def test_table_2_has_two_numbers_without_counts() -> None:
    """They are stored as published: 172 correct rows of 500 are 34.4 %, so the printed 33.4 is another quantity."""
    stored = PUBLISHED["table_2_full_accuracy"]
    assert (stored["final"], stored["memory_only"]) == ("33.4", "27.4")
    correct = PUBLISHED["p_mmc"]["base agent, full (Table 2)"]["correct"]
    assert percent(correct / 500) == "34.4" != stored["final"]
