"""Every metric on rows whose values were worked by hand, and what unscored rows do to them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from fakes import make_question
from looseleaf import Finding, Question, Score, StopReason, Trajectory
from looseleaf.errors import ConfigError
from looseleaf.metrics import METRICS, MetricTable, Row, evaluate, evaluate_rows, metric_named, rows_of
from looseleaf.metrics.navigation import page_f1, page_precision, page_recall
from looseleaf.metrics.table import evaluate_by
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.roles import Action, Observation
from looseleaf.score import Unscored
from looseleaf.scoring.aggregates import acc_and_f1
from looseleaf.trajectory import Step

NAMES = [
    *("Acc", "Acc[answerable]", "Acc[unanswerable]", "Acc(upstream)", "F1", "Turns", "Invalid"),
    *("MemAcc", "MemAcc[answerable]", "P_mmc[answerable]", "P_mmc"),
    *("Cell11", "Cell10", "Cell01", "Cell00", "Gap", "Gap[answerable]"),
    *("GradedLoss", "GradedLoss[answerable]", "Findings"),
    *("Rec", "Pre", "PageF1", "Hit", "Rec(recipe)", "Pre(recipe)", "PageF1(recipe)", "#UP"),
]


def trajectory(
    question: Question, shown: Sequence[int] = (), *, findings: int = 1, invalid: int = 0, **more: Any
) -> Trajectory:
    """One step that shows pages (if any), refused ones, and the answer."""
    steps = [
        *([Observation("", shown=tuple(shown))] if shown else []),
        *[Observation("Refused.")] * invalid,
        Observation(""),
    ]
    return Trajectory(
        **{
            "trajectory_id": f"{question.question_id}#{more.get('sample_index', 0)}",
            "question_id": question.question_id,
            "benchmark": "mini",
            "doc_id": question.doc_id,
            "question": question.question,
            "steps": tuple(
                Step(
                    turn=turn,
                    action=Action.answer("x"),
                    observation=observation,
                    invalid="refused" if observation.text else None,
                )
                for turn, observation in enumerate(steps, start=1)
            ),
            "memory": (Finding("A fact.", 1),) * findings,
            "answer": "x",
            "stop_reason": StopReason.ANSWERED,
        }
        | more
    )


def fault(question: Question, reason: StopReason = StopReason.PROVIDER_ERROR) -> Trajectory:
    return trajectory(question, (1, 2), findings=0, stop_reason=reason, answer=None, error="away")


NA = NOT_ANSWERABLE
WORKED: list[tuple[Any, ...]] = [
    # gold pages, pages shown, answer, memory, prediction, findings, invalid turns, unanswerable
    ((2, 3), (2, 5, 9), 1.0, 1.0, "7", 3, 0, False),
    ((4,), (4,), 1.0, 0.0, "7", 1, 0, False),
    ((1, 2), (), 0.0, 1.0, "9", 1, 0, False),
    ((6,), (1, 2, 3, 4), 0.0, 0.0, NA, 1, 1, False),
    ((1, 2, 3, 4), (1, 2), 0.5, 0.25, "7", 1, 0, False),
    ((), (1, 2, 3), 1.0, 1.0, NA, 1, 0, True),
    ((), (1,), 0.0, 0.0, "9", 0, 0, True),
    (None, (1,), 1.0, 0.0, "7", 1, 0, False),
]


def worked_rows() -> list[Row]:
    rows = []
    for index, (gold, shown, answer, memory, prediction, findings, invalid, unanswerable) in enumerate(
        WORKED
    ):
        question = make_question(index, evidence_pages=gold, unanswerable=unanswerable, doc_id=f"{index}.pdf")
        rows.append(
            Row(
                question=question,
                trajectory=trajectory(question, shown, findings=findings, invalid=invalid),
                answer=Score(value=answer),
                memory=Score(value=memory),
                prediction=prediction,
                upstream=None if index == 5 else answer,
            )
        )
    return rows


EXPECTED = {
    # name: (value, n, undefined)
    "Acc": (4.5 / 8, 8, 0),
    "Acc[answerable]": (3.5 / 6, 6, 2),
    "Acc[unanswerable]": (1 / 2, 2, 6),
    "Acc(upstream)": (3.5 / 8, 8, 0),  # upstream recorded nothing for row 5
    "F1": (2 * 3.5 / (6 + 6), 8, 0),  # six answerable, six attempts
    "Turns": (16 / 8, 8, 0),
    "Invalid": (1 / 16, 8, 0),
    "MemAcc": (3.25 / 8, 8, 0),
    "MemAcc[answerable]": (2.25 / 6, 6, 2),
    "P_mmc": (2 / 5, 5, 3),
    "P_mmc[answerable]": (2 / 4, 4, 4),
    "Cell11": (3 / 8, 8, 0),
    "Cell10": (2 / 8, 8, 0),
    "Cell01": (1 / 8, 8, 0),
    "Cell00": (2 / 8, 8, 0),
    "Gap": ((2 - 1) / 8, 8, 0),
    "Gap[answerable]": ((2 - 1) / 6, 6, 2),
    "GradedLoss": ((1 + 0.25 + 1) / 4.5, 8, 0),
    "GradedLoss[answerable]": ((1 + 0.25 + 1) / 3.5, 6, 2),
    "Findings": (9 / 8, 8, 0),
    "Rec": ((1 / 2 + 1 + 0 + 0 + 1 / 2) / 5, 5, 3),
    "Pre": ((1 / 3 + 1 + 0 + 0 + 1) / 5, 5, 3),
    "PageF1": ((2 / 5 + 1 + 0 + 0 + 2 / 3) / 5, 5, 3),
    "Hit": (3 / 5, 5, 3),
    "Rec(recipe)": (2 / 7, 7, 1),
    "Pre(recipe)": ((7 / 3) / 7, 7, 1),
    "PageF1(recipe)": ((31 / 15) / 7, 7, 1),
    "#UP": (15 / 8, 8, 0),
}


def test_the_names_are_the_catalogue() -> None:
    assert list(METRICS) == NAMES
    assert set(EXPECTED) == set(NAMES)
    assert all(metric.doc and metric_named(name) is metric for name, metric in METRICS.items())


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_worked_by_hand(name: str) -> None:
    value, n, undefined = EXPECTED[name]
    found = evaluate_rows(worked_rows())[name]
    assert found.value == pytest.approx(value, abs=1e-12)
    assert (found.n, found.n_scored, found.n_undefined) == (n, n, undefined)
    assert found.lowest == pytest.approx(value)
    assert found.highest == pytest.approx(value)
    assert found.interval is None, "eight documents are too few for an interval"


def test_cells_are_shares_that_add_up() -> None:
    table = evaluate_rows(worked_rows())
    assert sum(table[f"Cell{cell}"].value or 0 for cell in ("11", "10", "01", "00")) == pytest.approx(1)


@pytest.mark.parametrize(
    ("shown", "gold", "recall", "precision", "f1"),
    [
        ({1, 2}, {2, 3, 4}, 1 / 3, 1 / 2, 2 / 5),
        (set(), {1}, 0, 0, 0),
        ({1}, set(), 0, 0, 0),
        (set(), set(), 0, 0, 0),
        ({5}, {5}, 1, 1, 1),
    ],
)
def test_pages_by_hand(shown: set[int], gold: set[int], recall: float, precision: float, f1: float) -> None:
    pages = frozenset(shown), frozenset(gold)
    assert page_recall(*pages) == pytest.approx(recall)
    assert page_precision(*pages) == pytest.approx(precision)
    assert page_f1(*pages) == pytest.approx(f1)


def test_navigation_counts_pages_shown_and_not_those_returned() -> None:
    from looseleaf.roles import Returned

    question = make_question(evidence_pages=(4,))
    seen = Observation("", returned=(Returned(4, 2.0), Returned(7, 1.0)), shown=(7,))
    steps = (Step(turn=1, observation=seen), Step(turn=2, observation=Observation("")))
    table = evaluate([trajectory(question, steps=steps)], [question], {"mini:0#0": Score(value=1.0)})
    assert (table["Rec"].value, table["#UP"].value) == (0.0, 1.0)


# -- thresholds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "cell"), [(">0", "Cell11"), (">=0.5", "Cell10"), ("=1", "Cell00")])
def test_the_threshold_makes_the_cells_and_nothing_else(threshold: str, cell: str) -> None:
    question = make_question()
    scores = {"mini:0#0": Score(value=0.5)}
    memory = {"mini:0#0": Score(value=0.25)}
    table = evaluate([trajectory(question)], [question], scores, memory_scores=memory, threshold=threshold)
    assert table[cell].value == 1.0
    assert (table["Acc"].value, table["MemAcc"].value) == (0.5, 0.25)


def test_unknown_names_are_sentences() -> None:
    question = make_question()
    with pytest.raises(ConfigError, match="There is no metric 'Speed'; use one of Acc"):
        metric_named("Speed")
    with pytest.raises(ConfigError, match="There is no metric 'Speed'"):
        evaluate([], [question], {}, metrics=["Speed"])
    with pytest.raises(ConfigError, match="There is no threshold '>1'"):
        evaluate([], [question], {}, threshold=">1")


# -- unscored is not wrong -------------------------------------------------------------------------------------


def unscored_table() -> MetricTable:
    """Four rows: right and supported, answer's judge failed, agent failed, never run."""
    questions = [make_question(index, evidence_pages=(1,)) for index in range(4)]
    return evaluate(
        [trajectory(questions[0], (1,)), trajectory(questions[1], (1,)), fault(questions[2])],
        questions,
        {
            "mini:0#0": Score(value=1.0),
            "mini:1#0": Score(unscored=Unscored.JUDGE_FAULT),
            "mini:2#0": Score(unscored=Unscored.AGENT_FAULT),
        },
        memory_scores={"mini:0#0": Score(value=1.0), "mini:1#0": Score(unscored=Unscored.READER_FAULT)},
    )


