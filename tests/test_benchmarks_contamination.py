"""What training and evaluation share is found by bytes, by look, by name and by question; else nothing is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from looseleaf.benchmarks import ContaminationReport, OverlapKind, QuestionSet, contamination, load_questions
from looseleaf.benchmarks.contamination import LOOK_AND_WORDS
from looseleaf.benchmarks.page_hash import HASH_BYTES, differences, page_hash
from looseleaf.document import Document, PageStore
from looseleaf.errors import DataError
from planted_data import write_jsonl, write_page_images, write_pdf


def draw(path: Path, pages: Sequence[str], *, producer: str = "one", shift: float = 0.0) -> Path:
    """A PDF whose pages are laid out by their text: the same text gives the same look, whatever the producer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas = Canvas(str(path), invariant=1)
    canvas.setProducer(producer)
    for text in pages:
        for at, word in enumerate(text.split()):
            size = 40 + 13 * (sum(map(ord, word)) % 9)
            x, y = 40 + (at % 4) * 130 + shift, 700 - (at // 4) * 150
            canvas.setFillGray((sum(map(ord, word)) % 5) / 8)
            canvas.rect(x, y - size, 100, size, stroke=0, fill=1)
            canvas.setFillGray(0)
            canvas.drawString(x, y + 4, word)
        canvas.showPage()
    canvas.save()
    return path


ALPHA = (
    "harbour herring vessel lighthouse lantern pier sailor anchor",
    "tide mooring compass buoy jetty crane dock quay",
)
BETA = (
    "violin sonata composer orchestra melody rhythm conductor audience",
    "symphony opera cello flute piano drums harp",
)


def own(root: Path, questions: Mapping[str, Sequence[str]]) -> QuestionSet:
    rows = [{"doc_id": doc_id, "question": text} for doc_id, asked in questions.items() for text in asked]
    return load_questions(write_jsonl(root / f"{root.name}.jsonl", rows), root)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    draw(tmp_path / "train" / "alpha.pdf", ALPHA)
    draw(tmp_path / "test" / "beta.pdf", BETA)
    return tmp_path / "train", tmp_path / "test"


def compare(
    sides: tuple[Path, Path],
    store: PageStore,
    ours: Mapping[str, Sequence[str]],
    theirs: Mapping[str, Sequence[str]],
) -> ContaminationReport:
    return contamination(own(sides[0], ours), own(sides[1], theirs), store)


def test_disjoint_sets_are_clean(sides: tuple[Path, Path], store: PageStore) -> None:
    found = compare(sides, store, {"alpha.pdf": ["How many piers?"]}, {"beta.pdf": ["How many violins?"]})
    assert found.clean
    assert found.pages_compared == (2, 2)
    found.require_clean()


def test_the_same_bytes_under_another_name(sides: tuple[Path, Path], store: PageStore) -> None:
    draw(sides[1] / "copy.pdf", ALPHA)
    found = compare(sides, store, {"alpha.pdf": ["a?"]}, {"beta.pdf": ["b?"], "copy.pdf": ["c?"]})
    assert found.by_kind == {OverlapKind.DOCUMENT: 1}
    assert found.rows() == [("document", "alpha.pdf", "copy.pdf")]


def test_the_same_page_in_a_file_made_anew(sides: tuple[Path, Path], store: PageStore) -> None:
    draw(sides[1] / "anew.pdf", [BETA[1], ALPHA[1]], producer="two", shift=0.4)
    found = compare(sides, store, {"alpha.pdf": ["a?"]}, {"beta.pdf": ["b?"], "anew.pdf": ["c?"]})
    (overlap,) = found.overlaps
    assert (overlap.kind, overlap.train, overlap.train_page) == (OverlapKind.PAGE, "alpha.pdf", 2)
    assert (overlap.evaluation, overlap.evaluation_page) == ("anew.pdf", 2)
    assert overlap.difference is not None
    assert overlap.difference <= LOOK_AND_WORDS


def test_the_same_look_with_other_words_is_another_page(tmp_path: Path, store: PageStore) -> None:
    # Forms and slides share a layout; what a page says decides.
    write_pdf(tmp_path / "train" / "a.pdf", ["\n".join(f"Field{number} harbour" for number in range(40))])
    write_pdf(tmp_path / "test" / "b.pdf", ["\n".join(f"Field{number} harbour" for number in range(40))])
    same = contamination(
        own(tmp_path / "train", {"a.pdf": ["a?"]}), own(tmp_path / "test", {"b.pdf": ["b?"]}), store
    )
    assert same.by_kind == {OverlapKind.DOCUMENT: 1}
    words = ["violin", "sonata", "melody", "rhythm", "opera", "flute", "piano", "drums", "harps", "cello"]
    one = "\n".join(f"{word} {'in' * 9} solo" for word in words * 4)
    other = "\n".join(f"{word[::-1]} {'in' * 9} solo" for word in words * 4)
    write_pdf(tmp_path / "train" / "a.pdf", [one])
    write_pdf(tmp_path / "test" / "b.pdf", [other])
    found = contamination(
        own(tmp_path / "train", {"a.pdf": ["a?"]}), own(tmp_path / "test", {"b.pdf": ["b?"]}), store
    )
    left, right = (
        Document.open(path, store=store) for path in (tmp_path / "train/a.pdf", tmp_path / "test/b.pdf")
    )
    hashes = [page_hash(document.image(1, dpi=36)) for document in (left, right)]
    assert hashes[0] is not None
    assert hashes[1] is not None
    assert differences(hashes[0], hashes[1][None])[0] <= LOOK_AND_WORDS, "the two pages do look alike"
    assert found.clean


def test_blank_pages_are_not_compared(tmp_path: Path, store: PageStore) -> None:
    write_pdf(tmp_path / "train" / "a.pdf", ["", "Left blank on purpose."])
    write_pdf(tmp_path / "test" / "b.pdf", ["", "", ""])
    found = contamination(
        own(tmp_path / "train", {"a.pdf": ["a?"]}), own(tmp_path / "test", {"b.pdf": ["b?"]}), store
    )
    assert (found.clean, found.pages_compared) == (True, (0, 0))


def test_the_same_question_however_it_is_spaced(sides: tuple[Path, Path], store: PageStore) -> None:
    found = compare(
        sides, store, {"alpha.pdf": ["How many  PIERS?"]}, {"beta.pdf": ["how many piers?", "What is it?"]}
    )
    assert found.rows() == [("question", "train:0", "test:0")]


def test_a_question_that_is_asked_of_several_documents_is_a_pattern(
    sides: tuple[Path, Path], store: PageStore
) -> None:
    draw(sides[0] / "gamma.pdf", [" ".join(reversed(BETA[0].split()))])
    asked = ["How many pages are there?"]
    found = compare(sides, store, {"alpha.pdf": asked, "gamma.pdf": asked}, {"beta.pdf": asked})
    assert found.clean


def test_documents_that_are_not_there_are_compared_by_name(
    sides: tuple[Path, Path], store: PageStore
) -> None:
    found = compare(
        sides,
        store,
        {"alpha.pdf": ["a?"], "Annual Report.pdf": ["b?"]},
        {"beta.pdf": ["c?"], "annual_report.pdf": ["d?"]},
    )
    assert found.rows() == [("document_name", "Annual Report.pdf", "annual_report.pdf")]
    assert found.unchecked == ("Annual Report.pdf", "annual_report.pdf")


def test_one_name_for_two_documents_that_are_there_says_nothing(
    sides: tuple[Path, Path], store: PageStore
) -> None:
    draw(sides[1] / "alpha.pdf", [BETA[0]])
    found = compare(sides, store, {"alpha.pdf": ["a?"]}, {"alpha.pdf": ["b?"]})
    assert found.clean


def test_broken_documents_are_unchecked(sides: tuple[Path, Path], store: PageStore) -> None:
    (sides[0] / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    found = compare(sides, store, {"alpha.pdf": ["a?"], "torn.pdf": ["b?"]}, {"beta.pdf": ["c?"]})
    assert (found.clean, found.unchecked) == (True, ("torn.pdf",))


def test_page_images_are_compared_with_pdfs_by_look_alone(tmp_path: Path, store: PageStore) -> None:
    write_page_images(tmp_path / "train" / "scan", "scan", 1)
    image = Document.open(draw(tmp_path / "test" / "a.pdf", ALPHA), store=store).image(1, dpi=100)
    (tmp_path / "train" / "scan" / "scan_0.png").unlink()
    (tmp_path / "train" / "scan" / "scan_0.jpg").write_bytes(image.jpeg)
    found = contamination(
        own(tmp_path / "train", {"scan": ["a?"]}), own(tmp_path / "test", {"a.pdf": ["b?"]}), store
    )
    assert [(overlap.kind, overlap.evaluation_page) for overlap in found.overlaps] == [(OverlapKind.PAGE, 1)]


def test_pages_can_be_left_out(sides: tuple[Path, Path], store: PageStore) -> None:
    draw(sides[1] / "anew.pdf", ALPHA, producer="two")
    found = contamination(
        own(sides[0], {"alpha.pdf": ["a?"]}), own(sides[1], {"anew.pdf": ["b?"]}), store, pages=False
    )
    assert (found.clean, found.pages_compared) == (True, (0, 0))


def test_training_is_refused_with_a_sentence(sides: tuple[Path, Path], store: PageStore) -> None:
    draw(sides[1] / "copy.pdf", ALPHA)
    found = compare(sides, store, {"alpha.pdf": ["a?"]}, {"copy.pdf": ["a?"]})
    with pytest.raises(DataError) as caught:
        found.require_clean()
    assert str(caught.value) == (
        "train overlaps with test (1 document, 1 question; first: alpha.pdf and copy.pdf); "
        "remove the overlap from the training set."
    )
    value = json.loads(json.dumps(found.to_json()))
    assert value["clean"] is False
    assert value["overlaps"][0] == {"kind": "document", "train": "alpha.pdf", "evaluation": "copy.pdf"}


@given(
    st.binary(min_size=HASH_BYTES, max_size=HASH_BYTES), st.binary(min_size=HASH_BYTES, max_size=HASH_BYTES)
)
def test_differences_are_shares_of_the_set_bits(ours: bytes, theirs: bytes) -> None:
    left, right = (np.frombuffer(value, dtype=np.uint8) for value in (ours, theirs))
    a, b = int.from_bytes(ours), int.from_bytes(theirs)
    expected = (a ^ b).bit_count() / max(1, (a | b).bit_count())
    assert differences(left, np.stack([right, left])).tolist() == [expected, 0]
