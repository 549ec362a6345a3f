"""OCR: text of pages and pictures without a text layer, its cache, its workers, charts; much of it needs the extra."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PIL import Image

import hostile_files as make
import scanned_pages as scanned
from conftest import Cli, OwnSet
from looseleaf.document import Document, Limits, PageStore, ocr_engine, require_ocr
from looseleaf.document.chart_values import chart_rows
from looseleaf.document.facts import OcrLine, OcrPage, OcrWord, PageFacts
from looseleaf.document.ocr import with_ocr
from looseleaf.document.reading_order import reading_order
from looseleaf.document.rows import Word
from looseleaf.errors import ConfigError, DocumentError
from looseleaf.runstore import Run

needs_ocr = pytest.mark.skipif(ocr_engine() is None, reason="the extra looseleaf[ocr] is not installed")


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageStore]:
    """One store with OCR for all tests that only look at texts."""
    with PageStore(tmp_path_factory.mktemp("ocr"), ocr=True, workers=2) as store:
        yield store


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def line(text: str, left: float, top: float, width: float = 0, height: float = 20, turn: int = 0) -> OcrLine:
    """A line as OCR reports it, its words as wide as their characters."""
    width = width or 10.0 * len(text)
    step = width / len(text)
    words, at = [], 0
    for word in text.split(" "):
        words.append(OcrWord(word, left + step * at, left + step * (at + len(word))))
        at += len(word) + 1
    return OcrLine(tuple(words), left, top, left + width, top + height, 0.99, turn)


def text_of(*lines: OcrLine, layer: str = "") -> str:
    return with_ocr(PageFacts(layer, 720, 540), OcrPage(lines)).text


# --- text from lines ------------------------------------------------------------------------------------------------


def test_two_columns_are_read_one_after_the_other() -> None:
    """Column tops are not aligned, a heading spans both, and a gap that both share cuts neither."""
    left = [
        line(f"the left column's line {number}", 50, 100 + 24 * number + 40 * (number > 3), 200)
        for number in range(8)
    ]
    right = [
        line(f"the right column's line {number}", 400, 104 + 24 * number + 40 * (number > 3), 200)
        for number in range(8)
    ]
    heading = line("a heading over both columns", 50, 40, 560)
    footer = line("a footer under both columns", 50, 400, 560)
    mixed = [footer, *[each for pair in zip(right, left, strict=True) for each in pair], heading]
    order = [" ".join(word.text for word in each.words) for row in reading_order(mixed) for each in row]
    assert order == [
        "a heading over both columns",
        *(f"the left column's line {number}" for number in range(8)),
        *(f"the right column's line {number}" for number in range(8)),
        "a footer under both columns",
    ]


def test_rows_of_a_table_are_joined() -> None:
    lines = [
        line(cell, 50 + 200 * column, 100 + 30 * row + 2 * (column % 2))
        for row, cells in enumerate(
            (("Item", "2022", "2023"), ("Coal", "1,204", "998"), ("Wind", "310", "455"))
        )
        for column, cell in enumerate(cells)
    ]
    assert text_of(*lines) == "Item\t2022\t2023\nCoal\t1,204\t998\nWind\t310\t455"


def test_long_labels_and_a_heading_over_the_numbers_keep_the_rows(tmp_path: Path) -> None:
    """The heading stands over the numbers only, a label is a sentence long, and dots lead from label to number."""
    rows = (
        ("Net income of the year", "9.1"),
        ("Shares used to compute the basic income per share..", "507,164"),
    )
    lines = [line("In thousands", 600, 40), line("2023", 640, 70)]
    for number, (label, value) in enumerate((*rows, ("Total . .", "(64,184)"))):
        lines += [line(label, 50, 100 + 30 * number), line(value, 640, 101 + 30 * number)]
    assert text_of(*lines).splitlines() == [
        "In thousands",
        "2023",
        "Net income of the year\t9.1",
        "Shares used to compute the basic income per share\t507,164",
        "Total\t(64,184)",
    ]


def test_wide_gap_within_a_line_ends_a_cell() -> None:
    words = (OcrWord("Total", 50, 100), OcrWord("assets", 106, 160), OcrWord("5,120", 300, 350))
    assert text_of(OcrLine(words, 45, 100, 355, 125, 0.99)) == "Total assets\t5,120"


def test_divided_word_is_marked_for_joining(tmp_path: Path) -> None:
    lines = (line("a picture of the trans-", 50, 100), line("formation of energy", 50, 124))
    assert text_of(*lines) == "a picture of the trans\ufffe\nformation of energy"
    assert (
        text_of(line("valid until 2023-", 50, 100), line("and later", 50, 124))
        == "valid until 2023-\nand later"
    )


def test_turned_line_stays_a_line_of_its_own() -> None:
    turned = OcrLine((OcrWord("Revenue", 400, 300),), 20, 300, 40, 400, 0.9, 1)
    assert text_of(line("first", 100, 350), turned, line("second", 100, 380)).splitlines()[0] in (
        "Revenue",
        "first",
    )
    assert "Revenue" in text_of(line("first", 100, 350), turned).splitlines()


def test_ocr_stands_behind_a_text_layer_and_in_place_of_a_poor_one() -> None:
    layer = "This page has a text layer of its own."
    assert text_of(line("in the picture", 50, 50), layer=layer) == f"{layer}\nin the picture"
    assert text_of(line("the whole page", 50, 50), layer="7") == "the whole page"
    untouched = PageFacts(layer, 720, 540)
    assert with_ocr(untouched, OcrPage(())) is untouched


def test_page_that_ocr_could_not_read_says_so_only_without_a_text_layer() -> None:
    lost = OcrPage((), "took more than 1 s", passing=True)
    assert with_ocr(PageFacts("", 720, 540), lost).problem == "took more than 1 s"
    assert with_ocr(PageFacts("a text layer that is long enough", 720, 540), lost).problem == ""


# --- charts ---------------------------------------------------------------------------------------------------------


def words(*placed: tuple[str, float, float]) -> list[list[Word]]:
    """One line a text, its middle at x."""
    return [
        [Word(text, middle - 5 * len(text), middle + 5 * len(text), base, 16)]
        for text, middle, base in placed
    ]


def columns(
    labels: Sequence[str], values: Sequence[tuple[str, float]], step: float = 100
) -> list[list[Word]]:
    return words(
        *((label, step * number, 50) for number, label in enumerate(labels)),
        *((value, step * number, base) for number, (value, base) in enumerate(values)),
    )


def test_values_are_paired_with_the_labels_under_them() -> None:
    lines = columns(("2021", "2022", "2023"), (("5.1", 200), ("7.4", 280), ("6.2", 240)))
    assert chart_rows(lines) == ["2021\t5.1", "2022\t7.4", "2023\t6.2"]


def test_values_of_two_series_stand_in_their_order() -> None:
    lines = columns(("2021", "2022", "2023"), ())
    lines += words(*((f"{n}.1", 100 * n - 20, 100 + 17 * n) for n in range(3)))
    lines += words(*((f"{n}.9", 100 * n + 20, 220 - 19 * n) for n in range(3)))
    assert chart_rows(lines) == ["2021\t0.1\t0.9", "2022\t1.1\t1.9", "2023\t2.1\t2.9"]


GRID = words(*((f"{row}{n}", 100 * n, 100 + 50 * row) for row in (1, 2) for n in range(3)))
HIGH = words(*((f"{n}5", 100 * n, 200 + 20 * n) for n in range(3)))
UNEVEN = words(*((text, place, 50) for text, place in (("a", 0), ("b", 100), ("c", 400))))


@pytest.mark.parametrize(
    ("why", "lines"),
    [
        ("two labels", columns(("2021", "2022"), (("5.1", 200), ("7.4", 280)))),
        ("uneven labels", UNEVEN + words(("5", 0, 90), ("6", 100, 95), ("7", 400, 99))),
        ("a grid", columns(("x", "y", "z"), ()) + GRID),
        ("a table over a row of years", columns(("2021", "2022", "2023"), [("5", 90), ("6", 90), ("7", 90)])),
        ("numbers as labels", columns(("10", "20", "30"), (("5.1", 200), ("7.4", 280), ("6.2", 240)))),
        ("labels without values", columns(("a", "b", "c", "d"), (("5.1", 200),))),
        ("text between", columns(("a", "b", "c"), (("x", 100), ("y", 130), ("z", 170))) + HIGH),
    ],
)
def test_what_is_no_chart_gives_no_pairs(why: str, lines: list[list[Word]]) -> None:
    assert chart_rows(lines) == [], why


# --- without the extra ----------------------------------------------------------------------------------------------


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the extra were not installed."""
    version = importlib.metadata.version

    def missing(name: str) -> str:
        if name == "rapidocr":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    with monkeypatch.context() as patch:
        patch.setattr("looseleaf.document.ocr.importlib.metadata.version", missing)
        ocr_engine.cache_clear()
        yield
    ocr_engine.cache_clear()


