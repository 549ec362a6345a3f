"""`EmbeddingClient`: sends inputs to an embedding server and gets vectors, with retries. Thread-safe."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from looseleaf.errors import ProviderError
from looseleaf.models.chat.backoff import MAX_ASKED, retry_after, wait_seconds
from looseleaf.models.chat.faults import Fault, FaultKind, error_words, fault_of_status, sentence
from looseleaf.models.chat.keys import key_for
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.embedding.options import EmbeddingOptions
from looseleaf.models.embedding.reply import EmbeddingReplyError, read_vectors
from looseleaf.retrieval.vectors import Vectors

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["EmbeddingClient"]

CONNECT_SECONDS = 20.0
"""Longest wait for a connection."""
TOKEN_TASK = "token_embed"  # noqa: S105
"""vLLM's pooling task that gives a vector a token. Servers for one task take the field and ignore it."""


class _PassingError(Exception):
    """A request that failed and may succeed when sent again, or not."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.words)
        self.fault = fault


class EmbeddingClient:
    """One embedding model on one server.

    Args:
        model: its name there.
        multi: ask `/pooling` for a vector a token, else `/v1/embeddings` for one an input.
        options: how to reach it.

    Attributes:
        sent: requests that went out, attempts counted singly.

    Raises:
        ConfigError: the environment variable with the key is not set.
    """

    def __init__(self, model: str, *, multi: bool, options: EmbeddingOptions) -> None:
        self.model = model
        self.sent = 0
        self._multi = multi
        self._options = options
        self._key = key_for(ChatOptions(base_url=options.base_url, key_env=options.key_env))
        self._rng = random.Random()  # noqa: S311
        self._sdk: OpenAI | None = None

    def embed_texts(self, texts: list[str]) -> list[Vectors]:
        """Vectors of several texts, from one request.

        Raises:
            ProviderError: there are none to be had.
        """
        return self._ask({"input": texts}, len(texts))

    def embed_messages(self, messages: list[dict[str, Any]]) -> Vectors:
        """Vectors of one conversation, which may hold images.

        Raises:
            ProviderError: there are none to be had.
        """
        return self._ask({"messages": messages}, 1)[0]

    @property
    def url(self) -> str:
        """Where requests go. vLLM's `/pooling` lies beside `/v1`, not in it."""
        base = self._options.base_url.rstrip("/")
        return f"{base.removesuffix('/v1')}/pooling" if self._multi else f"{base}/embeddings"

    def _ask(self, inputs: dict[str, Any], count: int) -> list[Vectors]:
        body = msgspec.json.encode(self._fields() | inputs)
        attempt = 0
        while True:
            try:
                return self._attempt(body, count)
            except _PassingError as problem:
                fault = problem.fault
            if fault.kind is not FaultKind.PASSING or attempt >= self._options.retries:
                self._give_up(fault)
            if (fault.retry_after or 0) > MAX_ASKED:
                self._give_up(fault)
            time.sleep(wait_seconds(attempt, fault.retry_after, self._rng))
            attempt += 1

    def _fields(self) -> dict[str, Any]:
        options = self._options
        fields = {
            "model": self.model,
            "encoding_format": "float",
            "task": TOKEN_TASK if self._multi else None,
            "dimensions": options.dimensions,
            "truncate_prompt_tokens": -1 if options.truncate else None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _attempt(self, body: bytes, count: int) -> list[Vectors]:
        self.sent += 1
        answered = self._post(body)
        try:
            return read_vectors(answered, count, multi=self._multi)
        except EmbeddingReplyError as problem:
            if problem.lasting:
                raise ProviderError(f"{self.url} is of no use for {self.model}: {problem}.") from None
            words = self._key.redact(error_words(problem.error) if problem.error else str(problem))
            raise _PassingError(fault_of_status(200, words)) from None

    def _post(self, body: bytes) -> bytes:
        import openai

        headers = {"Content-Type": "application/json"}
        try:
            answered: bytes = self._connected().post(
                self.url, cast_to=bytes, content=body, options={"headers": headers}
            )
        except openai.APIStatusError as problem:
            words = self._key.redact(
                error_words(problem.body if problem.body is not None else problem.message)
            )
            asked = retry_after(problem.response.headers)
            raise _PassingError(fault_of_status(problem.status_code, words, asked)) from None
        except openai.APITimeoutError:
            self._pass(f"no answer within {self._options.timeout:g} seconds")
        except openai.APIConnectionError as problem:
            self._pass(str(problem.__cause__ or problem))
        return answered

    def _pass(self, words: str) -> NoReturn:
        raise _PassingError(Fault(FaultKind.PASSING, 0, self._key.redact(words))) from None

    def _connected(self) -> OpenAI:
        if self._sdk is None:
            import openai

            timeout = openai.Timeout(
                self._options.timeout, connect=min(CONNECT_SECONDS, self._options.timeout)
            )
            sdk = openai.OpenAI(
                base_url=self._options.base_url, api_key=self._key.reveal(), max_retries=0, timeout=timeout
            )
            if self._key.variable != "OPENAI_API_KEY":
                sdk.organization = sdk.project = None  # from the environment, and nobody else's business
            self._sdk = sdk
        return self._sdk

    def _give_up(self, fault: Fault) -> NoReturn:
        said = f' (it says: "{fault.words}")' if fault.words else ""
        if fault.kind is FaultKind.URL:
            raise ProviderError(f"There is no embedding model under {self.url}{said}; check base_url.")
        if fault.kind is FaultKind.OVERFLOW:
            raise ProviderError(
                f"A page is too long for {self.model}{said}; set window to fewer characters, max_pixels to fewer "
                "pixels, or truncate=true with vLLM."
            )
        if fault.kind is FaultKind.IMAGES:
            raise ProviderError(f"{self.model} takes no images{said}; leave pages=image out.")
        raise ProviderError(sentence(fault, self.model, self._options.base_url, self._key.variable))