def test_unscored_rows_stay_in_n_and_out_of_the_mean() -> None:
    table = unscored_table()
    assert table.n_rows == 4
    for name in ("Acc", "MemAcc", "F1", "Cell11"):
        found = table[name]
        assert (found.value, found.n, found.n_scored, found.n_undefined) == (1.0, 4, 1, 0)
    accuracy = table["Acc"]
    assert (accuracy.lowest, accuracy.highest) == (0.25, 1.0)


def test_a_trajectory_that_ended_on_a_fault_tells_nothing_about_the_agent() -> None:
    """Its few steps, pages and findings are what a server outage left of it."""
    table = unscored_table()
    for name in ("Turns", "Findings", "#UP", "Rec", "Pre", "PageF1", "Hit", "Rec(recipe)"):
        assert (table[name].n, table[name].n_scored) == (4, 2), name
    assert table["Turns"].value == 2.0
    assert table["Findings"].value == 1.0
    assert table["Invalid"].n_scored == 2


@pytest.mark.parametrize("reason", ["turn_limit", "malformed", "context_overflow", "image_cap"])
def test_an_empty_prediction_is_scored(reason: str) -> None:
    question = make_question()
    record = trajectory(question, stop_reason=StopReason(reason), answer=None)
    table = evaluate(
        [record], [question], {"mini:0#0": Score(value=0.0)}, memory_scores={"mini:0#0": Score(value=1.0)}
    )
    assert (table["Acc"].value, table["Acc"].n_scored) == (0.0, 1)
    assert table["Cell01"].value == 1.0, "the memory is still read"


