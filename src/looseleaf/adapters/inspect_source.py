"""What an exported log is made of: a stored run with one scorer's and one reader's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from looseleaf.adapters.judging import Judged
from looseleaf.document import Document
from looseleaf.errors import ConfigError, DocumentError, UserError
from looseleaf.models.prompts import prompt_hashes
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import Protocol
from looseleaf.question import Question
from looseleaf.reward.stored import pick_reading, pick_scores, score_rows, selected
from looseleaf.runner.lab.documents import RunDocuments
from looseleaf.runstore import ReadingRow, Run, ScoreRow
from looseleaf.score import Unscored
from looseleaf.trajectory import Trajectory

__all__ = ["StoredRun"]

OWN_MEMORY = "own"
"""Memory variant that is exported: the agent's own terminal memory."""
UNKNOWN = RoleSpec(backend="unknown")
"""Policy of a run that does not say who acted."""


class StoredRun:
    """A run with the scores and readings to be exported.

    Args:
        run: the run.
        score_id: ledger of scores; the last scoring's by default, or the only one.
        reading_id: ledger of readings, likewise.
        data: folder of the documents in place of the run's own, or empty.
        ids: only these questions, with commas between them, or empty for all.

    Raises:
        RunError: it is not scored, or has several ledgers and none is named.
        ConfigError: there is no question of one of the ids.

    Attributes:
        run: the run.
        score_id: ledger of scores.
        reading_id: ledger of readings, or `None` where no memory was read.
        threshold: when a graded score counts as correct.
        trajectories: by trajectory id.
        questions: the question of every trajectory that there should be, by trajectory id, or of the chosen ones.
        documents: the documents, where they are still there.
    """

    def __init__(
        self,
        run: Run,
        score_id: str | None = None,
        reading_id: str | None = None,
        data: str = "",
        ids: str = "",
    ) -> None:
        last = run.manifest.get("score", {})
        self.run = run
        self.score_id = pick_scores(run, score_id or last.get("score_id"))
        rows = score_rows(run, self.score_id)
        headline = None if reading_id else next(iter(last.get("reading_ids", ())), None)
        self.reading_id = headline or pick_reading(run, rows, reading_id)
        self.threshold = str(last.get("threshold", ">0"))
        self.trajectories = run.trajectories()
        self.questions = _only(selected(run), [word.strip() for word in ids.split(",") if word.strip()])
        self.documents = RunDocuments(run, data)
        self._answers = {row.trajectory_id: row for row in rows if row.target == "answer"}
        self._memories = {
            row.trajectory_id: row
            for row in rows
            if row.target == "memory" and row.reading_id == self.reading_id and _is_own(row)
        }
        readings = run.readings(self.reading_id).read() if self.reading_id else ()
        self._readings = {row.trajectory_id: row for row in readings if _is_own(row)}

    @property
    def policy(self) -> RoleSpec:
        """Who acted."""
        given = self.run.config.get("roles", {}).get("policy")
        return UNKNOWN if given is None else msgspec.convert(given, RoleSpec)

    @property
    def protocol(self) -> Protocol | None:
        """The rules, where the run has them; an imported one has a name at most."""
        try:
            return msgspec.convert(self.run.config.get("protocol"), Protocol)
        except msgspec.ValidationError:
            return None

    @property
    def settings(self) -> dict[str, Any]:
        """What the results depend on, by name."""
        config = self.run.config
        scored = self.run.sidecars("scores").get(self.score_id, {})
        return {
            "protocol": config.get("protocol", {}).get("name"),
            "retriever": config.get("retriever", {}).get("name"),
            "ocr": config.get("pages", {}).get("ocr", "none") != "none",
            "scorer": scored.get("scorer"),
            "reader": self.reading_id,
            "extractor": scored.get("extraction_id"),
            "judge": scored.get("judge"),
        }

    def judged(self, trajectory_id: str) -> Judged:
        """The stored scores of a trajectory; one without a row is unscored."""
        missing = ScoreRow(trajectory_id=trajectory_id, target="answer", unscored=Unscored.AGENT_FAULT)
        return Judged(
            self._answers.get(trajectory_id, missing),
            self._memories.get(trajectory_id),
            self._readings.get(trajectory_id),
        )

    def document(self, question: Question, trajectory: Trajectory) -> Document | None:
        """The document that was read, or `None` where it is not there any more."""
        try:
            return self.documents.open(question, trajectory)
        except DocumentError:
            return None

    @property
    def knows_prompts(self) -> bool:
        """Whether the policy was a chat model that read the prompts of this version of looseleaf."""
        stored = self.run.manifest.get("prompts")
        try:
            return bool(stored) and stored == prompt_hashes(self.policy.options.get("prompt", ""))
        except UserError:
            return False  # the user's own prompt is not there any more


def _only(questions: dict[str, Question], ids: Sequence[str]) -> dict[str, Question]:
    known = {question.question_id for question in questions.values()}
    unknown = [wanted for wanted in ids if wanted not in known]
    if unknown:
        raise ConfigError(f"The run has no question {unknown[0]!r}; check --set ids.")
    return {key: one for key, one in questions.items() if not ids or one.question_id in ids}


def _is_own(row: ScoreRow | ReadingRow) -> bool:
    return row.variant == OWN_MEMORY and row.sample_index == 0
