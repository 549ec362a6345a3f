"""Runs: nothing finished runs twice, nothing is lost, and what failed is unscored and tried again."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from conftest import OwnSet
from fakes import CITIES
from looseleaf import Action, Environment, StopReason
from looseleaf.agent import run_agent
from looseleaf.benchmarks import load_questions
from looseleaf.errors import ConfigError, DataError, RunError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.models.scripted import ScriptedPolicy
from looseleaf.protocol import PROTOCOLS, named_protocol
from looseleaf.retrieval import BM25Retriever
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run, ScoreRow
from looseleaf.score import Unscored

AGENT = """
import re
from looseleaf import Action

asked = []
down = set()

class Agent:
    def act(self, view):
        if not view.history:
            asked.append(view.question)
            if any(word in view.question for word in down):
                raise ConnectionError("the server is away")
            return Action.search(view.question)
        city = re.search("city of (\\\\w+)", view.question)
        pages = {page: view.page_text(page) for page in view.shown_pages}
        found = [(page, text) for page, text in pages.items() if city and city[1] in text]
        if view.shown_pages and not view.memory.findings:
            page, text = found[0] if found else (view.shown_pages[0], "Nothing about it.")
            return Action.note(" ".join(text.split()), page)
        return Action.answer(re.search("has (\\\\d+)", found[0][1])[1] if found else "Not answerable")

def make():
    return Agent()
"""

READER = """
import re
from looseleaf import Reading

seen = []
down = set()

class Reader:
    def read(self, question, memory):
        seen.append((question, [finding.text for finding in memory]))
        if any(word in question for word in down):
            raise ConnectionError("the reader is away")
        found = re.search("has (\\\\d+)", memory.as_text())
        return Reading(text=found[1] if found else "Not answerable")

def make():
    return Reader()
