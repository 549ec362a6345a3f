"""The command line as a user meets it: what works says so, what does not is one sentence and exit status 2."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, Outcome, OwnSet
from fakes import EMPTY_PDF, pdf_bytes
from looseleaf import __version__
from looseleaf.demo_data import DEMO_DATA

VERBS = ["demo", "ask", "eval", "run", "score", "report"]


def refused(outcome: Outcome, *words: str) -> None:
    """One sentence on standard error that says what happened and what to do, status 2, nothing else."""
    assert outcome.code == 2, outcome
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("looseleaf: ")
    assert lines[0].endswith(".")
    assert re.search(r"[;,.] \S", lines[0]), f"it says what happened, but not what to do: {lines[0]}"
    assert "Traceback" not in outcome.err
    assert outcome.out.strip() == ""
    for word in words:
        assert word in lines[0], lines[0]


@pytest.fixture
def small_pdf(tmp_path: Path) -> Path:
    path = tmp_path / "report.pdf"
    path.write_bytes(
        pdf_bytes(
            "Annual report of Aldbrook.",
            "Revenue in 2023 was 31.8 million euros.",
            "This is the end of the report.",
        )
    )
    return path


# -- help ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(cli: Cli, verb: str) -> None:
    outcome = cli(verb, "--help")
    assert outcome.code == 0
    assert f"looseleaf {verb}" in outcome.out
    assert outcome.err == ""
    assert len(outcome.out.splitlines()) > 5


def test_the_command_alone_and_its_help_teach(cli: Cli) -> None:
    outcome = cli("--help")
    assert outcome.code == 0
    for verb in VERBS:
        assert f" {verb} " in outcome.out
    assert "looseleaf demo" in outcome.out
    assert cli("-h").out == outcome.out
    assert "Usage" in cli().out


def test_the_version(cli: Cli) -> None:
    assert cli("--version") == (0, f"looseleaf {__version__}\n", "")


def test_help_imports_none_of_the_bench() -> None:
    script = (
        "import sys\nfrom looseleaf.cli import main\nsys.argv = ['looseleaf', 'eval', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([n for n in ('openai', 'bm25s', 'pypdfium2', 'numpy', 'looseleaf.runner.execute') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("eval",), ("ask", "x.pdf"), ("eval", "x.jsonl", "--limit", "0"), ("run", "--what")],
)
def test_wrong_usage_is_status_2_without_a_traceback(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    assert "for help" in outcome.err


def test_both_ways_to_start_it() -> None:
    for module in ("looseleaf", "looseleaf.cli"):
        done = subprocess.run(
            [sys.executable, "-m", module, "--version"], capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stdout) == (0, f"looseleaf {__version__}\n")


# -- ask -------------------------------------------------------------------------------------------------------------


def test_ask_answers_with_findings_and_checks_them(cli: Cli, small_pdf: Path) -> None:
    outcome = cli("ask", small_pdf, "What was the revenue in 2023?")
    assert outcome.code == 0, outcome.err
    assert re.search(r"Answer: .*31\.8", outcome.out)
    assert "page 2" in outcome.out
    assert "Do the findings alone give this answer? yes" in outcome.out
    assert outcome.err == ""


def test_ask_says_at_once_that_a_page_without_text_needs_more(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(pdf_bytes("", ""))
    outcome = cli("ask", path, "What is this?")
    assert outcome.code == 0
    first = " ".join(outcome.out.split("Answer:")[0].split())
    assert "no page of this document" in first
    assert "text-and-OCR baseline" in first
    assert "--policy openai:" in first
    assert "[ocr]" in first
    assert "Do the findings alone give this answer? yes, they do not answer it either" in outcome.out


def test_ask_writes_an_answer_that_is_a_list_as_people_do(cli: Cli) -> None:
    """Benchmarks score lists in brackets and quotes; whoever asks a document wants the names."""
    outcome = cli("ask", DEMO_DATA / "documents" / "tidenet_paper.pdf", "Who are the authors?")
    assert outcome.code == 0, outcome.err
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("Answer: ")]
    assert "[" not in line
    assert "'" not in line
    assert line.count(", ") >= 1


def test_ask_without_memory_checks_nothing(cli: Cli, small_pdf: Path) -> None:
    outcome = cli("ask", small_pdf, "What was the revenue in 2023?", "--protocol", "rag")
    assert outcome.code == 0
    assert "Do the findings alone" not in outcome.out


BAD_DOCUMENTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "words.pdf": (lambda: b"This is no PDF at all.", "not a PDF"),
    "page.pdf": (lambda: b"<!DOCTYPE html><html>", "web page"),
    "empty.pdf": (lambda: b"", "empty"),
    "cut.pdf": (lambda: pdf_bytes("Some text.", "More text.")[:400], "cut short"),
    "locked.pdf": (lambda: pdf_bytes("Secret.", password="hunter2"), "encrypted"),
    "none.pdf": (lambda: EMPTY_PDF, "no pages"),
}


@pytest.mark.parametrize("name", BAD_DOCUMENTS)
def test_ask_refuses_documents_that_cannot_be_used(cli: Cli, tmp_path: Path, name: str) -> None:
    make, words = BAD_DOCUMENTS[name]
    (tmp_path / name).write_bytes(make())
    refused(cli("ask", tmp_path / name, "What is it?"), name, words)


def test_ask_refuses_what_is_not_there(cli: Cli, tmp_path: Path, small_pdf: Path) -> None:
    refused(cli("ask", tmp_path / "gone.pdf", "What?"), "There is no document at")
    (tmp_path / "folder").mkdir()
    refused(cli("ask", tmp_path / "folder", "What?"), "no page images")
    for empty in ("", "   ", "\n"):
        refused(cli("ask", small_pdf, empty), "The question is empty")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--policy", "psychic", "no policy 'psychic'"),
        ("--policy", "embedded:loud", "no embedded policy 'loud'"),
        ("--policy", "", "A role is empty"),
        ("--policy", "python:nope:make", "'nope' cannot be imported"),
        ("--policy", "python:json:dumps_", "no function 'dumps_'"),
        ("--policy", "scripted:/no/such/file", "/no/such/file cannot be read"),
        ("--reader", "psychic", "no reader 'psychic'"),
        ("--protocol", "chess", "no protocol 'chess'"),
        ("--protocol", "ep-given", "gold pages"),
    ],
)
def test_ask_refuses_unknown_settings_before_it_starts(
    cli: Cli, small_pdf: Path, option: str, value: str, words: str
) -> None:
    refused(cli("ask", small_pdf, "What?", option, value), words)


FAILING = """
from looseleaf import Action

