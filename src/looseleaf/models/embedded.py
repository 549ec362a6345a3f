"""The embedded agent: a deterministic extractive policy and reader that need no key, no GPU and no network.

A text-and-OCR extractive baseline, not a VLM. Policy and reader are one extractor
(`looseleaf.models.extractive`); the reader sees findings only, the policy sees pages.
"""

from __future__ import annotations

from collections.abc import Iterable

from looseleaf.errors import ConfigError
from looseleaf.memory import WorkingMemory
from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.engine import answer
from looseleaf.models.extractive.notes import NoteStyle, write
from looseleaf.models.extractive.plan import next_action
from looseleaf.models.extractive.query import analyse
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.roles import Action, NoteWriting, Policy, PolicyTurn, PolicyView, Reading

__all__ = [
    "EmbeddedPolicy",
    "EmbeddedReader",
    "QuestionOnlyPolicy",
    "make_embedded_policy",
]

ENOUGH = 0.95
"""Score at which the policy stops searching."""


class EmbeddedReader:
    """Answers from the findings with the extractor; says so where they do not support an answer."""

    def read(self, question: str, memory: WorkingMemory) -> Reading:
        """The answer that the findings support, or `NOT_ANSWERABLE`."""
        passages = [Passage(finding.source_page, finding.text) for finding in memory]
        return Reading(text=_text(answer(question, passages)))


class EmbeddedPolicy:
    """Searches, reads the pages shown, writes findings, and answers or refuses.

    It keeps no state: every turn follows from the view, so a resumed or replayed trajectory is the same.

    Args:
        style: how findings are written; the final answers are the same in every style.
    """

    def __init__(self, style: NoteStyle | str = NoteStyle.SPECIFIC) -> None:
        self._style = NoteStyle(style)

    def act(self, view: PolicyView) -> PolicyTurn | Action:
        """A note if one is due, else the next planned look, else the answer."""
        best = _best(view)
        if _note_due(view):
            return Action.note(*self._finding(view, best))
        look = None if best is not None and best.score >= ENOUGH else _next_look(view)
        action = look or Action.answer(_text(best))
        return PolicyTurn(action=action, notes=self._riding_notes(view, best))

    def _finding(self, view: PolicyView, best: Candidate | None) -> tuple[str, int]:
        """Text and page of the finding about the latest pages."""
        text = write(view.question, best, self._style)
        if best is None or any(finding.text == text for finding in view.memory):
            return write(view.question, None, self._style), _latest_shown(view)[0]
        return text, best.page

    def _riding_notes(self, view: PolicyView, best: Candidate | None) -> tuple[NoteWriting, ...]:
        if view.protocol.memory == "none" or view.protocol.note_turn != "inside" or not _latest_shown(view):
            return ()
        text, page = self._finding(view, best)
        return (NoteWriting(text, page),)


class QuestionOnlyPolicy:
    """The control without pages: what the extractor says about nothing."""

    def act(self, view: PolicyView) -> Action:
        """Answer at once, from the question alone."""
        return Action.answer(_text(answer(view.question, ())))


def make_embedded_policy(argument: str = "") -> Policy:
    """The policy that `embedded` or `embedded:ARGUMENT` names: a note style or `question-only`.

    Raises:
        ConfigError: there is no such style.
    """
    if argument == "question-only":
        return QuestionOnlyPolicy()
    if argument and argument not in set(NoteStyle):
        raise ConfigError(
            f"There is no embedded policy {argument!r}; use one of {', '.join(NoteStyle)} or question-only."
        )
    return EmbeddedPolicy(argument or NoteStyle.SPECIFIC)


def _text(candidate: Candidate | None) -> str:
    return NOT_ANSWERABLE if candidate is None else candidate.text


def _best(view: PolicyView) -> Candidate | None:
    return answer(view.question, _passages(view, view.shown_pages), view.page_count)


def _passages(view: PolicyView, pages: Iterable[int]) -> tuple[Passage, ...]:
    return tuple(Passage(page, view.page_text(page)) for page in pages)


def _latest_shown(view: PolicyView) -> tuple[int, ...]:
    """Pages that the last turn showed."""
    observation = view.history[-1][1] if view.history else view.opening
    return observation.shown if observation is not None else ()


def _note_due(view: PolicyView) -> bool:
    """Whether to write a finding now: pages were just shown and a turn is left to answer in."""
    protocol = view.protocol
    if protocol.memory == "none" or protocol.note_turn != "own" or not _latest_shown(view):
        return False
    return protocol.memory == "mandatory" or view.turns_left > 1


def _next_look(view: PolicyView) -> Action | None:
    """The next planned look, if there are turns for it and for what must follow."""
    notes = view.protocol.memory != "none" and view.protocol.note_turn == "own"
    if view.turns_left < (3 if notes else 2) or "search" not in view.protocol.actions:
        return None
    taken = [turn.action for turn, _ in view.history if turn.action is not None]
    return next_action(analyse(view.question), view.page_count, taken, _first_hits(view))


def _first_hits(view: PolicyView) -> tuple[int, ...]:
    """Pages of the first search for the question itself; already shown ones are skipped by nobody."""
    for turn, observation in view.history:
        if turn.action is not None and turn.action.name == "search" and observation.shown:
            return observation.shown
    return ()
