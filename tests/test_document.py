"""Documents: contract, cache, worker process, hostile files, page images."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

import hostile_files as make
from looseleaf.document import MIN_TEXT_CHARACTERS, Document, Limits, PageStore
from looseleaf.errors import ConfigError, DocumentError
from looseleaf.retrieval import BM25Retriever

DATA = os.environ.get("LOOSELEAF_DATA", "")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PageStore]:
    with PageStore(tmp_path / "cache") as store:
        yield store


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageStore]:
    """One store, and one worker, for all tests that look only at documents."""
    with PageStore(tmp_path_factory.mktemp("shared")) as store:
        yield store


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[PageStore]:
    """A store whose limits a bomb reaches soon."""
    with PageStore(tmp_path / "cache", limits=Limits(10, 1, 512 << 20)) as store:
        yield store


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def pixels(jpeg: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(jpeg), formats=["JPEG"])
    image.load()
    return image


def run_python(code: str, cache: Path, *arguments: str, warnings: str = "error") -> str:
    """Run code in a fresh interpreter; it must end well and say nothing on standard error."""
    environment = os.environ | {"LOOSELEAF_CACHE": str(cache), "PYTHONWARNINGS": warnings}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# --- contract -------------------------------------------------------------------------------------------


def test_facts_of_a_document(tmp_path: Path, shared: PageStore) -> None:
    path = write(tmp_path / "report.pdf", make.text_pdf("first page, first line\nsecond line", "", "short"))
    document = Document.open(path, store=shared)
    assert document.doc_id == "report.pdf"
    assert document.path == path
    assert document.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert document.page_count == 3
    assert document.texts() == ("first page, first line\nsecond line", "", "short")
    assert document.text(1) == "first page, first line\nsecond line"
    assert document.page_size(2) == (612, 792)
    assert document.unreadable == {}
    assert Document.open(str(path), store=shared, doc_id="mine").doc_id == "mine"


def test_labels_are_printed_labels_or_page_numbers(tmp_path: Path, shared: PageStore) -> None:
    labelled = Document.open(write(tmp_path / "a.pdf", make.labelled()), store=shared)
    assert labelled.labels == ("i", "ii", "1", "2")
    assert labelled.label(2) == "ii"
    plain = Document.open(write(tmp_path / "b.pdf", make.text_pdf("x", "y")), store=shared)
    assert plain.labels == ("1", "2")


def test_has_text_needs_a_page_with_enough_characters(tmp_path: Path, shared: PageStore) -> None:
    enough, short = "x" * MIN_TEXT_CHARACTERS, "x" * (MIN_TEXT_CHARACTERS - 1)
    assert Document.open(write(tmp_path / "a.pdf", make.text_pdf("", enough)), store=shared).has_text
    assert not Document.open(write(tmp_path / "b.pdf", make.text_pdf(short, short)), store=shared).has_text


def test_image_is_a_jpeg_of_the_page(tmp_path: Path, shared: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.text_pdf("some text")), store=shared)
    image = document.image(1)
    assert (image.width, image.height) == (1224, 1584)  # 144 dpi: two pixels a point
    picture = pixels(image.jpeg)
    assert (picture.size, picture.mode) == ((1224, 1584), "RGB")
    assert picture.getpixel((10, 10)) == (255, 255, 255)
    assert min(picture.convert("L").get_flattened_data()) < 64  # the ink of the text
    small = document.image(1, dpi=36)
    assert (small.width, small.height) == (306, 396)


def test_colours_keep_their_order(tmp_path: Path, shared: PageStore) -> None:
    red = make.pages([make.stream(b"1 0 0 rg 0 0 612 792 re f")])
    picture = pixels(Document.open(write(tmp_path / "a.pdf", red), store=shared).image(1, dpi=10).jpeg)
    colour = picture.getpixel((40, 40))
    assert isinstance(colour, tuple)
    assert colour[0] > 240
    assert max(colour[1:]) < 15


@pytest.mark.parametrize("cap", [862_400, 100_000, 1_000, 37])
def test_max_pixels_is_a_cap(tmp_path: Path, shared: PageStore, cap: int) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.text_pdf("x")), store=shared)
    image = document.image(1, max_pixels=cap)
    assert 0.6 * cap < image.width * image.height <= cap
    assert pixels(image.jpeg).size == (image.width, image.height)


def test_bad_arguments_say_what_is_allowed(tmp_path: Path, shared: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.text_pdf("x", "y")), store=shared)
    for page in (0, 3, -1):
        for use in (document.text, document.image, document.label, document.page_size):
            with pytest.raises(DocumentError, match=f"has no page {page}; its pages are 1 to 2"):
                use(page)
    with pytest.raises(ConfigError, match="dpi is 0"):
        document.image(1, dpi=0)
    with pytest.raises(ConfigError, match="max_pixels is 0"):
        document.image(1, max_pixels=0)
    with pytest.raises(DocumentError, match="less than a pixel"):
        document.image(1, max_pixels=1)


# --- cache ----------------------------------------------------------------------------------------------


def test_second_run_reads_and_renders_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make.labelled())

    def use(store: PageStore) -> tuple[object, ...]:
        document = Document.open(path, store=store)
        return document.texts(), document.labels, document.image(2), document.image(2, max_pixels=5_000)

    with PageStore(tmp_path / "cache") as first:
        fresh = use(first)
        assert (first.documents_opened, first.pages_extracted, first.pages_rendered) == (1, 4, 2)
        assert use(first) == fresh
        assert (first.documents_opened, first.pages_extracted, first.pages_rendered) == (1, 4, 2)
    with PageStore(tmp_path / "cache") as second:
        assert use(second) == fresh
        assert (second.documents_opened, second.pages_extracted, second.pages_rendered) == (0, 0, 0)
        assert second._pages.idle == ()


def test_cache_goes_by_content_not_by_name(tmp_path: Path, store: PageStore) -> None:
    content = make.text_pdf("the same")
    Document.open(write(tmp_path / "a.pdf", content), store=store).image(1)
    other = Document.open(write(tmp_path / "deep" / "b.pdf", content), store=store)
    other.image(1)
    assert (store.documents_opened, store.pages_rendered) == (1, 1)
    changed = write(tmp_path / "a.pdf", make.text_pdf("not the same"))
    assert Document.open(changed, store=store).text(1) == "not the same"


@pytest.mark.parametrize("damage", ["torn", "empty", "flipped", "other shape"])
def test_damaged_cache_file_is_a_miss(tmp_path: Path, damage: str) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("text of the page"))
    with PageStore(tmp_path / "cache") as store:
        image = Document.open(path, store=store).image(1)
    files = [file for file in (tmp_path / "cache").rglob("*.msgpack") if file.is_file()]
    assert len(files) == 2
    for file in files:
        content = bytearray(file.read_bytes())
        if damage == "flipped":
            content[len(content) // 2] ^= 1
        file.write_bytes(
            {"torn": content[: len(content) // 2], "empty": b"", "other shape": b"\0\0\0\0"}.get(
                damage, content
            )
        )
    with PageStore(tmp_path / "cache") as store:
        document = Document.open(path, store=store)
        assert (document.text(1), document.image(1)) == ("text of the page", image)
        assert (store.documents_opened, store.pages_rendered) == (1, 1)
    with PageStore(tmp_path / "cache") as store:  # and it has been mended
        Document.open(path, store=store).image(1)
        assert (store.documents_opened, store.pages_rendered) == (0, 0)


def test_cache_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("one", "two"))
    in_the_way = write(tmp_path / "file", b"")
    with caplog.at_level(logging.WARNING), PageStore(in_the_way / "cache") as store:
        for _ in range(2):
            document = Document.open(path, store=store)
            assert document.texts() == ("one", "two")
            document.image(1)
            document.image(2)
        assert (store.documents_opened, store.pages_rendered) == (1, 2)  # kept in memory
    assert len(caplog.records) == 1
    assert "set LOOSELEAF_CACHE" in caplog.text


def test_memory_in_place_of_a_cache_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("looseleaf.document.cache.MEMORY_BYTES", 100_000)
    path = write(tmp_path / "a.pdf", make.text_pdf(*"abcdef"))
    with PageStore(write(tmp_path / "file", b"") / "cache") as store:
        document = Document.open(path, store=store)
        for page in range(1, 7):
            document.image(page)
        assert sum(map(len, store._cache._memory.values())) <= 100_000
        document.image(6)
        assert store.pages_rendered == 6
        document.image(1)
        assert store.pages_rendered == 7


def test_default_root_is_named_by_the_environment(tmp_path: Path) -> None:
    code = "from looseleaf.document import default_store as s; print(s() is s(), s().root)"
    assert run_python(code, tmp_path / "here") == f"True {tmp_path / 'here'}\n"


def test_processes_can_share_a_cache(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf(*(f"page number {page}" for page in range(1, 9))))
    code = """
