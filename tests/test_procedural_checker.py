"""Generated documents, checked by a reader that was written from their description and not from their generator.

A short run with every change; `pytest -m slow` checks 2,000 questions over three splits and three difficulties.
"""

from __future__ import annotations

import copy
import filecmp
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("reportlab")

import procedural_checker as checker
import scoring_oracle
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.models.embedded import EmbeddedReader
from looseleaf.models.extractive.candidate import Passage
from looseleaf.models.extractive.engine import answer
from looseleaf.procedural import make
from looseleaf.procedural.splits import Split
from procedural_guesser import guess
from procedural_twin_checker import check_twins

WITHOUT_EVIDENCE = 0.05
"""Most of the answerable questions that may be answered from the pages that are not gold."""
QUESTION_ONLY = 0.03
"""Most of the answerable questions that may be answered from the question alone."""
READS_GOLD = 0.25
"""Least share of plain facts that the guesser has to find on gold pages, or its failure elsewhere says nothing."""
FULL = 2_000
"""Questions of the long run."""
FULL_PLAN: tuple[tuple[Split, int, float], ...] = (("test", 101, 0.5), ("train", 102, 0.0), ("rl", 103, 1.0))
FULL_DOCUMENTS = 86


def told(faults: list[checker.Fault]) -> str:
    return "\n".join(map(str, faults[:20]))


# The short run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "test"
    make(folder, documents=15, seed=77, split="test", questions=12)
    return folder


def test_every_question_holds_what_the_description_promises(made: Path) -> None:
    report = checker.check_folder(made)
    assert not report.faults, told(report.faults)
    assert report.questions >= 150
    assert report.found >= 60
    assert report.in_tables >= 15
    assert report.complete >= 5
    assert len(report.families) >= 20


@dataclass(frozen=True)
class Planted:
    """A fault planted in the truth, and the rule that has to see it."""

    rule: str
    plant: Callable[[dict[str, Any], dict[str, Any]], None]
    fits: Callable[[dict[str, Any]], bool] = lambda question: not checker.unanswerable(question)


def _wrong_answer(question: dict[str, Any], row: dict[str, Any]) -> None:
    question["answer"] = row["answer"] = "41"
    question["items"] = ["41"]


def _wrong_page(question: dict[str, Any], row: dict[str, Any]) -> None:
    page = question["evidence_pages"][0]
    question["evidence_pages"] = [page + 1 if page == 1 else page - 1]
    row["evidence_pages"] = str(question["evidence_pages"])


def _moved_box(question: dict[str, Any], row: dict[str, Any]) -> None:
    for slot in question["slots"].values():
        for place in slot["places"]:
            place["box"] = [place["box"][0], place["box"][1] - 40, place["box"][2], place["box"][3] - 40]


def _swapped_rows(question: dict[str, Any], row: dict[str, Any]) -> None:
    row["question"] = row["question"].replace(question["program"]["wanted"][1], "Nowhereville")


def _answer_told(question: dict[str, Any], row: dict[str, Any]) -> None:
    row["question"] = row["question"].rstrip("?.") + f", {question['answer']}?"


def _dropped_operand(question: dict[str, Any], row: dict[str, Any]) -> None:
    program = question["program"]
    shown = [checker.units(question["slots"][name]["shown"]) for name in program["operands"]]
    least = min(range(len(shown)), key=lambda index: shown[index])
    question["slots"].pop(program["operands"].pop(least))
    program["labels"].pop(least)


def _answerable_after_all(question: dict[str, Any], row: dict[str, Any]) -> None:
    keys = question["program"]["candidates"][0]["keys"]
    question["program"]["wanted"] = [question["slots"][key]["shown"] for key in keys]


def _listed(question: dict[str, Any]) -> bool:
    families = {"table.largest", "table.top", "table.list_above", "table.count_above"}
    return checker.family(question) in families and all(
        place["text_layer"] for slot in question["slots"].values() for place in slot["places"]
    )