"""

NO_EXTRACTOR = RoleSpec(backend="none")
MakeModule = Callable[[str], str]


def python(module: str) -> RoleSpec:
    return RoleSpec(backend="python", argument=f"{module}:make")


def configured(own_set: OwnSet, policy: RoleSpec, **more: Any) -> RunConfig:
    data = DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs))
    return RunConfig(**{"data": data, "policy": policy} | more)


@pytest.fixture
def agent(agent_module: MakeModule) -> str:
    return agent_module(AGENT)


@pytest.fixture
def reader(agent_module: MakeModule) -> str:
    return agent_module(READER)


def asked(module: str) -> list[str]:
    return list(sys.modules[module].asked)


def stop_reasons(run: Run) -> Counter[str]:
    return Counter(str(record.stop_reason) for record in run.trajectories().values())


# -- running ---------------------------------------------------------------------------------------------------


def test_a_run_writes_everything_that_replays_it(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    outcome = execute(
        configured(own_set, python(agent)),
        tmp_path / "run",
        progress=lambda done, total: progress.append((done, total)),
    )
    assert outcome[1:] == (0, 7, 0, False)
    assert progress[-1] == (7, 7)
    run = Run.open(tmp_path / "run")
    records = run.trajectories()
    assert sorted(records) == [f"mini:{index}#0" for index in range(7)]
    assert [records[f"mini:{index}#0"].answer for index in range(7)] == [
        *(str(stations) for stations in CITIES.values()),
        "Not answerable",
    ]
    first = records["mini:0#0"]
    assert first.doc_sha256 == hashlib.sha256((own_set.docs / "report_0.pdf").read_bytes()).hexdigest()
    assert first.memory[0].source_page == 2
    assert [question.question_id for question in run.questions()] == [f"mini:{index}" for index in range(7)]
    manifest = run.manifest
    assert manifest["counts"]["n_set"] == manifest["counts"]["n_selected"] == 7
    assert {"looseleaf", "python", "pypdfium2", "bm25s", "numpy"} <= set(manifest["versions"])
    assert manifest["data"]["sha256"]
    assert first.run_id == manifest["run_id"]
    rules = msgspec.to_builtins(PROTOCOLS["awm"])
    assert run.config["protocol"] == {rule: value for rule, value in rules.items() if value is not None}
    assert run.config["roles"]["policy"] == {"backend": "python", "argument": f"{agent}:make"}


def test_the_same_run_again_runs_reads_and_writes_nothing(
    own_set: OwnSet, agent: str, tmp_path: Path
) -> None:
    config = configured(own_set, python(agent))
    execute(config, tmp_path / "run")
    before = (tmp_path / "run" / "trajectories.jsonl").read_bytes()
    n_asked = len(asked(agent))
    outcome = execute(config, tmp_path / "run")
    assert outcome[1:] == (7, 0, 0, False)
    assert len(asked(agent)) == n_asked == 7
    assert (tmp_path / "run" / "trajectories.jsonl").read_bytes() == before


def test_a_second_run_extracts_and_renders_nothing(
    own_set: OwnSet, agent: str, tmp_path: Path, store: Any
) -> None:
    from looseleaf.document import PageStore

    execute(configured(own_set, python(agent)), tmp_path / "one", store=store)
    assert store.pages_extracted == 8
    with PageStore(tmp_path / "page-cache") as again:
        run = execute(configured(own_set, python(agent)), tmp_path / "two", store=again).run
        assert (again.documents_opened, again.pages_extracted, again.pages_rendered) == (0, 0, 0)
    assert run.manifest["last_session"]["pages_extracted"] == 0


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"protocol": named_protocol("awm", max_turns=3)}, "protocol.max_turns"),
        ({"protocol": PROTOCOLS["alden"]}, "protocol"),
        ({"policy": RoleSpec(backend="embedded")}, "roles.policy"),
        ({"retriever": "gold-pages"}, "retriever.name"),
        ({"samples": 2}, "run.samples"),
        ({"seed": 1}, "run.seed"),
        ({"limit": 3}, "run.limit"),
        ({"ids": ("mini:1",)}, "run.ids"),
        ({"strict": True}, "run.strict"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_is_not_continued_under_other_settings(
    own_set: OwnSet, agent: str, tmp_path: Path, change: dict[str, Any], setting: str
) -> None:
    config = configured(own_set, python(agent))
    execute(config, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    with pytest.raises(RunError, match=rf"was made with {setting}.*choose another --out"):
        execute(msgspec.structs.replace(config, **change), tmp_path / "run")
    assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()} == before


def test_concurrency_may_change(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    config = configured(own_set, python(agent), concurrency=1)
    execute(config, tmp_path / "run")
    assert execute(msgspec.structs.replace(config, concurrency=3), tmp_path / "run").finished_before == 7


def test_a_changed_question_file_is_noticed(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    config = configured(own_set, python(agent))
    execute(config, tmp_path / "run")
    own_set.questions.write_text(own_set.questions.read_text().replace("Oslo", "Rome"), encoding="utf-8")
    with pytest.raises(RunError, match=r"data\.sha256"):
        execute(config, tmp_path / "run")


def test_two_runs_give_the_same_trajectories(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    """Concurrency changes the order of the records, never what is in them."""
    found = []
    for concurrency in (1, 5):
        config = configured(own_set, python(agent), concurrency=concurrency)
        run = execute(config, tmp_path / f"run{concurrency}").run
        records = run.trajectories()
        found.append([_without_times(records[key]) for key in sorted(records)])
    assert found[0] == found[1]


def _without_times(record: Any) -> Any:
    steps = tuple(msgspec.structs.replace(step, seconds=0.0) for step in record.steps)
    return msgspec.structs.replace(record, steps=steps, seconds=0.0, run_id="")


def test_the_runner_drives_the_same_environment_as_everybody(own_set: OwnSet, tmp_path: Path) -> None:
    """One scripted policy gives the same trajectory through the runner and through the loop alone."""
    script = tmp_path / "script.jsonl"
    actions = [
        Action.search("stations of Bonn"),
        Action.fetch(2),
        Action.note("Bonn is on page 4.", 4),
        Action("fetch", {"page": "x"}),
        Action.answer("58"),
    ]
    script.write_bytes(b"\n".join(map(msgspec.json.encode, actions)))
    spec = RoleSpec(backend="scripted", argument=str(script))
    run = execute(configured(own_set, spec, ids=("mini:4",)), tmp_path / "run").run
    stored = run.trajectories()["mini:4#0"]

    given = load_questions(own_set.questions, own_set.docs)
    question = given.question("mini:4")
    document = given.open(question)
    retriever = BM25Retriever()
    retriever.index(document)
    env = Environment(question, document, retriever, PROTOCOLS["awm"])
    alone = asyncio.run(run_agent(ScriptedPolicy(actions), env, seed=0))
    assert _without_times(stored) == _without_times(alone)
    assert (stored.answer, stored.invalid_turns, stored.stop_reason) == ("58", 2, StopReason.ANSWERED)


# -- selection: denominators cannot shrink -----------------------------------------------------------------------


@pytest.fixture
def set_with_a_missing_document(own_set: OwnSet) -> OwnSet:
    with own_set.questions.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"doc_id": "gone.pdf", "question": "What is missing?", "answer": 1}) + "\n")
    return own_set


def test_rows_without_a_document_are_left_out_and_counted(
    set_with_a_missing_document: OwnSet, agent: str, tmp_path: Path
) -> None:
    run = execute(configured(set_with_a_missing_document, python(agent)), tmp_path / "run").run
    assert run.manifest["counts"] == {"n_set": 8, "n_selected": 7, "n_without_document": 1}
    assert len(run.questions()) == len(run.trajectories()) == 7


def test_strict_makes_them_unscored(set_with_a_missing_document: OwnSet, agent: str, tmp_path: Path) -> None:
    config = configured(set_with_a_missing_document, python(agent), strict=True)
    outcome = execute(config, tmp_path / "run")
    assert outcome.finished_now == 7
    run = outcome.run
    assert [question.question_id for question in run.questions()][-1] == "mini:7"
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=()))
    rows = {row.trajectory_id: row for row in run.scores(scored.score_id).read()}
    assert len(rows) == 8
    assert (rows["mini:7#0"].value, rows["mini:7#0"].unscored) == (None, Unscored.MISSING_DOCUMENT)


def test_limit_and_ids_select_in_the_order_of_the_set(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    limited = execute(configured(own_set, python(agent), limit=2), tmp_path / "limit").run
    assert [question.question_id for question in limited.questions()] == ["mini:0", "mini:1"]
    assert sorted(limited.trajectories()) == ["mini:0#0", "mini:1#0"]
    chosen = execute(configured(own_set, python(agent), ids=("mini:5", "mini:2", "4")), tmp_path / "ids").run
    assert [question.question_id for question in chosen.questions()] == ["mini:2", "mini:4", "mini:5"]
    with pytest.raises(ConfigError, match="no question 'mini:77'"):
        execute(configured(own_set, python(agent), ids=("mini:77",)), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_samples_are_told_apart(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    run = execute(configured(own_set, python(agent), samples=3, seed=10, limit=2), tmp_path / "run").run
    records = run.trajectories()
    assert sorted(records) == [f"mini:{index}#{sample}" for index in range(2) for sample in range(3)]
    assert {record.sample_index: record.seed for record in records.values()} == {0: 10, 1: 11, 2: 12}
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=()))
    assert len(list(run.scores(scored.score_id).read())) == 6


# -- faults are unscored and tried again ---------------------------------------------------------------------------


def test_a_document_that_cannot_be_opened_is_unscored_and_tried_again(
    own_set: OwnSet, agent: str, tmp_path: Path
) -> None:
    broken = own_set.docs / "report_1.pdf"
    whole = broken.read_bytes()
    broken.write_bytes(whole[: len(whole) // 3])
    config = configured(own_set, python(agent))
    outcome = execute(config, tmp_path / "run")
    assert outcome[1:] == (0, 4, 3, False)
    assert stop_reasons(outcome.run) == {"answered": 4, "document_error": 3}
    fault = outcome.run.trajectories()["mini:1#0"]
    assert "report_1.pdf" in (fault.error or "")
    scored = score_run(outcome.run, ScoreConfig(extractor=NO_EXTRACTOR, readers=()))
    assert scored.unscored == 3
    broken.write_bytes(whole)
    again = execute(config, tmp_path / "run")
    assert again[1:] == (4, 3, 0, False)
    assert len(asked(agent)) == 7
    assert stop_reasons(again.run) == {"answered": 7}
    assert score_run(again.run, ScoreConfig(extractor=NO_EXTRACTOR, readers=())).unscored == 0


def test_a_policy_that_raises_is_unscored_and_tried_again(
    own_set: OwnSet, agent: str, tmp_path: Path
) -> None:
    config = configured(own_set, python(agent))
    outcome = execute(configured(own_set, python(agent), limit=1), tmp_path / "warm-up")
    assert outcome.faults == 0
    module = sys.modules[agent]
    module.asked.clear()
    module.down.update({"Lima", "founded"})
    outcome = execute(config, tmp_path / "run")
    assert outcome[1:] == (0, 5, 2, False)
    fault = outcome.run.trajectories()["mini:6#0"]
    assert fault.stop_reason is StopReason.PROVIDER_ERROR
    assert fault.error == "The policy failed: ConnectionError: the server is away"
    scored = score_run(outcome.run, ScoreConfig(extractor=NO_EXTRACTOR, readers=()))
    rows = {row.trajectory_id: row for row in outcome.run.scores(scored.score_id).read()}
    assert {key for key, row in rows.items() if row.unscored is Unscored.AGENT_FAULT} == {
        "mini:1#0",
        "mini:6#0",
    }
    assert all(rows[key].value is None for key in ("mini:1#0", "mini:6#0"))
    module.asked.clear()
    module.down.clear()
    again = execute(config, tmp_path / "run")
    assert again[1:] == (5, 2, 0, False)
    assert sorted(asked(agent)) == [
        "How many stations does the city of Lima have?",
        "Who founded the railway?",
    ]


def test_a_spent_budget_is_an_empty_prediction_and_its_memory_is_read(
    own_set: OwnSet, agent: str, reader: str, tmp_path: Path
) -> None:
    config = configured(own_set, python(agent), protocol=named_protocol("awm", max_turns=2), limit=6)
    run = execute(config, tmp_path / "run").run
    assert stop_reasons(run) == {"turn_limit": 6}
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(reader),)))
    rows = list(run.scores(scored.score_id).read())
    assert {(row.target, row.value) for row in rows} == {("answer", 0.0), ("memory", 1.0)}
    assert scored.unscored == 0


def test_bad_settings_leave_nothing_behind(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    bad: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"policy": RoleSpec(backend="psychic")}, ConfigError, "no policy 'psychic'"),
        (
            {"policy": RoleSpec(backend="python", argument="no_such_module:make")},
            ConfigError,
            "cannot be imported",
        ),
        ({"policy": RoleSpec(backend="python", argument=f"{agent}:nope")}, ConfigError, "no function 'nope'"),
        ({"policy": RoleSpec(backend="python", argument=agent)}, ConfigError, "does not name a factory"),
        ({"retriever": "telepathy"}, ConfigError, "no retriever 'telepathy'"),
        ({"data": DataConfig(benchmark="none.jsonl", path=str(own_set.docs))}, DataError, "cannot be read"),
        ({"data": DataConfig(benchmark="tarot", path=str(own_set.docs))}, ConfigError, "tarot"),
    ]
    for change, error, words in bad:
        config = msgspec.structs.replace(configured(own_set, python(agent)), **change)
        with pytest.raises(error, match=words):
            execute(config, tmp_path / "run")
        assert not (tmp_path / "run").exists(), change


def test_another_writer_is_refused(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    config = configured(own_set, python(agent))
    with Run.create(tmp_path / "run").writing(), pytest.raises(RunError, match="Another process"):
        execute(config, tmp_path / "run")


def test_gold_pages_are_an_oracle_in_every_record(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    config = configured(
        own_set, python(agent), protocol=PROTOCOLS["ep-given"], retriever="gold-pages", limit=2
    )
    run = execute(config, tmp_path / "run").run
    for record in run.trajectories().values():
        assert record.oracle == {"gold_pages": True}
        assert record.shown_pages == (2,)


def test_ep_given_never_runs_with_another_retriever(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    """An oracle setting is named in every result, and its name is given to nothing else."""
    try:
        run = execute(
            configured(own_set, python(agent), protocol=PROTOCOLS["ep-given"]), tmp_path / "run"
        ).run
    except ConfigError as refusal:
        assert "gold-pages" in str(refusal)  # noqa: PT017  (either is right)
        assert not (tmp_path / "run").exists()
    else:
        assert {str(record.oracle) for record in run.trajectories().values()} == {"{'gold_pages': True}"}


def test_a_result_names_what_it_depends_on(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    """Retriever family and page resolution are saved beside the trajectories."""
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    saved = json.dumps([run.config, run.manifest])
    assert run.manifest["retriever"] == {"name": "bm25", "family": "lexical"}
    assert "dpi" in saved


def test_page_images_are_numbered_as_the_set_says(
    own_set: OwnSet, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LongDocURL names page images from 0: without image 0 every page would silently be one off."""
    folder = own_set.docs / "scan"
    folder.mkdir()
    for number in (1, 2):
        Image.new("RGB", (40, 60), "white").save(folder / f"scan_{number}.png")
    given = load_questions(own_set.questions, own_set.docs)
    documents = {**given.documents, "report_0.pdf": folder}
    monkeypatch.setattr(
        "looseleaf.runner.execute.load_data",
        lambda config: dataclasses.replace(given, documents=documents, first_index=0),
    )
    run = execute(configured(own_set, python(agent), limit=1), tmp_path / "run").run
    assert stop_reasons(run) == {"document_error": 1}