import sys
from looseleaf.document import Document
document = Document.open(sys.argv[1])
print(hash(document.texts() + tuple(document.image(page, dpi=40).jpeg for page in range(1, 9))))
"""
    environment = os.environ | {"LOOSELEAF_CACHE": str(tmp_path / "cache"), "PYTHONHASHSEED": "1"}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], env=environment, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=60)[0] for process in running}
    assert [process.returncode for process in running] == [0] * 4
    assert len(answers) == 1
    assert not list((tmp_path / "cache").rglob(".part-*"))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_name_that_is_not_text(tmp_path: Path, store: PageStore) -> None:
    path = write(
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pdf")), make.text_pdf("read all the same")
    )
    document = Document.open(path, store=store)
    assert (document.text(1), document.doc_id) == ("read all the same", "caf\ufffd.pdf")
    assert document.image(1, dpi=20).width == 170
    with pytest.raises(DocumentError) as caught:
        document.text(2)
    assert str(caught.value).encode().endswith(b"caf\xef\xbf\xbd.pdf has no page 2; its pages are 1 to 1.")
    for bad in (b"/b\xe9d.pdf", b"/m\xe9ssing.pdf"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + bad))
        if b"m" not in bad:
            write(path, make.truncated())
        with pytest.raises(DocumentError) as caught:
            Document.open(path, store=store)
        assert str(caught.value).encode()


def test_file_that_changed_since_it_was_opened_is_refused(tmp_path: Path, store: PageStore) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("before"))
    document = Document.open(path, store=store)
    write(path, make.text_pdf("after, and longer"))
    with pytest.raises(
        DocumentError, match="has changed or gone since it was opened; open the document again"
    ):
        document.image(1)
    assert document.text(1) == "before"


# --- worker process -------------------------------------------------------------------------------------


def test_import_is_light(tmp_path: Path) -> None:
    code = "import sys, looseleaf.document; print([m for m in ('pypdfium2', 'PIL', 'numpy') if m in sys.modules])"
    assert run_python(code, tmp_path) == "[]\n"


def test_worker_needs_no_main_guard_and_ends_with_its_parent(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("hello"))
    code = """