def _in_text(question: dict[str, Any]) -> bool:
    return not checker.unanswerable(question) and any(
        place["text_layer"] for slot in question["slots"].values() for place in slot["places"]
    )


PLANTED = {
    "answer": Planted(
        "program", _wrong_answer, lambda q: q["answer_format"] == "Int" and q["answer"] != "41"
    ),
    "page": Planted("pages", _wrong_page),
    "box": Planted("place", _moved_box, _in_text),
    "row": Planted("context", _swapped_rows, lambda q: checker.family(q) == "table.lookup"),
    "echo": Planted("echo", _answer_told, lambda q: q["answer_format"] == "Str" and "Yes" not in q["answer"]),
    "incomplete": Planted("complete", _dropped_operand, _listed),
    "absent": Planted("absent", _answerable_after_all, checker.unanswerable),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, made: Path, tmp_path: Path) -> None:
    """The checker has eyes: what it says holds, it sees fail."""
    planted = PLANTED[name]
    truth = json.loads((made / "truth.json").read_text(encoding="utf-8"))
    rows = json.loads((made / "samples.json").read_text(encoding="utf-8"))
    fitting = [q for q in truth["questions"] if planted.fits(q)]
    question = copy.deepcopy(fitting[0])
    before = copy.deepcopy(question)
    row = dict(rows[question["index"]])
    planted.plant(question, row)
    assert (question, row) != (before, rows[question["index"]])
    document = next(d for d in truth["documents"] if d["doc_id"] == question["doc_id"])
    question["index"] = 0
    (tmp_path / "documents").mkdir()
    os.link(made / "documents" / question["doc_id"], tmp_path / "documents" / question["doc_id"])
    alone = {**truth, "documents": [document], "questions": [question]}
    (tmp_path / "truth.json").write_text(json.dumps(alone), encoding="utf-8")
    (tmp_path / "samples.json").write_text(json.dumps([row]), encoding="utf-8")
    assert planted.rule in {fault.rule for fault in checker.check_folder(tmp_path).faults}


# Nothing can be answered without the evidence


@dataclass
class Shares:
    """Shares of the answerable questions that are answered."""

    answerable: int = 0
    reader: float = 0.0
    engine: float = 0.0
    guesser: float = 0.0
    question_only: float = 0.0
    facts: int = 0
    facts_on_gold: float = 0.0

    def share(self, name: str) -> float:
        return float(getattr(self, name)) / self.answerable


def _score(question: dict[str, Any], prediction: str) -> float:
    try:
        return scoring_oracle.mmlongbench(question["answer"], prediction, question["answer_format"])
    except (scoring_oracle.UnknownError, ValueError, IndexError):
        return 0.0


def _questions(made: checker.Made, doc_id: str) -> Iterator[dict[str, Any]]:
    for question in made.truth["questions"]:
        if question["doc_id"] == doc_id and not checker.unanswerable(question):
            yield question


def shares_without_evidence(folder: Path, *, engine: bool) -> Shares:
    made, shares = checker.read_made(folder), Shares()
    for doc_id in made.documents:
        book = made.book(doc_id)
        for question in _questions(made, doc_id):
            _add_shares(shares, made, question, book, engine=engine)
        book.close()
    return shares


def _add_shares(
    shares: Shares, made: checker.Made, question: dict[str, Any], book: checker.Book, *, engine: bool
) -> None:
    asked, gold = checker.question_of(made, question), question["evidence_pages"]
    others = [page for page in range(1, len(book.texts) + 1) if page not in gold]
    memory = WorkingMemory([Finding(book.lines(page), page) for page in others])
    passages = [Passage(page, book.lines(page)) for page in others]
    found = answer(asked, passages, len(book.texts)) if engine else None
    reader = EmbeddedReader()
    shares.answerable += 1
    shares.reader += _score(question, reader.read(asked, memory).text)
    shares.engine += _score(question, found.text if found is not None else checker.NOT_ANSWERABLE)
    shares.guesser += _score(question, guess(asked, question["answer_format"], book, others))
    shares.question_only += _score(question, reader.read(asked, WorkingMemory()).text)
    if checker.family(question).startswith("fact."):
        shares.facts += 1
        shares.facts_on_gold += _score(question, guess(asked, question["answer_format"], book, gold))


