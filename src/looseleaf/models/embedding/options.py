"""`EmbeddingOptions`: how to reach an embedding model and what to send it."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.models.chat.options import OPENAI_URL
from looseleaf.retrieval.sentence_encoder import RENDER_DPI, RENDER_PIXELS, WINDOW, PageInput

__all__ = ["FREE_NAMES", "EmbeddingOptions"]

FREE_NAMES = frozenset({"base_url", "key_env", "timeout", "retries", "max_in_flight"})
"""Settings that vectors do not depend on: the same model may move to another server."""


class EmbeddingOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an embedding model on a server.

    Attributes:
        base_url: the server, up to and including `/v1`.
        key_env: NAME of the environment variable that holds the key; by default the one of a known host, else none.
        pages: encode pages from their text or from their image.
        window: most characters of a piece of text; 0 sends a page as one piece.
        dpi: resolution of page images.
        max_pixels: most pixels of a page image.
        query_prompt: text before a query.
        page_prompt: text before a page's text, or beside its image.
        system: system message, for models with a chat template that take an instruction (Qwen3-VL-Embedding).
        messages: send queries and texts as chat messages too, for models whose template they must pass through.
        dimensions: ask the model for shorter vectors, where it can.
        truncate: let vLLM cut inputs that are too long for the model instead of refusing them (it alone knows how).
        timeout: seconds for one request.
        retries: further attempts after a fault that may pass.
        max_in_flight: requests in flight while a document is encoded.
    """

    base_url: str = OPENAI_URL
    key_env: str = ""
    pages: PageInput = "text"
    window: int = WINDOW
    dpi: int = RENDER_DPI
    max_pixels: int = RENDER_PIXELS
    query_prompt: str = ""
    page_prompt: str = ""
    system: str = ""
    messages: bool = False
    dimensions: int | None = None
    truncate: bool = False
    timeout: float = 120.0
    retries: int = 5
    max_in_flight: int = 16

    def check(self, name: str) -> None:
        """Refuse what cannot be used.

        Raises:
            ConfigError: a value makes no sense; it is named.
        """
        url = urlsplit(self.base_url)
        if (
            url.scheme not in {"http", "https"}
            or not url.hostname
            or "@" in url.netloc
            or url.query
            or url.fragment
        ):
            # The address itself is not repeated: it may hold a secret.
            raise ConfigError(
                f"The base URL of {name.partition('(')[0]} is not a plain one without user, password and query; "
                "use one like http://127.0.0.1:8000/v1."
            )
        for field in ("timeout", "max_in_flight", "dpi", "max_pixels"):
            if getattr(self, field) <= 0:
                raise ConfigError(f"{field} of {name} is {getattr(self, field)}; give a positive number.")
        if self.window < 0 or self.retries < 0 or (self.dimensions or 1) < 1:
            raise ConfigError(f"window and retries of {name} must be 0 or more, and dimensions 1 or more.")
