"""The embedded agent: a deterministic extractive policy and reader that need no key, no GPU and no network.

A text-and-OCR extractive baseline, not a VLM. Policy and reader are one extractor
(`looseleaf.models.extractive`); the reader sees findings only, the policy sees the text of the pages shown.
"""

from __future__ import annotations

from typing import Final

from looseleaf.errors import ConfigError
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.engine import answer
from looseleaf.models.extractive.notes import NOTHING_FOUND, NoteStyle, findings
from looseleaf.models.extractive.plan import next_action
from looseleaf.models.extractive.query import analyse
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.roles import Action, NoteWriting, Policy, PolicyTurn, PolicyView, Reading

__all__ = ["EmbeddedPolicy", "EmbeddedReader", "QuestionOnlyPolicy", "RefusingPolicy", "make_embedded_policy"]

ENOUGH: Final = 0.95
"""Score at which the policy stops looking."""
QUESTION_ONLY: Final = "question-only"
REFUSING: Final = "not-answerable"


class EmbeddedReader:
    """Answers from the findings with the extractor; says so where they do not support an answer."""

    def read(self, question: str, memory: WorkingMemory) -> Reading:
        """The answer that the findings support, or `NOT_ANSWERABLE`."""
        passages = [Passage(finding.source_page, finding.text) for finding in memory]
        return Reading(text=_text(answer(question, passages, findings=True)))


class EmbeddedPolicy:
    """Searches, reads the pages shown, writes findings, and answers or refuses.

    It keeps no state: every turn follows from the view, so a resumed or replayed trajectory is the same.

    Args:
        style: how findings are written; the final answers are the same in every style.
    """

    def __init__(self, style: NoteStyle | str = NoteStyle.SPECIFIC) -> None:
        self._style = NoteStyle(style)

    def act(self, view: PolicyView) -> PolicyTurn | Action:
        """A note if one is due, else the next planned look, else what the memory still lacks, else the answer."""
        best = _best(view)
        pending = self._pending(view, best)
        if _note_is_due(view):
            return _note(pending[0] if pending else Finding(NOTHING_FOUND, _latest_shown(view)[0]))
        look = None if best is not None and best.score >= ENOUGH else _next_look(view)
        if look is None and pending and _notes_are_turns(view) and view.turns_left > 1:
            return _note(pending[0])
        action = look or Action.answer(_text(best))
        return PolicyTurn(action=action, notes=_riding(view, pending))

    def _pending(self, view: PolicyView, best: Candidate | None) -> list[Finding]:
        """Findings that the best candidate still needs, where the protocol has a memory."""
        if best is None or view.protocol.memory == "none":
            return []
        return findings(view.question, best, view.memory.findings, self._style)


class QuestionOnlyPolicy:
    """The control without pages: what the extractor says about nothing."""

    def act(self, view: PolicyView) -> Action:
        """Answer at once, from the question alone."""
        return Action.answer(_text(answer(view.question, ())))


class RefusingPolicy:
    """The control that says `NOT_ANSWERABLE` to everything."""

    def act(self, view: PolicyView) -> Action:
        """Refuse at once."""
        return Action.answer(NOT_ANSWERABLE)


def make_embedded_policy(argument: str = "") -> Policy:
    """The policy that `embedded` or `embedded:ARGUMENT` names: a note style, `question-only` or `not-answerable`.

    Raises:
        ConfigError: there is no such policy.
    """
    if argument == QUESTION_ONLY:
        return QuestionOnlyPolicy()
    if argument == REFUSING:
        return RefusingPolicy()
    if argument and argument not in set(NoteStyle):
        known = ", ".join([*NoteStyle, QUESTION_ONLY, REFUSING])
        raise ConfigError(f"There is no embedded policy {argument!r}; use one of {known}.")
    return EmbeddedPolicy(argument or NoteStyle.SPECIFIC)


def _text(candidate: Candidate | None) -> str:
    return NOT_ANSWERABLE if candidate is None else candidate.text


def _note(finding: Finding) -> Action:
    return Action.note(finding.text, finding.source_page)


def _riding(view: PolicyView, pending: list[Finding]) -> tuple[NoteWriting, ...]:
    """Notes for a protocol in which they ride inside the turn."""
    if view.protocol.note_turn != "inside":
        return ()
    return tuple(NoteWriting(finding.text, finding.source_page) for finding in pending)


def _best(view: PolicyView) -> Candidate | None:
    """The best supported answer in all pages shown so far."""
    passages = tuple(Passage(page, view.page_text(page)) for page in view.shown_pages)
    return answer(view.question, passages, view.page_count)


def _latest_shown(view: PolicyView) -> tuple[int, ...]:
    """Pages that the last turn showed."""
    observation = view.history[-1][1] if view.history else view.opening
    return observation.shown if observation is not None else ()


def _notes_are_turns(view: PolicyView) -> bool:
    return "note" in view.protocol.actions


def _note_is_due(view: PolicyView) -> bool:
    """Whether pages were just shown under a protocol that demands a note next."""
    return _notes_are_turns(view) and view.protocol.memory == "mandatory" and bool(_latest_shown(view))


def _next_look(view: PolicyView) -> Action | None:
    """The next planned look, if there are turns for it, for what must follow and for the answer."""
    needed = 4 if _notes_are_turns(view) else 2
    if view.turns_left < needed or "search" not in view.protocol.actions:
        return None
    taken = [turn.action for turn, _ in view.history if turn.action is not None]
    return next_action(analyse(view.question), view.page_count, taken, view.shown_pages, _first_hits(view))


def _first_hits(view: PolicyView) -> tuple[int, ...]:
    """Pages that the first search which found any showed, best first."""
    for turn, observation in view.history:
        if turn.action is not None and turn.action.name == "search" and observation.shown:
            return observation.shown
    return ()
