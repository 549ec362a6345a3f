"""Files that are nearly right: whatever a field holds, a row is read or refused in words, and nothing else escapes."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import foreign_files as ff
from looseleaf.adapters import importer_named
from looseleaf.adapters.imports.source import Rejected, SourceRow
from looseleaf.errors import DataError

JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    2**70,
    1.5,
    float("nan"),
    "",
    "x",
    "7",
    "-3",
    "page 9",
    "\ud800",
    "../../etc",
    [],
    [None],
    [[1]],
    ["a", 2],
    {},
    {"a": {}},
    {"type": "text"},
    {"role": "assistant", "content": "<search>q"},
]
SAMPLES: dict[str, list[Callable[[], Any]]] = {
    "chat": [ff.chat_row, ff.tagged_row],
    "madqa": [ff.madqa_row],
    "mdocagent": [ff.mdocagent_row],
    "simpledoc": [ff.simpledoc_chat, ff.simpledoc_pipeline, ff.simpledoc_page_qa],
    "vagen": [ff.vagen_generation],
    "verifiers": [ff.verifiers_result, ff.verifiers_episode],
}
TRIALS = 300


def mutated(value: Any, dice: random.Random) -> Any:
    """The value with one to three places replaced, removed or doubled."""
    made = copy.deepcopy(value)
    for _ in range(dice.randint(1, 3)):
        container, key = dice.choice(list(places(made)))
        change = dice.random()
        if change < 0.7:
            container[key] = copy.deepcopy(dice.choice(JUNK))
        elif change < 0.85:
            del container[key]
        elif isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        if not list(places(made)):
            return made
    return made


def places(value: Any) -> Any:
    keys: Any = (
        value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from places(value[key])


def rows_of(name: str, path: Path) -> list[SourceRow | Rejected]:
    """The rows, or none where the file as a whole is refused in a sentence."""
    try:
        return list(importer_named(name).read(path, {}))
    except DataError as problem:
        said = str(problem)
    assert said.endswith(".")
    return []


def check(found: list[SourceRow | Rejected]) -> int:
    """Rows can be stored and rejections can be printed; returns how many rows there are."""
    for row in found:
        if isinstance(row, Rejected):
            assert row.why
            assert "\n" not in row.why
        else:
            msgspec.json.encode(row)
            assert all(isinstance(page, int) for step in row.steps for page in step.observation.shown)
    return sum(isinstance(row, SourceRow) for row in found)


@pytest.mark.parametrize("name", SAMPLES)
def test_mutated_rows_are_read_or_refused(tmp_path: Path, name: str) -> None:
    dice = random.Random(name)
    records = [mutated(dice.choice(SAMPLES[name])(), dice) for _ in range(TRIALS)]
    found = rows_of(name, ff.write_lines(tmp_path / "rows.jsonl", records))
    assert len(found) >= TRIALS
    read = check(found)
    assert 0 < read < len(found), "some mutations must matter and some must not"


def test_mutated_alden_files_are_read_or_refused(tmp_path: Path) -> None:
    dice = random.Random(7)
    folder = ff.write_alden(tmp_path / "out")
    files = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    read = 0
    for _ in range(150):
        name = dice.choice(sorted(files))
        for each, content in files.items():
            ff.write_json(folder / each, mutated(content, dice) if each == name else content)
        read += check(rows_of("alden", folder))
    assert 0 < read < 300


def test_mutated_vagen_folders_are_read_or_refused(tmp_path: Path) -> None:
    dice = random.Random(8)
    root = ff.write_vagen(tmp_path / "dump")
    files = {path: json.loads(path.read_text()) for path in root.rglob("*.json")}
    read = 0
    for _ in range(100):
        path = dice.choice(sorted(files))
        ff.write_json(path, mutated(files[path], dice))
        read += check(rows_of("vagen", root))
        ff.write_json(path, files[path])
    assert 100 < read < 200
