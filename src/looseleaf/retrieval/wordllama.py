"""WordLlama: static token vectors, averaged over windows of a page. Dense text without torch, in 16 MB.

The weights and the tokenizer are those of the `wordllama` package (MIT; github.com/dleemiller/WordLlama): the
token embeddings of large language models, reduced to 256 dimensions for sentence similarity. They are read from
the package's folder. The package itself is not imported: it sets up logging for the whole process and loads an HTTP
client, and its own loader looks for the tokenizer on a model hub.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from looseleaf.document import Document
from looseleaf.errors import ConfigError
from looseleaf.retrieval.encoder import PageContent, encoder_id
from looseleaf.retrieval.index_key import digest
from looseleaf.retrieval.retriever import RetrieverFamily
from looseleaf.retrieval.token_windows import token_windows
from looseleaf.retrieval.vectors import Vectors

__all__ = ["WordLlamaEncoder"]

WEIGHTS = "weights/l2_supercat_256.safetensors"
TENSOR = "embedding.weight"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
WINDOW = 64
"""Tokens of a window; of six lengths the best on 192 questions of MMLongBench-Doc (`docs/design/retrieval.md`)."""
OVERLAP = 16
"""Tokens that neighbouring windows share."""
VERSION = 1
"""Raised when the same text would come to have other vectors."""


class WordLlamaEncoder:
    """Mean token vectors of windows, of length 1.

    Raises:
        ConfigError: the package is not installed.
    """

    family = RetrieverFamily.SINGLE_VECTOR

    def __init__(self) -> None:
        self._folder = package_folder("wordllama", "pip install 'looseleaf[dense]'")
        self.id = encoder_id("wordllama", version=VERSION, weights=WEIGHTS, window=WINDOW, overlap=OVERLAP)

    def content(self, document: Document) -> str:
        """Digest of the pages' texts."""
        return digest(document.texts())

    def encode_pages(self, pages: Iterable[PageContent]) -> Iterator[Vectors]:
        """One vector a window."""
        for page in pages:
            windows = token_windows(self._tokens(page.text()), WINDOW, OVERLAP)
            means = [self._mean(window) for window in windows]
            yield np.array(means, dtype=np.float32) if means else np.zeros((0, 0), np.float32)

    def encode_query(self, query: str) -> Vectors:
        """One vector, or none for a query without tokens."""
        tokens = self._tokens(query)
        return self._mean(tokens)[None] if tokens else np.zeros((0, self._weights.shape[1]), np.float32)

    def _mean(self, tokens: Any) -> Vectors:
        mean = self._weights[np.asarray(tokens)].mean(axis=0, dtype=np.float32)
        length = np.linalg.norm(mean)
        return np.asarray(mean / length if length else mean, dtype=np.float32)

    def _tokens(self, text: str) -> list[int]:
        if not text.strip():
            return []
        found: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return found

    @cached_property
    def _weights(self) -> Any:
        """Token vectors, (tokens, 256), in half precision."""
        return load_tensors(self._folder / WEIGHTS)[TENSOR]

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self._folder / TOKENIZER)


def package_folder(package: str, install: str) -> Path:
    """Folder of an installed package that ships a model, without importing it.

    Raises:
        ConfigError: it is not installed; `install` says what to do.
    """
    found, *readers = (importlib.util.find_spec(name) for name in (package, "tokenizers", "safetensors"))
    if found is None or not found.origin or None in readers:
        raise ConfigError(f"The model of {package} is not installed; run: {install}")
    return Path(found.origin).parent


def load_tensors(path: Path) -> Any:
    """Arrays of a safetensors file, by name."""
    from safetensors.numpy import load_file

    return load_file(path)


def load_tokenizer(path: Path) -> Any:
    """A tokenizer that neither pads nor cuts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
