"""The environment as TRL's `GRPOTrainer` wants one: public methods are the protocol's actions, and nothing else is.

TRL turns every public method but `reset` and `get_reward` into a tool, and shows any exception of a tool to the model
as `{"error": …}` and goes on (trl 1.16, `GRPOTrainer._tool_call_loop`). So what a model does wrong stays what it is,
an observation of `looseleaf.Environment`; any other exception is kept in `_fault`, which the trainer raises. TRL also
takes a tool's message back when it does not fit the completion, after the environment has carried the action out; so
the tokens are looked at here, before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from looseleaf.document import Document
from looseleaf.environment import LOOKS, Environment
from looseleaf.errors import DocumentError, FaultError
from looseleaf.protocol import Protocol
from looseleaf.question import Question
from looseleaf.roles import Action, Observation, PolicyTurn
from looseleaf.training.conversation import WORDS_TOKENS, Conversation, Piece, run_now
from looseleaf.training.faults import ToolFaultError
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["RolloutShim", "Task", "TokenBudget", "shim_class"]

OVER = "This rollout has ended."
PIXELS_A_POINT = 2.0
"""Rendered pixels a point: `looseleaf.document.facts.DEFAULT_DPI` over 72."""


class Task(NamedTuple):
    """A question with a fresh environment over its document."""

    question: Question
    document: Document
    environment: Environment


TaskSource = Callable[[str], Task]
"""From a question id to a task; several may be asked for the same question."""


class TokenBudget(NamedTuple):
    """How many tokens a rollout may have after its opening.

    Attributes:
        completion: turns and observations together.
        turn: of one turn.
    """

    completion: int
    turn: int


class RolloutShim:
    """What all protocols share; `shim_class` adds the actions.

    Args:
        source: gives the task of a question.
        conversation: makes tokens of observations.
        budget: of tokens.
    """

    def __init__(self, source: TaskSource, conversation: Conversation, budget: TokenBudget) -> None:
        self._source = source
        self._conversation = conversation
        self._budget = budget
        self._task: Task | None = None
        self._fault: Exception | None = None
        self._spent = 0

    def reset(self, question_id: str, **_: Any) -> None:
        """Start over with a question; TRL calls this with the row of the data set.

        Args:
            question_id: which question.
        """
        self._fault = None
        self._spent = 0
        self._task = self._source(question_id)

    # -- for the trainer ---------------------------------------------------------------------------------------

    @property
    def _question(self) -> Question:
        return self._now.question

    @property
    def _environment(self) -> Environment:
        return self._now.environment

    @property
    def _now(self) -> Task:
        if self._task is None:
            raise RuntimeError("reset() comes before anything else")
        return self._task

    def _take(self, turn: PolicyTurn, *, spent: int, seconds: float = 0.0) -> Observation | None:
        """Carry out a turn if the tokens allow what it may show.

        Args:
            turn: the generation, parsed.
            spent: tokens after the opening so far, this turn's included.
            seconds: that the generation took.

        Returns:
            The observation, or `None` where there was room for none and the rollout ended.

        Raises:
            ToolFaultError: the environment failed, by no doing of the model.
        """
        environment = self._environment
        self._spent = spent
        room = self._budget.completion - spent - self._budget.turn
        if not _ends(turn) and self._most_tokens(turn) > room:
            environment.stop(StopReason.CONTEXT_OVERFLOW, f"{spent} of {self._budget.completion} tokens used")
            return None
        try:
            return environment.step(turn, seconds=seconds)
        except FaultError as problem:  # an outage, as the agent's loop takes it
            environment.stop(StopReason.PROVIDER_ERROR, str(problem))
            return None
        except Exception as problem:
            self._fault = problem
            raise ToolFaultError(
                f"The environment failed in training ({type(problem).__name__}: {problem}); nothing was learnt from it."
            ) from problem

    async def _shown(self) -> Piece | None:
        """Tokens that follow the newest turn; `None` where a page cannot be rendered, which ends the rollout."""
        try:
            return await self._conversation.observation(self._environment)
        except DocumentError as problem:
            self._environment.stop(StopReason.DOCUMENT_ERROR, str(problem))
            return None

    def _most_tokens(self, turn: PolicyTurn) -> int:
        """Most tokens that the observation of a turn can take."""
        pages = 0
        if turn.action is not None and turn.action.name in LOOKS:
            pages = 1 if turn.action.name == "fetch" else self._most_pages()
        return WORDS_TOKENS + pages * self._page_tokens()

    def _most_pages(self) -> int:
        if self._environment.protocol.retrieval == "gold-pages":
            return len(self._question.evidence_pages or ())
        return self._environment.protocol.shown_k

    def _page_tokens(self) -> int:
        """Tokens of the largest page of the document."""
        document = self._now.document
        sizes = {document.page_size(page) for page in range(1, document.page_count + 1)}
        return max(
            self._conversation.page_tokens(PIXELS_A_POINT * width, PIXELS_A_POINT * height)
            for width, height in sizes
            if width > 0 and height > 0
        )

    def _trajectory(self, *, sample_index: int, seed: int, step: int, run_id: str) -> Trajectory:
        """The record; a rollout that its driver ended without an answer is malformed."""
        self._environment.stop(StopReason.MALFORMED, "the last generation held no action")
        return self._environment.trajectory(
            run_id=run_id, sample_index=sample_index, seed=seed, step_of_training=step
        )

    # -- for TRL's own loop ------------------------------------------------------------------------------------

    def _called(self, action: Action) -> list[dict[str, Any]]:
        """Carry out a tool call; tokens are counted on the high side, since TRL does not say them."""
        if self._environment.done:
            return [{"type": "text", "text": OVER}]
        turn = PolicyTurn(action=action)
        observation = self._take(turn, spent=self._spent + self._budget.turn)
        if observation is None or self._environment.done:
            return [{"type": "text", "text": OVER}]
        self._spent += self._most_tokens(turn)
        return run_now(self._conversation.answer_parts(self._environment))


def _ends(turn: PolicyTurn) -> bool:
    return turn.action is not None and turn.action.name == "answer"


class _Search(RolloutShim):
    def search(self, query: str) -> list[dict[str, Any]]:
        """Find pages by what they say. The best matching pages are shown to you.

        Args:
            query: words to look for

        Returns:
            The pages.
        """
        return self._called(Action.search(query))


class _Fetch(RolloutShim):
    def fetch(self, page: int) -> list[dict[str, Any]]:
        """Open one page by its physical number (1 is the first page of the file).

        Args:
            page: physical page number

        Returns:
            The page.
        """
        return self._called(Action.fetch(page))


class _Note(RolloutShim):
    def note(self, text: str, source_page: int) -> list[dict[str, Any]]:
        """Write one finding into your memory, with the page that it came from.

        Args:
            text: the finding, at most 40 words
            source_page: physical number of a page that was shown to you

        Returns:
            Whether it was noted.
        """
        return self._called(Action.note(text, source_page))


class _Answer(RolloutShim):
    def answer(self, text: str) -> list[dict[str, Any]]:
        """Give the final answer and end.

        Args:
            text: the answer

        Returns:
            Nothing more.
        """
        return self._called(Action.answer(text))


_ACTIONS: dict[str, type[RolloutShim]] = {
    "search": _Search,
    "fetch": _Fetch,
    "note": _Note,
    "answer": _Answer,
}


def shim_class(protocol: Protocol) -> type[RolloutShim]:
    """The shim whose public methods are exactly the protocol's actions."""
    return type("RolloutShim", tuple(_ACTIONS[name] for name in protocol.actions), {})
