"""The conversations of a stored run, built again for a log, with or without its documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

import msgspec

from looseleaf.adapters.inspect_source import StoredRun
from looseleaf.document import Document, PageImage
from looseleaf.errors import DocumentError
from looseleaf.memory import WorkingMemory
from looseleaf.models.chat.conversation import build_conversation
from looseleaf.models.chat.image_tokens import family_of
from looseleaf.models.chat.images import PageImages
from looseleaf.models.chat.message import Message, Part, TextPart
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.prompts import ActionFormat, default_format
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS, Protocol
from looseleaf.roles import Observation, PolicyTurn, PolicyView
from looseleaf.trajectory import Trajectory

__all__ = ["LogView", "conversation_of"]

BUDGET = re.compile(r"\n?Turns left: -?\d+\.(?: Give your answer now\.)?")
"""What the conversation says of the budget behind each observation (`looseleaf.models.chat.conversation`)."""


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
    shown = _shown(messages, trajectory, with_prompt=source.knows_prompts)
    return list(shown if source.protocol is not None else map(_without_budget, shown))


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


def _without_budget(message: Message) -> Message:
    """The message without the turns that are left: of a run without rules nobody counted them."""
    parts = (
        TextPart(BUDGET.sub("", part.text)) if isinstance(part, TextPart) else part for part in message.parts
    )
    return message._replace(parts=tuple(parts))


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
        return self._trajectory.opening

    @property
    def history(self) -> tuple[tuple[PolicyTurn, Observation], ...]:
        """All turns with their observations."""
        return tuple((step.policy_turn, step.observation) for step in self._trajectory.steps if step.turn > 0)

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
