"""What went wrong with a request, told from a server's status and words: `Fault`, and the sentence for each.

Wordings are those of vLLM, SGLang, llama.cpp, Ollama, TGI, OpenAI, Anthropic, Gemini, Mistral, Groq and Together.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, NamedTuple

__all__ = ["Fault", "FaultKind", "error_words", "fault_of_status", "sentence"]


class FaultKind(StrEnum):
    """What kind of fault, which decides what to do."""

    OVERFLOW = "overflow"
    """The conversation does not fit the model's context."""
    TOO_LARGE = "too_large"
    """The request has more bytes than the server takes."""
    IMAGES = "images"
    """The model takes no images."""
    IMAGE_COUNT = "image_count"
    """The request holds more images than the server takes."""
    TOOLS = "tools"
    """The server takes no tool calls."""
    SCHEMA = "schema"
    """The server takes no JSON schema."""
    KEY = "key"
    """The key is missing, wrong or not allowed to do this."""
    CREDIT = "credit"
    """The account has no credit left."""
    MODEL = "model"
    """There is no such model."""
    URL = "url"
    """There is no such path: the base URL is wrong."""
    PARAMETER = "parameter"
    """The server refuses something else about the request."""
    PASSING = "passing"
    """A fault that may pass: too many requests, server trouble."""
    SLOW = "slow"
    """No whole answer in time; it may pass, and waiting for it costs a whole timeout."""


class Fault(NamedTuple):
    """One fault.

    Attributes:
        kind: what to do about it.
        status: HTTP status, or 0 where there was none.
        words: the server's own words, shortened, without keys.
        retry_after: seconds that the server asks to wait, if it does.
        server: base URL of the server, where a role has several.
        unreachable: whether not even a connection could be made.
    """

    kind: FaultKind
    status: int
    words: str
    retry_after: float | None = None
    server: str = ""
    unreachable: bool = False


MAX_WORDS = 300
"""Most characters of a server's own words in a message."""

PASSING_STATUS = frozenset({408, 409, 425, 429})
"""Statuses below 500 that are worth another attempt (httpx and the openai SDK retry 408, 409 and 429)."""

_WORDINGS: tuple[tuple[FaultKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            FaultKind.OVERFLOW,
            r"context_length_exceeded|exceed_context_size|maximum (?:context|prompt|model|input) length|context window"
            r"|longer than the (?:model's context length|maximum model length)|available context size"
            r"|prompt is too long"
            r"|exceed(?:s|ed)? (?:the )?(?:model'?s? )?(?:maximum )?(?:context|(?:allowed )?input length)"
            r"|input (?:token count|length).{0,40}exceeds|reduce the length of the (?:messages|input|prompt)"
            r"|`inputs` tokens \+ `max_new_tokens`|tokens? exceed(?:s)? the configured limit|too many input tokens",
        ),
        (
            FaultKind.IMAGE_COUNT,
            r"at most \d+ image|too many images|up to \d+ images|maximum (?:number )?of \d+ images",
        ),
        (
            FaultKind.IMAGES,
            r"not a multimodal model|does not support (?:image|vision|multimodal)|image input is not supported"
            r"|(?:image|vision|multimodal)s?(?: inputs?| content)? (?:is|are) not supported|no vision|text-only model"
            r"|image_url.{0,40}(?:only supported by certain models|not supported|invalid|unexpected)"
            r"|support image input|allowed values.{0,10}'text'|expected `?text`?|mmproj",
        ),
        (
            FaultKind.TOOLS,
            r"tool-call-parser|tool choice requires|does not support (?:tools|tool|function)"
            r"|tools? (?:param|is not|are not|calling is not)|--jinja|\bunsupported.{0,40}['\"]?tools?\b",
        ),
        (FaultKind.SCHEMA, r"response_format|json_schema|structured output|guided (?:decoding|json)|grammar"),
        (
            FaultKind.CREDIT,
            r"insufficient_quota|insufficient (?:credit|balance|funds)|credit balance|billing|payment required",
        ),
        (
            FaultKind.KEY,
            r"(?:invalid|incorrect|missing|no|wrong).{0,12}(?:api[ _-]?key|credentials|token)|api key not valid",
        ),
        (
            FaultKind.MODEL,
            r"model.{0,120}(?:not found|does not exist|not exist|unknown|not available|not a valid)"
            r"|(?:unknown|no such|invalid) model|not a valid model|is not a local folder|server is pinned to",
        ),
    )
)
"""Kinds by wording, first match wins; only read for statuses that say little by themselves."""