def _assert_no_shortcut(shares: Shares) -> None:
    assert shares.share("reader") <= WITHOUT_EVIDENCE, shares
    assert shares.share("engine") <= WITHOUT_EVIDENCE, shares
    assert shares.share("guesser") <= WITHOUT_EVIDENCE, shares
    assert shares.share("question_only") <= QUESTION_ONLY, shares
    assert shares.facts_on_gold >= READS_GOLD * shares.facts, shares


def test_no_shortcut(made: Path) -> None:
    shares = shares_without_evidence(made, engine=False)
    assert shares.answerable >= 100
    _assert_no_shortcut(shares)


# The same seed, the same bytes

_MAKE = """
import sys
from pathlib import Path
from looseleaf.procedural import make
make(Path(sys.argv[1]), documents=2, seed=int(sys.argv[2]), split="rl", questions=3, twins=True)
"""
_SURROUNDINGS = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "4321", "TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "COLUMNS": "40"},
)


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / "one" / "made", tmp_path / "a longer name" / "made"]
    for folder, surroundings in zip(folders, _SURROUNDINGS, strict=True):
        folder.parent.mkdir()
        subprocess.run(
            [sys.executable, "-c", _MAKE, str(folder), "5"],
            env={**os.environ, **surroundings},
            cwd=folder.parent,
            check=True,
        )
    names = [sorted(str(p.relative_to(f)) for p in f.rglob("*") if p.is_file()) for f in folders]
    assert names[0] == names[1]
    assert len([name for name in names[0] if name.endswith(".pdf")]) == 2 + 2 * 6
    _, different, odd = filecmp.cmpfiles(str(folders[0]), str(folders[1]), names[0], shallow=False)
    assert (different, odd) == ([], [])


def test_a_document_does_not_depend_on_how_many_are_made(tmp_path: Path) -> None:
    for count in (1, 2):
        make(tmp_path / str(count), documents=count, seed=9, split="train", questions=4)
    hashes = [checker.read_made(tmp_path / str(count)).truth["documents"][0]["sha256"] for count in (1, 2)]
    assert hashes[0] == hashes[1]


# Twins


def test_twins_differ_in_one_value_each(tmp_path: Path) -> None:
    make(tmp_path / "made", documents=2, seed=21, split="test", questions=6, twins=True)
    report = check_twins(tmp_path / "made")
    assert not report.faults, told(report.faults)
    assert report.questions >= 10
    assert report.without_twins == 0


# Splits


@dataclass
class Content:
    """What a split may not share with another."""

    wordings: set[str]
    names: set[str]
    codes: set[str]
    dates: set[str]
    years: set[str]
    numbers: set[str]


def _masked(asked: str, question: dict[str, Any]) -> str:
    """The wording of a question: everything that it names and every number taken out."""
    values = {slot["shown"] for slot in question["slots"].values()} | set(
        question["program"].get("wanted", [])
    )
    for value in sorted(values, key=len, reverse=True):
        asked = asked.replace(value, "_")
    asked = re.sub(r"'[^']+'", "_", asked)
    asked = re.sub(r"(?<!^)\b[A-Z][\w-]*(?: [A-Z][\w-]*)*", "_", asked)
    return re.sub(r"[\d,.]*\d", "_", asked)


def content_of(folder: Path) -> Content:
    made = checker.read_made(folder)
    content = Content(set(), set(), set(), set(), set(), set())
    for question in made.truth["questions"]:
        content.wordings.add(_masked(checker.question_of(made, question), question))
        for slot in question["slots"].values():
            if slot["slot"]["kind"] == "name" and "pool" in slot["slot"]:  # titles and labels have none
                content.names.add(slot["shown"])
            if slot["slot"]["kind"] == "number" and "step" not in slot["slot"]:
                content.numbers.add(_long(slot["shown"]))
    for doc_id in made.documents:
        book = made.book(doc_id)
        _read_content(content, book)
        book.close()
    content.numbers.discard("")
    return content


