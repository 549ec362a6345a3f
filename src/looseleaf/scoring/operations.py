"""Python's operators on plain data, and how much an operation would build."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

__all__ = ["BINARY", "COMPARE", "UNARY", "built_items", "integer_bits"]

BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
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
UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}


def integer_bits(op: ast.operator, left: Any, right: Any) -> int:
    """Bits of the integer that an operation builds; 0 where it is no larger than what it is built from."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return 0
    if isinstance(op, ast.Mult):
        return left.bit_length() + right.bit_length()
    if isinstance(op, ast.Pow):
        return left.bit_length() * max(right, 0) if abs(left) > 1 else 1
    return left.bit_length() + max(right, 0) if isinstance(op, ast.LShift) else 0


def built_items(op: ast.operator, left: Any, right: Any) -> int:
    """Elements and characters that a concatenation or repetition builds; 0 for other operations."""
    if isinstance(op, ast.Add) and isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
        return len(left) + len(right)
    if not isinstance(op, ast.Mult):
        return 0
    if isinstance(left, int):
        left, right = right, left
    if not (isinstance(left, _SEQUENCES) and isinstance(right, int)):
        return 0
    return _weight(left) * max(right, 0)


_SEQUENCES = (str, bytes, list, tuple)


def _weight(value: Any) -> int:
    """Number of characters and elements, nested ones counted each time that they are reached."""
    if isinstance(value, (str, bytes)):
        return len(value) + 1
    if isinstance(value, dict):
        return 1 + sum(_weight(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple, set)):
        return 1 + sum(map(_weight, value))
    return 1
