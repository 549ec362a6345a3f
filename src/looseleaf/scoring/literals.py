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
import operator
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from looseleaf.scoring.operations import BINARY, COMPARE, UNARY, built_items, integer_bits

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

MAX_BITS: Final = 131_072
"""Bits that the products and powers of one text may have together; Python refuses to print more than 4,300 digits."""

MAX_ITEMS: Final = 100_000
"""Elements and characters that one text may build out of others (`[0] * 9`, `[0] + [1]`, slices) together."""


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
        return _Walker(names, [] if flags is None else flags).value(tree)
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


_SINGLETONS = (None, True, False, ...)
_NUMBERS = (int, float, complex)


class _Walker:
    """Walks one syntax tree in Python's order of evaluation."""

    def __init__(self, names: Mapping[str, object], flags: list[str]) -> None:
        self._names = names
        self._flags = flags
        self._bits_left = MAX_BITS
        self._items_left = MAX_ITEMS

    def value(self, node: ast.expr) -> Any:
        # Displays are unrolled here, not in a method of their own, so that a nested list costs one frame a level.
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items: list[Any] = []
            for element in node.elts:
                if isinstance(element, ast.Starred):
                    items.extend(self._iterated(self.value(element.value)))
                else:
                    items.append(self.value(element))
            if isinstance(node, ast.List):
                return items
            return tuple(items) if isinstance(node, ast.Tuple) else self._as_set(items, node.elts)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnevaluatedError(f"a {type(node).__name__} is not run")
        return method(node)

    @staticmethod
    def _iterated(value: Any) -> Iterable[Any]:
        if isinstance(value, UnorderedSet):
            return value.items
        if isinstance(value, NamedObject) and not value.inert:
            raise UnevaluatedError("unpacking a named object")
        return _guarded(list, value)  # type: ignore[no-any-return]

    def _name(self, node: ast.Name) -> Any:
        if node.id == "__debug__":
            return True
        if node.id not in self._names:
            raise UpstreamError("NameError")
        self._flags.append(f"the name {node.id}")
        return self._names[node.id]

    def _as_set(self, items: list[Any], elements: list[ast.expr]) -> Any:
        built = _guarded(set, items)
        if len(built) <= 1:
            return built
        if all(map(_hashes_alike, items)):
            # Numbers that collide in the table come out in another order when the compiler has made a constant of
            # the whole set: it builds a frozenset twice and copies it.
            constant = len(elements) >= LEAST_CONSTANT_SET and all(map(_is_folded, elements))
            return set().union(frozenset(tuple(frozenset(items)))) if constant else built
        # Text is hashed with a seed that changes from process to process, and with it the order of a set; the order
        # of writing stands in for it, so that a score does not change from run to run.
        self._flags.append("the order of a set of texts")
        return UnorderedSet(list(dict.fromkeys(items)))

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        built: list[tuple[Any, Any]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                mapping = self.value(value)
                if not isinstance(mapping, dict):
                    raise UpstreamError("TypeError")
                built.extend(mapping.items())
            else:
                built.append((self.value(key), self.value(value)))
        return _guarded(dict, built)  # type: ignore[no-any-return]

    def _binop(self, node: ast.BinOp) -> Any:
        # A left-leaning chain ("1+1+1+…") is unrolled: it may be thousands of operators deep.
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        value = self.value(left)
        for step in reversed(chain):
            value = self._combined(step.op, value, self.value(step.right))
        return value

    def _combined(self, op: ast.operator, left: Any, right: Any) -> Any:
        for operand in (left, right):
            if isinstance(operand, NamedObject) and _may_have(op, operand):
                raise UnevaluatedError("an operator on a named object")
        if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)) and str(left).count("%"):
            raise UnevaluatedError("string formatting is not run")
        self._spend(integer_bits(op, left, right), built_items(op, left, right))
        return _guarded(BINARY[type(op)], left, right)

    def _spend(self, bits: int, items: int) -> None:
        self._bits_left -= bits
        self._items_left -= items
        if self._bits_left < 0 or self._items_left < 0:
            raise UnevaluatedError("too large to build")

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(operand, bool) and isinstance(node.op, ast.Invert):
            operand = int(operand)  # the same value, without the warning of newer Pythons
        return _guarded(UNARY[type(node.op)], operand)

    def _boolop(self, node: ast.BoolOp) -> Any:
        stop_at = isinstance(node.op, ast.Or)
        value: Any = None
        for operand in node.values:
            value = self.value(operand)
            if bool(value) is stop_at:
                return value
        return value

    def _compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        result: Any = True
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            result = _compared(op, left, right)
            if not result:
                return result
            left = right
        return result

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        self.value(node.value)
        raise UnevaluatedError("an assignment is not run")

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.value(part)) for part in node.values)

    def _formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.value(node.value)
        if node.format_spec is not None or isinstance(value, NamedObject):
            raise UnevaluatedError("a format specification is not run")
        convert = {ord("r"): repr, ord("a"): ascii}.get(node.conversion, str)
        return _guarded(convert, value)  # type: ignore[no-any-return]

    def _subscript(self, node: ast.Subscript) -> Any:
        container = self.value(node.value)
        index = self.value(node.slice)
        if isinstance(container, NamedObject) and (not container.inert or container.type_name == "type"):
            raise UnevaluatedError("indexing a named object")  # list[int] is a type
        if isinstance(index, slice) and isinstance(container, (str, bytes, list, tuple)):
            self._spend(0, len(container))
        return _guarded(operator.getitem, container, index)

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part) for part in parts))

    def _attribute(self, node: ast.Attribute) -> Any:
        self._check_attribute(node)
        raise UnevaluatedError("an attribute is not looked up")

    def _check_attribute(self, node: ast.Attribute) -> None:
        owner = self.value(node.value)
        if isinstance(owner, NamedObject):
            raise UnevaluatedError("an attribute of a named object")
        if not hasattr(owner, node.attr):
            raise UpstreamError("AttributeError")

    def _call(self, node: ast.Call) -> Any:
        function: Any = None
        if isinstance(node.func, ast.Attribute):
            self._check_attribute(node.func)
        else:
            function = self.value(node.func)
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self._iterated(self.value(argument.value))
            else:
                self.value(argument)
        for keyword in node.keywords:
            self.value(keyword.value)
        if isinstance(node.func, ast.Attribute) or isinstance(function, NamedObject):
            raise UnevaluatedError("a call is not run")
        raise UpstreamError("TypeError")  # "12 (2020)": an int object is not callable

    def _lambda(self, node: ast.Lambda) -> NamedObject:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.value(default)
        self._flags.append("a function, whose text varies")
        return NamedObject("function")

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Any:
        # The first iterable is evaluated before anything else, so an unknown word there is a NameError.
        self._iterated(self.value(node.generators[0].iter))
        raise UnevaluatedError("a comprehension is not run")

    _listcomp = _setcomp = _dictcomp = _generatorexp = _comprehension


