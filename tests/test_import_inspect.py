"""Inspect logs: any agent's conversations, and our own task's with the whole trajectory inside."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import Cli
from looseleaf.adapters import importer_named
from looseleaf.adapters.imports import inspect_log
from looseleaf.adapters.imports.write import ImportRequest, import_run
from looseleaf.errors import DataError
from looseleaf.memory import Finding
from looseleaf.question import Question
from looseleaf.roles import Action, Observation
from looseleaf.trajectory import Step, StopReason, Trajectory

inspect_ai = pytest.importorskip("inspect_ai")

QUESTION = Question(
    question_id="mini:0",
    native_id="0",
    benchmark="mini",
    split="own",
    doc_id="report_0.pdf",
    question="How many stations has Oslo?",
    references=("17",),
    answer_format="Str",
    evidence_pages=(3,),
)
WHOLE = Trajectory(
    trajectory_id="mini:0#0",
    question_id="mini:0",
    benchmark="mini",
    doc_id="report_0.pdf",
    question=QUESTION.question,
    protocol="awm",
    steps=(
        Step(turn=1, action=Action.fetch(3), observation=Observation(text="Page 3.", shown=(3,))),
        Step(turn=2, action=Action.note("Oslo has 17.", 3), observation=Observation(text="Noted.")),
        Step(turn=3, action=Action.answer("17"), observation=Observation(text="")),
    ),
    memory=(Finding("Oslo has 17.", 3),),
    answer="17",
    stop_reason=StopReason.ANSWERED,
)


def sample(**fields: Any) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentReasoning,
        ContentText,
        ModelOutput,
        ModelUsage,
    )
    from inspect_ai.tool import ToolCall

    pages = [ContentText(text="Page 3:"), ContentImage(image="data:image/png;base64,AAAA")]
    messages = [
        ChatMessageUser(content="How many stations has Oslo?"),
        ChatMessageAssistant(
            content=[ContentReasoning(reasoning="Look it up."), ContentText(text="One moment.")],
            tool_calls=[ToolCall(id="a", function="search", arguments={"query": "Oslo"})],
        ),
        ChatMessageTool(content=pages, tool_call_id="a", function="search"),
        ChatMessageAssistant(
            content="",
            tool_calls=[ToolCall(id="b", function="submit", arguments={"answer": "17"})],
        ),
        ChatMessageTool(content="17", tool_call_id="b", function="submit"),
    ]
    given: dict[str, Any] = {
        "id": "s1",
        "epoch": 1,
        "input": "How many stations has Oslo?",
        "target": "17",
        "messages": messages,
        "output": ModelOutput.from_content("some-model", "17"),
        "metadata": {"doc_id": "report_0.pdf", "evidence_pages": [3]},
        "model_usage": {"some-model": ModelUsage(input_tokens=40, output_tokens=4, total_tokens=44)},
        "total_time": 2.5,
    }
    return EvalSample(**(given | fields))


def write_log(path: Path, samples: list[Any], *, listed: bool = True) -> Path:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, write_eval_log

    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="docs",
        dataset=EvalDataset(name="mini", sample_ids=sorted({s.id for s in samples}) if listed else None),
        model="some-model",
        config=EvalConfig(epochs=max(s.epoch for s in samples)),
    )
    write_eval_log(EvalLog(eval=spec, samples=samples, status="success"), str(path))
    return path


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_any_agents_log(tmp_path: Path, suffix: str, listed: bool) -> None:
    log = write_log(tmp_path / f"log{suffix}", [sample(), sample(epoch=2)], listed=listed)
    outcome = import_run(ImportRequest(importer_named("inspect"), log), tmp_path / "run")
    first, second = outcome.run.trajectories().values()
    assert [(s.action.name, s.action.arguments) for s in first.steps if s.action] == [
        ("search", {"query": "Oslo"}),
        ("answer", {"answer": "17", "text": "17"}),
    ]
    assert first.steps[0].thought == "Look it up."
    assert (first.shown_pages, first.answer, first.undefined) == ((3,), "17", ("memory",))
    assert (first.usage.prompt_tokens, first.seconds, first.doc_id) == (40, 2.5, "report_0.pdf")
    assert (first.sample_index, second.sample_index) == (0, 1)
    question = outcome.run.questions()[0]
    assert (question.native_id, question.references, question.evidence_pages) == ("s1", ("17",), (3,))
    assert outcome.run.config["run"]["samples"] == 2


def test_our_own_task_loses_nothing(tmp_path: Path) -> None:
    from looseleaf.adapters.inspect_scorers import TRAJECTORY_KEY

    assert inspect_log.STORED == TRAJECTORY_KEY
    metadata = {**msgspec.to_builtins(QUESTION), "document_missing": False}
    stored = {TRAJECTORY_KEY: msgspec.to_builtins(WHOLE)}
    log = write_log(tmp_path / "log.eval", [sample(metadata=metadata, store=stored)])
    run = import_run(ImportRequest(importer_named("inspect"), log), tmp_path / "run").run
    assert run.questions() == [QUESTION]
    made = run.trajectories()["mini:0#0"]
    assert (made.steps, made.memory, made.answer, made.undefined) == (WHOLE.steps, WHOLE.memory, "17", ())


def test_errors_and_limits(tmp_path: Path) -> None:
    from inspect_ai.log import EvalError, EvalSampleLimit

    failed = sample(id="s2", error=EvalError(message="timed out", traceback="", traceback_ansi=""))
    cut = sample(id="s3", limit=EvalSampleLimit(type="token", limit=10))
    cut.messages = cut.messages[:3]
    log = write_log(tmp_path / "log.eval", [failed, cut])
    first, second = (
        import_run(ImportRequest(importer_named("inspect"), log), tmp_path / "run")
        .run.trajectories()
        .values()
    )
    assert (first.stop_reason, first.error) == (StopReason.PROVIDER_ERROR, "timed out")
    assert (second.stop_reason, second.answer) == (StopReason.CONTEXT_OVERFLOW, None)


def test_without_inspect_json_logs_are_read_and_the_others_name_the_extra(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_log(tmp_path / "log.json", [sample()])
    binary = write_log(tmp_path / "log.eval", [sample()])
    monkeypatch.setattr(
        inspect_log,
        "find_spec",
        lambda name: None if name == "inspect_ai" else importlib.util.find_spec(name),
    )
    outcome = import_run(ImportRequest(importer_named("inspect"), log), tmp_path / "run")
    assert next(iter(outcome.run.trajectories().values())).answer == "17"
    refused = cli("import", "inspect", binary, "--out", tmp_path / "other")
    assert refused.code == 2
    assert "looseleaf[inspect]" in refused.err


@pytest.mark.parametrize("content", [b"", b"not a zip", b"{}", b'{"samples": 3}', b"PK\x03\x04broken"])
@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_broken_logs_are_one_sentence(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataError, match="log"):
        import_run(ImportRequest(importer_named("inspect"), path), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_log_with_a_broken_sample_inside(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.eval", [sample()])
    broken = tmp_path / "broken.eval"
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, json.dumps({"id": 1}) if name.startswith("samples/") else content)
    with pytest.raises(DataError, match=r"broken\.eval"):
        import_run(ImportRequest(importer_named("inspect"), broken), tmp_path / "run")