@pytest.mark.usefixtures("not_installed")
def test_ocr_that_is_not_installed_is_refused_at_once(tmp_path: Path, store: PageStore) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("x"))
    assert Document.open(path, store=store).text(1) == "x"
    assert ocr_engine() is None
    for ask in (require_ocr, lambda: Document.open(path, store=store, ocr=True)):
        with pytest.raises(ConfigError, match=r'run pip install "looseleaf\[ocr\]"'):
            ask()


@pytest.mark.usefixtures("not_installed")
def test_run_with_ocr_that_is_not_installed_starts_nothing(tmp_path: Path, own_set: OwnSet, cli: Cli) -> None:
    refused = cli("run", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run", "--ocr")
    assert (refused.code, refused.out) == (2, "")
    assert 'OCR was asked for and is not installed; run pip install "looseleaf[ocr]".' in refused.err
    assert not (tmp_path / "run").exists()


def test_run_says_that_it_was_made_without_ocr_and_is_not_continued_with_it(
    tmp_path: Path, own_set: OwnSet, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("run", own_set.questions, "--docs", own_set.docs, "--out", tmp_path / "run")
    assert cli(*arguments).code == 0
    assert Run.open(tmp_path / "run").config["pages"] == {"ocr": "none"}
    monkeypatch.setattr("looseleaf.runner.execute.require_ocr", lambda: "engine 1.0")
    monkeypatch.setattr("looseleaf.runner.config.ocr_engine", lambda: "engine 1.0")
    refused = cli(*arguments, "--ocr")
    assert refused.code == 2
    assert "was made with pages.ocr = 'none' and not 'engine 1.0'" in refused.err


def test_without_ocr_nothing_depends_on_what_is_installed(tmp_path: Path, store: PageStore) -> None:
    path = write(tmp_path / "a.pdf", scanned.scanned_pdf([scanned.slide(scanned.DECK[1])]))
    document = Document.open(path, store=store)
    assert (document.text(1), document.ocr, document.ocr_pages, document.has_text) == ("", None, (), False)
    assert store.pages_recognized == 0


# --- with the extra -------------------------------------------------------------------------------------------------


@needs_ocr
def test_deck_is_read(tmp_path: Path, reading: PageStore) -> None:
    """Ten pages: titles, sentences and table rows; the engine and its version are named; nothing is read twice."""
    path = write(tmp_path / "deck.pdf", scanned.scanned_pdf([scanned.slide(page) for page in scanned.DECK]))
    seen: list[tuple[int, int]] = []
    before = reading.pages_recognized
    document = Document.open(path, store=reading, progress=lambda *done: seen.append(done))
    assert seen == [(number, 10) for number in range(1, 11)]
    assert (
        document.ocr
        == f"rapidocr {importlib.metadata.version('rapidocr')}, onnxruntime "
        + importlib.metadata.version("onnxruntime")
    )
    assert document.ocr_pages == tuple(range(1, 11))
    expected = ["\n".join((page.title, *page.lines, *map("\t".join, page.rows))) for page in scanned.DECK]
    right = sum(text == document.text(number) for number, text in enumerate(expected, start=1))
    assert right >= 9, [document.text(number) for number in range(1, 11)]
    words_wanted = [word for text in expected for word in text.split()]
    found = {word for text in document.texts() for word in text.split()}
    assert sum(word in found for word in words_wanted) >= 0.98 * len(words_wanted)
    assert reading.pages_recognized == before + 10
    print(f"{reading.ocr_cpu_seconds / reading.pages_recognized:.2f} CPU-s a page")
    assert Document.open(path, store=reading).texts() == document.texts()
    assert reading.pages_recognized == before + 10
    assert Document.open(path, store=reading, ocr=False).texts() == ("",) * 10


@needs_ocr
def test_scanned_questions_are_answered_with_ocr_only(tmp_path: Path, cli: Cli) -> None:
    """`ask` reads by OCR where it is installed, and says so; a run does if it is told to, and its config says so."""
    docs = tmp_path / "docs"
    docs.mkdir()
    deck = write(docs / "deck.pdf", scanned.scanned_pdf([scanned.slide(page) for page in scanned.DECK[6:8]]))
    asked = cli("ask", deck, "How many people does the company employ?")
    assert "2 pages read by OCR (rapidocr " in asked.out
    assert "Answer: 376" in asked.out
    assert "Answer: 376" not in cli("ask", "--no-ocr", deck, "How many people does the company employ?").out
    row = {"doc_id": "deck.pdf", "question": "How many people does the company employ?", "answer": "376"}
    questions = write(tmp_path / "mini.jsonl", json.dumps(row).encode())
    answers = {}
    for option in ("--no-ocr", "--ocr"):
        assert cli("run", questions, "--docs", docs, "--out", tmp_path / option, option).code == 0
        run = Run.open(tmp_path / option)
        answers[run.config["pages"]["ocr"]] = [found.answer for found in run.trajectories().values()]
    assert answers == {"none": ["Not answerable"], ocr_engine(): ["376"]}


@needs_ocr
def test_points_of_charts_are_paired(tmp_path: Path, reading: PageStore) -> None:
    """25 printed points: at least 22 right, and none wrong."""
    path = write(
        tmp_path / "charts.pdf", scanned.scanned_pdf([scanned.chart(*chart) for chart in scanned.CHARTS])
    )
    document = Document.open(path, store=reading)
    right = wrong = 0
    for page, (labels, values) in enumerate(scanned.CHARTS, start=1):
        rows = [row.split("\t") for row in document.text(page).splitlines()]
        pairs = {row[0]: row[1:] for row in rows if len(row) == 2}
        right += sum(pairs.get(label) == [value] for label, value in zip(labels, values, strict=True))
        wrong += sum(
            pairs.get(label, [value]) != [value] for label, value in zip(labels, values, strict=True)
        )
    assert (right >= 22, wrong) == (True, 0)


@needs_ocr
def test_small_print_is_read_from_the_sharp_picture(tmp_path: Path, reading: PageStore) -> None:
    """Grey print of three points in a scan of 288 dpi: too small for the picture in which lines are looked for."""
    names = ("Invoice", "Account", "Balance", "Payment", "Receipt", "Number", "Interest", "Quarter")
    lines = [f"{name} {4471 + 1013 * number}" for number, name in enumerate(names)]
    path = write(tmp_path / "small.pdf", scanned.scanned_pdf([scanned.small_print(lines)], resolution=288))
    found = {
        cell for line in Document.open(path, store=reading).text(1).splitlines() for cell in line.split("\t")
    }
    assert len(found & set(lines)) >= 7, found


@needs_ocr
def test_turned_and_doubtful_lines_are_read_again(tmp_path: Path, reading: PageStore) -> None:
    """The label of an axis runs up the page, another down; noise that cannot be read is dropped."""
    picture = scanned.slide(scanned.Slide("Turned", ("An upright line",)))
    picture.paste(scanned.label("Passengers in thousands").rotate(90, expand=True), (40, 300))
    picture.paste(scanned.label("Share of all routes").rotate(-90, expand=True), (1300, 300))
    lines = (
        Document.open(write(tmp_path / "turned.png", scanned.png(picture)), store=reading)
        .text(1)
        .splitlines()
    )
    assert {"Turned", "An upright line", "Passengers in thousands", "Share of all routes"} == set(lines)


@needs_ocr
def test_image_file_and_folder_are_read(tmp_path: Path, reading: PageStore) -> None:
    picture = scanned.png(scanned.slide(scanned.DECK[4]))
    folder = tmp_path / "DOC"
    folder.mkdir()
    write(folder / "DOC_0.png", make.png())  # a blank page
    write(folder / "DOC_1.png", picture)
    document = Document.open(folder, store=reading)
    assert document.ocr_pages == (2,)
    assert "A single crossing costs $4.75." in document.text(2).splitlines()
    assert "$62" in Document.open(write(tmp_path / "one.png", picture), store=reading).text(1)


@needs_ocr
def test_picture_on_a_page_with_text_is_read_and_the_text_is_not(tmp_path: Path, reading: PageStore) -> None:
    """A large picture without text over it is read; a small one, and one with text over it, are not."""
    picture = scanned.slide(scanned.DECK[2])
    large = picture_page(picture, 300, 225, "A page with a text layer of its own")
    small = picture_page(picture, 80, 60, "A page with a text layer of its own")
    covered = picture_page(picture, 300, 225, "A page with a text layer of its own", at=(160, 420))
    for name, content, expected in (
        ("large", large, True),
        ("small", small, False),
        ("covered", covered, False),
    ):
        document = Document.open(write(tmp_path / f"{name}.pdf", content), store=reading)
        first, *rest = document.text(1).splitlines()
        assert first == "A page with a text layer of its own"
        assert ("Passengers rose by 8.4% to 3,217,450." in rest, document.ocr_pages == (1,)) == (
            expected,
            expected,
        ), name
        assert "A page with" not in rest


def picture_page(
    picture: Image.Image, width: int, height: int, text: str, at: tuple[int, int] = (150, 100)
) -> bytes:
    """A page with text at (150, 500) and a picture whose lower left corner is at `at`."""
    data = make.zlib.compress(picture.convert("RGB").tobytes())
    entries = f"/Type /XObject /Subtype /Image /Width {picture.width} /Height {picture.height} /ColorSpace /DeviceRGB"
    image = make.stream(data, f"{entries} /BitsPerComponent 8 /Filter /FlateDecode")
    content = f"BT /F1 12 Tf 170 500 Td ({text}) Tj ET q {width} 0 0 {height} {at[0]} {at[1]} cm /X Do Q"
    return make.pages([make.stream(content.encode())], more=[image], resources="/XObject << /X 4 0 R >>")


@needs_ocr
@pytest.mark.skipif(sys.platform == "win32", reason="processor time is limited on POSIX")
def test_ocr_over_its_limits_costs_only_its_page(tmp_path: Path) -> None:
    """The worker is stopped, the page says so, the others have their text, and nothing of it is remembered on disk."""
    path = write(tmp_path / "a.pdf", make.text_pdf("a page with a text layer of its own", ""))
    slide = write(tmp_path / "b.pdf", scanned.scanned_pdf([scanned.slide(scanned.DECK[0])]))
    with PageStore(tmp_path / "cache", ocr=True, ocr_limits=Limits(wall_seconds=0.05)) as store:
        document = Document.open(slide, store=store)
        assert list(document.unreadable) == [1]
        with pytest.raises(
            DocumentError, match=r"Page 1 of .*b\.pdf took more than 0.05 s and was stopped, when"
        ):
            document.text(1)
        assert document.image(1).width == 1440
        assert Document.open(path, store=store).texts()[0] == "a page with a text layer of its own"
    with PageStore(tmp_path / "cache", ocr=True) as store:
        assert "Harbour Ferries" in Document.open(slide, store=store).text(1)


@needs_ocr
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_killed_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """kill -9 in the middle of a document, then two processes at once: every page is read once more at most."""
    path = write(
        tmp_path / "deck.pdf", scanned.scanned_pdf([scanned.slide(page) for page in scanned.DECK[:4]])
    )
    code = """
import sys
from looseleaf.document import Document, default_store
document = Document.open(sys.argv[1], ocr=True, progress=lambda done, all: print(done, flush=True))
print(default_store().pages_recognized, hash(document.texts()))
"""
    environment = os.environ | {"LOOSELEAF_CACHE": str(tmp_path / "cache"), "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout
        for done in first.stdout:
            if int(done) == 1:
                break
        first.send_signal(signal.SIGKILL)
    kept = len(list((tmp_path / "cache").rglob("ocr/*/*/*.msgpack")))
    assert 1 <= kept < 4
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    ends = [process.communicate(timeout=120)[0].splitlines()[-1].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert ends[0][1] == ends[1][1]
    assert sum(int(read) for read, _ in ends) == 4 - kept
    assert not list((tmp_path / "cache").rglob(".part-*"))


@needs_ocr
def test_engine_that_does_not_work_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken" / "rapidocr"
    broken.mkdir(parents=True)
    write(broken / "__init__.py", b"raise ImportError('libGL.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(str(broken.parent))
    path = write(tmp_path / "a.pdf", scanned.scanned_pdf([scanned.slide(scanned.DECK[0])]))
    with (
        PageStore(tmp_path / "cache", ocr=True) as store,
        pytest.raises(
            ConfigError, match=r"OCR does not work here \(ImportError: libGL.so.1: .*\); run pip install"
        ),
    ):
        Document.open(path, store=store)
