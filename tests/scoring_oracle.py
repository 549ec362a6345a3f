"""Plain re-implementations of two documented scoring rules, to compare the real ones with.

Written from the description of upstream's behaviour alone (MMLongBench-Doc at d73f0dc, `eval/eval_score.py`; LongDocURL
at 3807c0e, `utils/utils_score_v3.py`), slowly and literally, with a dynamic programme for the edit distance. A list in
a string is read as a literal; where upstream would run an expression there is no oracle (`UnknownError`).
"""

from __future__ import annotations

import ast
import contextlib
import math
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["UnknownError", "anls", "distance", "longdocurl", "mmlongbench", "number"]

ANLS_FLOOR = 0.5
REL_TOL = 0.01
DEEP = 50
"""Brackets in a text from which on the parser's own limits may speak."""
_UNSURE = ("\x00", "\ud800", "f'", 'f"', "F'", 'F"')
"""What the parser of one Python version refuses in other words than that of the next."""


class UnknownError(Exception):
    """The rule would run an expression here; the description does not say what comes out."""


def distance(one: str, other: str) -> int:
    """Edit distance by the textbook table, two rows of it."""
    before = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
        before = row
    return before[-1]


def anls(gold: str, prediction: str) -> float:
    """1 - distance / longer length in capitals; nothing at or below one half."""
    longest = max(len(gold.upper()), len(prediction.upper()))
    if longest == 0:
        return 1.0
    value = 1.0 - distance(gold, prediction) / longest
    return 0.0 if value <= ANLS_FLOOR else value


def _no_parentheses(text: str) -> str:
    """Delete white space + "(" up to the first ")", again and again from left to right."""
    kept, rest = "", text
    while True:
        start = rest.find("(")
        end = rest.find(")", start + 1) if start >= 0 else -1
        if end < 0:
            return kept + rest
        kept, rest = kept + rest[:start].rstrip(), rest[end + 1 :]


def _no_quotes(text: str) -> str:
    if text[:1] in ("'", '"'):
        text = text[1:]
    if text[-1:] in ("'", '"'):
        text = text[:-1]
    return text


def clean_mmlongbench(value: Any) -> str:
    """The cleaner of section 2a."""
    text = _no_parentheses(str(value).lower().strip()).strip()
    text = _no_quotes(text).strip()
    text = text.lstrip("$").strip()
    return text.rstrip("%").strip()


UNITS = ("kg", "mm", "m", "meters", "acres", "minutes", "mile", "miles", "million", "thousand", "billion")


def clean_longdocurl(value: Any) -> str:
    """The cleaner of section 2b."""
    text = str(value).lower().strip().replace(",", "")
    for unit in UNITS:
        if text.endswith(unit):
            text = text.rstrip(unit).strip()
    text = _no_parentheses(text).strip()
    text = _no_quotes(text).strip()
    text = text.lstrip("$").strip()
    text = text.lstrip("£").strip()
    return text.rstrip("%").strip()


_WHOLE = (
    r"\d+",
    r"\d+-\d+",
    r"\d+\s\d+",
    r"\d{4}[- ]\d{2}[- ]\d{2}",
    r"\d{4}[- ]\d{2}",
    r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
)


def exact(gold: str) -> bool:
    """Whether a cleaned gold answer has to be met exactly."""
    if "https://" in gold or "a.m." in gold or "p.m." in gold:
        return True
    if gold.endswith((".py", "ipynb")) or gold.startswith("page"):
        return True
    return any(re.fullmatch(pattern, gold) for pattern in _WHOLE)


def _decimals(number: float) -> int:
    text = str(number)
    return len(text.split(".")[1]) if "." in text else 3


def _floats_equal(gold: float, prediction: float) -> bool:
    for candidate in (gold / 100, gold, gold * 100):
        if math.isclose(candidate, prediction, rel_tol=REL_TOL):
            return True
        places = max(min(_decimals(prediction), _decimals(candidate)), 2)
        if round(prediction, places) == round(candidate, places):
            return True
    return False


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text_score(gold: str, prediction: str) -> float:
    return float(gold == prediction) if exact(gold) else anls(gold, prediction)