def test_all_unscored_has_no_value_but_bounds() -> None:
    questions = [make_question(index) for index in range(3)]
    accuracy = evaluate([], questions, {})["Acc"]
    assert (accuracy.value, accuracy.n, accuracy.n_scored) == (None, 3, 0)
    assert (accuracy.lowest, accuracy.highest) == (0.0, 1.0)
    assert accuracy.interval is None


def test_without_a_reader_memory_metrics_are_undefined_not_zero() -> None:
    question = make_question()
    table = evaluate([trajectory(question)], [question], {"mini:0#0": Score(value=1.0)})
    for name in ("MemAcc", "P_mmc", "Cell11", "Cell00", "Gap", "GradedLoss"):
        assert (table[name].value, table[name].n, table[name].n_undefined) == (None, 0, 1)


def test_nothing_right_leaves_p_mmc_without_a_value() -> None:
    question = make_question()
    zero = {"mini:0#0": Score(value=0.0)}
    table = evaluate([trajectory(question)], [question], zero, memory_scores=zero)
    assert (table["P_mmc"].value, table["P_mmc"].n, table["P_mmc"].n_undefined) == (None, 0, 1)
    assert table["GradedLoss"].value is None
    assert table["F1"].value == 0.0


def test_every_question_and_sample_is_a_row() -> None:
    questions = [make_question(index) for index in range(2)]
    found = [trajectory(questions[0], sample_index=sample) for sample in (0, 2)]
    scores = {record.trajectory_id: Score(value=1.0) for record in found}
    table = evaluate(found, questions, scores)
    assert (table.n_rows, table["Acc"].n, table["Acc"].n_scored) == (6, 6, 2)
    rows = rows_of(questions, found, scores, None, samples=3)
    assert [row.trajectory is not None for row in rows] == [True, False, True, False, False, False]
    assert {row.answer.unscored for row in rows if row.trajectory is None} == {Unscored.AGENT_FAULT}


