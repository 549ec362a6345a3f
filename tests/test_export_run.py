"""Exported runs: DuckDB, polars and datasets read back what the run holds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import foreign_files as ff
from conftest import Cli, OwnSet
from looseleaf.adapters import EXPORTERS, exporter_named, importer_named
from looseleaf.adapters.exporter import required
from looseleaf.adapters.imports.write import ImportRequest, import_run
from looseleaf.adapters.parquet import SCHEMAS
from looseleaf.errors import ConfigError
from looseleaf.runstore import Run

duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")
pytest.importorskip("datasets")


@pytest.fixture
def scored_run(tmp_path: Path, own_set: OwnSet, cli: Cli) -> Path:
    made = cli("eval", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run")
    assert made.code == 0, made.err
    return tmp_path / "run"


def exported(cli: Cli, target: str, *arguments: object) -> str:
    said = cli("export", target, *arguments)
    assert said.code == 0, said.err
    return said.out


def test_parquet_in_one_line_of_duckdb_and_polars(tmp_path: Path, scored_run: Path, cli: Cli) -> None:
    out = tmp_path / "tables"
    said = exported(cli, "parquet", scored_run, "--out", out)
    assert "7 rows" in said
    run = Run.open(scored_run)
    made = run.trajectories()

    by_duckdb = duckdb.sql(
        f"select * from '{out}/trajectories/**/*.parquet' order by trajectory_id"
    ).fetchall()
    assert [row[0] for row in by_duckdb] == sorted(made)
    by_polars = polars.read_parquet(out / "trajectories", hive_partitioning=True)
    assert set(by_polars["benchmark"]) == {"mini"}
    assert set(by_polars["run_id"]) == {run.manifest["run_id"]}
    for row in by_polars.iter_rows(named=True):
        kept = made[row["trajectory_id"]]
        assert row["answer"] == kept.answer
        assert row["turns"] == kept.turns
        assert row["shown_pages"] == list(kept.shown_pages)
        assert row["findings"] == len(kept.memory)
        assert row["stop_reason"] == str(kept.stop_reason)

    steps = polars.read_parquet(out / "steps")
    assert steps.height == sum(len(each.steps) for each in made.values())
    searched = steps.filter(polars.col("action") == "search").row(0, named=True)
    step = made[searched["trajectory_id"]].steps[searched["position"]]
    assert step.action is not None
    assert json.loads(searched["arguments"]) == step.action.arguments
    assert [r["page"] for r in searched["returned"]] == [r.page for r in step.observation.returned]

    findings = polars.read_parquet(out / "findings").sort("trajectory_id", "number")
    assert findings["text"].to_list() == [f.text for key in sorted(made) for f in made[key].memory]


def test_the_mean_of_the_score_table_is_the_reported_accuracy(
    tmp_path: Path, scored_run: Path, cli: Cli
) -> None:
    out = tmp_path / "tables"
    exported(cli, "parquet", scored_run, "--out", out)
    report = json.loads((scored_run / "report" / "report.json").read_text())["headline"]["values"]
    mean = duckdb.sql(
        f"select avg(value) from '{out}/scores/**/*.parquet' where target = 'answer'"
    ).fetchall()[0][0]
    assert math.isclose(mean, report["Acc"]["value"])
    joined = duckdb.sql(
        f"select count(*) from '{out}/questions/**/*.parquet' q join '{out}/trajectories/**/*.parquet' t "
        "using (question_id, benchmark, run_id) where q.evidence_pages[1] in t.shown_pages"
    ).fetchall()[0][0]
    assert joined == report["Hit"]["value"] * report["Hit"]["n"]


def test_every_column_of_the_documented_schema_is_there(tmp_path: Path, scored_run: Path, cli: Cli) -> None:
    out = tmp_path / "tables"
    exported(cli, "parquet", scored_run, "--out", out)
    for table, columns in SCHEMAS.items():
        found = polars.read_parquet(out / table, hive_partitioning=False)
        assert found.columns == list(columns)
        assert found.height > 0
    documented = (Path(__file__).parents[1] / "docs" / "export.md").read_text(encoding="utf-8")
    for table, columns in SCHEMAS.items():
        for column in (table, *columns):
            assert f"`{column}`" in documented, f"docs/export.md does not explain {table}.{column}"


def test_several_runs_in_one_place(tmp_path: Path, scored_run: Path, cli: Cli) -> None:
    out = tmp_path / "tables"
    exported(cli, "parquet", scored_run, "--out", out)
    again = cli("export", "parquet", scored_run, "--out", out)
    assert again.code == 2
    assert "already" in again.err
    exported(cli, "parquet", scored_run, "--out", out, "--set", "run-id=other/../one")
    assert polars.read_parquet(out / "trajectories", hive_partitioning=True)["run_id"].n_unique() == 2
    assert not list(out.glob(".writing*"))
    assert {path.name for path in out.iterdir()} == set(SCHEMAS)


def test_superseded_records_are_left_out(tmp_path: Path, scored_run: Path, cli: Cli) -> None:
    lines = (scored_run / "trajectories.jsonl").read_text().splitlines(keepends=True)
    first = json.loads(lines[0])
    failed = json.dumps(first | {"stop_reason": "provider_error", "answer": None}) + "\n"
    (scored_run / "trajectories.jsonl").write_text(
        "".join([failed, *lines, failed.replace("provider_error", "cancelled")])
    )
    out = tmp_path / "tables"
    exported(cli, "parquet", scored_run, "--out", out)
    found = polars.read_parquet(out / "trajectories")
    assert found.height == len(lines)
    kept = found.filter(polars.col("trajectory_id") == first["trajectory_id"]).row(0, named=True)
    assert kept["stop_reason"] == "cancelled"
    assert {t.trajectory_id: str(t.stop_reason) for t in Run.open(scored_run).read_trajectories()} == {
        key: str(made.stop_reason) for key, made in Run.open(scored_run).trajectories().items()
    }


def test_what_an_import_lacks_is_null(tmp_path: Path, cli: Cli) -> None:
    path = ff.write_json(tmp_path / "r.json", [ff.simpledoc_chat()])
    import_run(ImportRequest(importer_named("simpledoc"), path), tmp_path / "run")
    exported(cli, "parquet", tmp_path / "run", "--out", tmp_path / "tables")
    row = polars.read_parquet(tmp_path / "tables" / "trajectories").row(0, named=True)
    assert (row["turns"], row["shown_pages"], row["findings"]) == (None, None, None)
    assert row["undefined"] == ["memory", "pages", "steps"]
    exported(cli, "datasets", tmp_path / "run", "--out", tmp_path / "dataset")
    assert load(tmp_path / "dataset")[0]["memory"] is None


def load(path: Path) -> Any:
    from datasets import load_from_disk

    return load_from_disk(str(path))


def test_a_run_as_a_dataset(tmp_path: Path, scored_run: Path, cli: Cli) -> None:
    exported(cli, "datasets", scored_run, "--out", tmp_path / "dataset")
    run = Run.open(scored_run)
    made = run.trajectories()
    rows = load(tmp_path / "dataset")
    assert len(rows) == len(made)
    for row in rows:
        kept = made[row["trajectory_id"]]
        assert [finding["text"] for finding in row["memory"]] == [finding.text for finding in kept.memory]
        assert [step["action"] for step in row["steps"]] == [
            step.action.name for step in kept.steps if step.action
        ]
        assert {score["target"] for score in row["scores"]} == {"answer", "memory"}
    asked = {question.question_id: question for question in run.questions()}
    first = rows[0]
    assert json.loads(first["references"]) == list(asked[first["question_id"]].references)
    assert first["evidence_pages"] == list(asked[first["question_id"]].evidence_pages or ())


@pytest.mark.parametrize(
    ("images", "expected"), [("evidence", "evidence_pages"), ("all", "page_count"), ("none", "")]
)
def test_a_set_of_documents_as_a_dataset(tmp_path: Path, cli: Cli, images: str, expected: str) -> None:
    made = cli(
        "data", "make", "--out", tmp_path / "set", "--documents", "1", "--questions", "3", "--kind", "form"
    )
    assert made.code == 0, made.err
    exported(cli, "datasets", tmp_path / "set", "--out", tmp_path / "dataset", "--set", f"images={images}")
    rows = load(tmp_path / "dataset")
    assert len(rows) >= 3
    for row in rows:
        assert row["page_count"] > 0
        assert len(row["doc_sha256"]) == 64
        if expected == "evidence_pages":
            assert row["image_pages"] == list(dict.fromkeys(row["evidence_pages"]))
        if expected == "page_count":
            assert len(row["images"]) == row["page_count"]
        if expected:
            assert all(image.width > 100 for image in row["images"])
        else:
            assert "images" not in row


def test_jsonl_and_back(tmp_path: Path, scored_run: Path, cli: Cli, own_set: OwnSet) -> None:
    exported(cli, "jsonl", scored_run, "--out", tmp_path / "lines")
    again = cli(
        "import", "trajectories", tmp_path / "lines", "--out", tmp_path / "again", "--docs", own_set.docs
    )
    assert again.code == 0, again.err
    before, after = Run.open(scored_run), Run.open(tmp_path / "again")
    assert after.questions() == before.questions()
    for key, made in before.trajectories().items():
        assert after.trajectories()[key].steps == made.steps
        assert after.trajectories()[key].memory == made.memory
    readings = [json.loads(line) for line in (tmp_path / "lines" / "readings.jsonl").read_text().splitlines()]
    assert len(readings) == len(before.trajectories())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense", "x"], "export format"),
        (["parquet"], "--out PATH"),
        (["parquet", "nowhere", "--out", "o"], "no run in"),
        (["parquet", "nowhere", "--out", "o", "--set", "x=1"], "no option 'x'"),
        (["datasets", "nowhere", "--out", "o"], "not a folder"),
        (["datasets", "nowhere", "--out", "o", "--set", "images=some"], "use one of none"),
        (["jsonl", "nowhere", "--out", "o"], "no run in"),
    ],
)
def test_mistakes(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = cli("export", *arguments)
    assert said.code == 2
    assert words in said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize("target", ["datasets", "jsonl", "parquet"])
def test_places_that_cannot_be_written(tmp_path: Path, scored_run: Path, cli: Cli, target: str) -> None:
    (tmp_path / "file").write_text("in the way")
    said = cli("export", target, scored_run, "--out", tmp_path / "file")
    assert said.code == 2
    assert "--out" in said.err


def test_a_missing_package_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match=r'pip install "looseleaf\[export\]"'):
        required("a_package_that_nobody_has", "export", "Export as parquet")


def test_the_formats_are_listed(cli: Cli) -> None:
    said = cli("export", "list")
    assert said.code == 0
    for name in EXPORTERS:
        assert name in said.out
        assert exporter_named(name).name == name
