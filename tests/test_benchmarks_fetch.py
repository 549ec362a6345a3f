"""`fetch` fills the layout that the loaders read: from a mirror folder, and from a Hub that runs on this machine."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import threading
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from looseleaf.benchmarks import BENCHMARKS, fetch, fetching, load_benchmark
from looseleaf.errors import ConfigError, DataError
from planted_data import longdocurl_row, mmlb_row, write_json, write_jsonl, write_pdf

MMLB_ROWS = "raw.githubusercontent.com/mayubo2333/MMLongBench-Doc/a5cf967/data/samples.json"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror with small stand-ins for MMLongBench-Doc, LongDocURL, PaperTab and FetaTab."""
    root = tmp_path / "mirror"
    rows = write_json(root / MMLB_ROWS, [mmlb_row()])
    pin(monkeypatch, rows.read_bytes())
    write_pdf(root / "yubo2333" / "MMLongBench-Doc" / "documents" / "harbour.pdf")
    (root / "yubo2333" / "MMLongBench-Doc" / "README.md").write_text("card")
    hub = root / "dengchao" / "LongDocURL"
    write_jsonl(hub / "LongDocURL_public_with_subtask_category.jsonl", [longdocurl_row()])
    pdf = write_pdf(tmp_path / "any.pdf").read_bytes()
    members = {
        "pdf_files/4000-4999/4000001.pdf": pdf,
        "pdf_files/4000-4999/._4000001.pdf": b"shadow",
        "../../escape.pdf": pdf,
        "pdf_files/list.txt": b"x",
    }
    with tarfile.open(hub / "pdf_files.tar.gz", "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link.pdf")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    row = {
        "doc_id": "1912.01214.pdf",
        "q_uid": "u",
        "question": "q",
        "answer": "a",
        "answer_2": " ",
        "answer_3": " ",
    }
    write_json(root / "Lillianwei" / "Mdocagent-dataset" / "PaperTab" / "samples.json", [row])
    uda = root / "qinchuanhui" / "UDA-QA" / "src_doc_files"
    uda.mkdir(parents=True)
    with zipfile.ZipFile(uda / "paper_docs.zip", "w") as archive:
        archive.writestr("paper_docs/1912.01214.pdf", pdf)
        archive.writestr("/abs/../../1801.05147.pdf", pdf)
    return root


def pin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    recipe = fetching.RECIPES["mmlongbench-doc"]
    web = (replace(recipe.web[0], sha256=hashlib.sha256(content).hexdigest()),)
    recipes = {**fetching.RECIPES, "mmlongbench-doc": replace(recipe, web=web)}
    monkeypatch.setattr(fetching, "RECIPES", recipes)


