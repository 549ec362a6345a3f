"""What comes out of upstream's `eval` besides plain data: exceptions, what is not evaluated, objects by name."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["NamedObject", "UnevaluatedError", "UnorderedSet", "UpstreamError"]


class UpstreamError(Exception):
    """Python's `eval` raises on this text; `name` is the name of the exception type."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class UnevaluatedError(Exception):
    """The text needs live code (or more memory than an answer is worth), so it has no value here."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_INERT_TYPES: Final = frozenset(
    {
        "builtin_function_or_method",
        "function",
        "method",
        "module",
        "type",
        "NotImplementedType",
        "Quitter",
        "_Helper",
        "_Printer",
    }
)


class NamedObject:
    """Stands for an object that upstream's scope holds under a name, e.g. the built-in `max`.

    Attributes:
        type_name: name of the object's type upstream.
        text: what `str()` of the object gives upstream; `None` = unknown here, or different from run to run.
    """

    def __init__(self, type_name: str, text: str | None = None) -> None:
        self.type_name = type_name
        self.text = text

    @property
    def inert(self) -> bool:
        """Whether the object is true, equals only itself, and has no operators, items or length."""
        return self.type_name in _INERT_TYPES

    def __bool__(self) -> bool:
        if not self.inert:
            raise UnevaluatedError(f"the truth of a {self.type_name} object is unknown")
        return True

    def __repr__(self) -> str:
        if self.text is None:
            raise UnevaluatedError(f"the text of a {self.type_name} object is unknown")
        return self.text


class UnorderedSet(NamedObject):
    """A set whose order upstream varies from process to process; `items` are in order of writing."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__("set", "{" + ", ".join(map(repr, items)) + "}")
        self.items = items

    __hash__ = None  # type: ignore[assignment]  # as a set

    def __bool__(self) -> bool:
        return bool(self.items)