# -- scoring -------------------------------------------------------------------------------------------------------


def by_key(run: Run, score_id: str) -> dict[str, ScoreRow]:
    return {row.key: row for row in run.scores(score_id).read()}


def test_the_reader_gets_the_question_and_the_memory(
    own_set: OwnSet, agent: str, reader: str, tmp_path: Path
) -> None:
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(reader),)))
    seen = sys.modules[reader].seen
    assert sorted(seen)[0] == (
        "How many stations does the city of Bonn have?",
        ["The city of Bonn has 58 stations in use."],
    )
    assert len(seen) == 7
    rows = by_key(run, scored.score_id).values()
    assert Counter((row.target, row.value) for row in rows) == {("answer", 1.0): 7, ("memory", 1.0): 7}
    assert {row.reading_id for row in rows} == {None, scored.reading_ids[0]}
    assert run.sidecars("readings")[scored.reading_ids[0]]["reader"]["argument"] == f"{reader}:make"


def test_scoring_again_runs_nobody_again(own_set: OwnSet, agent: str, reader: str, tmp_path: Path) -> None:
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    config = ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(reader),))
    first = score_run(run, config)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.jsonl")}
    again = score_run(run, config)
    assert again == first
    assert (len(asked(agent)), len(sys.modules[reader].seen)) == (7, 7)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.jsonl")} == before


