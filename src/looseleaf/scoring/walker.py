"""Walks a syntax tree of literals and arithmetic to the value that Python gives it; nothing is compiled or run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from looseleaf.scoring.named_objects import NamedObject, UnevaluatedError, UnorderedSet, UpstreamError
from looseleaf.scoring.operations import BINARY, COMPARE, UNARY, built_items, integer_bits

__all__ = ["MAX_BITS", "MAX_ITEMS", "Walker"]

MAX_BITS: Final = 131_072
"""Bits that the products and powers of one text may have together; Python refuses to print more than 4,300 digits."""

MAX_ITEMS: Final = 100_000
"""Elements and characters that one text may build out of others (`[0] * 9`, `[0] + [1]`, slices) together."""

_SINGLETONS = (None, True, False, ...)
_NUMBERS = (int, float, complex)


class Walker:
    """Walks one syntax tree in Python's order of evaluation."""

    def __init__(self, names: Mapping[str, object], flags: list[str]) -> None:
        self._names = names
        self._flags = flags
        self._bits_left = MAX_BITS
        self._items_left = MAX_ITEMS

    def value(self, node: ast.expr) -> Any:
        """The value of an expression.

        Raises:
            UpstreamError: evaluating it raises.
            UnevaluatedError: it would have to be run, or is too large to build.
            RecursionError: it is nested too deeply.
        """
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
