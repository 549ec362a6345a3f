"""`Row`: one selected question (and sample) with all that metrics look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from looseleaf.metrics.summary import TrajectorySummary
from looseleaf.question import Question
from looseleaf.score import Score, Unscored
from looseleaf.scoring.thresholds import binarise, threshold_named
from looseleaf.trajectory import Part, Trajectory

__all__ = ["Row", "rows_of"]


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One selected question, run or not.

    Attributes:
        question: the question.
        trajectory: what happened, or what is counted of it; `None` where nothing was run.
        answer: score of the final answer.
        memory: score of the reader's answer from the terminal memory; `None` where there is no memory to read.
        upstream: what the upstream code would have recorded for the final answer; `None` counts as 0.
        prediction: the short answer that was scored, as text.
        reading: the reader's short answer, as text.
        threshold: above what a score counts as correct; see `correct`.
        keeps_memory: whether the run's protocol has a working memory.
        memory_upstream: what the upstream code would have recorded for the memory's answer; `None` counts as 0.
        sample: 0-based number of the sample of the question.
    """

    question: Question
    trajectory: Trajectory | TrajectorySummary | None
    answer: Score
    memory: Score | None
    upstream: float | None = None
    prediction: str = ""
    reading: str = ""
    threshold: str = ">0"
    keeps_memory: bool = True
    memory_upstream: float | None = None
    sample: int = 0

    @property
    def key(self) -> str:
        """Trajectory id that the row has or would have."""
        return f"{self.question.question_id}#{self.sample}"

    @property
    def answer_correct(self) -> bool | None:
        """s_ans: whether the final answer is correct; `None` = unscored."""
        return self.correct(self.answer)

    @property
    def memory_correct(self) -> bool | None:
        """s_mem: whether the memory alone answers; `None` = unscored."""
        return self.correct(self.memory)

    def correct(self, score: Score | None) -> bool | None:
        """A graded score as right or wrong under the row's named threshold."""
        return None if score is None or score.value is None else binarise(score.value, self.threshold)

    @property
    def ran(self) -> Trajectory | TrajectorySummary | None:
        """The trajectory, unless a fault ended it: what a server outage left of one says nothing about the agent."""
        return None if self.trajectory is None or self.trajectory.stop_reason.is_fault else self.trajectory

    def lacks(self, part: Part) -> bool:
        """Whether there is no such part of the trajectory to measure, which is not the same as an empty one."""
        if part == "memory" and not self.keeps_memory:
            return True
        return self.trajectory is not None and part in self.trajectory.undefined

    @property
    def gold_pages(self) -> frozenset[int] | None:
        """Gold pages as a set; `None` where the set annotates none."""
        pages = self.question.evidence_pages
        return None if pages is None else frozenset(pages)

    @property
    def shown_pages(self) -> frozenset[int]:
        """Unique pages shown to the policy."""
        return frozenset(self.trajectory.shown_pages) if self.trajectory else frozenset()


def rows_of(
    questions: Iterable[Question],
    trajectories: Mapping[str, Trajectory] | Iterable[Trajectory],
    answers: Mapping[str, Score],
    memories: Mapping[str, Score] | None,
    *,
    samples: int = 1,
    threshold: str = ">0",
    upstream: Mapping[str, float | None] | None = None,
    predictions: Mapping[str, str] | None = None,
    readings: Mapping[str, str] | None = None,
    keeps_memory: bool = True,
) -> list[Row]:
    """One row for every selected question and sample, whether or not anything came of it.

    Args:
        questions: the selected questions.
        trajectories: by trajectory id, or plain.
        answers: score of the final answer by trajectory id; a missing one is unscored, never absent.
        memories: score of the memory by trajectory id, likewise; `None` where no reader ran, so that memory metrics
            are undefined. They also are for an imported trajectory whose source records no memory.
        samples: trajectories that each question was to have.
        threshold: name of the binarisation, a key of `looseleaf.scoring.thresholds.THRESHOLDS`.
        upstream: what the upstream code would have recorded, by trajectory id; the scores themselves by default.
        predictions: scored short answers by trajectory id.
        readings: the reader's short answers by trajectory id.
        keeps_memory: whether the run's protocol has a working memory.

    Raises:
        ConfigError: there is no such threshold.
    """
    threshold_named(threshold)
    by_id = trajectories if isinstance(trajectories, Mapping) else {t.trajectory_id: t for t in trajectories}
    fault = Score(unscored=Unscored.AGENT_FAULT)
    return [
        Row(
            question=question,
            trajectory=by_id.get(key),
            answer=answers.get(key, fault),
            memory=_memory_score(key, by_id.get(key), memories, keeps_memory),
            upstream=answers.get(key, fault).value if upstream is None else upstream.get(key),
            prediction=(predictions or {}).get(key, ""),
            reading=(readings or {}).get(key, ""),
            threshold=threshold,
            keeps_memory=keeps_memory,
            sample=sample,
        )
        for question in questions
        for sample, key in enumerate(_keys(question, samples))
    ]


def _memory_score(
    key: str, trajectory: Trajectory | None, memories: Mapping[str, Score] | None, keeps_memory: bool
) -> Score | None:
    """The memory's score; `None` where there is no memory, unscored where there should be a score."""
    if memories is None or not keeps_memory or (trajectory is not None and "memory" in trajectory.undefined):
        return None
    return memories.get(key) or Score(unscored=Unscored.AGENT_FAULT)


def _keys(question: Question, samples: int) -> Sequence[str]:
    return [f"{question.question_id}#{sample}" for sample in range(samples)]
