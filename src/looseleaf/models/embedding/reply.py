"""Reading what a server answers to `/v1/embeddings` and `/pooling`.

OpenAI's API and vLLM give `{"data": [{"index": 0, "embedding": [0.1, …]}]}`; vLLM's `/pooling` gives
`{"data": [{"index": 0, "data": [[0.1, …], …]}]}`, one row a token for the task `token_embed`
(vllm-project/vllm @ 01cfbaf, entrypoints/pooling/pooling/protocol.py).
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from looseleaf.retrieval.vectors import Vectors, as_vectors

__all__ = ["EmbeddingReplyError", "read_vectors"]


class EmbeddingReplyError(Exception):
    """A body that does not hold the vectors that were asked for.

    Attributes:
        error: the error object that the server sent with status 200, if that is what it was.
        lasting: whether the same request would be answered alike.
    """

    def __init__(self, message: str, error: Any = None, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.error = error
        self.lasting = lasting


class _Item(msgspec.Struct):
    index: int = 0
    embedding: list[float] | None = None
    data: list[list[float] | float] | None = None


class _Body(msgspec.Struct):
    data: list[_Item] | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Body)


def read_vectors(body: bytes, inputs: int, *, multi: bool) -> list[Vectors]:
    """Vectors of each input, in the order of the inputs.

    Args:
        body: of the response.
        inputs: how many inputs were sent.
        multi: whether rows of vectors were asked for, and not one each.

    Raises:
        EmbeddingReplyError: they are not there.
    """
    try:
        answer = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise EmbeddingReplyError(f"the reply holds no embeddings ({str(problem)[:120]})") from problem
    if answer.error:
        raise EmbeddingReplyError("the server sent an error with status 200", answer.error)
    items = sorted(answer.data or [], key=lambda item: item.index)
    if [item.index for item in items] != list(range(inputs)):
        raise EmbeddingReplyError(f"the reply holds {len(items)} embeddings for {inputs} inputs")
    return [_vectors(item, multi) for item in items]


def _vectors(item: _Item, multi: bool) -> Vectors:
    given = item.data if multi else item.embedding
    if not given or (multi and not isinstance(given[0], list)):
        wanted = "a vector for each token" if multi else "one vector"
        raise EmbeddingReplyError(
            f"the reply does not hold {wanted}, so serve the model for this task", lasting=True
        )
    try:
        return as_vectors(np.asarray(given, dtype=np.float32))
    except ValueError as problem:
        raise EmbeddingReplyError(
            f"the reply's vectors cannot be used ({problem})", lasting=True
        ) from problem
