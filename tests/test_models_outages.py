"""Nothing is lost and nothing is run twice: faulty servers, outages, interrupts and kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import Cli
from fakes import pdf_bytes
from looseleaf.document import PageStore
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import named_protocol
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import RunOutcome, execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run
from looseleaf.score import Unscored
from looseleaf.trajectory import StopReason
from stub_server import MODEL, SIX_TURNS, Faults, Request, Response, StubServer, agent, completion, error

SIX = named_protocol("awm", max_turns=len(SIX_TURNS))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))


class Asked(NamedTuple):
    """A question file, its documents, and how many questions it holds."""

    questions: Path
    docs: Path
    count: int


def asked(folder: Path, count: int) -> Asked:
    docs = folder / "docs"
    docs.mkdir()
    pages = [
        f"On page {n} the total revenue in the table is {n}. Other pages hold a chart." for n in range(1, 5)
    ]
    (docs / "report.pdf").write_bytes(pdf_bytes(*pages))
    rows = [
        {"document": "report.pdf", "question": f"What is value {n}?", "answer": "42"} for n in range(count)
    ]
    questions = folder / "many.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Asked(questions, docs, count)


def config_of(made: Asked, stub: StubServer, concurrency: int = 8, **options: Any) -> RunConfig:
    small: dict[str, Any] = {"max_image_side": 64}
    return RunConfig(
        data=DataConfig(benchmark=str(made.questions), path=str(made.docs)),
        policy=RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url, **(small | options)),
        protocol=SIX,
        concurrency=concurrency,
    )


def run_all(config: RunConfig, out: Path, store: PageStore) -> RunOutcome:
    return execute(config, out, store=store)


def check_union(out: Path, count: int) -> None:
    """Every question once, with its six turns and its answer."""
    lines = (out / "trajectories.jsonl").read_bytes().splitlines()
    finished = [row for line in lines if (row := json.loads(line))["stop_reason"] == "answered"]
    assert Counter(row["trajectory_id"] for row in finished) == {f"many:{n}#0": 1 for n in range(count)}
    assert all(len(row["steps"]) == len(SIX_TURNS) for row in finished)
    assert all(row["answer"] == "42" for row in finished)


# -- a faulty server -------------------------------------------------------------------------------------------


def storm(
    folder: Path, store: PageStore, count: int, faults: Faults, timeout: float, concurrency: int
) -> StubServer:
    made = asked(folder, count)
    with StubServer(faults=faults, seed=1) as stub:
        stub.log.keep_bodies = False
        config = config_of(made, stub, concurrency, timeout=timeout, max_in_flight=concurrency)
        outcome = run_all(config, folder / "run", store)
        assert (outcome.finished_now, outcome.faults) == (count, 0)
        check_union(folder / "run", count)
        assert len(stub.log.whole) == count * len(SIX_TURNS)
        assert set(stub.log.whole.values()) == {1}, "a call was paid twice"
        calls = Run.open(folder / "run").manifest["last_session"]["model_calls"]
        assert calls["sent"] == count * len(SIX_TURNS) + sum(stub.log.faults.values())
        assert calls["most_in_flight"] <= concurrency
    return stub


def test_a_faulty_server_loses_nothing(
    tmp_path: Path, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the usual faults, on fewer questions."""
    monkeypatch.setattr("looseleaf.models.chat.backoff.FIRST_WAIT", 0.01)
    stub = storm(
        tmp_path, store, count=40, faults=Faults(0.1, 0.1, 0.04, 0.04, 0.04), timeout=8.0, concurrency=32
    )
    assert set(stub.log.faults) == {"too_many", "server_error", "hang", "reset", "truncated"}


@pytest.mark.slow
def test_a_thousand_questions_on_a_faulty_server(tmp_path: Path, store: PageStore) -> None:
    """5 % 429, 5 % 500, 2 % hang, 2 % reset, 1 % truncated; no whole reply takes as long as the timeout."""
    stub = storm(tmp_path, store, count=1000, faults=Faults.scaled(1.0), timeout=20.0, concurrency=64)
    assert set(stub.log.faults) == {"too_many", "server_error", "hang", "reset", "truncated"}
    assert sum(stub.log.faults.values()) > 500


# -- an outage -------------------------------------------------------------------------------------------------


