"""Files made to exhaust or mislead an import: logs that unpack without end, many rows, words with control codes."""

from __future__ import annotations

import random
import struct
import time
import zipfile
from pathlib import Path

import pytest

import foreign_files as ff
from conftest import Cli
from looseleaf.adapters import importer_named
from looseleaf.adapters.imports import inspect_bounds
from looseleaf.adapters.imports.inspect_bounds import check_log
from looseleaf.adapters.imports.write import ImportRequest, import_run
from looseleaf.errors import DataError
from looseleaf.runstore import Run

LIMIT = 100_000


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_bounds, "MAX_LINE", LIMIT)


def archive(path: Path, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", b"{}")
        made.writestr("samples/a_epoch_1.json", content)
    return path


def test_an_inspect_log_that_nests_without_end_is_refused_before_it_is_given_away(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(DataError, match="nested too deeply"):
        importer_named("inspect").read(path, {})


def test_a_member_that_unpacks_to_too_much_is_refused(tmp_path: Path, small_limit: None) -> None:
    check_log(archive(tmp_path / "small.eval", b" " * (LIMIT - 1)))
    with pytest.raises(DataError, match=r"samples/a_epoch_1\.json.* unpacks to more"):
        check_log(archive(tmp_path / "bomb.eval", b" " * 50_000_000))


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path, small_limit: None) -> None:
    path = archive(tmp_path / "liar.eval", b" " * 1_000_000)
    path.write_bytes(path.read_bytes().replace(struct.pack("<L", 1_000_000), struct.pack("<L", 5)))
    with pytest.raises(DataError, match="unpacks to more"):
        check_log(path)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "overlap.eval", random.Random(1).randbytes(50_000))
    content = path.read_bytes()
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    directory = content[start:end] * 20
    head = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 40, 40, len(directory), start, 0)
    path.write_bytes(content[:start] + directory + head)
    with pytest.raises(DataError, match="overlap"):
        check_log(path)


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18), b"PK\x03\x04junk", b"\xff" * 99])
def test_broken_logs_are_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.eval"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"\.$"):
        import_run(ImportRequest(importer_named("inspect"), path), tmp_path / "run")


def test_many_rows_of_one_question_take_linear_time(tmp_path: Path) -> None:
    rows = 6_000  # 7.6 s of trials of taken numbers when they were tried from 0 each time
    path = ff.write_lines(tmp_path / "many.jsonl", [ff.chat_row(messages=SHORT)] * rows)
    before = time.process_time()
    import_run(ImportRequest(importer_named("chat"), path), tmp_path / "run")
    assert time.process_time() - before < 5
    names = [made.trajectory_id for made in Run(tmp_path / "run").read_all_trajectories()]
    assert names == [f"chat:0#{number}" for number in range(rows)]


SHORT = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "17"}]


def test_numbers_that_rows_give_themselves_are_kept_and_never_given_twice(tmp_path: Path) -> None:
    given = [None, 1, None, 1, 0, None, 7, None]
    rows = [ff.chat_row(messages=SHORT, sample_index=number) for number in given]
    path = ff.write_lines(tmp_path / "rows.jsonl", rows)
    import_run(ImportRequest(importer_named("chat"), path), tmp_path / "run")
    names = [made.sample_index for made in Run(tmp_path / "run").read_all_trajectories()]
    assert names == [0, 1, 2, 3, 4, 5, 7, 6]


def test_names_of_files_and_rows_rewrite_no_terminal(tmp_path: Path, cli: Cli) -> None:
    path = ff.write_lines(tmp_path / "a\x1b[31m.jsonl", [ff.chat_row(), {"messages": "\x1b[2J"}, {"a": 1}])
    said = cli("import", "chat", path, "--out", tmp_path / "run")
    assert said.code == 0
    assert "2 rows could not be used" in said.out
    assert "\x1b" not in said.out + said.err
    refused = cli("import", "chat", tmp_path / "none\x1b[31m.jsonl", "--out", tmp_path / "other")
    assert refused.code == 2
    assert "\x1b" not in refused.err
