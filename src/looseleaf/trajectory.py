"""`Trajectory`: everything that happened on one question, versioned, with pages by reference.

What can be derived (page sets, counts) is a property and never stored.
"""

from __future__ import annotations

import math
import numbers
import re
from enum import StrEnum
from typing import Any, Literal

import msgspec

from looseleaf.memory import Finding, WorkingMemory
from looseleaf.roles import Action, NoteWriting, Observation, PolicyTurn, Usage

__all__ = ["TRAJECTORY_VERSION", "Part", "Step", "StopReason", "Trajectory", "storable", "storable_value"]

TRAJECTORY_VERSION = 1
"""Version of the stored format; raised whenever a reader of the old format would misread the new one."""


class StopReason(StrEnum):
    """Why a trajectory ended."""

    ANSWERED = "answered"
    """The policy gave an answer; scored."""
    TURN_LIMIT = "turn_limit"
    """The budget ended without an answer; scored as an empty prediction."""
    MALFORMED = "malformed"
    """A turn held no action that parses, under a protocol that ends there; scored as an empty prediction."""
    CONTEXT_OVERFLOW = "context_overflow"
    """The conversation outgrew the model's context; scored as an empty prediction."""
    IMAGE_CAP = "image_cap"
    """More page images than the protocol allows; scored as an empty prediction."""
    PROVIDER_ERROR = "provider_error"
    """A model server or the agent's own code failed; unscored, and resume tries again."""
    CANCELLED = "cancelled"
    """The run was interrupted; unscored, and resume tries again."""
    DOCUMENT_ERROR = "document_error"
    """The document could not be read; unscored, and resume tries again."""

    @property
    def is_fault(self) -> bool:
        """Whether the trajectory is unscored and worth running again."""
        return self in _FAULTS


