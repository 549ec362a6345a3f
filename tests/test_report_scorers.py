"""Several scorers in one report, the official aggregates in it, and a judge that dies half way."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import Cli, OwnSet
from fakes import make_question
from looseleaf import StopReason, Trajectory
from looseleaf.benchmarks import load_benchmark
from looseleaf.errors import ConfigError, RunError
from looseleaf.lab.human_audit_record import AuditDesign, AuditResult, StratumPlan
from looseleaf.metrics import Row, evaluate_rows
from looseleaf.models.role_spec import RoleSpec
from looseleaf.question import NOT_ANSWERABLE, Question
from looseleaf.report import Report, build_report
from looseleaf.report.agreement import scorer_agreements
from looseleaf.report.human_audit import audit_blocks
from looseleaf.report.markdown import as_markdown
from looseleaf.report.official import OfficialAggregates, official_aggregates, official_blocks
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import ReadingRow, Run, ScoreRow
from looseleaf.score import Score, Unscored
from looseleaf.scoring import NOT_OFFICIAL, SCORERS, THRESHOLDS, JudgeScorer, longdocurl, mmlongbench
from looseleaf.scoring.fine_grained import OFFICIAL_COUNTS

GOLDEN = Path(__file__).parent / "golden"
EMBEDDED = {"backend": "embedded", "argument": ""}
NO_ROLE = {"backend": "none", "argument": ""}
READER = "constant-7-11111111"
MakeModule = Callable[[str], str]

JUDGE = """
import json
from looseleaf.roles import Judgement

asked = []
dies_after = None

class Judge:
    def judge(self, prompt):
        if dies_after is not None and len(asked) >= dies_after:
            raise ConnectionError("the judge is away")
        case = json.loads(prompt[prompt.index("\\n{\\n"):])
        asked.append(case["question"])
        given = case.get("answer", case.get("response"))
        right = str(case["reference"]).casefold() in given.casefold()
        keys = {"binary_correctness": int(right), "equivalent": right, "abstained": given == "Not answerable"}
        return Judgement(text=json.dumps(keys))

def make():
    return Judge()
"""

AGENT = """
from looseleaf import Action

class Agent:
    def act(self, view):
        if not view.shown_pages:
            return Action.search(view.question)
        page = view.shown_pages[0]
        if view.protocol.memory != "none" and not view.memory.findings:
            return Action.note(view.page_text(page), page)
        return Action.answer(view.page_text(page).split(" has ")[-1].split()[0])

def make():
    return Agent()
