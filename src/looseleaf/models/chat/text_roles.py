"""A chat model as reader, extractor or judge: one question, one text back."""

from __future__ import annotations

from looseleaf.errors import ContextOverflowError, ProviderError
from looseleaf.memory import WorkingMemory
from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.message import Message, TextPart
from looseleaf.models.chat.parsing import spoken_text
from looseleaf.models.chat.reply import Reply
from looseleaf.models.prompts import fill, prompt_text
from looseleaf.roles import Extraction, Judgement, Reading
from looseleaf.scoring import extraction

__all__ = ["ChatExtractor", "ChatJudge", "ChatReader"]

NO_NOTES = "(no notes)"


class _TextRole:
    """Common to the three: one user message.

    Attributes:
        client: asks the model.
    """

    def __init__(self, client: ChatClient) -> None:
        self.client = client

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self.client.server.close()

    async def _ask(self, prompt: str) -> Reply:
        """The reply; a prompt that is too long for these roles is a fault, since there is no agent to blame."""
        try:
            return await self.client.complete([Message("user", (TextPart(prompt),))])
        except ContextOverflowError as problem:
            raise ProviderError(str(problem)) from problem


class ChatReader(_TextRole):
    """Answers from the findings alone."""

    def __init__(self, client: ChatClient) -> None:
        super().__init__(client)
        self._prompt = prompt_text("reader", client.options.prompt)

    async def read(self, question: str, memory: WorkingMemory) -> Reading:
        """The answer that the notes give.

        Raises:
            ProviderError: there is no reply to be had.
        """
        text = memory.as_text() or NO_NOTES
        reply = await self._ask(fill(self._prompt, "reader", memory=text, question=question))
        return Reading(text=spoken_text(reply), usage=reply.usage)


class ChatExtractor(_TextRole):
    """Takes the short answer out of a response, in the lines and tags that the official scorers parse."""

    def __init__(self, client: ChatClient) -> None:
        super().__init__(client)
        own = client.options.prompt
        self._own_prompt = prompt_text("", own) if own else None

    async def extract(self, question: str, response: str) -> Extraction:
        """The extractor's raw output.

        Raises:
            ProviderError: there is no reply to be had.
        """
        reply = await self._ask(self._prompt(question, response))
        return Extraction(text=spoken_text(reply), usage=reply.usage)

    def _prompt(self, question: str, response: str) -> str:
        if self._own_prompt is None:
            return extraction.prompt(question, response)
        return fill(self._own_prompt, "extractor", question=question, response=response)


class ChatJudge(_TextRole):
    """Replies to a judging prompt."""

    async def judge(self, prompt: str) -> Judgement:
        """The judge's raw reply.

        Raises:
            ProviderError: there is no reply to be had.
        """
        reply = await self._ask(prompt)
        return Judgement(text=spoken_text(reply), usage=reply.usage)
