"""PDF files and page images made by code: small good ones, and one for each way of being bad."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing

import pypdfium2
from PIL import Image

LETTER = "0 0 612 792"


def pdf(objects: Sequence[bytes], trailer: str = "") -> bytes:
    """A PDF file of these objects, numbered from 1; the first is the catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\n".encode()
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def stream(content: bytes, entries: str = "") -> bytes:
    """A stream object."""
    return f"<< /Length {len(content)} {entries} >>\nstream\n".encode() + content + b"\nendstream"


def pages(
    contents: Sequence[bytes],
    *,
    boxes: Sequence[str] = (),
    more: Sequence[bytes] = (),
    resources: str = "",
    catalogue: str = "",
    trailer: str = "",
) -> bytes:
    """A PDF with one page for each content stream object; `more` objects are numbered from 4 on.

    `boxes` are the page's box entries; the default is US Letter.
    """
    first = 4 + len(more)
    numbers = range(first, first + 2 * len(contents), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalogue} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        *more,
    ]
    for index, (number, content) in enumerate(zip(numbers, contents, strict=True)):
        box = boxes[index] if boxes else f"/MediaBox [{LETTER}]"
        page = f"<< /Type /Page /Parent 2 0 R {box} /Contents {number + 1} 0 R"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> {resources} >> >>".encode())
        objects.append(content)
    return pdf(objects, trailer)


def words(placed: Iterable[tuple[float, float, str]], size: float = 10) -> bytes:
    """A content stream with each text at its place (x, y from the lower left corner)."""
    lines = [f"BT /F1 {size} Tf {x} {y} Td ({escaped(text)}) Tj ET" for x, y, text in placed]
    return stream("\n".join(lines).encode("cp1252"))


def escaped(text: str) -> str:
    """Text for use inside a PDF string."""
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def text_pdf(*texts: str, **options: object) -> bytes:
    """A PDF with one page for each text, one line of the page a line of the text."""
    placed = [[(72, 720 - 14 * row, line) for row, line in enumerate(text.splitlines())] for text in texts]
    return pages([words(lines) for lines in placed], **options)  # type: ignore[arg-type]


def labelled() -> bytes:
    """Four pages labelled i, ii, 1, 2."""
    return text_pdf("a", "b", "c", "d", catalogue="/PageLabels << /Nums [0 << /S /r >> 2 << /S /D >>] >>")


def truncated() -> bytes:
    """A PDF whose second half was never downloaded."""
    whole = text_pdf("one", "two", "three")
    return whole[: len(whole) // 2]


def zero_pages() -> bytes:
    """A PDF without pages, as pdfium itself writes it."""
    buffer = io.BytesIO()
    with closing(pypdfium2.PdfDocument.new()) as document:
        document.save(buffer)
    return buffer.getvalue()


def encrypted() -> bytes:
    """A PDF that asks for a password (its digests match none)."""
    digest = "<" + "ab" * 32 + ">"
    standard = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O {digest} /U {digest} /P -4 >>"
    return text_pdf("secret", trailer=f"{standard} /ID [<00> <00>]")


def bad_xref() -> bytes:
    """A good PDF whose cross-reference table points nowhere; pdfium repairs it."""
    whole = text_pdf("the table is broken, the text is not")
    moved = re.sub(rb"\d{10} 00000 n", b"0000000007 00000 n", whole)
    return re.sub(rb"startxref\n\d+", b"startxref\n7", moved)


def cropped_away() -> bytes:
    """A page whose crop box lies outside it, beside a good one."""
    boxes = [f"/MediaBox [{LETTER}] /CropBox [1000 1000 1200 1200]", f"/MediaBox [{LETTER}]"]
    return text_pdf("text that is still there to be read", "good", boxes=boxes)


def boxed(*box: str) -> bytes:
    """One page of text for each media box."""
    return text_pdf(*["boxed"] * len(box), boxes=[f"/MediaBox [{sides}]" for sides in box])


def claims_pages(count: int) -> bytes:
    """A PDF with one page that claims to have many."""
    return text_pdf("only one").replace(b"/Count 1", b"/Count %d" % count)


def flate_bomb() -> bytes:
    """A good page, and one whose content of a few hundred bytes unpacks to 2 GB in two steps."""
    packer = zlib.compressobj(9)
    start = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    megabyte = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    once = start + megabyte * 2048 + packer.flush()  # the checksum is wrong, and comes too late to help
    bomb = zlib.compress(zlib.compress(once, 9), 9)
    nested = stream(bomb, "/Filter [/FlateDecode /FlateDecode /FlateDecode]")
    return pages([words([(72, 700, "good")]), nested, words([(72, 700, "also good")])])


def nested_forms(depth: int = 26) -> bytes:
    """A good page, and one that draws a form that draws two forms that draw two forms, and so on."""
    forms = []
    for level in range(depth):
        child = f"/Resources << /XObject << /X {5 + level} 0 R >> >>" if level + 1 < depth else ""
        content = b"/X Do /X Do" if level + 1 < depth else b"0 0 m 9 9 l S"
        forms.append(stream(content, f"/Type /XObject /Subtype /Form /BBox [0 0 600 800] {child}"))
    return pages([stream(b"/X Do")], more=forms, resources="/XObject << /X 4 0 R >>")


def strokes(count: int = 20_000) -> bytes:
    """A page of many wide dashed curves: a kilobyte that takes pdfium 40 seconds to draw."""
    one = b"0 0 m 0 800 600 0 600 800 c S\n"
    content = b"20 w [1 1] 0 d\n" + one * count
    return pages([stream(zlib.compress(content, 9), "/Filter /FlateDecode")])


def many_strokes(count: int = 2_000_000) -> bytes:
    """A page of two million strokes that is packed into about 100 kB."""
    return pages([many_strokes_stream(count)])


def many_strokes_stream(count: int) -> bytes:
    """The content of such a page."""
    content = b"20 w [3 2] 0 d\n" + b"0 0 m 9 9 600 0 0 9 c S\n" * count
    return stream(zlib.compress(content), "/Filter /FlateDecode")


def png(width: int = 40, height: int = 60, colour: str = "white") -> bytes:
    """A PNG of one colour."""
    return image("PNG", width, height, colour)


def image(kind: str, width: int = 40, height: int = 60, colour: str = "white", mode: str = "RGB") -> bytes:
    """An image of one colour."""
    buffer = io.BytesIO()
    Image.new(mode, (width, height), colour).save(buffer, kind)
    return buffer.getvalue()


def tiff(*sizes: tuple[int, int]) -> bytes:
    """A TIFF with a page for each size."""
    buffer = io.BytesIO()
    first, *others = [Image.new("RGB", size, "white") for size in sizes]
    first.save(buffer, "TIFF", save_all=True, append_images=others)
    return buffer.getvalue()


def png_bomb() -> bytes:
    """A PNG of a few bytes that claims 10,000 megapixels."""
    header = (100_000).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")
        for kind, body in chunks
    )