def test_another_reader_has_a_ledger_of_its_own_and_does_not_run_the_agent(
    own_set: OwnSet, agent: str, reader: str, tmp_path: Path
) -> None:
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    first = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(reader),)))
    constant = RoleSpec(backend="constant", argument="58")
    both = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(reader), constant)))
    assert both.reading_ids[0] == first.reading_ids[0]
    assert len(set(both.reading_ids)) == 2
    assert (len(asked(agent)), len(sys.modules[reader].seen)) == (7, 7)
    rows = by_key(run, both.score_id).values()
    right = Counter(row.reading_id for row in rows if row.target == "memory" and row.value == 1.0)
    assert right == {both.reading_ids[0]: 7, both.reading_ids[1]: 1}


def test_a_reader_outage_is_unscored_and_tried_again(
    own_set: OwnSet, agent: str, reader: str, tmp_path: Path
) -> None:
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    config = ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(reader),))
    importlib.import_module(reader)
    sys.modules[reader].down.update({"Oslo", "Pune"})
    scored = score_run(run, config)
    assert scored.unscored == 2
    rows = by_key(run, scored.score_id).values()
    failed = [row for row in rows if row.unscored]
    assert {(row.target, row.unscored, row.value) for row in failed} == {
        ("memory", Unscored.READER_FAULT, None)
    }
    assert "the reader is away" in (failed[0].error or "")
    sys.modules[reader].down.clear()
    sys.modules[reader].seen.clear()
    again = score_run(run, config)
    assert (again.score_id, again.unscored) == (scored.score_id, 0)
    assert len(sys.modules[reader].seen) == 2
    assert all(row.value == 1.0 for row in by_key(run, again.score_id).values())


