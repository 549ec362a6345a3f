"""`Manifest`: what was made; and the records of `truth.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from looseleaf.procedural.document import Located
from looseleaf.procedural.programs import Program
from looseleaf.procedural.slots import Slot
from looseleaf.procedural.splits import Split

__all__ = [
    "TRUTH_FORMAT",
    "DocumentTruth",
    "Manifest",
    "PageTruth",
    "QuestionTruth",
    "SlotTruth",
    "Truth",
    "TwinTruth",
]

TRUTH_FORMAT = "looseleaf-procedural/1"


class PageTruth(msgspec.Struct, frozen=True):
    """One page: physical number from 1, printed label, and whether it is an image without a text layer."""

    page: int
    label: str
    scanned: bool


class DocumentTruth(msgspec.Struct, frozen=True):
    """One document."""

    doc_id: str
    sha256: str
    kind: str
    theme: str
    pages: tuple[PageTruth, ...]


class SlotTruth(msgspec.Struct, frozen=True):
    """A value that a question depends on: itself, its printed form, and where it is to be seen."""

    slot: Slot
    shown: str
    evidence: bool
    places: tuple[Located, ...]


class TwinTruth(msgspec.Struct, frozen=True):
    """A twin of a question's document; row `index` of the twin folder's samples.json asks the same question."""

    doc_id: str
    sha256: str
    slot_id: str
    before: str
    after: str
    places: tuple[Located, ...]
    answer: str
    answer_format: str


class QuestionTruth(msgspec.Struct, frozen=True):
    """One question; `index` is its row in samples.json."""

    index: int
    doc_id: str
    template: str
    answer: str
    items: tuple[str, ...]
    answer_format: str
    evidence_pages: tuple[int, ...]
    sources: tuple[str, ...]
    program: Program
    slots: dict[str, SlotTruth]
    changed: TwinTruth | None = None
    control: TwinTruth | None = None


class Truth(msgspec.Struct, frozen=True):
    """Everything that is known about a set of generated documents."""

    format: str
    split: Split
    seed: int
    difficulty: float
    versions: dict[str, str]
    documents: tuple[DocumentTruth, ...]
    questions: tuple[QuestionTruth, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of one call of `make`.

    Attributes:
        folder: where samples.json, documents/ and truth.json are.
        split, seed, difficulty: as given.
        documents, pages, scanned_pages, questions: how many were made.
        twins: how many twin documents were made.
        formats, sources, kinds: number of questions by answer format and by evidence source (a question may
            have several), and of documents by kind.
        cross_page: number of questions whose evidence is on several pages.
    """

    folder: Path
    split: Split
    seed: int
    difficulty: float
    documents: int
    pages: int
    scanned_pages: int
    questions: int
    twins: int
    cross_page: int
    formats: dict[str, int]
    sources: dict[str, int]
    kinds: dict[str, int]
