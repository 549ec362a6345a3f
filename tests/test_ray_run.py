"""On a Ray cluster of two nodes every stage gives what it gives here, and a node that dies costs no row."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from conftest import Cli, OwnSet
from looseleaf.document import Document, PageStore
from looseleaf.errors import ConfigError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.runner.bootstrapping import fanned_ratios
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.executor import Executor, LocalExecutor, executor_named
from looseleaf.runner.indexing import IndexStage, index_documents
from looseleaf.runner.preparing import PagesHow, prepare_here
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run
from looseleaf.statistics import bootstrap_ratios, resample_weights

if importlib.util.find_spec("ray") is None:
    pytest.skip("the extra [ray] is not installed", allow_module_level=True)

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves its log files and sockets open
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

AGENT = """
import os, sys, time
from looseleaf import Action

def node():
    ray = sys.modules.get("ray")
    return ray.get_runtime_context().get_node_id() if ray and ray.is_initialized() else "here"

class Agent:
    def __init__(self, log="", seconds=0.0, deadly=""):
        self.log, self.seconds, self.deadly = log, seconds, deadly

    def act(self, view):
        if not view.history:
            if self.deadly and self.deadly in view.question:
                os._exit(1)
            if self.log:
                with open(self.log, "a") as lines:
                    lines.write(node() + " " + view.question + "\\n")
            time.sleep(self.seconds)
            return Action.search(view.question)
        page = view.shown_pages[0]
        if not view.memory.findings:
            return Action.note(" ".join(view.page_text(page).split())[:100], page)
        return Action.answer(view.page_text(page).split(" has ")[-1].split()[0])
"""


QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
}
"""Lets the cluster notice a dead node within two seconds."""


class Nodes(NamedTuple):
    """The cluster, and its node that may be killed."""

    cluster: Any
    second: Any


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Two nodes of one processor each, as processes of this machine."""
    from looseleaf.runner.executor.ray_cluster import LOCAL_SETTINGS, SETTINGS

    with pytest.MonkeyPatch.context() as patch:
        for name, value in (SETTINGS | LOCAL_SETTINGS).items():
            patch.setenv(name, value)
        from ray._private import ray_constants
        from ray.cluster_utils import Cluster

        patch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", False)  # another test may have imported Ray before
        common = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cluster = Cluster(
            initialize_head=True,
            head_node_args={"include_dashboard": False, "_system_config": QUICK, **common},
        )
        second = cluster.add_node(**common)
        yield Nodes(cluster, second)
        cluster.shutdown()


@pytest.fixture
def executor(nodes: Nodes) -> Iterator[Executor]:
    with executor_named("ray", nodes.cluster.address) as made:
        yield made


@pytest.fixture
def agent(agent_module: Callable[[str], str]) -> str:
    return agent_module(AGENT)


def configured(own_set: OwnSet, agent: str, **more: Any) -> RunConfig:
    options = more.pop("options", {})
    return RunConfig(
        data=DataConfig(benchmark=str(own_set.questions), path=str(own_set.docs)),
        policy=RoleSpec(backend="python", argument=f"{agent}:Agent", options=options),
        **more,
    )


def rows_of(run: Run) -> dict[str, Any]:
    """Trajectories as they are stored, without what depends on the clock."""
    rows = [json.loads(line) for line in (run.path / "trajectories.jsonl").read_bytes().splitlines()]
    by_id = {row["trajectory_id"]: _without_seconds(row) for row in rows}
    assert len(by_id) == len(rows), "a row is there twice"
    return by_id


def _without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_seconds(item) for name, item in value.items() if name != "seconds"}
    return [_without_seconds(item) for item in value] if isinstance(value, list) else value


def scores_of(run: Run, config: ScoreConfig, executor: Executor) -> dict[str, dict[str, Any]]:
    outcome = score_run(run, config, executor=executor)
    ledgers = {
        "scores": run.scores(outcome.score_id),
        "readings": run.readings(outcome.reading_ids[0]),
        "extractions": run.extractions(run.sidecars("scores")[outcome.score_id]["extraction_id"]),
    }
    found: dict[str, dict[str, Any]] = {}
    for name, ledger in ledgers.items():
        rows = list(ledger.read())
        found[name] = {row.key: row for row in rows}
        assert len(found[name]) == len(rows), "a row is there twice"
    return found