WRONG = """
from looseleaf import Reading
from looseleaf.roles import Extraction

class Wrong:
    def read(self, question, memory):
        return {what}

    def extract(self, question, response):
        return {what}

def make():
    return Wrong()
"""


@pytest.mark.parametrize(
    "what", ["None", "'58'", "42", "Reading(text=None)", "Reading(text='7', usage=None)"]
)
def test_a_reader_that_returns_something_else_is_a_reader_fault(
    own_set: OwnSet, agent: str, agent_module: MakeModule, tmp_path: Path, what: str
) -> None:
    wrong = agent_module(WRONG.format(what=what))
    run = execute(configured(own_set, python(agent), limit=2), tmp_path / "run").run
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(wrong),)))
    rows = by_key(run, scored.score_id).values()
    assert Counter(row.unscored for row in rows) == {None: 2, Unscored.READER_FAULT: 2}


@pytest.mark.parametrize("what", ["None", "'58'", "Extraction(text=None)"])
def test_an_extractor_that_returns_something_else_is_an_extractor_fault(
    own_set: OwnSet, agent: str, agent_module: MakeModule, tmp_path: Path, what: str
) -> None:
    wrong = agent_module(WRONG.format(what=what))
    run = execute(configured(own_set, python(agent), limit=2), tmp_path / "run").run
    scored = score_run(run, ScoreConfig(extractor=python(wrong), readers=()))
    rows = by_key(run, scored.score_id).values()
    assert Counter(row.unscored for row in rows) == {Unscored.EXTRACTOR_FAULT: 2}


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb"])
def test_text_that_cannot_be_stored_does_not_stop_the_scoring(
    own_set: OwnSet, agent: str, agent_module: MakeModule, tmp_path: Path, text: str
) -> None:
    """Models spell lone surrogates in JSON escapes; UTF-8 cannot hold them."""
    wrong = agent_module(WRONG.format(what=f"Reading(text={text!r})"))
    run = execute(configured(own_set, python(agent), limit=2), tmp_path / "run").run
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(wrong),)))
    rows = [row for row in by_key(run, scored.score_id).values() if row.target == "memory"]
    assert len(rows) == 2