def test_a_mirror_gives_a_folder_that_loads(mirror: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = fetch("MMLongBench_Doc", data, mirror=mirror)
    assert done.placed == ("samples.json", "documents/harbour.pdf")
    assert done.annotations == {
        "samples.json": hashlib.sha256((data / "samples.json").read_bytes()).hexdigest()
    }
    assert "CC BY-NC" in done.licence
    assert len(load_benchmark("mmlongbench-doc", data).runnable) == 1
    assert sorted(path.name for path in data.rglob("*")) == ["documents", "harbour.pdf", "samples.json"]


def test_fetching_again_leaves_what_is_there_alone(mirror: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    fetch("mmlongbench-doc", data, mirror=mirror)
    (data / "documents" / "harbour.pdf").write_bytes(b"mine")
    done = fetch("mmlongbench-doc", data, mirror=mirror)
    assert (done.placed, done.kept) == ((), ("samples.json", "documents/harbour.pdf"))
    assert (data / "documents" / "harbour.pdf").read_bytes() == b"mine"


def test_archives_are_unpacked_flat_and_only_pdfs(mirror: Path, tmp_path: Path) -> None:
    data = tmp_path / "nest" / "data"
    fetch("longdocurl", data, mirror=mirror)
    assert sorted(path.name for path in (data / "documents").iterdir()) == ["4000001.pdf", "escape.pdf"]
    assert not (tmp_path / "escape.pdf").exists()
    assert len(load_benchmark("longdocurl", data).runnable) == 1
    fetch("papertab", tmp_path / "tab", mirror=mirror)
    names = sorted(path.name for path in (tmp_path / "tab" / "documents").iterdir())
    assert names == ["1801.05147.pdf", "1912.01214.pdf"]
    assert len(load_benchmark("papertab", tmp_path / "tab").runnable) == 1


def test_documents_can_be_left_out(mirror: Path, tmp_path: Path) -> None:
    fetch("longdocurl", tmp_path / "data", mirror=mirror, documents=False)
    assert [path.name for path in (tmp_path / "data").iterdir()] == [
        "LongDocURL_public_with_subtask_category.jsonl"
    ]


def test_what_is_not_the_pinned_file_is_refused(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin(monkeypatch, b"other")
    with pytest.raises(DataError, match="download it by hand and check it"):
        fetch("mmlongbench-doc", tmp_path / "data", mirror=mirror)
    assert not (tmp_path / "data" / "samples.json").exists()


def test_a_mirror_that_lacks_something_is_named(mirror: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no file FetaTab/samples\.json"):
        fetch("fetatab", tmp_path / "a", mirror=mirror)
    (mirror / "dengchao" / "LongDocURL" / "pdf_files.tar.gz").write_bytes(b"torn")
    with pytest.raises(DataError, match=r"the archive pdf_files\.tar\.gz cannot be unpacked"):
        fetch("longdocurl", tmp_path / "b", mirror=mirror)
    with pytest.raises(DataError, match=r"the mirror .* lacks raw\.githubusercontent\.com/"):
        fetch("mmlongbench-doc", tmp_path / "c", mirror=tmp_path)
    with pytest.raises(DataError, match="has no folder Lillianwei/Mdocagent-dataset"):
        fetch("papertab", tmp_path / "d", mirror=tmp_path)


def test_an_archive_that_grows_too_large_is_refused(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAX_UNPACKED_BYTES", 100)
    for name in ("longdocurl", "papertab"):
        with pytest.raises(DataError, match="unpacks to more than"):
            fetch(name, tmp_path / name, mirror=mirror)


def test_what_cannot_be_fetched_says_what_to_do(tmp_path: Path) -> None:
    for name in ("dude", "dude-sub", "doc-750k", "procedural"):
        with pytest.raises(ConfigError, match=f"{name} cannot be fetched automatically: ."):
            fetch(name, tmp_path)
    assert {*fetching.RECIPES, "dude", "dude-sub", "doc-750k", "procedural"} == set(BENCHMARKS)


def test_without_the_hub_client_the_extra_is_named(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match=r'pip install "looseleaf\[data\]"'):
        fetch("longdocurl", tmp_path / "data")
    assert fetch("longdocurl", tmp_path / "data", mirror=mirror).placed, "a mirror folder needs no client"


def test_a_failed_download_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(
        DataError, match=r"samples\.json cannot be downloaded; check the network .* no route to host"
    ):
        fetch("mmlongbench-doc", tmp_path / "data")


def test_single_files_are_downloaded_over_https_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.dumps([mmlb_row()]).encode()
    pin(monkeypatch, content)
    asked: list[str] = []

    def answer(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(content)

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    done = fetch("mmlongbench-doc", tmp_path / "data", documents=False)
    assert asked == [f"https://{MMLB_ROWS}"]
    assert done.placed == ("samples.json",)
    assert all(file.url.startswith("https://") for recipe in fetching.RECIPES.values() for file in recipe.web)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """The parts of the Hub's interface that a download of a data set uses, over the files of a folder."""

    root: Path
    repo: str

    def files(self) -> Mapping[str, bytes]:
        folder = self.root / self.repo
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        files = self.files()
        if path.startswith(f"/api/datasets/{self.repo}/tree/"):
            listing = [
                {"type": "file", "path": name, "size": len(c), "oid": oid(c)} for name, c in files.items()
            ]
            self.reply(json.dumps(listing).encode(), body=body)
        elif path.startswith(f"/api/datasets/{self.repo}"):
            siblings = [{"rfilename": name} for name in files]
            value = {"id": self.repo, "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}
            self.reply(json.dumps(value).encode(), body=body)
        elif path.startswith(f"/datasets/{self.repo}/resolve/{COMMIT}/"):
            content = files[path.split(f"{COMMIT}/", 1)[1]]
            self.reply(content, body=body, ETag=f'"{oid(content)}"', **{"X-Repo-Commit": COMMIT})
        else:
            self.send_error(404)

    def reply(self, content: bytes, *, body: bool, **headers: str) -> None:
        self.send_response(200)
        for key, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


def oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@pytest.fixture
def hub(mirror: Path) -> Iterator[str]:
    handler = type("LongDocURLHub", (Hub,), {"root": mirror, "repo": "dengchao/LongDocURL"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.filterwarnings("default")
def test_the_hub_client_downloads_what_the_recipe_names(
    hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub", reason="the extra [data] is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    # Read once, when the client is imported: whoever set it offline before does not mean this test's own server.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    data = tmp_path / "data"
    done = fetch("longdocurl", data, endpoint=hub)
    assert set(done.placed) == {
        "LongDocURL_public_with_subtask_category.jsonl",
        "documents/4000001.pdf",
        "documents/escape.pdf",
    }
    assert not (data / ".fetch").exists()
    assert len(load_benchmark("longdocurl", data).runnable) == 1


@pytest.mark.filterwarnings("default")
def test_a_hub_without_the_data_set_is_a_sentence(
    hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub", reason="the extra [data] is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    # Read once, when the client is imported: whoever set it offline before does not mean this test's own server.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(DataError, match="the data set Lillianwei/Mdocagent-dataset cannot be downloaded"):
        fetch("fetatab", tmp_path / "data", endpoint=hub)
