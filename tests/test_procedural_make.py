"""Generated folders: format, exactness of gold and evidence, reproducibility, disjoint splits, no shortcut."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pypdfium2 as pdfium
import pytest

from looseleaf.benchmarks import load_benchmark
from looseleaf.errors import ConfigError, DataError
from looseleaf.procedural import KINDS, make
from looseleaf.scoring import mmlongbench

pytest.importorskip("reportlab", reason="needs the [procedural] extra")

from looseleaf.procedural.choose import contains, plain
from looseleaf.procedural.manifest import Truth
from looseleaf.procedural.programs import evaluate

DOCUMENTS = 14
SOURCES = {"Pure-text (Plain-text)", "Table", "Chart", "Figure", "Generalized-text (Layout)"}


class Made:
    """A generated folder, read again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, str]] = json.loads((folder / "samples.json").read_bytes())
        self.truth = msgspec.json.decode((folder / "truth.json").read_bytes(), type=Truth)
        self._open: dict[str, pdfium.PdfDocument] = {}

    def pdf(self, doc_id: str) -> pdfium.PdfDocument:
        if doc_id not in self._open:
            self._open[doc_id] = pdfium.PdfDocument(self.folder / "documents" / doc_id)
        return self._open[doc_id]

    def text(self, doc_id: str, page: int) -> str:
        return squeezed(self.pdf(doc_id)[page - 1].get_textpage().get_text_range())


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("generated") / "train"
    make(folder, documents=DOCUMENTS, seed=11, split="train", difficulty=0.4)
    return Made(folder)


def test_importing_the_room_imports_nothing_of_its_extra() -> None:
    script = (
        "import sys, looseleaf.procedural\n"
        "heavy = {'reportlab', 'matplotlib', 'PIL', 'pypdfium2'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_missing_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reportlab", None)
    with pytest.raises(ConfigError, match=r'pip install "looseleaf\[procedural\]"'):
        make(tmp_path / "new", documents=1, seed=0, split="train")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"documents": 0}, "at least one document"),
        ({"questions": 0}, "at least one document"),
        ({"split": "dev"}, "choose one of train, rl, test"),
        ({"difficulty": 1.5}, "outside 0 to 1"),
        ({"kinds": ["novel"]}, "must be some of report"),
        ({"kinds": {"form": 0.0}}, "positive weights"),
        ({"kinds": []}, "must be some of report"),
    ],
)
def test_options_out_of_range_are_refused_before_anything_is_written(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    asked = {"documents": 1, "seed": 0, "split": "train", **options}
    with pytest.raises(ConfigError, match=message):
        make(tmp_path / "new", **asked)
    assert not (tmp_path / "new").exists()


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="already holds files"):
        make(tmp_path, documents=1, seed=0, split="train")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_manifest_counts_what_is_in_the_folder(tmp_path: Path) -> None:
    manifest = make(tmp_path / "out", documents=3, seed=2, split="rl", difficulty=0.2, kinds={"form": 1})
    made = Made(tmp_path / "out")
    assert manifest.documents == len(list((tmp_path / "out" / "documents").iterdir())) == 3
    assert manifest.pages == sum(len(made.pdf(document.doc_id)) for document in made.truth.documents)
    assert manifest.questions == len(made.rows) == sum(manifest.formats.values())
    assert manifest.kinds == {"form": 3}
    assert manifest.cross_page == sum(len(ast.literal_eval(row["evidence_pages"])) > 1 for row in made.rows)
    assert manifest.twins == 0
    assert not (tmp_path / "out" / "twins").exists()


def test_every_row_has_the_seven_text_fields_of_the_benchmark(made: Made) -> None:
    keys = {"doc_id", "doc_type", "question", "answer", "evidence_pages", "evidence_sources", "answer_format"}
    for row in made.rows:
        assert set(row) == keys
        assert all(isinstance(value, str) for value in row.values())
        assert set(ast.literal_eval(row["evidence_sources"])) <= SOURCES
        assert (row["answer_format"] == "None") == (row["answer"] == "Not answerable")
        assert (row["evidence_pages"] == "[]") == (row["answer_format"] == "None")
        assert ast.literal_eval(row["evidence_pages"]) == sorted(set(ast.literal_eval(row["evidence_pages"])))


def test_the_folder_loads_as_a_benchmark(made: Made) -> None:
    loaded = load_benchmark("procedural", made.folder)
    assert len(loaded.questions) == len(made.rows)


