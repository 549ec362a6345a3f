"""`looseleaf lab` as a user meets it: what it prints, writes, refuses, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, OwnSet
from lab_runs import LAST_VALUE, Case, write_run
from stub_server import Request, Response, StubServer, completion, error


@pytest.fixture
def run(cli: Cli, own_set: OwnSet, tmp_path: Path) -> Path:
    """A run of the embedded policy over one's own questions, read and scored."""
    out = tmp_path / "run"
    done = cli("eval", own_set.questions, "--docs", own_set.docs, "--out", out)
    assert done.code == 0, done.err
    return out


def report_of(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "report" / "lab.json").read_bytes())
    return found


def test_a_run_is_examined_with_the_scoring_that_it_has(cli: Cli, run: Path) -> None:
    done = cli("lab", run)
    assert done.code == 0, done.err
    for words in (
        "Memory-only answerability",
        "Controls, reader embedded",
        "Which finding carries the answer",
        "Anytime memory",
        "Controlled intervention",
        "Claim-level grounding",
        "calls of the policy: 0",
        "not official: rule extractor",
        "embedded reader: an extractive text reader, not an LLM",
        "Grounding embedded: rules over the text layer",
    ):
        assert words in " ".join(done.out.split()), words
    assert "Causal memory score" not in done.out
    report = report_of(run)
    assert [reader["reading_id"] for reader in report["readers"]] == report["ledgers"]["reading_ids"]
    markdown = (run / "report" / "lab.md").read_text(encoding="utf-8")
    assert "## Read this first" in markdown
    assert "By evidence source, exclusive categories" in markdown
    assert "† not official" in markdown


def test_the_same_command_asks_nothing_twice(cli: Cli, run: Path) -> None:
    cli("lab", run)
    before = {path: path.read_bytes() for path in run.rglob("*.jsonl")}
    first = report_of(run)
    assert cli("lab", run).code == 0
    assert {path: path.read_bytes() for path in run.rglob("*.jsonl")} == before
    assert report_of(run) == first


def test_the_run_itself_and_its_report_stay_as_they_are(cli: Cli, run: Path) -> None:
    kept = {
        name: (run / name).read_bytes() for name in ("trajectories.jsonl", "manifest.json", "config.toml")
    }
    cli("report", run)
    report = (run / "report" / "report.json").read_bytes()
    cli("lab", run, "--reader", "constant:7", "--reader", "embedded")
    assert {name: (run / name).read_bytes() for name in kept} == kept
    cli("report", run)
    assert (run / "report" / "report.json").read_bytes() == report, (
        "the lab's readings are not the run's headline"
    )


def test_several_readers_stand_side_by_side(cli: Cli, run: Path) -> None:
    done = cli("lab", run, "--reader", "embedded", "--reader", "constant:58", "--variant", "empty")
    assert done.code == 0, done.err
    assert "Do readers agree?" in done.out
    report = report_of(run)
    assert len(report["readers"]) == 2
    assert len(report["agreements"]) == 1
    assert [c["variant"] for c in report["controls"][0]["controls"]] == ["own", "empty"]


def test_the_whole_lab_with_writer_and_answerer(cli: Cli, run: Path) -> None:
    done = cli("lab", run, "--writer", "embedded", "--answerer", "replay", "--samples", "2", "--budget", "5")
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert "Oracle control: improved memories are written from the gold pages." in text
    assert "The reader embedded gives one answer only: it is not sampled." in text
    found = report_of(run)["intervention"]
    assert set(found["final"]) == set(found["memory"])
    assert found["answerer"].startswith("replay, embedded")
    assert "assumes independent questions" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variant", "mine"], "There is no memory variant 'mine'"),
        (["--answerer", "me"], "There is no answerer 'me'"),
        (["--reader", "nobody"], "There is no reader 'nobody'"),
        (["--threshold", ">1"], "There is no threshold"),
        (["--variant", "improved"], "add --writer"),
        (["--grounding", "embedded:x"], "There is no"),
        (["--data", "/no/such/folder", "--variant", "gold-text"], "There is no data folder"),
        (["--twins", "a", "b"], "There is no run in a"),
    ],
)
def test_mistakes_are_one_sentence(cli: Cli, run: Path, arguments: list[str], message: str) -> None:
    done = cli("lab", run, *arguments)
    assert done.code == 2, done.out
    assert message in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_no_run_is_a_sentence(cli: Cli, tmp_path: Path) -> None:
    done = cli("lab", tmp_path / "nothing")
    assert (done.code, "There is no run" in done.err) == (2, True)


def test_outages_are_unscored_and_tried_again(cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    down = True

    def answer(request: Request) -> Response:
        return error(400, "the model is away") if down else completion("58")

    monkeypatch.setenv("LOOSELEAF_CACHE", str(run / "cache"))
    with StubServer(answer=answer) as stub:
        command = ["lab", run, "--reader", "openai:m", "--base-url", stub.base_url, "--variant", "empty"]
        done = cli(*command, "--grounding", "none")
        assert done.code == 1
        assert "unscored because something failed" in done.err
        assert "bounds 0.0…100.0" in " ".join(done.out.split())
        down = False
        assert cli(*command, "--grounding", "none").code == 0


def test_text_of_models_cannot_become_markup(cli: Cli, tmp_path: Path, agent_module: Any) -> None:
    reader = agent_module(LAST_VALUE.replace('"Not answerable"', r'"[bold]x[/bold] \x1b[31m | <b>"'))
    case = Case(
        "7 m", "7 m", [(2, "The [red]oak[/red] is 7 m.")], doc="<script>|.pdf", fields={"doc_type": "a|b<i>"}
    )
    write_run(tmp_path / "run", [case])
    done = cli("lab", tmp_path / "run", "--reader", f"python:{reader}:make", "--grounding", "none")
    assert done.code == 0, done.err
    assert "\x1b[31m" not in done.out
    markdown = (tmp_path / "run" / "report" / "lab.md").read_text(encoding="utf-8")
    assert "a\\|b&lt;i&gt;" in markdown
    assert "<i>" not in markdown


def test_help_names_every_option(cli: Cli) -> None:
    done = cli("lab", "--help")
    for option in (
        "--reader",
        "--variant",
        "--samples",
        "--writer",
        "--answerer",
        "--grounding",
        "--twins",
        "--data",
    ):
        assert option in done.out