def _guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a built-in to plain data; what it raises is what `eval` raises."""
    try:
        return function(*arguments)
    except (RecursionError, UnevaluatedError):
        raise
    except Exception as error:
        raise UpstreamError(type(error).__name__) from None


LEAST_CONSTANT_SET: Final = 3
"""Displays of fewer constants are built element by element (CPython's compiler)."""


def _is_folded(node: ast.expr) -> bool:
    """Whether the compiler turns the expression into a constant before it builds the set around it."""
    if isinstance(node, ast.UnaryOp):
        return _is_folded(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_folded(node.left) and _is_folded(node.right)
    if isinstance(node, ast.Tuple):
        return all(map(_is_folded, node.elts))
    return isinstance(node, ast.Constant)


def _hashes_alike(item: Any) -> bool:
    """Whether the hash is the same in every process."""
    if isinstance(item, tuple):
        return all(map(_hashes_alike, item))
    return isinstance(item, _NUMBERS)


class UnorderedSet(NamedObject):
    """A set whose order upstream varies from process to process; `items` are in order of writing."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__("set", "{" + ", ".join(map(repr, items)) + "}")
        self.items = items

    __hash__ = None  # type: ignore[assignment]  # as a set

    def __bool__(self) -> bool:
        return bool(self.items)


def _may_have(op: ast.operator, operand: NamedObject) -> bool:
    """Whether the object may have the operator; if not, applying it raises what it raises upstream."""
    if isinstance(operand, UnorderedSet):
        return isinstance(op, (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub))
    return not operand.inert or (operand.type_name == "type" and isinstance(op, ast.BitOr))


def _compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    if any(isinstance(side, NamedObject) and not side.inert for side in (left, right)):
        raise UnevaluatedError("comparing a named object")
    if isinstance(op, (ast.Is, ast.IsNot)):
        return _identical(left, right) is isinstance(op, ast.Is)
    return _guarded(COMPARE[type(op)], left, right)


def _identical(left: Any, right: Any) -> bool:
    if any(left is one or right is one for one in _SINGLETONS) or isinstance(left, NamedObject):
        return left is right
    if type(left) is type(right) and left == right:
        raise UnevaluatedError("identity of two equal values")
    return False