# -- every stage -----------------------------------------------------------------------------------------------


def test_pages_vectors_rows_scores_and_resamples_are_those_of_the_local_path(
    own_set: OwnSet, agent: str, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from looseleaf.runner.executor.ray_pages import prepare_on_ray

    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    files = sorted(own_set.docs.glob("*.pdf"))
    (own_set.docs / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    with PageStore(tmp_path / "cache") as store, PageStore(tmp_path / "other") as other:
        here = sorted(
            prepare_here([*files, own_set.docs / "torn.pdf"], other, PagesHow(), threads=1), key=repr
        )
        there = sorted(prepare_on_ray([*files, own_set.docs / "torn.pdf"], store, PagesHow()), key=repr)
        assert there == here
        assert sum(row.rendered for row in there) == sum(row.read for row in there) == 8
        assert [row.path for row in there if row.errors] == [str(own_set.docs / "torn.pdf")]
        documents = [Document.open(file, store=store) for file in files]
        for document in documents:
            document.image(document.page_count)
        assert (store.pages_extracted, store.pages_rendered) == (0, 0), "the tasks filled this cache"

        indexed = index_documents(files, IndexStage("bm25", store), executor, concurrency=2)
        assert sorted(row.path for row in indexed) == [str(file) for file in files]
        assert [row.error for row in indexed] == ["", ""]

        config = configured(own_set, agent, concurrency=4)
        away = execute(config, tmp_path / "away", store=store, executor=executor)
        home = execute(config, tmp_path / "home", store=other)
        assert rows_of(away.run) == rows_of(home.run)
        assert away.run.manifest["last_session"] == {
            **home.run.manifest["last_session"],
            "pages_extracted": 0,
            "documents_opened": 0,
        }
        again = execute(config, tmp_path / "away", store=store, executor=executor)
        assert (again.finished_before, again.finished_now) == (7, 0)

        score = ScoreConfig()
        assert scores_of(away.run, score, executor) == scores_of(home.run, score, LocalExecutor())

    sums = np.random.default_rng(0).random((2, 5, 30))
    expected = fanned_ratios(LocalExecutor(), sums[0], sums[1], resamples=500, seed=3)
    assert np.array_equal(fanned_ratios(executor, sums[0], sums[1], resamples=500, seed=3), expected)
    weights = resample_weights(30, resamples=500, seed=3)
    assert np.allclose(expected, bootstrap_ratios(sums[0], sums[1], weights), rtol=1e-12)


def test_a_mistake_that_shows_only_on_a_node_is_one_sentence(
    own_set: OwnSet, agent: str, executor: Executor, tmp_path: Path
) -> None:
    with PageStore(tmp_path / "cache") as store:
        stage = IndexStage("bm25", store)
        stage._spec = "tape"
        with pytest.raises(ConfigError, match="There is no retriever 'tape'"):
            index_documents([own_set.docs / "report_0.pdf"], stage, executor, concurrency=1)


@pytest.mark.slow
def test_a_question_that_kills_its_process_is_a_fault_and_costs_no_other_row(
    own_set: OwnSet, agent: str, executor: Executor, tmp_path: Path
) -> None:
    deadly = configured(own_set, agent, options={"deadly": "Lima"}, concurrency=16)
    with PageStore(tmp_path / "cache") as store:
        outcome = execute(deadly, tmp_path / "run", store=store, executor=executor)
    assert (outcome.finished_now, outcome.faults) == (6, 1)
    lost = outcome.run.trajectories()["mini:1#0"]
    assert (
        lost.error == "It was running when its process or node was lost, 4 times; run the same command again."
    )


# -- a node dies -----------------------------------------------------------------------------------------------


def test_a_node_that_is_killed_in_mid_run_changes_no_row(
    own_set: OwnSet, agent: str, nodes: Nodes, executor: Executor, tmp_path: Path
) -> None:
    """Runs last: the second node stays dead."""
    samples = 4
    config = configured(own_set, agent, samples=samples, concurrency=8)
    log = tmp_path / "log.txt"
    slow = configured(
        own_set, agent, samples=samples, concurrency=8, options={"log": str(log), "seconds": 0.3}
    )
    killed: list[int] = []

    def kill() -> None:
        """Kill the second node when it has just begun a question."""
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            begun = log.read_text().count(nodes.second.node_id) if log.exists() else 0
            if begun:
                nodes.cluster.remove_node(nodes.second, allow_graceful=False)
                killed.append(begun)
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    with PageStore(tmp_path / "cache") as store:
        away = execute(slow, tmp_path / "away", store=store, executor=executor)
        home = execute(config, tmp_path / "home", store=store)
    assert (away.finished_now, away.faults) == (7 * samples, 0)
    killer.join()
    assert killed
    assert len(log.read_text().splitlines()) > 7 * samples, "what the dead node had begun ran again"
    there, here = rows_of(away.run), rows_of(home.run)
    run_ids = {row.pop("run_id") for row in there.values()}, {row.pop("run_id") for row in here.values()}
    assert len(run_ids[0]) == len(run_ids[1]) == 1
    assert there == here


# -- a cluster of one's own ------------------------------------------------------------------------------------

LISTENERS = """
import os, pathlib, subprocess, sys
from looseleaf.runner.executor import executor_named

def tree(pid):
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [pid, *(found for child in children for found in tree(int(child)))]

with executor_named("ray"):
    inodes = set()
    for pid in tree(os.getpid()):
        for file in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
            try:
                inodes.add(os.readlink(file).removeprefix("socket:[").rstrip("]"))
            except OSError:
                pass
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                print(fields[1].split(":")[0])
"""
LOOPBACK_HEX = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, ::ffff:127.0.0.1 and ::1 as the kernel writes them."""


@pytest.mark.slow
def test_a_cluster_of_this_machine_listens_on_the_loopback_interface_only(tmp_path: Path) -> None:
    script = tmp_path / "listeners.py"
    script.write_text(LISTENERS, encoding="utf-8")
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=120)
    listening = said.stdout.split()
    assert len(listening) > 3
    assert set(listening) <= LOOPBACK_HEX


@pytest.mark.slow
def test_the_command_on_a_cluster_of_its_own_goes_on_where_it_was_killed(
    own_set: OwnSet, tmp_path: Path
) -> None:
    command = [
        *(sys.executable, "-m", "looseleaf", "eval", own_set.questions, "--docs", own_set.docs),
        *("--out", tmp_path / "run", "--executor", "ray", "--cache", tmp_path / "cache", "--samples", "6"),
    ]
    rows = tmp_path / "run" / "trajectories.jsonl"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (rows.exists() and rows.read_bytes().count(b"\n")):
            time.sleep(0.01)
        first.kill()
    done = rows.read_bytes().count(b"\n")
    assert done > 0
    second = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert second.returncode == 0, second.stderr
    assert len(rows_of(Run.open(tmp_path / "run"))) == 42
    assert f"{42 - done} trajectories now, {done} before" in second.stdout


# -- without a cluster -----------------------------------------------------------------------------------------


def test_executors_that_cannot_be_had_are_a_sentence(
    cli: Cli, own_set: OwnSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    common = ("run", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run")
    assert "no executor 'slurm'; use local or ray" in cli(*common, "--executor", "slurm").err
    assert "add that, or leave the address out" in cli(*common, "--ray-address", "x:1").err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = cli(*common, "--executor", "ray")
    assert said.code == 2
    assert "needs Ray; run: pip install 'looseleaf[ray]'" in said.err


def test_groups_fill_the_processors_and_stay_small() -> None:
    from looseleaf.runner.stage import grouped

    assert grouped([3, 1, 2], 1) == [[3], [1], [2]]
    alike = grouped(["a1", "b1", "a2", "a3", "b2"], 2, lambda item: item[0])
    assert alike == [["a1", "a2"], ["a3"], ["b1", "b2"]]
    assert LocalExecutor().shape(7) == (1, 7)
    assert asyncio.run(LocalExecutor().run(_Double(), [1, 2])) == [2, 4]


class _Double:
    kind = "double"

    def context(self) -> bytes:
        return b"{}"

    async def one(self, item: int) -> int:
        return 2 * item

    def failed(self, item: int, why: str) -> int:
        return 0

    def counts(self) -> dict[str, Any]:
        return {}