EXTRACTOR = """
from looseleaf.roles import Extraction

seen = []
down = set()

class Extractor:
    async def extract(self, question, response):
        seen.append((question, response))
        if any(word in question for word in down):
            raise TimeoutError("the extractor is away")
        return Extraction(text=f"Extracted answer: {response}\\nAnswer format: Int")

def make():
    return Extractor()
"""


def test_an_extractor_outage_is_unscored_and_tried_again(
    own_set: OwnSet, agent: str, agent_module: MakeModule, tmp_path: Path
) -> None:
    extractor = agent_module(EXTRACTOR)
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    importlib.import_module(extractor)
    module = sys.modules[extractor]
    module.down.add("Oslo")
    config = ScoreConfig(extractor=python(extractor), readers=())
    scored = score_run(run, config)
    assert scored.unscored == 1
    row = by_key(run, scored.score_id)["mini:0#0|answer|None|own|0"]
    assert (row.value, row.unscored) == (None, Unscored.EXTRACTOR_FAULT)
    assert "the extractor is away" in (row.error or "")
    module.down.clear()
    module.seen.clear()
    again = score_run(run, config)
    assert (again.score_id, again.unscored, len(module.seen)) == (scored.score_id, 0, 1)
    assert by_key(run, again.score_id)["mini:0#0|answer|None|own|0"].value == 1.0


JUDGE = """
from looseleaf.roles import Judgement

prompts = []
down = set()
garbled = set()

class Judge:
    def judge(self, prompt):
        prompts.append(prompt)
        if any(word in prompt for word in down):
            raise ConnectionError("the judge is away")
        if any(word in prompt for word in garbled):
            return Judgement(text="I would say that it is correct.")
        return Judgement(text='{"binary_correctness": 1}')

def make():
    return Judge()
"""


