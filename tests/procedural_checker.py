"""A checker of generated documents, written from docs/design/procedural.md and not from the generator.

It reads `samples.json` and `truth.json` as plain JSON and every PDF again with pypdfium2, and says what does not hold.
Nothing of `looseleaf.procedural` or `looseleaf.document` is used. The rules:

1.  `file`: the document has the recorded hash, number of pages and page labels; every page but the title prints its
    label at its foot, or has no text at all if it is a scan.
2.  `row`: the row has MMLongBench-Doc's seven keys with text, and agrees with the truth.
3.  `format`: the answer has the form of its format, and scores 1 against itself under the official rule.
4.  `pages`: evidence pages are in range, rising, and the pages where evidence stands.
5.  `place`: a value in the text layer is on its page and inside its box; any other leaves ink there and is not read
    from the box as text.
6.  `program`: the documented operation, done again by the calculator below on the printed forms, gives the answer.
7.  `context`: what names a value is beside it: row and column of a table or the sentence of a fact, and the question
    names it too; what the question quotes is on a gold page.
8.  `complete`: an extreme, a count or a filter over a table names every row of it.
9.  `single`: no other cell of any table fits the question as well.
10. `elsewhere`: no item of the answer stands as a word on a page that is not gold, where the design says so; look-alike
    tables give other answers where names have to repeat.
11. `echo`: the question does not contain its answer.
12. `absent`: nothing in the document answers an unanswerable question.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

import scoring_oracle

__all__ = [
    "NOT_ANSWERABLE",
    "Book",
    "Fault",
    "Made",
    "Report",
    "Spot",
    "Table",
    "calculate",
    "cell_at",
    "check_folder",
    "evidence_of",
    "family",
    "parts_of_caption",
    "question_of",
    "read_made",
    "says",
    "unanswerable",
    "units",
]

NOT_ANSWERABLE = "Not answerable"
KEYS = {"doc_id", "doc_type", "question", "answer", "evidence_pages", "evidence_sources", "answer_format"}
SOURCES = {"Pure-text (Plain-text)", "Figure", "Table", "Chart", "Generalized-text (Layout)"}
TEXT_SOURCES = SOURCES - {"Figure"}
DOCUMENT_TYPES = {
    "Research report / Introduction",
    "Academic paper",
    "Guidebook",
    "Tutorial/Workshop",
    "Financial report",
    "Brochure",
    "Administration/Industry file",
}  # the seven of MMLongBench-Doc's samples.json
NAMED = {"largest", "smallest", "top", "where"}
"""Operations whose answers are names of rows or months, which have to stand on several pages."""
MAY_REPEAT = {"figure.shapes", "figure.gauge", "figure.steps", "table.reverse", "layout.tick_count"}
"""Families whose answers may stand elsewhere: counts of shapes or steps, dial readings, the row of a code."""
DIALS = {"figure.gauge"}
"""Families whose values are read off a scale that has its own printed numbers."""
SAME_COUNTS = 0.2
"""Share of look-alikes that may give the same count."""
LOOK_ALIKE_ROWS = 3
BOX_SLACK = 1.0
ALIGNED = 4.0
"""Points by which the first cell of a row may be off the first title."""
RIM = 3.0
"""Points around a box that are looked at for ink: a bar fills its box evenly."""
INK = 40
"""Least spread of grey values in a box that shows something."""


@dataclass(frozen=True)
class Fault:
    """One thing that does not hold."""

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule} | {self.where} | {self.what}"


@dataclass
class Report:
    """What was looked at, and what does not hold."""

    documents: int = 0
    pages: int = 0
    questions: int = 0
    answerable: int = 0
    found: int = 0
    pictured: int = 0
    in_tables: int = 0
    complete: int = 0
    families: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)


Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Cell:
    """A run of text with its box: left, bottom, right, top in points."""

    text: str
    box: Box


@dataclass
class Table:
    """A table as printed, its parts on several pages put together."""

    caption: str
    header: tuple[str, ...]
    rows: list[tuple[int, tuple[Cell, ...]]] = field(default_factory=list)

    def column(self, index: int) -> list[str]:
        """Texts of a column."""
        return [cells[index].text for _, cells in self.rows]

    def names(self) -> list[str]:
        """Texts of the first column."""
        return self.column(0)


class Book:
    """A PDF, read again."""

    def __init__(self, path: Path) -> None:
        self.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self.pdf = pdfium.PdfDocument(path)
        self._text_pages = [page.get_textpage() for page in self.pdf]
        self._lines = [page.get_text_bounded().replace("\r\n", "\n") for page in self._text_pages]
        self.texts = [squeezed(text) for text in self._lines]

    def close(self) -> None:
        """Let go of the file."""
        for page in self._text_pages:
            page.close()
        self.pdf.close()

    def label(self, page: int) -> str:
        """The PDF's own label of a physical page."""
        return str(self.pdf.get_page_label(page - 1))

    def lines(self, page: int) -> str:
        """The text of a physical page, line by line."""
        return str(self._lines[page - 1])

    def within(self, page: int, box: Box, slack: float = BOX_SLACK) -> str:
        """The text inside a box of a physical page."""
        left, bottom, right, top = box
        area = (left - slack, bottom - slack, right + slack, top + slack)
        return squeezed(self._text_pages[page - 1].get_text_bounded(*area))

    def cells(self, page: int) -> list[Cell]:
        """Runs of text of a physical page, in the order in which they were drawn."""
        text_page = self._text_pages[page - 1]
        boxes = [text_page.get_rect(index) for index in range(text_page.count_rects())]
        return [Cell(squeezed(text_page.get_text_bounded(*box)), box) for box in boxes]

    def spread(self, page: int, box: Box) -> int:
        """Difference of the darkest and the lightest grey inside a box, 0 to 255."""
        drawn = self.pdf[page - 1]
        left, bottom, right, top = (box[0] - RIM, box[1] - RIM, box[2] + RIM, box[3] + RIM)
        width, height = drawn.get_size()
        crop = (max(left, 0), max(bottom, 0), max(width - right, 0), max(height - top, 0))
        low, high = drawn.render(scale=2, crop=crop, grayscale=True).to_pil().getextrema()
        return int(high - low)

    @cached_property
    def tables(self) -> list[Table]:
        """All tables of the text layer."""
        found: dict[str, Table] = {}
        for page in range(1, len(self.texts) + 1):
            for part in _tables_of(page, self.cells(page)):
                merged = found.setdefault(part.caption, Table(part.caption, part.header))
                merged.rows += part.rows
        return list(found.values())

    @cached_property
    def rows_of_pages(self) -> dict[int, list[tuple[Table, tuple[Cell, ...]]]]:
        """Rows of tables by physical page."""
        found: dict[int, list[tuple[Table, tuple[Cell, ...]]]] = {}
        for table in self.tables:
            for page, cells in table.rows:
                found.setdefault(page, []).append((table, cells))
        return found

    @cached_property
    def captions(self) -> list[tuple[int, str]]:
        """Captions of figures: physical page and text."""
        pages = range(1, len(self.texts) + 1)
        return [(p, c.text) for p in pages for c in self.cells(p) if re.match(r"Figure \d+:", c.text)]


