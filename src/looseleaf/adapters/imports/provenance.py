"""What an imported RUN says of where it came from: counts, configuration, manifest, and one line a trajectory."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from looseleaf import __version__
from looseleaf.adapters.imports.source import Rejected, SourceFormat, SourceRow
from looseleaf.benchmarks.rows import readable
from looseleaf.runstore import Run

__all__ = ["ImportOutcome", "ImportRow", "Tally", "manifest_of", "tables_of"]

NAMED = 20
"""Rejected rows that the manifest names; all are counted."""


class ImportRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where one imported trajectory came from; a line of `imports.jsonl`.

    Attributes:
        trajectory_id: the trajectory.
        where: file and position.
        raw_pages: the source's page values, unchanged.
        impossible_pages: converted pages that the document does not have; they are left out of the steps.
        notes: what a reader of the numbers should know of this row.
    """

    trajectory_id: str
    where: str
    raw_pages: Any = None
    impossible_pages: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class ImportOutcome(NamedTuple):
    """What an import did.

    Attributes:
        run: the run.
        rows: rows of the source.
        imported: rows that became a trajectory.
        not_run: rows that hold a question and no answer yet.
        rejected: rows that could not be used: the first ones, with why.
        n_rejected: how many there are.
        notices: what a reader of the numbers must know.
    """

    run: Run
    rows: int
    imported: int
    not_run: int
    rejected: list[Rejected]
    n_rejected: int
    notices: list[str]


class Tally:
    """Counts of one import."""

    def __init__(self) -> None:
        self.rows = self.taken = self.imported = self.n_rejected = 0
        self.rejected: list[Rejected] = []
        self.undefined: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.impossible_rows = self.impossible_findings = self.beyond = 0
        self.unopened: dict[str, str] = {}

    def reject(self, row: Rejected) -> None:
        """Count a row that cannot be used, and name the first ones."""
        self.rows += 1
        self.n_rejected += 1
        if len(self.rejected) < NAMED:
            self.rejected.append(row)

    def take(self, row: SourceRow) -> None:
        """Count a row that belongs to a question."""
        self.rows += 1
        self.taken += 1
        self.models[row.model] += 1

    def finished(self, row: SourceRow, impossible: tuple[int, ...], findings: int) -> None:
        """Count a trajectory."""
        self.imported += 1
        self.undefined.update(set(row.undefined))
        self.notes.update(set(row.notes))
        self.impossible_rows += bool(impossible)
        self.impossible_findings += findings

    @property
    def no_memory(self) -> bool:
        """Whether no trajectory of the source records a memory."""
        return self.undefined["memory"] == self.imported

    def notices(self) -> list[str]:
        """One sentence each."""
        lines = [
            f"{part}: not recorded by the source for {count} of {self.imported} trajectories; "
            "metrics of it are undefined there, not 0."
            for part, count in sorted(self.undefined.items())
        ]
        lines += [
            f"{note} ({count} of {self.imported} trajectories)" for note, count in sorted(self.notes.items())
        ]
        if self.impossible_rows:
            lines.append(
                f"{self.impossible_rows} trajectories name pages that their document does not have; these are left out "
                "(imports.jsonl holds them). Check the page base."
            )
        if self.beyond:
            lines.append(
                f"{self.beyond} trajectories are further ones of questions that have more than the others; "
                "they are kept and not counted."
            )
        if self.impossible_findings:
            lines.append(
                f"{self.impossible_findings} findings cite a page that their document does not have."
            )
        lines += [
            f"The pages of {name} are not checked: {why}"
            for name, why in sorted(self.unopened.items())[:NAMED]
        ]
        return lines

    def outcome(self, run: Run) -> ImportOutcome:
        """The result for the caller."""
        return ImportOutcome(
            run=run,
            rows=self.rows,
            imported=self.imported,
            not_run=self.taken - self.imported,
            rejected=self.rejected,
            n_rejected=self.n_rejected,
            notices=self.notices(),
        )


def tables_of(
    source: SourceFormat,
    path: Path,
    options: Mapping[str, str],
    data: dict[str, Any],
    samples: int,
    tally: Tally,
) -> dict[str, Any]:
    """The tables of `config.toml`: what is known of how the run was made, and nothing that is not."""
    model = next(iter(tally.models)) if len(tally.models) == 1 else ""
    return {
        "import": {
            "format": source.name,
            "upstream": source.upstream,
            "pages": source.pages,
            "source": readable(str(path)),
            "options": dict(options),
        },
        "data": data,
        "protocol": {
            "name": f"imported ({source.name})",
            "memory": "none" if tally.no_memory else "optional",
        },
        "roles": {"policy": {"backend": "imported", "argument": model or source.name}},
        "run": {"samples": samples},
    }


def manifest_of(
    source: SourceFormat, run_id: str, sha256: str, data: dict[str, Any], questions: int, tally: Tally
) -> dict[str, Any]:
    """The manifest: counts, hashes and versions."""
    return {
        "run_id": run_id,
        "versions": {"looseleaf": __version__, "python": platform.python_version()},
        "data": data,
        "counts": {"n_set": questions, "n_selected": questions, "n_without_document": 0},
        "import": {
            "format": source.name,
            "upstream": source.upstream,
            "sha256": sha256,
            "rows": tally.rows,
            "imported": tally.imported,
            "not_run": tally.taken - tally.imported,
            "rejected": tally.n_rejected,
            "first_rejected": [{"where": row.where, "why": row.why} for row in tally.rejected],
            "undefined": dict(sorted(tally.undefined.items())),
            "notices": tally.notices(),
        },
    }
