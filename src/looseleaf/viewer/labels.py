"""Labelling files of human audits: rows without the judge's verdict, and saving what a person says of one."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from looseleaf.errors import DataError
from looseleaf.lab.human_audit_file import LABELS
from looseleaf.runstore import write_atomically

__all__ = ["ANSWERS", "LabelFiles"]

ANSWERS = ("yes", "no", "")
"""What a label may be; empty is not labelled yet."""


class LabelFiles:
    """The labelling files of one run (`RUN/audit/*.jsonl`, drawn by `looseleaf audit sample`)."""

    def __init__(self, run: Path) -> None:
        self._folder = run / "audit"
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Names of the samples that can be labelled here."""
        return sorted(self._paths())

    def _paths(self) -> dict[str, Path]:
        return {path.stem: path for path in self._folder.glob("*.jsonl") if path.is_file()}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a sample, in the file's order.

        Raises:
            KeyError: there is no such sample.
            DataError: the file cannot be read.
        """
        path = self._paths()[name]
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            rows = [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError) as problem:
            raise DataError(f"{path} cannot be read ({problem}); draw the sample again.") from problem
        if not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{path} holds a line that is no object; draw the sample again.")
        return rows

    def save(self, name: str, trajectory_id: str, labels: dict[str, str]) -> dict[str, Any]:
        """Write one row's labels into the file, all other rows unchanged; returns the row.

        Raises:
            KeyError: there is no such sample or row.
            DataError: a label is none of `ANSWERS`, or the file cannot be read.
        """
        if set(labels) - set(LABELS) or not set(labels.values()) <= set(ANSWERS):
            raise DataError(f"A label is one of {', '.join(LABELS)} and says yes, no or nothing.")
        with self._lock:
            path, rows = self._paths()[name], self.rows(name)
            row = next((row for row in rows if row.get("trajectory_id") == trajectory_id), None)
            if row is None:
                raise KeyError(trajectory_id)
            row.update(labels)
            content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows)
            write_atomically(path, content.encode())
            return row
