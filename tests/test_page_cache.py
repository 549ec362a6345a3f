"""The cache folder: its limit, the verb, what is removed first, and several processes in it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hostile_files as make
from conftest import Cli
from looseleaf.document import Document, PageStore
from looseleaf.document.cache import Cache
from looseleaf.document.cache_folder import DEFAULT_LIMIT, CacheFolder
from looseleaf.errors import ConfigError


def filled(root: Path, count: int, kind: str = "images", size: int = 1000) -> list[Path]:
    """Files of a kind, the first used longest ago."""
    cache = Cache(root)
    paths = []
    for number in range(count):
        key = f"{kind}/{number % 3}/{number}.msgpack"
        cache.put(key, b"x" * (size - 4))
        paths.append(root / key)
        os.utime(paths[-1], (time.time() - 10_000 + number,) * 2)
    return paths


def test_what_was_not_used_longest_goes_first(tmp_path: Path) -> None:
    paths = filled(tmp_path, 20)
    folder = CacheFolder(tmp_path)
    folder.set_limit(10_000)
    assert Cache(tmp_path).get("images/0/0.msgpack") is not None  # the oldest is used
    assert folder.trim() == 11_000
    assert [path.exists() for path in paths] == [True, *[False] * 11, *[True] * 8]
    assert folder.usage()["images"] == (9, 9_000)
    assert folder.trim() == 0


def test_replies_of_models_are_not_trimmed(tmp_path: Path) -> None:
    replies = filled(tmp_path, 5, "replies")
    filled(tmp_path, 5)
    folder = CacheFolder(tmp_path)
    folder.set_limit(0)
    assert folder.trim() == 5_000
    assert all(path.exists() for path in replies)


def test_limit_is_kept_in_the_folder(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "new")
    assert folder.limit == DEFAULT_LIMIT
    folder.set_limit(5)
    assert CacheFolder(tmp_path / "new").limit == 5
    folder.set_limit(None)
    assert CacheFolder(tmp_path / "new").limit is None
    (tmp_path / "new" / "limit").write_bytes(b"\xff nonsense")
    assert folder.limit == DEFAULT_LIMIT
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError, match="The limit cannot be kept in"):
        CacheFolder(tmp_path / "file" / "cache").set_limit(5)


def test_writer_keeps_the_folder_within_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("looseleaf.document.cache.CHECK_BYTES", 20_000)
    CacheFolder(tmp_path).set_limit(50_000)
    cache = Cache(tmp_path)
    for number in range(200):
        cache.put(f"images/{number}.msgpack", bytes(1000))
        assert CacheFolder(tmp_path).usage()["images"].bytes <= 50_000 + 21_000
    assert cache.get("images/199.msgpack") == bytes(1000)


def test_first_writer_of_a_day_looks_at_the_size(tmp_path: Path) -> None:
    filled(tmp_path, 20)
    CacheFolder(tmp_path).set_limit(10_000)
    (tmp_path / "checked").touch()
    Cache(tmp_path).put("images/new", b"")
    assert CacheFolder(tmp_path).usage()["images"].files == 21
    os.utime(tmp_path / "checked", (0, 0))
    Cache(tmp_path).put("images/newer", b"")
    assert CacheFolder(tmp_path).usage()["images"].files < 12


def test_half_written_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "images" / ".part-old", tmp_path / "images" / ".part-new"
    filled(tmp_path, 1)
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 7_200,) * 2)
    assert CacheFolder(tmp_path).trim() == 4
    assert (old.exists(), new.exists()) == (False, True)


def test_verb_shows_limits_and_clears(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    empty = cli("cache")
    assert (empty.code, empty.err) == (0, "")
    assert "pages: at most 20.0 GB" in empty.out
    filled(tmp_path / "cache", 12)
    filled(tmp_path / "cache", 3, "replies")
    other = tmp_path / "cache" / "mine.txt"
    other.write_text("not of the cache")
    assert "rendered pages                  12 files      12 kB" in cli("cache").out
    limited = cli("cache", "--limit", "10KB").out
    assert "at most 10 kB" in limited
    assert "3 kB removed." in limited
    assert "no limit" in cli("cache", "--limit", "none").out
    cleared = cli("cache", "--clear").out
    assert "rendered pages                   0 files" in cleared
    assert "replies of models                3 files" in cleared
    assert "replies of models                0 files" in cli("cache", "--clear-replies").out
    assert other.read_text() == "not of the cache"
    assert not (tmp_path / "cache" / "images").exists()
    refused = cli("cache", "--limit", "lots")
    assert (refused.code, refused.err) == (
        2,
        "looseleaf: --limit lots is no size; write it like 500MB or 5GB, or none.\n",
    )


def test_cleared_cache_is_filled_again(tmp_path: Path, store: PageStore) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(make.text_pdf("a page"))
    document = Document.open(path, store=store)
    first = document.image(1, dpi=30)
    assert store.root
    CacheFolder(store.root).clear()
    assert Document.open(path, store=store).image(1, dpi=30) == first
    assert (store.documents_opened, store.pages_rendered) == (2, 2)


# --- several processes ----------------------------------------------------------------------------------------------

RENDER_ALL = """
import sys
from looseleaf.document import Document, default_store
document = Document.open(sys.argv[1])
print("open", flush=True)
images = [document.image(page, dpi=int(sys.argv[2])) for page in range(1, document.page_count + 1)]
store = default_store()
print(store.documents_opened, store.pages_rendered, hash((document.texts(), tuple(i.jpeg for i in images))))
"""


def started(path: Path, cache: Path, dpi: int = 40) -> subprocess.Popen[str]:
    environment = os.environ | {"LOOSELEAF_CACHE": str(cache), "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", RENDER_ALL, str(path), str(dpi)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def ends(processes: list[subprocess.Popen[str]]) -> list[list[str]]:
    lines = [process.communicate(timeout=120)[0].splitlines()[-1].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return lines


def whole(cache: Path) -> bool:
    """Whether every file of the cache is as it was written."""
    opened = Cache(cache)
    keys = [str(file.relative_to(cache)) for file in cache.rglob("*.msgpack")]
    return bool(keys) and all(opened.get(key) is not None for key in keys)


def test_two_processes_at_once_do_nothing_twice(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.pdf", tmp_path / "cache"
    path.write_bytes(make.text_pdf(*(f"page number {page}" for page in range(1, 21))))
    done = ends([started(path, cache) for _ in range(2)])
    assert sum(int(opened) for opened, _, _ in done) == 1
    assert sum(int(rendered) for _, rendered, _ in done) == 20
    assert done[0][2] == done[1][2]
    assert whole(cache)
    assert ends([started(path, cache)])[0][:2] == ["0", "0"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_kill_while_writing_leaves_nothing_torn_and_nothing_to_do_twice(tmp_path: Path) -> None:
    """Three processes are killed at different moments; the next one does what is missing, and no more."""
    path, cache = tmp_path / "a.pdf", tmp_path / "cache"
    path.write_bytes(make.text_pdf(*(f"page number {page}" for page in range(1, 41))))
    for wait in (0.0, 0.05, 0.15):
        with started(path, cache, dpi=100) as process:
            assert process.stdout
            assert process.stdout.readline() == "open\n"
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
        assert whole(cache)
    rendered = len(list(cache.rglob("images/**/*.msgpack")))
    opened, now, _ = ends([started(path, cache, dpi=100)])[0]
    assert (int(opened), int(now)) == (0, 40 - rendered)
    assert ends([started(path, cache, dpi=100)])[0][:2] == ["0", "0"]