def test_no_rows_at_all() -> None:
    table = evaluate([], [], {})
    assert (table.n_rows, table["Acc"].value, table["Acc"].lowest) == (0, None, None)


# -- bounds ----------------------------------------------------------------------------------------------------

GRADES = (0.0, 0.5, 1.0)
BOUNDED = ["Acc", "F1", "MemAcc", "P_mmc", "Cell11", "Cell10", "Cell01", "Cell00", "Gap", "GradedLoss"]
HIDDEN = Score(unscored=Unscored.JUDGE_FAULT)


def completions(row: Row) -> Iterable[Row]:
    """Every way in which the unscored parts of a row could have come out."""
    import msgspec

    answers = (
        [(row.answer, row.prediction)]
        if row.answer.scored
        else [*((Score(value=grade), "7") for grade in GRADES), (Score(value=0.0), NA)]
    )
    if not row.answer.scored and row.question.unanswerable:
        answers = [(Score(value=0.0), "7"), (Score(value=1.0), NA)]
    memories = [row.memory] if row.memory and row.memory.scored else [Score(value=grade) for grade in GRADES]
    for (answer, prediction), memory in itertools.product(answers, memories):
        yield msgspec.structs.replace(row, answer=answer, prediction=prediction, memory=memory)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_whatever_the_unscored_rows_would_have_been(seed: int) -> None:
    rng = random.Random(seed)
    rows = [
        Row(
            question=make_question(index, unanswerable=rng.random() < 0.3),
            trajectory=None,
            answer=HIDDEN if rng.random() < 0.3 else Score(value=rng.choice(GRADES)),
            memory=HIDDEN if rng.random() < 0.4 else Score(value=rng.choice(GRADES)),
            prediction=rng.choice(["7", NA]),
        )
        for index in range(4)
    ]
    claimed = evaluate_rows(rows, BOUNDED)
    reached: dict[str, list[float]] = {name: [] for name in BOUNDED}
    for whole in itertools.product(*map(completions, rows)):
        for name, found in evaluate_rows(whole, BOUNDED).values.items():
            if found.value is not None:
                reached[name].append(found.value)
    for name, values in reached.items():
        if values:
            assert claimed[name].lowest <= min(values) + 1e-12, name
            assert claimed[name].highest >= max(values) - 1e-12, name


