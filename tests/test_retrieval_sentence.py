"""Local models through sentence-transformers: tiny random ones, made here; what is tested is how they are driven."""

from __future__ import annotations

import os
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("sentence_transformers", reason="the extra [vision] is not installed")

from fakes import FakeDocument
from looseleaf.errors import ConfigError
from looseleaf.models.retrievers import retriever_maker
from looseleaf.retrieval.encoder import PageContent
from looseleaf.retrieval.sentence_encoder import SentenceEncoder, SentenceOptions

pytestmark = pytest.mark.filterwarnings("default")  # of torch and transformers, about themselves

WORDS = ["alpha", "beta", "gamma", "delta", *string.ascii_lowercase]
PAGES = ["alpha beta beta", "", "gamma delta", "delta " * 20]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with 32 dimensions and random weights."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=5 + len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
    )
    BertModel(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def dense(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A single-vector model."""
    from sentence_transformers import SentenceTransformer

    folder = tmp_path_factory.mktemp("dense")
    SentenceTransformer(str(bert)).save(str(folder))
    return folder


@pytest.fixture(scope="module")
def late(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A late-interaction model with 24 dimensions a token."""
    from sentence_transformers import MultiVectorEncoder

    folder = tmp_path_factory.mktemp("late")
    MultiVectorEncoder(str(bert)).save(str(folder))
    return folder


def encoder(folder: Path, multi: bool, **options: Any) -> SentenceEncoder:
    return SentenceEncoder(str(folder), multi=multi, options=SentenceOptions(**options))


def contents(pages: list[str]) -> list[PageContent]:
    document = FakeDocument(pages)
    return [PageContent(document, number) for number in range(1, len(pages) + 1)]  # type: ignore[arg-type]


def test_one_vector_a_page_of_length_one(dense: Path) -> None:
    vectors = list(encoder(dense, False).encode_pages(contents(PAGES)))
    assert [page.shape[0] for page in vectors] == [1, 0, 1, 1]
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


def test_one_vector_a_token_whatever_else_is_in_the_batch(late: Path) -> None:
    """Padding must not show: a page's vectors are the same alone and beside a longer one."""
    together = list(encoder(late, True, batch=8).encode_pages(contents(PAGES)))
    alone = list(encoder(late, True, batch=1).encode_pages(contents(PAGES)))
    assert len(together[3]) > len(together[0]) > 3
    assert len(together[1]) == 0
    for first, second in zip(together, alone, strict=True):
        assert first.shape == second.shape
        assert np.allclose(first, second, atol=1e-5)


def test_windows_of_a_page_are_encoded_apart(dense: Path) -> None:
    [whole] = encoder(dense, False, window=0).encode_pages(contents(["alpha " * 20]))
    [parts] = encoder(dense, False, window=30).encode_pages(contents(["alpha " * 20]))
    assert (len(whole), len(parts)) == (1, 4)


def test_prompts_change_vectors_and_the_id(dense: Path) -> None:
    plain, prompted = encoder(dense, False), encoder(dense, False, query_prompt="alpha: ")
    assert not np.allclose(plain.encode_query("beta"), prompted.encode_query("beta"))
    assert plain.id != prompted.id
    assert encoder(dense, False, batch=1, device="cpu").id == plain.id


@pytest.mark.parametrize("kind", ["dense", "late"])
def test_it_searches(kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path))
    made = retriever_maker(f"{kind}:{request.getfixturevalue(kind)}(batch=2)")
    searching = made()
    searching.index(FakeDocument(PAGES))  # type: ignore[arg-type]
    assert made.family == ("multi-vector" if kind == "late" else "single-vector")
    assert searching.search("gamma delta", 1)[0].page == 3
    assert len(searching.search("alpha", 9)) == 3


def test_a_model_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded"):
        encoder(tmp_path / "nothing", False).encode_query("alpha")
    with pytest.raises(ConfigError, match="needs a name"):
        retriever_maker("dense")
