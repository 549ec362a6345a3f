"""Hostile and random inputs for every scorer, and two rules written a second time to compare with.

The short runs go with every change; `pytest -m slow` scores 200,000 hostile triples, each call within 50 ms of
processor time, and compares 20,000 pairs.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scoring_oracle as oracle
from looseleaf.scoring import binary_judge, dude, longdocurl, mmlongbench, qasper
from scoring_fuzz import LIMIT_SECONDS, MEGABYTES, MOST, Case, Outcome, cases, planted, run, simple_pairs

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
SCORERS: dict[str, tuple[Callable[[Any, Any, str], float], Callable[[Any, Any, str], Any]]] = {
    "mmlongbench": (oracle.mmlongbench, mmlongbench.score),
    "longdocurl": (oracle.longdocurl, longdocurl.score),
}


# Nothing raises, nothing runs


def scored_apart(count: int, seed: int, folder: Path) -> dict[str, Any]:
    """What the driver reports; warnings are errors there."""
    command = [
        sys.executable,
        "-W",
        "error",
        str(HERE / "scoring_fuzz.py"),
        str(count),
        str(seed),
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def assert_harmless(report: dict[str, Any]) -> None:
    for kind in ("raised", "not_scores", "events", "files"):
        assert not report[kind], "\n".join(report[kind][:10])


def test_two_thousand_hostile_triples(tmp_path: Path) -> None:
    report = scored_apart(2_000, 41, tmp_path)
    assert_harmless(report)
    assert report["calls"] >= 2_000 * 20


def test_a_megabyte_of_anything(tmp_path: Path) -> None:
    assert all(len(text.encode("utf-8", "surrogatepass")) >= 900_000 for text in MEGABYTES)
    assert_harmless(scored_apart(0, -1, tmp_path))


@pytest.mark.slow
def test_two_hundred_thousand_hostile_triples(tmp_path: Path) -> None:
    report = scored_apart(200_000, 42, tmp_path)
    print("calls", report["calls"], "slowest", report["slowest"] * 1000, "ms", report["slowest_call"])
    assert_harmless(report)
    assert not report["slow"], "\n".join(report["slow"][:20])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [43, 44])
def test_other_seeds(seed: int, tmp_path: Path) -> None:
    report = scored_apart(20_000, seed, tmp_path)
    assert_harmless(report)
    assert not report["slow"], "\n".join(report["slow"][:20])


def test_the_same_seed_gives_the_same_triples() -> None:
    """Also where hashes are salted differently: nothing depends on sets."""
    assert repr(list(cases(200, 5, "folder"))) == repr(list(cases(200, 5, "folder")))
    texts = [case.prediction for case in cases(1_000, 6, "folder") if isinstance(case.prediction, str)]
    assert len(set(texts)) > 500
    assert all(len(text.encode("utf-8", "surrogatepass")) <= MOST for text in texts)


_EYES = """
import sys
sys.path.insert(0, sys.argv[1])
import scoring_fuzz
outcome = scoring_fuzz.Outcome()
text = next(text for text in scoring_fuzz.planted(sys.argv[2]) if text.startswith("[1, open("))
scoring_fuzz._watch(outcome)
eval(text)
seen = {event.split()[0] for event in outcome.events}
sys.stdout.write(" ".join(sorted(seen)))
"""


def test_the_watch_sees_what_is_executed(tmp_path: Path) -> None:
    """If a scorer evaluated a planted text, the driver would notice, by its event and by its file."""
    command = [sys.executable, "-c", _EYES, str(HERE), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"exec", "open"} <= set(done.stdout.split())
    assert [path.name for path in tmp_path.iterdir()] == ["touched"]


def test_planted_texts_cover_what_a_model_may_write() -> None:
    texts = " ".join(planted("folder"))
    for hint in (
        "__import__",
        "lambda",
        ":=",
        " for ",
        "f'",
        "await",
        "yield",
        ".format(",
        "9**9**9",
        "*10**10",
    ):
        assert hint in texts, hint


LONG_GOLDS = {
    "numbers": str([number % 97 for number in range(2_400)]),
    "words": str([f"item {number}" for number in range(800)]),
    "the same": str(["a"] * 1_900),
}


@pytest.mark.slow
@pytest.mark.parametrize("answer_format", ["List", "list/abstractive"])
@pytest.mark.parametrize("name", LONG_GOLDS)
def test_a_gold_list_of_ten_kilobytes_costs_no_more(name: str, answer_format: str) -> None:
    """A data file may hold a long list, and an answer that repeats it; no call may take a run's time."""
    outcome = Outcome()
    texts = json.loads(LONG_GOLDS[name].replace("'", '"'))[:400]
    case = Case([str(text) for text in texts], LONG_GOLDS[name][:MOST], answer_format, "")
    run(iter([case, Case(texts, str(texts), answer_format, "")]), outcome, limit=LIMIT_SECONDS)
    assert not outcome.raised
    assert not outcome.slow, "\n".join(outcome.slow)


