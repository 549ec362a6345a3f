"""The value that Python's `eval` gives for a text of literals and arithmetic, without `eval`.

Two official scorers hand model output to `eval`. What comes out for plain literals and number expressions is part of
their rule, so it is reproduced here: the text is parsed to a syntax tree (nothing is compiled or run) and the tree is
walked. Names are never looked up in a live scope; calls, methods, comprehensions and lambdas are never run.

Three outcomes:

* a value, for literals, displays, arithmetic, comparisons, boolean and conditional expressions, indexing;
* `Raised(name)`: Python's `eval` raises the exception of that name (`SyntaxError` for prose, `NameError` for bare
  words, `TypeError` for `12 (2020)`, …);
* `NotEvaluated(reason)`: only running code would tell, or the value would be enormous. Callers flag it.

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

__all__ = [
    "MAX_BITS",
    "MAX_ITEMS",
    "MAX_SOURCE",
    "NamedObject",
    "NotEvaluated",
    "Raised",
    "UnorderedSet",
    "evaluate",
]

MAX_SOURCE: Final = 65_536
"""Longest text that is parsed, in characters; the official extractors are cut at 256 tokens."""

MAX_BITS: Final = 400_000
"""Bits that the products and powers of one text may have together; Python refuses to print more than 4,300 digits."""

MAX_ITEMS: Final = 100_000
"""Elements and characters that the repetitions of one text (`[0] * 9`) may build together."""


class Raised(Exception):
    """Python's `eval` raises on this text; `name` is the name of the exception type."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class NotEvaluated(Exception):
    """The text needs live code (or more memory than an answer is worth), so it has no value here."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NamedObject:
    """Stands for an object that upstream's scope holds under a name, e.g. the built-in `max`.

    Attributes:
        type_name: name of the object's type upstream.
        text: what `str()` of the object gives upstream, as far as that does not vary from run to run.
    """

    def __init__(self, type_name: str, text: str) -> None:
        self.type_name = type_name
        self.text = text

    def __repr__(self) -> str:
        return self.text


def evaluate(text: str, names: Mapping[str, object] | None = None) -> Any:
    """The value of `text`, as `eval(text)` would give it.

    Args:
        text: what a model or a data file wrote.
        names: what upstream's scope holds under which name: plain data or `NamedObject`.

    Raises:
        Raised: `eval` raises on this text.
        NotEvaluated: the value depends on code that is not run, or is too large to build.
    """
    try:
        tree = _parse(text)
        _refuse_uncompilable(tree, text)
        return _Walker(names or {}).value(tree)
    except RecursionError:
        raise NotEvaluated("nested too deeply") from None


# Constructs about which the parser or the compiler may warn: escapes, and a number that runs into a keyword.
_MAY_WARN = re.compile(r"\\|[0-9a-fA-F_.](?:and|else|for|if|in|is|or|not)")
_WARNINGS_LOCK = threading.Lock()


def _parse(text: str) -> ast.expr:
    if len(text) > MAX_SOURCE:
        raise NotEvaluated(f"longer than {MAX_SOURCE} characters")
    if "\0" in text:
        raise Raised("ValueError")
    source = text.lstrip(" \t")  # `eval` does this to a string before it parses it
    try:
        if not _MAY_WARN.search(source):
            return ast.parse(source, mode="eval").body
        with _WARNINGS_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        kind = "SyntaxError" if isinstance(error, SyntaxError) else type(error).__name__
        raise Raised(kind) from None


_SYNTAX_HINTS = ("yield", "await", "async", "=")


def _refuse_uncompilable(tree: ast.expr, text: str) -> None:
    """Raise for what parses but does not compile outside a function."""
    if not any(hint in text for hint in _SYNTAX_HINTS):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            raise Raised("SyntaxError")
        if isinstance(node, ast.comprehension) and node.is_async:
            raise Raised("SyntaxError")
        if isinstance(node, ast.Call):
            keywords = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
            if len(set(keywords)) != len(keywords):
                raise Raised("SyntaxError")


_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
_SINGLETONS = (None, True, False, ...)
_NUMBERS = (int, float, complex)


class _Walker:
    """Walks one syntax tree in Python's order of evaluation."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = names
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
            return tuple(items) if isinstance(node, ast.Tuple) else _as_set(items)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotEvaluated(f"a {type(node).__name__} is not run")
        return method(node)

    @staticmethod
    def _iterated(value: Any) -> Iterable[Any]:
        if isinstance(value, NamedObject):
            raise NotEvaluated("unpacking a named object")
        return _guarded(list, value)  # type: ignore[no-any-return]

    def _name(self, node: ast.Name) -> Any:
        if node.id == "__debug__":
            return True
        if node.id not in self._names:
            raise Raised("NameError")
        return self._names[node.id]

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        built: list[tuple[Any, Any]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                mapping = self.value(value)
                if not isinstance(mapping, dict):
                    raise Raised("TypeError")
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
        if isinstance(left, NamedObject) or isinstance(right, NamedObject):
            if isinstance(op, (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub)):
                raise NotEvaluated("an operator on a named object")  # types and sets have some of these
            raise Raised("TypeError")
        if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
            raise NotEvaluated("string formatting is not run")
        self._bits_left -= _bits(op, left, right)
        self._items_left -= _items(op, left, right)
        if self._bits_left < 0 or self._items_left < 0:
            raise NotEvaluated("enormous")
        return _guarded(_BINARY[type(op)], left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(operand, NamedObject) and not isinstance(node.op, ast.Not):
            raise Raised("TypeError")
        if isinstance(operand, bool) and isinstance(node.op, ast.Invert):
            operand = int(operand)  # the same value, without the warning of newer Pythons
        return _guarded(_UNARY[type(node.op)], operand)

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
        raise NotEvaluated("an assignment is not run")

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.value(part)) for part in node.values)

    def _formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.value(node.value)
        if node.format_spec is not None or isinstance(value, NamedObject):
            raise NotEvaluated("a format specification is not run")
        convert = {ord("r"): repr, ord("a"): ascii}.get(node.conversion, str)
        return _guarded(convert, value)  # type: ignore[no-any-return]

    def _subscript(self, node: ast.Subscript) -> Any:
        container = self.value(node.value)
        index = self.value(node.slice)
        if isinstance(container, NamedObject):
            raise NotEvaluated("indexing a named object")
        return _guarded(operator.getitem, container, index)

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part) for part in parts))

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if not isinstance(owner, NamedObject) and not hasattr(owner, node.attr):
            raise Raised("AttributeError")
        raise NotEvaluated("an attribute is not looked up")

    def _call(self, node: ast.Call) -> Any:
        try:
            callable_upstream = isinstance(self.value(node.func), NamedObject)
        except NotEvaluated:
            callable_upstream = True
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self._iterated(self.value(argument.value))
            else:
                self.value(argument)
        for keyword in node.keywords:
            self.value(keyword.value)
        if callable_upstream:
            raise NotEvaluated("a call is not run")
        raise Raised("TypeError")  # "12 (2020)": an int object is not callable

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Any:
        # The first iterable is evaluated before anything else, so an unknown word there is a NameError.
        self._iterated(self.value(node.generators[0].iter))
        raise NotEvaluated("a comprehension is not run")

    _listcomp = _setcomp = _dictcomp = _generatorexp = _comprehension


