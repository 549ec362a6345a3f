"""Models that run in this process with sentence-transformers: single-vector and late interaction, text and images.

`SentenceTransformer` gives one vector an input (ALDEN, arXiv 2510.25668: llamaindex/vdr-2b-v1 for images,
Alibaba-NLP/gte-Qwen2-1.5B-instruct for text), `MultiVectorEncoder` one a token (vidore/colqwen2-v1.0,
jinaai/jina-colbert-v2); the latter needs release 6.0. It returns each input's real vectors, without padding. The number
of dimensions is the model's.
"""

from __future__ import annotations

import importlib.util
import io
import threading
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import msgspec
import numpy as np

from looseleaf.document import Document
from looseleaf.errors import ConfigError, DocumentError, ProviderError, boundary
from looseleaf.retrieval.encoder import PageContent, encoder_id
from looseleaf.retrieval.index_key import digest
from looseleaf.retrieval.retriever import RetrieverFamily
from looseleaf.retrieval.text_windows import text_windows
from looseleaf.retrieval.vectors import Vectors, as_vectors

__all__ = ["RENDER_DPI", "RENDER_PIXELS", "PageInput", "SentenceEncoder", "SentenceOptions"]

RENDER_DPI = 144
"""Resolution of page images."""
RENDER_PIXELS = 862_400
"""Most pixels of a page image (ALDEN, gipplab/ALDEN @ 8a0d3d4: its cap for a page)."""
WINDOW = 8_000
"""Characters of a window of text: some 2,000 tokens. What a model cannot read of it, it leaves out."""

PageInput = Literal["text", "image"]
"""What of a page is encoded."""


class SentenceOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a local model.

    Attributes:
        pages: encode pages from their text or from their image.
        window: most characters of a piece of text; 0 encodes a page as one piece.
        dpi: resolution of page images.
        max_pixels: most pixels of a page image.
        query_prompt: text before a query; by default what the model's own configuration says.
        page_prompt: text before a page; likewise.
        revision: of the model on the hub.
        remote_code: whether the model may bring code of its own.
        device: where it runs; the library chooses by default.
        batch: pages encoded at once.
    """

    pages: PageInput = "text"
    window: int = WINDOW
    dpi: int = RENDER_DPI
    max_pixels: int = RENDER_PIXELS
    query_prompt: str | None = None
    page_prompt: str | None = None
    revision: str | None = None
    remote_code: bool = False
    device: str | None = None
    batch: int = 8


FREE = ("device", "batch")
"""Options that vectors do not depend on."""


class SentenceEncoder:
    """One local model. It answers one thread at a time.

    Args:
        model: name on the hub, or a folder.
        multi: late interaction.
        options: settings.

    Raises:
        ConfigError: sentence-transformers is not installed.
    """

    def __init__(self, model: str, *, multi: bool, options: SentenceOptions) -> None:
        if not model:
            raise ConfigError("A local model needs a name or a folder; write e.g. dense-st:MODEL.")
        if importlib.util.find_spec("sentence_transformers") is None:
            raise ConfigError("Local models need sentence-transformers; run: pip install 'looseleaf[vision]'")
        self._model_name = model
        self._multi = multi
        self._options = options
        self._lock = threading.Lock()
        self.family = RetrieverFamily.MULTI_VECTOR if multi else RetrieverFamily.SINGLE_VECTOR
        settings = {name: value for name, value in msgspec.to_builtins(options).items() if name not in FREE}
        self.id = encoder_id(f"{'late' if multi else 'dense'}-st-{model}", **settings)

    def content(self, document: Document) -> str:
        """Digest of the pages' texts, or how they are rendered."""
        if self._options.pages == "text":
            return digest(document.texts())
        return digest((str(self._options.dpi), str(self._options.max_pixels)))

    def encode_pages(self, pages: Iterable[PageContent]) -> Iterator[Vectors]:
        """Vectors of each page; of a page in several windows, those of all windows."""
        waiting = iter(pages)
        while group := list(islice(waiting, self._options.batch)):
            pieces = [self._pieces(page) for page in group]
            encoded = self._encode([piece for page in pieces for piece in page], query=False)
            for page in pieces:
                own = [encoded.pop(0) for _ in page]
                yield np.concatenate(own) if own else np.zeros((0, 0), np.float32)

    def encode_query(self, query: str) -> Vectors:
        """One vector, or one a token."""
        return self._encode([query], query=True)[0]

    def _pieces(self, page: PageContent) -> list[Any]:
        if self._options.pages == "text":
            return list(text_windows(page.text(), self._options.window))
        from PIL import Image

        try:
            return [Image.open(io.BytesIO(page.jpeg(self._options.dpi, self._options.max_pixels)))]
        except DocumentError:
            return []

    def _encode(self, inputs: list[Any], *, query: bool) -> list[Vectors]:
        if not inputs:
            return []
        method = self._model.encode_query if query else self._model.encode_document
        prompt = self._options.query_prompt if query else self._options.page_prompt
        with self._lock, boundary(ProviderError, f"The model {self._model_name} failed"):
            found = method(
                inputs,
                prompt=prompt,
                batch_size=self._options.batch,
                convert_to_numpy=True,
                normalize_embeddings=not self._multi,
                show_progress_bar=False,
            )
            return [as_vectors(vectors) for vectors in found]

    @cached_property
    def _model(self) -> Any:
        import sentence_transformers

        kind = getattr(
            sentence_transformers, "MultiVectorEncoder" if self._multi else "SentenceTransformer", None
        )
        if kind is None:
            raise ConfigError(
                "Late interaction needs sentence-transformers 6.0; run: pip install 'looseleaf[vision]'"
            )
        try:
            return kind(
                self._model_name,
                device=self._options.device,
                revision=self._options.revision,
                trust_remote_code=self._options.remote_code,
            )
        except Exception as problem:
            raise ConfigError(
                f"The model {self._model_name} cannot be loaded ({type(problem).__name__}: {problem}); check its name."
            ) from problem
