"""RUN folders of other people, torn or made to break a reader: every file is checked where it is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab_runs import Case, write_run
from looseleaf.errors import RunError
from looseleaf.lab.compare import compare_runs
from looseleaf.lab.records import ScoredRun
from looseleaf.report import build_report
from looseleaf.reward.stored import selected
from looseleaf.roles import Usage
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run, ScoreRow
from looseleaf.runstore.shapes import MOST_SAMPLES
from looseleaf.score import Score

DEEP = "[" * 100_000
NOT_TABLES = ("[]", "5", "null", '"x"', DEEP, "NaN", "\ufffe", "")
"""JSON texts that are no object."""


@pytest.fixture
def scored(tmp_path: Path) -> Run:
    run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, "The oak is 7 m.")]), Case("8", None)])
    score_run(run, ScoreConfig())
    return run


def read_everything(run: Run) -> None:
    """What reports, comparisons and the lab read."""
    report = build_report(run)
    compare_runs(run, run)
    ScoredRun(run, report.settings["score ledger"])


def refused(run: Run, path: Path) -> None:
    with pytest.raises(RunError) as caught:
        read_everything(Run(run.path))
    assert path.name in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("content", NOT_TABLES)
@pytest.mark.parametrize("name", ["manifest.json", "scores/*.json", "readings/*.json", "extractions/*.json"])
def test_files_that_hold_no_object_are_one_sentence(scored: Run, name: str, content: str) -> None:
    path = next(scored.path.glob(name))
    path.write_text(content)
    refused(scored, path)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("manifest.json", {"data": 5}),
        ("manifest.json", {"counts": {"n_set": "many"}}),
        ("manifest.json", {"score": {"reading_ids": 5}}),
        ("manifest.json", {"retriever": []}),
        ("manifest.json", {"page_images": {"max_pixels": "x"}}),
        ("manifest.json", {"run_id": ["x"]}),
        ("manifest.json", {"import": 5}),
        ("scores/*.json", {"scorer": 5}),
        ("scores/*.json", {"judge": 5}),
        ("readings/*.json", {"reader": []}),
        ("extractions/*.json", {"extractor": {"backend": 5}}),
    ],
)
def test_fields_of_wrong_types_are_one_sentence(scored: Run, name: str, changes: dict[str, Any]) -> None:
    path = next(scored.path.glob(name))
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    refused(scored, path)


@pytest.mark.parametrize(
    "content",
    [
        "roles = 5",
        "run = []",
        "data = 'x'",
        "protocol = 5",
        "score = 5",
        "[roles]\nreader = [5]",
        "[run]\nsamples = 0",
        "[run]\nsamples = -1",
        "[run]\nsamples = 1000000000000",
        "[run]\nsamples = 1.5",
        "[run]\nsamples = nan",
        "a = " + "[" * 3000 + "]" * 3000,
        "\x00",
    ],
)
def test_configurations_that_would_mislead_or_end_a_reader_are_one_sentence(
    scored: Run, content: str
) -> None:
    path = scored.path / "config.toml"
    path.write_text(content)
    refused(scored, path)


def test_a_folder_in_place_of_a_ledger_is_one_sentence(scored: Run) -> None:
    path = scored.path / "trajectories.jsonl"
    path.unlink()
    path.mkdir()
    refused(scored, path)


@pytest.mark.parametrize("index", [-1, MOST_SAMPLES, 2**53])
def test_a_sample_number_cannot_make_billions_of_rows(scored: Run, index: int) -> None:
    path = scored.path / "trajectories.jsonl"
    row = json.loads(path.read_text().splitlines()[0]) | {"sample_index": index}
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(RunError, match="sample_index"):
        selected(Run(scored.path))


def test_denominators_stay_what_the_run_says(scored: Run) -> None:
    (scored.path / "config.toml").write_text("[run]\nsamples = 3\n")
    assert build_report(Run(scored.path)).headline["Acc"].n == 6


@pytest.mark.parametrize("value", [1e308, -1e10, float("inf"), float("nan")])
def test_a_score_on_no_scale_is_none(value: float) -> None:
    with pytest.raises(ValueError, match="at most"):
        Score(value=value)
    with pytest.raises(ValueError, match="at most"):
        ScoreRow(trajectory_id="a#0", target="answer", value=value, usage=Usage())


MARKUP = "\x1b[2J\x07[bold]<script>alert(1)</script>\u202e"


def _dirty(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    rows = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_words_of_a_foreign_run_rewrite_no_terminal_and_no_page(scored: Run, cli: Any) -> None:
    _dirty(scored.path / "questions.jsonl", lambda row: row | {"question": MARKUP, "doc_type": MARKUP})
    _dirty(scored.path / "trajectories.jsonl", lambda row: row | {"answer": MARKUP, "question": MARKUP})
    manifest = scored.manifest | {"data": {"name": MARKUP, "notes": [MARKUP]}}
    scored.write_manifest(manifest)
    said = cli("report", scored.path)
    assert said.code == 0
    assert "\x1b[2J" not in said.out + said.err
    page = (scored.path / "report" / "report.html").read_text()
    assert "<script>alert" not in page


def test_errors_about_foreign_values_hold_no_control_characters(scored: Run, cli: Any) -> None:
    path = scored.path / "trajectories.jsonl"
    _dirty(path, lambda row: row | {"stop_reason": MARKUP})
    said = cli("report", scored.path)
    assert said.code == 2
    assert "\x1b" not in said.err
