"""Retrievers rank the pages of one document and survive documents and queries that hold nothing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import FakeDocument
from looseleaf.retrieval import BM25Retriever, GoldPagesRetriever, RetrieverFamily

PAGES = [
    "The annual report of a maker of sensors and balances.",
    "Revenue of pressure sensors rose to 31.8 million in 2023.",
    "The board appointed a new chief executive officer.",
    "Employees work in Penang, Oslo and Lima; the Penang site has 226 employees.",
    "Sensors, sensors and more sensors.",
]


def bm25(*texts: str) -> BM25Retriever:
    made = BM25Retriever()
    made.index(FakeDocument(texts))  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("What was the revenue of pressure sensors in 2023?", 2),
        ("How many employees work at the Penang site?", 4),
        ("Who was appointed chief executive?", 3),
        ("APPOINTS", 3),
    ],
)
def test_the_page_that_answers_comes_first(query: str, page: int) -> None:
    assert bm25(*PAGES).search(query, 3)[0].page == page


def test_scores_are_lucenes_bm25_worked_by_hand() -> None:
    """Two pages "alpha beta" and "alpha"; idf(beta) = ln(1 + (2 − 1 + .5)/(1 + .5)) = ln 2, lengths 2 and 1, mean 1.5.

    score(beta, page 1) = ln 2 · 1/(1 + 1.2·(1 − .75 + .75·2/1.5)) = ln 2/2.5, with Lucene's k1 = 1.2 and b = .75.
    """
    found = bm25("alpha beta", "alpha").search("beta", 2)
    assert [page.page for page in found] == [1]
    assert found[0].score == pytest.approx(math.log(2) / 2.5, rel=1e-5)


def test_pages_without_a_match_are_left_out_and_k_cuts() -> None:
    retriever = bm25(*PAGES)
    assert [page.page for page in retriever.search("sensors", 9)] == [5, 1, 2]
    assert [page.page for page in retriever.search("sensors", 1)] == [5]
    assert retriever.search("sensors", 0) == []
    assert retriever.search("zebra", 3) == []


def test_ties_go_to_the_earlier_page() -> None:
    assert [page.page for page in bm25("a fox", "other", "a fox", "a fox").search("fox", 2)] == [1, 3]


def test_scores_fall() -> None:
    scores = [page.score for page in bm25(*PAGES).search("sensors revenue employees", 5)]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


@pytest.mark.parametrize(
    "texts",
    [[""], ["", "  ", "\n"], ["the of and"], ["? ! …"], ["a"], ["", "one page has words"], ["7"]],
    ids=["empty", "blank", "stop words", "signs", "one letter", "one page with text", "digit"],
)
@pytest.mark.parametrize("query", ["words", "", "   ", "the of", "?!", "a", "\u0000", "ﬁne 😀", "x" * 10_000])
def test_documents_and_queries_that_hold_nothing(texts: list[str], query: str) -> None:
    found = bm25(*texts).search(query, 3)
    assert all(1 <= page.page <= len(texts) for page in found)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.text(st.characters()), min_size=1, max_size=4), st.text(st.characters()), st.integers(0, 5)
)
def test_any_text_can_be_indexed_and_searched(texts: list[str], query: str, k: int) -> None:
    found = bm25(*texts).search(query, k)
    assert len(found) <= k
    assert len({page.page for page in found}) == len(found)
    assert all(1 <= page.page <= len(texts) and math.isfinite(page.score) for page in found)


def test_indexing_again_forgets_the_document_before() -> None:
    retriever = bm25(*PAGES)
    retriever.index(FakeDocument(["zebra crossing"]))  # type: ignore[arg-type]
    assert retriever.search("sensors", 3) == []
    assert [page.page for page in retriever.search("zebra", 3)] == [1]
    retriever.index(FakeDocument([""]))  # type: ignore[arg-type]
    assert retriever.search("zebra", 3) == []


def test_what_results_say_about_a_retriever() -> None:
    assert (BM25Retriever.name, BM25Retriever.family) == ("bm25", RetrieverFamily.LEXICAL)
    assert (GoldPagesRetriever.name, GoldPagesRetriever.family) == ("gold-pages", RetrieverFamily.ORACLE)


def test_gold_pages_are_those_that_exist_in_the_annotations_order() -> None:
    gold = GoldPagesRetriever([4, 2, 4, 0, -1, 6])
    gold.index(FakeDocument(PAGES))  # type: ignore[arg-type]
    assert [page.page for page in gold.search("anything", 1)] == [4, 2]
    none = GoldPagesRetriever([])
    none.index(FakeDocument(PAGES))  # type: ignore[arg-type]
    assert none.search("anything", 3) == []
