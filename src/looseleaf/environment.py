"""`Environment`: one question over one document, four actions, one budget.

The command line, the runner, other frameworks and training drive this same code. What a model does wrong is an
observation, never an exception.
"""

from __future__ import annotations

from typing import Any

from looseleaf.document import PageImage
from looseleaf.errors import DocumentError
from looseleaf.memory import MAX_FINDING_WORDS, Finding, WorkingMemory
from looseleaf.protocol import Protocol
from looseleaf.question import Question
from looseleaf.retrieval.collection import AnyDocument
from looseleaf.retrieval.retriever import Retriever, RetrieverFamily
from looseleaf.roles import Action, Observation, PolicyTurn, Returned, Usage
from looseleaf.trajectory import Step, StopReason, Trajectory, storable

__all__ = ["Environment", "ShownPages"]

NO_MATCH = "No page matches this query. Try other words, or fetch a page by its number."
NO_TEXT = "No page matches: this document has no text layer to search. Fetch a page by its number."
NOTE_FIRST = "Refused: write a note about the pages that you were shown before you do anything else."
NOTED = "Noted."
TOO_LATE = (
    "Refused: this was the last turn, so no page can be shown any more; only an answer would have counted."
)
LOOKS = frozenset({"search", "fetch"})
"""Actions that show pages. In the last turn they would show pages that the policy never gets to see, which are not
*shown*; ALDEN's six generations are likewise at most five tool calls and an answer (gipplab/ALDEN @ 8a0d3d4)."""
PAGE_DIGITS = 11
"""Longest page number that is taken for one, in digits: more than any document has, less than storage can hold."""


class _RefusedError(Exception):
    """A turn that the rules refuse; its text is the observation and the reason."""


class ShownPages:
    """The pages of a document as a policy may look at them: those that were shown, and no other.

    Args:
        document: what is read.
        protocol: the rules, for their pixel cap.
    """

    def __init__(self, document: AnyDocument, protocol: Protocol) -> None:
        self._document = document
        self._protocol = protocol

    @property
    def page_count(self) -> int:
        """Number of pages of the document."""
        return self._document.page_count

    @property
    def protocol(self) -> Protocol:
        """The rules."""
        return self._protocol

    @property
    def shown_pages(self) -> tuple[int, ...]:
        """Unique physical pages shown, in order of first showing; subclasses know them."""
        raise NotImplementedError

    def page_text(self, page: int) -> str:
        """Text of a shown page.

        Raises:
            LookupError: the page was not shown.
        """
        return self._document.text(self._seen(page))

    def page_label(self, page: int) -> str:
        """Printed label of a shown page.

        Raises:
            LookupError: the page was not shown.
        """
        return self._document.label(self._seen(page))

    def page_image(self, page: int) -> PageImage:
        """Image of a shown page under the protocol's pixel cap.

        Raises:
            LookupError: the page was not shown.
            DocumentError: it cannot be rendered.
        """
        return self._document.image(self._seen(page), max_pixels=self._protocol.max_pixels)

    def _seen(self, page: int) -> int:
        if page not in self.shown_pages:
            raise LookupError(f"page {page} was not shown")
        return page


