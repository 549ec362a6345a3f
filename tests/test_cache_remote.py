"""A cache that machines share: the folder first, then an object store; what one has read, the other need not."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli
from fakes import pdf_bytes
from looseleaf.document import Document, PageStore
from looseleaf.document.cache import Cache, CachePlace, cache_place, default_root
from looseleaf.document.remote import FAILURES, RemoteFolder
from looseleaf.errors import ConfigError

if importlib.util.find_spec("fsspec") is None:
    pytest.skip("fsspec is not installed", allow_module_level=True)

BUCKET = "pages"


@pytest.fixture
def folder_url(tmp_path: Path) -> str:
    return f"file://{tmp_path / 'shared'}"


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    """An S3-compatible server on this machine, with an empty bucket."""
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    import s3fs

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "none")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "none")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir(BUCKET)
        yield f"s3://{BUCKET}/looseleaf"
        server.stop()


def document_at(folder: Path) -> Path:
    path = folder / "report.pdf"
    path.write_bytes(pdf_bytes("The first page of the report.", "Its second page."))
    return path


def read_all(path: Path, place: CachePlace) -> PageStore:
    with PageStore(place) as store:
        document = Document.open(path, store=store)
        assert document.text(2) == "Its second page."
        for page in (1, 2):
            assert document.image(page).jpeg.startswith(b"\xff\xd8")
    return store


def counts(store: PageStore) -> tuple[int, int]:
    return store.pages_extracted, store.pages_rendered


# -- object storage --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_second_machine_finds_in_object_storage_what_the_first_has_read(
    tmp_path: Path, s3_url: str
) -> None:
    path = document_at(tmp_path)
    first = read_all(path, CachePlace(tmp_path / "first", s3_url))
    assert counts(first) == (2, 2)
    second = read_all(path, CachePlace(tmp_path / "second", s3_url))
    assert counts(second) == (0, 0), "all of it was in the object store"
    with_folder_only = read_all(path, CachePlace(tmp_path / "second"))
    assert counts(with_folder_only) == (0, 0), "and is in the folder now"
    again = read_all(path, CachePlace(None, s3_url))
    assert counts(again) == (0, 0), "no folder is needed"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_an_object_is_written_by_one_request_and_damage_is_a_miss(
    tmp_path: Path, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = RemoteFolder(s3_url)
    files, root = remote._files()
    asked: list[str] = []
    call = files._call_s3

    async def counted(method: str, *arguments: object, **more: object) -> object:
        asked.append(method)
        return await call(method, *arguments, **more)

    monkeypatch.setattr(files, "_call_s3", counted)
    cache = Cache(tmp_path / "here", s3_url)
    cache.remote = remote
    cache.put("images/a/1", b"x" * 500_000)
    assert asked == ["put_object"]
    asked.clear()
    assert remote.get("images/a/1") is not None
    assert remote.get("images/a/none") is None
    assert asked == ["get_object", "get_object"], "there or not, a page is one request"
    stored = files.cat_file(f"{root}/images/a/1")
    other = Cache(tmp_path / "there", s3_url)
    assert other.get("images/a/1") == b"x" * 500_000
    for damaged in (stored[:-1], b"", stored[:4] + b"y" + stored[5:]):
        files.pipe_file(f"{root}/images/a/2", damaged)
        assert other.get("images/a/2") is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_bucket_that_is_not_there_costs_a_warning_and_nothing_else(
    tmp_path: Path, s3_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert s3_url
    cache = Cache(tmp_path / "here", "s3://nowhere/x")
    with caplog.at_level(logging.WARNING, "looseleaf"):
        for number in range(FAILURES + 3):
            cache.put(f"text/{number}", b"kept")
    assert [cache.get(f"text/{number}") for number in range(FAILURES)] == [b"kept"] * FAILURES
    said = [record.message for record in caplog.records if record.name.startswith("looseleaf")]
    assert len(said) == 2
    assert "s3://nowhere/x cannot be used" in said[0]
    assert "does without it from now on" in said[1]


# -- places ----------------------------------------------------------------------------------------------------


def test_a_shared_folder_is_a_remote_cache_too(tmp_path: Path, folder_url: str) -> None:
    path = document_at(tmp_path)
    assert counts(read_all(path, CachePlace(tmp_path / "first", folder_url))) == (2, 2)
    assert counts(read_all(path, CachePlace(tmp_path / "second", folder_url))) == (0, 0)
    one, other = Cache(tmp_path / "one", folder_url), Cache(tmp_path / "other", folder_url)
    one.put("replies/ab/abc", b"paid for")
    assert other.get("replies/ab/abc") == b"paid for"
    assert (tmp_path / "other" / "replies" / "ab" / "abc").is_file()
    assert other.get("replies/ab/none") is None


def test_one_variable_names_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", "s3://bucket/x")
    monkeypatch.setenv("LOOSELEAF_CACHE_LOCAL", str(tmp_path))
    assert cache_place() == (tmp_path, "s3://bucket/x")
    assert cache_place().word == "s3://bucket/x"
    assert default_root() == tmp_path
    monkeypatch.delenv("LOOSELEAF_CACHE_LOCAL")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache_place() == (tmp_path / "caches" / "looseleaf", "s3://bucket/x")
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "folder"))
    assert cache_place() == (tmp_path / "folder", "")
    assert cache_place(cache_place().word) == cache_place()
    assert cache_place("gs://other/y").remote == "gs://other/y"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nosuch://x/y", "cannot be used"),
        ("hdfs+none://x", "give a folder, or an address like s3://bucket/folder"),
    ],
)
def test_an_address_without_a_driver_is_a_sentence(tmp_path: Path, url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Cache(tmp_path, url).get("text/a")


def test_a_missing_driver_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(ConfigError, match=r"pip install 'looseleaf\[ray\]'"):
        Cache(tmp_path, "s3://bucket/x").put("text/a", b"")


def test_a_command_uses_the_cache_that_it_is_given(
    cli: Cli, tmp_path: Path, folder_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE_LOCAL", str(tmp_path / "here"))
    monkeypatch.setenv("LOOSELEAF_CACHE", os.environ["LOOSELEAF_CACHE"])  # the command sets it
    monkeypatch.setattr("looseleaf.document.store._default", None)  # a process of its own would have none yet
    docs = tmp_path / "docs"
    docs.mkdir()
    document_at(docs)
    said = cli("reindex", "pages", "--docs", docs, "--cache", folder_url)
    assert said.code == 0, said.err
    assert "1 documents, 2 pages read, 2 rendered" in said.out
    assert len([file for file in (tmp_path / "shared").rglob("*") if file.is_file()]) == 3
    assert folder_url in cli("cache").out
