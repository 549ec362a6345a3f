"""Every importer against a sample in its upstream's shape: what went in is what the RUN says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import foreign_files as ff
from looseleaf.adapters import IMPORTERS, importer_named
from looseleaf.adapters.imports.provenance import ImportOutcome, ImportRow
from looseleaf.adapters.imports.write import ImportRequest, import_run
from looseleaf.memory import Finding
from looseleaf.runstore import Ledger, Run
from looseleaf.trajectory import StopReason, Trajectory

Importing = Callable[..., ImportOutcome]


@pytest.fixture
def importing(tmp_path: Path) -> Importing:
    def run(name: str, path: Path, **request: Any) -> ImportOutcome:
        return import_run(ImportRequest(importer_named(name), path, **request), tmp_path / "run")

    return run


def only(outcome: ImportOutcome) -> Trajectory:
    found = list(outcome.run.trajectories().values())
    assert len(found) == 1
    return found[0]


def actions(made: Trajectory) -> list[tuple[str, dict[str, Any]] | None]:
    return [None if step.action is None else (step.action.name, step.action.arguments) for step in made.steps]


def shown(made: Trajectory) -> list[tuple[int, ...]]:
    return [step.observation.shown for step in made.steps]


def raw_pages(run: Run) -> list[Any]:
    return [row.raw_pages for row in Ledger(run.path / "imports.jsonl", ImportRow).read()]


def test_every_format_names_where_its_shape_comes_from() -> None:
    for name in IMPORTERS:
        source = importer_named(name)
        assert source.name == name
        assert source.upstream
        assert source.pages


# -- chat ----------------------------------------------------------------------------------------------------------


def test_chat_with_tool_calls(importing: Importing, tmp_path: Path) -> None:
    outcome = importing("chat", ff.write_lines(tmp_path / "runs.jsonl", [ff.chat_row()]))
    made = only(outcome)
    assert made.question == "How many stations has Oslo?"
    assert made.answer == "17"
    assert made.stop_reason is StopReason.ANSWERED
    assert actions(made) == [
        ("search", {"query": "Oslo stations"}),
        ("note", {"text": "Oslo has 17 stations.", "source_page": 3}),
        ("answer", {"text": "17"}),
    ]
    assert shown(made) == [(3, 5), (), ()]
    assert made.memory == (Finding("Oslo has 17 stations.", 3),)
    assert made.undefined == ()
    question = outcome.run.questions()[0]
    assert (question.native_id, question.doc_id) == ("q-1", "report_0.pdf")
    assert (question.references, question.evidence_pages) == (("17",), (3,))
    assert outcome.run.config["protocol"]["memory"] == "optional"
    assert outcome.run.config["roles"]["policy"]["argument"] == "some-model"


def test_chat_with_tags_has_no_memory_and_says_so(importing: Importing, tmp_path: Path) -> None:
    outcome = importing("chat", ff.write_json(tmp_path / "runs.json", [ff.tagged_row()]))
    made = only(outcome)
    assert made.answer == "29"
    assert actions(made) == [
        ("search", {"query": "Rome stations"}),
        ("fetch", {"page": 4}),
        ("answer", {"text": "29"}),
    ]
    assert shown(made) == [(2,), (4,), ()]
    assert [step.thought for step in made.steps] == ["Look.", "Next one.", "Done."]
    assert made.undefined == ("memory",)
    assert made.question == "How many stations has Rome?"
    assert outcome.run.config["protocol"]["memory"] == "none"


def test_one_conversation_with_notes_makes_the_others_memories_empty(
    importing: Importing, tmp_path: Path
) -> None:
    path = ff.write_lines(tmp_path / "runs.jsonl", [ff.tagged_row(), ff.chat_row()])
    made = importing("chat", path).run.trajectories()
    assert [(t.undefined, len(t.memory)) for t in made.values()] == [((), 0), ((), 1)]


def test_chat_counts_pages_from_zero_where_told(importing: Importing, tmp_path: Path) -> None:
    path = ff.write_lines(tmp_path / "runs.jsonl", [ff.tagged_row(evidence_pages=[1, 3])])
    outcome = importing("chat", path, options={"page-base": "0"})
    made = only(outcome)
    assert shown(made) == [(3,), (5,), ()]
    assert actions(made)[1] == ("fetch", {"page": 5, "raw_page": 4})
    assert raw_pages(outcome.run) == [[[], [2], [4], []]]
    assert outcome.run.questions()[0].evidence_pages == (2, 4)


def test_an_image_that_names_no_page_leaves_pages_undefined(importing: Importing, tmp_path: Path) -> None:
    row = ff.chat_row()
    row["messages"][4]["content"] = [ff.words("Page 3:"), ff.image(), ff.words("And another:"), ff.image()]
    made = only(importing("chat", ff.write_lines(tmp_path / "runs.jsonl", [row])))
    assert made.undefined == ("pages",)
    assert shown(made)[0] == (3,)


def test_images_name_pages_by_their_files_or_a_field(importing: Importing, tmp_path: Path) -> None:
    row = ff.chat_row()
    by_name = {"type": "image_url", "image_url": {"url": "https://host/pages/report_0/page_0012.png?x=1"}}
    row["messages"][4]["content"] = [by_name, ff.image(7)]
    assert shown(only(importing("chat", ff.write_lines(tmp_path / "r.jsonl", [row]))))[0] == (12, 7)


def test_several_calls_in_one_generation_are_one_turn(importing: Importing, tmp_path: Path) -> None:
    row = ff.chat_row()
    row["messages"][2]["tool_calls"] = [
        ff.call("note", text="A first note.", source_page=2),
        ff.call("search_documents", query="first"),
        ff.call("search_documents", query="second"),
    ]
    made = only(importing("chat", ff.write_lines(tmp_path / "r.jsonl", [row])))
    assert made.turns == 3
    also = [{"action": "search", "query": "second"}]
    assert actions(made)[0] == ("search", {"query": "first", "also": also})
    assert [finding.text for finding in made.memory] == ["A first note.", "Oslo has 17 stations."]


def test_a_conversation_without_answer_is_an_empty_prediction(importing: Importing, tmp_path: Path) -> None:
    row = ff.chat_row()
    row["messages"] = row["messages"][:-2]
    made = only(importing("chat", ff.write_lines(tmp_path / "r.jsonl", [row])))
    assert (made.answer, made.stop_reason) == (None, StopReason.TURN_LIMIT)


def test_a_conversation_that_a_fault_ended_is_unscored(importing: Importing, tmp_path: Path) -> None:
    made = only(importing("chat", ff.write_lines(tmp_path / "r.jsonl", [ff.chat_row(error="timed out")])))
    assert (made.stop_reason, made.error) == (StopReason.PROVIDER_ERROR, "timed out")


# -- result files ----------------------------------------------------------------------------------------------------


def test_madqa(importing: Importing, tmp_path: Path) -> None:
    outcome = importing("madqa", ff.write_lines(tmp_path / "results.jsonl", [ff.madqa_row()]))
    made = only(outcome)
    assert actions(made) == [
        ("search", {"query": "Oslo"}),
        ("search", {"query": "Oslo stations"}),
        ("answer", {"text": "17"}),
    ]
    assert shown(made) == [(1, 2), (3,), ()]
    assert (made.answer, made.doc_id, made.undefined) == ("17", "report_0.pdf", ("memory",))
    assert (made.usage.prompt_tokens, made.usage.completion_tokens) == (300, 30)
    assert made.steps[0].thought == "Try the name."
    assert outcome.run.questions()[0].native_id == "madqa-7"


def test_madqa_pages_of_other_documents_leave_navigation_undefined(
    importing: Importing, tmp_path: Path
) -> None:
    row = ff.madqa_row()
    row["trajectory"][0]["tool_results"][0]["results"].append({"file": "other.pdf", "page": 9})
    outcome = importing("madqa", ff.write_lines(tmp_path / "results.jsonl", [row]))
    made = only(outcome)
    assert made.undefined == ("memory", "pages")
    assert shown(made)[0] == (1, 2)
    assert "other.pdf, page 9" in made.steps[0].observation.text
    assert any("other documents" in notice for notice in outcome.notices)


def test_madqa_failures_lists_and_the_evaluators_minimal_form(importing: Importing, tmp_path: Path) -> None:
    failed = {"question": "Q1?", "id": "1", "error": "rate limit", "error_traceback": "…", "category": None}
    several = {"question": "Q2?", "answer": ["a", "b"], "citations": [{"document": "d.pdf", "page": 1}]}
    counted = {"question": "Q3?", "answer": "x", "iterations": 2}
    none = {"question": "Q4?", "answer": None, "iterations": 5}
    broken = {
        "question": "Q5?",
        "answer": ["Error occurred"],
        "citations": [],
        "iterations": 1,
        "error": "500",
    }
    silent = {"question": "Q6?", "answer": ["No response received"], "citations": [], "iterations": 1}
    path = ff.write_lines(tmp_path / "results.jsonl", [failed, several, counted, none, broken, silent])
    made = list(importing("madqa", path).run.trajectories().values())
    faults = ["provider_error"] * 2
    assert [t.stop_reason for t in made] == ["provider_error", "answered", "answered", "turn_limit", *faults]
    assert [t.answer for t in made] == [None, "['a', 'b']", "x", None, None, None]
    assert made[1].undefined == ("memory", "pages", "steps")
    assert made[2].undefined == ("memory", "pages")
    assert made[2].turns == 2


def test_mdocagent_counts_pages_from_zero_and_shows_the_first_of_each_retriever(
    importing: Importing, tmp_path: Path
) -> None:
    outcome = importing("mdocagent", ff.write_json(tmp_path / "r.json", [ff.mdocagent_row()]))
    made = only(outcome)
    assert shown(made) == [(3, 2), ()]
    assert [(r.page, r.score) for r in made.steps[0].observation.returned] == [(3, 9.5), (1, 3.0), (2, 1.0)]
    assert (made.answer, made.undefined) == ("Oslo has 17 stations.", ("memory", "steps"))
    question = outcome.run.questions()[0]
    assert (question.evidence_pages, question.raw_evidence, question.sources) == ((3,), "[3]", ("Table",))
    assert raw_pages(outcome.run)[0]["image-top-10-question"] == [1, 2]
    assert outcome.run.config["roles"]["policy"]["argument"] == "mmlb-MDA"


def test_mdocagent_options_faults_and_samples_not_reached(importing: Importing, tmp_path: Path) -> None:
    rows = [
        ff.mdocagent_row(),
        ff.mdocagent_row(question="Failed?", **{"ans_mmlb-MDA": None}),
        {
            key: value
            for key, value in ff.mdocagent_row(question="Not reached?").items()
            if key != "ans_mmlb-MDA"
        },
    ]
    path = ff.write_json(tmp_path / "r.json", rows)
    outcome = importing("mdocagent", path, options={"top-k": "4"})
    made = outcome.run.trajectories()
    assert made["mdocagent:0#0"].shown_pages == (3, 1, 2)
    assert made["mdocagent:1#0"].stop_reason is StopReason.PROVIDER_ERROR
    assert "mdocagent:2#0" not in made
    assert len(outcome.run.questions()) == 3
    assert (outcome.imported, outcome.not_run) == (2, 1)


def test_simpledoc_chat_holds_the_last_round_only(importing: Importing, tmp_path: Path) -> None:
    outcome = importing("simpledoc", ff.write_json(tmp_path / "r.json", [ff.simpledoc_chat()]))
    made = only(outcome)
    assert made.undefined == ("memory", "pages", "steps")
    assert (made.answer, made.shown_pages) == ("17 stations", (3, 1))
    assert outcome.run.questions()[0].evidence_pages == (3,)


def test_simpledoc_pipeline_rounds_are_turns(importing: Importing, tmp_path: Path) -> None:
    unanswered = ff.simpledoc_pipeline(original_question="Other?", final_response_type="not_answerable")
    asked_on = ff.simpledoc_pipeline(original_question="Third?", final_response_type="query_update")
    path = ff.write_json(tmp_path / "r.json", [ff.simpledoc_pipeline(), unanswered, asked_on])
    first, second, third = importing("simpledoc", path).run.trajectories().values()
    assert actions(first) == [
        ("search", {"query": "How many stations has Oslo?"}),
        ("answer", {"text": "17"}),
    ]
    assert shown(first) == [(1, 2), (3,)]
    assert first.undefined == ("memory",)
    assert (first.answer, second.answer) == ("17", "Not answerable")
    assert (third.answer, third.stop_reason) == (None, StopReason.TURN_LIMIT)


def test_simpledoc_page_qa(importing: Importing, tmp_path: Path) -> None:
    failed = {"doc_id": "report_0.pdf", "question": "Other?", "error": "LLM query failed", "idx": 1}
    path = ff.write_lines(tmp_path / "r.jsonl", [ff.simpledoc_page_qa(), failed])
    first, second = importing("simpledoc", path).run.trajectories().values()
    assert (first.answer, first.shown_pages, first.undefined) == ("17", (3, 4), ("memory",))
    assert (second.stop_reason, second.error) == (StopReason.PROVIDER_ERROR, "LLM query failed")


def test_alden(importing: Importing, tmp_path: Path) -> None:
    outcome = importing("alden", ff.write_alden(tmp_path / "out"))
    first, second = outcome.run.trajectories().values()
    assert actions(first) == [
        ("search", {"query": "Oslo stations"}),
        ("fetch", {"page": 4}),
        ("answer", {"text": "17"}),
    ]
    assert shown(first) == [(3, 1, 2), (4,), ()]
    assert [r.page for r in first.steps[0].observation.returned] == [3, 1, 2, 4, 8]
    assert (first.answer, first.undefined) == ("17", ("memory",))
    assert first.usage.completion_tokens == 812
    assert second.shown_pages == ()  # the padding image is no page
    assert (second.answer, second.stop_reason) == (None, StopReason.MALFORMED)
    questions = outcome.run.questions()
    assert questions[0].evidence_pages == (3,)
    assert questions[1].unanswerable
    assert raw_pages(outcome.run)[1] == {"-1": ["0"]}


def test_alden_takes_any_of_its_files_and_says_what_is_missing(importing: Importing, tmp_path: Path) -> None:
    folder = ff.write_alden(tmp_path / "out")
    outcome = importing("alden", folder / "retrieved_page_lst.json", options={"shown": "1"})
    assert outcome.run.trajectories()["alden:0#0"].shown_pages == (3, 4)
    (folder / "retrieved_page_lst.json").unlink()
    made = import_run(ImportRequest(importer_named("alden"), folder / "val.json"), tmp_path / "other")
    assert made.run.trajectories()["alden:0#0"].undefined == ("memory", "pages")


# -- rollouts --------------------------------------------------------------------------------------------------------


def test_vagen_evaluation_folders(importing: Importing, tmp_path: Path) -> None:
    outcome = importing("vagen", ff.write_vagen(tmp_path / "dump"))
    first, second = outcome.run.trajectories().values()
    assert actions(first) == [("search", {"query": "Oslo"}), ("answer", {"text": "17"})]
    assert shown(first) == [(3,), ()]
    assert (first.doc_id, first.answer, first.seed) == ("report_0.pdf", "17", 5)
    assert (second.stop_reason, second.error) == (StopReason.PROVIDER_ERROR, "APITimeoutError: timed out")
    question = outcome.run.questions()[0]
    assert (question.native_id, question.references) == ("q-1", ("17",))


def test_vagen_training_dump(importing: Importing, tmp_path: Path) -> None:
    outcome = importing("vagen", ff.write_lines(tmp_path / "10.jsonl", [ff.vagen_generation()]))
    made = only(outcome)
    assert made.question == "How many stations has Oslo?"
    assert actions(made) == [("search", {"query": "Oslo"}), ("answer", {"text": "17"})]
    assert shown(made) == [(3,), ()]
    assert outcome.run.questions()[0].references == ("17",)


def test_verifiers_results(importing: Importing, tmp_path: Path) -> None:
    failed = ff.verifiers_result(
        example_id=5,
        prompt=[{"role": "user", "content": "How many stations has Rome?"}],
        completion=None,
        error={"error": "ModelError", "message": "timed out", "error_chain_repr": "", "error_chain_str": ""},
    )
    path = ff.write_lines(tmp_path / "results.jsonl", [ff.verifiers_result(), failed])
    outcome = importing("verifiers", path)
    first, second = outcome.run.trajectories().values()
    assert actions(first) == [("search", {"query": "Oslo"}), ("answer", {"text": "Oslo has 17 stations."})]
    assert (shown(first), first.doc_id) == ([(3,), ()], "report_0.pdf")
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (310, 25)
    assert (second.stop_reason, second.error) == (StopReason.PROVIDER_ERROR, "ModelError: timed out")
    question = outcome.run.questions()[0]
    assert (question.native_id, question.references, question.evidence_pages) == ("4", ("17",), (3,))


def test_verifiers_words_that_a_limit_cut_off_are_no_answer(importing: Importing, tmp_path: Path) -> None:
    rows = [
        ff.verifiers_result(stop_condition="max_turns_reached"),
        ff.verifiers_result(example_id=5, stop_condition="prompt_too_long"),
    ]
    path = ff.write_lines(tmp_path / "results.jsonl", rows)
    first, second = importing("verifiers", path).run.trajectories().values()
    assert (first.stop_reason, first.answer) == (StopReason.ANSWERED, "Oslo has 17 stations.")
    assert (second.stop_reason, second.answer) == (StopReason.CONTEXT_OVERFLOW, None)


def test_verifiers_traces_follow_the_path_that_was_sampled_last(importing: Importing, tmp_path: Path) -> None:
    path = ff.write_lines(tmp_path / "traces.jsonl", [ff.verifiers_episode()])
    outcome = importing("verifiers", path.parent)
    made = only(outcome)
    assert actions(made) == [("fetch", {"page": 3}), ("answer", {"text": "17"})]
    assert (made.answer, made.doc_id, made.undefined) == ("17", "report_0.pdf", ("memory",))
    assert made.usage.prompt_tokens == 50