def squeezed(text: str) -> str:
    """Text with each run of white space as one space."""
    return " ".join(text.split())


_CAPTION = re.compile(r"(Table \d+)(?: \(continued\))?: (.*)")


def _tables_of(page: int, cells: list[Cell]) -> Iterator[Table]:
    for start, cell in enumerate(cells):
        match = _CAPTION.fullmatch(cell.text)
        if match is None:
            continue
        lines = _lines(cells[start + 1 :])
        header = next(lines, [])
        table = Table(f"{match[1]}: {match[2]}", tuple(one.text for one in header))
        for line in lines:
            if len(line) != len(header) or abs(line[0].box[0] - header[0].box[0]) > ALIGNED:
                break
            table.rows.append((page, tuple(line)))
        yield table


def _lines(cells: list[Cell]) -> Iterator[list[Cell]]:
    """Cells in the order of drawing, cut wherever one is not to the right of the one before on the same height."""
    line: list[Cell] = []
    for cell in cells:
        if line and not (cell.box[0] >= line[-1].box[2] - BOX_SLACK and _overlap(cell.box, line[-1].box)):
            yield line
            line = []
        line.append(cell)
    if line:
        yield line


def _overlap(one: Box, other: Box) -> bool:
    """Whether two boxes are on one height: the centre of one is inside the other."""
    middle = (one[1] + one[3]) / 2
    return other[1] - BOX_SLACK <= middle <= other[3] + BOX_SLACK


