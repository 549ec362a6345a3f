"""Office files: converted by LibreOffice where it is installed, once, and never for longer than allowed."""

from __future__ import annotations

import io
import os
import sys
import time
import zipfile
from pathlib import Path

import pytest

import hostile_files as make
from looseleaf.document import Document, PageStore
from looseleaf.document.office import converter, converter_version
from looseleaf.errors import DocumentError

posix = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")

CONTENT_TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
RELATIONS = """<?xml version="1.0"?><Relationships
xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Target="word/document.xml"
Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>"""
DOCUMENT = """<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:body><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:body></w:document>"""


def docx(text: str) -> bytes:
    """The smallest file that is a text document."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", CONTENT_TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", DOCUMENT.format(text))
    return buffer.getvalue()


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A `soffice` that does as it is told, alone on the path with the shell's own tools."""
    folder.mkdir()
    command = folder / "soffice"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    converter_version.cache_clear()


def test_without_libreoffice_it_says_what_to_do(
    tmp_path: Path, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("looseleaf.document.office._NAMES", ("no-such-command",))
    for name in ("a.docx", "B.PPTX", "c.xlsx", "d.odt"):
        path = tmp_path / name
        path.write_bytes(docx("x"))
        with pytest.raises(
            DocumentError, match=f"{name} is an office file; install LibreOffice .* or save it as PDF"
        ):
            Document.open(path, store=store)
    archive = tmp_path / "archive.zip"
    archive.write_bytes(docx("x"))
    with pytest.raises(DocumentError, match="is not a PDF or a PNG"):
        Document.open(archive, store=store)


@posix
def test_file_is_converted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in notes each call; it sees a plain name, a profile of its own and no macros."""
    pdf, calls = tmp_path / "made.pdf", tmp_path / "calls"
    pdf.write_bytes(make.text_pdf("what the office file says"))
    script = f"""
    [ "$1" = --version ] && echo "LibreOffice 7.4.7.2 40(Build:2)" && exit
    echo "$@" >> {calls}
    while [ "$1" != --outdir ]; do
        case "$1" in -env:UserInstallation=file://*) profile="${{1#*file://}}";; esac
        shift
    done
    grep -q "DisableMacrosExecution.*" "$profile/user/registrymodifications.xcu" && cp {pdf} "$2/document.pdf"
    """
    stand_in(tmp_path / "bin", monkeypatch, script)
    path = tmp_path / "an office file (1).docx"
    path.write_bytes(docx("anything"))
    for _ in range(2):
        with PageStore(tmp_path / "cache") as store:
            document = Document.open(path, store=store)
            assert document.text(1) == "what the office file says"
            assert document.image(1, dpi=20).width == 170
            assert document.doc_id == "an office file (1).docx"
    assert len(calls.read_text().splitlines()) == 1
    assert calls.read_text().strip().endswith("document.docx")
    kept = [file.name for file in (tmp_path / "cache" / "office").iterdir()]
    assert kept == [f"{document.sha256}-7.4.7.2.pdf"]
    read_only = tmp_path / "file"
    read_only.write_bytes(b"")
    with PageStore(read_only / "cache") as store:
        assert Document.open(path, store=store).text(1) == "what the office file says"


@posix
def test_file_that_cannot_be_converted_is_one_sentence(
    tmp_path: Path, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path / "bin", monkeypatch, "exit 0")
    path = tmp_path / "a.docx"
    path.write_bytes(docx("x"))
    with pytest.raises(
        DocumentError, match=r"a\.docx cannot be converted by LibreOffice; open it there and save it"
    ):
        Document.open(path, store=store)


@posix
def test_conversion_that_hangs_is_stopped_with_its_children(
    tmp_path: Path, store: PageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child"
    script = f'[ "$1" = --version ] && exit; sleep 60 & echo $! > {child}; wait'
    stand_in(tmp_path / "bin", monkeypatch, script)
    monkeypatch.setattr("looseleaf.document.office.CONVERSION_SECONDS", 1.5)
    path = tmp_path / "a.docx"
    path.write_bytes(docx("x"))
    with pytest.raises(
        DocumentError, match=r"took LibreOffice more than 1.5 s and was stopped; save it as PDF"
    ):
        Document.open(path, store=store)
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child.read_text().strip()}/cmdline").exists() and time.monotonic() < deadline:
        if not Path(f"/proc/{child.read_text().strip()}/cmdline").read_bytes():
            break  # ended, and not yet collected
        time.sleep(0.05)
    assert time.monotonic() < deadline


@pytest.mark.skipif(converter() is None, reason="LibreOffice is not installed")
def test_libreoffice_itself(tmp_path: Path, store: PageStore) -> None:
    path = tmp_path / "report.docx"
    path.write_bytes(docx("The harbour has fourteen ferries."))
    document = Document.open(path, store=store)
    assert document.texts() == ("The harbour has fourteen ferries.",)
    assert document.image(1).width > 1000