# Two rules, written a second time


def _expected(name: str, case: Case) -> tuple[float, str | None] | None:
    """The oracle's score, or the exception that escapes upstream; `None` where the oracle does not know."""
    try:
        return SCORERS[name][0](case.gold, case.prediction, case.answer_format), None
    except oracle.UnknownError:
        return None
    except (ValueError, IndexError, AttributeError, SyntaxError) as error:
        return 0.0, type(error).__name__


def _compare(name: str, count: int, seed: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    different = []
    for case in simple_pairs(count, seed):
        expected = _expected(name, case)
        if expected is None:
            seen["unknown"] += 1
            continue
        score = SCORERS[name][1](case.gold, case.prediction, case.answer_format)
        seen["positive" if expected[0] else expected[1] or "zero"] += 1
        if (score.value, score.upstream_raises) != expected:
            different.append(ascii((case.gold, case.prediction, case.answer_format, expected, score)))
    assert not different, "\n".join(different[:10])
    return seen


@pytest.mark.parametrize("name", SCORERS)
def test_the_oracle_reproduces_the_golden_vectors(name: str) -> None:
    """The second writing is right where the official code's own numbers are known."""
    rows = [json.loads(line) for line in (GOLDEN / f"{name}_scores.jsonl").read_text("utf-8").splitlines()]
    unknown = 0
    for row in rows:
        expected = _expected(name, Case(row["gt"], row["pred"], row["answer_format"], ""))
        if expected is None:
            unknown += 1
        else:
            assert expected == (row.get("score", 0.0), row.get("raises")), row
    assert len(rows) > 700
    assert unknown < 10


@pytest.mark.parametrize("name", SCORERS)
def test_scores_equal_the_oracle(name: str) -> None:
    seen = _compare(name, 1_000, 11)
    assert seen["positive"] > 250
    assert seen["unknown"] < 50


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORERS)
def test_twenty_thousand_scores_equal_the_oracle(name: str) -> None:
    seen = _compare(name, 20_000, 12)
    print(name, dict(seen))
    assert seen["positive"] > 5_000


def _expression(r: random.Random) -> str:
    """An expression of plain numbers, dates and grouped digits, as answers hold them."""
    numbers = [
        "0",
        "7",
        "12",
        "2.5",
        ".5",
        "1e3",
        "007",
        "1_000",
        "395",
        "035",
        "2021",
        str(r.randint(0, 10**6)),
    ]
    text = r.choice(numbers)
    for _ in range(r.randint(0, 4)):
        text = (
            r.choice(["-", ""])
            + text
            + r.choice(["-", "+", "/", "*", ",", ", ", "//", "%", " - "])
            + r.choice(numbers)
        )
    return f"({text})" if r.random() < 0.2 else text