# The calculator


def units(text: str) -> Fraction:
    """The number that a printed form or a gold form says: thousands commas and a percent sign are dropped."""
    return Fraction(text.replace(",", "").removesuffix("%"))


def _half_up(value: Fraction, places: int) -> str:
    scaled = abs(value) * 10**places
    whole = int(scaled + Fraction(1, 2))
    digits = str(whole).rjust(places + 1, "0")
    text = digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"
    return f"-{text}" if value < 0 and whole else text


def _decimals(texts: list[str]) -> int:
    plain = [text.removesuffix("%") for text in texts]
    return max(len(text.partition(".")[2]) for text in plain)


def _gold_form(shown: str) -> str:
    """The gold form of a printed value: numbers have no thousands commas."""
    return shown.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?%?", shown) else shown


def calculate(program: dict[str, Any], slots: dict[str, dict[str, Any]]) -> str | list[str]:
    """Do a program again on the printed forms of its slots; a list where it gives one."""
    shown = {name: _printed(slot) for name, slot in slots.items()}
    operands = [shown[name] for name in program.get("operands", [])]
    labels = [shown[name] for name in program.get("labels", [])]
    op = program["op"]
    if op == "find":
        return _find(program, shown)
    if op == "list":
        return [_gold_form(text) for text in operands]
    if op in {"difference", "total", "mean", "change"}:
        return _arithmetic(op, operands, program.get("places", 0))
    if op in {"largest", "smallest", "top"}:
        ranked = sorted(zip(map(units, operands), labels, strict=True), key=lambda pair: -pair[0])
        names = [name for _, name in ranked]
        return names[: program["k"]] if op == "top" else names[0 if op == "largest" else -1]
    fitting = [_holds(slots[name], program) for name in program["operands"]]
    if op == "where":
        return [label for label, fits in zip(labels, fitting, strict=True) if fits]
    return str(sum(fitting)) if op == "count" else ("Yes" if all(fitting) else "No")


def _printed(slot: dict[str, Any]) -> str:
    return str(slot["shown"])


def _find(program: dict[str, Any], shown: dict[str, str]) -> str:
    wanted = program.get("wanted", [])
    for candidate in program["candidates"]:
        if [shown[key] for key in candidate["keys"]] == wanted:
            return _gold_form(shown[candidate["value"]])
    return NOT_ANSWERABLE


def _arithmetic(op: str, operands: list[str], places: int) -> str:
    numbers = [units(text) for text in operands]
    percent = "%" if all(text.endswith("%") for text in operands) else ""
    if op == "change":
        return _half_up(abs(numbers[0] - numbers[1]) / numbers[1] * 100, 1) + "%"
    if op == "mean":
        return _half_up(sum(numbers, Fraction(0)) / len(numbers), places) + percent
    result = abs(numbers[0] - numbers[1]) if op == "difference" else sum(numbers, Fraction(0))
    return _half_up(result, _decimals(operands)) + percent


def _holds(slot: dict[str, Any], program: dict[str, Any]) -> bool:
    threshold = program.get("threshold", 0)
    relation = program.get("relation", "equal")
    if relation == "equal":
        return bool(slot["slot"]["value"] == threshold)
    value = units(slot["shown"])
    limit = Fraction(threshold, 10 ** int(slot["slot"].get("decimals", 0)))
    return value > limit if relation == "above" else value < limit


# What was made, as plain JSON


@dataclass
class Made:
    """A folder of generated documents."""

    folder: Path
    truth: dict[str, Any]
    rows: list[dict[str, Any]]

    @cached_property
    def documents(self) -> dict[str, dict[str, Any]]:
        """Truth of each document by its name."""
        return {document["doc_id"]: document for document in self.truth["documents"]}

    def book(self, doc_id: str) -> Book:
        """A document, read again."""
        return Book(self.folder / "documents" / doc_id)


