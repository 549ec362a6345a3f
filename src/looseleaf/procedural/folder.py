"""`make_folder`: a folder of generated documents with questions, in the layout of MMLongBench-Doc."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import get_args

import msgspec

from looseleaf.errors import ConfigError, DataError
from looseleaf.procedural.choose import Chosen
from looseleaf.procedural.dice import dice
from looseleaf.procedural.document import Document, Located, write_document
from looseleaf.procedural.manifest import (
    TRUTH_FORMAT,
    DocumentTruth,
    Manifest,
    PageTruth,
    QuestionTruth,
    SlotTruth,
    Truth,
    TwinTruth,
)
from looseleaf.procedural.page import Sheet
from looseleaf.procedural.paint import rotated
from looseleaf.procedural.slots import Values
from looseleaf.procedural.splits import SPLITS, Split
from looseleaf.procedural.style import FormKind
from looseleaf.procedural.twins import Twin, twins_of

__all__ = ["DEFAULT_MIX", "make_folder"]

DEFAULT_MIX: dict[FormKind, float] = {
    "report": 0.3,
    "paper": 0.2,
    "slides": 0.15,
    "manual": 0.2,
    "form": 0.15,
}
"""Share of each kind of document, near to the document types of MMLongBench-Doc."""


def make_folder(
    out: Path,
    *,
    documents: int,
    seed: int,
    split: Split,
    difficulty: float,
    kinds: Sequence[FormKind] | Mapping[FormKind, float],
    questions: int,
    twins: bool,
) -> Manifest:
    """See `looseleaf.procedural.make`."""
    mix = _checked(documents, split, difficulty, kinds, questions)
    _claim(out)
    folder = Folder(out, twins)
    for index in range(documents):
        name = f"{split}-{seed}-{index:05d}"
        kind = dice(f"kind/{name}").choices(list(mix), list(mix.values()))[0]
        folder.add(write_document(kind, split, difficulty, f"document/{name}", questions), name)
    return folder.close(split, seed, difficulty)


def _checked(
    documents: int,
    split: str,
    difficulty: float,
    kinds: Sequence[FormKind] | Mapping[FormKind, float],
    questions: int,
) -> Mapping[FormKind, float]:
    """The mix of kinds, after every option has been looked at."""
    mix = kinds if isinstance(kinds, Mapping) else {kind: DEFAULT_MIX.get(kind, 1.0) for kind in kinds}
    if documents < 1 or questions < 1:
        raise ConfigError(
            "Generated data needs at least one document and one question a document; ask for more."
        )
    if split not in SPLITS:
        raise ConfigError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")
    if not 0.0 <= difficulty <= 1.0:
        raise ConfigError(f"The difficulty {difficulty} is outside 0 to 1; give a number between.")
    unknown = sorted(set(mix) - set(get_args(FormKind)))
    if unknown or sum(mix.values()) <= 0 or min(mix.values()) < 0:
        names = ", ".join(get_args(FormKind))
        raise ConfigError(
            f"The kinds of documents must be some of {names}, with positive weights; got {dict(mix)}."
        )
    return mix


def _claim(out: Path) -> None:
    """Make the output folder; refuse one that holds files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise DataError(
                f"{out} already holds files; give an empty or new folder for generated documents."
            )
        (out / "documents").mkdir()
    except OSError as error:
        raise DataError(f"{out} cannot be written ({error.strerror}); choose another folder.") from error


