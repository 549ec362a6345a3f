"""Tasks, solver and scorers under Inspect: names, settings, roles, what is unscored, metrics and limits."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")

from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_info
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import ChatMessage, Model, ModelOutput, get_model
from inspect_ai.scorer import Score as InspectScore

from conftest import OwnSet
from inspect_world import NOISE, USAGE, output, playing, run_task
from looseleaf import Action
from looseleaf.adapters import inspect_ai as tasks
from looseleaf.adapters.inspect_ai import make_task
from looseleaf.adapters.inspect_score import SCORE_NAME, TRAJECTORY_KEY, question_of, trajectory_of
from looseleaf.metrics.row import rows_of
from looseleaf.metrics.sources import source_names
from looseleaf.metrics.table import evaluate_by, evaluate_rows
from looseleaf.models.chat.actions import call_schema
from looseleaf.protocol import PROTOCOLS
from looseleaf.runner.config import DataConfig
from looseleaf.score import Score, Unscored
from looseleaf.statistics import Clusters
from looseleaf.statistics.ratio import linearised_error
from stub_server import Request, Response, StubServer, call

pytestmark = [pytest.mark.filterwarnings(line) for line in NOISE]

NAMES = (
    "mmlongbench_doc",
    "longdocurl",
    "papertab",
    "papertext",
    "fetatab",
    "dude",
    "dude_sub",
    "procedural",
)
OSLO = (
    Action.search("stations of Oslo"),
    Action.note("The city of Oslo has 7 stations in use.", 2),
    Action.answer("7"),
)
"""Right on the question about Oslo, and the memory alone gives it."""


@pytest.fixture
def own_data(own_set: OwnSet) -> DataConfig:
    """`own_set` with evidence sources: the first question has two."""
    for number, row in enumerate(own_set.rows):
        row["evidence_sources"] = ["Table", "Chart"] if number == 0 else ["Table"]
    own_set.questions.write_text("".join(json.dumps(row) + "\n" for row in own_set.rows), encoding="utf-8")
    return DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs))


def samples_of(log: EvalLog) -> list[EvalSample]:
    assert log.status == "success", log.error
    return log.samples or []


def score_of(sample: EvalSample) -> InspectScore:
    return (sample.scores or {})[SCORE_NAME]


def metrics_of(log: EvalLog, name: str) -> dict[str, float]:
    """All metrics of one value, reduced or not."""
    assert log.results is not None
    return {
        key.removeprefix("looseleaf/"): metric.value
        for score in log.results.scores
        if score.name == name
        for key, metric in score.metrics.items()
    }


def saying(reply: Callable[[list[ChatMessage]], ModelOutput]) -> Model:
    """A model that replies by a function of the messages."""

    def generate(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        made = reply(messages)
        made.usage = USAGE
        return made

    return get_model("mockllm/model", custom_outputs=generate)


# -- names and settings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_is_a_task_of_that_name(name: str) -> None:
    assert registry_info(getattr(tasks, name)).name == f"looseleaf/{name}"


def test_inspect_finds_the_tasks_by_entry_point() -> None:
    found = {point.name: point.value for point in metadata.entry_points(group="inspect_ai")}
    assert found.get("looseleaf") == tasks.__name__


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"colour": "red"}, "no argument 'colour'"),
        ({"protocol": "none"}, "no protocol 'none'"),
        ({"scorer": "none"}, "no scorer"),
        ({"limit": "many"}, "Expected `int | null`"),
        ({"pages": "sounds"}, "pages"),
        ({"ids": "mini:99"}, "'mini:99'"),
        ({"threshold": ">2"}, "no threshold"),
    ],
)
def test_mistakes_are_one_sentence_of_inspects_own_kind(
    own_data: DataConfig, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(PrerequisiteError) as raised:
        tasks.own_questions(questions=own_data.benchmark, docs=own_data.path, **settings)
    assert sentence in str(raised.value.message)
    with pytest.raises(PrerequisiteError):
        tasks.mmlongbench_doc(data=own_data.path)


def test_options_of_a_loader_reach_it(own_data: DataConfig) -> None:
    for options, sentence in (
        ({"window": "official-30"}, "no option 'pages'"),
        ({"loading": "colour=red; overlay=none"}, "no option 'colour'"),
    ):
        with pytest.raises(PrerequisiteError) as raised:
            tasks.mmlongbench_doc(data=own_data.path, **options)
        assert sentence in str(raised.value.message)


def test_limit_ids_and_settings_are_those_that_were_given(own_data: DataConfig) -> None:
    task = tasks.own_questions(
        questions=own_data.benchmark, docs=own_data.path, ids="mini:2,mini:4", max_turns=5, retriever="random"
    )
    assert [sample.id for sample in task.dataset] == ["mini:2", "mini:4"]
    settings = (task.dataset[0].metadata or {})["settings"]
    assert settings["protocol"] == "awm[max_turns=5]"
    assert settings["retriever"] == "random"
    assert len(make_task(own_data, limit=3).dataset) == 3


def test_an_oracle_setting_is_named_in_every_score(own_data: DataConfig, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in Path(own_data.benchmark).read_text(encoding="utf-8").splitlines()]
    assert rows[0]["evidence_pages"] == [2]
    log = run_task(make_task(own_data, protocol="ep-given", limit=1), playing(OSLO), tmp_path)
    sample = samples_of(log)[0]
    assert score_of(sample).metadata["settings"]["oracle"] == {"gold_pages": True}
    assert sample.store[TRAJECTORY_KEY]["oracle"] == {"gold_pages": True}


# -- scores ----------------------------------------------------------------------------------------------------


def test_metrics_are_our_own_on_the_same_rows(own_data: DataConfig, tmp_path: Path) -> None:
    """Mean, document-clustered standard error, overlapping sources and outcome cells."""
    log = run_task(make_task(own_data), playing(OSLO), tmp_path)
    samples = samples_of(log)
    questions = [question_of(sample.metadata) for sample in samples]
    scores = {
        name: {f"{s.id}#0": Score(value=score_of(s).value[name]) for s in samples}
        for name in ("answer", "memory")
    }
    trajectories = [trajectory_of(sample.store[TRAJECTORY_KEY]) for sample in samples]
    rows = rows_of(questions, [t for t in trajectories if t], scores["answer"], scores["memory"])
    ours = evaluate_rows(rows)
    answer, memory = metrics_of(log, "answer"), metrics_of(log, "memory")
    assert answer["mean"] == pytest.approx(ours["Acc"].value)
    assert memory["mean"] == pytest.approx(ours["MemAcc"].value)
    for name in ("P_mmc", "P_mmc[answerable]", "Cell11", "Cell10", "Cell01", "Cell00", "Gap"):
        assert memory[f"outcome_{name}"] == pytest.approx(ours[name].value), name
    values = [row.answer.value or 0.0 for row in rows]
    documents = Clusters([question.doc_id for question in questions])
    error = linearised_error(documents.sums(values), documents.sums([1.0] * len(values)))
    assert error > 0
    assert answer["stderr"] == pytest.approx(error)
    assert answer["by_source_table stderr"] == pytest.approx(error)
    for table in evaluate_by(rows, lambda row: map(str, source_names(row.question)), ["Acc"]):
        assert answer[f"by_source_{table.label}"] == pytest.approx(table["Acc"].value)
    assert (answer["by_source_chart"], answer["by_source_table"]) == (1.0, pytest.approx(1 / 7))


def test_a_model_that_fails_is_unscored_and_no_zero(own_data: DataConfig, tmp_path: Path) -> None:
    def reply(messages: list[ChatMessage]) -> ModelOutput:
        if "Lima" in messages[1].text:
            raise ConnectionError("the server is down")
        return output(OSLO[sum(message.role == "assistant" for message in messages)])

    log = run_task(make_task(own_data, limit=2), saying(reply), tmp_path)
    good, bad = samples_of(log)
    assert score_of(good).value == {"answer": 1.0, "memory": 1.0}
    assert all(math.isnan(value) for value in score_of(bad).value.values())
    assert score_of(bad).reason == Unscored.AGENT_FAULT
    assert "the server is down" in str(score_of(bad).explanation)
    assert bad.store[TRAJECTORY_KEY]["stop_reason"] == "provider_error"
    assert log.results is not None
    for score in log.results.scores:
        assert (score.scored_samples, score.unscored_samples) == (1, 1), score.name
    assert metrics_of(log, "answer")["mean"] == 1.0


def test_a_question_without_gold_or_document_is_unscored(own_set: OwnSet, tmp_path: Path) -> None:
    rows = [
        {"doc_id": "report_0.pdf", "question": "How many stations does the city of Oslo have?"},
        {"doc_id": "gone.pdf", "question": "Where is it?", "answer": "here"},
    ]
    own_set.questions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs))
    assert len(make_task(data).dataset) == 1
    log = run_task(make_task(data, strict=True), playing(OSLO), tmp_path)
    reasons = [score_of(sample).reason for sample in samples_of(log)]
    assert reasons == [Unscored.NO_GOLD, Unscored.MISSING_DOCUMENT]
    assert math.isnan(metrics_of(log, "answer")["mean"])


@pytest.mark.parametrize(
    ("reply", "stop_reason", "value"),
    [
        (ModelOutput.from_content("m", "too long", stop_reason="model_length"), "context_overflow", 0.0),
        (ModelOutput.from_content("m", "no action at all"), "turn_limit", 0.0),
        (ModelOutput(model="m", choices=[], error="refused"), "provider_error", None),
    ],
)
def test_what_ends_a_trajectory_is_scored_as_everywhere(
    own_data: DataConfig, tmp_path: Path, reply: ModelOutput, stop_reason: str, value: float | None
) -> None:
    log = run_task(make_task(own_data, limit=1), saying(lambda _: reply.model_copy(deep=True)), tmp_path)
    sample = samples_of(log)[0]
    assert sample.store[TRAJECTORY_KEY]["stop_reason"] == stop_reason
    answer = score_of(sample).value["answer"]
    assert answer == value if value is not None else math.isnan(answer)


def test_arguments_that_inspect_cannot_read_are_a_malformed_turn(
    own_data: DataConfig, tmp_path: Path
) -> None:
    def reply(messages: list[ChatMessage]) -> ModelOutput:
        made = output(OSLO[0])
        made.message.tool_calls[0].parse_error = 'no JSON: {"query": "Os'
        made.message.tool_calls[0].arguments = {}
        return made if len(messages) < 3 else output(Action.answer("7"))

    log = run_task(make_task(own_data, limit=1), saying(reply), tmp_path)
    trajectory = trajectory_of(samples_of(log)[0].store[TRAJECTORY_KEY])
    assert trajectory is not None
    assert trajectory.steps[0].action is None
    assert "no tool call that can be read" in str(trajectory.steps[0].invalid)
    assert trajectory.answer == "7"


def test_actions_can_be_asked_for_as_json_by_our_schema(own_data: DataConfig, tmp_path: Path) -> None:
    asked = []

    def generate(messages: list[ChatMessage], tools: Any, choice: Any, config: Any) -> ModelOutput:
        asked.append((tools, config.response_schema))
        return output('{"thought": "easy", "call": {"action": "answer", "text": "7"}}')

    model = get_model("mockllm/model", custom_outputs=generate)
    log = run_task(make_task(own_data, limit=1, actions="json"), model, tmp_path)
    ((tools, schema),) = asked
    assert tools == []
    assert schema.json_schema.model_dump(exclude_none=True) == call_schema(PROTOCOLS["awm"])
    stored = samples_of(log)[0].store[TRAJECTORY_KEY]
    assert (stored["answer"], stored["steps"][0]["thought"]) == ("7", "easy")


def test_a_limit_of_inspect_ends_the_trajectory_as_a_spent_budget(
    own_data: DataConfig, tmp_path: Path
) -> None:
    script = [OSLO[0], OSLO[1], OSLO[0], OSLO[1], OSLO[0], OSLO[1], OSLO[2]]
    log = run_task(make_task(own_data, limit=1), playing(script), tmp_path, message_limit=6)
    sample = samples_of(log)[0]
    assert sample.limit is not None
    assert sample.limit.type == "message"
    assert sample.store[TRAJECTORY_KEY]["stop_reason"] == "turn_limit"
    assert score_of(sample).value == {"answer": 0.0, "memory": 1.0}
    assert score_of(sample).metadata["outcome_cell"] == "01"


def test_a_time_limit_cancels_and_is_unscored(own_data: DataConfig, tmp_path: Path) -> None:
    """How much is done in a time is the machine's doing, not the agent's."""

    async def generate(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        await asyncio.sleep(0 if len(messages) < 4 else 60)
        return output(OSLO[0])

    model = get_model("mockllm/model", custom_outputs=generate)
    log = run_task(make_task(own_data, limit=1), model, tmp_path, time_limit=6)
    (sample,) = samples_of(log)
    assert sample.limit is not None
    assert sample.limit.type == "time"
    stored = sample.store[TRAJECTORY_KEY]
    assert (stored["stop_reason"], len(stored["steps"])) == ("cancelled", 1)
    assert score_of(sample).reason == Unscored.AGENT_FAULT
    assert all(math.isnan(value) for value in score_of(sample).value.values())


def test_every_epoch_is_a_sample_with_a_seed_of_its_own(own_data: DataConfig, tmp_path: Path) -> None:
    seeds = []

    def generate(messages: list[ChatMessage], tools: Any, choice: Any, config: Any) -> ModelOutput:
        seeds.append(config.seed)
        return output(Action.answer("7"))

    model = get_model("mockllm/model", custom_outputs=generate)
    log = run_task(make_task(own_data, limit=1, seed=40), model, tmp_path, epochs=2)
    stored = [sample.store[TRAJECTORY_KEY] for sample in samples_of(log)]
    assert sorted(one["trajectory_id"] for one in stored) == ["mini:0#0", "mini:0#1"]
    assert sorted(seeds) == sorted(one["seed"] for one in stored) == [40, 41]
    assert metrics_of(log, "memory")["outcome_Cell10"] == 1.0


def test_a_protocol_without_memory_has_no_value_for_it(own_data: DataConfig, tmp_path: Path) -> None:
    log = run_task(make_task(own_data, protocol="rag", limit=2), saying(lambda _: output("7")), tmp_path)
    assert [score_of(sample).value for sample in samples_of(log)] == [{"answer": 1.0}, {"answer": 0.0}]
    assert log.results is not None
    assert {score.name for score in log.results.scores} == {"answer"}
    first = samples_of(log)[0].messages
    assert [message.role for message in first] == ["system", "user", "assistant"]
    assert sum(part.type == "image" for part in first[1].content_list) == 3


# -- roles -----------------------------------------------------------------------------------------------------


def role_model(replies: Sequence[str], heard: list[str]) -> Model:
    """A model that notes what it is asked and gives the replies in turn."""
    waiting = iter(replies)

    def reply(messages: list[ChatMessage]) -> ModelOutput:
        heard.append("\n".join(message.text for message in messages))
        return output(next(waiting))

    return saying(reply)


def test_models_bound_to_roles_read_and_extract(own_data: DataConfig, tmp_path: Path) -> None:
    asked: dict[str, list[str]] = {"reader": [], "extractor": []}
    roles = {
        "reader": role_model(["It has eight."], asked["reader"]),
        "extractor": role_model(
            ["Extracted answer: 7\nAnswer format: Integer", "Extracted answer: 8\nAnswer format: Integer"],
            asked["extractor"],
        ),
    }
    log = run_task(make_task(own_data, limit=1), playing(OSLO), tmp_path, model_roles=roles)
    score = score_of(samples_of(log)[0])
    assert score.value == {"answer": 1.0, "memory": 0.0}
    assert score.metadata["outcome_cell"] == "10"
    assert score.metadata["settings"]["reader"] == "inspect:mockllm/model"
    (reader_prompt,) = asked["reader"]
    assert "[page 2] The city of Oslo has 7 stations in use." in reader_prompt
    assert (
        "Pages 2, 3, 4" not in reader_prompt
    )  # the reader sees notes and question, nothing of the trajectory
    assert len(asked["extractor"]) == 2
    assert "It has eight." in asked["extractor"][1]


def test_a_judge_scorer_asks_the_model_bound_to_judge(own_data: DataConfig, tmp_path: Path) -> None:
    asked: list[str] = []
    task = make_task(own_data, limit=1, scorer="judge.binary")
    judge = role_model(['{"binary_correctness": 1}'] * 2, asked)
    log = run_task(task, playing(OSLO), tmp_path, model_roles={"judge": judge})
    score = score_of(samples_of(log)[0])
    assert len(asked) == 2
    assert score.value == {"answer": 1.0, "memory": 1.0}
    assert score.metadata["settings"]["judge"] == "inspect:mockllm/model"


# -- the command line ------------------------------------------------------------------------------------------


def answering(request: Request) -> Response:
    """Plays the script about Oslo."""
    action = OSLO[request.turn - 1]
    return call(action.name, **action.arguments)


@pytest.mark.slow
def test_inspect_eval_runs_a_benchmark_by_name(own_set: OwnSet, tmp_path: Path) -> None:
    """`inspect eval looseleaf/mmlongbench_doc --model … -T data=DIR`, in a process of its own."""
    data = tmp_path / "data"
    shutil.copytree(own_set.docs, data / "documents")
    row = {
        "doc_id": "report_0.pdf",
        "doc_type": "Report",
        "question": "How many stations does the city of Oslo have?",
        "answer": "7",
        "evidence_pages": "[2]",
        "evidence_sources": "['Table']",
        "answer_format": "Int",
    }
    (data / "samples.json").write_text(json.dumps([row]), encoding="utf-8")
    with StubServer(answering) as stub:
        command = [sys.executable, "-m", "inspect_ai", "eval", "looseleaf/mmlongbench_doc"]
        command += ["--model", "openai-api/stub/stub-model", "-T", f"data={data}"]
        command += ["--log-dir", str(tmp_path / "logs"), "--display", "plain"]
        environment = os.environ | {"STUB_API_KEY": "none", "STUB_BASE_URL": stub.base_url}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(path))
    assert log.eval.task == "looseleaf/mmlongbench_doc"
    assert score_of(samples_of(log)[0]).value == {"answer": 1.0, "memory": 1.0}