def _compare_expressions(count: int, seed: int) -> int:
    r = random.Random(seed)
    values = 0
    for _ in range(count):
        text = _expression(r)
        try:
            expected = oracle.number(text)
            values += 1
        except (SyntaxError, ArithmeticError):
            expected = text
        found = longdocurl.official_prediction(text)
        assert (type(found), repr(found)) == (type(expected), repr(expected)), text
    return values


def test_numbers_of_the_pipeline_equal_the_oracle() -> None:
    assert _compare_expressions(1_000, 13) > 300


@pytest.mark.slow
def test_twenty_thousand_numbers_of_the_pipeline_equal_the_oracle() -> None:
    assert _compare_expressions(20_000, 14) > 6_000


# What must not change a score


def _plain(r: random.Random) -> str:
    """A text without any sign that the cleaners look at."""
    letters = "abcdefghij klnoprstuvxyz é 0123456789 . - :"
    return "".join(r.choice(letters) for _ in range(r.randint(1, 18))).strip() or "x"


def _near(r: random.Random, text: str) -> str:
    at = r.randint(0, len(text))
    return (
        r.choice([text, text[:at] + r.choice("xyz") + text[at:], text[:at] + text[at + 1 :], _plain(r)])
        or "x"
    )


def _pairs(seed: int, count: int = 300) -> list[tuple[str, str]]:
    r = random.Random(seed)
    golds = [_plain(r) for _ in range(count)]
    return [(gold, _near(r, gold)) for gold in golds]


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "single quotes": lambda text: f"'{text}'",
    "double quotes": lambda text: f'"{text}"',
    "one quote before": lambda text: f"'{text}",
    "one quote behind": lambda text: f'{text}"',
    "white space": lambda text: f"\t {text}\n",
    "capitals": str.upper,
    "dollars": lambda text: f"$$ {text}",
    "per cent": lambda text: f"{text} %%",
    "a remark": lambda text: f"{text} (as printed on page 3)",
    "a remark before": lambda text: f"(Answer) {text}",
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("answer_format", ["Str", "None", "List"])
def test_mmlongbench_does_not_see(wrapping: str, answer_format: str) -> None:
    """Whichever side is wrapped, the score of the cleaned texts comes out."""
    wrap = WRAPPINGS[wrapping]
    for gold, prediction in _pairs(21):
        value = mmlongbench.score(gold, prediction, answer_format).value
        assert mmlongbench.score(gold, wrap(prediction), answer_format).value == value, (gold, prediction)
        assert mmlongbench.score(wrap(gold), prediction, answer_format).value == value, (gold, prediction)
        assert mmlongbench.score(wrap(gold), wrap(prediction), answer_format).value == value, (
            gold,
            prediction,
        )


@pytest.mark.parametrize("wrapping", [*WRAPPINGS, "commas", "pounds"])
def test_longdocurl_does_not_see(wrapping: str) -> None:
    more: dict[str, Callable[[str], str]] = {
        "commas": lambda text: f",{text},",
        "pounds": lambda text: f"£{text}",
    }
    wrap = {**WRAPPINGS, **more}[wrapping]
    for gold, prediction in _pairs(22):
        value = longdocurl.score(gold, prediction, "String").value
        assert longdocurl.score(gold, wrap(prediction), "String").value == value, (gold, prediction)
        assert longdocurl.score(wrap(gold), prediction, "String").value == value, (gold, prediction)


@pytest.mark.parametrize(("score", "label"), [(mmlongbench.score, "Str"), (longdocurl.score, "String")])
def test_text_scores_are_symmetric_and_whole_for_the_same(score: Callable[..., Any], label: str) -> None:
    for gold, prediction in _pairs(23):
        assert score(gold, gold, label).value == 1.0
        if not (oracle.exact(gold.lower()) or oracle.exact(prediction.lower())):
            assert score(gold, prediction, label).value == score(prediction, gold, label).value, (
                gold,
                prediction,
            )