_FAULTS = frozenset({StopReason.PROVIDER_ERROR, StopReason.CANCELLED, StopReason.DOCUMENT_ERROR})


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of the policy and what the environment answered.

    Attributes:
        turn: 1-based number of the generation; 0 is the opening observation of protocols that show pages first.
        thought: reasoning that the policy wrote.
        action: the parsed action, or `None` for a malformed turn and for the opening.
        notes: notes that rode inside the turn.
        observation: the environment's answer.
        model_text: the raw generation.
        usage: tokens of this generation.
        seconds: wall time of generation and environment together.
        invalid: why the turn was refused or malformed, or `None` for a valid one.
    """

    turn: int
    thought: str = ""
    action: Action | None = None
    notes: tuple[NoteWriting, ...] = ()
    observation: Observation
    model_text: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    invalid: str | None = None

    @property
    def policy_turn(self) -> PolicyTurn:
        """The generation that the step records."""
        return PolicyTurn(
            action=self.action,
            thought=self.thought,
            notes=self.notes,
            model_text=self.model_text,
            usage=self.usage,
            problem="" if self.action is not None else self.invalid or "",
        )


Part = Literal["memory", "pages", "steps"]
"""What of a trajectory a foreign source may not record: working memory, pages shown, turns."""


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """One question, run once.

    Attributes:
        version: `TRAJECTORY_VERSION` of the writer.
        run_id: the run it belongs to.
        trajectory_id: `"<question_id>#<sample_index>"`, unique within the run.
        question_id: the question's identifier.
        benchmark: canonical benchmark name.
        doc_id: the source's name of the document.
        doc_sha256: the document that was really read.
        question: the question as asked.
        protocol: name of the protocol.
        oracle: oracle settings in force, e.g. `{"gold_pages": true}`; empty = none.
        seed: seed of the sample, if the policy takes one.
        sample_index: 0-based number of the sample of this question.
        step_of_training: optimiser step of the checkpoint, for runs made in training.
        steps: the turns, in order.
        memory: the terminal working memory.
        answer: the final answer, or `None` where there is none.
        stop_reason: why it ended.
        usage: tokens of all turns.
        seconds: wall time.
        error: the sentence of the fault, where there was one.
        undefined: what the source of an imported trajectory does not record, or not completely. What stands here of
            it is for looking at only: metrics of it are undefined, not 0.
    """

    version: int = TRAJECTORY_VERSION
    run_id: str = ""
    trajectory_id: str
    question_id: str
    benchmark: str
    doc_id: str
    doc_sha256: str = ""
    question: str
    protocol: str = ""
    oracle: dict[str, Any] = {}
    seed: int | None = None
    sample_index: int = 0
    step_of_training: int | None = None
    steps: tuple[Step, ...] = ()
    memory: tuple[Finding, ...] = ()
    answer: str | None = None
    stop_reason: StopReason
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
    undefined: tuple[Part, ...] = ()

    @property
    def working_memory(self) -> WorkingMemory:
        """The terminal working memory as the object that a reader takes."""
        return WorkingMemory(self.memory)

    @property
    def opening(self) -> Observation | None:
        """What was shown before the first turn, in protocols that show pages first."""
        return next((step.observation for step in self.steps if step.turn == 0), None)

    @property
    def shown_pages(self) -> tuple[int, ...]:
        """Unique pages shown to the policy, in order of first showing; navigation metrics count these."""
        return _unique(page for step in self.steps for page in step.observation.shown)

    @property
    def returned_pages(self) -> tuple[int, ...]:
        """Unique pages that the retriever returned, shown or not."""
        return _unique(returned.page for step in self.steps for returned in step.observation.returned)

    @property
    def finding_count(self) -> int:
        """Findings in the terminal memory."""
        return len(self.memory)

    @property
    def turns(self) -> int:
        """Generations of the policy."""
        return sum(1 for step in self.steps if step.turn > 0)

    @property
    def invalid_turns(self) -> int:
        """Turns that were refused or malformed."""
        return sum(1 for step in self.steps if step.invalid is not None)


def _unique(pages: Any) -> tuple[int, ...]:
    return tuple(dict.fromkeys(pages))


MAX_DEPTH = 32
"""Nesting that is kept of a model's arguments: far more than any action has, far less than encoders can take."""
MAX_INTEGER_BITS = 4096
"""Longest whole number that is kept in digits; Python refuses to print much longer ones (`sys.int_info`)."""
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Code points that JSON escapes can spell and UTF-8 cannot hold."""


def storable(turn: PolicyTurn) -> PolicyTurn:
    """The turn with whatever JSON storage cannot hold made readable.

    Models spell lone surrogates, NaN, whole numbers beyond 64 bits and nesting without end; agents hand over objects
    of their own. None of it may break a run, so it is replaced before the environment looks at the turn.
    """
    return msgspec.structs.replace(
        turn,
        action=_stored_action(turn.action) if isinstance(turn.action, Action) else None,
        notes=tuple(NoteWriting(_text(note.text), _page(note.source_page)) for note in turn.notes),
        thought=_text(turn.thought),
        model_text=_text(turn.model_text),
        problem=_text(turn.problem),
    )


def _stored_action(action: Action) -> Action:
    arguments = storable_value(action.arguments)
    return Action(_text(action.name), arguments if isinstance(arguments, dict) else {"arguments": arguments})


def _text(value: Any) -> str:
    """Text that UTF-8 can hold; empty for what is no text."""
    return LONE_SURROGATE.sub("\ufffd", value) if isinstance(value, str) else ""


def _page(value: Any) -> int:
    """A page number that fits 64 bits; 0, which is no page, for anything else."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return int(value) if whole and -(2**63) <= value < 2**63 else 0


def storable_value(value: Any, depth: int = 0) -> Any:
    """A JSON value with whatever storage cannot hold made readable, as it comes back from storage."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, numbers.Real):
        return _number(value)
    if isinstance(value, (dict, list, tuple)) and depth < MAX_DEPTH:
        if isinstance(value, dict):
            return {_text(str(key)): storable_value(item, depth + 1) for key, item in value.items()}
        return [storable_value(item, depth + 1) for item in value]
    return {"not stored": type(value).__name__}


def _number(value: numbers.Real) -> Any:
    if not isinstance(value, numbers.Integral):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    whole = int(value)
    if -(2**63) <= whole < 2**64:
        return whole
    return str(whole) if whole.bit_length() <= MAX_INTEGER_BITS else {"not stored": "int"}
