"""`looseleaf export inspect`: what the log holds, that nothing is lost in it, and that `inspect view` shows it."""

from __future__ import annotations

import importlib.util
import math
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")

from inspect_ai import score as rescore
from inspect_ai.log import EvalLog, EvalSample, read_eval_log

import parity_world
from conftest import Cli
from inspect_world import NOISE, playing, run_task
from looseleaf.adapters.inspect_ai import make_task
from looseleaf.adapters.inspect_log import INSPECT, METRICS
from looseleaf.adapters.inspect_score import SCORE_NAME, TRAJECTORY_KEY, question_of, trajectory_of
from looseleaf.adapters.inspect_scorers import looseleaf_scorer
from looseleaf.document import Document
from looseleaf.errors import ConfigError, RunError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run
from looseleaf.trajectory import StopReason
from parity_files import Files, parity_files, run_config, script_file
from parity_world import assert_same

pytestmark = [pytest.mark.filterwarnings(line) for line in NOISE]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return parity_files(tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def run(files: Files) -> Run:
    folder = files.docs.parent
    policy = RoleSpec(backend="scripted", argument=str(script_file(folder, parity_world.SCRIPT)))
    run = execute(run_config(files, policy=policy), folder / "RUN").run
    score_run(run, ScoreConfig())
    return run


@pytest.fixture(scope="module")
def exported(run: Run) -> EvalLog:
    out = run.path.parent / "logs" / "with-pages.eval"
    (line,) = INSPECT.export(run.path, out, {"pages": "yes"})
    assert str(out) in line
    return read_eval_log(str(out), resolve_attachments=True)


def only_sample(log: EvalLog) -> EvalSample:
    (sample,) = log.samples or []
    return sample


def test_question_trajectory_and_scores_come_back_as_they_were(run: Run, exported: EvalLog) -> None:
    sample = only_sample(exported)
    stored = run.trajectories()["mini:0#0"]
    assert question_of(sample.metadata) == run.questions()[0]
    assert trajectory_of(sample.store[TRAJECTORY_KEY]) == stored
    assert (sample.id, sample.epoch) == ("mini:0", 1)
    assert (sample.input, sample.target) == (parity_world.QUESTION, ["12"])
    assert sample.output.completion == stored.answer == "12 stations"
    assert sample.turn_count == len(parity_world.SCRIPT)
    score = (sample.scores or {})[SCORE_NAME]
    assert score.value == {"answer": 1.0, "memory": 1.0}
    assert score.metadata["outcome_cell"] == "11"
    assert "[page 3] The city of Lima has 12 stations." in str(score.explanation)


def test_run_settings_and_metrics_are_in_the_log(run: Run, exported: EvalLog) -> None:
    assert exported.status == "success"
    assert exported.eval.task == "looseleaf/mini"
    assert exported.eval.metadata == {"run": run.config, "manifest": run.manifest}
    assert exported.eval.dataset.sample_ids == ["mini:0"]
    assert exported.results is not None
    found = {
        (score.name, name): metric.value
        for score in exported.results.scores
        for name, metric in score.metrics.items()
    }
    assert found["answer", "mean"] == found["memory", "mean"] == 1.0
    assert found["answer", "looseleaf/by_source_table"] == found["answer", "looseleaf/by_source_chart"] == 1.0
    assert found["memory", "looseleaf/outcome_Cell11"] == 1.0


def test_every_turn_is_in_the_messages_refused_ones_too(exported: EvalLog) -> None:
    messages = only_sample(exported).messages
    calls = [call for message in messages for call in getattr(message, "tool_calls", None) or ()]
    assert [(call.function, call.arguments) for call in calls] == [
        (action.name, action.arguments) for action in parity_world.SCRIPT
    ]
    refused = [
        message for message in messages if message.text.startswith(("Refused:", "Malformed:", "There is"))
    ]
    assert len(refused) == len(parity_world.REFUSED)
    assert messages[-1].role == "assistant"


def test_pages_are_the_rendered_pages_of_the_document(files: Files, exported: EvalLog) -> None:
    import base64

    document = Document.open(files.docs / "railway.pdf")
    images = [
        base64.b64decode(part.image.partition(",")[2])
        for message in only_sample(exported).messages
        for part in message.content_list
        if part.type == "image"
    ]
    shown = [
        page
        for step in trajectory_of(only_sample(exported).store[TRAJECTORY_KEY]).steps
        for page in step.observation.shown
    ]
    assert images == [document.image(page).jpeg for page in shown]
    assert images


def test_without_pages_they_are_named_and_no_image_is_in_the_file(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "log.json"
    INSPECT.export(run.path, out)
    log = read_eval_log(str(out), resolve_attachments=True)
    texts = "\n".join(message.text for message in only_sample(log).messages)
    assert f"[image of page 3 of railway.pdf, sha256 {run.trajectories()['mini:0#0'].doc_sha256}]" in texts
    assert b"data:image" not in out.read_bytes()


def test_the_log_is_like_one_of_inspects_own(
    cli: Cli, files: Files, run: Run, exported: EvalLog, tmp_path: Path
) -> None:
    """Metrics and scorer of an export are what Inspect writes when it runs the task itself; both can be imported."""
    log = run_task(make_task(files.data), playing(parity_world.SCRIPT), tmp_path)
    (theirs,), (ours,) = log.eval.scorers or [], exported.eval.scorers or []
    assert theirs.name == ours.name == SCORE_NAME
    assert msgspec.to_builtins(METRICS) == {
        key: [metric.model_dump() for metric in metrics] for key, metrics in (theirs.metrics or {}).items()
    }
    assert set(theirs.options or {}) == set(ours.options or {})
    assert log.results is not None
    assert exported.results is not None
    for own, their in zip(exported.results.scores, log.results.scores, strict=True):
        assert (own.name, own.metrics) == (their.name, their.metrics)
    assert cli("import", "inspect", log.location, "--out", tmp_path / "RUN", "--docs", files.docs).code == 0
    (imported,) = Run.open(tmp_path / "RUN").trajectories().values()
    assert_same(msgspec.structs.replace(imported, protocol="awm"), run.trajectories()["mini:0#0"])


def test_faults_and_missing_trajectories_are_unscored_samples(files: Files, run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "RUN"
    shutil.copytree(run.path, copy)
    shutil.rmtree(copy / "scores")
    shutil.rmtree(copy / "readings")
    broken = Run.open(copy)
    fault = msgspec.structs.replace(
        run.trajectories()["mini:0#0"],
        answer=None,
        stop_reason=StopReason.PROVIDER_ERROR,
        error="The server is down.",
    )
    broken.trajectory_ledger.append(fault)
    broken.close()
    score_run(broken, ScoreConfig())
    out = tmp_path / "fault.eval"
    INSPECT.export(copy, out, {"score": next(iter(broken.sidecars("scores")))})
    sample = only_sample(read_eval_log(str(out)))
    assert sample.error is not None
    assert sample.error.message == "provider_error: The server is down."
    assert all(math.isnan(value) for value in (sample.scores or {})[SCORE_NAME].value.values())
    assert (sample.scores or {})[SCORE_NAME].reason == "agent_fault"


@pytest.mark.parametrize(
    ("name", "options", "error", "sentence"),
    [
        ("log.zip", {}, ConfigError, "must end in .eval or .json"),
        ("log.eval", {"colour": "red"}, ConfigError, "no option 'colour'"),
        ("log.eval", {"ids": "mini:0, mini:9"}, ConfigError, "no question 'mini:9'"),
        ("log.eval", {"score": "none-0"}, RunError, "no scores 'none-0'"),
        ("log.eval", {"pages": "yes", "data": "nowhere"}, ConfigError, "add --data DIR"),
    ],
)
def test_mistakes_are_one_sentence(
    run: Run, tmp_path: Path, name: str, options: dict[str, str], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence.replace("(", "\\(")):
        INSPECT.export(run.path, tmp_path / name, options)
    assert not list(tmp_path.iterdir())


def test_a_changed_document_gives_no_images(files: Files, run: Run, tmp_path: Path) -> None:
    other = tmp_path / "docs"
    other.mkdir()
    (other / "railway.pdf").write_bytes(parity_world.pdf_bytes("Another document"))
    lines = INSPECT.export(run.path, tmp_path / "log.eval", {"pages": "yes", "data": str(other)})
    assert "railway.pdf" in lines[-1]
    sample = only_sample(read_eval_log(str(tmp_path / "log.eval")))
    assert not any(part.type == "image" for message in sample.messages for part in message.content_list)


def test_an_exported_log_is_imported_without_loss_and_exported_again(
    cli: Cli, files: Files, run: Run, exported: EvalLog, tmp_path: Path
) -> None:
    back, out = tmp_path / "BACK", tmp_path / "again.json"
    assert cli("import", "inspect", exported.location, "--out", back, "--docs", files.docs).code == 0
    (imported,) = Run.open(back).trajectories().values()
    assert_same(msgspec.structs.replace(imported, protocol="awm"), run.trajectories()["mini:0#0"])
    score_run(Run.open(back), ScoreConfig())
    done = cli("export", "inspect", back, "--out", out, "--pages")
    assert done.code == 0, done.err
    again = only_sample(read_eval_log(str(out)))
    assert (again.scores or {})[SCORE_NAME].value == {"answer": 1.0, "memory": 1.0}
    texts = [message.text for message in again.messages]
    assert texts[1:] == [
        re.sub(r"\n?Turns left.*", "", message.text) for message in only_sample(exported).messages[1:]
    ]


def test_a_log_can_be_scored_again_by_inspect(exported: EvalLog) -> None:
    """Question and trajectory are in the log, so another rule needs neither model nor documents."""
    again = rescore(exported, [looseleaf_scorer("mmlongbench")], action="overwrite")
    score = (only_sample(again).scores or {})[SCORE_NAME]
    assert score.value == {"answer": 1.0, "memory": 1.0}
    assert score.metadata["settings"]["scorer"] == "mmlongbench"
    assert score.metadata["settings"]["reader"] == "embedded"
    assert (only_sample(exported).scores or {})[SCORE_NAME].metadata["settings"][
        "scorer"
    ] == "mmlongbench.safe"


@pytest.mark.parametrize(
    ("module", "command"), [("inspect_ai", ("export", "inspect")), ("mcp", ("mcp", "--reader", "embedded"))]
)
def test_a_missing_package_is_one_sentence(
    cli: Cli, run: Run, monkeypatch: pytest.MonkeyPatch, module: str, command: tuple[str, ...]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == module else find(name, *rest)
    )
    more = ("--out", run.path / "log.eval") if module == "inspect_ai" else ()
    done = cli(*command, run.path, *more)
    assert done.code == 2
    assert f'pip install "looseleaf[{command[-1] if module == "inspect_ai" else "mcp"}]"' in done.err


def test_the_command_writes_the_log(cli: Cli, run: Run, tmp_path: Path) -> None:
    done = cli("export", "inspect", run.path, "--out", tmp_path / "log.eval")
    assert done.code == 0, done.err
    assert "inspect view --log-dir" in done.out
    assert only_sample(read_eval_log(str(tmp_path / "log.eval"))).id == "mini:0"


# -- in the browser --------------------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 60
"""Seconds until a server or a page that does not come fails the test."""


@pytest.fixture
def viewer(run: Run, exported: EvalLog) -> Iterator[str]:
    """Address of Inspect's own viewer over the exported logs, as a process on the loopback interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(exported.location).parent
    command = [sys.executable, "-m", "inspect_ai", "view", "start"]
    command += ["--log-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "inspect view ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("inspect view did not start")


@pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")
def test_inspect_view_opens_the_log_in_the_browser(viewer: str, exported: EvalLog) -> None:
    """Question, answer, tool calls, memory and page images are to be seen, and nothing is fetched from elsewhere."""
    sync_api: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    outside: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(1000 * PATIENCE)
        page.on(
            "request", lambda one: one.url.startswith((viewer, "data:", "blob:")) or outside.append(one.url)
        )
        page.goto(f"{viewer}/#/logs/{Path(exported.location).name}")
        page.get_by_text(parity_world.QUESTION).first.wait_for()
        page.goto(f"{viewer}/#/logs/{Path(exported.location).name}/samples/sample/mini:0/1/messages")
        page.get_by_text('text: "The city of Lima has 12 stations."').first.wait_for()
        shown = page.inner_text("body")
        page.wait_for_function("[...document.images].some(image => image.naturalWidth > 200)")
        page.goto(f"{viewer}/#/logs/{Path(exported.location).name}/samples/sample/mini:0/1/scoring")
        page.get_by_text("From the memory alone").first.wait_for()
        browser.close()
    assert parity_world.QUESTION in shown
    assert "12 stations" in shown
    assert "Refused: write a note about the pages" in shown
    assert outside == []
