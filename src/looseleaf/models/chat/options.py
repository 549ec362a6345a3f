"""`ChatOptions`: the settings of a chat model, read from a role's options."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.models.role_spec import RoleName, RoleSpec

__all__ = ["OPENAI_URL", "ChatOptions"]

OPENAI_URL = "https://api.openai.com/v1"
"""Where `openai:MODEL` without a base URL goes."""

MAX_TOKENS: dict[RoleName, int] = {"policy": 2048, "reader": 512, "extractor": 512, "judge": 512}
"""Longest reply by role. 512 for the extractor: at upstream's 256 long lists are cut and do not parse
(MMLongBench-Doc, eval/extract_answer.py)."""

SECRET_NAMES = frozenset({"key", "api_key", "apikey", "token", "secret", "password", "authorization"})


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to reach a chat model and how to ask it.

    Attributes:
        base_url: the server, up to and including `/v1`; by default the first of `base_urls`.
        base_urls: further servers of the same model, which share the requests (`ChatServers`). Replies and results are
            recorded under `base_url`, so these may come and go.
        key_env: NAME of the environment variable that holds the key; by default the one of a known host, else none.
        actions: how a policy writes actions; by default the protocol's format, with JSON where a server has no tools.
        structured: ask for JSON by schema; by default where the server accepts it.
        pages: what a policy sees of a page: its image, its text layer, or both.
        text_chars: most characters of one page's text layer.
        temperature: sampling temperature; `"default"` leaves it to the server.
        top_p: nucleus sampling; not sent by default.
        max_tokens: longest reply; by default `MAX_TOKENS` of the role.
        send_seed: whether to send the seed of the sample (some servers refuse the parameter).
        suppress: token ids that may never be generated (ALDEN suppresses image tokens: logit bias -100).
        extra: further fields of the request body, as they are.
        images_kept: page images that stay in the conversation, the newest; older ones become a line of text.
            By default all stay.
        max_image_pixels: pages are made smaller until width × height is at most this, below the protocol's own cap.
        max_image_side: pages are made smaller until no side is longer (AWM's author: 768 in training).
        image_token_budget: most tokens that the pages of one observation may take together; they are made smaller
            alike. Default 96,000 for pages that a protocol shows all at once, none elsewhere.
        image_family: whose image tokens to count with (`looseleaf.models.chat.image_tokens`); guessed by default.
        prompt: file with one's own prompt in place of the shipped one.
        timeout: seconds for one request, from sending to the last byte.
        retries: further attempts after a fault that may pass.
        max_in_flight: requests of this role in flight.
        max_tokens_in_flight: estimated tokens of this role in flight; `None` = no limit.
        prices: the user's price table, a TOML file.
        cache: whether replies are kept on disk and used again for the same request.
    """

    base_url: str = OPENAI_URL
    base_urls: tuple[str, ...] = ()
    key_env: str = ""
    actions: Literal["tools", "tags", "json"] | None = None
    structured: bool | None = None
    pages: Literal["images", "text", "both"] = "images"
    text_chars: int = 6000
    temperature: float | Literal["default"] = 0.0
    top_p: float | None = None
    max_tokens: int = 0
    send_seed: bool = True
    suppress: tuple[int, ...] = ()
    extra: dict[str, Any] = {}
    images_kept: int | None = None
    max_image_pixels: int | None = None
    max_image_side: int | None = None
    image_token_budget: int | None = None
    image_family: str = ""
    prompt: str = ""
    timeout: float = 600.0
    retries: int = 8
    max_in_flight: int = 64
    max_tokens_in_flight: int | None = None
    prices: str = ""
    cache: bool = True

    @classmethod
    def of(cls, role: RoleName, spec: RoleSpec, **defaults: Any) -> ChatOptions:
        """Read and check the options of a role.

        Args:
            role: which role, for its default length of a reply.
            spec: the role as given.
            defaults: defaults of the backend that differ.

        Raises:
            ConfigError: an option is unknown or has no usable value, or a key was given.
        """
        _refuse_secrets(spec.options)
        try:
            given = spec.as_config().get("options", {})
            options = msgspec.convert(defaults | given, cls, strict=False)
        except msgspec.ValidationError as problem:
            raise ConfigError(f"An option of {spec.name} cannot be used: {problem}.") from problem
        urls = [url.rstrip("/") for url in (options.base_url, *options.base_urls)]
        options = msgspec.structs.replace(options, base_url=urls[0], base_urls=tuple(dict.fromkeys(urls)))
        _check(options, spec)
        return msgspec.structs.replace(
            options,
            max_tokens=options.max_tokens or MAX_TOKENS[role],
        )


def _refuse_secrets(options: dict[str, Any]) -> None:
    for name in options:
        if name.lower() in SECRET_NAMES:
            raise ConfigError(
                f"Keys are never given as options ({name!r}); put the key into an environment variable and give "
                "the variable's name as key_env."
            )


def _check(options: ChatOptions, spec: RoleSpec) -> None:
    for base_url in options.base_urls:
        _check_url(base_url, spec)
    for name in ("timeout", "max_in_flight", "max_tokens_in_flight", "max_image_pixels", "max_image_side"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            raise ConfigError(f"{name} of {spec.name} is {value}; give a positive number, or leave it out.")
    if options.retries < 0 or (options.images_kept is not None and options.images_kept < 1):
        raise ConfigError(f"retries of {spec.name} must be 0 or more, and images_kept 1 or more.")


def _shown(base_url: str) -> str:
    """The address for a message; what may hold a secret is not repeated."""
    return "given" if set(base_url) & set("@?#") else repr(base_url)


def _check_url(base_url: str, spec: RoleSpec) -> None:
    url = urlsplit(base_url)
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise ConfigError(
            f"The base URL {_shown(base_url)} of {spec.name} is not one; use one like http://127.0.0.1:8000/v1."
        )
    if "@" in url.netloc or url.query or url.fragment:
        raise ConfigError(
            f"The base URL of {spec.name} must hold no user, password or query; put the key into an environment "
            "variable and name it with key_env."
        )