def test_an_outage_leaves_unscored_rows_and_the_same_command_goes_on(
    tmp_path: Path, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("looseleaf.models.chat.backoff.FIRST_WAIT", 0.001)
    made = asked(tmp_path, 12)
    out = tmp_path / "run"
    down_from = 30

    def failing(request: Request) -> Response:
        failing_after[0] -= 1
        return agent(request) if failing_after[0] >= 0 else error(503, "maintenance")

    failing_after = [down_from]
    with StubServer(failing) as stub:
        config = config_of(made, stub, concurrency=4, retries=2)
        first = run_all(config, out, store)
        assert first.faults > 0
        assert first.finished_now + first.faults == made.count
        reasons = {found.stop_reason for found in first.run.trajectories().values()}
        assert reasons == {StopReason.ANSWERED, StopReason.PROVIDER_ERROR}
        scored = score_run(first.run, ScoreConfig())
        assert scored.unscored >= first.faults
        rows = list(first.run.scores(scored.score_id).read())
        unscored = [row for row in rows if row.unscored is Unscored.AGENT_FAULT]
        assert len([row for row in unscored if row.target == "answer"]) == first.faults
        assert all(row.value is None for row in unscored)
        failing_after[0] = 10**6
        second = run_all(config, out, store)
    assert (second.finished_before, second.finished_now, second.faults) == (
        first.finished_now,
        first.faults,
        0,
    )
    check_union(out, made.count)
    paid_twice = [count for count in stub.log.whole.values() if count > 1]
    assert not paid_twice, "what the cache holds was paid again"


def test_only_what_may_change_may_change_when_a_run_goes_on(tmp_path: Path, store: PageStore) -> None:
    from looseleaf.errors import RunError

    made = asked(tmp_path, 2)
    out = tmp_path / "run"
    with StubServer() as stub:
        first = run_all(config_of(made, stub, timeout=30.0), out, store)
        again = run_all(config_of(made, stub, timeout=60.0, retries=1, concurrency=3), out, store)
        assert (again.finished_before, again.finished_now) == (2, 0)
        with pytest.raises(RunError, match="temperature"):
            run_all(config_of(made, stub, temperature=1.0), out, store)
    assert {found.run_id for found in first.run.trajectories().values()} == {first.run.manifest["run_id"]}
    assert first.run.manifest["prompts"]


# -- interrupts and crashes ------------------------------------------------------------------------------------


def start(made: Asked, stub: StubServer, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [
        *(sys.executable, "-m", "looseleaf", "run", str(made.questions), "--docs", str(made.docs)),
        *("--out", str(out), "--policy", f"openai:{MODEL}", "--base-url", stub.base_url),
        *("--max-turns", str(len(SIX_TURNS)), *more),
    ]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def wait_for_calls(process: subprocess.Popen[str], stub: StubServer, calls: int) -> None:
    deadline = time.monotonic() + 60
    while sum(stub.log.whole.values()) < calls:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(f"the command does not get going: {process.communicate()}")
        time.sleep(0.01)


def test_an_interrupt_finishes_what_is_in_flight(tmp_path: Path) -> None:
    made = asked(tmp_path, 60)
    out = tmp_path / "run"
    with StubServer(delay=0.05) as stub:
        process = start(made, stub, out, "--concurrency", "4")
        wait_for_calls(process, stub, 30)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert "the same command goes on" in said
        whole = sum(stub.log.whole.values())
        rows = [json.loads(line) for line in (out / "trajectories.jsonl").read_text().splitlines()]
        assert {row["stop_reason"] for row in rows} == {"answered"}
        assert whole == len(rows) * len(SIX_TURNS), "work in flight was thrown away"
        assert 4 <= len(rows) < made.count
        process = start(made, stub, out, "--concurrency", "4")
        process.communicate(timeout=120)
        assert process.returncode == 0
        assert set(stub.log.whole.values()) == {1}
    check_union(out, made.count)


def test_an_interrupt_of_scoring_finishes_what_is_in_flight(tmp_path: Path, store: PageStore) -> None:
    made = asked(tmp_path, 40)
    out = tmp_path / "run"
    with StubServer() as stub:
        run_all(config_of(made, stub), out, store)
        before = sum(stub.log.whole.values())
        stub.delay = 0.1
        chat = (f"openai:{MODEL}", "--base-url", stub.base_url)
        command = [
            sys.executable,
            "-m",
            "looseleaf",
            "score",
            str(out),
            "--reader",
            *chat,
            "--extractor",
            chat[0],
        ]

        def scoring() -> subprocess.Popen[str]:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        process = scoring()
        wait_for_calls(process, stub, before + 10)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert "Traceback" not in said
        [ledger] = (out / "readings").glob("*.jsonl")
        rows = ledger.read_text().splitlines()
        assert len(rows) == sum(stub.log.whole.values()) - before < made.count
        stub.delay = 0.0
        process = scoring()
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert set(stub.log.whole.values()) == {1}


def test_a_second_interrupt_aborts(tmp_path: Path) -> None:
    made = asked(tmp_path, 60)
    out = tmp_path / "run"
    with StubServer(delay=0.3) as stub:
        process = start(made, stub, out, "--concurrency", "4")
        wait_for_calls(process, stub, 6)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=60)
        assert time.monotonic() - began < 5
        assert process.returncode == 130, said
        assert "Traceback" not in said
        stub.delay = 0.0
        process = start(made, stub, out)
        process.communicate(timeout=120)
        assert process.returncode == 0
    check_union(out, made.count)


def kill_and_resume(folder: Path, kills: int, count: int) -> None:
    rng = random.Random(7)
    made = asked(folder, count)
    out = folder / "run"
    concurrency = 8
    with StubServer(delay=0.02) as stub:
        for _ in range(kills):
            before = sum(stub.log.whole.values())
            process = start(made, stub, out, "--concurrency", str(concurrency))
            if rng.random() < 0.8:
                wait_for_calls(
                    process, stub, before + rng.randrange(1, 2 * len(SIX_TURNS) * count // (3 * kills))
                )
            time.sleep(rng.uniform(0.0, 0.2))
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL
        process = start(made, stub, out, "--concurrency", str(concurrency))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        whole = sum(stub.log.whole.values())
    check_union(out, made.count)
    assert len(stub.log.whole) == count * len(SIX_TURNS)
    assert whole <= count * len(SIX_TURNS) + kills * concurrency, (
        "more than what was in flight was paid again"
    )


def test_kill_9_and_resume_give_the_exact_union(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, kills=3, count=60)


@pytest.mark.slow
def test_kill_9_ten_times(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, kills=10, count=300)


# -- selections ------------------------------------------------------------------------------------------------


def test_limit_ids_and_samples(tmp_path: Path, store: PageStore) -> None:
    import msgspec

    made = asked(tmp_path, 6)
    with StubServer() as stub:
        base = config_of(made, stub)
        limited = run_all(msgspec.structs.replace(base, limit=2, samples=3), tmp_path / "limited", store)
        named = run_all(msgspec.structs.replace(base, ids=("many:4", "many:1")), tmp_path / "named", store)
        seeds = Counter(request.json.get("seed") for request in stub.log.chats)
    assert set(limited.run.trajectories()) == {f"many:{n}#{sample}" for n in range(2) for sample in range(3)}
    assert set(named.run.trajectories()) == {"many:1#0", "many:4#0"}
    assert {found.seed for found in limited.run.trajectories().values()} == {0, 1, 2}
    assert set(seeds) == {0, 1, 2}, "every sample has its own seed and is asked for"


# -- the command -----------------------------------------------------------------------------------------------


def refusing(response: Response, when: Callable[[Request], bool]) -> Callable[[Request], Response]:
    return lambda request: response if when(request) else agent(request)


CANNOT_WORK: dict[str, tuple[Callable[[Request], Response], str]] = {
    "wrong key": (lambda request: error(401, "Incorrect API key provided"), "key_env"),
    "wrong URL": (lambda request: error(404, "404 page not found"), "check the base URL"),
    "unknown model": (lambda request: error(404, "The model `x` does not exist"), "check the name"),
    "no images": (
        refusing(error(400, "stub-model is not a multimodal model"), lambda request: request.images > 0),
        "choose a vision model",
    ),
    "images dropped": (lambda request: completion("hm"), "choose a vision model"),
    "overflow": (
        refusing(
            error(400, "This model's maximum context length is 100 tokens."),
            lambda request: request.images > 1,
        ),
        "images_kept",
    ),
    "413": (
        refusing(Response(413, b"too large"), lambda request: len(request.body) > 10**6),
        "max_image_pixels",
    ),
}


@pytest.mark.parametrize(("answer", "advice"), CANNOT_WORK.values(), ids=CANNOT_WORK.keys())
def test_what_cannot_work_is_one_sentence_and_exit_2(
    cli: Cli, tmp_path: Path, answer: Callable[[Request], Response], advice: str
) -> None:
    made = asked(tmp_path, 2)
    with StubServer(answer) as stub:
        arguments = ("--out", tmp_path / "run", "--policy", f"openai:{MODEL}", "--base-url", stub.base_url)
        outcome = cli("run", made.questions, "--docs", made.docs, *arguments)
        assert not stub.log.whole, "a question was spent"
    assert outcome.code == 2
    assert outcome.err.startswith("looseleaf: ")
    assert outcome.err.count("\n") == 1
    assert advice in outcome.err
    assert not (tmp_path / "run" / "trajectories.jsonl").exists()


def test_a_server_that_fails_after_preflight_leaves_unscored_rows_and_another_exit(
    cli: Cli, tmp_path: Path
) -> None:
    made = asked(tmp_path, 2)
    late = refusing(error(401, "revoked"), lambda request: request.method == "POST" and not request.is_probe)
    with StubServer(late) as stub:
        arguments = ("--out", tmp_path / "run", "--policy", f"openai:{MODEL}", "--base-url", stub.base_url)
        outcome = cli("run", made.questions, "--docs", made.docs, *arguments)
    assert outcome.code not in {0, 2}
    assert "2 rows are unscored" in outcome.err
    reasons = [found.stop_reason for found in Run.open(tmp_path / "run").trajectories().values()]
    assert reasons == [StopReason.PROVIDER_ERROR] * 2