def test_every_gold_answer_scores_full_marks_against_itself(made: Made) -> None:
    scores = [mmlongbench.score(row["answer"], row["answer"], row["answer_format"]) for row in made.rows]
    assert {score.value for score in scores} == {1.0}
    assert {score.upstream_raises for score in scores} == {None}


def test_all_formats_sources_and_spans_occur(made: Made) -> None:
    assert {row["answer_format"] for row in made.rows} == {"Int", "Str", "Float", "List", "None"}
    assert {source for question in made.truth.questions for source in question.sources} == SOURCES
    spans = {len(question.evidence_pages) for question in made.truth.questions}
    assert {0, 1, 2} <= spans
    operations = {question.program.op for question in made.truth.questions}
    assert {"find", "difference", "total", "count", "list"} <= operations


def test_evidence_is_printed_where_the_truth_says(made: Made) -> None:
    seen = 0
    for question in made.truth.questions:
        pages = set()
        for slot in question.slots.values():
            for place in slot.places if slot.evidence else ():
                pages.add(place.page)
                if place.text_layer:
                    x0, y0, x1, y1 = place.box
                    page = made.pdf(question.doc_id)[place.page - 1].get_textpage()
                    assert slot.shown in squeezed(page.get_text_bounded(x0 - 1, y0 - 1, x1 + 1, y1 + 1))
                    assert slot.shown in made.text(question.doc_id, place.page)
                    seen += 1
        assert pages == set(question.evidence_pages)
    assert seen > 100


def test_what_a_question_names_stands_on_a_gold_page(made: Made) -> None:
    """Given the gold pages only, a reader can tell which value is meant."""
    for question in made.truth.questions:
        if question.program.op == "find" and question.answer_format != "None":
            for key in question.program.candidates[0].keys:
                pages = {place.page for place in question.slots[key].places}
                assert pages & set(question.evidence_pages), (question.template, key)


def test_answers_follow_again_from_the_stored_programs(made: Made) -> None:
    for row, question in zip(made.rows, made.truth.questions, strict=True):
        values = {name: truth.slot for name, truth in question.slots.items()}
        answer = evaluate(question.program, values)
        assert (answer.text, answer.answer_format) == (row["answer"], row["answer_format"])
        assert (question.answer, question.items) == (answer.text, answer.items)


def test_no_question_tells_its_answer_and_no_other_page_holds_it(made: Made) -> None:
    """Counts and row names may stand elsewhere; their look-alike questions have other answers."""
    values = {"find", "list", "difference", "total", "mean", "change"}
    for row, question in zip(made.rows, made.truth.questions, strict=True):
        if question.program.op == "exceeds":
            continue
        assert not any(contains(plain(row["question"]), plain(item)) for item in question.items)
        common = question.template.startswith(
            ("table.reverse", "figure.shapes", "figure.gauge", "layout.steps")
        )
        if question.program.op in values and not common:
            pages = range(1, len(made.pdf(question.doc_id)) + 1)
            for page in set(pages) - set(question.evidence_pages):
                words = plain(made.text(question.doc_id, page))
                assert not any(contains(words, plain(item).rstrip("%")) for item in question.items)


def test_unanswerable_questions_name_something_that_no_page_shows(made: Made) -> None:
    """Years and column titles are held back per table; names must be missing from the whole document."""
    for question in made.truth.questions:
        if question.answer_format != "None":
            continue
        candidate = question.program.candidates[0]
        read = tuple(question.slots[key].shown for key in candidate.keys)
        odd = [i for i, (a, b) in enumerate(zip(read, question.program.wanted, strict=True)) if a != b]
        assert len(odd) == 1
        slot = question.slots[candidate.keys[odd[0]]].slot
        if slot.pool:
            wanted = question.program.wanted[odd[0]]
            for page in range(1, len(made.pdf(question.doc_id)) + 1):
                assert not re.search(rf"\b{re.escape(wanted)}\b(?! I)", made.text(question.doc_id, page))


def test_pages_carry_labels_and_scanned_pages_no_text(made: Made) -> None:
    scanned = 0
    for document in made.truth.documents:
        pdf = made.pdf(document.doc_id)
        assert len(pdf) == len(document.pages)
        for page in document.pages:
            assert pdf.get_page_label(page.page - 1) == page.label
            assert (made.text(document.doc_id, page.page) == "") == page.scanned
            scanned += page.scanned
    assert scanned > 0
    assert any(document.pages[0].label == "i" for document in made.truth.documents)