def read_made(folder: Path) -> Made:
    """Read the two JSON files."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    rows = json.loads((folder / "samples.json").read_text(encoding="utf-8"))
    return Made(folder, truth, rows)


def question_of(made: Made, question: dict[str, Any]) -> str:
    """The question as asked."""
    return str(made.rows[question["index"]]["question"])


def family(question: dict[str, Any]) -> str:
    """`template` without split and wording."""
    return str(question["template"]).rsplit(".", 2)[0]


def unanswerable(question: dict[str, Any]) -> bool:
    """Whether the gold answer is that the document does not say."""
    return bool(question["answer"] == NOT_ANSWERABLE)


def says(text: str, word: str) -> bool:
    """Whether a text holds a value as a word: not inside a longer word or number."""
    return re.search(rf"(?<![\w.,]){re.escape(word)}(?!\w|%|[.,]\d)", text) is not None


def forms(item: str) -> set[str]:
    """How a gold item may be printed: as it is, and with thousands commas."""
    match = re.fullmatch(r"(\d+)(\.\d+)?(%?)", item)
    return {item} if match is None else {item, f"{int(match[1]):,}{match[2] or ''}{match[3]}"}


# The check


def check_folder(folder: Path) -> Report:
    """Check every document and every question of a folder."""
    made, report = read_made(folder), Report()
    for name, document in made.documents.items():
        book = made.book(name)
        try:
            report.documents += 1
            report.pages += len(book.texts)
            report.faults += _file_faults(document, book)
            for question in made.truth["questions"]:
                if question["doc_id"] == name:
                    _check_question(made, question, book, report)
        finally:
            book.close()
    indices = [question["index"] for question in made.truth["questions"]]
    if indices != list(range(len(made.rows))):
        report.faults.append(Fault("row", str(folder), "truth and samples are not one to one"))
    return report


def _file_faults(document: dict[str, Any], book: Book) -> Iterator[Fault]:
    name = document["doc_id"]
    if book.sha256 != document["sha256"]:
        yield Fault("file", name, "the hash is another")
    if [page["page"] for page in document["pages"]] != list(range(1, len(book.texts) + 1)):
        yield Fault("file", name, f"{len(document['pages'])} pages recorded, {len(book.texts)} there")
    if not 5 <= len(book.texts) <= 200:
        yield Fault("file", name, f"{len(book.texts)} pages")
    for page in document["pages"]:
        yield from _label_faults(name, page, book)


def _label_faults(name: str, page: dict[str, Any], book: Book) -> Iterator[Fault]:
    number, label = page["page"], page["label"]
    where = f"{name} page {number}"
    if book.label(number) != label:
        yield Fault("file", where, f"label {book.label(number)!r} in the PDF, {label!r} in the truth")
    text = book.texts[number - 1]
    if page["scanned"] and text:
        yield Fault("file", where, f"a scan with text: {text[:40]!r}")
    if not page["scanned"] and number > 1 and not says(text, label):
        yield Fault("file", where, f"label {label!r} is not printed")


def _check_question(made: Made, question: dict[str, Any], book: Book, report: Report) -> None:
    report.questions += 1
    report.families[family(question)] += 1
    faults = [*_row_faults(made, question), *_format_faults(question), *_program_faults(question)]
    faults += _place_faults(question, book)
    asked = question_of(made, question)
    faults += _echo_faults(question, asked)
    if unanswerable(question):
        faults += _absent_faults(question, asked, book)
    else:
        report.answerable += 1
        faults += _page_faults(question, book)
        faults += _elsewhere_faults(question, book)
        faults += _context_faults(question, asked, book)
        faults += _table_faults(question, asked, book, report)
        _count_found(question, report)
    report.faults += faults


def _count_found(question: dict[str, Any], report: Report) -> None:
    """A question of text sources whose evidence is all in the text layer was found there, the rest is pictured."""
    if not set(question["sources"]) <= TEXT_SOURCES:
        return
    if all(place["text_layer"] for _, place in evidence_of(question)):
        report.found += 1
    else:
        report.pictured += 1


def evidence_of(question: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every slot that is evidence, with each place where it stands."""
    for slot in question["slots"].values():
        if slot["evidence"]:
            for place in slot["places"]:
                yield slot, place


