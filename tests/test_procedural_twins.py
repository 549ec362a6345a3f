"""Twins: D′ changes the evidence and with it the answer, D° changes something else and only that."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec
import pypdfium2 as pdfium
import pytest

from looseleaf.procedural import make

pytest.importorskip("reportlab", reason="needs the [procedural] extra")

from looseleaf.procedural.manifest import QuestionTruth, Truth, TwinTruth
from looseleaf.procedural.programs import evaluate

Kind = Literal["changed", "control"]
KINDS: tuple[Kind, ...] = ("changed", "control")


class Twins:
    """A folder with twins, read again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.questions = msgspec.json.decode((folder / "truth.json").read_bytes(), type=Truth).questions
        self.rows: dict[str, list[dict[str, str]]] = {"": self._rows(folder)}
        self.rows |= {kind: self._rows(folder / "twins" / kind) for kind in KINDS}

    @staticmethod
    def _rows(folder: Path) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = json.loads((folder / "samples.json").read_bytes())
        return rows

    def words(self, kind: str, doc_id: str) -> list[Counter[str]]:
        place = self.folder / "twins" / kind if kind else self.folder
        pdf = pdfium.PdfDocument(place / "documents" / doc_id)
        return [Counter(page.get_textpage().get_text_range().split()) for page in pdf]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    folder = tmp_path_factory.mktemp("twins") / "out"
    manifest = make(folder, documents=6, seed=21, split="test", difficulty=0.2, questions=10, twins=True)
    assert manifest.twins == 2 * manifest.questions
    return Twins(folder)


def truth_of(question: QuestionTruth, kind: Kind) -> TwinTruth:
    truth = question.changed if kind == "changed" else question.control
    assert truth is not None
    return truth


def test_row_i_asks_the_same_in_all_three_folders(twins: Twins) -> None:
    base, changed, control = (twins.rows[kind] for kind in ("", *KINDS))
    assert len(base) == len(changed) == len(control) == len(twins.questions)
    assert len(base) >= 57, "nearly every question has twins"
    for i, row in enumerate(base):
        assert row["question"] == changed[i]["question"] == control[i]["question"]
        assert changed[i]["answer"] != row["answer"]
        for key in ("answer", "answer_format", "evidence_pages", "evidence_sources"):
            assert control[i][key] == row[key]


def test_a_changed_unanswerable_question_has_an_answer_with_evidence(twins: Twins) -> None:
    pairs = zip(twins.rows[""], twins.rows["changed"], strict=True)
    turned = [after for before, after in pairs if before["answer_format"] == "None"]
    assert turned
    for row in turned:
        assert row["answer_format"] != "None"
        assert row["evidence_pages"] != "[]"
        assert row["evidence_sources"] != "[]"


@pytest.mark.parametrize("kind", KINDS)
def test_the_recorded_change_alone_explains_the_answer(twins: Twins, kind: Kind) -> None:
    for question in twins.questions:
        twin = truth_of(question, kind)
        values = {name: truth.slot for name, truth in question.slots.items()}
        assert (twin.slot_id in values) == (kind == "changed")
        if kind == "changed":
            values[twin.slot_id] = reread(values[twin.slot_id], twin.after)
        answer = evaluate(question.program, values)
        assert (answer.text, answer.answer_format) == (twin.answer, twin.answer_format)


def reread(slot: Any, shown: str) -> Any:
    """The slot with the value that a page prints."""
    value: int | str = shown
    if slot.is_number:
        value = int(re.sub(r"[,.%]", "", shown))
    return msgspec.structs.replace(slot, value=value)


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_but_the_changed_value_differs(twins: Twins, kind: Kind) -> None:
    compared = 0
    for question, row in zip(twins.questions, twins.rows[kind], strict=True):
        twin = truth_of(question, kind)
        before, after = twins.words("", question.doc_id), twins.words(kind, row["doc_id"])
        assert len(before) == len(after)
        gone, come = Counter[str](), Counter[str]()
        for old, new in zip(before, after, strict=True):
            gone += old - new
            come += new - old
        times = sum(place.text_layer for place in twin.places)
        if question.program.op == "find" and times == 0:
            assert not gone
            assert not come
        old_words, new_words = bare(twin.before.split()), bare(twin.after.split())
        if times:
            compared += 1
            assert bare(gone.elements()) - old_words == Counter()
            assert bare(come.elements()) - new_words == Counter()
            assert gone
    assert compared > 15


def bare(words: Any) -> Counter[str]:
    """Different words without the full stop or comma that follows them."""
    return Counter({word.rstrip(".,;:)").lstrip("(") for word in words})


def test_twins_are_reproducible_and_the_base_is_the_same_without_them(tmp_path: Path) -> None:
    for name, with_twins in (("a", True), ("b", True), ("c", False)):
        make(tmp_path / name, documents=1, seed=6, split="rl", difficulty=0.0, questions=4, twins=with_twins)
    a, b, c = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.pdf")}
        for name in "abc"
    )
    assert a == b
    assert c.items() <= a.items()
    assert len(a) == 1 + 2 * 4
