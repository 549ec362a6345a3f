"""Imported runs are ordinary runs: matched, checked, scored, examined and reported; what they lack is undefined."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import foreign_files as ff
from conftest import Cli, OwnSet
from fakes import CITIES
from looseleaf.adapters import IMPORTERS, importer_named
from looseleaf.adapters.imports.matching import BenchmarkMatcher
from looseleaf.adapters.imports.provenance import ImportOutcome, ImportRow
from looseleaf.adapters.imports.source import Gold, RowProblem, SourceRow
from looseleaf.adapters.imports.write import ImportRequest, import_run
from looseleaf.benchmarks import load_questions
from looseleaf.errors import DataError, RunError
from looseleaf.metrics import METRICS, evaluate_rows
from looseleaf.metrics.stored import stored_rows
from looseleaf.question import Question
from looseleaf.report import build_report
from looseleaf.runstore import Ledger, Run
from looseleaf.viewer.shown import list_rows, trajectory_page
from looseleaf.viewer.snapshot import Snapshot


def city_row(city: str, number: int) -> dict[str, Any]:
    """A conversation about one of the cities of the own set, with the page of its document."""
    row = ff.chat_row(
        question_id=None,
        doc_id=f"report_{number % 2}.pdf",
        question=f"How many stations does the city of {city} have?",
        answer=str(CITIES[city]),
    )
    row["messages"][5]["tool_calls"] = [
        ff.call("note", text=f"{city} has {CITIES[city]} stations.", source_page=3)
    ]
    row["messages"][7]["tool_calls"] = [ff.call("answer", text=str(CITIES[city]))]
    row["messages"][4]["content"] = [ff.words("Page 3:"), ff.image()]
    return row


# -- matching --------------------------------------------------------------------------------------------------------


def question(number: int, text: str, doc: str = "a.pdf", reference: str = "x") -> Question:
    return Question(
        question_id=f"b:{number}",
        native_id=str(number),
        benchmark="b",
        split="test",
        doc_id=doc,
        question=text,
        references=(reference,),
        answer_format="Str",
    )


def row(text: str, doc: str = "", native: str = "", reference: str | None = None) -> SourceRow:
    gold = Gold() if reference is None else Gold(references=(reference,))
    return SourceRow(where="row", question=text, doc_id=doc, native_id=native, gold=gold)


@pytest.fixture
def matcher() -> BenchmarkMatcher:
    return BenchmarkMatcher(
        [
            question(0, "What is A?"),
            question(1, "What is A?", doc="b.pdf"),
            question(2, "What is B?"),
            question(3, "Twice?", reference="46%"),
            question(4, "Twice?", reference="Not answerable"),
        ]
    )


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (row("", native="2"), "b:2"),
        (row("What is B?", native="b:2"), "b:2"),
        (row("  what IS   b?"), "b:2"),
        (row("What is A?", doc="b.pdf"), "b:1"),
        (row("What is A?", doc="/home/me/data/A.PDF"), "b:0"),
        (row("What is B?", native="0"), "b:2"),  # another file's row number is no identifier of ours
        (row("Twice?", doc="a.pdf", reference="Not answerable"), "b:4"),
    ],
)
def test_rows_find_their_question(matcher: BenchmarkMatcher, given: SourceRow, wanted: str) -> None:
    assert matcher.question_of(given).question_id == wanted


def test_twins_are_given_out_in_order(matcher: BenchmarkMatcher) -> None:
    assert [matcher.question_of(row("Twice?", doc="a.pdf")).question_id for _ in range(2)] == ["b:3", "b:4"]


@pytest.mark.parametrize(
    "given", [row("Unknown?"), row("What is A?"), row("What is B?", doc="b.pdf"), row("")]
)
def test_rows_that_fit_no_question_or_several_are_refused(
    matcher: BenchmarkMatcher, given: SourceRow
) -> None:
    with pytest.raises(RowProblem, match="no question"):
        matcher.question_of(given)


def test_questions_of_the_set_that_the_file_lacks_stay_in_the_denominator(
    tmp_path: Path, own_set: OwnSet
) -> None:
    questions = load_questions(own_set.questions, own_set.docs)
    asked = next(q for q in questions.questions if "Oslo" in q.question)
    line = city_row("Oslo", 0)
    line["question"], line["doc_id"] = asked.question, asked.doc_id
    path = ff.write_lines(
        tmp_path / "runs.jsonl", [line, ff.chat_row(question="Unknown?", question_id="none")]
    )
    request = ImportRequest(importer_named("chat"), path, questions=questions)
    outcome = import_run(request, tmp_path / "run")
    assert [q.question_id for q in outcome.run.questions()] == [q.question_id for q in questions.questions]
    assert list(outcome.run.trajectories()) == [f"{asked.question_id}#0"]
    assert outcome.n_rejected == 1
    assert outcome.rejected[0].where == "runs.jsonl, line 2"
    kept = import_run(request._replace(only_present=True), tmp_path / "kept")
    assert [q.question_id for q in kept.run.questions()] == [asked.question_id]


def test_repeated_rows_become_samples(tmp_path: Path) -> None:
    rows = [ff.chat_row(), ff.chat_row(), ff.chat_row(sample_index=7), ff.chat_row(sample_index=7)]
    run = import_run(
        ImportRequest(importer_named("chat"), ff.write_lines(tmp_path / "r.jsonl", rows)), tmp_path / "run"
    ).run
    assert sorted(t.sample_index for t in run.trajectories().values()) == [0, 1, 2, 7]
    assert run.config["run"]["samples"] == 8


def test_one_doubled_row_does_not_make_a_second_sample_of_every_question(tmp_path: Path, cli: Cli) -> None:
    rows = [
        ff.chat_row(question_id=f"q-{n}", question=f"How many stations has city {n}?") for n in (1, 2, 3, 1)
    ]
    outcome = import_run(
        ImportRequest(importer_named("chat"), ff.write_lines(tmp_path / "r.jsonl", rows)), tmp_path / "run"
    )
    assert len(outcome.run.trajectories()) == 4
    assert any("kept and not counted" in notice for notice in outcome.notices)
    assert cli("score", tmp_path / "run").code == 0
    assert build_report(outcome.run).counts["selected"] == 3


def test_rows_that_differ_in_their_gold_answer_only_are_two_questions(tmp_path: Path) -> None:
    rows = [ff.mdocagent_row(), ff.mdocagent_row(answer="Not answerable", answer_format="None")]
    path = ff.write_json(tmp_path / "r.json", rows)
    run = import_run(ImportRequest(importer_named("mdocagent"), path), tmp_path / "run").run
    assert [q.references for q in run.questions()] == [("17",), ("Not answerable",)]
    assert run.config["run"]["samples"] == 1


# -- documents -------------------------------------------------------------------------------------------------------


def test_pages_are_checked_against_the_document_and_the_raw_values_kept(
    tmp_path: Path, own_set: OwnSet
) -> None:
    line = city_row("Oslo", 0)
    line["messages"][4]["content"] = [
        part for page in (3, 40, 0) for part in (ff.words(f"Page {page}:"), ff.image())
    ]
    path = ff.write_lines(tmp_path / "runs.jsonl", [line])
    outcome = import_run(ImportRequest(importer_named("chat"), path, docs=own_set.docs), tmp_path / "run")
    made = next(iter(outcome.run.trajectories().values()))
    assert made.shown_pages == (3,)
    assert len(made.doc_sha256) == 64
    kept = next(iter(Ledger(outcome.run.path / "imports.jsonl", ImportRow).read()))
    assert kept.impossible_pages == (40, 0)
    assert kept.raw_pages == [[], [3, 40, 0], [], []]
    assert any("Check the page base" in notice for notice in outcome.notices)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..\\x.pdf", "a/%2e%2e/b.pdf", "C:\\x.pdf"]
)
def test_document_names_cannot_leave_the_folder(tmp_path: Path, own_set: OwnSet, name: str) -> None:
    path = ff.write_lines(tmp_path / "r.jsonl", [ff.chat_row(doc_id=name), ff.chat_row()])
    for docs in (None, own_set.docs):
        out = tmp_path / f"run-{docs is None}"
        outcome = import_run(ImportRequest(importer_named("chat"), path, docs=docs), out)
        assert (outcome.imported, outcome.n_rejected) == (1, 1)
        assert "could leave the data folder" in outcome.rejected[0].why
        # One such name in the file would stop its reader.
        asked = load_questions(out / "chat-questions.jsonl", own_set.docs)
        assert [found.doc_id for found in asked.questions] == [ff.chat_row()["doc_id"]]
        assert len(Run.open(out).questions()) == 2


def test_a_row_that_the_file_has_no_answer_to_is_not_promised_another_try(
    tmp_path: Path, own_set: OwnSet, cli: Cli
) -> None:
    path = ff.write_lines(tmp_path / "r.jsonl", [ff.chat_row(doc_id="../x.pdf"), ff.chat_row()])
    run = tmp_path / "run"
    assert cli("import", "chat", path, "--out", run, "--docs", own_set.docs).code == 0
    scored = cli("score", run)
    assert scored.code == 1
    assert "1 row is unscored because the imported file has no answer there" in scored.err
    assert "again" not in scored.err


# -- the whole way -----------------------------------------------------------------------------------------------------


def test_an_imported_run_is_scored_examined_compared_and_shown(
    tmp_path: Path, own_set: OwnSet, cli: Cli
) -> None:
    rows = [city_row(city, number) for number, city in enumerate(CITIES)]
    rows[1]["messages"][7]["tool_calls"] = [ff.call("answer", text="1000")]
    path = ff.write_lines(tmp_path / "runs.jsonl", rows)
    run = tmp_path / "run"
    said = cli("import", "chat", path, "--out", run, "--docs", own_set.docs)
    assert said.code == 0, said.err
    assert f"{len(rows)} of {len(rows)} rows are trajectories" in said.out
    assert cli("score", run).code == 0
    report = json.loads((run / "report" / "report.json").read_text())
    values = report["headline"]["values"]
    assert values["Acc"]["n_scored"] == len(rows)
    assert values["Acc"]["value"] == pytest.approx((len(rows) - 1) / len(rows))
    assert values["MemAcc"]["value"] == 1.0
    assert values["Findings"]["value"] == 1.0
    assert values["Rec"]["value"] == 1.0
    assert any("Imported" in notice for notice in report["notices"])
    lab = cli("lab", run)
    assert lab.code == 0, lab.err + lab.out
    again = tmp_path / "again"
    assert cli("import", "chat", path, "--out", again, "--docs", own_set.docs).code == 0
    assert cli("score", again).code == 0
    compared = cli("compare", run, again)
    assert compared.code == 0, compared.err
    snapshot = Snapshot(Run.open(run))
    assert all(shown["findings"] == 1 and shown["pages"] == 1 for shown in list_rows(snapshot))
    assert trajectory_page(snapshot, snapshot.items[0])["memory"][0]["page_was_shown"] is True
    replayed = cli(
        "eval",
        run / "chat-questions.jsonl",
        "--docs",
        own_set.docs,
        "--out",
        tmp_path / "own",
        "--limit",
        "1",
    )
    assert replayed.code == 0, replayed.err


MEMORY_NAMES = [
    name for name in METRICS if name.startswith(("MemAcc", "P_mmc", "Cell", "Gap", "GradedLoss", "Findings"))
]


def test_what_a_format_lacks_is_undefined_and_not_zero(tmp_path: Path, cli: Cli) -> None:
    run = tmp_path / "run"
    path = ff.write_json(tmp_path / "r.json", [ff.simpledoc_chat()])
    assert cli("import", "simpledoc", path, "--out", run).code == 0
    scored = cli("score", run)
    assert scored.code == 0, scored.err
    stored = Run.open(run)
    found = evaluate_rows(stored_rows(stored, next(iter(stored.sidecars("scores"))), None))
    for name in [*MEMORY_NAMES, "Rec", "Pre", "PageF1", "Hit", "Rec(recipe)", "#UP", "Turns", "Invalid"]:
        assert (found[name].value, found[name].n, found[name].n_undefined) == (None, 0, 1), name
    assert found["Acc"].value is not None
    report = build_report(stored)
    assert any("undefined" in notice for notice in report.notices)
    assert "not recorded" in (run / "report" / "report.md").read_text()
    refused = cli("lab", run)
    assert refused.code == 2
    assert "without a working memory" in refused.err
    shown = list_rows(Snapshot(stored))[0]
    assert (shown["pages"], shown["findings"], shown["turns"], shown["recall"]) == (None, None, None, None)


def test_an_empty_memory_is_not_an_undefined_one(tmp_path: Path, cli: Cli) -> None:
    """One conversation takes notes; the other could have and did not: its memory is empty, and cannot answer."""
    silent = ff.chat_row(question_id="q-9", question="How many stations has Rome?", answer="29")
    del silent["messages"][5:7]
    path = ff.write_lines(tmp_path / "r.jsonl", [ff.chat_row(), silent])
    run = tmp_path / "run"
    assert cli("import", "chat", path, "--out", run).code == 0
    assert cli("score", run).code == 0
    report = json.loads((run / "report" / "report.json").read_text())
    values = report["headline"]["values"]
    assert (values["MemAcc"]["n"], values["MemAcc"]["n_undefined"]) == (2, 0)
    assert values["Findings"]["value"] == 0.5


def test_one_row_without_memory_among_others_is_left_out_of_memory_metrics_only(
    tmp_path: Path, cli: Cli
) -> None:
    run = tmp_path / "run"
    path = ff.write_lines(
        tmp_path / "r.jsonl", [ff.chat_row(), ff.chat_row(question_id="b", question="Other?")]
    )
    assert cli("import", "chat", path, "--out", run).code == 0
    lines = (run / "trajectories.jsonl").read_text().splitlines()
    changed = json.loads(lines[1]) | {"undefined": ["memory", "pages"], "memory": []}
    (run / "trajectories.jsonl").write_text(lines[0] + "\n" + json.dumps(changed) + "\n")
    assert cli("score", run).code == 0
    values = json.loads((run / "report" / "report.json").read_text())["headline"]["values"]
    assert (values["MemAcc"]["n"], values["MemAcc"]["n_undefined"]) == (1, 1)
    assert (values["Findings"]["n"], values["Rec"]["n"], values["Acc"]["n"]) == (1, 1, 2)
    lab = cli("lab", run)
    assert lab.code == 0, lab.err + lab.out


def test_our_own_format_round_trips(tmp_path: Path, own_set: OwnSet, cli: Cli) -> None:
    first = tmp_path / "first"
    made = cli("eval", own_set.questions, "--docs", own_set.docs, "--out", first, "--limit", "3")
    assert made.code == 0, made.err
    second = tmp_path / "second"
    assert cli("import", "trajectories", first, "--out", second, "--docs", own_set.docs).code == 0
    a, b = Run.open(first), Run.open(second)
    assert b.questions() == a.questions()
    fields = ("steps", "memory", "answer", "stop_reason", "usage", "doc_sha256", "question", "undefined")
    for key, before in a.trajectories().items():
        after = b.trajectories()[key]
        assert [getattr(after, name) for name in fields] == [getattr(before, name) for name in fields]


# -- hostile and broken files ----------------------------------------------------------------------------------------


def test_a_bad_row_is_counted_and_named_and_the_others_count(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "r.jsonl"
    good = json.dumps(ff.chat_row())
    lines = [
        good,
        "{broken",
        '{"messages": 3}',
        '"text"',
        good,
        '{"messages": [{"role": "alien"}]}',
        "\udcff",
    ]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    said = cli("import", "chat", path, "--out", tmp_path / "run")
    assert said.code == 0, said.err
    assert "2 of 7 rows are trajectories" in said.out
    assert "5 rows could not be used" in said.out
    assert "r.jsonl, line 2: broken JSON" in said.out
    manifest = Run.open(tmp_path / "run").manifest["import"]
    assert (manifest["rows"], manifest["imported"], manifest["rejected"]) == (7, 2, 5)


HOSTILE = [
    b"",
    b"   ",
    b"\x00\x01\x02",
    b"[",
    b"[]",
    b"{}",
    b"null",
    b"[null, 1, true, [], {}]",
    b'{"question": {"a": 1}, "answer": [[[]]], "messages": {"a": 1}}',
    b'[{"question": 5, "iterations": "x", "trajectory": 3, "input": [], "messages": "x"}]',
    b"[" * 100_000,
    b'{"question": "q", "messages": [{"role": "assistant", "content": '
    + b"[" * 50_000
    + b"]" * 50_000
    + b"}]}",
    b'{"question": ' + b"9" * 10_000 + b"}",
    b'{"question": "\\ud800", "answer": NaN}',
    b'{"a": 1}\n{"b": 2}\n',
]


@pytest.mark.parametrize("name", sorted(set(IMPORTERS) - {"inspect"}))
@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files_are_one_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    outcome, said = attempt(name, path, tmp_path / "run")
    if outcome is None:
        assert said.endswith(".")
        assert "\n" not in said
        assert not list(tmp_path.glob("*run*"))
    else:
        assert outcome.rows == outcome.imported + outcome.not_run + outcome.n_rejected
        assert len(Run.open(tmp_path / "run").trajectories()) == outcome.imported


def attempt(name: str, path: Path, out: Path) -> tuple[ImportOutcome | None, str]:
    """What an import did, or the sentence with which it was refused."""
    try:
        return import_run(ImportRequest(importer_named(name), path), out), ""
    except DataError as problem:
        return None, str(problem)


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    path = ff.write_lines(tmp_path / "r.jsonl", [ff.chat_row()])
    out = tmp_path / "run"
    out.mkdir()
    import_run(ImportRequest(importer_named("chat"), path), out)  # an empty folder is nothing
    with pytest.raises(RunError, match="holds something already"):
        import_run(ImportRequest(importer_named("chat"), path), out)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense", "f"], "import format"),
        (["chat"], "looseleaf import chat FILE --out RUN"),
        (["chat", "missing.jsonl", "--out", "RUN"], "no file"),
        (["chat", "r.jsonl", "--out", "RUN", "--set", "nonsense=1"], "no option 'nonsense'"),
        (["chat", "r.jsonl", "--out", "RUN", "--set", "page-base=2"], "use 0 or 1"),
        (["chat", "r.jsonl", "--out", "RUN", "--data", "D"], "--questions"),
        (["chat", "r.jsonl", "--out", "RUN", "--questions", "mmlongbench-doc"], "--data DIR"),
        (["chat", "r.jsonl", "--out", "RUN", "--docs", "nowhere"], "not a folder"),
    ],
)
def test_mistakes_of_the_command_line(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ff.write_lines(tmp_path / "r.jsonl", [ff.chat_row()])
    said = cli("import", *arguments)
    assert said.code == 2
    assert words in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_the_formats_are_listed(cli: Cli) -> None:
    said = cli("import", "list")
    assert said.code == 0
    for name in IMPORTERS:
        assert name in said.out


def test_files_and_lines_that_are_too_large_are_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from looseleaf.adapters.imports import json_file

    rows = [ff.chat_row(), ff.chat_row(padding="x" * 20_000), ff.chat_row()]
    whole = ff.write_json(tmp_path / "r.json", rows)
    lines = ff.write_lines(tmp_path / "r.jsonl", rows)
    monkeypatch.setattr(json_file, "MAX_FILE", 10_000)
    monkeypatch.setattr(json_file, "MAX_LINE", 10_000)
    with pytest.raises(DataError, match=r"r\.json is larger than"):
        import_run(ImportRequest(importer_named("chat"), whole), tmp_path / "run")
    outcome = import_run(ImportRequest(importer_named("chat"), lines), tmp_path / "run")
    assert (outcome.imported, outcome.n_rejected) == (2, 1)
    assert "a line longer than" in outcome.rejected[0].why


def test_the_example_of_the_documentation_works(tmp_path: Path, cli: Cli) -> None:
    text = (Path(__file__).parents[1] / "docs" / "import.md").read_text(encoding="utf-8")
    trajectory, asked = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    ff.write_lines(tmp_path / "trajectories.jsonl", [json.loads(trajectory)])
    ff.write_lines(tmp_path / "questions.jsonl", [json.loads(asked)])
    assert cli("import", "trajectories", tmp_path, "--out", tmp_path / "run").code == 0
    assert cli("score", tmp_path / "run").code == 0
    values = json.loads((tmp_path / "run" / "report" / "report.json").read_text())["headline"]["values"]
    assert (values["Acc"]["value"], values["MemAcc"]["value"], values["Rec"]["value"]) == (1.0, 1.0, 1.0)
    for name in IMPORTERS:
        assert f"`{name}`" in text


def test_records_that_do_not_fit_the_schema_are_named(tmp_path: Path) -> None:
    good = {
        "trajectory_id": "m:0#0",
        "question_id": "m:0",
        "benchmark": "m",
        "doc_id": "d.pdf",
        "question": "Q?",
        "stop_reason": "answered",
    }
    bad = [{**good, "stop_reason": "bored"}, {**good, "undefined": ["everything"]}, {**good, "version": 99}]
    path = ff.write_lines(tmp_path / "trajectories.jsonl", [good, *bad])
    outcome = import_run(ImportRequest(importer_named("trajectories"), path), tmp_path / "run")
    assert (outcome.imported, outcome.n_rejected) == (1, 3)
    assert all("schema" in row.why or "version" in row.why for row in outcome.rejected)
    ff.write_lines(tmp_path / "questions.jsonl", [{"question_id": 3}])
    with pytest.raises(DataError, match=r"questions\.jsonl, row 0|questions\.jsonl, line 1"):
        import_run(ImportRequest(importer_named("trajectories"), path), tmp_path / "other")