def test_long_tables_break_over_pages_and_repeat_their_head(tmp_path: Path) -> None:
    make(tmp_path / "out", documents=2, seed=4, split="test", difficulty=1.0, kinds=["manual"])
    made = Made(tmp_path / "out")
    continued = [
        made.text(document.doc_id, page.page)
        for document in made.truth.documents
        for page in document.pages
        if "(continued)" in made.text(document.doc_id, page.page)
    ]
    assert continued
    assert all(re.search(r"Table \d+ \(continued\): \S.* (Part|Programme) ", text) for text in continued)


def test_the_same_seed_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from looseleaf.procedural import make\n"
        "make(Path(sys.argv[1]), documents=4, seed=9, split='test', difficulty=0.9, twins=False)"
    )
    hashes = []
    for name, hash_seed in (("a", "1"), ("b", "2")):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / name)],
            check=True,
            env={"PYTHONHASHSEED": hash_seed, "PATH": "", "TZ": "UTC" if name == "a" else "Asia/Tokyo"},
        )
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        hashes.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert hashes[0] == hashes[1]
    assert len(hashes[0]) == 6


def test_a_document_does_not_depend_on_how_many_are_made(tmp_path: Path) -> None:
    for name, documents in (("one", 1), ("two", 2)):
        make(tmp_path / name, documents=documents, seed=3, split="rl", difficulty=0.1)
    (first,) = (tmp_path / "one" / "documents").iterdir()
    assert first.read_bytes() == (tmp_path / "two" / "documents" / first.name).read_bytes()


def test_seeds_and_splits_give_other_documents(tmp_path: Path) -> None:
    shas = set()
    for seed, split in ((0, "train"), (1, "train"), (0, "rl"), (0, "test")):
        folder = tmp_path / f"{split}{seed}"
        make(folder, documents=1, seed=seed, split=split, difficulty=0.1)  # type: ignore[arg-type]
        shas.add(Made(folder).truth.documents[0].sha256)
    assert len(shas) == 4


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    root = tmp_path_factory.mktemp("splits")
    for split in ("train", "rl", "test"):
        make(root / split, documents=8, seed=5, split=split, difficulty=0.3)
    return {split: Made(root / split) for split in ("train", "rl", "test")}


def values_of(made: Made, keep: Callable[[Any], bool]) -> set[str]:
    """Printed values of the questions' slots."""
    slots = [truth.slot for question in made.truth.questions for truth in question.slots.values()]
    return {slot.shown for slot in slots if keep(slot)}


@pytest.mark.parametrize(
    "keep",
    [
        lambda slot: slot.kind == "name" and slot.pool,
        lambda slot: slot.kind in ("date", "code", "year"),
        lambda slot: slot.kind in ("number", "percent") and slot.step == 1,
    ],
    ids=["names", "dates, codes and years", "numbers"],
)
def test_splits_share_no_value(splits: dict[str, Made], keep: Callable[[Any], bool]) -> None:
    train, rl, test = (values_of(splits[split], keep) for split in ("train", "rl", "test"))
    assert min(len(train), len(rl), len(test)) > 8
    assert not (train & rl)
    assert not (train & test)
    assert not (rl & test)


def test_splits_share_no_template(splits: dict[str, Made]) -> None:
    used = {split: {question.template for question in made.truth.questions} for split, made in splits.items()}
    for split, templates in used.items():
        assert all(f".{split}." in template for template in templates)


def test_every_kind_of_document_can_be_made_alone(tmp_path: Path) -> None:
    for kind in KINDS:
        manifest = make(tmp_path / kind, documents=1, seed=1, split="test", difficulty=0.0, kinds=[kind])
        assert manifest.kinds == {kind: 1}
        assert manifest.pages >= 5
        assert manifest.questions == 8


@pytest.mark.slow
def test_lengths_stay_between_5_and_200_pages(tmp_path: Path) -> None:
    lengths = []
    for difficulty in (0.0, 1.0):
        make(tmp_path / str(difficulty), documents=60, seed=1, split="train", difficulty=difficulty)
        truth = Made(tmp_path / str(difficulty)).truth
        lengths += [len(document.pages) for document in truth.documents]
    assert min(lengths) >= 5
    assert max(lengths) <= 200
    assert max(lengths) > 120
