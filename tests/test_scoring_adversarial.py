"""Hostile predictions: nothing raises, nothing is executed, and nothing takes long.

A fixed list and texts of a seeded generator; 2,000 here, 200,000 under `pytest -m slow`.
"""

from __future__ import annotations

import ast
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import looseleaf.scoring
from looseleaf.score import Score
from looseleaf.scoring import (
    SCORERS,
    RuleExtractor,
    Scorer,
    binary_judge,
    equivalence_judge,
    longdocurl,
    mmlongbench,
)

MILLISECONDS = 50.0
"""Most CPU time that one scorer may take for one prediction of at most `MEASURED` characters."""

MEASURED = 10_000
MEGABYTE = 1_000_000

GOLDS = (
    ("12", "Int"),
    ("18.29%", "Float"),
    ("Less well-off", "Str"),
    ("Not answerable", "None"),
    ("['Circle', 'Rectangle', 'page 1']", "List"),
    ("[16, 19, 25]", "List"),
    (96395, "Integer"),
    (["Table 4.15 Samples", "Figure 4.2 Results"], "List"),
    ([{"name": "Alpha", "value": 10}], "List"),
    ("2015-2016", "String"),
)

CANARY = Path("/tmp/looseleaf-was-executed")
EXECUTE = f"__import__('os').system('touch {CANARY}')"

PIECES = (
    *"0123456789.,-+*/%$£€()[]{}<>'\"\\ \t\n\r:;#@!?=_^&|~`",
    *(
        "é",
        "ß",
        "İ",
        "ı",
        "ŉ",
        "Σ",
        "ς",
        "ﬁ",
        "ﷺ",
        "１",
        "٣",
        "½",
        "²",
        "−",
        "–",
        "“",
        "’",
        "\u00a0",
        "\u2003",
    ),
    *(
        "\u200b",
        "\u202e",
        "\u0301",
        "\ufeff",
        "\ud800",
        "\udfff",
        "\U0001f600",
        "\x00",
        "\x1c",
        "\x7f",
        "\x85",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "1e999",
        "NaN",
        "None",
        "True",
        "lambda:",
        "yield ",
        "await ",
        " if ",
        " else ",
        " for x in ",
    ),
    *(
        "__import__",
        "('os')",
        ".system",
        "exec(",
        "eval(",
        "open('/etc/passwd')",
        "max",
        "gt",
        "pred",
        "case",
        "config",
    ),
    *(
        "**",
        "<<",
        "9**9**9",
        "[0]*10**9",
        "'a'*10**9",
        "f'{",
        "{**",
        "[*",
        ":=",
        "0x",
        "1_0",
        "007",
        "page",
        "a.m.",
    ),
    *(
        "Answer format:",
        "Extracted answer:",
        "<concise_answer>",
        "</concise_answer>",
        "<answer_format>",
        "\\boxed{",
    ),
    *(
        "https://",
        ".py",
        "a@b.co",
        "million",
        "kg",
        "miles",
        " and ",
        "Not answerable",
        "Fail to extract",
        '{"a":',
    ),
)

FIXED = (
    *(
        "",
        " ",
        "\0",
        "[",
        "]",
        "[]",
        "[[]]",
        "()",
        "{}",
        "''",
        '"',
        "None",
        "...",
        "NaN",
        "[nan]",
        "-",
        "[\ud800]",
    ),
    *(EXECUTE, f"[{EXECUTE}]", f"[x for x in [{EXECUTE}]]", f"[lambda: {EXECUTE}]", f"f'{{{EXECUTE}}}'"),
    *(f"[f'{{{EXECUTE}}}']", f"['%s' % {EXECUTE}]", f"[(x := {EXECUTE})]", f"[{EXECUTE} if 1 else 2]"),
    *(
        "exit()",
        "[exit()]",
        "[open('/etc/passwd').read()]",
        "[*gt]",
        "[gt]",
        "[().__class__.__base__.__subclasses__()]",
    ),
    *(
        "[9**9**9**9]",
        "[1<<10**12]",
        "['a'*10**10]",
        "[[0]*10**6]*10**6",
        "2**2**2**2**2**2",
        "[10**5000]",
        "[1/0]",
    ),
    *(
        "[" * 10_000,
        "[" * 5_000 + "]" * 5_000,
        "(" * 10_000,
        "{" * 10_000,
        "[" * 150 + "]" * 150,
        "'" * 10_000,
    ),
    *(
        "[" + "1," * 4_999 + "]",
        "[" + "-" * 9_997 + "1]",
        "[" + "1+" * 4_998 + "1]",
        "[" + "not " * 2_400 + "1]",
    ),
    *(
        "[" + "'x' " * 2_400 + "]",
        "[" + "'\\d'," * 1_900 + "]",
        "[" + "[0]*9000," * 1_000 + "]",
        "[a" + ".a" * 4_900,
    ),
    *("[" + "99*" * 3_300 + "1]", "[" + "2**9999," * 1_200 + "]", "[2**130000" + "//3" * 3_300 + "]"),
    *(
        " " * 10_000,
        "\u2003" * 10_000,
        "(" + " (" * 4_999,
        "()" * 5_000,
        "9" * 10_000,
        "1-" * 5_000,
        "a@" + "a." * 4_999,
    ),
    *(
        "ﷺ" * 10_000,
        "İ" * 10_000,
        "\ud800" * 10_000,
        "e\u0301" * 5_000,
        "1,000" * 2_000,
        "%" * 10_000,
        "mkg" * 3_333,
    ),
    *(
        "<concise_answer>" * 625,
        "Extracted answer:" * 588,
        "\\boxed{" * 1_428,
        "answer is " * 1_000,
        "- x\n" * 2_500,
    ),
    *(
        "a, " * 3_333,
        ",'" * 5_000,
        "[" + ",'" * 4_999 + "]",
        "x and " * 1_666,
        "A. " * 3_333,
        '{"a":' * 2_000,
    ),
)