class Environment(ShownPages):
    """Drives one trajectory.

    Args:
        question: what is asked; its gold answer is never shown.
        document: what is read.
        retriever: already indexed for this document.
        protocol: the rules.
        window: inclusive physical page window outside which pages do not exist (an oracle setting), or `None`.
    """

    def __init__(
        self,
        question: Question,
        document: AnyDocument,
        retriever: Retriever,
        protocol: Protocol,
        *,
        window: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(document, protocol)
        self._question = question
        self._retriever = retriever
        self._window = window
        self._pages = _pages_in_window(document, window)
        self.reset()

    def reset(self) -> Observation | None:
        """Start over; the opening observation of protocols that show pages first, else `None`."""
        self._memory = WorkingMemory()
        self._steps: list[Step] = []
        self._history: list[tuple[PolicyTurn, Observation]] = []
        self._shown: dict[int, None] = {}
        self._images = 0
        self._turn = 0
        self._note_due = False
        self._answer: str | None = None
        self._stop: StopReason | None = None
        self._error: str | None = None
        self._opening = self._open()
        if self._opening is not None:
            self._steps.append(Step(turn=0, observation=self._opening))
        return self._opening

    # -- what a policy may look at (the PolicyView protocol) --------------------------------------------------

    @property
    def question(self) -> str:
        """The question as asked."""
        return self._question.question

    @property
    def turns_left(self) -> int:
        """Generations that remain, the coming one included."""
        return self._protocol.max_turns - self._turn

    @property
    def opening(self) -> Observation | None:
        """What was shown before the first turn."""
        return self._opening

    @property
    def history(self) -> tuple[tuple[PolicyTurn, Observation], ...]:
        """Turns so far with their observations."""
        return tuple(self._history)

    @property
    def memory(self) -> WorkingMemory:
        """The working memory so far (a copy: only a note can change it)."""
        return WorkingMemory(self._memory.findings)

    @property
    def shown_pages(self) -> tuple[int, ...]:
        """Unique pages shown so far, in order of first showing."""
        return tuple(self._shown)

    # -- state ------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the trajectory has ended."""
        return self._stop is not None

    @property
    def stop_reason(self) -> StopReason | None:
        """Why it ended, or `None` while it goes on."""
        return self._stop

    @property
    def answer(self) -> str | None:
        """The final answer, if one was given."""
        return self._answer

    def stop(self, reason: StopReason, error: str | None = None) -> None:
        """End the trajectory from outside (a fault, a cancellation, an overflow); the first reason stays."""
        if self._stop is None:
            self._stop = reason
            self._error = error

    # -- the loop ---------------------------------------------------------------------------------------------

    def step(self, turn: PolicyTurn | Action, *, seconds: float = 0.0) -> Observation:
        """Carry out one turn of the policy and record it.

        Args:
            turn: the generation; a bare action is a turn without thought, notes or usage.
            seconds: wall time that the generation took, for the record.

        Raises:
            RuntimeError: the trajectory has already ended (a programming error of the caller).
        """
        if self._stop is not None:
            raise RuntimeError(f"this trajectory has already ended ({self._stop})")
        turn = storable(PolicyTurn(action=turn) if isinstance(turn, Action) else turn)
        self._turn += 1
        observation, invalid = self._carry_out(turn)
        if self._stop is None and self._turn >= self._protocol.max_turns:
            self.stop(StopReason.TURN_LIMIT)
        self._record(turn, observation, invalid, seconds)
        return observation

    def _carry_out(self, turn: PolicyTurn) -> tuple[Observation, str | None]:
        note_problem: str | None = None
        try:
            note_problem = self._write_riding_notes(turn)
            observation = self._act(turn)
        except _RefusedError as refusal:
            return Observation(text=_joined(note_problem, str(refusal))), _joined(note_problem, str(refusal))
        except DocumentError as problem:
            self.stop(StopReason.DOCUMENT_ERROR, str(problem))
            return Observation(text=str(problem)), None
        if note_problem:
            observation = Observation(
                _joined(note_problem, observation.text), observation.returned, observation.shown
            )
        return observation, note_problem

    def _act(self, turn: PolicyTurn) -> Observation:
        action = turn.action
        if action is None or action.name not in self._protocol.actions:
            return self._malformed(turn)
        if self._note_due and action.name != "note":
            raise _RefusedError(NOTE_FIRST)
        if action.name in LOOKS and self._turn >= self._protocol.max_turns:
            raise _RefusedError(TOO_LATE)
        return _ACTIONS[action.name](self, action.arguments)

    def _malformed(self, turn: PolicyTurn) -> Observation:
        names = ", ".join(self._protocol.actions)
        found = turn.problem or (
            f"There is no action {turn.action.name!r}." if turn.action else "No action was found."
        )
        if self._protocol.malformed == "ends":
            self.stop(StopReason.MALFORMED, found)
        raise _RefusedError(f"Malformed: {found} Give exactly one of: {names}.")

    def _search(self, arguments: dict[str, Any]) -> Observation:
        query = _text_argument(arguments, "query", "search")
        returned = self._retrieve(query)
        if not returned:
            return Observation(text=NO_MATCH if self._document.has_text else NO_TEXT)
        shown_k = (
            len(returned) if self._retriever.family is RetrieverFamily.ORACLE else self._protocol.shown_k
        )
        shown = self._show([page.page for page in returned[:shown_k]])
        return Observation(text=_shown_text(shown), returned=tuple(returned), shown=shown)

    def _retrieve(self, query: str) -> list[Returned]:
        wanted = self._protocol.returned_k if self._window is None else self._document.page_count
        found = [page for page in self._retriever.search(query, wanted) if page.page in self._pages]
        if self._retriever.family is not RetrieverFamily.ORACLE:
            found = found[: self._protocol.returned_k]
        return [Returned(page.page, page.score) for page in found]

    def _fetch(self, arguments: dict[str, Any]) -> Observation:
        page = _page_argument(arguments, "page", "fetch")
        if page not in self._pages:
            raise _RefusedError(
                f"There is no page {page}: the pages are {self._pages[0]} to {self._pages[-1]}."
            )
        shown = self._show([page])
        return Observation(text=_shown_text(shown), shown=shown)

    def _show(self, pages: list[int]) -> tuple[int, ...]:
        cap = self._protocol.image_cap
        if cap is not None and self._images + len(pages) > cap:
            self.stop(StopReason.IMAGE_CAP, f"more than {cap} page images")
            raise _RefusedError(f"Stopped: a trajectory may hold at most {cap} page images.")
        self._images += len(pages)
        self._shown.update(dict.fromkeys(pages))
        self._note_due = bool(pages) and self._protocol.demands_notes
        return tuple(pages)

    def _note(self, arguments: dict[str, Any]) -> Observation:
        text = _text_argument(arguments, "text", "note")
        page = _page_argument(arguments, "source_page", "note")
        self._write_finding(text, page)
        return Observation(text=NOTED)

    def _write_riding_notes(self, turn: PolicyTurn) -> str | None:
        if not turn.notes:
            return None
        if self._protocol.memory == "none" or self._protocol.note_turn != "inside":
            raise _RefusedError("Refused: in this protocol a note cannot ride inside another turn.")
        problems = []
        for note in turn.notes:
            try:
                self._write_finding(_text_argument({"text": note.text}, "text", "note"), note.source_page)
            except _RefusedError as refusal:
                problems.append(str(refusal))
        return " ".join(problems) or None

    def _write_finding(self, text: str, page: int) -> None:
        problems = self._finding_problems(Finding(text, page))
        if problems and self._protocol.validation == "reject":
            raise _RefusedError("Refused: " + " ".join(problems.values()))
        self._memory.append(Finding(text, page, tuple(problems)))
        self._note_due = False

    def _finding_problems(self, finding: Finding) -> dict[str, str]:
        problems = {}
        if finding.words > MAX_FINDING_WORDS:
            problems["over_length"] = (
                f"the finding has {finding.words} words and may have {MAX_FINDING_WORDS}."
            )
        if finding.source_page not in self._shown:
            problems["page_not_shown"] = f"page {finding.source_page} was not shown."
        return problems

    def _give_answer(self, arguments: dict[str, Any]) -> Observation:
        self._answer = _text_argument(arguments, "text", "answer")
        self.stop(StopReason.ANSWERED)
        return Observation(text="")

    def _open(self) -> Observation | None:
        if self._protocol.opening == "nothing":
            return None
        if self._protocol.opening == "all-pages":
            pages, returned = list(self._pages), []
        else:
            returned = self._retrieve(self.question)
            pages = [page.page for page in returned[: self._protocol.shown_k]]
        try:
            shown = self._show(pages)
        except _RefusedError as refusal:
            return Observation(text=str(refusal), returned=tuple(returned))
        text = _shown_text(shown) if shown else NO_MATCH
        return Observation(text=text, returned=tuple(returned), shown=shown)

    # -- the record -------------------------------------------------------------------------------------------

    def _record(
        self, turn: PolicyTurn, observation: Observation, invalid: str | None, seconds: float
    ) -> None:
        self._history.append((turn, observation))
        self._steps.append(
            Step(
                turn=self._turn,
                thought=turn.thought,
                action=turn.action,
                notes=turn.notes,
                observation=observation,
                model_text=turn.model_text,
                usage=turn.usage,
                seconds=seconds,
                invalid=invalid,
            )
        )

    @property
    def oracle(self) -> dict[str, Any]:
        """The oracle settings in force, by name."""
        settings: dict[str, Any] = {}
        if self._retriever.family is RetrieverFamily.ORACLE:
            settings["gold_pages"] = True
        if self._window is not None:
            settings["page_window"] = list(self._window)
        return settings

    def trajectory(
        self,
        *,
        run_id: str = "",
        sample_index: int = 0,
        seed: int | None = None,
        step_of_training: int | None = None,
        seconds: float = 0.0,
    ) -> Trajectory:
        """The record of what happened.

        Args:
            run_id: run that it belongs to.
            sample_index: 0-based sample of this question; it becomes part of the id.
            seed: seed of the sample, for the record.
            step_of_training: optimiser step of the policy, for the record.
            seconds: wall time.

        Raises:
            RuntimeError: the trajectory has not ended.
        """
        if self._stop is None:
            raise RuntimeError("this trajectory has not ended")
        return Trajectory(
            run_id=run_id,
            trajectory_id=f"{self._question.question_id}#{sample_index}",
            question_id=self._question.question_id,
            benchmark=self._question.benchmark,
            doc_id=self._question.doc_id,
            doc_sha256=self._document.sha256,
            question=self.question,
            protocol=self._protocol.name,
            oracle=self.oracle,
            seed=seed,
            sample_index=sample_index,
            step_of_training=step_of_training,
            steps=tuple(self._steps),
            memory=self._memory.findings,
            answer=self._answer,
            stop_reason=self._stop,
            usage=sum((step.usage for step in self._steps), Usage()),
            seconds=seconds,
            error=self._error,
        )


_ACTIONS = {
    "search": Environment._search,
    "fetch": Environment._fetch,
    "note": Environment._note,
    "answer": Environment._give_answer,
}


def _pages_in_window(document: AnyDocument, window: tuple[int, int] | None) -> range:
    first, last = window or (1, document.page_count)
    pages = range(max(first, 1), min(last, document.page_count) + 1)
    if not pages:
        raise DocumentError(
            f"The page window {first}–{last} holds no page of {document.doc_id} ({document.page_count} pages); "
            "check the data."
        )
    return pages


def _text_argument(arguments: dict[str, Any], name: str, action: str) -> str:
    value = arguments.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise _RefusedError(f"Refused: {action} needs {name!r}, a text that is not empty.")
    return value.strip()


def _page_argument(arguments: dict[str, Any], name: str, action: str) -> int:
    value = arguments.get(name)
    if (
        isinstance(value, str)
        and value.strip().isascii()
        and value.strip().isdigit()
        and len(value) <= PAGE_DIGITS
    ):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 10**PAGE_DIGITS:
        raise _RefusedError(f"Refused: {action} needs {name!r}, a physical page number such as 1.")
    return value


def _shown_text(pages: tuple[int, ...]) -> str:
    names = ", ".join(str(page) for page in pages)
    return f"Page {names}:" if len(pages) == 1 else f"Pages {names}:"


def _joined(first: str | None, second: str) -> str:
    return f"{first} {second}" if first else second