import sys
from looseleaf.document import Document, default_store
document = Document.open(sys.argv[1])
print(document.text(1), document.image(1).width, default_store()._pages.idle[0]._process.pid)
"""
    script = write(tmp_path / "script.py", code.encode())
    text, width, pid = run_python(code, tmp_path / "one", str(path)).split()
    assert (text, width) == ("hello", "1224")
    assert not running(int(pid))
    runner = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    text, width, pid = run_python(runner, tmp_path / "two", str(script), str(path)).split()
    assert (text, width) == ("hello", "1224")
    assert not running(int(pid))


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, seconds: float = 5) -> bool:
    """Whether a process that is not our child ends in time."""
    deadline = time.monotonic() + seconds
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not running(pid)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_worker_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("hello"))
    code = """
import sys, time
from looseleaf.document import Document, default_store
Document.open(sys.argv[1])
print(default_store()._pages.idle[0]._process.pid, flush=True)
time.sleep(60)
"""
    environment = os.environ | {"LOOSELEAF_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        worker = int(parent.stdout.readline())
        assert running(worker)
        parent.kill()
    assert gone(worker)


def test_store_that_is_dropped_leaves_no_worker(tmp_path: Path) -> None:
    store = PageStore(tmp_path / "cache")
    Document.open(write(tmp_path / "a.pdf", make.text_pdf("x")), store=store)
    process = store._pages.idle[0]._process
    del store
    assert process.wait(5) != 0


def test_worker_that_died_between_requests_is_replaced(tmp_path: Path, store: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.text_pdf("x")), store=store)
    process = store._pages.idle[0]._process
    process.kill()
    process.wait()
    assert document.image(1).width == 1224


def test_interrupt_does_not_put_the_worker_out_of_step(
    tmp_path: Path, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.text_pdf("x")), store=store)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("looseleaf.document.process.receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            document.image(1, dpi=20)
    assert document.image(1, dpi=40).width == 340  # not the page of 20 dpi


def test_store_may_be_used_after_close(tmp_path: Path, store: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.text_pdf("x")), store=store)
    store.close()
    store.close()
    assert document.image(1).width == 1224


def test_threads_share_one_store(tmp_path: Path, store: PageStore) -> None:
    paths = [write(tmp_path / f"{n}.pdf", make.text_pdf(f"document {n}", "x")) for n in range(4)]
    seen: list[tuple[int, str, int]] = []

    def use(number: int) -> None:
        document = Document.open(paths[number % 4], store=store)
        image = document.image(2, dpi=10 + number % 4)
        seen.append((number % 4, document.text(1), image.width))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted((n, f"document {n}", -(-612 * (10 + n) // 72)) for n in [0, 1, 2, 3] * 4)
    assert (store.documents_opened, store.pages_rendered) == (4, 4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_child_starts_its_own_worker(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("x"))
    code = """