class Failing:
    def act(self, view):
        raise ConnectionError("the model is away")

    def read(self, question, memory):
        raise ConnectionError("the model is away")

def make():
    return Failing()
"""


@pytest.mark.parametrize("role", ["--policy", "--reader"])
def test_ask_with_a_model_that_is_away_is_a_sentence_and_status_1(
    cli: Cli, small_pdf: Path, agent_module: Callable[[str], str], role: str
) -> None:
    outcome = cli("ask", small_pdf, "What?", role, f"python:{agent_module(FAILING)}:make")
    assert outcome.code == 1
    assert "the model is away" in outcome.out + outcome.err
    assert "Traceback" not in outcome.err


LOUD = """
from looseleaf import Action

class Loud:
    def act(self, view):
        if not view.history:
            return Action.fetch(1)
        if not view.memory.findings:
            return Action.note("\\x1b]0;owned\\x07[bold]loud[/bold]", 1)
        return Action.answer("\\x1b[2J[red]gone[/red]")

def make():
    return Loud()
"""


def test_ask_shows_what_models_say_as_text(
    cli: Cli, small_pdf: Path, agent_module: Callable[[str], str]
) -> None:
    outcome = cli("ask", small_pdf, "What?", "--policy", f"python:{agent_module(LOUD)}:make")
    assert "[red]gone[/red]" in outcome.out
    assert "[bold]loud[/bold]" in outcome.out
    assert "\x1b" not in outcome.out
    assert "\x07" not in outcome.out


# -- eval and its parts --------------------------------------------------------------------------------------------


TEN_LINES = """
from looseleaf import Action

class Agent:
    def act(self, view):
        if not view.shown_pages:
            return Action.search(view.question)
        page = view.shown_pages[0]
        if not view.memory.findings:
            return Action.note(view.page_text(page), page)
        return Action.answer(view.page_text(page).split(" has ")[-1].split()[0])

def make():
    return Agent()
