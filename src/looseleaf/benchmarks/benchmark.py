"""What one benchmark declares, and the loading that all of them share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from looseleaf.benchmarks.folder import DocumentFolder
from looseleaf.benchmarks.overlay import apply_overlay
from looseleaf.benchmarks.question_set import AppliedOverlay, QuestionSet
from looseleaf.benchmarks.rows import Annotation, read_annotation, readable
from looseleaf.errors import ConfigError, DataError
from looseleaf.question import Question

__all__ = ["COMMON_OPTIONS", "Benchmark", "Conversion", "Request", "assemble", "digest"]

COMMON_OPTIONS: Mapping[str, str] = {
    "annotations": "name of the annotation file in the data folder, where it has several",
    "overlay": "path of a corrections file (JSON or TOML); off unless given",
    "require_documents": "False loads the rows even when no document is present",
}
"""Options of every benchmark, with what they do."""


@dataclass(frozen=True)
class Request:
    """What a converter may look at.

    Attributes:
        data: the data folder.
        annotation: the annotation file with corrections applied to its rows.
        options: options of this benchmark that the caller gave.
    """

    data: Path
    annotation: Annotation
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A source's rows as questions.

    Attributes:
        questions: those of the rows kept, in order; the ids may skip rows but not repeat.
        places: where each question stands in the annotation file, for messages.
        version: which release this is.
        split: name of the split.
        notes: warnings, one sentence each.
        oracle: what this input tells the agent beyond the document.
        used: further files that decided the content (name to sha256), e.g. an id list.
    """

    questions: tuple[Question, ...]
    places: tuple[str, ...]
    version: str
    split: str
    notes: tuple[str, ...] = ()
    oracle: Mapping[str, Any] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: canonical name.
        title: name in running text.
        origin: repositories and paper that the rules come from.
        patterns: file name patterns of the annotations (`|` between alternatives), matched in lower case
            without `_` and `-`; the first that matches any file wins, and of several files the largest.
        convert: rows to questions.
        options: options beyond `COMMON_OPTIONS`, with what they do.
        folders: where the documents are, below the data folder.
        first_index: number of the first page in the names of page images; `None` = 0, or 1 if no image is 0.
    """

    name: str
    title: str
    origin: str
    patterns: tuple[str, ...]
    convert: Callable[[Request], Conversion]
    options: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ("documents", "pages")
    first_index: Literal[0, 1] | None = None

    def load(self, data: Path, **options: Any) -> QuestionSet:
        """Read the annotations in `data` and find the documents; no document is opened.

        Raises:
            ConfigError: an option that this benchmark does not have.
            DataError: no annotation file, a broken row, or no document present.
        """
        data = Path(data)
        self._check_options(options)
        path, notes = self._annotation_file(data, options.get("annotations"))
        annotation, applied = apply_overlay(read_annotation(path), options.get("overlay"), self.name)
        own = {key: value for key, value in options.items() if key in self.options}
        conversion = self.convert(Request(data, annotation, own))
        loaded = assemble(
            name=self.name,
            data=data,
            annotation=annotation,
            conversion=conversion,
            folders=tuple(data / name for name in self.folders),
            options=options,
            overlay=applied,
            notes=notes,
            first_index=self.first_index,
        )
        if options.get("require_documents", True) and not loaded.documents:
            places = " or ".join(readable(str(data / name)) for name in self.folders)
            raise DataError(
                f"no document of {self.title} is in {places}; put the documents there, named as in the annotations."
            )
        return loaded

    def _check_options(self, options: Mapping[str, Any]) -> None:
        known = {**COMMON_OPTIONS, **self.options}
        if unknown := sorted(set(options) - set(known)):
            raise ConfigError(f"{self.name} has no option {unknown[0]!r}; it has {', '.join(sorted(known))}.")

    def _annotation_file(self, data: Path, chosen: str | None) -> tuple[Path, tuple[str, ...]]:
        if not data.is_dir():
            raise DataError(
                f"{readable(str(data))} is not a folder; give the folder with the benchmark's files."
            )
        if chosen is not None:
            return _named_file(data, chosen), ()
        files = sorted(path for path in data.iterdir() if path.is_file())
        for pattern in self.patterns:
            if fitting := [path for path in files if _fits(path.name, pattern)]:
                return _largest(fitting, data)
        expected = " or ".join(self.patterns).replace("|", " or ")
        raise DataError(
            f"no annotation file of {self.title} is in {readable(str(data))}; expected {expected}."
        )


def assemble(
    *,
    name: str,
    data: Path,
    annotation: Annotation,
    conversion: Conversion,
    folders: Iterable[Path],
    options: Mapping[str, Any],
    overlay: AppliedOverlay | None = None,
    notes: tuple[str, ...] = (),
    first_index: Literal[0, 1] | None = None,
) -> QuestionSet:
    """Match the questions with the documents below `folders`.

    Args:
        name: canonical name of the set.
        data: the data folder, which no document may lie outside of.
        annotation: the file that was read.
        conversion: its rows as questions.
        folders: where documents are looked for.
        options: what the caller gave, for the record.
        overlay: corrections that were applied, if any.
        notes: sentences that come before those of the conversion.
        first_index: number of the first page in the names of page images; `None` = 0, or 1 if no image is 0.

    Raises:
        DataError: there is no row, or a document's name cannot be used; the message names the row.
    """
    if not conversion.questions:
        raise DataError(f"{readable(annotation.path.name)} holds no question; check the file.")
    folder = DocumentFolder(data, folders)
    found: dict[str, Path | None] = {}
    for question, place in zip(conversion.questions, conversion.places, strict=True):
        if question.doc_id not in found:
            found[question.doc_id] = folder.find(question.doc_id, place)
    documents = {doc_id: path for doc_id, path in found.items() if path is not None}
    used = set(documents.values())
    annotations = {readable(annotation.path.name): annotation.sha256, **conversion.used}
    return QuestionSet(
        name=name,
        split=conversion.split,
        version=conversion.version,
        questions=conversion.questions,
        documents=documents,
        missing=tuple(doc_id for doc_id, path in found.items() if path is None),
        data=data,
        annotations=annotations,
        sha256=digest(annotations),
        extra={name: path for name, path in folder.names().items() if path not in used},
        notes=(*notes, *conversion.notes),
        options={key: _plain_option(value) for key, value in options.items()},
        oracle=conversion.oracle,
        first_index=first_index,
        overlay=overlay,
    )


def digest(annotations: Mapping[str, str]) -> str:
    """The digest of the only file, or the sha256 over the sorted `name sha256` lines of several."""
    if len(annotations) == 1:
        return next(iter(annotations.values()))
    lines = "".join(f"{name} {sha256}\n" for name, sha256 in sorted(annotations.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def _fits(name: str, pattern: str) -> bool:
    plain = name.lower().replace("_", "").replace("-", "")
    return any(fnmatchcase(plain, alternative) for alternative in pattern.split("|"))


def _plain_option(value: Any) -> Any:
    return readable(str(value)) if isinstance(value, Path) else value


def _named_file(data: Path, chosen: str) -> Path:
    path = data / chosen
    if Path(chosen).name != chosen or not path.is_file():
        raise DataError(
            f"{readable(str(data))} has no annotation file {chosen!a}; give the name of a file in it."
        )
    return path


def _largest(fitting: list[Path], data: Path) -> tuple[Path, tuple[str, ...]]:
    # Sample files lie beside the full ones in the sources' own repositories; the full one is the larger.
    chosen = max(fitting, key=lambda path: (path.stat().st_size, path.name))
    others = ", ".join(readable(path.name) for path in fitting if path != chosen)
    if not others:
        return chosen, ()
    note = f"{readable(chosen.name)} was read as the largest annotation file; {others} was not."
    return chosen, (note,)