def test_the_order_of_a_list_is_free_where_the_rule_says_so() -> None:
    r = random.Random(24)
    for _ in range(300):
        gold = [_plain(r) for _ in range(r.randint(2, 5))]
        prediction = [_near(r, one) for one in gold]
        other_gold, other = r.sample(gold, len(gold)), r.sample(prediction, len(prediction))
        for score in (mmlongbench.score, mmlongbench.safe, longdocurl.safe):
            value = score(str(gold), str(prediction), "List").value
            assert score(str(other_gold), str(other), "List").value == pytest.approx(value, abs=1e-12)
        assert mmlongbench.score(str(gold), str(other), "List") == mmlongbench.score(gold, prediction, "List")
        if not (oracle.exact(gold[0]) or _is_number(gold[0])):
            assert longdocurl.score(gold, other, "List") == longdocurl.score(gold, prediction, "List")
        dude_value = dude.score(gold, prediction, "list/abstractive").value
        assert dude.score(other_gold, other, "list/abstractive").value == pytest.approx(dude_value, abs=1e-12)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_longdocurl_keeps_the_order_of_numbers() -> None:
    """The one list where order counts: numbers and what has to be met exactly."""
    assert longdocurl.score([16, 19], [16, 19], "List").value == 1.0
    assert longdocurl.score([16, 19], [19, 16], "List").value == 0.0
    assert mmlongbench.score("[16, 19]", "[19, 16]", "List").value == 1.0


def test_floats_are_the_same_in_per_cent_and_as_shares() -> None:
    r = random.Random(25)
    for _ in range(300):
        gold = round(r.uniform(0.01, 500), r.randint(0, 4))
        for other in (gold, gold * 100, gold / 100, gold * 1.009, gold * 0.991):
            for prediction in (other, f"{other}%", f"${other}", f" '{other}' "):
                assert mmlongbench.score(str(gold), str(prediction), "Float").value == 1.0, (gold, prediction)
                assert longdocurl.score(gold, str(prediction), "Float").value == 1.0, (gold, prediction)
        far = gold * 1.03 + 1
        assert mmlongbench.score(str(gold), str(far), "Float").value == oracle.mmlongbench(gold, far, "Float")


def test_more_answers_never_help_in_longdocurl() -> None:
    """Extra predictions cost the square root of their share; more golds than predictions cost nothing extra."""
    r = random.Random(26)
    for _ in range(200):
        gold = [f"{_plain(r)} tree" for _ in range(r.randint(1, 4))]
        value = longdocurl.score(gold, gold, "List").value
        more = longdocurl.score(gold, [*gold, *gold], "List").value
        assert value == 1.0
        assert more == pytest.approx(0.5**0.5)


def test_token_f1_is_a_bag_and_symmetric() -> None:
    r = random.Random(27)
    for gold, prediction in _pairs(28):
        value = qasper.score(gold, prediction).value or 0.0
        words = prediction.split()
        assert qasper.score(gold, " ".join(r.sample(words, len(words)))).value == value
        assert qasper.score(prediction, gold).value == pytest.approx(value, abs=1e-12)
        own = qasper.score(prediction, prediction).value or 0.0
        assert qasper.score([gold, prediction], prediction).value == max(value, own)


def _verdict(reply: str) -> int | None:
    """A verdict as documented: the JSON from the first "{" to the last "}", and the number 0 or 1 in it."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        value = json.loads(reply[start : end + 1])["binary_correctness"] if 0 <= start < end else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if type(value) is int and value in (0, 1) else None


def test_a_binary_verdict_is_the_documented_one() -> None:
    """Strict in our column: anything but a plain 0 or 1 is unscored, and never wrong."""
    scored = 0
    for case in cases(5_000, 29, "folder"):
        score = binary_judge.parse(case.reply)
        assert score.value == _verdict(case.reply), ascii(case.reply)[:300]
        scored += score.value is not None
    assert scored > 50
