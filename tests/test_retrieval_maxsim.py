"""Late interaction is exact: halves widen without loss, blocks and empty pages change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from looseleaf.retrieval.blas import one_blas_thread
from looseleaf.retrieval.maxsim import BLOCK_VECTORS, NO_SCORE, best_first, maxsim, unpadded
from looseleaf.retrieval.vectors import as_vectors, widened


def reference(query: np.ndarray, pages: list[np.ndarray]) -> np.ndarray:
    """The definition, in float64, page by page."""
    scores = []
    for page in pages:
        products = query.astype(np.float64) @ page.astype(np.float64).T
        scores.append(products.max(axis=1).sum() if page.size else NO_SCORE)
    return np.array(scores)


def unit(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    rows = rng.standard_normal((count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scored(query: np.ndarray, pages: list[np.ndarray], dtype: type = np.float32) -> np.ndarray:
    filled = [page for page in pages if page.size]
    stored = np.concatenate(filled).astype(dtype)
    return maxsim(query, stored, np.array([len(page) for page in pages], dtype=np.intp))


def test_a_score_worked_by_hand() -> None:
    """Query (1, 0), (0, 2); page (3, 1), (−1, 4): max(3, −1) + max(2, 8) = 11."""
    query = np.array([[1, 0], [0, 2]], dtype=np.float32)
    page = np.array([[3, 1], [-1, 4]], dtype=np.float32)
    assert scored(query, [page]).tolist() == [11.0]


@pytest.mark.parametrize("dimension", [1, 3, 96, 128, 320])
@pytest.mark.parametrize("query_vectors", [1, 20, 33])
def test_scores_equal_the_definition_to_1e_5(dimension: int, query_vectors: int) -> None:
    rng = np.random.default_rng(dimension * 100 + query_vectors)
    counts = [*rng.integers(0, 900, 12), 0, 1, BLOCK_VECTORS, BLOCK_VECTORS + 1, 3 * BLOCK_VECTORS, 0]
    pages = [unit(rng, int(count), dimension) for count in counts]
    query = unit(rng, query_vectors, dimension)
    expected = reference(query, pages)
    found = scored(query, pages)
    filled = np.isfinite(expected)
    assert (np.isfinite(found) == filled).all()
    assert np.abs(found[filled] - expected[filled]).max() < 1e-5


def test_negative_maxima_stay_negative_beside_longer_pages() -> None:
    """Padding the short page with zeros, as a padded batch does, would lift its score from −2 to 0."""
    query = np.array([[1, 0], [1, 0]], dtype=np.float32)
    away, toward = (
        np.array([[-1, 0]], dtype=np.float32),
        np.tile(np.array([[0.5, 0]], dtype=np.float32), (7, 1)),
    )
    assert scored(query, [away, toward, away]).tolist() == [-2.0, 1.0, -2.0]
    padded = np.zeros((2, 7, 2), np.float32)
    padded[0, :1], padded[1] = away, toward
    mask = np.arange(7) < np.array([[1], [7]])
    assert scored(query, unpadded(padded, mask)).tolist() == [-2.0, 1.0]


def test_halves_score_like_the_same_numbers_in_full() -> None:
    rng = np.random.default_rng(5)
    pages = [unit(rng, count, 128).astype(np.float16) for count in (747, 3, 1100)]
    query = unit(rng, 20, 128)
    halves = maxsim(query, np.concatenate(pages), np.array([747, 3, 1100]))
    assert np.abs(halves - reference(query, pages)).max() < 1e-5


def test_every_finite_half_widens_exactly() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)].reshape(-1, 1)
    found = widened(np.ascontiguousarray(finite), np.empty((len(finite), 1), np.float32))
    assert (found.view(np.uint32) == finite.astype(np.float32).view(np.uint32)).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(0, 4), st.integers(0, 2**32))
def test_any_layout_of_pages(counts: list[int], query_vectors: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pages = [unit(rng, count, 4) for count in counts]
    query = unit(rng, query_vectors, 4)
    stored = np.concatenate(pages)
    found = maxsim(query, stored, np.array(counts))
    expected = reference(query, pages) if query_vectors else np.full(len(counts), NO_SCORE)
    assert np.allclose(found, expected, atol=1e-5)


def test_the_best_come_first_and_ties_go_to_the_earlier_page() -> None:
    scores = np.array([1, NO_SCORE, 3, 1, 3, -2], dtype=np.float32)
    assert best_first(scores, 9) == [2, 4, 0, 3, 5]
    assert best_first(scores, 2) == [2, 4]
    assert best_first(scores, 0) == best_first(scores, -1) == best_first(scores[:0], 3) == []


def test_blas_has_one_thread_inside_and_its_own_number_after() -> None:
    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert threads() == before


@pytest.mark.parametrize(
    "given",
    [[[float("nan")]], [[float("inf"), 1.0]], [[1e6]], [[[1.0]], [[2.0]]]],
    ids=["nan", "inf", "large", "deep"],
)
def test_what_cannot_be_stored_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="vector"):
        as_vectors(given)