def _read_content(content: Content, book: checker.Book) -> None:
    for text in book.texts:
        content.codes |= set(re.findall(r"\b[A-Z]{3}-\d{4}\b", text))
        content.dates |= set(re.findall(r"\b\d{1,2} [A-Z][a-z]+ \d{4}\b", text))
    for table in book.tables:
        years, names = checker.parts_of_caption(table.caption)
        content.years |= years
        content.names |= names
        for _, cells in table.rows:
            content.names.add(cells[0].text)
            content.numbers |= {_long(cell.text) for cell in cells[1:]}


def _long(text: str) -> str:
    """A number of three digits or more in plain form; empty for anything else."""
    plain = text.replace(",", "").removesuffix("%")
    return plain if re.fullmatch(r"\d+(\.\d+)?", plain) and len(plain.replace(".", "")) > 2 else ""


def _assert_apart(contents: list[Content]) -> None:
    for one, other in itertools.combinations(contents, 2):
        for kind in ("wordings", "names", "codes", "dates", "years", "numbers"):
            assert not getattr(one, kind) & getattr(other, kind), kind


def test_splits_share_neither_wordings_nor_values(made: Path, tmp_path: Path) -> None:
    for split in ("train", "rl"):
        make(tmp_path / split, documents=3, seed=77, split=split, questions=12)
    contents = [content_of(folder) for folder in (made, tmp_path / "train", tmp_path / "rl")]
    assert all(len(content.wordings) >= 15 and len(content.numbers) >= 200 for content in contents)
    _assert_apart(contents)


# The long run


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("many")
    for split, seed, difficulty in FULL_PLAN:
        make(root / split, documents=FULL_DOCUMENTS, seed=seed, split=split, difficulty=difficulty)
    return [root / split for split, _, _ in FULL_PLAN]


@pytest.mark.slow
def test_two_thousand_questions_hold(many: list[Path]) -> None:
    reports = [checker.check_folder(folder) for folder in many]
    faults = [fault for report in reports for fault in report.faults]
    print("questions", *(report.questions for report in reports))
    print("found in the text layer", *(report.found for report in reports))
    print("pictured", *(report.pictured for report in reports))
    assert not faults, told(faults)
    assert sum(report.questions for report in reports) >= FULL


@pytest.mark.slow
def test_no_shortcut_in_two_thousand_questions(many: list[Path]) -> None:
    for folder in many:
        shares = shares_without_evidence(folder, engine=True)
        print(folder.name, shares)
        _assert_no_shortcut(shares)


@pytest.mark.slow
def test_all_splits_of_two_thousand_questions_are_apart(many: list[Path]) -> None:
    _assert_apart([content_of(folder) for folder in many])


@pytest.mark.slow
@pytest.mark.parametrize(("split", "difficulty"), [("train", 0.0), ("rl", 0.5), ("test", 1.0)])
def test_many_twins_differ_in_one_value_each(split: Split, difficulty: float, tmp_path: Path) -> None:
    make(tmp_path / "made", documents=8, seed=31, split=split, difficulty=difficulty, twins=True)
    report = check_twins(tmp_path / "made", drawings=True)
    print(
        split, report.questions, "without twins", report.without_twins, "D° on gold", report.on_evidence_pages
    )
    assert not report.faults, told(report.faults)
    assert report.without_twins <= report.questions * 0.05


@pytest.mark.slow
def test_pictured_values_are_readable(many: list[Path]) -> None:
    """OCR of the boxes of values without a text layer reads what the truth says."""
    pytest.importorskip("rapidocr")
    from pictured_values import read_pictured

    read, total, wrong = read_pictured(many)
    print("pictured values read by OCR", read, "of", total, wrong[:20])
    assert read >= 0.97 * total
