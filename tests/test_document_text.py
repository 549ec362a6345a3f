"""Text of pages: prose stays in lines, tables and charts come out in rows, divided words are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import hostile_files as make
from looseleaf.document import Document, PageStore
from looseleaf.document.hyphens import join_divided
from looseleaf.document.rows import DIVIDED, Word, lay_out

Placed = Sequence[tuple[float, float, str]]
Read = Callable[..., str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageStore]:
    with PageStore(tmp_path_factory.mktemp("cache")) as store:
        yield store


@pytest.fixture
def read(store: PageStore, tmp_path: Path) -> Read:
    """Draw texts at places, in the order given, and read the page back through pdfium."""

    def read(placed: Placed) -> str:
        path = tmp_path / "page.pdf"
        path.write_bytes(make.pages([make.words(placed)]))
        return Document.open(path, store=store).text(1)

    return read


def column(x: float, *texts: str, top: float = 700, step: float = 14) -> list[tuple[float, float, str]]:
    return [(x, top - step * row, text) for row, text in enumerate(texts)]


def by_rows(*columns: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    return [cell for row in zip(*columns, strict=True) for cell in row]


LABELS = column(72, "Footwear", "Apparel and accessories", "Equipment", "TOTAL REVENUES")
LEFT = column(300, "11,644", "5,028", "507", "17,179")
RIGHT = column(400, "6,970", "3,996", "(490)", "11,456")
TABLE = """\
Footwear\t11,644\t6,970
Apparel and accessories\t5,028\t3,996
Equipment\t507\t(490)
TOTAL REVENUES\t17,179\t11,456"""


def test_table_drawn_row_by_row(read: Read) -> None:
    assert read(by_rows(LABELS, LEFT, RIGHT)) == TABLE


def test_table_drawn_column_by_column(read: Read) -> None:
    assert read([*LABELS, *LEFT, *RIGHT]) == TABLE


def test_chart_whose_labels_are_drawn_last(read: Read) -> None:
    assert read([*RIGHT, *LEFT, *LABELS]) == TABLE


def test_column_heads_of_several_lines(read: Read) -> None:
    heads = [*column(300, "May 31,", "2021", top=728), *column(400, "May 31,", "2020", top=728)]
    text = read([*heads, *by_rows(LABELS, LEFT, RIGHT)])
    assert text == "May 31,\tMay 31,\n2021\t2020\n" + TABLE


def test_numbers_are_cells_where_prose_is_not(read: Read) -> None:
    placed = [(72, 700, "Outstanding shares - 477 and 484"), (300, 700, "5"), (330, 700, "5")]
    assert read(placed) == "Outstanding shares - 477 and 484\t5\t5"


def test_currency_signs_and_percent_signs_stay_with_their_numbers(read: Read) -> None:
    placed = [(72, 700, "Net income"), (300, 700, "$"), (340, 700, "629"), (400, 700, "$"), (440, 700, "26")]
    assert read([*placed, (475, 700, "%")]) == "Net income\t$ 629\t$ 26 %"


@pytest.mark.parametrize("leader", ["....................", ". . . . . . . . . .", "……………………", "__________"])
def test_leaders_are_cell_borders(read: Read, leader: str) -> None:
    assert read([(72, 700, f"Products {leader} $ 3,223"), (400, 700, "9,035")]) == "Products\t$ 3,223\t9,035"
    assert read([(72, 700, f"Products{leader} 3,223")]) == "Products\t3,223"


def test_raised_marks_stay_in_their_words_and_rows(read: Read) -> None:
    placed = [(72, 700, "20"), (83.1, 704, "th"), (98, 700, "century"), (160, 700, "39,825")]
    assert read(placed) == "20th century\t39,825"
    label = [
        (72, 714, "Net gain that was recognized in other comprehensive"),
        (72, 700, "income, net of tax"),
    ]
    rows = read([*label, (155, 704, "(1)"), (300, 700, "39,825"), (400, 700, "41,993")]).splitlines()
    assert rows[1].startswith("income, net of tax")
    assert rows[1].endswith("\t39,825\t41,993")


def test_numbers_that_run_down_the_page_are_not_one_number(read: Read) -> None:
    assert read([*column(320, "Men", "Women", "Total", "Other"), *column(420, "54", "51", "9", "2")]) == (
        "Men\t54\nWomen\t51\nTotal\t9\nOther\t2"
    )


LEFT_PROSE = (
    "The effect of the new rules on the",
    "company was small in the first year,",
    "and it is not expected to grow in",
    "the years that follow. A short end.",
)
RIGHT_PROSE = (
    "Revenue from services went up by a",
    "third, while products sold less than",
    "they did in the year before, mostly",
    "because of prices.",
)


def test_columns_of_prose_are_not_interleaved(read: Read) -> None:
    text = read([*column(72, *LEFT_PROSE), *column(320, *RIGHT_PROSE)])
    assert text == "\n".join(LEFT_PROSE + RIGHT_PROSE)


def test_chart_beside_prose_is_not_mixed_into_it(read: Read) -> None:
    chart = [*column(320, "Men", "Women", "Total", "Other"), *column(420, "54", "51", "9", "2")]
    text = read([*column(72, *LEFT_PROSE), *chart])
    assert text == "\n".join(LEFT_PROSE) + "\nMen\t54\nWomen\t51\nTotal\t9\nOther\t2"


def test_cells_of_running_text_are_read_cell_by_cell(read: Read) -> None:
    first = ("Web disk", "applications,", "enterprise", "backup")
    second = ("Archive,", "medical", "image", "storage")
    text = read([*column(72, *first), *column(200, *second)])
    assert text == "\n".join(first + second)


def test_list_marks_stay_with_their_items(read: Read) -> None:
    assert read([(72, 700, "•"), (100, 700, "the first item of a list")]) == "• the first item of a list"


def test_ligatures_and_characters_beyond_the_first_plane() -> None:
    from looseleaf.document.pdf_file import _whole

    assert _whole("x \ud835\udc65 y") == "x \U0001d465 y"
    assert _whole("broken \ud835 half") == "broken \ufffd half"


def words(text: str, left: float, base: float, turn: int = 0) -> list[Word]:
    """Words of a 10-point line, five points a character."""
    placed, x = [], left
    for word in text.split():
        placed.append(Word(word, x, x + 5 * len(word), base, 10, turn))
        x += 5 * len(word) + 2.5
    return placed


def test_turned_text_is_laid_out_along_its_own_direction() -> None:
    upright = [words("Label one", 0, 100), words("Label two", 0, 85)]
    turned = [words("12", 200, 100, 1), words("34", 200, 85, 1)]
    assert lay_out([*upright, *turned]) == "Label one\nLabel two\n12\n34"
    rows = [words("Label one", 0, 100, 1), words("Label two", 0, 85, 1), *turned]
    assert lay_out(rows) == "Label one\t12\nLabel two\t34"


def test_turned_pages_come_out_in_rows(store: PageStore, tmp_path: Path) -> None:
    """A table set sideways, as landscape tables of reports are: text runs up the page."""
    lines = [
        f"BT /F1 10 Tf 0 1 -1 0 {x} {y} Tm ({text}) Tj ET"
        for x, y, text in (
            (100, 72, "Footwear"),
            (100, 300, "11,644"),
            (114, 72, "Apparel"),
            (114, 300, "5,028"),
        )
    ]
    path = tmp_path / "turned.pdf"
    path.write_bytes(make.pages([make.stream("\n".join(lines).encode())]))
    assert Document.open(path, store=store).text(1) == "Footwear\t11,644\nApparel\t5,028"


def test_words_of_one_line_far_apart_are_cells_only_where_the_gap_is_wide() -> None:
    justified = [Word("wide", 0, 20, 0, 10), Word("spaces", 31, 60, 0, 10)]
    assert lay_out([justified]) == "wide spaces"  # 1.1 font heights
    columns = [Word("two", 0, 15, 0, 10), Word("cells", 28, 50, 0, 10)]
    assert lay_out([columns]) == "two\tcells"  # 1.3


def test_empty_page() -> None:
    assert lay_out([]) == ""
    assert lay_out([[Word("....", 0, 20, 0, 10)]]) == ""


def test_deep_page_is_laid_out_in_bounded_time() -> None:
    lines = [words("12", 50 * (n % 40), 10_000 - n) for n in range(5_000)]
    assert len(lay_out(lines).split()) == 5_000


def test_divided_words_are_joined_on_the_first_line(read: Read) -> None:
    text = read(column(72, "some general-", "ization is good"))
    assert text == "some generalization\nis good"


def test_the_document_decides_about_the_hyphen() -> None:
    def joined(first: str, second: str, elsewhere: str = "") -> str:
        return join_divided([elsewhere, f"a {first}{DIVIDED}\n{second} b"])[1]

    assert joined("few", "shot") == "a fewshot\nb"
    assert joined("few", "shot,", "with few-shot prompts") == "a few-shot,\nb"
    assert joined("Few", "shot", "with few-shot prompts") == "a Few-shot\nb"
    assert joined("re", "form", "re-form and reform") == "a reform\nb"
    assert joined("COVID", "19") == "a COVID-19\nb"
    assert joined("non", "GAAP") == "a non-GAAP\nb"
    assert joined("QAC", "HECK") == "a QACHECK\nb"
    assert joined("end-to", "end", "end-to-end") == "a end-to-end\nb"


def test_divided_word_at_the_end_of_a_page_keeps_its_hyphen() -> None:
    assert join_divided([f"to be contin{DIVIDED}", "ued"]) == ("to be contin-", "ued")