def test_a_judge_outage_and_a_reply_without_a_verdict_are_unscored_and_tried_again(
    own_set: OwnSet, agent: str, agent_module: MakeModule, tmp_path: Path
) -> None:
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    name = agent_module(JUDGE)
    judge = importlib.import_module(name)
    judge.down.update({"Oslo", "Lima"})
    judge.garbled.update({"Pune"})
    config = ScoreConfig(scorer="judge.binary", judge=python(name), readers=())
    scored = score_run(run, config)
    assert scored.unscored == 3
    rows = by_key(run, scored.score_id)
    assert Counter((row.value, row.unscored) for row in rows.values()) == {
        (1.0, None): 4,
        (None, Unscored.JUDGE_FAULT): 3,
    }
    assert {row.upstream_value for row in rows.values() if row.unscored} == {0}, (
        "upstream's own convention, apart"
    )
    assert "the judge is away" in (rows["mini:0#0|answer|None|own|0"].error or "")
    judge.down.clear()
    judge.garbled.clear()
    judge.prompts.clear()
    again = score_run(run, config)
    assert (again.score_id, again.unscored, len(judge.prompts)) == (scored.score_id, 0, 3)
    assert run.sidecars("scores")[again.score_id]["judge"]["argument"] == f"{name}:make"


def test_a_judge_scorer_without_a_judge_is_a_sentence(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    run = execute(configured(own_set, python(agent), limit=1), tmp_path / "run").run
    with pytest.raises(ConfigError, match=r"judge\.binary needs a judge; add --judge"):
        score_run(run, ScoreConfig(scorer="judge.binary"))


@pytest.mark.parametrize("what", ["None", "'{}'", "Judgement(text=None)"])
def test_a_judge_that_returns_something_else_is_a_judge_fault(
    own_set: OwnSet, agent: str, agent_module: MakeModule, tmp_path: Path, what: str
) -> None:
    source = JUDGE.replace("return Judgement(text='{\"binary_correctness\": 1}')", f"return {what}")
    assert source != JUDGE
    run = execute(configured(own_set, python(agent), limit=2), tmp_path / "run").run
    config = ScoreConfig(scorer="judge.binary", judge=python(agent_module(source)), readers=())
    rows = by_key(run, score_run(run, config).score_id).values()
    assert Counter(row.unscored for row in rows) == {Unscored.JUDGE_FAULT: 2}


def test_several_scorers_stand_side_by_side(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    scored = [
        score_run(run, ScoreConfig(scorer=scorer, extractor=NO_EXTRACTOR, readers=())).score_id
        for scorer in ("mmlongbench", "dude.anls", "mmlongbench")
    ]
    assert scored[0] == scored[2] != scored[1]
    assert set(run.sidecars("scores")) == set(scored)
    assert len(by_key(run, scored[0])) == len(by_key(run, scored[1])) == 7
    assert len(asked(agent)) == 7


def test_scoring_waits_for_no_other_writer(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    run = execute(configured(own_set, python(agent), limit=1), tmp_path / "run").run
    with Run.open(tmp_path / "run").writing(), pytest.raises(RunError, match="Another process"):
        score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=()))


def test_bad_score_settings_are_sentences(own_set: OwnSet, agent: str, tmp_path: Path) -> None:
    run = execute(configured(own_set, python(agent), limit=1), tmp_path / "run").run
    files = sorted((tmp_path / "run").rglob("*"))
    for config, words in (
        (ScoreConfig(scorer="astrology"), "astrology"),
        (ScoreConfig(extractor=RoleSpec(backend="psychic")), "no extractor 'psychic'"),
        (ScoreConfig(extractor=NO_EXTRACTOR, readers=(RoleSpec(backend="psychic"),)), "no reader 'psychic'"),
        (ScoreConfig(extractor=NO_EXTRACTOR, judge=RoleSpec(backend="psychic")), "no judge 'psychic'"),
    ):
        with pytest.raises(ConfigError, match=words):
            score_run(run, config)
    assert sorted((tmp_path / "run").rglob("*")) == files


def test_without_memory_no_reader_is_run(own_set: OwnSet, agent: str, reader: str, tmp_path: Path) -> None:
    config = configured(own_set, python(agent), protocol=PROTOCOLS["rag"])
    run = execute(config, tmp_path / "run").run
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=(python(reader),)))
    assert scored.reading_ids == ()
    assert {row.target for row in by_key(run, scored.score_id).values()} == {"answer"}


