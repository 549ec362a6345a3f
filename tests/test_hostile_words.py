"""Names and settings from outside that end a server or a command: bytes that are no text, and values of wrong types."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conftest import OwnSet
from looseleaf.adapters.desk import PagePart, Said
from looseleaf.adapters.shelf import Shelf
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError
from looseleaf.report.plain import terminal_lines
from looseleaf.training.config_file import load_config, setting


def test_files_whose_names_are_no_text_are_on_the_shelf_under_one_that_is(
    own_set: OwnSet, tmp_path: Path, store: PageStore
) -> None:
    content = next(own_set.docs.glob("*.pdf")).read_bytes()
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in (b"\xff\xfe.pdf", b"two\nlines\x1b[31m.pdf", "Größe.pdf".encode()):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(content)
    shelf = Shelf(folder, store)
    assert set(shelf.names) == {r"\xff\xfe.pdf", r"two\nlines\x1b[31m.pdf", "Größe.pdf"}
    for shown in shelf.names:
        shown.encode()
        assert shelf.open(shown).page_count > 0


def test_half_characters_of_documents_do_not_end_the_server() -> None:
    server = pytest.importorskip("looseleaf.adapters.mcp_server", exc_type=ImportError)
    made = server._result(Said("a\ud800", (PagePart("b\udcff", None),)))
    assert [part.text for part in made.content] == [r"a\ud800", r"b\udcff"]
    made.model_dump_json()


def test_errors_keep_their_lines_and_lose_their_control_characters() -> None:
    assert terminal_lines("a\x1b[31m\x07b\n\tc\x9b1mé\r") == "a [31m b\n\tc 1mé "


WHOLE = '[train]\nstage = "sft"\nmodel = "m"\noutput = "o"\n'


@pytest.mark.parametrize(
    "text",
    [
        "extends = 5\n" + WHOLE,
        "extends = [1]\n" + WHOLE,
        "extends = {a = 1}\n" + WHOLE,
        f"extends = {['a.toml'] * 17}\n" + WHOLE,
        'extends = "a\\u0000b"\n' + WHOLE,
        'extends = "config.toml"\n' + WHOLE,
        WHOLE + '[protocol]\nname = "awm"\nmax_turns = "x"\n',
        "a = " + "[" * 3000 + "]" * 3000,
        "train = 5",
    ],
)
def test_configurations_of_wrong_types_are_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"\.$"):
        load_config(path)


def test_a_configuration_cannot_read_millions_of_files(tmp_path: Path) -> None:
    for depth in range(15):
        below = f"extends = {[f'{depth + 1}.toml'] * 16}\n" if depth < 14 else WHOLE
        (tmp_path / f"{depth}.toml").write_text(below)
    with pytest.raises(ConfigError, match="files"):
        load_config(tmp_path / "0.toml")


@pytest.mark.parametrize("text", ["train.seed.x=1", "train=1", "a.=1"])
def test_single_settings_that_fit_no_table_are_one_sentence(text: str) -> None:
    tables: dict[str, Any] = {"train": {"seed": 5}}
    with pytest.raises(ConfigError, match=r"\.$"):
        setting(tables, text)
    assert tables == {"train": {"seed": 5}}