import os, sys
from looseleaf.document import Document, default_store
document = Document.open(sys.argv[1])
mine = default_store()._pages.idle[0]._process.pid
child = os.fork()
if child == 0:
    ok = default_store()._pages.idle == () and document.image(1, dpi=30).width == 255
    os._exit(0 if ok and default_store()._pages.idle[0]._process.pid != mine else 1)
print(os.waitpid(child, 0)[1], document.image(1, dpi=40).width, default_store()._pages.idle[0]._process.pid == mine)
"""
    assert run_python(code, tmp_path / "cache", str(path)) == "0 340 True\n"


# --- hostile files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (make.truncated(), "is damaged or cut short; download or export it again"),
        (b"%PDF-1.4 and then nothing", "is damaged or cut short; download or export it again"),
        (make.zero_pages(), "has no pages; check that it is the right file"),
        (make.encrypted(), "is encrypted; remove the password"),
        (make.claims_pages(1_000_000), "claims 1,000,000 pages; split it"),
        (b"", "is empty; download or export it again"),
        (b"<!DOCTYPE html><html>404", "is a web page, not a PDF; download the document itself"),
        (
            b"PK\x03\x04 a word processor's file",
            "is not a PDF or a PNG, JPEG, WebP or TIFF image; convert it",
        ),
        (make.png_bomb(), "has more pixels than are safe to decode; scale it down"),
    ],
)
def test_unusable_file_is_one_clear_sentence(
    tmp_path: Path, shared: PageStore, content: bytes, message: str
) -> None:
    path = write(tmp_path / "bad.pdf", content)
    with pytest.raises(DocumentError) as caught:
        Document.open(path, store=shared)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    good = Document.open(write(tmp_path / "good.pdf", make.text_pdf("fine")), store=shared)
    assert good.text(1) == "fine"


def test_file_that_is_not_there(tmp_path: Path, shared: PageStore) -> None:
    with pytest.raises(DocumentError, match=r"There is no document at .*nowhere\.pdf; check the path"):
        Document.open(tmp_path / "nowhere.pdf", store=shared)


def test_bad_cross_references_are_repaired(tmp_path: Path, shared: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.bad_xref()), store=shared)
    assert document.text(1) == "the table is broken, the text is not"


def test_missing_pages_cost_only_themselves(tmp_path: Path, shared: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.claims_pages(3)), store=shared)
    assert document.texts() == ("only one", "", "")
    assert list(document.unreadable) == [2, 3]
    for use in (document.text, document.image):
        with pytest.raises(DocumentError, match=r"Page 2 of .*a\.pdf is damaged and cannot be read; re-save"):
            use(2)


def test_page_without_area_still_has_text(tmp_path: Path, shared: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.cropped_away()), store=shared)
    assert document.text(1) == "text that is still there to be read"
    assert document.page_size(1) == (0, 0)
    with pytest.raises(DocumentError, match=r"Page 1 of .* has no area, so it cannot be shown; its text can"):
        document.image(1)
    assert document.image(2).width == 1224


def test_monstrous_page_boxes_are_scaled_down(tmp_path: Path, shared: PageStore) -> None:
    boxes = ("0 0 14400 14400", "0 0 1000000 1000000", "0 0 2147483648 2147483648", "0 0 60000 100")
    document = Document.open(write(tmp_path / "a.pdf", make.boxed(*boxes)), store=shared)
    for page in (1, 2, 3):
        image = document.image(page)
        assert 39e6 < image.width * image.height <= 40e6
    assert document.image(4).width <= 16_384
    assert document.texts() == ("boxed",) * 4


def test_sliver_of_a_page_is_refused(tmp_path: Path, shared: PageStore) -> None:
    boxes = ("0 0 0.1 0.1", "0 0 1000000 1")
    document = Document.open(write(tmp_path / "a.pdf", make.boxed(*boxes)), store=shared)
    for page in (1, 2):
        with pytest.raises(DocumentError, match="is less than a pixel high or wide"):
            document.image(page)


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
def test_flate_bomb_costs_only_its_page(tmp_path: Path, strict: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.flate_bomb()), store=strict)
    assert document.texts() == ("good", "", "also good")
    assert "run out of its 512 MB of memory" in document.unreadable[2]
    with pytest.raises(
        DocumentError, match=r"Page 2 of .* run out of its 512 MB of memory; re-save the file"
    ):
        document.image(2)
    assert document.image(3).width == 1224
    assert not list((tmp_path / "cache").glob("text/*/*"))  # a limit that was hit is not remembered on disk


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is limited on POSIX")
def test_endless_forms_and_strokes_are_stopped(tmp_path: Path, strict: PageStore) -> None:
    forms = Document.open(write(tmp_path / "forms.pdf", make.nested_forms()), store=strict)
    assert forms.texts() == ("",)
    assert list(forms.unreadable) == [1]
    strokes = Document.open(write(tmp_path / "strokes.pdf", make.strokes()), store=strict)
    with pytest.raises(DocumentError, match="took more than 1 s of processor time and was stopped"):
        strokes.image(1)
    good = Document.open(write(tmp_path / "good.pdf", make.text_pdf("fine")), store=strict)
    assert good.image(1).width == 1224


def test_slow_page_is_stopped_by_the_clock(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make.strokes())
    with PageStore(tmp_path / "cache", limits=Limits(wall_seconds=0.8)) as store:
        document = Document.open(path, store=store)
        begun = time.monotonic()
        with pytest.raises(
            DocumentError, match=r"Page 1 of .* took more than 0.8 s and was stopped; re-save"
        ):
            document.image(1)
        assert time.monotonic() - begun < 8
        assert document.text(1) == ""


def test_worker_that_cannot_start_says_so(
    tmp_path: Path, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.pdf", make.text_pdf("x"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(DocumentError, match="no reader process could be started"):
        Document.open(path, store=store)
    failing = write(tmp_path / "failing", b"#!/bin/sh\nexit 3\n")
    failing.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(failing))
    with pytest.raises(DocumentError, match="the reader process failed with code 3"):
        Document.open(path, store=store)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_worker_leaves_interrupts_to_its_parent(tmp_path: Path, store: PageStore) -> None:
    document = Document.open(write(tmp_path / "a.pdf", make.text_pdf("x")), store=store)
    before = store._pages.idle[0]._process
    before.send_signal(signal.SIGINT)
    assert document.image(1).width == 1224
    assert store._pages.idle[0]._process is before


# --- page images ----------------------------------------------------------------------------------------


def folder(path: Path, **files: bytes) -> Path:
    for name, content in files.items():
        write(path / name.replace("__", "."), content)
    return path


def test_folder_of_zero_based_page_images(tmp_path: Path, shared: PageStore) -> None:
    pages = {f"DOC_{n}__png": make.png(40 + n, 60) for n in range(12)}
    document = Document.open(folder(tmp_path / "DOC", notes__txt=b"", **pages), store=shared)
    assert (document.doc_id, document.page_count) == ("DOC", 12)
    assert [document.image(page).width for page in (1, 2, 11, 12)] == [40, 41, 50, 51]  # 10 comes after 9
    assert document.texts() == ("",) * 12
    assert document.labels[:2] == ("1", "2")
    assert not document.has_text
    assert document.page_size(1) == (20, 30)  # 144 dots an inch
    digest = hashlib.sha256()
    for page in range(1, 13):
        file = tmp_path / "DOC" / f"DOC_{page - 1}.png"
        digest.update(f"{page}:{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    assert document.sha256 == digest.hexdigest()


def test_folder_of_one_based_page_images(tmp_path: Path, shared: PageStore) -> None:
    path = folder(tmp_path / "D", p01__jpg=make.image("JPEG", 31), p02__JPG=make.image("JPEG", 32))
    for first_index in ("auto", 1):
        document = Document.open(path, store=shared, first_index=first_index)  # type: ignore[arg-type]
        assert [document.image(page).width for page in (1, 2)] == [31, 32]
    with pytest.raises(DocumentError, match="no page image numbered 0; add the missing images"):
        Document.open(path, store=shared, first_index=0)


def test_page_images_that_do_not_add_up(tmp_path: Path, shared: PageStore) -> None:
    image = make.png()
    with pytest.raises(DocumentError, match="no page image numbered 2, 3; add"):
        Document.open(folder(tmp_path / "a", x_0__png=image, x_1__png=image, x_4__png=image), store=shared)
    with pytest.raises(DocumentError, match=r"two images of page number 1, x_01.png and x_1.png"):
        Document.open(folder(tmp_path / "b", x_1__png=image, x_01__png=image), store=shared)
    with pytest.raises(DocumentError, match="numbered 0; use first_index=0"):
        Document.open(folder(tmp_path / "c", x_0__png=image), store=shared, first_index=1)
    with pytest.raises(DocumentError, match=r"The folder .* has no page images; give a PDF, or images"):
        Document.open(folder(tmp_path / "d", readme__txt=b""), store=shared)
    with pytest.raises(DocumentError, match=r"numbered 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …; add"):
        Document.open(folder(tmp_path / "e", x_99__png=image), store=shared)


def test_damaged_page_image_costs_only_its_page(tmp_path: Path, shared: PageStore) -> None:
    path = folder(tmp_path / "D", x_0__png=make.png(), x_1__png=b"not an image", x_2__png=make.png_bomb())
    document = Document.open(path, store=shared)
    assert document.image(1).width == 40
    for page, message in ((2, "is damaged or is not a PNG"), (3, "has more pixels than are safe")):
        for use in (document.text, document.image):
            with pytest.raises(DocumentError, match=f"Page {page} of .* {message}"):
                use(page)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_image_file_is_a_document_of_one_page(tmp_path: Path, shared: PageStore, kind: str) -> None:
    document = Document.open(write(tmp_path / "scan", make.image(kind, 300, 200, "navy")), store=shared)
    image = document.image(1)
    assert (document.page_count, image.width, image.height) == (1, 300, 200)
    assert pixels(image.jpeg).getpixel((9, 9))[2] > 100  # type: ignore[index]
    assert document.image(1, dpi=72).width == 150
    assert document.image(1, dpi=300).width == 300  # never enlarged
    capped = document.image(1, max_pixels=15_000)
    assert 14_000 < capped.width * capped.height <= 15_000


def test_image_formats_that_are_not_read(tmp_path: Path, shared: PageStore) -> None:
    with pytest.raises(DocumentError, match="convert it to PDF first"):
        Document.open(write(tmp_path / "a.png", make.image("GIF")), store=shared)


def test_pages_of_a_tiff(tmp_path: Path, shared: PageStore) -> None:
    document = Document.open(write(tmp_path / "fax.tif", make.tiff((30, 40), (50, 60))), store=shared)
    assert [document.image(page).width for page in (1, 2)] == [30, 50]
    assert document.page_size(2) == (25, 30)


def test_image_is_flattened_on_white_and_turned_upright(tmp_path: Path, shared: PageStore) -> None:
    clear = Image.new("RGBA", (30, 20), (0, 0, 0, 0))
    buffer = io.BytesIO()
    clear.save(buffer, "PNG")
    document = Document.open(write(tmp_path / "clear.png", buffer.getvalue()), store=shared)
    assert pixels(document.image(1).jpeg).getpixel((5, 5)) == (255, 255, 255)
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    Image.new("RGB", (30, 20)).save(buffer, "JPEG", exif=exif)
    turned = Document.open(write(tmp_path / "turned.jpg", buffer.getvalue()), store=shared)
    assert (turned.image(1).width, turned.image(1).height) == (20, 30)
    assert turned.page_size(1) == (10, 15)


# --- real documents -------------------------------------------------------------------------------------


@pytest.mark.skipif(not DATA, reason="LOOSELEAF_DATA does not name a folder of benchmark data")
def test_real_documents(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    files = sorted((Path(DATA) / "mmlongbench" / "documents").glob("*.pdf"))
    if len(files) != 37:
        pytest.skip(f"{DATA} has {len(files)} of the 37 documents that this test is about")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with PageStore(tmp_path / "cache") as store:
        documents = [Document.open(file, store=store) for file in files]
        assert store.pages_extracted == sum(document.page_count for document in documents) == 1544
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 12  # processor seconds; 5 to 6 on the machine this was written on
    assert not any(document.unreadable for document in documents)
    scans = [Document.open(path, store=store) for path in sorted(Path(DATA, "longdocurl", "pages").iterdir())]
    assert len(scans) == 2
    for document in [*documents, *scans]:
        BM25Retriever().index(document)
    assert sum(document.has_text for document in documents) == 30
    statement = documents[files.index(Path(DATA) / "mmlongbench" / "documents" / "ADOBE_2015_10K.pdf")].text(
        60
    )
    rows = [line.split("\t") for line in statement.splitlines()]
    assert sum(len(row) == 4 for row in rows) == 27  # every line of the statement: a label and three years
