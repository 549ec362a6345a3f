"""A note-writer that knows the truth of generated documents, for tests of what notes are worth.

It always gives the right answer; only its notes differ: `specific` notes give the answer, `generic` ones say that the
page is about the question, and with `notes_from` the answers of another folder are noted, whatever the page says.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from looseleaf.memory import MAX_FINDING_WORDS
from looseleaf.roles import Action, PolicyView

NOTHING = "Nothing found here that answers."


class TruthWriter:
    """Fetches the evidence pages, notes one after the other, and answers."""

    def __init__(self, folder: str, style: str, notes_from: str = "") -> None:
        self._style = style
        self._rows = _rows(folder)
        self._noted = _rows(notes_from or folder)

    def act(self, view: PolicyView) -> Action:
        pages, answer = self._rows[view.question]
        last = view.history[-1][0].action if view.history else None
        waiting = [page for page in pages or [1] if page not in view.shown_pages]
        if last is not None and last.name == "fetch":
            return Action.note(self._note(view.question, bool(pages) and not waiting), view.shown_pages[-1])
        return Action.fetch(waiting[0]) if waiting else Action.answer(answer)

    def _note(self, question: str, has_answer: bool) -> str:
        if not has_answer:
            return NOTHING
        if self._style == "generic":
            return "This page has information related to the question."
        text = f"{question.rstrip('?.')}: {self._noted[question][1]}"
        return text if len(text.split()) <= MAX_FINDING_WORDS else self._noted[question][1]


def _rows(folder: str) -> dict[str, tuple[list[int], str]]:
    rows = json.loads((Path(folder) / "samples.json").read_bytes())
    return {row["question"]: (ast.literal_eval(row["evidence_pages"]), row["answer"]) for row in rows}


def make(folder: str, style: str = "specific", notes_from: str = "") -> TruthWriter:
    return TruthWriter(folder, style, notes_from)
