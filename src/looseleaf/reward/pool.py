"""`PromptPool`: the prompts of GRPO, chosen once by answer correctness of the SFT checkpoint.

Groups whose answers are all right or all wrong carry no answer signal, so the pool keeps the mixed ones. Both reward
arms must train on the same prompts, or their comparison says nothing: the pool is one file, and a training
configuration names its hash. The choice looks at answers only; a pool chosen by memory would favour one arm.

Source: AWM, arXiv 2608.25618, data and training (226 mixed-difficulty groups of 1,006 candidate prompts).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from looseleaf.errors import ConfigError, RunError
from looseleaf.reward.stored import pick_scores, score_rows, selected
from looseleaf.runstore import Run, write_atomically
from looseleaf.scoring.thresholds import threshold_named

__all__ = [
    "PoolPrompt",
    "PromptPool",
    "check_same_pool",
    "pool_hash",
    "read_pool",
    "select_pool",
    "write_pool",
]

POOL_VERSION = 1
"""Version of the file."""
MIN_SCORED = 2
"""Fewest scored samples from which a group can be mixed."""


class PoolPrompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One prompt of the pool.

    Attributes:
        question_id: the question.
        right: its samples with a correct answer.
        scored: its samples with a scored answer.
    """

    question_id: str
    right: int
    scored: int


class PromptPool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pool and how it came about.

    Attributes:
        version: `POOL_VERSION` of the writer.
        run_id: run of the SFT checkpoint that it was chosen from.
        score_id: ledger of the scores that decided.
        threshold: name of the binarisation.
        lowest: smallest share of correct answers that was kept, exclusive of 0.
        highest: largest share that was kept, exclusive of 1.
        n_candidates: prompts to choose from.
        n_all_wrong: left out because no answer was correct.
        n_all_right: left out because every answer was correct.
        n_outside: left out because their share lies outside [lowest, highest].
        n_too_few: left out because fewer than two samples are scored.
        prompts: the chosen ones, by question id.
    """

    version: int = POOL_VERSION
    run_id: str
    score_id: str
    threshold: str
    lowest: float
    highest: float
    n_candidates: int
    n_all_wrong: int
    n_all_right: int
    n_outside: int
    n_too_few: int
    prompts: tuple[PoolPrompt, ...]

    @property
    def question_ids(self) -> tuple[str, ...]:
        """The chosen questions."""
        return tuple(prompt.question_id for prompt in self.prompts)


def select_pool(
    run: Run,
    score_id: str | None = None,
    *,
    threshold: str = ">0",
    lowest: float = 0.0,
    highest: float = 1.0,
) -> PromptPool:
    """Choose the prompts whose sampled answers are neither all right nor all wrong.

    Args:
        run: several samples a question of the SFT checkpoint, scored.
        score_id: ledger of the scores; the only one by default.
        threshold: name of the binarisation.
        lowest: keep only prompts with at least this share of correct answers.
        highest: keep only prompts with at most this share.

    Raises:
        UserError: the run is not scored, an option cannot be used, or nothing is left.
    """
    if not 0.0 <= lowest < highest <= 1.0:
        raise ConfigError(f"lowest is {lowest} and highest is {highest}; use 0 ≤ lowest < highest ≤ 1.")
    score_id = pick_scores(run, score_id)
    prompts = _prompts(run, score_id, threshold)
    enough = [prompt for prompt in prompts if prompt.scored >= MIN_SCORED]
    mixed = [prompt for prompt in enough if 0 < prompt.right < prompt.scored]
    kept = [prompt for prompt in mixed if lowest <= prompt.right / prompt.scored <= highest]
    if not kept:
        raise RunError(
            f"No prompt of {run.path} has both right and wrong answers among its scored samples; "
            "run it with more --samples, or with harder or easier questions."
        )
    return PromptPool(
        run_id=str(run.manifest.get("run_id", "")),
        score_id=score_id,
        threshold=threshold,
        lowest=float(lowest),
        highest=float(highest),
        n_candidates=len(prompts),
        n_all_wrong=sum(prompt.right == 0 for prompt in enough),
        n_all_right=sum(prompt.right == prompt.scored for prompt in enough),
        n_outside=len(mixed) - len(kept),
        n_too_few=len(prompts) - len(enough),
        prompts=tuple(sorted(kept, key=lambda prompt: prompt.question_id)),
    )


def _prompts(run: Run, score_id: str, threshold: str) -> list[PoolPrompt]:
    correct = threshold_named(threshold)
    values = {row.trajectory_id: row.value for row in score_rows(run, score_id) if row.target == "answer"}
    right: dict[str, int] = {}
    scored: dict[str, int] = {}
    for trajectory_id, question in selected(run).items():
        value = values.get(trajectory_id)
        scored[question.question_id] = scored.get(question.question_id, 0) + (value is not None)
        right[question.question_id] = right.get(question.question_id, 0) + (
            value is not None and correct(value)
        )
    return [PoolPrompt(question_id=key, right=right[key], scored=count) for key, count in scored.items()]


def pool_hash(content: bytes) -> str:
    """sha256 of the file's bytes, which a training configuration names."""
    return hashlib.sha256(content).hexdigest()


def write_pool(pool: PromptPool, path: Path) -> str:
    """Write the file once, and return its hash; the same pool always gives the same bytes.

    Raises:
        RunError: another pool is there already, or the file cannot be written.
    """
    content = msgspec.json.format(msgspec.json.encode(pool, order="deterministic"), indent=1) + b"\n"
    if path.exists() and path.read_bytes() != content:
        raise RunError(
            f"{path} holds another pool, and both reward arms must train on one; choose another file for this one."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return pool_hash(content)


def read_pool(path: Path, sha256: str | None = None) -> PromptPool:
    """Read a pool, and refuse one that is not the one a configuration names.

    Raises:
        RunError: there is no such file, it is not a pool, or its hash differs.
    """
    try:
        content = path.read_bytes()
        pool = msgspec.json.decode(content, type=PromptPool)
    except (OSError, msgspec.DecodeError) as problem:
        raise RunError(f"{path} is not a prompt pool ({problem}); make one from a scored run.") from problem
    if sha256 is not None and pool_hash(content) != sha256:
        raise RunError(
            f"{path} has the hash {pool_hash(content)} and the configuration names {sha256}; "
            "train every reward arm on one and the same pool."
        )
    return pool


def check_same_pool(hashes: Iterable[str]) -> str:
    """The one hash that all reward arms name.

    Raises:
        RunError: they name different ones, or none.
    """
    found = sorted(set(hashes))
    if len(found) != 1:
        raise RunError(
            f"The reward arms name {len(found)} prompt pools ({', '.join(found)}); use one for all of them."
        )
    return found[0]