def _guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a built-in to plain data; what it raises is what `eval` raises."""
    try:
        return function(*arguments)
    except RecursionError:
        raise
    except Exception as error:
        raise Raised(type(error).__name__) from None


def _as_set(items: list[Any]) -> Any:
    built = _guarded(set, items)
    if all(map(_hashes_alike, items)):
        return built
    # Text is hashed with a seed that changes from process to process, and with it the order of a set; the order
    # of writing stands in for it, so that a score does not change from run to run.
    unique = list(dict.fromkeys(items))
    return UnorderedSet(unique)


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


def _bits(op: ast.operator, left: Any, right: Any) -> int:
    """Size in bits of the integer that an operation builds; 0 for operations that build none larger than their parts."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return 0
    if isinstance(op, ast.Mult):
        return left.bit_length() + right.bit_length()
    if isinstance(op, ast.Pow):
        return left.bit_length() * max(right, 0) if abs(left) > 1 else 1
    return left.bit_length() + max(right, 0) if isinstance(op, ast.LShift) else 0


def _items(op: ast.operator, left: Any, right: Any) -> int:
    """Number of elements and characters that a repetition builds; 0 for other operations."""
    if not isinstance(op, ast.Mult):
        return 0
    if isinstance(left, int):
        left, right = right, left
    if not (isinstance(left, (str, bytes, list, tuple)) and isinstance(right, int)):
        return 0
    return _weight(left) * max(right, 0)


def _weight(value: Any) -> int:
    """Number of characters and elements, nested ones counted each time that they are reached."""
    if isinstance(value, (str, bytes)):
        return len(value) + 1
    if isinstance(value, dict):
        return 1 + sum(_weight(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple, set)):
        return 1 + sum(map(_weight, value))
    return 1


def _compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(left, NamedObject) or isinstance(right, NamedObject):
        raise NotEvaluated("comparing a named object")
    if isinstance(op, (ast.Is, ast.IsNot)):
        if not any(left is one or right is one for one in _SINGLETONS):
            raise NotEvaluated("identity of two values")
        return (left is right) is isinstance(op, ast.Is)
    return _guarded(_COMPARE[type(op)], left, right)
