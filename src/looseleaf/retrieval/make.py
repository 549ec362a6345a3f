"""`RetrieverMaker`: retrievers from a spec, with one encoder for all documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.retrieval.bm25 import BM25Retriever
from looseleaf.retrieval.fusion import FusedRetriever, K
from looseleaf.retrieval.random_pages import RandomRetriever
from looseleaf.retrieval.retriever import Retriever, RetrieverFamily
from looseleaf.retrieval.spec import RetrieverSpec

if TYPE_CHECKING:
    from looseleaf.retrieval.encoder import Encoder

__all__ = ["LOCAL_ENCODERS", "EncoderMaker", "RetrieverMaker"]

EncoderMaker = Callable[[RetrieverSpec], "Encoder"]


class RetrieverMaker:
    """Makes any number of retrievers of one spec. They share the encoder, which is loaded once.

    Args:
        spec: which retriever.
        encoders: makers of encoders by kind.
        others: makers of further kinds of retriever.

    Attributes:
        name: printable name, for every result.
        encoders: ids of the encoders, its own or its members'; none for retrievers without vectors.

    Raises:
        ConfigError: there is no such retriever, an option cannot be used, or a package is missing.
    """

    def __init__(
        self,
        spec: RetrieverSpec,
        encoders: Mapping[str, EncoderMaker] | None = None,
        others: Mapping[str, Callable[[RetrieverSpec], Callable[[], Retriever]]] | None = None,
    ) -> None:
        self.name = spec.name
        makers = _OWN | dict(others or {})
        known = LOCAL_ENCODERS if encoders is None else encoders
        self.encoders: tuple[str, ...] = ()
        if spec.kind in known:
            encoder = known[spec.kind](spec)
            self._make, self.encoders = _vector(spec, encoder), (encoder.id,)
        elif spec.kind == FUSED:
            members = [RetrieverMaker(member, encoders, others) for member in spec.members]
            self._make = _fused(spec, members)
            self.encoders = tuple(name for member in members for name in member.encoders)
        elif spec.kind in makers:
            self._make = makers[spec.kind](spec)
        else:
            names = ", ".join([*_OWN, *known, FUSED, *(others or ())])
            raise ConfigError(f"There is no retriever {spec.kind!r}; use one of {names}.")
        if spec.members and spec.kind != FUSED:
            raise ConfigError(f"The retriever {spec.kind} fuses nothing; write {FUSED}({spec.kind},…).")

    @property
    def family(self) -> RetrieverFamily:
        """Family of the retrievers."""
        return self._make().family

    def __call__(self) -> Retriever:
        """A retriever that has no document yet."""
        return self._make()


FUSED = "rrf"
LOCKS = "vector-locks"
"""Folder of the locks, beside the vectors: the cache removes old vectors, and a lock in use may not go."""


class _NoOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A retriever without settings."""


class _RandomOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seed: int = 0


class _FusedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    k: int = K


def _bm25(spec: RetrieverSpec) -> Callable[[], Retriever]:
    _no_argument(spec)
    spec.read_options(_NoOptions)
    return BM25Retriever


def _random(spec: RetrieverSpec) -> Callable[[], Retriever]:
    _no_argument(spec)
    return partial(RandomRetriever, spec.read_options(_RandomOptions).seed, spec.name)


def _fused(spec: RetrieverSpec, members: list[RetrieverMaker]) -> Callable[[], Retriever]:
    _no_argument(spec)
    damping = spec.read_options(_FusedOptions).k
    if len(members) < 2 or damping < 0:
        raise ConfigError(
            f"{FUSED} fuses two or more retrievers, with k of 0 or more; write rrf(bm25,dense:wordllama)."
        )
    return lambda: FusedRetriever([member() for member in members], spec.name, damping)


def _vector(spec: RetrieverSpec, encoder: Encoder) -> Callable[[], Retriever]:
    from looseleaf.document.locks import Locks
    from looseleaf.retrieval.stores import LOCAL, open_store, vector_root
    from looseleaf.retrieval.vector import VectorRetriever

    root = vector_root()
    store = open_store(spec.options.get("store", LOCAL), root)
    locks = Locks(root.with_name(LOCKS))
    return lambda: VectorRetriever(encoder, store, locks, spec.name)


def _no_argument(spec: RetrieverSpec) -> None:
    if spec.argument:
        raise ConfigError(f"The retriever {spec.kind} takes no argument; use just {spec.kind!r}.")


def _dense(spec: RetrieverSpec) -> Encoder:
    if spec.argument == "wordllama":
        from looseleaf.retrieval.wordllama import WordLlamaEncoder

        spec.read_options(_NoOptions)
        return WordLlamaEncoder()
    if spec.argument == "minilm":
        from looseleaf.retrieval.minilm import MiniLMEncoder

        spec.read_options(_NoOptions)
        return MiniLMEncoder()
    return _sentence(spec, multi=False)


def _late(spec: RetrieverSpec) -> Encoder:
    return _sentence(spec, multi=True)


def _sentence(spec: RetrieverSpec, *, multi: bool) -> Encoder:
    from looseleaf.retrieval.sentence_encoder import SentenceEncoder, SentenceOptions

    options: Any = spec.read_options(SentenceOptions)
    return SentenceEncoder(spec.argument, multi=multi, options=options)


_OWN: dict[str, Callable[[RetrieverSpec], Callable[[], Retriever]]] = {"bm25": _bm25, "random": _random}

LOCAL_ENCODERS: Mapping[str, EncoderMaker] = {"dense": _dense, "late": _late}
"""Encoders that run in this process, by the kind of retriever."""