"""


def ten_lines(agent_module: Callable[[str], str]) -> str:
    assert len([line for line in TEN_LINES.split("def make")[0].splitlines() if line.strip()]) <= 10
    return f"python:{agent_module(TEN_LINES)}:make"


def report_of(run: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((run / "report" / "report.json").read_bytes())
    return loaded


def values_of(run: Path) -> dict[str, float | None]:
    return {name: found["value"] for name, found in report_of(run)["headline"]["values"].items()}


def test_an_agent_of_ten_lines_gets_every_metric(
    cli: Cli, own_set: OwnSet, tmp_path: Path, agent_module: Callable[[str], str]
) -> None:
    out = tmp_path / "run"
    outcome = cli(
        "eval", own_set.questions, "--docs", own_set.docs, "--out", out, "--policy", ten_lines(agent_module)
    )
    assert outcome.code == 0, outcome.err
    values = values_of(out)
    assert {name for name, value in values.items() if value is None} == set()
    assert values["Acc[answerable]"] == 1.0
    assert values["Acc[unanswerable]"] == 0.0
    assert values["Rec"] == 1.0
    assert values["Turns"] == 3.0
    for name in values:
        assert name in outcome.out
    assert str(out / "report" / "report.md") in outcome.out.replace("\n", "")


def test_eval_is_run_score_and_report(
    cli: Cli, own_set: OwnSet, tmp_path: Path, agent_module: Callable[[str], str]
) -> None:
    policy = ten_lines(agent_module)
    data = (own_set.questions, "--docs", own_set.docs, "--policy", policy)
    scoring = ("--extractor", "none", "--reader", "constant:7")
    assert cli("eval", *data, "--out", tmp_path / "whole", *scoring).code == 0
    assert cli("run", *data, "--out", tmp_path / "parts").code == 0
    assert not (tmp_path / "parts" / "scores").exists()
    refused(cli("report", tmp_path / "parts"), "is not scored yet", "looseleaf score")
    assert cli("score", tmp_path / "parts", *scoring).code == 0
    whole = values_of(tmp_path / "whole")
    assert values_of(tmp_path / "parts") == whole
    outcome = cli("report", tmp_path / "parts", tmp_path / "whole")
    assert outcome.code == 0
    assert values_of(tmp_path / "parts") == whole
    assert "parts" in outcome.out
    assert "whole" in outcome.out


def test_the_same_command_again_runs_nothing(
    cli: Cli, own_set: OwnSet, tmp_path: Path, agent_module: Callable[[str], str]
) -> None:
    command = (
        *("eval", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run"),
        *("--policy", ten_lines(agent_module), "--extractor", "none", "--reader", "constant"),
    )
    assert "7 trajectories now, 0 before" in cli(*command).out
    again = cli(*command)
    assert again.code == 0
    assert "0 trajectories now, 7 before; 0 pages extracted, 0 pages rendered" in again.out
    refused(cli(*command, "--max-turns", "4"), "protocol.max_turns", "choose another --out")


def test_benchmark_names_take_underscores(cli: Cli, tmp_path: Path) -> None:
    outcome = cli(
        *("eval", "mmlongbench_doc", "--data", DEMO_DATA, "--out", tmp_path / "run", "--limit", 2),
        *("--extractor", "none"),
    )
    assert outcome.code == 0, outcome.err
    assert report_of(tmp_path / "run")["counts"]["selected"] == 2


def test_rows_that_something_failed_on_are_status_1(
    cli: Cli, own_set: OwnSet, tmp_path: Path, agent_module: Callable[[str], str]
) -> None:
    away = f"python:{agent_module(FAILING)}:make"
    data = ("eval", own_set.questions, "--docs", own_set.docs, "--extractor", "none")
    for run, roles in (("policy", ("--policy", away)), ("reader", ("--reader", away))):
        outcome = cli(*data, *roles, "--out", tmp_path / run)
        assert outcome.code == 1, outcome
        assert (
            "7 rows are unscored because something failed; the same command tries them again." in outcome.err
        )
        assert "Traceback" not in outcome.err
    report = report_of(tmp_path / "policy")
    accuracy = report["headline"]["values"]["Acc"]
    assert (accuracy["value"], accuracy["n"], accuracy["n_scored"]) == (None, 7, 0)


BAD_SETTINGS: list[tuple[tuple[str, ...], str]] = [
    (("--policy", "psychic"), "no policy 'psychic'"),
    (("--policy", "python:nope:make"), "'nope' cannot be imported"),
    (("--reader", "psychic"), "no reader 'psychic'"),
    (("--extractor", "psychic"), "no extractor 'psychic'"),
    (("--judge", "psychic"), "no judge 'psychic'"),
    (("--scorer", "astrology"), "astrology"),
    (("--threshold", ">1"), "no threshold '>1'"),
    (("--protocol", "chess"), "no protocol 'chess'"),
    (("--retriever", "telepathy"), "no retriever 'telepathy'"),
    (("--ids", "mini:99"), "mini:99"),
]


@pytest.mark.parametrize(("options", "words"), BAD_SETTINGS, ids=lambda value: str(value)[:24])
def test_eval_refuses_unknown_settings_and_leaves_nothing_behind(
    cli: Cli, own_set: OwnSet, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    out = tmp_path / "run"
    command = ("eval", own_set.questions, "--docs", own_set.docs, "--out", out)
    plain = () if "--extractor" in options else ("--extractor", "none")
    refused(cli(*command, *plain, *options), words)
    assert not out.exists()


def test_eval_refuses_data_that_is_not_there(cli: Cli, own_set: OwnSet, tmp_path: Path) -> None:
    out = tmp_path / "run"
    empty = tmp_path / "nothing"
    empty.mkdir()
    cases: list[tuple[tuple[object, ...], str]] = [
        (("mmlongbench-doc",), "--data DIR"),
        (("mmlongbench-doc", "--data", tmp_path / "gone"), "gone"),
        (("mmlongbench-doc", "--data", empty), "nothing"),
        (("tarot", "--data", empty), "tarot"),
        ((own_set.questions,), "--docs DIR"),
        ((own_set.questions, "--docs", tmp_path / "gone"), "gone"),
        ((own_set.questions, "--docs", empty), "none of the documents"),
        ((tmp_path / "gone.jsonl", "--docs", own_set.docs), "gone.jsonl"),
    ]
    for arguments, words in cases:
        refused(cli("eval", *arguments, "--out", out), words)
        assert not out.exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"doc_id": "report_0.pdf", "question": "   "}', "question"),
        ('{"doc_id": "report_0.pdf"}', "question"),
        ('{"question": "What?"}', "doc_id"),
        ('{"doc_id": "report_0.pdf", "question": "What?"', "broken JSON"),
        ('["What?"]', "object"),
    ],
)
def test_eval_names_the_line_that_cannot_be_used(
    cli: Cli, own_set: OwnSet, tmp_path: Path, line: str, words: str
) -> None:
    with own_set.questions.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    outcome = cli("eval", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run")
    refused(outcome, "line 8", words)
    assert not (tmp_path / "run").exists()


def test_eval_refuses_folders_that_cannot_be_written(cli: Cli, own_set: OwnSet, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    command = ("eval", own_set.questions, "--docs", own_set.docs, "--extractor", "none")
    for out in (tmp_path / "file", tmp_path / "file" / "run", Path("/proc/looseleaf-run")):
        refused(cli(*command, "--out", out), "cannot be written", "--out")
    refused(cli("demo", "--out", tmp_path / "file"), "cannot be written")


def test_a_read_only_run_can_be_reported_but_not_scored(
    cli: Cli, own_set: OwnSet, tmp_path: Path, agent_module: Callable[[str], str]
) -> None:
    """Root may write everywhere, so a folder where a file belongs stands for a folder without permission."""
    run = tmp_path / "run"
    scoring = ("--extractor", "none", "--reader", "constant:7")
    command = ("eval", own_set.questions, "--docs", own_set.docs, "--policy", ten_lines(agent_module))
    assert cli(*command, "--out", run, *scoring).code == 0
    (run / ".lock").unlink()
    (run / ".lock").mkdir()
    refused(cli("score", run, *scoring), "cannot be written")
    for path in (run / "report").iterdir():
        path.unlink()
    (run / "report").rmdir()
    (run / "report").write_text("in the way", encoding="utf-8")
    outcome = cli("report", run)
    assert "Traceback" not in outcome.err
    assert outcome.code == 2
    assert "cannot be written" in outcome.err


@pytest.mark.parametrize("verb", ["score", "report"])
def test_verbs_on_stored_runs_need_a_run(cli: Cli, tmp_path: Path, verb: str) -> None:
    refused(cli(verb, tmp_path / "gone"), "There is no run in")
    refused(cli(verb, tmp_path), "There is no run in")


def test_a_document_that_breaks_does_not_stop_the_others(
    cli: Cli, own_set: OwnSet, tmp_path: Path, agent_module: Callable[[str], str]
) -> None:
    (own_set.docs / "report_1.pdf").write_bytes(b"no PDF")
    outcome = cli(
        *("eval", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run"),
        *("--policy", ten_lines(agent_module), "--extractor", "none", "--reader", "constant:7"),
    )
    assert outcome.code == 1
    assert report_of(tmp_path / "run")["stop_reasons"] == {"answered": 4, "document_error": 3}
    assert "4 / 7" in outcome.out


def test_demo_fills_every_cell_and_explains_itself(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("demo", "--out", tmp_path / "demo")
    assert outcome.code == 0, outcome.err
    n_questions = len(json.loads((DEMO_DATA / "samples.json").read_bytes()))
    cells: dict[str, float] = {}
    for style in ("specific", "generic", "echo"):
        report = report_of(tmp_path / "demo" / style)
        assert report["counts"]["selected"] == report["counts"]["scored"] == n_questions
        for name, found in report["cells"]["values"].items():
            cells[name] = max(cells.get(name, 0.0), found["value"])
        assert (tmp_path / "demo" / style / "report" / "report.md").is_file()
    assert all(share > 0 for share in cells.values()), cells
    said = " ".join(outcome.out.split())
    assert "P_mmc near 0" in said
    assert "not a VLM" in said
    answers = [values_of(tmp_path / "demo" / style)["Acc"] for style in ("specific", "generic", "echo")]
    assert len(set(answers)) == 1, "the note-writers differ in their notes only"


def test_output_into_a_closed_pipe_is_no_traceback() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m looseleaf eval --help | head -1"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert "Traceback" not in done.stderr
