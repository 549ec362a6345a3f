"""Hostile (gold, prediction, format) triples from a seeded generator, and a driver that scores them under watch.

Run as a program it scores in a process of its own, so that an audit hook can watch for anything that is executed,
imported, opened or started:

    python -W error tests/scoring_fuzz.py COUNT SEED FOLDER

It prints one JSON object: calls made, what raised, what was not a score, what the hook saw, and the slowest call.
FOLDER is the working directory and the place that planted code would write to; it has to be empty afterwards.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["FORMATS", "MEGABYTES", "Case", "Outcome", "cases", "planted", "run", "simple_pairs"]

FORMATS = (
    *("Int", "Float", "Str", "List", "None", "Integer", "String", "", "int", "Multiple", "extractive"),
    *("list/abstractive", "not-answerable", "not answerable", "\ud800"),
)
MOST = 10_000
"""Longest text of a random case, in UTF-8 bytes."""
LIMIT_SECONDS = 0.05
LONGEST_GOLD = 600
"""Gold answers of data files are shorter, in characters."""
HOPELESS = 1.0
"""Seconds after which a call is not measured again."""
REPEATS = 3
"""Times that a slow call is measured again before it counts as slow; other programs share the machine."""


def planted(folder: str) -> list[str]:
    """Texts that write a file into a folder, or never end, if anything evaluates, formats or imports them."""
    path = f"{folder}/touched"
    touch = f"__import__('os').system('touch {path}')"
    write = f"open({path!r}, 'w').close()"
    return [
        touch,
        f"[{touch}]",
        f"[1, {write}]",
        f"['a', (lambda: {write})()]",
        f"[{write} for _ in range(3)]",
        f"[x for x in [{write}]]",
        f"{{**{{'a': {write}}}}}",
        f"[(y := {write}), y]",
        f"[f'{{{write}}}']",
        f"f'{{{touch}}}'",
        f'["%s" % {write}]',
        f"['{{0.__class__.__init__.__globals__}}'.format({write})]",
        f"(lambda f: f())(lambda: {write})",
        f"[*({write},)]",
        f"eval({write!r})",
        f"exec({write!r})",
        f"[print(1, file=open({path!r}, 'w'))]",
        f"getattr(__builtins__, 'eval')({write!r})",
        f"().__class__.__bases__[0].__subclasses__()[0]({write})",
        f"import os; os.system('touch {path}')",
        f"import os\nos.system('touch {path}')",
        f"[].__class__.__mro__[1].__subclasses__() and {write}",
        f"[a async for a in {write}]",
        f"(yield {write})",
        f"[await {write}]",
        f"assert {write}",
        f"$(touch {path})",
        f"`touch {path}`",
        f"; touch {path} #",
        f"cos\nsystem\n(S'touch {path}'\ntR.",
        f"!!python/object/apply:os.system ['touch {path}']",
        "9**9**9",
        "[9**9**9]",
        "9**9**9**9",
        "10**100000",
        "1<<10**12",
        "[1<<10**9]",
        "'a'*10**10",
        "['a'*10**10]",
        "[[0]*10**10]",
        "[0]*10**9",
        "(1,)*10**9",
        "'%1000000000d' % 1",
        "['%*d' % (10**9, 1)]",
        "f'{1:1000000000}'",
        "'{:1000000000}'.format(1)",
        "b'a'*10**10",
        "1" + "0" * 5000,
        "int('9'*10**8)",
        "9" * 4301,
        "-" + "9" * 9000,
        "0x" + "f" * 5000,
        "1e999999999",
        "1_0" * 900,
        "99999999999 % 7 ** 99999",
        "pow(9, 9**9)",
        "range(10**12)",
        "[*range(10**9)]",
        "list(range(10**9))",
        "sum(range(10**12))",
        "(" * 3000 + ")" * 3000,
        "[" * 90 + "]" * 90,
        "[" * 3000 + "1" + "]" * 3000,
        "[" * 9000,
        "{" * 3000 + "}" * 3000,
        "-" * 9000 + "1",
        "~" * 5000 + "1",
        "not " * 2000 + "1",
        "1" + "+1" * 4000,
        "1" + "**1" * 2500,
        "[1" + ",1" * 4500 + "]",
        "1" + " if 1 else 1" * 700,
        "a" + ".a" * 4500,
        "a" + "[0]" * 3000,
        "a" + "()" * 4000,
        "lambda:" * 1300 + "1",
        "1" + "<1" * 4500,
        "1" + " and 1" * 1500,
        "f'" + "{f'" * 50 + "'}" * 50 + "'",
        "'" * 9999,
        '"' * 9999,
        "'''" + "a" * 9000,
        "\\" * 9999,
        "(" * 9999,
        ")" * 9999,
        " (" * 4999,
        " " * 9999,
        "( " * 4999,
        " " * 4000 + "(" + " " * 4000 + ")",
        "() " * 3000,
        "%" * 9999,
        "$" * 9999,
        "," * 9999,
        "£" * 4999,
        "m" * 9999,
        "kg" * 4999,
        "minutes" * 1400,
        "1-" * 4999,
        "1 " * 4999,
        "-".join("1" * 9 for _ in range(990)),
        "a@" + "a." * 4990 + "!",
        "a" * 5000 + "@" + "a" * 4900,
        "https://" * 1200,
        "a.m." * 2400,
        "page " * 1990,
        "1,000" * 1990,
        "1,234,567,890," * 700,
        "1/2" * 3000,
        "1.2.3" * 1900,
        "e" * 9999,
        "1e" * 4999,
        "[" + ", ".join(f"'{n}'" for n in range(1200)) + "]",
        "[" + ", ".join(f"'item {n}'" for n in range(800)) + "]",
        "[" + ", ".join("'a'" for _ in range(1900)) + "]",
        "['" + "x" * 4900 + "', '" + "y" * 4900 + "']",
        str([f"{n % 10}{n % 7}" for n in range(1400)]),
        str({f"key {n}": n for n in range(500)}),
        str([{"a": n} for n in range(900)]),
        "{" + ", ".join(str(n) for n in range(1900)) + "}",
        "[nan, inf, -inf]",
        "[1e400, -1e400]",
        "[...]",
        "[None, True, False]",
        "[1j]",
        "[b'x']",
        "[{1: 2}, [3], (4,)]",
        "[{}]",
        "[[]]",
        "[]",
        "[,]",
        "[",
        "]",
        "['\\x00']",
        "['\\ud800']",
        "['\\N{BULLET}']",
        "['\\d', '\\q']",
        "1 is 1",
        "[1 is not 'a']",
        "'a' 'b' 'c'",
        "1if 1else 2",
        "0777",
        "00",
        "1__0",
        "0b2",
        "١٢٣",
        "２０２０",
        "½",
        "²",
        "Ⅷ",
        "𝟘",
        "\ud800",
        "a\udfffb",
        "\ud83d",
        "\x00",
        "1\x002",
        "\u202e321\u202c",
        "\u2066[1]\u2069",
        "\ufeff12",
        "1\u00a0000",
        "1\u2009000",
        "12\u200b",
        "a\u0301" * 3000,
        "\u0301" * 4000,
        "ß" * 4000,
        "İ" * 4000,
        "ﬃ" * 3000,
        "\u1e9e" * 3000,
        "ŉ" * 4000,
        "ΐ" * 4000,
        "👩‍👩‍👧‍👦" * 300,
        "\U0010ffff" * 2000,
        "\x1c\x1d\x1e\x1f\x85\u2028\u2029",
        "\r\n" * 4000,
        "{0}{1}{2}",
        "{0.__class__}",
        "{answer!r:>{width}}",
        "%s%s%n%d",
        "%(a)s",
        "$answer ${answer}",
        "\\1\\2\\g<0>",
        "\\u0041",
        "</concise_answer>" * 500,
        "<concise_answer>" * 500,
        "Extracted answer:" * 500,
        "Answer format:" * 600,
        "nan",
        "-nan",
        "infinity",
        "-inf",
        "1e400",
        "1e-400",
        "-0.0",
        "0.0",
        "1e308",
        "-1e308",
        "True",
        "None",
        "null",
        "Not answerable",
        "not answerable",
        "Not answerable (the document does not say)",
        "Fail to answer",
        "Failed to extract",
        "Unanswerable",
        "",
        " ",
    ]


MEGABYTE = 1_000_000
MEGABYTES: tuple[str, ...] = (
    "a" * MEGABYTE,
    "9" * MEGABYTE,
    "[" * MEGABYTE,
    "[" + "1," * (MEGABYTE // 2) + "]",
    "[" + "'a'," * (MEGABYTE // 4) + "]",
    "(" * MEGABYTE,
    "( " * (MEGABYTE // 2),
    " " * MEGABYTE,
    "()" * (MEGABYTE // 2),
    "'" * MEGABYTE,
    "%" * MEGABYTE,
    "1-" * (MEGABYTE // 2),
    "-" * MEGABYTE + "1",
    "1+" * (MEGABYTE // 2) + "1",
    "\u0301" * (MEGABYTE // 2),
    "\ud800" * (MEGABYTE // 3),
    "a@" + "a." * (MEGABYTE // 2),
    "Extracted answer: " * (MEGABYTE // 18),
    "<concise_answer>" * (MEGABYTE // 16),
    "{" * MEGABYTE,
    '{"binary_correctness": ' * (MEGABYTE // 24),
    "m" * MEGABYTE,
    "1,000 " * (MEGABYTE // 6),
    "word " * (MEGABYTE // 5),
)
"""The texts of one megabyte."""


@dataclass(frozen=True)
class Case:
    """What is scored."""

    gold: Any
    prediction: Any
    answer_format: str
    reply: str
    """An extractor's or a judge's output."""


class _Writer:
    """Builds texts from atoms by random steps."""

    def __init__(self, random_: random.Random, hostile: list[str]) -> None:
        self.random = random_
        self.hostile = hostile

    def number(self) -> str:
        r = self.random
        value = r.choice(
            [r.randint(0, 30), r.randint(-9, 9), r.randint(1000, 10**7), r.random() * 10 ** r.randint(-3, 6)]
        )
        styles = [
            "{}",
            "{:.1f}",
            "{:.2f}",
            "{:,}",
            "{:e}",
            "${}",
            "£{}",
            "{}%",
            "{} kg",
            "{} million",
            "{}.0",
            "+{}",
        ]
        return r.choice(styles).format(value)

    def words(self) -> str:
        r = self.random
        stock = [
            "red",
            "Blue",
            "chart",
            "the",
            "Smith",
            "page 4",
            "m",
            "smile",
            "yes",
            "No",
            "10 a.m.",
            "café",
            "x@y.org",
        ]
        return " ".join(r.choice(stock) for _ in range(r.randint(1, 5)))

    def noise(self) -> str:
        r = self.random
        ranges = [
            (32, 126),
            (0, 31),
            (0xA0, 0x24F),
            (0x300, 0x36F),
            (0x600, 0x6FF),
            (0x2000, 0x206F),
            (0xD800, 0xDFFF),
        ]
        low, high = r.choice([*ranges, (0xFF00, 0xFF60), (0x1F300, 0x1F6FF)])
        return "".join(chr(r.randint(low, high)) for _ in range(r.randint(1, 12)))

    def syntax(self) -> str:
        r = self.random
        tokens = [
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            ",",
            ":",
            "'",
            '"',
            "1",
            "2.5",
            "a",
            "+",
            "-",
            "*",
            "/",
            "**",
            "%",
            " ",
            "\\",
        ]
        tokens += [
            "lambda",
            "for",
            "in",
            "if",
            "else",
            ":=",
            "f'",
            "not",
            "None",
            "nan",
            "0x",
            "_",
            ".",
            "==",
            "<",
            "@",
            "=",
        ]
        return "".join(r.choice(tokens) for _ in range(r.randint(1, 14)))

    def atom(self) -> str:
        r = self.random
        made = r.choices([self.number, self.words, self.noise, self.syntax], [5, 5, 2, 4])[0]()
        return r.choice(self.hostile) if r.random() < 0.12 else made

    def text(self) -> str:
        r = self.random
        text = self.atom()
        for _ in range(r.choice([0, 0, 0, 1, 1, 2, 4])):
            text = self.step(text)
        return clipped(text)

    def step(self, text: str) -> str:
        r = self.random
        at = r.randint(0, len(text))
        steps: list[Callable[[], str]] = [
            lambda: f"'{text}'",
            lambda: f'"{text}"',
            lambda: f"[{text}]",
            lambda: f"({text})",
            lambda: f"{text} ({self.atom()})",
            lambda: f"{text}, {self.atom()}",
            lambda: f"[{text}, {self.atom()}]",
            lambda: str([text, self.atom()]),
            lambda: f"{text}{r.choice([' million', '%', ' kg', 'm', '.', ' pages'])}",
            lambda: f"{r.choice(['$', '£', ' ', '- ', 'about '])}{text}",
            lambda: text[:at] + self.noise() + text[at:],
            lambda: text[:at] + self.syntax() + text[at:],
            lambda: text[:at] + text[at + 1 :],
            text.upper,
            text.swapcase,
            lambda: text[::-1],
            lambda: text * r.randint(2, 4),
            lambda: json.dumps(text),
            lambda: repr(text),
        ]
        return r.choice(steps)()

    def value(self) -> Any:
        """A gold answer or prediction: mostly text, sometimes any other JSON value, as data files have them."""
        r = self.random
        others: list[Callable[[], Any]] = [
            lambda: r.randint(-5, 10**6),
            lambda: r.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, 0.5, 12.0]),
            lambda: [self.text() for _ in range(r.randint(0, 4))],
            lambda: [r.randint(0, 9) for _ in range(r.randint(0, 4))],
            lambda: [{self.words(): self.text()} for _ in range(r.randint(1, 2))],
            lambda: [[self.text()], None, True],
            lambda: {"a": self.text()},
            lambda: None,
            lambda: r.random() < 0.5,
        ]
        return self.text() if r.random() < 0.85 else r.choice(others)()

    def reply(self, answer: str) -> str:
        r = self.random
        tag = r.choice(["concise_answer", "Concise_answer", "concise_answer ", "answer"])
        shapes = [
            f"Extracted answer: {answer}\nAnswer format: {r.choice(FORMATS)}",
            f"Answer format: Str\nExtracted answer: {answer}",
            f"Extracted answer: <{tag}>{answer}</{tag}>\nAnswer format: <answer_format>List</answer_format>",
            f"<concise_answer>{answer}<answer_format>Int</answer_format></concise_answer>",
            f"**Extracted answer:** {answer}",
            json.dumps(
                {"binary_correctness": r.choice([0, 1, 2, -1, True, "1", 1.0, None, math.nan, [1], 10**400])}
            ),
            f'```json\n{{"binary_correctness": {answer}}}\n```',
            f'{{"binary_correctness": 1, "why": {json.dumps(answer)}}} }}',
            json.dumps(
                {
                    "equivalent": r.choice([True, False, 1, "true", None]),
                    "abstained": r.random() < 0.5,
                    "x": answer,
                }
            ),
            f'{{"verdict": {answer}, "abstained": false}}',
            "{" * r.randint(1, 40) + answer + "}" * r.randint(1, 40),
            answer,
        ]
        return clipped(r.choice(shapes))


def clipped(text: str) -> str:
    """The beginning of a text, at most `MOST` bytes of UTF-8."""
    if _utf8(text):
        return text
    short = text[:MOST]
    while not _utf8(short):
        short = short[: len(short) - max((len(short.encode("utf-8", "surrogatepass")) - MOST) // 4, 1)]
    return short


def _utf8(text: str) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) <= MOST


def cases(count: int, seed: int, folder: str) -> Iterator[Case]:
    """The hostile texts one by one against each other and themselves first, then random ones."""
    r = random.Random(seed)
    hostile = [text for text in planted(folder) if _utf8(text)]
    writer = _Writer(r, hostile)
    for index in range(count):
        gold = _gold(writer.value())
        if index < 2 * len(hostile):
            prediction: Any = hostile[index // 2]
            gold = _gold(prediction) if index % 2 else gold
        else:
            prediction = writer.step(str(gold)) if r.random() < 0.3 else writer.value()
        prediction = clipped(prediction) if isinstance(prediction, str) else prediction
        yield Case(
            gold,
            prediction,
            r.choice(FORMATS),
            writer.reply(prediction if isinstance(prediction, str) else "4"),
        )


def _gold(value: Any) -> Any:
    """A value that is no longer than gold answers are."""
    if isinstance(value, str):
        return value[:LONGEST_GOLD]
    return value if len(str(value)) <= LONGEST_GOLD else 12


def simple_pairs(count: int, seed: int) -> Iterator[Case]:
    """Random pairs for comparing with a plain re-implementation: natural answers and small changes of them."""
    r = random.Random(seed)
    writer = _Writer(
        r, ["Not answerable", "[]", "nan", "1e400", "ß", "İx", "page 3", "2015-2016", "$5", "a (b) c"]
    )
    for _ in range(count):
        kind = r.choice(["Int", "Float", "Str", "List", "None", "Integer", "String"])
        gold, prediction = _numbers(r) if r.random() < 0.7 and kind in NUMERIC else _pair(r, writer)
        yield Case(_short(gold), _short(prediction), kind, "")


NUMERIC = ("Int", "Integer", "Float")
_STYLES = (
    "{}",
    "{}",
    "{:.1f}",
    "{:.2f}",
    "{:.4f}",
    "{:,}",
    "{:e}",
    "${}",
    "£{}",
    "{}%",
    " {} ",
    "'{}'",
    "{} kg",
    "{} m",
    *("{} million", "{}.0", "+{}", "({})", "{} (about)", "-{}", "{}!", "0{}", "{}%%", "$${}"),
)


def _numbers(r: random.Random) -> tuple[Any, Any]:
    """A number and the same or a near one, each in some style."""
    base = r.choice(
        [r.randint(0, 20), r.randint(0, 2500), round(r.random() * 100, r.randint(0, 4)), r.random() / 50]
    )
    scaled = [
        base,
        base,
        base * 100,
        base / 100,
        base * r.uniform(0.985, 1.015),
        base + 0.005,
        base + 0.4,
        base + 1,
    ]
    other = r.choice(scaled)
    gold: Any = r.choice(_STYLES).format(base) if r.random() < 0.8 else base
    prediction: Any = (
        r.choice(_STYLES).format(r.choice([other, round(other, 2)])) if r.random() < 0.8 else other
    )
    return gold, prediction


def _pair(r: random.Random, writer: _Writer) -> tuple[Any, Any]:
    gold: Any = writer.value() if r.random() < 0.5 else writer.text()[:40]
    prediction: Any = gold if r.random() < 0.2 else writer.value()
    if isinstance(gold, str) and r.random() < 0.5:
        prediction = writer.step(gold)
    if isinstance(gold, list) and r.random() < 0.7:
        prediction = _changed_list(r, writer, gold)
    return gold, prediction


def _changed_list(r: random.Random, writer: _Writer, gold: list[Any]) -> Any:
    items = [writer.step(one) if isinstance(one, str) and r.random() < 0.3 else one for one in gold]
    r.shuffle(items)
    if r.random() < 0.3:
        items = items[1:] if r.random() < 0.5 else [*items, writer.text()]
    return str(items) if r.random() < 0.5 else items


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:120]
    return [_short(one) for one in value] if isinstance(value, list) else value


# The driver

_WATCHED = (
    "exec",
    "open",
    "import",
    "os.",
    "subprocess.",
    "socket.",
    "shutil.",
    "pickle.",
    "marshal.",
    "ctypes.",
    "code.",
)
"""Beginnings of names of audit events that scoring must not cause; `compile` alone is what `ast.parse` raises."""


@dataclass
class Outcome:
    """What happened."""

    calls: int = 0
    raised: list[str] = field(default_factory=list)
    not_scores: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_call: str = ""


def _calls() -> dict[str, tuple[Callable[[Case], Any], tuple[type[BaseException], ...]]]:
    """Everything that takes a model's text, by name, with the exceptions that it documents."""
    from looseleaf.scoring import (
        RuleExtractor,
        binary_judge,
        dude,
        equivalence_judge,
        extraction,
        longdocurl,
        mmlongbench,
        qasper,
    )

    rule = RuleExtractor()
    none: tuple[type[BaseException], ...] = ()

    def text_of(case: Case) -> str:
        return case.prediction if isinstance(case.prediction, str) else str(case.prediction)

    return {
        "mmlongbench": (lambda c: mmlongbench.score(c.gold, c.prediction, c.answer_format), none),
        "mmlongbench.safe": (lambda c: mmlongbench.safe(c.gold, c.prediction, c.answer_format), none),
        "mmlongbench.flags": (lambda c: mmlongbench.flags(c.gold, c.prediction, c.answer_format), none),
        "mmlongbench.pipeline": (
            lambda c: mmlongbench.official_pipeline(c.reply, c.gold, c.answer_format),
            none,
        ),
        "mmlongbench.run_api": (
            lambda c: mmlongbench.official_pipeline(c.reply, c.gold, c.answer_format, "run_api"),
            none,
        ),
        "mmlongbench.parse": (lambda c: mmlongbench.parse_extraction(c.reply), (ValueError,)),
        "longdocurl": (lambda c: longdocurl.score(c.gold, c.prediction, c.answer_format), none),
        "longdocurl.safe": (lambda c: longdocurl.safe(c.gold, c.prediction, c.answer_format), none),
        "longdocurl.prediction": (lambda c: longdocurl.official_prediction(text_of(c)), none),
        "longdocurl.scored": (
            lambda c: longdocurl.score(c.gold, longdocurl.official_prediction(text_of(c)), c.answer_format),
            none,
        ),
        "longdocurl.pipeline": (
            lambda c: longdocurl.official_pipeline(c.reply, c.gold, c.answer_format),
            none,
        ),
        "longdocurl.parse": (lambda c: longdocurl.parse_extraction(c.reply), (ValueError,)),
        "dude": (lambda c: dude.score(_texts(c.gold), dude.answers(text_of(c)), c.answer_format), none),
        "dude.list": (
            lambda c: dude.score(_texts(c.gold), dude.answers(text_of(c)), "list/abstractive"),
            none,
        ),
        "dude.raw": (lambda c: dude.score(c.gold, c.prediction, c.answer_format), none),
        "qasper": (lambda c: qasper.score(c.gold, qasper.spelled_refusal(text_of(c)), c.answer_format), none),
        "binary_judge": (lambda c: binary_judge.parse(c.reply), none),
        "binary_judge.upstream": (lambda c: binary_judge.upstream_value(c.reply), none),
        "binary_judge.prompt": (
            lambda c: binary_judge.prompt("?", c.gold, text_of(c), c.answer_format),
            none,
        ),
        "equivalence_judge": (lambda c: equivalence_judge.parse(c.reply), none),
        "equivalence_judge.prompt": (
            lambda c: equivalence_judge.prompt("?", c.gold, text_of(c), c.answer_format),
            none,
        ),
        "extraction": (lambda c: extraction.short_answer(c.reply), (ValueError,)),
        "rule_extractor": (lambda c: rule.extract("How many are there?", text_of(c)), none),
    }