def test_a_question_without_a_gold_answer_is_unscored_and_no_fault(
    own_set: OwnSet, agent: str, tmp_path: Path
) -> None:
    with own_set.questions.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"doc_id": "report_0.pdf", "question": "What else?"}) + "\n")
    run = execute(configured(own_set, python(agent)), tmp_path / "run").run
    scored = score_run(run, ScoreConfig(extractor=NO_EXTRACTOR, readers=()))
    assert by_key(run, scored.score_id)["mini:7#0|answer|None|own|0"].unscored is Unscored.NO_GOLD
    assert scored.unscored == 0


# -- interrupts and kill -9, as a user meets them ------------------------------------------------------------------

HELD_AGENT = """
import asyncio, os, re
from pathlib import Path
from looseleaf import Action

class Agent:
    async def act(self, view):
        if not view.history:
            with open(os.environ["ASKED"], "a") as file:
                file.write(view.question + "\\n")
            while int(re.search("[0-9]+", view.question)[0]) >= 6 and not Path(os.environ["GO"]).exists():
                await asyncio.sleep(0.01)
            return Action.fetch(1)
        if not view.memory.findings:
            return Action.note("A survey.", 1)
        return Action.answer("7")

def make():
    return Agent()
"""
"""Questions 0 to 5 run through; later ones hold until the file GO is there."""

ALL = [f"mini:{index}#0" for index in range(14)]


class Session:
    """`looseleaf eval` over 14 questions, three at a time, in a process of its own."""

    def __init__(self, own_set: OwnSet, module: str, out: Path) -> None:
        row = {"doc_id": "report_0.pdf", "answer": 7}
        lines = [json.dumps(row | {"question": f"What is number {index}?"}) for index in range(len(ALL))]
        own_set.questions.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.out = out
        self.log = out.with_suffix(".log")
        self.go = out.with_suffix(".go")
        self.command = [
            *(sys.executable, "-m", "looseleaf", "eval", str(own_set.questions), "--docs", str(own_set.docs)),
            *("--out", str(out), "--policy", f"python:{module}:make", "--concurrency", "3"),
            *("--extractor", "none", "--reader", "constant:7"),
        ]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command,
            env=os.environ | {"ASKED": str(self.log), "GO": str(self.go)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start_and_hold(self) -> subprocess.Popen[str]:
        """Start, and wait until six questions are finished and three more are held."""
        process = self.start()
        for _ in range(6000):
            if (len(self.finished()) == 6 and len(self.asked()) == 9) or process.poll() is not None:
                break
            time.sleep(0.01)
        return process

    def finish(self) -> tuple[int, str, str]:
        self.go.touch()
        process = self.start()
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def finished(self) -> list[str]:
        """Trajectory ids of the whole lines on disk, in order."""
        path = self.out / "trajectories.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line)["trajectory_id"] for line in lines if line.endswith(b"\n")]

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def session(own_set: OwnSet, agent_module: MakeModule, tmp_path: Path) -> Session:
    return Session(own_set, agent_module(HELD_AGENT), tmp_path / "run")


def test_kill_9_in_the_middle_of_eval_and_the_same_command_again(session: Session) -> None:
    process = session.start_and_hold()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = session.finished()
    assert sorted(before) == ALL[:6]
    code, out, err = session.finish()
    assert code == 0, err
    after = session.finished()
    assert after[:6] == before
    assert sorted(after) == sorted(ALL), "none lost and none twice"
    asked_again = session.asked()[9:]
    assert sorted(asked_again) == sorted(f"What is number {index}?" for index in range(6, 14))
    assert "Acc" in out


def test_an_interrupt_finishes_what_is_in_flight_and_the_same_command_goes_on(session: Session) -> None:
    process = session.start_and_hold()
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    session.go.touch()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "the same command goes on" in err
    assert sorted(session.finished()) == ALL[:9], "what was started was finished, and no more was started"
    code, _, err = session.finish()
    assert code == 0, err
    assert sorted(session.finished()) == sorted(ALL)
    assert sorted(session.asked()) == sorted(f"What is number {index}?" for index in range(14))
