"""Scripted models: a policy that plays given turns, and roles that give fixed replies.

They ship with the library so that environments, runners and one's own code can be tried without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.memory import WorkingMemory
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.roles import Action, Extraction, Judgement, PolicyTurn, PolicyView, Reading

__all__ = ["ConstantReader", "FixedExtractor", "FixedJudge", "ScriptedPolicy"]

FINAL_TURN = Action.answer(NOT_ANSWERABLE)
"""What a script that ran out of turns does: it gives up."""


class ScriptedPolicy:
    """Plays a list of turns, the same for every question or one list for each question text.

    Args:
        turns: the turns in order, or a mapping from question text to turns with `"*"` for all others.
    """

    def __init__(
        self, turns: Sequence[PolicyTurn | Action] | Mapping[str, Sequence[PolicyTurn | Action]]
    ) -> None:
        self._scripts = turns if isinstance(turns, Mapping) else {"*": turns}

    @classmethod
    def from_file(cls, path: Path) -> ScriptedPolicy:
        """Read a script: JSON lines of actions `{"name": …, "arguments": {…}}`, or one JSON object of such lists.

        Raises:
            ConfigError: the file cannot be read as a script.
        """
        try:
            content = path.read_bytes()
            if content.lstrip().startswith(b'{"name"'):
                return cls(
                    msgspec.json.decode(
                        b"[" + b",".join(content.split(b"\n")).strip(b",\n ") + b"]", type=list[Action]
                    )
                )
            return cls(msgspec.json.decode(content, type=dict[str, list[Action]]))
        except (OSError, msgspec.DecodeError) as problem:
            raise ConfigError(
                f"The script {path} cannot be read ({problem}); give JSON lines of actions."
            ) from problem

    def act(self, view: PolicyView) -> PolicyTurn | Action:
        """The next turn of the script."""
        script = self._scripts.get(view.question, self._scripts.get("*", ()))
        position = len(view.history)
        return script[position] if position < len(script) else FINAL_TURN


class ConstantReader:
    """Gives the same answer whatever the memory holds."""

    def __init__(self, text: str = NOT_ANSWERABLE) -> None:
        self._text = text

    def read(self, question: str, memory: WorkingMemory) -> Reading:
        """The fixed answer."""
        return Reading(text=self._text)


class FixedExtractor:
    """Gives the same raw output for every response."""

    def __init__(self, text: str) -> None:
        self._text = text

    def extract(self, question: str, response: str) -> Extraction:
        """The fixed output."""
        return Extraction(text=self._text)


class FixedJudge:
    """Gives the same raw reply to every prompt."""

    def __init__(self, text: str) -> None:
        self._text = text

    def judge(self, prompt: str) -> Judgement:
        """The fixed reply."""
        return Judgement(text=self._text)
