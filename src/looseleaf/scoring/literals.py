"""The value that Python's `eval` gives for a text of literals and arithmetic, without `eval`.

Two official scorers hand model output to `eval`. What comes out for plain literals and number expressions is part of
their rule, so it is reproduced here: the text is parsed to a syntax tree (nothing is compiled or run) and the tree is
walked. Names are never looked up in a live scope; calls, methods, comprehensions and lambdas are never run.

Three outcomes:

* a value, for literals, displays, arithmetic, comparisons, boolean and conditional expressions, indexing;
* `UpstreamError(name)`: Python's `eval` raises the exception of that name (`SyntaxError` for prose, `NameError` for
  bare words, `TypeError` for `12 (2020)`, …);
* `UnevaluatedError(reason)`: only running code would tell, or the value would be enormous. Callers flag it.

The exception names are those of Python 3.11.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Mapping
from typing import Any, Final

from looseleaf.scoring.named_objects import NamedObject, UnevaluatedError, UnorderedSet, UpstreamError
from looseleaf.scoring.walker import MAX_BITS, MAX_ITEMS, Walker

__all__ = [
    "MAX_BITS",
    "MAX_ITEMS",
    "MAX_SOURCE",
    "NamedObject",
    "UnevaluatedError",
    "UnorderedSet",
    "UpstreamError",
    "evaluate",
    "flags_of",
]

MAX_SOURCE: Final = 65_536
"""Longest text that is parsed, in characters; the official extractors are cut at 256 tokens."""


def evaluate(text: str, names: Mapping[str, object], flags: list[str] | None = None) -> Any:
    """The value of `text`, as `eval(text)` would give it.

    Args:
        text: what a model or a data file wrote.
        names: what upstream's scope holds under which name: plain data or `NamedObject`.
        flags: takes up what makes the value uncertain: names that were found, and sets whose order varies.

    Raises:
        UpstreamError: `eval` raises on this text.
        UnevaluatedError: the value depends on code that is not run, or is too large to build.
    """
    try:
        tree = _parse(text)
        _refuse_uncompilable(tree, text)
        return Walker(names, [] if flags is None else flags).value(tree)
    except RecursionError:
        raise UnevaluatedError("nested too deeply") from None


def flags_of(text: str, names: Mapping[str, object]) -> tuple[str, ...]:
    """What keeps the value of `text` from being certain; empty for plain literals and for what `eval` refuses."""
    flags: list[str] = []
    try:
        evaluate(text, names, flags)
    except UnevaluatedError as problem:
        flags.append(problem.reason)
    except UpstreamError:
        return ()
    return tuple(flags)


# What the parser may warn about: escapes, and a number that runs into a keyword ("3.5in"). Only then are warnings
# silenced, since that is a setting of the whole process.
_MAY_WARN = re.compile(r"\\|0[xX]|[0-9.][jJ]?(?:and|else|for|if|in|is|or|not)")
_WARNINGS_LOCK = threading.Lock()


def _parse(text: str) -> ast.expr:
    if len(text) > MAX_SOURCE:
        raise UnevaluatedError(f"longer than {MAX_SOURCE} characters")
    if "\0" in text:
        raise UpstreamError("ValueError")
    source = text.lstrip(" \t")  # `eval` does this to a string before it parses it
    try:
        if not _MAY_WARN.search(source):
            return ast.parse(source, mode="eval").body
        with _WARNINGS_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UpstreamError(type(error).__name__) from None


_SYNTAX_HINTS = ("yield", "await", "async", "=")


def _refuse_uncompilable(tree: ast.expr, text: str) -> None:
    """Raise for what parses but does not compile outside a function."""
    if not any(hint in text for hint in _SYNTAX_HINTS):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            raise UpstreamError("SyntaxError")
        if isinstance(node, ast.comprehension) and node.is_async:
            raise UpstreamError("SyntaxError")
        if isinstance(node, ast.Call):
            keywords = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
            if len(set(keywords)) != len(keywords):
                raise UpstreamError("SyntaxError")
