"""`RetrieverSpec`: which retriever, as one word.

```
bm25                                            a kind
dense:wordllama                                 a kind and its argument
dense-openai:MODEL(pages=image,dpi=100)         options
rrf(bm25,dense:wordllama)                       members
```

Commas and parentheses in a value, and spaces at its ends, are written as in URLs: `query_prompt=query:%20`.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import msgspec

from looseleaf.errors import ConfigError

__all__ = ["FREE_OPTIONS", "RetrieverSpec"]

FREE_OPTIONS = frozenset(
    {"base_url", "key_env", "timeout", "retries", "max_in_flight", "device", "batch", "store"}
)
"""Options that say how and where vectors are made and kept; no result depends on them."""

_WORD = re.compile(r"([a-z][a-z0-9-]*)(?::([^(),]*))?(?=[(),]|$)")
_SPACED_SIGN = re.compile(r"\s*([(),])\s*")
_OPTION = re.compile(r"([a-z_]+)=([^(),]*)(?=[,)])")

_PLAIN = "/:?&=+ @#!;'*[]{}|<>"
"""Signs that stand for themselves in a value, besides letters, digits and `-._~`."""


class RetrieverSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of retriever with its argument, members and options.

    Attributes:
        kind: what comes first.
        argument: what follows the colon: an encoder, a model or `module:factory`.
        members: the retrievers that are fused.
        options: further settings, as strings; never a key.
    """

    kind: str
    argument: str = ""
    members: tuple[RetrieverSpec, ...] = ()
    options: dict[str, str] = {}

    @classmethod
    def parse(cls, text: str) -> RetrieverSpec:
        """Read a spec.

        Raises:
            ConfigError: it is not well formed.
        """
        spec, rest = cls._read(_SPACED_SIGN.sub(r"\1", text.strip()), text)
        if rest:
            raise _malformed(text)
        spec.check_store()
        return spec

    def check_store(self) -> None:
        """Refuse a store's address that holds a secret; it would be written into the configuration of a run.

        Raises:
            ConfigError: it does; the address is not repeated.
        """
        url = urlsplit(self.options.get("store", "").partition(":")[2])
        if url.scheme and (url.query or url.fragment or "@" in url.netloc):
            raise ConfigError(
                f"The store of {self.kind} must hold no user, password or query; put Qdrant's key into "
                "QDRANT_API_KEY, and write qdrant:http://HOST:6333."
            )
        for member in self.members:
            member.check_store()

    @classmethod
    def _read(cls, text: str, whole: str) -> tuple[RetrieverSpec, str]:
        """One spec at the start of the text, and what follows it."""
        word = _WORD.match(text)
        if not word:
            raise _malformed(whole)
        rest = text[word.end() :]
        members: list[RetrieverSpec] = []
        options: dict[str, str] = {}
        if rest.startswith("()"):
            rest = rest[2:]
        elif rest.startswith("("):
            while not rest.startswith(")"):
                rest = rest[1:]
                if option := _OPTION.match(rest):
                    options[option[1]], rest = unquote(option[2]), rest[option.end() :]
                else:
                    member, rest = cls._read(rest, whole)
                    members.append(member)
                if not rest:
                    raise _malformed(whole)
            rest = rest[1:]
        spec = cls(kind=word[1], argument=word[2] or "", members=tuple(members), options=options)
        return spec, rest

    @property
    def text(self) -> str:
        """The spec with all its options, in one order."""
        return self._written(self.options)

    @property
    def name(self) -> str:
        """What results depend on: the spec without `FREE_OPTIONS`."""
        return self._written(
            {name: value for name, value in self.options.items() if name not in FREE_OPTIONS}, named=True
        )

    def _written(self, options: dict[str, str], *, named: bool = False) -> str:
        head = f"{self.kind}:{self.argument}" if self.argument else self.kind
        inner = [member.name if named else member.text for member in self.members]
        inner += [f"{name}={_quoted(options[name])}" for name in sorted(options)]
        return f"{head}({','.join(inner)})" if inner else head

    def read_options(self, kind: type[Any]) -> Any:
        """The options as a struct.

        Raises:
            ConfigError: one is unknown or has no usable value.
        """
        given = {name: value for name, value in self.options.items() if name != "store"}
        try:
            return msgspec.convert(given, kind, strict=False)
        except msgspec.ValidationError as problem:
            raise ConfigError(
                f"An option of the retriever {self.name} cannot be used: {problem}."
            ) from problem


def _quoted(value: str) -> str:
    """A value as it is written: spaces at its ends would be lost."""
    inner = value.strip()
    before, _, after = value.partition(inner) if inner else (value, "", "")
    return quote(before) + quote(inner, safe=_PLAIN) + quote(after)


def _malformed(text: str) -> ConfigError:
    return ConfigError(
        f"The retriever {text!r} is not well formed; write it like bm25, dense:wordllama, "
        "dense-openai:MODEL(base_url=http://127.0.0.1:8000/v1) or rrf(bm25,dense:wordllama)."
    )