def _texts(gold: Any) -> Any:
    return [str(one) for one in gold] if isinstance(gold, list) else str(gold)


_SCORES = (
    "mmlongbench",
    "mmlongbench.safe",
    "longdocurl",
    "longdocurl.safe",
    "longdocurl.scored",
    "dude",
    "dude.list",
    "dude.raw",
    "qasper",
    "binary_judge",
    "equivalence_judge",
)


def _is_score(name: str, result: Any) -> bool:
    """Whether a scorer gave a finite number from 0 to 1, or a reason why not."""
    if name not in _SCORES:
        return True
    value = result.value
    return (value is None) != (result.unscored is None) and (value is None or 0.0 <= value <= 1.0)


def _time(
    call: Callable[[Case], Any], case: Case, allowed: tuple[type[BaseException], ...]
) -> tuple[float, Any]:
    start = time.process_time()
    try:
        result = call(case)
    except allowed:
        result = None
    return time.process_time() - start, result


def _told(name: str, case: Case) -> str:
    return ascii((name, case.answer_format, str(case.gold)[:80], str(case.prediction)[:80], case.reply[:80]))


def run(source: Iterator[Case], outcome: Outcome, *, limit: float = LIMIT_SECONDS) -> None:
    """Score cases with everything; `limit` is in seconds of processor time."""
    calls = _calls()
    for case in source:
        for name, (call, allowed) in calls.items():
            outcome.calls += 1
            try:
                seconds, result = _time(call, case, allowed)
                if limit < seconds < HOPELESS:
                    seconds = min(seconds, *(_time(call, case, allowed)[0] for _ in range(REPEATS)))
            except Exception as error:
                outcome.raised.append(f"{type(error).__name__}: {ascii(str(error))[:60]} {_told(name, case)}")
                continue
            if result is not None and not _is_score(name, result):
                outcome.not_scores.append(f"{result!r:.80} {_told(name, case)}")
            if seconds > outcome.slowest:
                outcome.slowest, outcome.slowest_call = seconds, _told(name, case)
            if seconds > limit:
                outcome.slow.append(f"{seconds * 1000:.0f} ms {_told(name, case)}")


def _watch(outcome: Outcome) -> None:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_WATCHED):
            outcome.events.append(f"{event} {ascii(arguments)[:160]}")

    sys.addaudithook(hook)


def _megabytes() -> Iterator[Case]:
    """Each long text as an answer to ordinary questions."""
    for text in MEGABYTES:
        for gold, kind in (
            ("42", "Int"),
            ("4.5%", "Float"),
            ("Red", "Str"),
            ("['Red', 'Blue']", "List"),
            ("3", "Integer"),
        ):
            yield Case(gold, text, kind, text)


def main(arguments: list[str]) -> None:
    """See the module."""
    count, seed, folder = int(arguments[0]), int(arguments[1]), arguments[2]
    os.chdir(folder)
    run(cases(300, seed + 1, f"{folder}/warm-up"), Outcome())  # lazy imports happen here
    outcome = Outcome()
    _watch(outcome)
    if seed >= 0:
        run(cases(count, seed, folder), outcome)
    else:
        run(_megabytes(), outcome, limit=math.inf)
    events, outcome.events = outcome.events, []
    report = {
        **outcome.__dict__,
        "events": events,
        "files": sorted(path.name for path in Path(folder).iterdir()),
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1:])