def _name(question: dict[str, Any]) -> str:
    return f"{question['index']} {question['doc_id']} {question['template']}"


def _row_faults(made: Made, question: dict[str, Any]) -> Iterator[Fault]:
    row, where = made.rows[question["index"]], _name(question)
    if set(row) != KEYS or not all(isinstance(value, str) for value in row.values()):
        yield Fault("row", where, "not the seven keys with text")
        return
    for key in ("doc_id", "answer", "answer_format"):
        if row[key] != question[key]:
            yield Fault("row", where, f"{key} differs")
    if ast.literal_eval(row["evidence_pages"]) != question["evidence_pages"]:
        yield Fault("row", where, "evidence pages differ")
    if ast.literal_eval(row["evidence_sources"]) != question["sources"]:
        yield Fault("row", where, "sources differ")
    if row["doc_type"] not in DOCUMENT_TYPES or not set(question["sources"]) <= SOURCES:
        yield Fault("row", where, "a document type or source that the benchmark does not have")
    if not row["question"].strip() or squeezed(row["question"]) != row["question"]:
        yield Fault("row", where, "the question is empty or has stray white space")


_PATTERNS = {"Int": r"\d+", "Float": r"\d+\.\d+%?|\d+%", "Str": r"\S(.*\S)?", "None": NOT_ANSWERABLE}


def _format_faults(question: dict[str, Any]) -> Iterator[Fault]:
    answer, kind, where = question["answer"], question["answer_format"], _name(question)
    if (kind == "None") != unanswerable(question) or (kind == "None") != (not question["items"]):
        yield Fault("format", where, f"{answer!r} with format {kind} and items {question['items']}")
    if kind == "List":
        items = ast.literal_eval(answer)
        if not isinstance(items, list) or items != question["items"] or len(set(items)) != len(items):
            yield Fault("format", where, f"not a list of different items: {answer!r}")
    elif kind not in _PATTERNS or re.fullmatch(_PATTERNS[kind], answer) is None:
        yield Fault("format", where, f"{answer!r} is no {kind}")
    elif kind != "None" and question["items"] != [answer]:
        yield Fault("format", where, f"items {question['items']} of {answer!r}")
    if scoring_oracle.mmlongbench(answer, answer, kind) != 1.0:
        yield Fault("format", where, f"{answer!r} does not score 1 against itself as {kind}")


def _program_faults(question: dict[str, Any]) -> Iterator[Fault]:
    result = calculate(question["program"], question["slots"])
    expected = question["items"] if question["answer_format"] == "List" else question["answer"]
    if result != expected:
        yield Fault("program", _name(question), f"computed {result!r}, gold {expected!r}")


def _place_faults(question: dict[str, Any], book: Book) -> Iterator[Fault]:
    for slot_id, slot in question["slots"].items():
        for place in slot["places"]:
            where = f"{_name(question)} {slot_id} page {place['page']}"
            box, shown = tuple(place["box"]), slot["shown"]
            if not 1 <= place["page"] <= len(book.texts):
                yield Fault("place", where, "no such page")
            elif place["text_layer"]:
                if shown not in book.texts[place["page"] - 1]:
                    yield Fault("place", where, f"{shown!r} is not on the page")
                if shown not in book.within(place["page"], box):
                    yield Fault(
                        "place", where, f"{shown!r} is not in the box: {book.within(place['page'], box)!r}"
                    )
            elif slot["evidence"]:
                if family(question) not in DIALS and says(book.within(place["page"], box), shown):
                    yield Fault("place", where, f"{shown!r} is in the text layer after all")
                if book.spread(place["page"], box) < INK:
                    yield Fault("place", where, f"nothing is drawn where {shown!r} should be")


