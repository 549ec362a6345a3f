"""What an exported log is made of: a stored run with one scorer's and one reader's rows, and its conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from looseleaf.adapters.judging import Judged
from looseleaf.document import Document, PageImage
from looseleaf.errors import DocumentError, UserError
from looseleaf.memory import WorkingMemory
from looseleaf.models.chat.conversation import build_conversation
from looseleaf.models.chat.image_tokens import family_of
from looseleaf.models.chat.images import PageImages
from looseleaf.models.chat.message import Message, Part, TextPart
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.prompts import ActionFormat, default_format, prompt_hashes
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS, Protocol
from looseleaf.question import Question
from looseleaf.reward.stored import pick_reading, pick_scores, score_rows, selected
from looseleaf.roles import Observation, PolicyTurn, PolicyView
from looseleaf.runner.lab.documents import RunDocuments
from looseleaf.runstore import ReadingRow, Run, ScoreRow
from looseleaf.score import Unscored
from looseleaf.trajectory import Step, Trajectory

__all__ = ["LogView", "StoredRun", "conversation_of"]

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

    Raises:
        RunError: it is not scored, or has several ledgers and none is named.

    Attributes:
        run: the run.
        score_id: ledger of scores.
        reading_id: ledger of readings, or `None` where no memory was read.
        threshold: when a graded score counts as correct.
        trajectories: by trajectory id.
        questions: the question of every trajectory that there should be, by trajectory id: the denominator.
        documents: the documents, where they are still there.
    """

    def __init__(
        self, run: Run, score_id: str | None = None, reading_id: str | None = None, data: str = ""
    ) -> None:
        last = run.manifest.get("score", {})
        self.run = run
        self.score_id = pick_scores(run, score_id or last.get("score_id"))
        rows = score_rows(run, self.score_id)
        headline = None if reading_id else next(iter(last.get("reading_ids", ())), None)
        self.reading_id = headline or pick_reading(run, rows, reading_id)
        self.threshold = str(last.get("threshold", ">0"))
        self.trajectories = run.trajectories()
        self.questions = selected(run)
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
        """The rules, where the run has them; an imported one has not."""
        stored = self.run.config.get("protocol")
        return None if stored is None else msgspec.convert(stored, Protocol)

    @property
    def settings(self) -> dict[str, Any]:
        """What the results depend on, by name."""
        config = self.run.config
        scored = self.run.sidecars("scores").get(self.score_id, {})
        protocol = self.protocol
        return {
            "protocol": None if protocol is None else protocol.name,
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


def _is_own(row: ScoreRow | ReadingRow) -> bool:
    return row.variant == OWN_MEMORY and row.sample_index == 0


# -- conversations ---------------------------------------------------------------------------------------------


async def conversation_of(
    source: StoredRun, trajectory: Trajectory, document: Document | None, *, pages: bool
) -> list[Message]:
    """The conversation of a trajectory as our own client would have sent it, with the last turn at its end.

    The system message is left out where it is not known what the policy read.

    Args:
        source: the run.
        trajectory: what happened.
        document: the document that was read, or `None` where it is not there any more.
        pages: whether pages become images; else, and where one cannot be rendered, each is named.
    """
    protocol = source.protocol or msgspec.structs.replace(
        PROTOCOLS["awm"], max_turns=max(1, trajectory.turns)
    )
    options = _options(source.policy)
    view = LogView(trajectory, document, protocol)
    actions = _format(options, protocol)
    names = cast(PageImages, _Names(trajectory))
    images = names if document is None or not pages else PageImages(options, family_of("", ""))
    try:
        messages = await build_conversation(view, actions, options, images)
    except (
        DocumentError
    ):  # a page that cannot be rendered; the conversation is worth having without its images
        messages = await build_conversation(view, actions, options, names)
    return list(_shown(messages, trajectory, with_prompt=source.knows_prompts))


def _options(policy: RoleSpec) -> ChatOptions:
    """How pages were shown, where the policy was a chat model."""
    kept = {"actions", "pages", "text_chars", "images_kept", "max_image_pixels", "max_image_side", "prompt"}
    options = {name: value for name, value in policy.options.items() if name in kept}
    return ChatOptions.of("policy", msgspec.structs.replace(policy, options=options))


def _format(options: ChatOptions, protocol: Protocol) -> ActionFormat:
    usual = default_format(protocol)
    return usual if usual == "text" else options.actions or usual


def _shown(messages: list[Message], trajectory: Trajectory, *, with_prompt: bool) -> Iterator[Message]:
    """The messages without the prompt, if need be, and without an empty result behind the answer."""
    last = trajectory.steps[-1] if trajectory.steps else None
    answered = last is not None and not last.observation.text and not last.observation.shown
    end = len(messages) - 1 if answered and messages[-1].role in {"tool", "user"} else len(messages)
    yield from messages[0 if with_prompt else 1 : end]


class _Names:
    """Stands in for `PageImages` and gives the name of each page's image in place of the image."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._document = f"{trajectory.doc_id}, sha256 {trajectory.doc_sha256 or 'unknown'}"

    async def parts(self, view: PolicyView, pages: Sequence[int], *, opening: bool) -> list[Part]:
        """One line a page."""
        return [TextPart(f"[image of page {page} of {self._document}]") for page in pages]


class LogView:
    """A stored trajectory as its policy saw it after the last turn, with or without the document.

    Args:
        trajectory: what happened.
        document: the document that was read, or `None`; then pages have no labels, texts and images.
        protocol: the rules of the run.
    """

    def __init__(self, trajectory: Trajectory, document: Document | None, protocol: Protocol) -> None:
        self._trajectory = trajectory
        self._document = document
        self.protocol = protocol

    @property
    def question(self) -> str:
        """The question as asked."""
        return self._trajectory.question

    @property
    def page_count(self) -> int:
        """Number of pages; of a document that is not there, the highest page that is spoken of."""
        if self._document is not None:
            return self._document.page_count
        return max((*self._trajectory.returned_pages, *self._trajectory.shown_pages), default=0)

    @property
    def turns_left(self) -> int:
        """Generations that remained."""
        return self.protocol.max_turns - self._trajectory.turns

    @property
    def opening(self) -> Observation | None:
        """What was shown before the first turn."""
        return next((step.observation for step in self._trajectory.steps if step.turn == 0), None)

    @property
    def history(self) -> tuple[tuple[PolicyTurn, Observation], ...]:
        """All turns with their observations."""
        return tuple((_turn(step), step.observation) for step in self._trajectory.steps if step.turn > 0)

    @property
    def memory(self) -> WorkingMemory:
        """The terminal memory."""
        return self._trajectory.working_memory

    @property
    def shown_pages(self) -> tuple[int, ...]:
        """Pages that were shown."""
        return self._trajectory.shown_pages

    def page_text(self, page: int) -> str:
        """Text of a page; empty without the document."""
        return "" if self._document is None else self._document.text(page)

    def page_label(self, page: int) -> str:
        """Printed label of a page; its number without the document."""
        return str(page) if self._document is None else self._document.label(page)

    def page_image(self, page: int) -> PageImage:
        """Image of a page.

        Raises:
            LookupError: the document is not there.
        """
        if self._document is None:
            raise LookupError(f"the document of page {page} is not there")
        return self._document.image(page, max_pixels=self.protocol.max_pixels)


def _turn(step: Step) -> PolicyTurn:
    return PolicyTurn(
        action=step.action,
        thought=step.thought,
        notes=step.notes,
        model_text=step.model_text,
        usage=step.usage,
        problem=step.invalid or "",
    )
