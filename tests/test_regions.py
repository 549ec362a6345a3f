"""Pictures on a page: where they are seen, however the page is turned, cropped, or nests them."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostile_files as make
from looseleaf.document.pdf_file import PdfFile
from looseleaf.document.regions import MIN_REGION_SHARE

LAYER = "BT /F1 12 Tf 72 740 Td (A page with a text layer of its own) Tj ET"
PICTURE = make.stream(
    bytes(range(256)) * 3,
    "/Type /XObject /Subtype /Image /Width 16 /Height 16 /ColorSpace /DeviceRGB /BitsPerComponent 8",
)


def scans(path: Path, content: str, *, box: str = "", more: tuple[bytes, ...] = ()) -> list[tuple[int, ...]]:
    """Left, top, width and height in points of what must be read on a page of 612 × 792 points."""
    path.write_bytes(
        make.pages(
            [make.stream(content.encode())],
            boxes=[f"/MediaBox [{make.LETTER}] {box}"],
            more=[PICTURE, *more],
            resources="/XObject << /X 4 0 R /F 5 0 R >>",
        )
    )
    file = PdfFile(str(path))
    try:
        found = file.scans(0, whole=False)
    finally:
        file.close()
    return sorted(
        (round(scan.left), round(scan.top), round(scan.width / scan.scale), round(scan.height / scan.scale))
        for scan in found
    )


def draw(left: int, bottom: int, width: int, height: int, name: str = "X") -> str:
    return f" q {width} 0 0 {height} {left} {bottom} cm /{name} Do Q"


@pytest.mark.parametrize(
    ("box", "seen"),
    [
        ("", (100, 392, 300, 200)),
        ("/Rotate 90", (200, 100, 200, 300)),
        ("/Rotate 180", (212, 200, 300, 200)),
        ("/Rotate 270", (392, 212, 200, 300)),
        ("/CropBox [50 100 562 792]", (50, 392, 300, 200)),
        ("/CropBox [200 250 562 792]", (0, 392, 200, 150)),
    ],
)
def test_picture_is_where_it_is_seen(tmp_path: Path, box: str, seen: tuple[int, ...]) -> None:
    assert scans(tmp_path / "a.pdf", LAYER + draw(100, 200, 300, 200), box=box) == [seen]


def test_picture_in_a_form_is_found(tmp_path: Path) -> None:
    """The form's own matrix doubles, the page moves: 150 × 100 at (0, 0) becomes 300 × 200 at (100, 200)."""
    placed = "/BBox [0 0 500 500] /Matrix [2 0 0 2 0 0]"
    entries = f"/Type /XObject /Subtype /Form {placed} /Resources << /XObject << /X 4 0 R >> >>"
    form = make.stream(draw(0, 0, 150, 100).encode(), entries)
    content = LAYER + " q 1 0 0 1 100 200 cm /F Do Q"
    assert scans(tmp_path / "a.pdf", content, more=(form,)) == [(100, 392, 300, 200)]


def test_strips_of_one_picture_are_one(tmp_path: Path) -> None:
    strips = "".join(draw(100, 200 + 20 * number, 300, 20) for number in range(10))
    assert scans(tmp_path / "a.pdf", LAYER + strips) == [(100, 392, 300, 200)]


def test_small_pictures_and_pictures_behind_text_are_left_out(tmp_path: Path) -> None:
    side = int((MIN_REGION_SHARE * 612 * 792) ** 0.5)
    assert scans(tmp_path / "a.pdf", LAYER + draw(100, 200, side - 2, side - 2)) == []
    assert scans(tmp_path / "b.pdf", LAYER + draw(100, 200, side + 2, side + 2)) != []
    assert scans(tmp_path / "c.pdf", f"{draw(50, 600, 500, 180)} {LAYER}") == []


def test_page_of_countless_objects_is_not_searched(tmp_path: Path) -> None:
    lines = "".join(f" {number % 600} 0 m 9 9 l S" for number in range(6_000))
    assert scans(tmp_path / "a.pdf", LAYER + lines + draw(100, 200, 300, 200)) == []