def _page_faults(question: dict[str, Any], book: Book) -> Iterator[Fault]:
    pages, where = question["evidence_pages"], _name(question)
    if not pages or not question["sources"]:
        yield Fault("pages", where, "answerable without evidence")
    if pages != sorted(set(pages)) or not all(1 <= page <= len(book.texts) for page in pages):
        yield Fault("pages", where, f"{pages} of {len(book.texts)}")
    if pages != sorted({place["page"] for _, place in evidence_of(question)}):
        yield Fault("pages", where, "not the pages where the evidence stands")
    for candidate in question["program"].get("candidates", []):
        if [question["slots"][key]["shown"] for key in candidate["keys"]] != question["program"].get(
            "wanted", []
        ):
            continue
        for key in candidate["keys"]:
            if not {place["page"] for place in question["slots"][key]["places"]} & set(pages):
                yield Fault("pages", where, f"{question['slots'][key]['shown']!r} stands on no gold page")


def _elsewhere_faults(question: dict[str, Any], book: Book) -> Iterator[Fault]:
    op = question["program"]["op"]
    if op in NAMED | {"count", "exceeds"} or family(question) in MAY_REPEAT:
        return
    gold = set(question["evidence_pages"])
    for item in question["items"]:
        pages = [
            page
            for page, text in enumerate(book.texts, 1)
            if page not in gold and any(says(text, form) for form in forms(item))
        ]
        if pages:
            yield Fault("elsewhere", _name(question), f"{item!r} stands on pages {pages} too")


def _echo_faults(question: dict[str, Any], asked: str) -> Iterator[Fault]:
    if question["program"]["op"] == "exceeds":
        return
    for item in {question["answer"], *question["items"]}:
        if any(says(asked, form) for form in forms(item)):
            yield Fault("echo", _name(question), f"{item!r} in {asked!r}")


def _absent_faults(question: dict[str, Any], asked: str, book: Book) -> Iterator[Fault]:
    wanted, where = question["program"].get("wanted", []), _name(question)
    if question["evidence_pages"] or question["sources"]:
        yield Fault("absent", where, "evidence for an unanswerable question")
    if not wanted:
        yield Fault("absent", where, "nothing says what is missing")
    yield from _unasked(question, wanted, asked)
    kind = family(question).split(".")[0]
    if kind == "table":
        yield from _absent_in_tables(wanted, where, book)
    elif kind == "chart":
        yield from _absent_in_charts(wanted, where, book)
    else:
        for page, text in enumerate(book.texts, 1):
            if wanted and all(says(text, one) for one in wanted):
                yield Fault("absent", where, f"{wanted} are together on page {page}")


def _absent_in_tables(wanted: list[str], where: str, book: Book) -> Iterator[Fault]:
    for table in book.tables:
        for page, cells in table.rows:
            known = {cell.text for cell in cells} | set(table.header)
            if all(one in known or says(table.caption, one) for one in wanted):
                yield Fault("absent", where, f"{wanted} is a cell of {table.caption!r} on page {page}")


def _absent_in_charts(wanted: list[str], where: str, book: Book) -> Iterator[Fault]:
    for page, caption in book.captions:
        rest = [one for one in wanted if not says(caption, one)]
        if len(rest) <= 1 and all(says(book.texts[page - 1], one) for one in rest):
            yield Fault("absent", where, f"{wanted} can be read off {caption!r} on page {page}")


def _unasked(question: dict[str, Any], wanted: list[str], asked: str) -> Iterator[Fault]:
    """What a look-up wants is named in the question; a column title may be named in other words."""
    headers = {slot["shown"] for slot in question["slots"].values() if slot["slot"]["kind"] == "category"}
    for one in wanted:
        if (
            not says(asked, one)
            and one not in headers
            and not _titled(one, asked)
            and not _hop(question, one)
        ):
            yield Fault("context", _name(question), f"{one!r} is not in {asked!r}")


def _hop(question: dict[str, Any], one: str) -> bool:
    """Whether a wanted name is itself read from a page on the way to the answer."""
    return any(slot["evidence"] and slot["shown"] == one for slot in question["slots"].values())


def _titled(header: str, asked: str) -> bool:
    """Whether the question says a column's title: its first word, units aside, in any case."""
    words = re.findall(r"[a-z]+", header.partition(" (")[0].lower())
    return any(word.removesuffix("s")[:4].removesuffix("n") in asked.lower() for word in words)


_QUOTED = re.compile(r"'([^']+)'")
_PRINTED_PAGE = re.compile(r"printed page (\w+)|page (?:that is )?numbered (\w+)")


