"""The question-only control: what does a reader know without any notes?"""

from __future__ import annotations

import inspect
from typing import Any

from looseleaf.errors import ContextOverflowError, ProviderError
from looseleaf.memory import WorkingMemory
from looseleaf.models.chat.message import Message, TextPart
from looseleaf.models.chat.parsing import spoken_text
from looseleaf.models.chat.text_roles import ChatReader
from looseleaf.roles import Reader, Reading

__all__ = ["QuestionOnlyReader"]

PROMPT = """\
You are asked about a document that you cannot see. Answer from what you already know. If you cannot know the answer, \
reply "Not answerable".

Question: {question}

Reply with the answer, in as few words as it takes.
"""
"""Our own wording; unlike the reader's prompt it does not forbid knowledge from elsewhere."""


class QuestionOnlyReader:
    """A reader without notes. A chat model is allowed to use what it knows; any other reader gets an empty memory.

    Args:
        reader: who answers.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def read(self, question: str, memory: WorkingMemory) -> Reading:
        """The answer from the question alone; the memory is not looked at.

        Raises:
            ProviderError: there is no reply to be had.
        """
        if not isinstance(self._reader, ChatReader):
            asked: Any = self._reader.read(question, WorkingMemory())
            reading: Reading = await asked if inspect.isawaitable(asked) else asked
            return reading
        message = Message("user", (TextPart(PROMPT.replace("{question}", question)),))
        try:
            reply = await self._reader.client.complete([message])
        except ContextOverflowError as problem:
            raise ProviderError(str(problem)) from problem
        return Reading(text=spoken_text(reply), usage=reply.usage)
