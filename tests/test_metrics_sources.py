"""Evidence sources: labels as they are, and the paper's exclusive categories."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from fakes import make_question
from looseleaf.benchmarks import load_benchmark
from looseleaf.metrics.sources import source_category, source_names

LABELS = {
    "Pure-text (Plain-text)": "text",
    "Table": "table",
    "Chart": "chart",
    "Figure": "figure",
    "Generalized-text (Layout)": "layout",
    "Text": "text",
    "Layout": "layout",
    "Map": "other",
}


@pytest.mark.parametrize(("label", "name"), LABELS.items())
def test_one_source_label_is_its_own_category(label: str, name: str) -> None:
    question = make_question(sources=(label,))
    assert (source_category(question), source_names(question)) == (name, (name,))


@pytest.mark.parametrize(
    ("sources", "category"),
    [
        ((), "none"),
        (("Figure", "Chart"), "visual-multi"),
        (("Table", "Pure-text (Plain-text)"), "text-multi"),
        (("Generalized-text (Layout)", "Table"), "text-multi"),
        (("Chart", "Table"), "mixed"),
        (("Figure", "Chart", "Table"), "mixed"),
        (("Table", "Table"), "table"),
        (("Table", "Map"), "other"),
    ],
)
def test_source_categories_are_exclusive(sources: tuple[str, ...], category: str) -> None:
    assert source_category(make_question(sources=sources)) == category


@pytest.mark.skipif("LOOSELEAF_DATA" not in os.environ, reason="set LOOSELEAF_DATA to the data folder")
def test_the_categories_have_the_nine_published_counts() -> None:
    """AWM, arXiv 2608.25618, Table 7; the last category is 214 unanswerable and 19 answerable rows."""
    rows = load_benchmark("mmlongbench-doc", Path(os.environ["LOOSELEAF_DATA"]) / "mmlongbench").questions
    counts = Counter(str(source_category(question)) for question in rows)
    assert counts == {
        **{"text": 135, "table": 143, "chart": 107, "figure": 187, "layout": 32},
        **{"mixed": 180, "visual-multi": 3, "text-multi": 62, "none": 233},
    }
    none = [question for question in rows if source_category(question) == "none"]
    assert Counter(question.unanswerable for question in none) == {True: 214, False: 19}