def _context_faults(question: dict[str, Any], asked: str, book: Book) -> Iterator[Fault]:
    gold = question["evidence_pages"]
    text = " ".join(book.texts[page - 1] for page in gold)
    where = _name(question)
    if all(place["text_layer"] for _, place in evidence_of(question)):
        for quoted in _QUOTED.findall(asked):
            if not says(text, quoted):
                yield Fault("context", where, f"{quoted!r} is on no gold page")
    match = _PRINTED_PAGE.search(asked)
    if match is not None and book.label(gold[0]) != (match[1] or match[2]):
        yield Fault("context", where, f"{asked!r} but the gold page is labelled {book.label(gold[0])!r}")
    if question["program"]["op"] == "find":
        yield from _unasked(question, question["program"].get("wanted", []), asked)
    if family(question).split(".")[0] in {"fact", "cross"}:
        yield from _sentence_faults(question, asked, book)


def _sentence_faults(question: dict[str, Any], asked: str, book: Book) -> Iterator[Fault]:
    """A value of running text stands in a sentence with a name that the question says."""
    named = [slot["shown"] for slot in question["slots"].values() if says(asked, slot["shown"])]
    for slot, place in evidence_of(question):
        if not place["text_layer"] or cell_at(book, place) is not None:
            continue
        sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", book.texts[place["page"] - 1])
        holding = [one for one in sentences if says(one, slot["shown"])]
        if named and not any(says(one, name) for one in holding for name in named):
            what = f"{slot['shown']!r} is in no sentence with any of {named}"
            yield Fault("context", _name(question), what)


# Tables, read again


@dataclass(frozen=True)
class Spot:
    """A cell of a table: which table, row and column."""

    table: Table
    row: int
    column: int

    @property
    def name(self) -> str:
        """The first cell of the row."""
        return self.table.rows[self.row][1][0].text

    @property
    def title(self) -> str:
        """The title of the column."""
        return self.table.header[self.column]


def cell_at(book: Book, place: dict[str, Any]) -> Spot | None:
    """The cell of a table in which a place lies, if it lies in one."""
    left, bottom, right, top = place["box"]
    x, y = (left + right) / 2, (bottom + top) / 2
    for table in book.tables:
        for index, (page, cells) in enumerate(table.rows):
            for column, cell in enumerate(cells):
                inside = cell.box[0] - 2 <= x <= cell.box[2] + 2 and cell.box[1] - 2 <= y <= cell.box[3] + 2
                if page == place["page"] and inside:
                    return Spot(table, index, column)
    return None


def parts_of_caption(caption: str) -> tuple[set[str], set[str]]:
    """What tells look-alike tables apart: the years and the names in a caption."""
    title = caption.partition(": ")[2]
    years = set(re.findall(r"\b(?:19|20)\d\d\b", title))
    tail = title.partition(" ")[2]
    return years, set(re.findall(r"[A-Z]\w+(?: [A-Z]\w+)*", tail))


def _table_faults(question: dict[str, Any], asked: str, book: Book, report: Report) -> Iterator[Fault]:
    if family(question).split(".")[0] != "table" or family(question) == "table.reverse":
        return
    pairs = list(evidence_of(question))
    if not all(place["text_layer"] for _, place in pairs):
        return
    spots = [cell_at(book, place) for _, place in pairs]
    if None in spots:
        yield Fault("context", _name(question), "a value is in no table that the text layer shows")
        return
    report.in_tables += 1
    found = [spot for spot in spots if spot is not None]
    for spot in found:
        yield from _spot_faults(question, asked, spot)
    if question["program"]["op"] in NAMED | {"count"}:
        report.complete += 1
        yield from _complete_faults(question, found)
        yield from _sibling_faults(question, found, book)
    else:
        yield from _single_faults(question, asked, found, book)


