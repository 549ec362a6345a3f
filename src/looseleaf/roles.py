"""The protocols of the four roles: policy, reader, extractor, judge.

A role is anything with the one method below; it may be synchronous or return an awaitable. The signatures are
the guarantees: a reader takes a question and a memory, so it cannot see pages, trajectory or tools.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from looseleaf.document import PageImage
    from looseleaf.memory import WorkingMemory
    from looseleaf.protocol import Protocol as RunProtocol

__all__ = [
    "Action",
    "Extraction",
    "Extractor",
    "Judge",
    "Judgement",
    "NoteWriting",
    "Observation",
    "Policy",
    "PolicyTurn",
    "PolicyView",
    "Reader",
    "Reading",
    "Returned",
    "Usage",
]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens and money that one or more model calls took; zero for models that count none.

    Attributes:
        prompt_tokens: tokens sent.
        completion_tokens: tokens generated.
        calls: number of requests.
        cost: in the currency of the user's price table, or `None` where no price is known.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None and other.cost is None else (self.cost or 0.0) + (other.cost or 0.0)
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            cost,
        )


class Action(msgspec.Struct, frozen=True):
    """One of `search`, `fetch`, `note` and `answer`, with its arguments as the policy gave them.

    The arguments are not trusted: the environment checks them and answers misuse with an observation.
    """

    name: str
    arguments: dict[str, Any]

    @classmethod
    def search(cls, query: str) -> Action:
        """Ask the retriever for pages."""
        return cls("search", {"query": query})

    @classmethod
    def fetch(cls, page: int) -> Action:
        """Open one page by its physical 1-based number."""
        return cls("fetch", {"page": page})

    @classmethod
    def note(cls, text: str, source_page: int) -> Action:
        """Write one finding into the working memory."""
        return cls("note", {"text": text, "source_page": source_page})

    @classmethod
    def answer(cls, text: str) -> Action:
        """End the trajectory with an answer."""
        return cls("answer", {"text": text})


class NoteWriting(msgspec.Struct, frozen=True):
    """A note that rides inside a turn of another action (the `alden` protocol with memory on)."""

    text: str
    source_page: int


class PolicyTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One generation of the policy, parsed.

    Attributes:
        action: the parsed action, or `None` where the text holds none that parses (a malformed turn).
        thought: the reasoning that the policy wrote, if any.
        notes: notes that ride inside the turn, where the protocol allows that.
        model_text: the raw generation.
        usage: what it took.
        problem: why `action` is `None`, in words for the policy.
    """

    action: Action | None
    thought: str = ""
    notes: tuple[NoteWriting, ...] = ()
    model_text: str = ""
    usage: Usage = Usage()
    problem: str = ""


class Returned(msgspec.Struct, frozen=True):
    """A page that a retriever returned, with its score; it counts as *shown* only if it is in `shown`."""

    page: int
    score: float


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the environment answers to a turn.

    Attributes:
        text: the words.
        returned: pages that the retriever returned, best first.
        shown: pages (physical, 1-based) whose images and text the policy gets to see, in order.
    """

    text: str
    returned: tuple[Returned, ...] = ()
    shown: tuple[int, ...] = ()


class PolicyView(Protocol):
    """All that a policy may look at; pages that were not shown raise `LookupError`."""

    @property
    def question(self) -> str:
        """The question as asked."""

    @property
    def page_count(self) -> int:
        """Number of pages of the document."""

    @property
    def protocol(self) -> RunProtocol:
        """The rules in force."""

    @property
    def turns_left(self) -> int:
        """Generations that remain, this one included."""

    @property
    def opening(self) -> Observation | None:
        """What was shown before the first turn, if the protocol shows pages first."""

    @property
    def history(self) -> tuple[tuple[PolicyTurn, Observation], ...]:
        """Turns so far with their observations, oldest first."""

    @property
    def memory(self) -> WorkingMemory:
        """The working memory so far."""

    @property
    def shown_pages(self) -> tuple[int, ...]:
        """Unique pages shown so far, in order of first showing."""

    def page_text(self, page: int) -> str:
        """Text layer of a shown page (empty where it has none)."""

    def page_label(self, page: int) -> str:
        """Printed label of a shown page."""

    def page_image(self, page: int) -> PageImage:
        """Image of a shown page under the protocol's pixel cap."""


class Policy(Protocol):
    """Decides the next turn."""

    def act(self, view: PolicyView) -> PolicyTurn | Action | Awaitable[PolicyTurn | Action]:
        """The next turn; a bare `Action` is a turn without thought, notes or usage."""


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reader's answer."""

    text: str
    usage: Usage = Usage()


class Reader(Protocol):
    """Answers from the memory alone. It is handed nothing else."""

    def read(self, question: str, memory: WorkingMemory) -> Reading | Awaitable[Reading]:
        """Answer the question from the findings, or say that it is not answerable.

        Raises:
            ProviderError: no answer could be had; the row is unscored.
        """


class Extraction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An extractor's raw output; the official scorers parse it with their own rules."""

    text: str
    usage: Usage = Usage()


class Extractor(Protocol):
    """Turns a free-form response into the output format that the official scorers parse."""

    def extract(self, question: str, response: str) -> Extraction | Awaitable[Extraction]:
        """The short answer in the official output format.

        Raises:
            ProviderError: no output could be had; the row is unscored.
        """


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A judge's raw output; the judge scorers parse it strictly."""

    text: str
    usage: Usage = Usage()


class Judge(Protocol):
    """Compares a prediction with the gold answer under a prompt."""

    def judge(self, prompt: str) -> Judgement | Awaitable[Judgement]:
        """Reply to the judging prompt.

        Raises:
            ProviderError: no reply could be had; the row is unscored.
        """