HUGE = (
    *("a" * MEGABYTE, "[" * MEGABYTE, "[" + "1," * (MEGABYTE // 2) + "]", " " * MEGABYTE, "9" * MEGABYTE),
    *(
        "(" * MEGABYTE,
        "'" * MEGABYTE,
        "\n" * MEGABYTE,
        "ß" * MEGABYTE,
        "\ud800" * MEGABYTE,
        "word " * (MEGABYTE // 5),
    ),
    *(
        "[" + "'a', " * (MEGABYTE // 5) + "]",
        "<concise_answer>" * (MEGABYTE // 16),
        "1+" * (MEGABYTE // 2) + "1",
    ),
)


def generated(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        length = chance.choice((1, 3, 8, 20, 60)) if chance.random() < 0.97 else 600
        text = "".join(chance.choices(PIECES, k=chance.randint(1, length)))
        yield f"[{text}]" if chance.random() < 0.4 else text


def outputs_around(text: str) -> Iterator[str]:
    yield text
    yield f"Extracted answer: {text}\nAnswer format: List"
    yield f"<concise_answer>{text}</concise_answer><answer_format>List</answer_format>"


def scored_every_way(text: str, gold: Any, answer_format: str) -> None:
    """Everything that a model's text goes through; a scorer must always give a number from 0 to 1."""
    for scorer in SCORERS.values():
        if isinstance(scorer, Scorer):
            check(scorer.score(gold, text, answer_format))
            check(scorer.score(gold, scorer.read(text), answer_format))
            check(scorer.score(text, gold, answer_format))
        else:
            scorer.parse(text)
    for output in outputs_around(text):
        mmlongbench.official_pipeline(output, gold, answer_format)
        mmlongbench.official_pipeline(output, gold, answer_format, "run_api")
        longdocurl.official_pipeline(output, gold, answer_format, question="Q?", response=text)
    mmlongbench.flags(gold, text, answer_format)
    longdocurl.flags(gold, text, answer_format)
    extracted = RuleExtractor().extract("How many, and which are they?", text).text
    mmlongbench.parse_extraction(extracted)
    longdocurl.parse_extraction(extracted)
    binary_judge.upstream_value(text)
    equivalence_judge.parse(text)


def check(scored: Score) -> None:
    assert scored.unscored is None
    assert isinstance(scored.value, float)
    assert 0.0 <= scored.value <= 1.0


FORBIDDEN = ("exec", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "code.")
_watching = False
_seen: list[str] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event.startswith(FORBIDDEN):
        _seen.append(f"{event}{arguments!a:.80}")


@contextmanager
def nothing_executed() -> Iterator[None]:
    """Fails if Python executes, imports or opens anything inside the block, or if the canary file appears."""
    global _watching
    if not _installed:
        sys.addaudithook(_audit)  # stays for the rest of the process, and only listens while _watching
        _installed.append(True)
    scored_every_way("['a', 'b']", ["a", "b"], "List")  # loads what is loaded lazily
    check(SCORERS["dude.anls"].score(["a", "b"], ["a"], "list/extractive"))
    CANARY.unlink(missing_ok=True)
    _seen.clear()
    _watching = True
    try:
        yield
    finally:
        _watching = False
    assert _seen == []
    assert not CANARY.exists()


_installed: list[bool] = []


def test_the_watch_sees_what_is_executed():
    with pytest.raises(AssertionError, match="exec"), nothing_executed():
        exec("1")


def test_two_thousand_hostile_predictions():
    texts = [*FIXED, *generated(seed=1, count=2_000 - len(FIXED))]
    assert len(texts) == 2_000
    with nothing_executed():
        for index, text in enumerate(texts):
            scored_every_way(text, *GOLDS[index % len(GOLDS)])


@pytest.mark.slow
def test_two_hundred_thousand_hostile_predictions():
    with nothing_executed():
        for index, text in enumerate(generated(seed=2, count=200_000)):
            scored_every_way(text, *GOLDS[index % len(GOLDS)])


@pytest.mark.parametrize("text", HUGE, ids=[f"{text[:12]!a}" for text in HUGE])
def test_a_megabyte(text):
    with nothing_executed():
        scored_every_way(text, *GOLDS[4])


def test_no_prediction_of_ten_thousand_characters_takes_long():
    slow = []
    for text in FIXED:
        assert len(text) <= MEASURED
        for gold, answer_format in GOLDS[2:8]:
            for scorer in SCORERS.values():
                if (
                    isinstance(scorer, Scorer)
                    and milliseconds(scorer, gold, text, answer_format) > MILLISECONDS
                ):
                    slow.append((scorer.name, answer_format, text[:20]))
    assert slow == []


def milliseconds(scorer: Scorer, gold: Any, text: str, answer_format: str) -> float:
    """The best of up to three runs, so that the collector or a busy machine does not count."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        scorer.score(gold, scorer.read(text), answer_format)
        best = min(best, (time.process_time() - start) * 1e3)
        if best <= MILLISECONDS:
            break
    return best


def test_the_scorers_call_nothing_that_executes():
    banned = {"eval", "exec", "compile", "__import__", "open", "getattr_static", "globals", "vars"}
    for path in Path(looseleaf.scoring.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in banned, f"{path.name}:{node.lineno}"
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
                assert not names & {"pickle", "marshal", "builtins", "importlib", "subprocess", "os"}, (
                    path.name
                )
