"""The prompt pool: chosen by answers only, once, one file, one hash."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from looseleaf.errors import ConfigError, RunError
from looseleaf.reward import check_same_pool, read_pool, select_pool, write_pool
from reward_runs import SCORE_ID, Pair, make_scored_run

RIGHT, WRONG, OUTAGE = (1.0, 1.0), (0.0, 1.0), (None, 1.0)
SAMPLES: list[list[Pair]] = [
    [RIGHT, WRONG, WRONG, WRONG],
    [RIGHT, RIGHT, RIGHT, RIGHT],
    [WRONG, WRONG, WRONG, WRONG],
    [RIGHT, OUTAGE, OUTAGE, WRONG],
    [RIGHT, OUTAGE, OUTAGE, OUTAGE],
    [RIGHT, RIGHT, RIGHT, WRONG],
    [OUTAGE, RIGHT, RIGHT, RIGHT],
]


def test_mixed_groups_are_kept_and_everything_else_is_counted(tmp_path: Path) -> None:
    pool = select_pool(make_scored_run(tmp_path / "run", SAMPLES))
    assert pool.question_ids == ("mini:0", "mini:3", "mini:5")
    assert [(prompt.right, prompt.scored) for prompt in pool.prompts] == [(1, 4), (1, 2), (3, 4)]
    counts = (pool.n_candidates, pool.n_all_right, pool.n_all_wrong, pool.n_outside, pool.n_too_few)
    assert counts == (7, 2, 1, 0, 1)
    assert len(pool.prompts) + sum(counts[1:]) == pool.n_candidates
    assert (pool.run_id, pool.score_id) == ("run-12345678", SCORE_ID)


def test_difficulty_bounds(tmp_path: Path) -> None:
    pool = select_pool(make_scored_run(tmp_path / "run", SAMPLES), lowest=0.3, highest=0.6)
    assert pool.question_ids == ("mini:3",)
    assert pool.n_outside == 2


def test_thresholds_are_named(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[(0.4, 1.0), (0.9, 1.0)], [(0.0, 0.0), (1.0, 0.0)]])
    assert select_pool(run).question_ids == ("mini:1",)
    assert select_pool(run, threshold=">=0.5").question_ids == ("mini:0", "mini:1")


def test_the_memory_has_no_say(tmp_path: Path) -> None:
    other = [[(answer, None if answer is None else 1 - answer) for answer, _ in row] for row in SAMPLES]
    first = write_pool(select_pool(make_scored_run(tmp_path / "a", SAMPLES)), tmp_path / "a.json")
    second = write_pool(select_pool(make_scored_run(tmp_path / "b", other)), tmp_path / "b.json")
    third = write_pool(
        select_pool(make_scored_run(tmp_path / "c", SAMPLES, memory_rows=False)), tmp_path / "c.json"
    )
    assert first == second == third


def test_one_file_whose_hash_both_arms_share(tmp_path: Path) -> None:
    pool = select_pool(make_scored_run(tmp_path / "run", SAMPLES))
    path = tmp_path / "pools" / "pool.json"
    sha256 = write_pool(pool, path)
    assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert write_pool(pool, path) == sha256  # once more changes nothing
    assert read_pool(path, sha256) == pool
    assert check_same_pool([sha256, sha256]) == sha256
    with pytest.raises(RunError, match="2 prompt pools"):
        check_same_pool([sha256, "0" * 64])


def test_a_pool_is_never_replaced_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", SAMPLES)
    path = tmp_path / "pool.json"
    sha256 = write_pool(select_pool(run), path)
    with pytest.raises(RunError, match="another pool"):
        write_pool(select_pool(run, lowest=0.5), path)
    path.write_bytes(path.read_bytes().replace(b"mini:5", b"mini:6"))
    with pytest.raises(RunError, match="one and the same pool"):
        read_pool(path, sha256)
    path.write_text("[]")
    with pytest.raises(RunError, match="not a prompt pool"):
        read_pool(path)
    with pytest.raises(RunError, match="not a prompt pool"):
        read_pool(tmp_path / "none.json")


def test_misuse(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[RIGHT, RIGHT], [WRONG, WRONG]])
    with pytest.raises(RunError, match="both right and wrong"):
        select_pool(run)
    with pytest.raises(ConfigError, match="lowest"):
        select_pool(run, lowest=0.9, highest=0.1)
    with pytest.raises(ConfigError, match="threshold"):
        select_pool(run, threshold="most")