def test_bounds_are_no_wider_than_what_is_known() -> None:
    """A reader that failed on a row whose answer is known leaves two cells open, not four."""
    rows = [
        Row(question=make_question(0), trajectory=None, answer=Score(value=1.0), memory=Score(value=1.0)),
        Row(question=make_question(1), trajectory=None, answer=Score(value=0.5), memory=HIDDEN),
        Row(question=make_question(2), trajectory=None, answer=Score(value=0.0), memory=HIDDEN),
        Row(question=make_question(3, unanswerable=True), trajectory=None, answer=HIDDEN, memory=HIDDEN),
    ]
    table = evaluate_rows(rows, BOUNDED)
    bounds = {name: (table[name].lowest, table[name].highest) for name in BOUNDED}
    assert bounds["Acc"] == (1.5 / 4, 2.5 / 4)
    assert bounds["F1"] == (2 * 1.5 / (3 + 4), 2 * 1.5 / (3 + 3))  # an unanswerable row earns nothing in F1
    assert bounds["MemAcc"] == (1 / 4, 1.0)
    assert bounds["P_mmc"] == (0.0, 2 / 3)
    assert bounds["Cell11"] == (1 / 4, 3 / 4)
    assert bounds["Cell10"] == (0.0, 2 / 4)
    assert bounds["Cell01"] == (0.0, 2 / 4)
    assert bounds["Cell00"] == (0.0, 2 / 4)
    assert bounds["Gap"] == (-2 / 4, 2 / 4)


# -- against the official aggregate ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_accuracy_and_f1_are_the_official_ones(seed: int) -> None:
    """MMLongBench-Doc's `eval_acc_and_f1` leaves unscored samples out, and so do value and n_scored here."""
    rng = random.Random(seed)
    rows, samples = [], []
    for index in range(rng.randrange(1, 60)):
        unanswerable = rng.random() < 0.3
        prediction = rng.choice([NA, "7", ""])
        score = rng.choice([0.0, 1.0, rng.random()])
        score = float(prediction == NA) if unanswerable else 0.0 if prediction == NA else score
        scored = rng.random() < 0.9
        rows.append(
            Row(
                question=make_question(index, unanswerable=unanswerable),
                trajectory=None,
                answer=Score(value=score) if scored else HIDDEN,
                memory=None,
                prediction=prediction,
            )
        )
        samples.append(
            {"answer": NA if unanswerable else "7", "pred": prediction} | ({"score": score} if scored else {})
        )
    expected = acc_and_f1(samples)
    table = evaluate_rows(rows, ["Acc", "F1"])
    assert table["Acc"].n_scored == expected.n
    assert table["Acc"].value == pytest.approx(expected.acc) if expected.n else table["Acc"].value is None
    assert (table["F1"].value or 0.0) == pytest.approx(expected.f1)


# -- intervals and breakdowns ----------------------------------------------------------------------------------


def test_rates_carry_an_interval_over_documents() -> None:
    rows = []
    for index in range(20):
        question = make_question(index, doc_id=f"{index // 2}.pdf")
        rows.append(
            Row(question=question, trajectory=None, answer=Score(value=float(index < 10)), memory=None)
        )
    found = evaluate_rows(rows, ["Acc"])["Acc"]
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.181220, 0.818780), abs=1e-6)
    assert found.interval.clusters == 10
    fewer = evaluate_rows(rows[:18], ["Acc"])["Acc"]
    assert fewer.interval is None


def test_a_row_may_stand_in_several_parts() -> None:
    rows = worked_rows()[:3]
    parts = evaluate_by(rows, lambda row: ["all", "first"] if row is rows[0] else ["all"], ["Acc"])
    assert [(part.label, part.n_rows, part["Acc"].value) for part in parts] == [
        ("all", 3, 2 / 3),
        ("first", 1, 1.0),
    ]
