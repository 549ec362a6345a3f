"""Reports say what the numbers depend on, keep unscored rows visible, and show foreign text as text."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from fakes import make_question
from looseleaf import Finding, StopReason, Trajectory
from looseleaf.errors import RunError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS
from looseleaf.report import Report, build_report, print_comparison, print_report, write_report
from looseleaf.report.markdown import as_markdown
from looseleaf.roles import Observation
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.score import score_run
from looseleaf.runstore import ReadingRow, Run, ScoreRow
from looseleaf.score import Unscored
from looseleaf.trajectory import Step

EMBEDDED = {"backend": "embedded", "argument": ""}
N = 24


def record(index: int, **fields: Any) -> Trajectory:
    given = {
        "trajectory_id": f"mini:{index}#0",
        "question_id": f"mini:{index}",
        "benchmark": "mini",
        "doc_id": f"{index // 2}.pdf",
        "question": f"What is number {index}?",
        "steps": (
            Step(turn=1, observation=Observation("", shown=(2,))),
            Step(turn=2, observation=Observation("")),
        ),
        "memory": (Finding("A fact.", 2),),
        "answer": "7",
        "stop_reason": StopReason.ANSWERED,
    }
    return Trajectory(**(given | fields))


def make_run(
    path: Path,
    *,
    config: RunConfig | None = None,
    faults: int = 0,
    readers: tuple[str, ...] = ("embedded-11111111",),
    question: dict[str, Any] | None = None,
    oracle: dict[str, Any] | None = None,
    blind: int = 0,
) -> Run:
    """A stored run of 24 questions over 12 documents: every second answer right, every fourth memory right.

    The last `faults` trajectories ended on a provider error; the first `blind` ones were shown no page.
    """
    run = Run.create(path)
    config = config or RunConfig(data=DataConfig(benchmark="mini", path="data"))
    run.write_config(config.as_tables())
    run.write_manifest(
        {
            "data": {"name": "mini", "version": "v1", "notes": ["Two gold answers were repaired."]},
            "counts": {"n_set": 30, "n_selected": N, "n_without_document": 6},
            "retriever": {"name": "bm25", "family": "lexical"},
        }
    )
    fields = {"evidence_pages": (2,), "doc_type": "Report", "sources": ("Table", "Chart")} | (question or {})
    run.write_questions(
        make_question(index, doc_id=f"{index // 2}.pdf", unanswerable=index % 6 == 5, **fields)
        for index in range(N)
    )
    scores = run.scores("mmlongbench-22222222")
    run.write_sidecar("extractions", "embedded-33333333", {"extractor": EMBEDDED})
    for reader in readers:
        run.write_sidecar("readings", reader, {"reader": {"backend": reader.split("-")[0], "argument": ""}})
    run.write_sidecar(
        "scores",
        "mmlongbench-22222222",
        {
            "scorer": "mmlongbench",
            "extraction_id": "embedded-33333333",
            "judge": {"backend": "none", "argument": ""},
        },
    )
    with run.writing():
        for index in range(N):
            failed = index >= N - faults
            more = (
                {"stop_reason": StopReason.PROVIDER_ERROR, "answer": None, "error": "away"} if failed else {}
            )
            if index < blind:
                more["steps"] = (Step(turn=1, observation=Observation("No page matches.")),)
            run.trajectory_ledger.append(record(index, oracle=oracle or {}, **more))
            reason = Unscored.AGENT_FAULT if failed else None
            identity = {
                "trajectory_id": f"mini:{index}#0",
                "extraction_id": "embedded-33333333",
                "unscored": reason,
            }
            value = None if failed else float(index % 2 == 0)
            scores.append(ScoreRow(target="answer", value=value, prediction="7", **identity))
            for reader in readers:
                if not failed:
                    run.readings(reader).append(ReadingRow(trajectory_id=f"mini:{index}#0", text="7"))
                    value = float(index % 4 == 0)
                    scores.append(ScoreRow(target="memory", reading_id=reader, value=value, **identity))
    return run


def terminal(report: Report) -> str:
    out = Console(file=io.StringIO(), width=140)
    print_report(out, report)
    return out.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def flat(text: str) -> str:
    return " ".join(text.split())


# -- numbers -------------------------------------------------------------------------------------------------------


def test_the_report_says_the_numbers_of_the_run(tmp_path: Path) -> None:
    report = build_report(make_run(tmp_path / "run"))
    headline = {name: found.value for name, found in report.headline.values.items()}
    assert headline["Acc"] == 12 / 24
    assert headline["MemAcc"] == 6 / 24
    assert headline["P_mmc"] == 6 / 12
    assert headline["Acc[answerable]"] == 12 / 20
    assert headline["Rec"] == 1.0
    assert {name: found.value for name, found in report.cells.values.items()} == {
        "Cell11": 6 / 24,
        "Cell10": 6 / 24,
        "Cell01": 0.0,
        "Cell00": 12 / 24,
    }
    assert report.headline["Acc"].interval is not None
    assert report.stop_reasons == {"answered": 24}
    assert report.counts["questions in the set"] == 30
    assert report.counts["selected"] == report.counts["scored"] == 24
    assert (report.counts["answerable"], report.counts["unanswerable"], report.counts["documents"]) == (
        20,
        4,
        12,
    )


def test_breakdowns_name_every_row(tmp_path: Path) -> None:
    report = build_report(
        make_run(tmp_path / "run", question={"sources": (), "doc_type": "", "answer_format": ""})
    )
    for name, tables in report.breakdowns.items():
        assert sum(table.n_rows for table in tables) == 24, name
    sources = build_report(make_run(tmp_path / "other")).breakdowns[
        "evidence source (a question may have several)"
    ]
    assert [(table.label, table.n_rows) for table in sources] == [("Table", 24), ("Chart", 24)]


def test_unscored_rows_stay_in_n_with_bounds_and_a_notice(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", faults=4)
    report = build_report(run)
    accuracy = report.headline["Acc"]
    assert (accuracy.value, accuracy.n, accuracy.n_scored) == (10 / 20, 24, 20)
    assert (accuracy.lowest, accuracy.highest) == (10 / 24, 14 / 24)
    assert report.stop_reasons == {"answered": 20, "provider_error": 4}
    assert any("4 answers unscored (agent_fault)" in notice for notice in report.notices)
    for text in (terminal(report), as_markdown(report)):
        assert "20 / 24" in text
        assert "[41.7 … 58.3]" in text
        assert "4 answers unscored" in flat(text)


def test_one_unscored_row_is_one(tmp_path: Path) -> None:
    notices = build_report(make_run(tmp_path / "run", faults=1)).notices
    assert any(notice.startswith("1 answer unscored (agent_fault)") for notice in notices)


def test_two_readers_do_not_mix_and_the_first_is_the_headline(tmp_path: Path) -> None:
    """`ScoreConfig.readers`: the first is the headline reader; a report made later says the same as the first one."""
    run = make_run(tmp_path / "run", readers=())
    config = ScoreConfig(
        extractor=RoleSpec(backend="none"),
        readers=(RoleSpec(backend="constant", argument="7"), RoleSpec(backend="constant", argument="8")),
    )
    scored = score_run(run, config)
    values = [
        build_report(run, score_id=scored.score_id, reading_id=reading_id).headline["MemAcc"].value
        for reading_id in scored.reading_ids
    ]
    assert values == [1.0, 0.0]
    again = build_report(run, score_id=scored.score_id)
    assert again.settings["reader"] == "constant:7"
    assert again.headline["MemAcc"].value == 1.0


def test_without_a_reader_memory_is_undefined_and_not_zero(tmp_path: Path) -> None:
    report = build_report(make_run(tmp_path / "run", readers=()))
    assert report.headline["MemAcc"].value is None
    assert report.settings["reader"] == "none"
    line = next(line for line in as_markdown(report).splitlines() if line.startswith("| MemAcc †"))
    assert line.split(" | ")[1] == "–"


def test_a_run_that_is_not_scored_says_what_to_do(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run")
    run.write_config(RunConfig(data=DataConfig(benchmark="mini", path="data")).as_tables())
    with pytest.raises(RunError, match="is not scored yet; use `looseleaf score"):
        build_report(run)
    with pytest.raises(RunError, match="has no scores 'nope-1'"):
        build_report(make_run(tmp_path / "other"), score_id="nope-1")


def test_an_imported_run_without_configuration_has_a_report(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run.path / "config.toml").unlink()
    (run.path / "manifest.json").unlink()
    report = build_report(run)
    assert report.headline["Acc"].value == 0.5
    assert as_markdown(report)
    assert terminal(report)


# -- what the numbers depend on --------------------------------------------------------------------------------------


def test_everything_that_numbers_depend_on_is_named(tmp_path: Path) -> None:
    config = RunConfig(
        data=DataConfig(benchmark="mini", path="data"),
        protocol=PROTOCOLS["alden"],
        policy=RoleSpec(backend="openai", argument="org/model"),
    )
    report = build_report(make_run(tmp_path / "run", config=config, readers=("gguf-44444444",)))
    text = flat(json.dumps(report.settings, ensure_ascii=False))
    for word in (
        "mini v1",
        "openai:org/model",
        "alden",
        "6 turns",
        "bm25",
        "lexical",
        "862,400",
        "mmlongbench",
        "gguf",
    ):
        assert word in text, word
    assert "embedded" in report.settings["extractor"]
    for shown in (flat(terminal(report)), flat(as_markdown(report))):
        for word in ("openai:org/model", "alden", "bm25", "lexical", "862,400", "mmlongbench"):
            assert word in shown, word


def test_embedded_models_are_called_what_they_are(tmp_path: Path) -> None:
    notices = " ".join(build_report(make_run(tmp_path / "run")).notices)
    assert "text-and-OCR extractive baseline, not a VLM" in notices
    assert "not official: rule extractor" in notices
    assert "not an LLM" in notices
    assert "P_mmc near 0" in notices


def test_other_models_are_not(tmp_path: Path) -> None:
    config = RunConfig(
        data=DataConfig(benchmark="mini", path="data"), policy=RoleSpec(backend="openai", argument="m")
    )
    notices = " ".join(build_report(make_run(tmp_path / "run", config=config, readers=("openai-1",))).notices)
    assert "VLM" not in notices
    assert "P_mmc" not in notices


def test_oracles_exclusions_and_repairs_are_said(tmp_path: Path) -> None:
    report = build_report(make_run(tmp_path / "run", oracle={"gold_pages": True}))
    assert "Oracle setting in force: gold_pages." in report.notices
    assert "6 of 30 rows have no document here: excluded and counted." in report.notices
    assert "Two gold answers were repaired." in report.notices
    assert "gold_pages" in terminal(report)


def test_a_run_that_saw_no_pages_is_called_that(tmp_path: Path) -> None:
    """Scans without OCR: every search is empty, and each unanswerable row is right by chance."""
    (notice,) = [
        notice
        for notice in build_report(make_run(tmp_path / "run", blind=18, faults=2)).notices
        if "no page" in notice
    ]
    assert notice.startswith("18 of 22 trajectories were shown no page.")
    assert "--ocr" in notice
    read = RunConfig(data=DataConfig(benchmark="mini", path="data"), ocr=True)
    (notice,) = [
        notice
        for notice in build_report(make_run(tmp_path / "ocr", blind=18, config=read)).notices
        if "no page" in notice
    ]
    assert notice == "18 of 24 trajectories were shown no page."
    for blind in (0, 2):
        few = build_report(make_run(tmp_path / f"few-{blind}", blind=blind))
        assert not any("no page" in notice for notice in few.notices)


def test_comparing_across_different_settings_warns(tmp_path: Path) -> None:
    """Comparisons across different protocols, retrievers, scorers, extractors or readers carry a warning."""
    data = DataConfig(benchmark="mini", path="data")
    one = build_report(make_run(tmp_path / "one"))
    two = build_report(
        make_run(
            tmp_path / "two", config=RunConfig(data=data, protocol=PROTOCOLS["alden"]), readers=("gguf-1",)
        )
    )
    out = Console(file=io.StringIO(), width=140)
    print_comparison(out, [one, two])
    text = flat(out.file.getvalue())  # type: ignore[attr-defined]
    assert "one" in text
    assert "two" in text
    assert "protocol" in text.lower()
    assert "reader" in text.lower()


# -- files and foreign text --------------------------------------------------------------------------------------------


def test_reports_are_written_as_json_and_markdown(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    report = build_report(run)
    json_path, markdown_path = write_report(run, report)
    assert (json_path, markdown_path) == (
        run.path / "report" / "report.json",
        run.path / "report" / "report.md",
    )
    assert msgspec.json.decode(json_path.read_bytes(), type=Report) == report
    assert json.loads(json_path.read_bytes())["headline"]["values"]["Acc"]["value"] == 0.5
    assert markdown_path.read_text(encoding="utf-8") == as_markdown(report)


def test_only_the_stored_run_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "run")
    monkeypatch.setattr("looseleaf.document.Document.open", None)
    monkeypatch.setattr("looseleaf.models.registry.make_reader", None)
    assert build_report(run).headline["Acc"].n == 24


HOSTILE = [
    "a | b",
    "a \\| b",
    "a \\\\| b",
    "<script>alert(1)</script>",
    "two\nlines\r\nand\ttab",
    "[bold red]loud[/bold red]",
    "[/]",
    "![x](http://tracker.example/x.png)",
    "[link](http://tracker.example/)",
    "`code`",
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://tracker.example\x07link",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_documents_is_text_in_markdown(tmp_path: Path, text: str) -> None:
    report = build_report(make_run(tmp_path / "run", question={"doc_type": text, "answer_format": text}))
    markdown = as_markdown(report)
    for line in markdown.splitlines():
        assert "<script" not in line
        assert not re.search(r"(?<!\\)\]\(http", line), line
        assert "\x1b" not in line
    rows = markdown.split("## By document type")[1].split("## ")[0].strip().splitlines()
    columns = {len(re.findall(r"(?:^|[^\\])(?:\\\\)*\|", row)) for row in rows}
    assert len(rows) == 3, rows
    assert len(columns) == 1, rows


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_documents_is_text_on_the_terminal(tmp_path: Path, text: str) -> None:
    """Neither rich markup nor escape sequences, which can rewrite the screen and its title."""
    report = build_report(make_run(tmp_path / "run", question={"answer_format": text}))
    shown = terminal(report)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b]", shown)
    if text.startswith("["):
        assert text in shown