def _spot_faults(question: dict[str, Any], asked: str, spot: Spot) -> Iterator[Fault]:
    where = _name(question)
    if question["program"]["op"] not in NAMED | {"count"} and not says(asked, spot.name):
        yield Fault("context", where, f"row {spot.name!r} is not in {asked!r}")
    years = re.findall(r"\b(?:19|20)\d\d\b", spot.table.caption)
    if years and not any(year in asked for year in years):
        yield Fault("context", where, f"{spot.table.caption!r} has years that are not in {asked!r}")
    wanted = question["program"].get("wanted", [])
    if not (spot.title in wanted or _titled(spot.title, asked)):
        yield Fault("context", where, f"column {spot.title!r} is not in {asked!r}")


def _complete_faults(question: dict[str, Any], spots: list[Spot]) -> Iterator[Fault]:
    tables = {id(spot.table): spot.table for spot in spots}
    columns = {spot.column for spot in spots}
    if len(tables) != 1 or len(columns) != 1:
        yield Fault("complete", _name(question), "the operands are in several tables or columns")
        return
    rows = len(next(iter(tables.values())).rows)
    if len({spot.row for spot in spots}) != rows:
        yield Fault("complete", _name(question), f"{len(spots)} operands, {rows} rows")


def _fits(asked: str, table: Table, row: int, column: int, captioned: set[str]) -> bool:
    """Whether a cell is one that the question may mean."""
    name = table.rows[row][1][0].text
    if not says(asked, name) or not _titled(table.header[column], asked):
        return False
    years, names = parts_of_caption(table.caption)
    if years and not any(says(asked, year) for year in years):
        return False
    if not names or not any(says(asked, one) for one in captioned):
        return True
    return any(says(asked, one) and _with_year(asked, one, years) for one in names)


def _with_year(asked: str, name: str, years: set[str]) -> bool:
    """Whether the first year behind a name in the question, if there is one, is one of these."""
    behind = re.search(r"\b(?:19|20)\d\d\b", asked[asked.index(name) :])
    return not years or behind is None or behind[0] in years


def _single_faults(question: dict[str, Any], asked: str, spots: list[Spot], book: Book) -> Iterator[Fault]:
    captioned = {name for table in book.tables for name in parts_of_caption(table.caption)[1]}
    titles = {spot.title for spot in spots}
    meant = {(spot.table.caption, spot.row, spot.column) for spot in spots}
    for table in book.tables:
        for row in range(len(table.rows)):
            for column in range(1, len(table.header)):
                fits = table.header[column] in titles and _fits(asked, table, row, column, captioned)
                if fits and (table.caption, row, column) not in meant:
                    what = f"{asked!r} may mean {table.caption!r}, {table.rows[row][1][0].text!r} too"
                    yield Fault("single", _name(question), what)


def _sibling_faults(question: dict[str, Any], spots: list[Spot], book: Book) -> Iterator[Fault]:
    """The same question about every look-alike gives another answer; of counts, at most a fifth gives the same."""
    spot, gold = spots[0], question["items"]
    answers = []
    for table in book.tables:
        if (
            table is not spot.table
            and table.header == spot.table.header
            and len(table.rows) >= LOOK_ALIKE_ROWS
        ):
            answers.append(_asked_of(question, table, spot.column))
    same = sum(answer == gold for answer in answers)
    hidden = max(int(table.caption.split()[1].rstrip(":")) for table in book.tables) - len(book.tables)
    look_alikes = len(answers) + hidden  # tables on scans have a number and no text
    allowed = SAME_COUNTS * look_alikes if question["program"]["op"] == "count" else 0
    if same > allowed:
        yield Fault("elsewhere", _name(question), f"{same} of {len(answers)} look-alikes give {gold}")


def _asked_of(question: dict[str, Any], table: Table, column: int) -> list[str]:
    """The answer that another table gives to the question."""
    program = question["program"]
    first = question["slots"][program["operands"][0]]["slot"]
    slots = {}
    for row, (name, value) in enumerate(zip(table.names(), table.column(column), strict=True)):
        slots[f"name {row}"] = {"shown": name, "slot": {"value": name}}
        slots[f"value {row}"] = {
            "shown": value,
            "slot": {"value": value, "decimals": first.get("decimals", 0)},
        }
    rows = range(len(table.rows))
    other = dict(program, operands=[f"value {row}" for row in rows], labels=[f"name {row}" for row in rows])
    result = calculate(other, slots)
    return result if isinstance(result, list) else [result]
