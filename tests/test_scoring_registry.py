"""Scorers by name, what they do with a question, and thresholds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from looseleaf.errors import ConfigError
from looseleaf.question import Question
from looseleaf.score import Score, Unscored
from looseleaf.scoring import SCORERS, THRESHOLDS, JudgeScorer, Scorer, binarise, default_scorer, get_scorer

EXTRACTED = (
    "Extracted answer: {0}\nAnswer format: x\n"
    "<concise_answer>{0}</concise_answer><answer_format>x</answer_format>"
)


def question(*references, answer_format="Str") -> Question:
    return Question(
        question_id="q:0",
        native_id="0",
        benchmark="own",
        split="own",
        doc_id="a.pdf",
        question="Which?",
        references=references,
        answer_format=answer_format,
    )


def test_canonical_names():
    assert list(SCORERS) == [
        "mmlongbench",
        "mmlongbench.safe",
        "longdocurl",
        "longdocurl.safe",
        "dude.anls",
        "qasper.f1",
        "judge.binary",
        "judge.equivalence",
    ]
    assert all(scorer.name == name for name, scorer in SCORERS.items())
    assert get_scorer(" MMLongBench.Safe ") is SCORERS["mmlongbench.safe"]
    with pytest.raises(ConfigError, match=r"no scorer 'f2'; use one of mmlongbench, "):
        get_scorer("f2")


@pytest.mark.parametrize(
    ("benchmark", "scorer"),
    [
        ("mmlongbench-doc", "mmlongbench"),
        ("MMLongBench_Doc", "mmlongbench"),
        ("longdocurl", "longdocurl"),
        ("papertab", "qasper.f1"),
        ("dude-sub", "dude.anls"),
        ("my_questions", "mmlongbench.safe"),
    ],
)
def test_default_scorers(benchmark, scorer):
    assert default_scorer(benchmark) == scorer
    assert scorer in SCORERS


def rule(name: str) -> Scorer:
    scorer = SCORERS[name]
    assert isinstance(scorer, Scorer)
    return scorer


@pytest.mark.parametrize("name", [name for name, scorer in SCORERS.items() if isinstance(scorer, Scorer)])
def test_every_rule_reads_an_extraction_and_scores_it(name):
    scorer = rule(name)
    answer = scorer.parse(EXTRACTED.format("blue"))
    assert answer == "blue"
    assert scorer.score_answer(question("blue"), answer) == Score(value=1.0)
    assert scorer.score_answer(question(), answer) == Score(unscored=Unscored.NO_GOLD)
    assert scorer.upstream_value(question(), "x") is None
    with pytest.raises(ValueError, match="extractor wrote no"):
        scorer.parse("blue")


def test_which_references_count():
    two = question("red", "blue")
    assert rule("mmlongbench").score_answer(two, "blue").value == 0.0
    assert rule("longdocurl").score_answer(two, "blue").value == 0.0
    for name in ("mmlongbench.safe", "longdocurl.safe", "dude.anls", "qasper.f1"):
        assert rule(name).score_answer(two, "blue").value == 1.0


def test_longdocurl_evaluates_the_answer_as_its_pipeline_does():
    thousands = question(96395, answer_format="Integer")
    assert rule("longdocurl").score_answer(thousands, "96,395").value == 0.0
    assert rule("longdocurl.safe").score_answer(thousands, "96,395").value == 1.0
    assert rule("longdocurl").upstream_value(thousands, EXTRACTED.format("96,395")) == 0.0
    assert rule("longdocurl").upstream_value(thousands, EXTRACTED.format("max")) is None  # never written
    assert rule("longdocurl").upstream_value(thousands, None) == 0.0


def test_upstream_values_of_mmlongbench():
    assert (
        rule("mmlongbench").upstream_value(question("12", answer_format="Int"), EXTRACTED.format("12")) == 1.0
    )
    assert rule("mmlongbench").upstream_value(question("12", answer_format="Int"), None) == 0.0
    assert rule("mmlongbench.safe").upstream_value(question("12"), None) is None


def test_refusals_in_the_words_of_each_set():
    assert (
        rule("dude.anls").score_answer(question("", answer_format="not-answerable"), "Not answerable").value
        == 1.0
    )
    assert rule("qasper.f1").score_answer(question("Unanswerable"), "Not answerable").value == 1.0


@pytest.mark.parametrize("name", ["judge.binary", "judge.equivalence"])
def test_judges(name):
    scorer = SCORERS[name]
    assert isinstance(scorer, JudgeScorer)
    prompt = scorer.prompt_for(question("red", "blue"), "It is red.")
    assert "It is red." in prompt
    assert '"red"' in prompt
    assert '"blue"' not in prompt
    assert scorer.parse("?") == Score(unscored=Unscored.JUDGE_FAULT)
    assert scorer.upstream(None) == scorer.upstream("?") == 0.0


@pytest.mark.parametrize(
    ("value", "over_zero", "half", "one"),
    [
        (0.0, False, False, False),
        (0.3, True, False, False),
        (0.5, True, True, False),
        (1.0, True, True, True),
    ],
)
def test_thresholds(value, over_zero, half, one):
    assert tuple(THRESHOLDS) == (">0", ">=0.5", "=1")
    assert binarise(value) is over_zero
    assert [binarise(value, name) for name in THRESHOLDS] == [over_zero, half, one]
    assert binarise(value, ">= 0.5") is half


def test_unknown_threshold():
    with pytest.raises(ConfigError, match=r"no threshold '>1'; use one of >0, >=0\.5, =1"):
        binarise(1.0, ">1")


def test_importing_the_scorers_imports_no_numpy():
    code = "import sys, looseleaf.scoring; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
