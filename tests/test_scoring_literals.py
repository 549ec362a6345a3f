"""The value of literal text, against Python itself on texts that this file makes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import warnings

import pytest

from looseleaf.scoring.literals import (
    MAX_SOURCE,
    NamedObject,
    UnevaluatedError,
    UnorderedSet,
    UpstreamError,
    evaluate,
    flags_of,
)
from looseleaf.scoring.scopes import BUILTINS, LONGDOCURL_PIPELINE, MMLONGBENCH_SCORER

OPERATORS = ("+", "-", "*", "/", "//", "%", "|", "&", "^", ">>", " < ", " == ", " in ", " and ", " or ", "@")
NUMBERS = (
    "0",
    "1",
    "2.5",
    "7",
    "-3",
    "1e3",
    ".5",
    "0x1F",
    "0b11",
    "0o17",
    "1_000",
    "1j",
    "007",
    "1__0",
    "５",
)
TEXTS = ("'red'", '"b"', "'a' 'b'", "b'x'", "r'\\d'", "'\\x41'", "f'c'", "''", "u'ü'", "'''t'''", "'open")
OTHERS = (
    "None",
    "True",
    "False",
    "...",
    "red",
    "x.y",
    "f(1)",
    "Blue whale",
    "10%",
    "2015-2016",
    "3,4",
    "# no",
)


def text_of(chance: random.Random, depth: int = 0) -> str:
    kind = chance.random()
    if depth > 2 or kind < 0.45:
        return chance.choice(chance.choice((NUMBERS, NUMBERS, TEXTS, OTHERS)))
    if kind < 0.6:
        return f"{text_of(chance, depth + 1)}{chance.choice(OPERATORS)}{text_of(chance, depth + 1)}"
    inside = ", ".join(text_of(chance, depth + 1) for _ in range(chance.randint(0, 3)))
    if kind < 0.75:
        return f"[{inside}]"
    if kind < 0.85:
        return f"({inside})"
    if kind < 0.9:
        return f"{{{text_of(chance, depth + 1)}: {text_of(chance, depth + 1)}}}"
    if kind < 0.93:
        return f"{text_of(chance, depth + 1)}[{text_of(chance, depth + 1)}]"
    if kind < 0.96:
        return f"-{text_of(chance, depth + 1)}"
    return f"{text_of(chance, depth + 1)} if {text_of(chance, depth + 1)} else 1"


def outcome_of_python(text: str) -> tuple[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # Python is the reference here. The text is made by text_of above and the scope is empty.
            return "value", repr(eval(text, {"__builtins__": {}}))
        except Exception as error:
            return "raises", type(error).__name__


def test_as_python_evaluates():
    chance = random.Random(20)
    compared = 0
    for _ in range(6000):
        text = text_of(chance)
        try:
            ours = ("value", repr(evaluate(text, {})))
        except UpstreamError as error:
            ours = ("raises", error.name)
        except UnevaluatedError:
            continue
        assert ours == outcome_of_python(text), text
        compared += 1
    assert compared > 5500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2015-2016", -1),
        ("12/25/2020", 12 / 25 / 2020),
        ("2021-10-15", 1996),
        ("96,395", (96, 395)),
        ("1_000", 1000),
        (" \t12", 12),
        ("\n12\n", 12),
        ("12 # in total", 12),
        ("[3-1, 2]", [2, 2]),
        ("['a', 'b',]", ["a", "b"]),
        ("['a' 'b']", ["ab"]),
        ("[1, 2][0]", 1),
        ("[0] * 3 + [1]", [0, 0, 0, 1]),
        ("[*'ab', *[1]]", ["a", "b", 1]),
        ("{**{'a': 1}, 'b': 2}", {"a": 1, "b": 2}),
        ("{3, 1, 2}", {1, 2, 3}),
        ("None or 'x'", "x"),
        ("1 < 2 < 3", True),
        ("not 0", True),
        ("~True", -2),
        ("None is None", True),
        ("1 is None", False),
        ("1 is 'a'", False),
        ("f'{1}-{2!r}'", "1-2"),
        ("b'\\xff'", b"\xff"),
        ("'\\d'", "\\d"),
        ("1if True else 2", 1),
        ("...", ...),
        ("__debug__", True),
    ],
)
def test_values(text, value):
    found = evaluate(text, {})
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Blue whale", "SyntaxError"),
        ("", "SyntaxError"),
        ("[1", "SyntaxError"),
        ("[016]", "SyntaxError"),
        ("[18.2%, 40%]", "SyntaxError"),
        ("10 m", "SyntaxError"),
        ("１２", "SyntaxError"),
        ("“a”", "SyntaxError"),
        ("(yield 1)", "SyntaxError"),
        ("await x", "SyntaxError"),
        ("f(a=1, a=2)", "SyntaxError"),
        ("[x async for x in y]", "SyntaxError"),
        ("9" * 5000, "SyntaxError"),
        ("\n 12", "IndentationError"),
        ("red", "NameError"),
        ("red.de", "NameError"),
        ("red(1)", "NameError"),
        ("[x for x in red]", "NameError"),
        ("a@b.com", "NameError"),
        ("nan", "NameError"),
        ("12 (2020)", "TypeError"),
        ("12 (about)", "NameError"),
        ("'a' + 1", "TypeError"),
        ("{[1]: 2}", "TypeError"),
        ("{{1, 2}}", "TypeError"),
        ("[1, 2][5]", "IndexError"),
        ("{'a': 1}['b']", "KeyError"),
        ("1/0", "ZeroDivisionError"),
        ("1e200**2", "OverflowError"),
        ("1 << -1", "ValueError"),
        ("'a'.nothing", "AttributeError"),
        ("a\0b", "ValueError"),
        ("'\ud800'", "UnicodeEncodeError"),
        ("[" * 300, "SyntaxError"),
    ],
)
def test_what_python_refuses(text, error):
    with pytest.raises(UpstreamError) as caught:
        evaluate(text, {})
    assert caught.value.name == error


@pytest.mark.parametrize(
    "text",
    [
        "max(1, 2)",
        "[].append(1)",
        "'a'.upper",
        "[x for x in [1]]",
        "{x: 1 for x in [1]}",
        "(x := 5)",
        "'%s' % 1",
        "f'{1:>9}'",
        "9**9**9",
        "1 << 10**9",
        "2 * 3 ** 99999",
        "[0] * 10**9",
        "'ab' * 10**7",
        "1" + "+1" * 40_000,
        "[1] is [1]",
        "__import__('os').system('true')",
    ],
)
def test_what_is_not_run(text):
    with pytest.raises(UnevaluatedError):
        evaluate(text, BUILTINS)
    assert flags_of(text, BUILTINS)


def test_names_stand_for_objects_and_are_flagged():
    flags: list[str] = []
    found = evaluate("[max, list]", BUILTINS, flags)
    assert all(isinstance(item, NamedObject) for item in found)
    assert [str(item) for item in found] == ["<built-in function max>", "<class 'list'>"]
    assert flags == ["the name max", "the name list"]
    # A full-width spelling is the same identifier to Python.
    assert evaluate("ｍａｘ", BUILTINS) is BUILTINS["max"]


@pytest.mark.parametrize("text", ["max + 1", "max[0]", "[*max]", "-max", "1 in max", "max < 1"])
def test_objects_without_operators_raise(text):
    with pytest.raises(UpstreamError, match="TypeError"):
        evaluate(text, BUILTINS)


def test_objects_equal_only_themselves():
    assert evaluate("max == 1", BUILTINS) is False
    assert evaluate("max == max", BUILTINS) is True
    assert evaluate("max and 3", BUILTINS) == 3
    assert evaluate("max is None", BUILTINS) is False


def test_unknown_variables_have_no_value():
    with pytest.raises(UnevaluatedError):
        str(evaluate("gt", MMLONGBENCH_SCORER))
    with pytest.raises(UnevaluatedError):
        evaluate("case or 1", LONGDOCURL_PIPELINE)
    with pytest.raises(UpstreamError, match="NameError"):
        evaluate("gt", LONGDOCURL_PIPELINE)


def test_the_scope_tables_tell_the_truth_about_built_ins():
    """Asked of an interpreter of its own: libraries replace built-ins, such as `print`, in the one of the tests."""
    ask = "import builtins, json; print(json.dumps({n: [type(v).__name__, str(v)] for n, v in vars(builtins).items()}))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", ask], capture_output=True, text=True, check=True)
    real = json.loads(done.stdout)
    checked = 0
    for name, stands_for in BUILTINS.items():
        if name not in real or not isinstance(stands_for, NamedObject):
            continue  # a later Python may drop a name; Ellipsis is plain data
        type_name, text = real[name]
        assert stands_for.type_name == type_name, name
        assert stands_for.text in (None, text), name
        checked += 1
    assert checked > 50


def test_sets_of_texts_keep_the_order_of_writing():
    flags: list[str] = []
    found = evaluate("{'b', 'a', 'b'}", {}, flags)
    assert isinstance(found, UnorderedSet)
    assert found.items == ["b", "a"]
    assert str(found) == "{'b', 'a'}"
    assert flags == ["the order of a set of texts"]
    assert evaluate("{'b'}", {}) == {"b"}


def test_long_chains_are_no_deep_recursion():
    assert evaluate("1" + "+1" * 2_000, {}) == 2_001
    assert evaluate("[" * 90 + "]" * 90, {}) == [evaluate("[" * 89 + "]" * 89, {})]
    with pytest.raises(UnevaluatedError, match="characters"):
        evaluate(" " * (MAX_SOURCE + 1), {})


def test_warnings_of_the_parser_stay_inside():
    # Warnings are errors in this test run: an escape that Python complains about must still be read.
    assert evaluate("'\\d' + '\\ '", {}) == "\\d\\ "
    assert evaluate("1or 2", {}) == 1


def test_from_several_threads():
    found: list[object] = []
    work = [threading.Thread(target=lambda: found.append(evaluate("'\\d'", {}))) for _ in range(8)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert found == ["\\d"] * 8
