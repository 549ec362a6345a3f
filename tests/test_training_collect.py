"""Collecting SFT trajectories: what is kept and why, balanced buckets, the files, and the pool of GRPO."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import OwnSet
from fakes import make_question
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, DataError, RunError
from looseleaf.memory import Finding
from looseleaf.models.role_spec import RoleSpec
from looseleaf.reward.pool import read_pool
from looseleaf.roles import Action
from looseleaf.runner.score import ScoreOutcome
from looseleaf.runstore import Run
from looseleaf.training.buckets import Sampled, balanced, bucket_of
from looseleaf.training.collect import collect
from looseleaf.training.collection import (
    CANDIDATES_FILE,
    COLLECTION_FILE,
    SFT_FILE,
    CollectOptions,
    choose,
    keep_collection,
)
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import train_config
from looseleaf.training.prompt_pool import POOL_FILE, make_pool
from looseleaf.training.questions import read_candidates
from looseleaf.trajectory import StopReason, Trajectory
from reward_runs import READING_ID, SCORE_ID, make_scored_run, make_step, make_trajectory

EMBEDDED = RoleSpec(backend="embedded")
SCORED = ScoreOutcome(SCORE_ID, (READING_ID,), 0)


def configured(own_set: OwnSet, **tables: Any) -> TrainConfig:
    return train_config(
        {
            "train": {"stage": "grpo", "model": "m", "output": "out", "steps": 1, "group_size": 2},
            "data": {"benchmark": str(own_set.questions), "path": str(own_set.docs)},
            **tables,
        }
    )


@pytest.fixture
def config(own_set: OwnSet) -> TrainConfig:
    return configured(own_set)


def options(**fields: Any) -> CollectOptions:
    return CollectOptions(**{"teacher": EMBEDDED, "keep": 100} | fields)


# -- which trajectories ----------------------------------------------------------------------------------------------


def replaced(run: Run, key: str, **fields: Any) -> None:
    with run.writing():
        run.trajectory_ledger.append(make_trajectory(key, **fields))


def test_every_question_is_kept_or_counted_under_one_reason(tmp_path: Path, config: TrainConfig) -> None:
    run = make_scored_run(
        tmp_path / "run",
        [
            [(1.0, 1.0), (0.0, 0.0)],  # right once
            [(0.0, 1.0), (0.0, 0.0)],  # wrong
            [(0.5, 0.0), (None, None)],  # right, with a memory that does not answer
            [(None, None), (None, None)],  # unscored
            [(1.0, 1.0), (1.0, 1.0)],  # right, refused turns only
        ],
    )
    refused = (make_step(1, Action.search("a"), shown=(2,)), make_step(2, None, invalid="Malformed"))
    for sample in range(2):
        replaced(run, f"mini:4#{sample}", steps=refused)
    choice = choose(run, SCORED, options(samples=2), config)
    assert [trajectory.trajectory_id for trajectory in choice.kept] == ["mini:0#0", "mini:2#0"]
    counts = choice.counts
    assert (counts.n_questions, counts.n_kept, counts.n_not_drawn) == (5, 2, 0)
    assert (counts.n_wrong, counts.n_unscored, counts.n_invalid, counts.n_memory) == (1, 1, 1, 0)
    assert choice.left == ["mini:1", "mini:4"]  # what is unscored is neither kept nor a candidate
    strict = choose(run, SCORED, options(samples=2, require_memory=True), config)
    assert [trajectory.trajectory_id for trajectory in strict.kept] == ["mini:0#0"]
    assert (strict.counts.n_memory, strict.counts.ablation) == (1, "require-memory")
    lenient = choose(run, SCORED, options(samples=2, max_invalid=1), config)
    assert len(lenient.kept) == 3


def test_the_best_correct_sample_is_kept(tmp_path: Path, config: TrainConfig) -> None:
    run = make_scored_run(tmp_path / "run", [[(0.0, 0.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]])
    look = make_step(1, Action.search("a"), shown=(2,))
    longer = (look, make_step(2, Action.note("n", 2)), make_step(3, Action.fetch(3), shown=(3,)))
    replaced(run, "mini:0#1", steps=(*longer, make_step(4, Action.answer("7"))))
    replaced(run, "mini:0#2", steps=(look, make_step(2, Action.answer("7"))))
    replaced(run, "mini:0#3", steps=(make_step(1, None, invalid="Malformed"),))
    choice = choose(run, SCORED, options(samples=4, max_invalid=1), config)
    assert [trajectory.trajectory_id for trajectory in choice.kept] == ["mini:0#2"]


def test_faults_are_no_wrong_answers(tmp_path: Path, config: TrainConfig) -> None:
    run = make_scored_run(tmp_path / "run", [[(None, None)], [(1.0, 1.0)]])
    replaced(run, "mini:0#0", stop_reason=StopReason.PROVIDER_ERROR, answer=None)
    counts = choose(run, SCORED, options(), config).counts
    assert (counts.n_unscored, counts.n_wrong, counts.n_kept) == (1, 0, 1)


# -- buckets ---------------------------------------------------------------------------------------------------------


def looks(count: int) -> Trajectory:
    steps = tuple(make_step(turn, Action.fetch(turn), shown=(turn,)) for turn in range(1, count + 1))
    refused = make_step(count + 1, Action.search("again"), invalid="Refused")
    return make_trajectory("mini:0#0", steps=(*steps, refused))


def sampled(
    index: int = 0, *, trajectory: Trajectory | None = None, right: int = 1, **fields: Any
) -> Sampled:
    return Sampled(make_question(index, **fields), trajectory or looks(1), right, 4)


@pytest.mark.parametrize(
    ("one", "measure", "name"),
    [
        (sampled(trajectory=looks(0)), "looks", "0 looks"),
        (sampled(trajectory=looks(3)), "looks", "3 looks"),
        (sampled(trajectory=looks(9)), "looks", "4 looks or more"),
        (sampled(evidence_pages=None), "pages", "gold pages unknown"),
        (sampled(evidence_pages=(1, 2)), "pages", "2 gold pages"),
        (sampled(evidence_pages=(1, 2, 3, 4)), "pages", "3 gold pages or more"),
        (sampled(right=4), "success", "always right"),
        (sampled(right=3), "success", "often right"),
        (sampled(right=2), "success", "sometimes right"),
        (sampled(right=1), "success", "rarely right"),
    ],
)
def test_difficulty_buckets(one: Sampled, measure: Any, name: str) -> None:
    assert bucket_of(one, measure) == name


@pytest.mark.parametrize(
    ("sizes", "keep", "kept"),
    [
        ((10, 10, 10), 9, (3, 3, 3)),
        ((1, 10, 10), 9, (1, 4, 4)),
        ((1, 2, 10), 9, (1, 2, 6)),
        ((1, 2, 3), 100, (1, 2, 3)),
        ((5, 5), 3, (1, 2)),
        ((5, 5), None, (5, 5)),
    ],
)
def test_buckets_are_as_equal_as_their_sizes_allow(
    sizes: tuple[int, ...], keep: int | None, kept: tuple[int, ...]
) -> None:
    buckets = {
        str(place): [sampled(100 * place + index) for index in range(size)]
        for place, size in enumerate(sizes)
    }
    drawn = balanced(buckets, keep)
    assert tuple(len(drawn[name]) for name in buckets) == kept


def test_the_draw_depends_on_seed_and_question_alone() -> None:
    items = [sampled(index) for index in range(20)]

    def ids(found: list[Sampled], seed: int) -> list[str]:
        return [one.question.question_id for one in balanced({"a": found}, 5, seed)["a"]]

    assert ids(items, 0) == ids(items[::-1], 0)
    assert ids(items, 0) != ids(items, 1)
    assert ids(items[10:], 0)[0] in {one.question.question_id for one in items[10:]}


def test_options_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="--samples 4"):
        options(measure="success")
    with pytest.raises(ConfigError, match="use one of looks"):
        options(measure="luck")
    with pytest.raises(ConfigError, match="keep at least 1"):
        options(keep=0)


# -- files -----------------------------------------------------------------------------------------------------------


def test_files_hold_the_kept_trajectories_the_candidates_and_the_counts(
    tmp_path: Path, config: TrainConfig
) -> None:
    run = make_scored_run(tmp_path / "run", [[(1.0, 1.0)], [(0.0, 0.0)], [(1.0, 0.0)]])
    collection = keep_collection(choose(run, SCORED, options(keep=1), config), run.path)
    lines = (run.path / SFT_FILE).read_bytes().splitlines()
    kept = [msgspec.json.decode(line, type=Trajectory) for line in lines]
    assert kept[0].memory == (Finding("Number 0 is 7.", 5),)
    candidates = read_candidates(run.path / CANDIDATES_FILE)
    assert candidates is not None
    assert len(candidates.question_ids) == 2
    assert {kept[0].question_id, *candidates.question_ids} == {"mini:0", "mini:1", "mini:2"}
    stored = json.loads((run.path / COLLECTION_FILE).read_bytes())
    assert stored["n_kept"] == 1
    assert stored["n_not_drawn"] == 1
    assert stored["sft_sha256"] == collection.sft_sha256
    again = keep_collection(choose(run, SCORED, options(keep=1), config), run.path)
    assert again == collection


def test_a_teacher_that_answers_nothing_is_said_so(tmp_path: Path, config: TrainConfig) -> None:
    run = make_scored_run(tmp_path / "run", [[(0.0, 0.0)]])
    with pytest.raises(RunError, match="looseleaf view"):
        keep_collection(choose(run, SCORED, options(), config), run.path)


# -- the whole way ---------------------------------------------------------------------------------------------------


def test_the_embedded_teacher_is_run_scored_and_kept(
    config: TrainConfig, store: PageStore, tmp_path: Path
) -> None:
    out = tmp_path / "collected"
    done = collect(config, options(keep=3), out, store=store)
    assert done.collection is not None
    assert done.unscored == 0
    assert done.collection.n_questions == 7
    assert done.collection.n_kept == 3
    run = Run.open(out)
    assert len(run.trajectories()) == 7
    assert run.config["roles"]["policy"]["backend"] == "embedded"
    candidates = read_candidates(out / CANDIDATES_FILE)
    assert candidates is not None
    assert len(candidates.question_ids) == 4
    before = (out / SFT_FILE).read_bytes(), (out / "trajectories.jsonl").read_bytes()
    collect(config, options(keep=3), out, store=store)
    assert before == ((out / SFT_FILE).read_bytes(), (out / "trajectories.jsonl").read_bytes())


def test_nothing_is_run_where_training_and_evaluation_overlap(
    own_set: OwnSet, store: PageStore, tmp_path: Path
) -> None:
    overlapping = configured(
        own_set,
        evaluation={
            "benchmark": str(own_set.questions),
            "path": str(own_set.docs),
            "readers": ["constant:1"],
        },
    )
    with pytest.raises(DataError, match="overlaps with"):
        collect(overlapping, options(), tmp_path / "out", store=store)
    with pytest.raises(DataError, match="overlaps with"):
        make_pool(overlapping, EMBEDDED, tmp_path / "pool", store=store)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "pool").exists()


FLAKY = """
from looseleaf.roles import Action
from looseleaf.models.chat.sampling import current_sample

class Half:
    '''Right in its first sample of every other question.'''
    def act(self, view):
        right = current_sample().number == 0 and "Oslo" in view.question
        return Action.answer("7" if right else "99")

def make():
    return Half()
"""


def test_the_pool_holds_the_candidates_with_mixed_answers(
    config: TrainConfig, store: PageStore, tmp_path: Path, agent_module: Callable[[str], str], own_set: OwnSet
) -> None:
    policy = RoleSpec.parse(f"python:{agent_module(FLAKY)}:make")
    oslo = next(n for n, row in enumerate(own_set.rows) if "Oslo" in row["question"])
    made = make_pool(config, policy, tmp_path / "pool", store=store)
    assert made.pool is not None
    assert made.pool.question_ids == (f"mini:{oslo}",)
    assert (made.pool.prompts[0].right, made.pool.prompts[0].scored) == (1, 2)
    assert made.pool.n_candidates == 7
    assert read_pool(tmp_path / "pool" / POOL_FILE, made.sha256) == made.pool
    assert not list((tmp_path / "pool").glob("readings/*"))  # the memory is not read
