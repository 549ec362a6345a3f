"""`ServerEncoder`: pages and queries through an embedding server, several pages in flight, in page order."""

from __future__ import annotations

import base64
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

import msgspec
import numpy as np

from looseleaf.document import Document
from looseleaf.errors import ConfigError, DocumentError
from looseleaf.models.embedding.client import EmbeddingClient
from looseleaf.models.embedding.options import FREE_NAMES, EmbeddingOptions
from looseleaf.retrieval import RetrieverFamily, RetrieverSpec
from looseleaf.retrieval.encoder import PageContent, encoder_id
from looseleaf.retrieval.index_key import digest
from looseleaf.retrieval.text_windows import text_windows
from looseleaf.retrieval.vectors import Vectors

__all__ = ["SERVER_ENCODERS", "ServerEncoder"]

KEPT_QUERIES = 4096
"""Queries whose vectors are kept: the samples of a question often begin with the same search."""

EMPTY = np.zeros((0, 0), np.float32)


class ServerEncoder:
    """One embedding model on a server.

    Args:
        model: its name there.
        multi: late interaction.
        options: settings.

    Raises:
        ConfigError: the model has no name, a setting cannot be used, or the key is not set.
    """

    def __init__(self, model: str, *, multi: bool, options: EmbeddingOptions) -> None:
        kind = "late-openai" if multi else "dense-openai"
        if not model:
            raise ConfigError(f"A model on a server needs its name; write {kind}:MODEL.")
        options.check(f"{kind}:{model}")
        self.client = EmbeddingClient(model, multi=multi, options=options)
        self.family = RetrieverFamily.MULTI_VECTOR if multi else RetrieverFamily.SINGLE_VECTOR
        settings = {
            name: value for name, value in msgspec.to_builtins(options).items() if name not in FREE_NAMES
        }
        self.id = encoder_id(f"{kind}-{model}", **settings)
        self._options = options
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = Lock()

    def content(self, document: Document) -> str:
        """Digest of the pages' texts, or how they are rendered."""
        if self._options.pages == "text":
            return digest(document.texts())
        return digest((str(self._options.dpi), str(self._options.max_pixels)))

    def encode_pages(self, pages: Iterable[PageContent]) -> Iterator[Vectors]:
        """Vectors of each page, in order; at most `max_in_flight` pages are read or under way at a time."""
        waiting: deque[Future[Vectors]] = deque()
        with ThreadPoolExecutor(self._options.max_in_flight) as pool:
            try:
                for page in pages:
                    waiting.append(pool.submit(self._encode_page, page))
                    if len(waiting) >= self._options.max_in_flight:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def encode_query(self, query: str) -> Vectors:
        """One vector, or one a token; kept for the next time."""
        with self._lock:
            found = self._queries.get(query)
        if found is None:
            found = self._encode_texts([self._options.query_prompt + query])[0]
            with self._lock:
                self._queries[query] = found
                while len(self._queries) > KEPT_QUERIES:
                    self._queries.popitem(last=False)
        return found

    def _encode_page(self, page: PageContent) -> Vectors:
        if self._options.pages == "image":
            return self._encode_image(page)
        pieces = [
            self._options.page_prompt + piece for piece in text_windows(page.text(), self._options.window)
        ]
        return np.concatenate(self._encode_texts(pieces)) if pieces else EMPTY

    def _encode_texts(self, texts: list[str]) -> list[Vectors]:
        if not self._options.messages:
            return self.client.embed_texts(texts)
        return [
            self.client.embed_messages(self._conversation({"type": "text", "text": text})) for text in texts
        ]

    def _encode_image(self, page: PageContent) -> Vectors:
        try:
            jpeg = page.jpeg(self._options.dpi, self._options.max_pixels)
        except DocumentError:
            return EMPTY
        url = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
        parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}}]
        if self._options.page_prompt:
            parts.append({"type": "text", "text": self._options.page_prompt})
        return self.client.embed_messages(self._conversation(*parts))

    def _conversation(self, *parts: dict[str, Any]) -> list[dict[str, Any]]:
        """One user message, behind the system message if there is one."""
        system = [{"type": "text", "text": self._options.system}]
        before = [{"role": "system", "content": system}] if self._options.system else []
        return [*before, {"role": "user", "content": list(parts)}]


def _maker(multi: bool) -> Any:
    def make(spec: RetrieverSpec) -> ServerEncoder:
        return ServerEncoder(spec.argument, multi=multi, options=spec.read_options(EmbeddingOptions))

    return make


SERVER_ENCODERS = {"dense-openai": _maker(False), "late-openai": _maker(True)}
"""Encoders on a server, by the kind of retriever."""
