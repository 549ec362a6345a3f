"""The scripted world of `parity_world` as files: a question file, its document, and the script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import parity_world
from looseleaf import Action
from looseleaf.runner.config import DataConfig, RunConfig


class Files(NamedTuple):
    """A question file and its documents."""

    questions: Path
    docs: Path

    @property
    def data(self) -> DataConfig:
        return DataConfig(benchmark=str(self.questions), path=str(self.docs))


def parity_files(folder: Path) -> Files:
    """The question and the document of `parity_world`."""
    docs = folder / "docs"
    docs.mkdir()
    parity_world.make_world(docs)
    row = {
        "doc_id": "railway.pdf",
        "question": parity_world.QUESTION,
        "answer": "12",
        "answer_format": "Int",
        "evidence_pages": [3],
        "evidence_sources": ["Table", "Chart"],
    }
    questions = folder / "mini.jsonl"
    questions.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return Files(questions, docs)


def script_file(folder: Path, script: Sequence[Action]) -> Path:
    """The script as `--policy scripted:FILE` reads it."""
    path = folder / "script.jsonl"
    lines = (json.dumps({"name": action.name, "arguments": action.arguments}) for action in script)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run_config(files: Files, **changes: Any) -> RunConfig:
    """A run over the files by our own runner."""
    return RunConfig(data=files.data, **changes)
