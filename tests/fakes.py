"""Stand-ins for documents and retrievers, and small PDFs made by code."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from looseleaf.document import PageImage
from looseleaf.errors import DocumentError
from looseleaf.question import Question
from looseleaf.retrieval import RetrieverFamily, ScoredPage


class FakeDocument:
    """Has the methods of `Document` and pages of given text, without any file."""

    def __init__(
        self, texts: Sequence[str], *, doc_id: str = "fake.pdf", unreadable: Mapping[int, str] | None = None
    ) -> None:
        self.doc_id = doc_id
        self.path = Path(doc_id)
        self.sha256 = "f" * 64
        self.page_count = len(texts)
        self.labels = tuple(f"p-{page}" for page in range(1, len(texts) + 1))
        self.unreadable = dict(unreadable or {})
        self.images_asked: list[tuple[int, int | None]] = []
        self._texts = tuple(texts)

    def text(self, page: int) -> str:
        self._check(page)
        return self._texts[page - 1]

    def texts(self) -> tuple[str, ...]:
        return self._texts

    @property
    def has_text(self) -> bool:
        return any(len(text.strip()) >= 20 for text in self._texts)

    def label(self, page: int) -> str:
        self._check(page)
        return self.labels[page - 1]

    def page_size(self, page: int) -> tuple[float, float]:
        self._check(page)
        return 612.0, 792.0

    def image(self, page: int, *, dpi: int = 144, max_pixels: int | None = None) -> PageImage:
        self._check(page)
        self.images_asked.append((page, max_pixels))
        return PageImage(b"\xff\xd8\xff", 10, 10)

    def _check(self, page: int) -> None:
        if not 1 <= page <= self.page_count:
            raise DocumentError(f"{self.path} has no page {page}; its pages are 1 to {self.page_count}.")
        if page in self.unreadable:
            raise DocumentError(f"Page {page} of {self.path} {self.unreadable[page]}.")


class FakeRetriever:
    """Returns the same ranking for every query, cut at k, and remembers what it was asked."""

    name = "fake"

    def __init__(self, pages: Sequence[int] = (), family: RetrieverFamily = RetrieverFamily.LEXICAL) -> None:
        self.family = family
        self.asked: list[tuple[str, int]] = []
        self._pages = tuple(pages)

    def index(self, document: Any) -> None:
        pass

    def search(self, query: str, k: int) -> list[ScoredPage]:
        self.asked.append((query, k))
        return [ScoredPage(page, 1.0 / rank) for rank, page in enumerate(self._pages[:k], start=1)]


def make_question(index: int = 0, **fields: Any) -> Question:
    """A question with sensible fields."""
    given = {
        "question_id": f"mini:{index}",
        "native_id": str(index),
        "benchmark": "mini",
        "split": "own",
        "doc_id": "fake.pdf",
        "question": f"What is number {index}?",
        "references": ("7",),
        "answer_format": "Int",
    }
    return Question(**(given | fields))


def pdf_bytes(*texts: str, password: str | None = None) -> bytes:
    """A PDF with one page for each text."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, encrypt=StandardEncryption(password) if password else None, invariant=1)
    for text in texts:
        for row, line in enumerate(text.splitlines()):
            canvas.drawString(72, 720 - 16 * row, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


EMPTY_PDF = (
    b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n"
    b"xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000054 00000 n \n"
    b"trailer\n<</Size 3/Root 1 0 R>>\nstartxref\n100\n%%EOF\n"
)

CITIES = {
    "Oslo": 7,
    "Lima": 12,
    "Pune": 31,
    "Cork": 45,
    "Bonn": 58,
    "Nara": 64,
}


def city_questions() -> list[dict[str, Any]]:
    """Six answerable questions over two documents and one that the first document does not answer."""
    rows = [
        {
            "doc_id": f"report_{number % 2}.pdf",
            "question": f"How many stations does the city of {city} have?",
            "answer": stations,
            "evidence_pages": [number // 2 + 2],
        }
        for number, (city, stations) in enumerate(CITIES.items())
    ]
    return [
        *rows,
        {"doc_id": "report_0.pdf", "question": "Who founded the railway?", "answer": "Not answerable"},
    ]
