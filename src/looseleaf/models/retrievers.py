"""Making retrievers from their specs, those whose encoder is on a server or whose code is the user's included."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from looseleaf.models.python_factory import make_from_factory
from looseleaf.retrieval import Retriever, RetrieverMaker, RetrieverSpec
from looseleaf.retrieval.make import LOCAL_ENCODERS

__all__ = ["retriever_maker"]


def retriever_maker(text: str) -> RetrieverMaker:
    """What makes retrievers of that spec, e.g. `rrf(bm25,dense:wordllama)`.

    Raises:
        ConfigError: there is no such retriever, an option cannot be used, or a package is missing.
    """
    from looseleaf.models.embedding.encoder import SERVER_ENCODERS

    return RetrieverMaker(RetrieverSpec.parse(text), {**LOCAL_ENCODERS, **SERVER_ENCODERS}, {"python": _own})


def _own(spec: RetrieverSpec) -> Callable[[], Retriever]:
    """The user's own retriever; the factory is called once for each document."""
    return lambda: cast(Retriever, make_from_factory(spec.argument, "search", dict(spec.options)))