def fault_of_status(status: int, words: str, retry_after: float | None = None) -> Fault:
    """The fault behind a response that is not a completion.

    Args:
        status: HTTP status; 200 for an error object in a success.
        words: all that the server said.
        retry_after: seconds that it asks to wait.
    """
    return Fault(_kind(status, words), status, _shortened(words).rstrip("."), retry_after)


def _kind(status: int, words: str) -> FaultKind:
    spoken = next((kind for kind, pattern in _WORDINGS if pattern.search(words)), None)
    if spoken is FaultKind.OVERFLOW and status not in {401, 403, 404, 429}:
        return spoken
    if status == 413:
        return FaultKind.TOO_LARGE
    if status == 402 or spoken is FaultKind.CREDIT:
        return FaultKind.CREDIT
    if status in {401, 403}:
        return FaultKind.KEY
    if status in {404, 405}:
        return spoken if spoken in {FaultKind.MODEL, FaultKind.IMAGES, FaultKind.TOOLS} else _missing(words)
    if status in PASSING_STATUS:
        return FaultKind.PASSING
    if spoken in {FaultKind.IMAGES, FaultKind.IMAGE_COUNT, FaultKind.TOOLS}:
        return spoken  # also with status 500: llama.cpp and Ollama say it so
    if status >= 500 or status == 200:
        return FaultKind.PASSING
    return spoken or FaultKind.PARAMETER


def _missing(words: str) -> FaultKind:
    """A bare 404: about the model if the words name one, else about the path."""
    return FaultKind.MODEL if re.search(r"\bmodels?\b", words, re.IGNORECASE) else FaultKind.URL


def _shortened(words: str) -> str:
    flat = " ".join(words.split())
    return flat if len(flat) <= MAX_WORDS else flat[:MAX_WORDS] + "…"


def error_words(error: Any) -> str:
    """The words of an error object of any shape, its code and type included."""
    if isinstance(error, dict):
        inner = error.get("error", error)
        if isinstance(inner, dict):
            named = (str(inner[name]) for name in ("message", "detail", "code", "type") if inner.get(name))
            return " ".join(named) or str(inner)
        return str(inner)
    return str(error)


_SENTENCES: dict[FaultKind, str] = {
    FaultKind.OVERFLOW: "The conversation does not fit the context of {model}{said}; keep fewer images (images_kept), "
    "make them smaller (max_image_pixels), or serve the model with a longer context.",
    FaultKind.TOO_LARGE: "The server at {url} refuses requests of this size{said}; make the images smaller "
    "(max_image_pixels), keep fewer of them (images_kept), or raise the server's limit on the request body.",
    FaultKind.IMAGES: "{model} at {url} does not take images{said}; choose a vision model, or let it read the text "
    'layer with pages = "text".',
    FaultKind.IMAGE_COUNT: "The server at {url} takes fewer images in a request than this run needs{said}; lower "
    "images_kept, or raise the server's limit (vLLM: --limit-mm-per-prompt).",
    FaultKind.TOOLS: 'The server at {url} does not take tool calls for {model}{said}; use actions = "json" or '
    '"tags", or start it with a tool parser.',
    FaultKind.SCHEMA: "The server at {url} does not take a JSON schema{said}; set structured = false.",
    FaultKind.KEY: "The server at {url} refuses {key}{said}; check that it is the right one for this server.",
    FaultKind.CREDIT: "The account at {url} has no credit left{said}; add some and run the same command again.",
    FaultKind.MODEL: "The server at {url} has no model {model}{said}; check the name after openai:.",
    FaultKind.URL: "There is no chat model under {url}{said}; check the base URL, which usually ends in /v1.",
    FaultKind.PARAMETER: "The server at {url} refuses the request{said}; change or leave out the option that it names "
    '(for a seed send_seed = false, for a temperature temperature = "default").',
    FaultKind.SLOW: "The server at {url} gave no answer in time{said}; raise timeout or send less at once "
    "(max_in_flight), and run the same command again.",
    FaultKind.PASSING: "The server at {url} did not answer{said}; check the base URL and that it is up, and run the "
    "same command again.",
}
"""One sentence for each kind: what happened, and what to change."""

NO_KEY_NAMED = "requests without a key (put it into an environment variable and name that with key_env)"


def sentence(fault: Fault, model: str, base_url: str, key_variable: str) -> str:
    """What happened and what to change, in one sentence.

    Args:
        fault: what happened.
        model: name of the model.
        base_url: of the server, where the fault does not name it.
        key_variable: environment variable of the key that was sent, or empty.
    """
    said = fault.words or (f"status {fault.status}" if fault.status else "")
    return _SENTENCES[fault.kind].format(
        model=model,
        url=fault.server or base_url,
        said=f' (it says: "{said}")' if said else "",
        key=f"the key in {key_variable}" if key_variable else NO_KEY_NAMED,
    )