class Folder:
    """Writes documents as they come, and samples.json and truth.json at the end."""

    def __init__(self, out: Path, twins: bool) -> None:
        self.out = out
        self.twins = twins
        self.rows: dict[str, list[dict[str, str]]] = {"": [], "changed": [], "control": []}
        self.documents: list[DocumentTruth] = []
        self.questions: list[QuestionTruth] = []
        for kind in ("changed", "control") if twins else ():
            (out / "twins" / kind / "documents").mkdir(parents=True)

    def add(self, document: Document, name: str) -> None:
        """Write one document, its questions and their twins."""
        doc_id = f"{name}-{document.author.kind}.pdf"
        data = document.pdf()
        (self.out / "documents" / doc_id).write_bytes(data)
        pages = tuple(
            PageTruth(i, sheet.label, sheet.scanned) for i, sheet in enumerate(document.sheets, start=1)
        )
        self.documents.append(
            DocumentTruth(doc_id, _sha(data), document.author.kind, document.author.theme.name, pages)
        )
        for number, chosen in enumerate(document.questions):
            self._add_question(document, doc_id, chosen, f"{name}-q{number:02d}")

    def _add_question(self, document: Document, doc_id: str, chosen: Chosen, name: str) -> None:
        pair: list[TwinTruth | None] = [None, None]
        if self.twins:
            twins = twins_of(document, chosen, f"twin/{name}")
            if twins is None:
                return  # kept out, so that row i is the same question in all three folders
            pair = [self._add_twin(document, chosen, twin, name) for twin in twins]
        row = _row(doc_id, document, chosen, chosen.answer.text, chosen.answer.answer_format, chosen.pages)
        self.rows[""].append(row)
        self.questions.append(
            QuestionTruth(
                index=len(self.questions),
                doc_id=doc_id,
                template=chosen.draft.template,
                answer=chosen.answer.text,
                items=chosen.answer.items,
                answer_format=chosen.answer.answer_format,
                evidence_pages=chosen.pages,
                sources=chosen.draft.sources,
                program=chosen.draft.program,
                slots=_slots(chosen, document.author.values, document.sheets),
                changed=pair[0],
                control=pair[1],
            )
        )

    def _add_twin(self, document: Document, chosen: Chosen, twin: Twin, name: str) -> TwinTruth:
        doc_id = f"{name}-{document.author.kind}.pdf"
        data = document.pdf(twin.sheets)
        (self.out / "twins" / twin.kind / "documents" / doc_id).write_bytes(data)
        row = _row(doc_id, document, chosen, twin.answer.text, twin.answer.answer_format, twin.pages)
        row["evidence_sources"] = repr(list(twin.sources))
        self.rows[twin.kind].append(row)
        return TwinTruth(
            doc_id=doc_id,
            sha256=_sha(data),
            slot_id=twin.after.slot_id,
            before=twin.before.shown,
            after=twin.after.shown,
            places=_places(twin.sheets, [twin.after.slot_id]).get(twin.after.slot_id, ()),
            answer=twin.answer.text,
            answer_format=twin.answer.answer_format,
        )

    def close(self, split: Split, seed: int, difficulty: float) -> Manifest:
        """Write the questions and the truth; returns the summary."""
        versions = {name: version(name) for name in ("looseleaf", "reportlab", "pypdfium2", "pillow")}
        truth = Truth(
            TRUTH_FORMAT, split, seed, difficulty, versions, tuple(self.documents), tuple(self.questions)
        )
        for kind in ("changed", "control") if self.twins else ():
            _write_json(self.out / "twins" / kind / "samples.json", self.rows[kind])
        _write_json(self.out / "truth.json", truth)
        _write_json(self.out / "samples.json", self.rows[""])
        return self._manifest(split, seed, difficulty)

    def _manifest(self, split: Split, seed: int, difficulty: float) -> Manifest:
        pages = [page for document in self.documents for page in document.pages]
        return Manifest(
            folder=self.out,
            split=split,
            seed=seed,
            difficulty=difficulty,
            documents=len(self.documents),
            pages=len(pages),
            scanned_pages=sum(page.scanned for page in pages),
            questions=len(self.questions),
            twins=len(self.rows["changed"]) + len(self.rows["control"]),
            cross_page=sum(len(question.evidence_pages) > 1 for question in self.questions),
            formats=_tally(question.answer_format for question in self.questions),
            sources=_tally(source for question in self.questions for source in question.sources),
            kinds=_tally(document.kind for document in self.documents),
        )


def _tally(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write_json(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


def _row(
    doc_id: str, document: Document, chosen: Chosen, answer: str, answer_format: str, pages: tuple[int, ...]
) -> dict[str, str]:
    """A row of samples.json with the seven keys of MMLongBench-Doc, every value a string."""
    return {
        "doc_id": doc_id,
        "doc_type": document.author.theme.doc_type,
        "question": chosen.draft.text,
        "answer": answer,
        "evidence_pages": repr(list(pages)),
        "evidence_sources": repr(list(chosen.draft.sources)),
        "answer_format": answer_format,
    }


def _places(sheets: Sequence[Sheet], wanted: Iterable[str]) -> dict[str, tuple[Located, ...]]:
    """Where the wanted slots are to be seen."""
    names = set(wanted)
    found: dict[str, list[Located]] = {}
    for number, sheet in enumerate(sheets, start=1):
        for mark in sheet.marks:
            if mark.slot_id not in names:
                continue
            lying = rotated(mark, sheet)
            box = tuple(round(side, 1) for side in lying.box)
            located = Located(number, (box[0], box[1], box[2], box[3]), lying.text)
            found.setdefault(mark.slot_id, []).append(located)
    return {slot: tuple(places) for slot, places in found.items()}


def _slots(chosen: Chosen, values: Values, sheets: Sequence[Sheet]) -> dict[str, SlotTruth]:
    """Every slot that the answer depends on, or that is evidence."""
    names = dict.fromkeys((*chosen.draft.evidence, *chosen.draft.program.slots))
    places = _places(sheets, names)
    evidence = set(chosen.draft.evidence)
    return {
        name: SlotTruth(values[name], values[name].shown, name in evidence, places.get(name, ()))
        for name in names
    }