def _literal(value: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes are text, whatever becomes of warnings
        try:
            return ast.literal_eval(value)
        except SyntaxError:
            if any(hint in value for hint in _UNSURE) or value.count("[") + value.count("(") > DEEP:
                raise UnknownError(value) from None
            raise
        except (ValueError, TypeError, MemoryError, RecursionError) as error:
            raise UnknownError(value) from error


def mmlongbench(gold: Any, prediction: Any, answer_format: str) -> float:
    """Section 2a.

    Raises:
        ValueError: a Float gold that is no number, as upstream.
        SyntaxError: text that starts with "[" and is no expression, as upstream.
        IndexError: empty gold and prediction of a list, as upstream.
        UnknownError: see the class.
    """
    if answer_format == "Int":
        return _int_mmlongbench(gold, prediction)
    if answer_format == "Float":
        number = float(clean_mmlongbench(gold))
        other = _float(clean_mmlongbench(prediction))
        return float(other is not None and _floats_equal(number, other))
    if answer_format in ("Str", "None"):
        return _text_score(clean_mmlongbench(gold), clean_mmlongbench(prediction))
    return _list_mmlongbench(_listed(gold), _listed(prediction))


def _int_mmlongbench(gold: Any, prediction: Any) -> float:
    try:
        return float(int(gold) == int(float(prediction)))
    except (ValueError, TypeError, OverflowError):
        return float(gold == "")


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str) and value.startswith("["):
        value = _literal(value)
    return value if isinstance(value, list) else [value]


def _list_mmlongbench(gold: list[Any], prediction: list[Any]) -> float:
    if len(gold) != len(prediction):
        return 0.0
    golds, predictions = sorted(map(clean_mmlongbench, gold)), sorted(map(clean_mmlongbench, prediction))
    if _float(golds[0]) is not None or exact(golds[0]):
        return float("-".join(golds) == "-".join(predictions))
    return min(anls(g, p) for g, p in zip(golds, predictions, strict=True))


def longdocurl(gold: Any, prediction: Any, answer_format: str) -> float:
    """Section 2b.

    Raises:
        IndexError: empty gold or prediction of a list, as upstream.
        UnknownError: see the class.
    """
    if answer_format == "Integer":
        return _int_longdocurl(gold, prediction)
    if answer_format == "Float":
        numbers = _float(clean_longdocurl(gold)), _float(clean_longdocurl(prediction))
        if numbers[0] is None or numbers[1] is None:
            return 0.0
        return float(_floats_equal(numbers[0], numbers[1]))
    if answer_format in ("String", "None"):
        return _text_score(clean_longdocurl(gold), clean_longdocurl(prediction))
    return _list_longdocurl(_listed_or_text(gold), _listed_or_text(prediction))


def _int_longdocurl(gold: Any, prediction: Any) -> float:
    sides: list[int | str] = []
    for value, fallback in ((gold, clean_longdocurl(gold)), (prediction, "")):
        try:
            sides.append(int(clean_longdocurl(value)))
        except ValueError:
            sides.append(fallback)
    return float(sides[0] == sides[1])


def _listed_or_text(value: Any) -> list[Any]:
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(SyntaxError):
            value = _literal(value)
    return value if isinstance(value, list) else [value]


def _joined(value: list[Any]) -> list[Any]:
    if isinstance(value[0], dict):
        return ["-".join(str(part) for part in one.values()) for one in value]
    return value


def _list_longdocurl(gold: list[Any], prediction: list[Any]) -> float:
    golds = [clean_longdocurl(one) for one in _joined(gold)]
    predictions = [clean_longdocurl(one) for one in _joined(prediction)]
    if _float(golds[0]) is not None or exact(golds[0]):
        return float("-".join(golds) == "-".join(predictions))
    best = [max(anls(g, p) for p in predictions) for g in golds]
    return sum(best) / len(golds) * math.sqrt(min(1.0, len(golds) / len(predictions)))


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def number(text: str) -> Any:
    """What an expression of plain numbers comes to, a tuple where there are commas, as LongDocURL's pipeline reads it.

    Raises:
        SyntaxError, ZeroDivisionError, OverflowError: the text stays text.
        UnknownError: it is no such expression.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes are text, whatever becomes of warnings
        return _walk(ast.parse(text.strip(" \t"), mode="eval").body)


def _walk(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_walk(node.left), _walk(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _walk(node.operand)
        return -inner if isinstance(node.op, ast.USub) else +inner
    if isinstance(node, ast.Tuple):
        return tuple(_walk(one) for one in node.elts)
    raise UnknownError(ast.dump(node))