"""


@pytest.fixture
def judge(agent_module: MakeModule) -> ModuleType:
    return importlib.import_module(agent_module(JUDGE))


@pytest.fixture
def policy(agent_module: MakeModule) -> str:
    return f"python:{agent_module(AGENT)}:make"


def json_report(run: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((run / "report" / "report.json").read_bytes())
    return loaded


def flat(text: str) -> str:
    return " ".join(text.split())


# -- a judge that dies after half of the rows ----------------------------------------------------------------------


def test_a_judge_that_dies_half_way_leaves_half_unscored_and_the_same_command_finishes(
    cli: Cli, own_set: OwnSet, policy: str, judge: ModuleType, tmp_path: Path
) -> None:
    command = (
        *("eval", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run", "--policy", policy),
        *(
            "--protocol",
            "rag",
            "--limit",
            6,
            "--scorer",
            "judge.binary",
            "--judge",
            f"python:{judge.__name__}:make",
        ),
    )
    judge.dies_after = 3
    outcome = cli(*command)
    assert outcome.code == 1
    assert "3 rows are unscored because something failed; the same command tries them again" in outcome.err
    accuracy = json_report(tmp_path / "run")["headline"]["values"]["Acc"]
    assert (accuracy["n"], accuracy["n_scored"]) == (6, 3)
    assert (accuracy["value"], accuracy["lowest"], accuracy["highest"]) == (1.0, 0.5, 1.0)
    assert "3 / 6" in outcome.out
    assert "[50.0 … 100.0]" in outcome.out
    assert "3 answers unscored (judge_fault)" in flat(outcome.out)
    upstream = json_report(tmp_path / "run")["headline"]["values"]["Acc(upstream)"]
    assert (upstream["value"], upstream["n_scored"]) == (0.5, 6), "upstream counts the outage as wrong, apart"
    [line] = json_report(tmp_path / "run")["scoring"]["scorers"]
    assert (line["mean"]["n_scored"], line["mean"]["n"], line["upstream"]) == (3, 6, 0.5)

    judge.dies_after = None
    first = list(judge.asked)
    judge.asked.clear()
    outcome = cli(*command)
    assert outcome.code == 0, outcome.err
    assert len(first) == len(judge.asked) == 3
    assert set(first) | set(judge.asked) == {row["question"] for row in own_set.rows[:6]}, "nothing twice"
    accuracy = json_report(tmp_path / "run")["headline"]["values"]["Acc"]
    assert (accuracy["value"], accuracy["n"], accuracy["n_scored"]) == (1.0, 6, 6)


def test_a_dead_extractor_is_no_zero_either(
    cli: Cli, own_set: OwnSet, policy: str, agent_module: MakeModule, tmp_path: Path
) -> None:
    extractor = agent_module(
        "class Dead:\n    def extract(self, question, response):\n        raise TimeoutError('away')\n"
        "def make():\n    return Dead()\n"
    )
    outcome = cli(
        *("eval", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run", "--policy", policy),
        *("--protocol", "rag", "--scorer", "mmlongbench", "--extractor", f"python:{extractor}:make"),
    )
    assert outcome.code == 1
    [line] = json_report(tmp_path / "run")["scoring"]["scorers"]
    assert (line["mean"]["value"], line["mean"]["n_scored"], line["mean"]["n"]) == (None, 0, 7)
    assert json_report(tmp_path / "run")["scoring"]["official"][0]["headline"][0]["n"] == 0


# -- several scorers -----------------------------------------------------------------------------------------------


def test_every_scorer_scores_answers_and_memories(
    cli: Cli, own_set: OwnSet, policy: str, judge: ModuleType, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    scorers = [word for name in SCORERS for word in ("--scorer", name)]
    outcome = cli(
        *("eval", own_set.questions, "--docs", own_set.docs, "--out", run, "--policy", policy, *scorers),
        *("--judge", f"python:{judge.__name__}:make"),
    )
    assert outcome.code == 0, outcome.err
    lines = json_report(run)["scoring"]["scorers"]
    assert [(line["scorer"], line["target"]) for line in lines] == [
        (name, target) for name in SCORERS for target in ("answer", "memory")
    ]
    assert {(line["mean"]["n"], line["mean"]["n_scored"]) for line in lines} == {(7, 7)}
    by_judge = [line for line in lines if isinstance(SCORERS[line["scorer"]], JudgeScorer)]
    assert {line["judge"] for line in by_judge} == {f"python:{judge.__name__}:make"}
    assert {line["extractor"] for line in by_judge} == {"none"}
    for line in lines:
        signs = "†" * (line not in by_judge) + "‡" * (line["target"] == "memory")
        assert line["marks"] == signs, line
    answers = {line["scorer"]: line["mean"]["value"] for line in lines if line["target"] == "answer"}
    assert answers["judge.binary"] == answers["judge.equivalence"] == pytest.approx(6 / 7)
    assert "Scorers side by side" in outcome.out
    assert len(list((run / "readings").glob("*.jsonl"))) == 1
    assert len(list((run / "extractions").glob("*.jsonl"))) == 1


def test_report_takes_ledgers_or_names_and_the_first_is_the_headline(
    cli: Cli, own_set: OwnSet, policy: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    data = ("eval", own_set.questions, "--docs", own_set.docs, "--out", run, "--policy", policy)
    assert cli(*data, "--scorer", "mmlongbench", "--scorer", "mmlongbench.safe").code == 0
    ids = {config["scorer"]: score_id for score_id, config in Run.open(run).sidecars("scores").items()}
    assert cli("report", run).code == 0
    assert json_report(run)["settings"]["scorer"] == "mmlongbench"
    assert len(json_report(run)["scoring"]["scorers"]) == 4, "what the last scoring had"
    assert cli("report", run, "--score", "mmlongbench.safe", "--score", ids["mmlongbench"]).code == 0
    assert json_report(run)["settings"]["scorer"] == "mmlongbench.safe"
    assert [line["scorer"] for line in json_report(run)["scoring"]["scorers"][::2]] == [
        "mmlongbench.safe",
        "mmlongbench",
    ]
    assert cli("report", run, "--score", "mmlongbench").code == 0
    assert len(json_report(run)["scoring"]["scorers"]) == 2
    assert json_report(run)["scoring"]["agreements"] == []
    for wrong in ("astrology", "qasper.f1"):
        outcome = cli("report", run, "--score", wrong)
        assert outcome.code == 2
        assert f"no scores '{wrong}'" in outcome.err
    assert cli("score", run, "--scorer", "mmlongbench", "--extractor", "none").code == 0
    outcome = cli("report", run, "--score", "mmlongbench")
    assert outcome.code == 2
    assert "several ledgers of mmlongbench; choose one of" in outcome.err
    assert cli("score", run, "--scorer", "mmlongbench", "--scorer", "astrology").code == 2


SCORES = (
    # question, gold, format, prediction, value by the first, value by the second
    ("mini:0", "7", "Int", "7", 1.0, 1.0),
    ("mini:1", "1234", "Int", "1,234", 0.0, 1.0),
    ("mini:2", "red", "Str", "rad", 0.6, 0.2),
    ("mini:3", "8", "Int", "8.9", 1.0, 0.0),
    ("mini:4", "x", "Str", "y", 0.0, 0.0),
    ("mini:5", "z", "Str", "z", 1.0, None),
    ("mini:6", NOT_ANSWERABLE, "None", "Unanswerable", 0.7, 1.0),
)


def two_scorers(path: Path) -> Run:
    """A stored run that was scored by the official and by the safe rule."""
    run = Run.create(path)
    run.write_config(RunConfig(data=DataConfig(benchmark="mini", path="data")).as_tables())
    run.write_questions(
        make_question(index, references=(gold,), answer_format=label, unanswerable=gold == NOT_ANSWERABLE)
        for index, (_, gold, label, *_) in enumerate(SCORES)
    )
    run.write_sidecar("extractions", "embedded-3", {"extractor": EMBEDDED})
    run.write_sidecar("readings", READER, {"reader": {"backend": "constant", "argument": "7"}})
    for name in ("mmlongbench", "mmlongbench.safe"):
        run.write_sidecar("scores", name, {"scorer": name, "extraction_id": "embedded-3", "judge": NO_ROLE})
    run.write_manifest(
        {"score": {"score_id": "mmlongbench", "also": ["mmlongbench.safe"], "reading_ids": [READER]}}
    )
    with run.writing():
        for question_id, _, _, prediction, *values in SCORES:
            key = f"{question_id}#0"
            run.trajectory_ledger.append(a_trajectory(question_id, prediction))
            run.readings(READER).append(ReadingRow(trajectory_id=key, text="7"))
            for name, value in zip(("mmlongbench", "mmlongbench.safe"), values, strict=True):
                ledger = run.scores(name)
                failed = Unscored.EXTRACTOR_FAULT if value is None else None
                recorded = value if name == "mmlongbench" else None
                ledger.append(
                    ScoreRow(
                        trajectory_id=key,
                        target="answer",
                        prediction=None if failed else prediction,
                        value=value,
                        unscored=failed,
                        upstream_value=recorded,
                    )
                )
                ledger.append(
                    ScoreRow(
                        trajectory_id=key,
                        target="memory",
                        reading_id=READER,
                        prediction="7",
                        value=float(question_id == "mini:0"),
                    )
                )
    return run


def a_trajectory(question_id: str, answer: str) -> Trajectory:
    return Trajectory(
        trajectory_id=f"{question_id}#0",
        question_id=question_id,
        benchmark="mini",
        doc_id="fake.pdf",
        question="?",
        answer=answer,
        stop_reason=StopReason.ANSWERED,
    )


def test_means_and_upstreams_convention_by_hand(tmp_path: Path) -> None:
    lines = build_report(two_scorers(tmp_path / "run")).scoring.scorers
    official, official_memory, safe, _ = lines
    assert official.mean.value == pytest.approx(4.3 / 7)
    assert (official.mean.n_scored, official.mean.n) == (7, 7)
    assert official.upstream == pytest.approx(4.3 / 7)
    assert (safe.mean.value, safe.mean.n_scored, safe.mean.n) == (pytest.approx(3.2 / 6), 6, 7)
    assert safe.mean.lowest == pytest.approx(3.2 / 7)
    assert safe.mean.highest == pytest.approx(4.2 / 7)
    assert safe.upstream is None
    assert official_memory.mean.value == pytest.approx(1 / 7)
    assert (official.marks, official_memory.marks) == ("†", "†"), "the constant reader is nobody's model"


def test_agreement_by_hand(tmp_path: Path) -> None:
    """Six rows have both scores. At > 0 the verdicts are 11, 01, 11, 10, 00, 11."""
    report = build_report(two_scorers(tmp_path / "run"))
    found = {(each.target, each.threshold): each for each in report.scoring.agreements}
    assert set(found) == {(target, name) for target in ("answer", "memory") for name in THRESHOLDS}
    loose = found["answer", ">0"]
    assert (loose.both, loose.only_first, loose.only_second, loose.neither) == (3, 1, 1, 1)
    assert (loose.n, loose.n_rows) == (6, 7)
    # observed 4/6; both call 4 of 6 right: chance 4/6 · 4/6 + 2/6 · 2/6 = 5/9
    assert loose.kappa == pytest.approx((4 / 6 - 5 / 9) / (1 - 5 / 9))
    strict = found["answer", "=1"]
    assert (strict.both, strict.only_first, strict.only_second, strict.neither) == (1, 1, 2, 2)
    half = found["answer", ">=0.5"]
    assert (half.both, half.only_first, half.only_second, half.neither) == (2, 2, 1, 1)
    assert found["memory", ">0"].kappa == 1.0
    assert [(each.question_id, each.predictions, each.gold, each.values) for each in loose.disagreements] == [
        ("mini:1", ("1,234", "1,234"), "1234", (0.0, 1.0)),
        ("mini:3", ("8.9", "8.9"), "8", (1.0, 0.0)),
    ]
    assert strict.disagreements == [], "only the threshold in force lists its rows"
    text = as_markdown(report)
    assert "mmlongbench † against mmlongbench.safe †, answer, correct if &gt;0" in text
    assert "| mini:3 | 8.9 | 8.9 | 8 | 1.00 | 0.00 |" in text
    again = build_report(two_scorers(tmp_path / "again"), threshold="=1").scoring.agreements
    listed = {each.threshold for each in again if each.disagreements}
    assert listed == {"=1"}


def test_the_rows_on_which_official_and_safe_differ(tmp_path: Path) -> None:
    """They come from both rules on the stored short answers, whatever scores are stored."""
    report = build_report(two_scorers(tmp_path / "run"), score_id="mmlongbench")
    found = report.scoring.safe
    assert found is not None
    assert found.n == 7 + 7
    answers = {row.question_id: (row.official, row.safe) for row in found.rows if row.target == "answer"}
    assert answers.pop("mini:6") == (pytest.approx(0.714, abs=0.01), 1.0)
    assert answers == {"mini:1": (0.0, 1.0), "mini:3": (1.0, 0.0)}
    text = as_markdown(report)
    assert "| mini:1 | answer | Int | 1,234 | 1234 | 0.00 | 1.00 |" in text
    assert "mmlongbench.safe †" in text
    assert f"The rules differ on {len(found.rows)} of 14 short answers" in text


def test_an_official_function_that_raises_is_named() -> None:
    from looseleaf.report.agreement import safe_block, safe_differences

    rows = [a_row("['Red']", "[Red]", "List", 0.0)]
    found = safe_differences("mmlongbench", rows, ["answer"])
    assert found is not None
    [row] = found.rows
    assert (row.official, row.upstream_raises, row.safe) == (0.0, "NameError", 1.0)
    assert "0.00 (NameError)" in safe_block(found).rows[0]
    assert safe_differences("qasper.f1", rows, ["answer"]) is None
    ldu = safe_differences("longdocurl", [a_row(96395, "96,395", "Integer", 0.0)], ["answer"])
    assert ldu is not None
    assert [(row.official, row.safe) for row in ldu.rows] == [(0.0, 1.0)], (
        "through the official pipeline's evaluation"
    )


def test_a_list_that_is_too_long_says_where_the_rest_is() -> None:
    from looseleaf.report.agreement import SHOWN, agreement_blocks

    rows = {
        name: [a_row("7", "7", "Int", value) for _ in range(SHOWN + 3)]
        for name, value in (("a", 1.0), ("b", 0.0))
    }
    table, listed = agreement_blocks(scorer_agreements(rows, ["answer"], " >0 "), " >0 ")
    assert len(listed.rows) == SHOWN
    assert listed.sentences == ("3 more rows are in report.json.",)
    assert table.rows == (("a / b", "answer", "0.00", "0.00", "0.00", "0", "53", "0", "0", "53"),)


def test_no_upstream_number_where_there_is_no_upstream_pipeline(tmp_path: Path) -> None:
    """A safe rule has no official code behind it: 0 in that column would be read as a result."""
    run = two_scorers(tmp_path / "run")
    assert "Acc(upstream)" in build_report(run, score_id="mmlongbench").headline.values
    assert "Acc(upstream)" not in build_report(run, score_id="mmlongbench.safe").headline.values


# -- the threshold is a named option -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scorer", "threshold", "right"),
    [
        *(("mmlongbench", ">0", 5), ("mmlongbench", ">=0.5", 5), ("mmlongbench", "=1", 3)),
        *(("mmlongbench.safe", ">0", 4), ("mmlongbench.safe", ">= 0.5", 3), ("mmlongbench.safe", "=1", 3)),
    ],
)
def test_a_report_binarises_by_the_named_threshold(
    tmp_path: Path, scorer: str, threshold: str, right: int
) -> None:
    report = build_report(two_scorers(tmp_path / "run"), score_id=scorer, threshold=threshold)
    assert report.settings["correct if score"] == threshold
    found = report.cells["Cell11"], report.cells["Cell10"]
    assert sum((cell.value or 0.0) * cell.n_scored for cell in found) == pytest.approx(right)


def test_an_unknown_threshold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no threshold 'often'"):
        build_report(two_scorers(tmp_path / "run"), threshold="often")


def test_a_later_report_says_the_same_as_the_scoring(
    cli: Cli, own_set: OwnSet, policy: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    data = ("eval", own_set.questions, "--docs", own_set.docs, "--out", run, "--policy", policy)
    assert cli(*data, "--threshold", "=1").code == 0
    assert json_report(run)["settings"]["correct if score"] == "=1"
    assert cli("report", run).code == 0
    assert json_report(run)["settings"]["correct if score"] == "=1"
    assert cli("report", run, "--threshold", ">=0.5").code == 0
    assert json_report(run)["settings"]["correct if score"] == ">=0.5"
    assert cli("score", run, "--threshold", ">=0.5").code == 0
    assert cli("report", run).code == 0
    assert json_report(run)["settings"]["correct if score"] == ">=0.5"
    for command in (data, ("score", run), ("report", run)):
        outcome = cli(*command, "--threshold", "often")
        assert outcome.code == 2
        assert "There is no threshold 'often'; use one of >0, >=0.5, =1." in outcome.err


# -- official aggregates -------------------------------------------------------------------------------------------


def a_row(gold: Any, prediction: str, label: str, value: float | None, **fields: Any) -> Row:
    given = {"references": (gold,), "answer_format": label, "unanswerable": gold == NOT_ANSWERABLE}
    return Row(
        question=make_question(**(given | fields)),
        trajectory=None,
        answer=Score(value=value) if value is not None else Score(unscored=Unscored.EXTRACTOR_FAULT),
        memory=None,
        prediction=prediction,
    )


def golden(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return loaded


def listed(value: Any) -> list[Any]:
    found: list[Any] = json.loads(value.replace("'", '"')) if isinstance(value, str) else value
    return found


def row_of(sample: dict[str, Any]) -> Row:
    return a_row(
        sample["answer"],
        sample["pred"],
        sample.get("answer_format", ""),
        sample.get("score"),
        evidence_pages=tuple(listed(sample.get("evidence_pages", []))),
        sources=tuple(listed(sample.get("evidence_sources", []))),
        doc_type=sample.get("doc_type", ""),
        tags={key: sample[key] for key in ("task_tag", "question_type") if key in sample},
    )


def of_answers(scorer: str, rows: Sequence[Row]) -> OfficialAggregates:
    found = official_aggregates(scorer, rows, "answer", None)
    assert found is not None
    return found


@pytest.mark.parametrize("one", golden("mmlongbench_breakdown.json"), ids=lambda one: one["name"])
def test_mmlongbench_aggregates_are_the_official_ones(one: dict[str, Any]) -> None:
    rows = [row_of(sample) for sample in one["samples"]]
    found = of_answers("mmlongbench", rows)
    overall, f1, *slices = one["results_in_official_order"]
    assert [(line.name, line.value) for line in found.headline] == [
        ("Acc", overall["value"]),
        ("F1", f1["value"]),
    ]
    scored = {part.label for part in found.official if part.value is not None}
    assert [(part.label, part.value or 0.0, part.n) for part in found.official] == [
        (line["label"], line["value"], line["count"]) for line in slices
    ]
    assert scored >= {line["label"] for line in slices if line["value"]}
    for group in ("Pages", "Source", "Document Type"):
        parts = [part for part in found.partition if part.label.startswith(group)]
        assert sum(part.n for part in parts) == len(rows)


@pytest.mark.parametrize("one", golden("mmlongbench_acc_f1.json"), ids=lambda one: one["name"])
def test_the_reports_f1_is_the_official_one(one: dict[str, Any]) -> None:
    if any("answer" not in sample or "pred" not in sample for sample in one["samples"]):
        pytest.skip("a row without a gold answer or prediction cannot be stored")
    rows = [row_of(sample) for sample in one["samples"]]
    ours = evaluate_rows(rows, ("Acc", "F1"))
    wanted = mmlongbench.acc_and_f1(one["samples"])
    assert (wanted.acc, wanted.f1) == (one["acc"], one["f1"])
    assert (ours["Acc"].value or 0.0) == pytest.approx(wanted.acc, abs=1e-12)
    assert (ours["F1"].value or 0.0) == pytest.approx(wanted.f1, abs=1e-12)
    if rows:
        assert [line.value for line in of_answers("mmlongbench", rows).headline] == [wanted.acc, wanted.f1]


def test_failures_are_left_out_of_ours_and_wrong_attempts_upstream() -> None:
    rows = [
        a_row("7", "7", "Int", 1.0),
        a_row("8", "", "Int", None),
        a_row("9", "", "Int", 0.0),
        a_row(NOT_ANSWERABLE, NOT_ANSWERABLE, "None", 1.0),
    ]
    found = official_aggregates("mmlongbench", rows, "answer", None)
    assert found is not None
    acc, f1 = found.headline
    assert (acc.value, acc.n, acc.n_upstream) == (pytest.approx(2 / 3), 3, 4)
    assert f1.value == pytest.approx(2 * 1 / (2 + 2)), "one of two answerable rows, one of two attempts"
    assert (acc.upstream, f1.upstream) == (0.0, 0.0), "no trajectory, so upstream has recorded nothing"


def test_overlap_is_said_aloud() -> None:
    rows = [
        a_row("7", "7", "Int", 1.0, evidence_pages=(3,), sources=("Chart", "Table")),
        a_row(NOT_ANSWERABLE, "7", "None", 0.0, evidence_pages=(2,)),
        a_row("8", "7", "Int", 0.0, evidence_pages=()),
    ]
    found = of_answers("mmlongbench", rows)
    assert found.notes == [
        "The official page slices may overlap: 2 + 1 + 1 = 4 of 3 rows. A row with several sources is in each of them."
    ]
    headline, official, partition = official_blocks([found], {"answer": "†"})
    assert headline.rows[0][:3] == ("Acc †", "answer", "33.3")
    assert official.head == ("", "answer †", "n")
    assert official.sentences == tuple(found.notes)
    assert ("Pages: unanswerable", "0.0", "1") in partition.rows


LONGDOCURL = [
    one for one in golden("longdocurl_gacc.json") if all(isinstance(s["pred"], str) for s in one["samples"])
]


@pytest.mark.parametrize("one", LONGDOCURL, ids=lambda one: one["name"])
def test_longdocurl_aggregates_are_the_official_ones(one: dict[str, Any]) -> None:
    rows = []
    for sample in one["samples"]:
        assert longdocurl.official_prediction(sample["pred"]) == sample["pred"]
        failed = sample["pred"] == longdocurl.FAIL_TO_EXTRACT
        value = longdocurl.score(sample["answer"], sample["pred"], sample["answer_format"]).value
        rows.append(row_of(sample | {"score": 0.0 if failed else value}))
    found = of_answers("longdocurl", rows)
    gacc, rectified = found.headline
    assert gacc.value == one["generalized_accuracy"]
    assert gacc.value == pytest.approx(evaluate_rows(rows, ("Acc",))["Acc"].value)
    assert rectified.value == one["rectified_generalized_accuracy"]
    totals = {part.label: part.total for part in found.official}
    assert totals == dict(leaves(one["fine_grained_score_sums"]))
    assert sum(part.n for part in found.official if part.label.startswith("Main_Task")) == len(rows)
    assert any("official ones are of the full set" in note for note in found.notes)


def leaves(table: dict[str, Any], above: str = "") -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for key, value in table.items():
        found += leaves(value, f"{above}{key}: ") if isinstance(value, dict) else [(f"{above}{key}", value)]
    return found


def test_the_full_set_gets_the_official_denominators() -> None:
    tags = {"task_tag": "Understanding", "question_type": "extract"}
    row = a_row("x", "x", "String", 1.0, tags=tags, evidence_pages=(1,), sources=("Figure",))
    found = of_answers("longdocurl", [row] * longdocurl.OFFICIAL_ROWS)
    figure = next(part for part in found.official if part.label == "Element_Type: Figure")
    assert (figure.n, figure.total) == (OFFICIAL_COUNTS["Element_Type"]["Figure"], 2325)
    assert any("denominators are the official ones" in note for note in found.notes)
    assert found.headline[1].value == pytest.approx(1.0)


def test_rows_that_would_end_the_official_script_are_counted() -> None:
    tags = {"task_tag": "Understanding", "question_type": "extract"}
    first = a_row("x", "x", "String", 1.0, tags=tags, sources=("Text",))
    found = of_answers("longdocurl", [first])
    assert any("1 rows would end the official fine-grained script" in note for note in found.notes)
    untagged = of_answers("longdocurl", [a_row("x", "x", "String", 1.0)])
    assert untagged.official == []


def test_other_scorers_have_no_official_aggregates() -> None:
    assert official_aggregates("mmlongbench.safe", [a_row("7", "7", "Int", 1.0)], "answer", None) is None
    assert official_aggregates("mmlongbench", [], "answer", None) is None


def stored_gold_run(path: Path, questions: Sequence[Question]) -> Report:
    """A run in which everybody answers with the gold answer."""
    run = Run.create(path)
    run.write_config(RunConfig(data=DataConfig(benchmark="mini", path="data")).as_tables())
    run.write_questions(questions)
    run.write_sidecar("extractions", "embedded-3", {"extractor": EMBEDDED})
    run.write_sidecar(
        "scores", "mmlongbench", {"scorer": "mmlongbench", "extraction_id": "embedded-3", "judge": NO_ROLE}
    )
    with run.writing():
        for question in questions:
            gold = str(question.references[0])
            score = mmlongbench.score(gold, gold, question.answer_format)
            run.trajectory_ledger.append(a_trajectory(question.question_id, gold))
            run.scores("mmlongbench").append(
                ScoreRow(
                    trajectory_id=f"{question.question_id}#0",
                    target="answer",
                    prediction=gold,
                    value=score.value,
                    upstream_raises=score.upstream_raises,
                    upstream_value=mmlongbench.official_pipeline(
                        f"Extracted answer: {gold}\nAnswer format: Str", gold, question.answer_format
                    ).value,
                )
            )
    return build_report(run)


def test_the_whole_of_mmlongbench_in_a_report(tmp_path: Path) -> None:
    """1,082 questions answered by their gold answers: 1,077 right, page slices that sum to 1,089."""
    folder = Path(os.environ.get("LOOSELEAF_DATA", "")) / "mmlongbench"
    if not (folder / "samples.json").is_file():
        pytest.skip("LOOSELEAF_DATA names no folder with mmlongbench/samples.json")
    report = stored_gold_run(tmp_path / "run", load_benchmark("mmlongbench-doc", folder).questions)
    [found] = report.scoring.official
    acc, f1 = found.headline
    assert (acc.value, acc.n, acc.upstream) == (pytest.approx(1077 / 1082), 1082, pytest.approx(1077 / 1082))
    assert report.headline["F1"].value == pytest.approx(f1.value, abs=1e-12)
    assert [part.n for part in found.official[:3]] == [494, 372, 223]
    assert "494 + 372 + 223 = 1,089 of 1,082 rows" in as_markdown(report)
    for group in ("Pages", "Source", "Document Type"):
        assert sum(part.n for part in found.partition if part.label.startswith(group)) == 1082
    assert found.headline[0].value == report.headline["Acc"].value


def test_a_run_of_the_demo_carries_the_mark_on_every_official_number(tmp_path: Path) -> None:
    from looseleaf.demo_data import DEMO_DATA

    config = RunConfig(data=DataConfig(benchmark="procedural", path=str(DEMO_DATA)), limit=6)
    run = execute(config, tmp_path / "run").run
    score_run(run, ScoreConfig(also=("mmlongbench.safe", "qasper.f1")))
    report = build_report(run)
    assert report.headline["F1"].value == pytest.approx(
        report.scoring.official[0].headline[1].value, abs=1e-12
    )
    text = as_markdown(report)
    sections = {
        part.splitlines()[0]: part
        for part in text.split("## ")
        if part.startswith(("MMLongBench-Doc", "Scorers", "Agree"))
    }
    assert len(sections) == 5
    for title, part in sections.items():
        numbers = [line for line in part.splitlines() if line.startswith("| ") and "---" not in line]
        marked = numbers[:1] if "breakdown" in title else numbers[1:]
        assert marked
        for line in marked:
            assert "†" in line, line
    assert "not official: rule extractor" in text


def test_the_judges_numbers_carry_no_extractor_mark(
    tmp_path: Path, own_set: OwnSet, policy: str, judge: ModuleType
) -> None:
    data = DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs))
    run = execute(RunConfig(data=data, policy=RoleSpec.parse(policy)), tmp_path / "run").run
    spec = RoleSpec(backend="python", argument=f"{judge.__name__}:make")
    score_run(run, ScoreConfig(scorer="judge.binary", judge=spec, readers=()))
    report = build_report(run)
    assert [line.marks for line in report.scoring.scorers] == [""]
    assert "†" not in as_markdown(report)
    with pytest.raises(RunError, match="no scores"):
        build_report(run, score_id="mmlongbench")


def test_a_human_audit_of_the_rule_extractors_verdicts_is_marked() -> None:
    design = AuditDesign(
        audit_id="audit-1",
        score_id="mmlongbench",
        reading_id=READER,
        threshold=">0",
        others=[],
        seed=0,
        strata={"11": StratumPlan(1, 1)},
        drawn={"mini:0#0": "11"},
        left_out=0,
    )
    result = AuditResult(design=design, labelled={"11": 1}, estimates={}, judges={})
    estimates, _ = audit_blocks(result, {"†": NOT_OFFICIAL})
    assert "by the judge †" in estimates.head
    assert f"† {NOT_OFFICIAL}" in estimates.sentences
    plain, _ = audit_blocks(result, {})
    assert "by the judge" in plain.head
