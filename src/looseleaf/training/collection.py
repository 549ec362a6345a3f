"""Choosing among a teacher's trajectories: one correct one a question, difficulty buckets of equal size, the counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from looseleaf.errors import ConfigError, RunError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.question import Question
from looseleaf.reward.outcome import Outcome
from looseleaf.reward.stored import stored_outcomes
from looseleaf.runner.config import DEFAULT_CONCURRENCY
from looseleaf.runner.score import ScoreOutcome
from looseleaf.runstore import Run, write_atomically
from looseleaf.scoring.thresholds import threshold_named
from looseleaf.training.buckets import MEASURES, Measure, Sampled, balanced, in_buckets
from looseleaf.training.config import TrainConfig
from looseleaf.training.questions import Candidates, write_candidates
from looseleaf.trajectory import Trajectory

__all__ = [
    "CANDIDATES_FILE",
    "COLLECTION_FILE",
    "REQUIRE_MEMORY",
    "SFT_FILE",
    "BucketCount",
    "Choice",
    "CollectOptions",
    "Collection",
    "choose",
    "keep_collection",
]

SFT_FILE = "sft.jsonl"
"""Kept trajectories, one a line, in the folder of the teacher's run."""
CANDIDATES_FILE = "candidates.json"
"""Questions left for GRPO."""
COLLECTION_FILE = "collection.json"
"""Counts and settings."""
REQUIRE_MEMORY = "require-memory"
"""Name of the ablation that keeps only trajectories whose memory alone answers, too."""


class CollectOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How trajectories are collected.

    Attributes:
        teacher: who acts.
        samples: trajectories a question; one correct one of them is kept.
        keep: most SFT trajectories in all; `None` keeps half of the questions, as AWM's 994 of 2,000 nearly do.
        measure: what the difficulty buckets are made by.
        require_memory: keep only trajectories whose memory alone answers, too (an ablation: it selects for what
            GRPO is to teach).
        max_invalid: refused or malformed turns that a kept trajectory may have.
        concurrency: questions in flight.
    """

    teacher: RoleSpec
    samples: int = 1
    keep: int | None = None
    measure: Measure = "looks"
    require_memory: bool = False
    max_invalid: int = 0
    concurrency: int = DEFAULT_CONCURRENCY

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise ConfigError(f"There is no difficulty {self.measure!r}; use one of {', '.join(MEASURES)}.")
        if self.measure == "success" and self.samples < 2:
            raise ConfigError("Difficulty by success needs several samples a question; add --samples 4.")
        if self.keep is not None and self.keep < 1:
            raise ConfigError(f"keep is {self.keep}; keep at least 1 trajectory.")


class BucketCount(msgspec.Struct, frozen=True, kw_only=True):
    """One difficulty bucket: questions with a usable trajectory, and how many were kept."""

    usable: int
    kept: int


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """What became of every question, and where the files are.

    Every question is counted once: kept, not drawn, or under the first reason why it could not be kept.

    Attributes:
        run_id: run of the teacher.
        score_id: ledger of the scores that decided.
        reading_id: ledger of the reader, where the memory was read.
        ablation: `require-memory`, or empty.
        measure: of the buckets.
        n_questions: selected questions.
        n_kept: questions with an SFT trajectory.
        n_not_drawn: usable, and left out so that the buckets are balanced.
        n_wrong: every scored sample is wrong.
        n_memory: correct, and no memory answers alone (`require-memory` only).
        n_invalid: correct with too many invalid turns.
        n_unscored: no sample is scored.
        buckets: by name.
        sft_sha256: hash of the trajectories' file.
        candidates_sha256: hash of the candidates' file.
    """

    run_id: str
    score_id: str
    reading_id: str | None
    ablation: str
    measure: Measure
    n_questions: int
    n_kept: int
    n_not_drawn: int
    n_wrong: int
    n_memory: int
    n_invalid: int
    n_unscored: int
    buckets: dict[str, BucketCount]
    sft_sha256: str = ""
    candidates_sha256: str = ""

    def lines(self, out: Path) -> list[str]:
        """The counts for people, and where the files are."""
        reasons = (
            f"{self.n_wrong} wrong, {self.n_invalid} with refused turns, {self.n_not_drawn} not drawn, "
            f"{self.n_unscored} unscored"
        )
        ablation = f", {self.n_memory} whose memory does not answer" if self.ablation else ""
        buckets = ", ".join(f"{name}: {count.kept} of {count.usable}" for name, count in self.buckets.items())
        return [
            f"{self.n_kept} trajectories kept of {self.n_questions} questions ({reasons}{ablation}).",
            f"Buckets by {self.measure}: {buckets}.",
            f"SFT trajectories: {out / SFT_FILE}",
            f"Questions left for GRPO: {out / CANDIDATES_FILE}",
        ]


class Choice(NamedTuple):
    """The kept trajectories, the questions that are left, and the counts."""

    kept: list[Trajectory]
    left: list[str]
    counts: Collection


def choose(run: Run, scored: ScoreOutcome, options: CollectOptions, config: TrainConfig) -> Choice:
    """Keep one correct trajectory a question, the same number from each difficulty bucket."""
    reading_id = scored.reading_ids[0] if scored.reading_ids else None
    if options.require_memory and reading_id is None:
        raise RunError(
            f"{run.path} has no memory to be read, which --require-memory needs; use another protocol."
        )
    outcomes = stored_outcomes(run, scored.score_id, reading_id)
    questions = run.questions()
    verdicts = _Verdicts(run.trajectories(), outcomes, options, config.reward.threshold)
    usable = [sampled for question in questions if (sampled := verdicts.look(question)) is not None]
    buckets = in_buckets(usable, options.measure)
    keep = options.keep if options.keep is not None else max(1, len(questions) // 2)
    drawn = balanced(buckets, keep, config.train.seed)
    kept = {one.question.question_id: one.trajectory for found in drawn.values() for one in found}
    counts = Collection(
        run_id=str(run.manifest.get("run_id", "")),
        score_id=scored.score_id,
        reading_id=reading_id,
        ablation=REQUIRE_MEMORY if options.require_memory else "",
        measure=options.measure,
        n_questions=len(questions),
        n_kept=len(kept),
        n_not_drawn=len(usable) - len(kept),
        **verdicts.counts,
        buckets={
            name: BucketCount(usable=len(found), kept=len(drawn[name])) for name, found in buckets.items()
        },
    )
    ids = [question.question_id for question in questions]
    return Choice(
        kept=[kept[name] for name in ids if name in kept],
        left=[name for name in ids if name not in kept and name not in verdicts.unscored],
        counts=counts,
    )


def keep_collection(choice: Choice, out: Path) -> Collection:
    """Write trajectories, candidates and counts into the run; returns the counts with the files' hashes.

    Raises:
        RunError: nothing was kept, or a file cannot be written.
    """
    if not choice.kept:
        raise RunError(
            f"The teacher answered no question of {out} so that a trajectory could be kept; "
            f"look at them with `looseleaf view {out}`."
        )
    lines = b"".join(msgspec.json.encode(trajectory) + b"\n" for trajectory in choice.kept)
    write_atomically(out / SFT_FILE, lines)
    candidates = Candidates(run_id=choice.counts.run_id, question_ids=tuple(choice.left))
    write_candidates(candidates, out / CANDIDATES_FILE)
    collection = msgspec.structs.replace(
        choice.counts,
        sft_sha256=hashlib.sha256(lines).hexdigest(),
        candidates_sha256=hashlib.sha256((out / CANDIDATES_FILE).read_bytes()).hexdigest(),
    )
    content = msgspec.json.format(msgspec.json.encode(collection), indent=2) + b"\n"
    write_atomically(out / COLLECTION_FILE, content)
    return collection


class _Verdicts:
    """Goes through the samples of each question and counts why one could not be kept."""

    def __init__(
        self,
        trajectories: Mapping[str, Trajectory],
        outcomes: Mapping[str, Outcome],
        options: CollectOptions,
        threshold: str,
    ) -> None:
        self._trajectories = trajectories
        self._outcomes = outcomes
        self._options = options
        self._correct = threshold_named(threshold)
        self.counts: dict[str, Any] = {"n_wrong": 0, "n_memory": 0, "n_invalid": 0, "n_unscored": 0}
        self.unscored: set[str] = set()

    def look(self, question: Question) -> Sampled | None:
        """The question's best usable trajectory, or `None` after counting why there is none."""
        scored = [pair for pair in self._samples(question) if pair[1].answer is not None]
        right = [pair for pair in scored if self._correct(pair[1].answer or 0.0)]
        able = [pair for pair in right if not self._options.require_memory or self._memory_answers(pair[1])]
        valid = [pair[0] for pair in able if pair[0].invalid_turns <= self._options.max_invalid]
        for name, found in (
            ("n_unscored", scored),
            ("n_wrong", right),
            ("n_memory", able),
            ("n_invalid", valid),
        ):
            if not found:
                self.counts[name] += 1
                if name == "n_unscored":
                    self.unscored.add(question.question_id)
                return None
        return Sampled(question, _best(valid), len(right), len(scored))

    def _samples(self, question: Question) -> Iterable[tuple[Trajectory, Outcome]]:
        for sample in range(self._options.samples):
            key = f"{question.question_id}#{sample}"
            if key in self._trajectories and key in self._outcomes:
                yield self._trajectories[key], self._outcomes[key]

    def _memory_answers(self, outcome: Outcome) -> bool:
        score = outcome.memory[0] if outcome.memory else None
        return score is not None and self._correct(score)


def _best(trajectories: Iterable[Trajectory]) -> Trajectory:
    """The one with the fewest invalid turns, then the fewest turns, then the first."""
    return min(trajectories, key=lambda one: (one.invalid_turns, one.turns, one.sample_index))
