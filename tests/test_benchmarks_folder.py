"""Documents are found by name, exact first, and no name or link leads out of the data folder."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.benchmarks.folder import DocumentFolder, normalised_name
from looseleaf.errors import DataError
from planted_data import write_page_images, write_pdf


def folder(root: Path, *names: str) -> DocumentFolder:
    for name in names:
        path = root / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%PDF-1.4")
    return DocumentFolder(root, [root / "documents", root / "pages"])


def found(documents: DocumentFolder, doc_id: str) -> str | None:
    path = documents.find(doc_id, "row 7")
    return None if path is None else path.name


def refused(documents: DocumentFolder, doc_id: str) -> str:
    with pytest.raises(DataError) as caught:
        documents.find(doc_id, "s.json, row 7")
    assert str(caught.value).startswith("s.json, row 7: ")
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "doc_id"),
    [
        ("A b.pdf", "A b.pdf"),
        ("A b.pdf", "A b"),
        ("A b.pdf", "a_b.PDF"),
        ("A%20b.pdf", "A b.pdf"),
        ("A b.pdf", "A%20b.pdf"),
        ("A  b.pdf", "A b.pdf"),
        (unicodedata.normalize("NFD", "Café.pdf"), "Café.pdf"),
        ("Café.pdf", unicodedata.normalize("NFD", "CAFÉ.pdf")),
        ("Batman_ Death of the Family.pdf", "Batman: Death of the Family.pdf"),
        ("M_A_S_H (TV series).pdf", "M*A*S*H (TV series)"),
        ("1912.01214.pdf", "1912.01214"),
        ("STRASSE.pdf", "straße.pdf"),
    ],
)
def test_names_match_when_normalised(tmp_path: Path, name: str, doc_id: str) -> None:
    assert found(folder(tmp_path, name), doc_id) == name


@pytest.mark.parametrize("doc_id", ["A b c.pdf", "Ab.pdf", "A b.pdf.pdf.pdf", "", " "])
def test_other_names_do_not_match(tmp_path: Path, doc_id: str) -> None:
    assert found(folder(tmp_path, "A b.pdf"), doc_id) is None


def test_an_exact_name_wins(tmp_path: Path) -> None:
    documents = folder(tmp_path, "a_b.pdf", "a b.pdf", "A_B.pdf")
    assert found(documents, "a_b.pdf") == "a_b.pdf"
    assert found(documents, "A_B") == "A_B.pdf"


def test_several_equally_good_names_are_an_error(tmp_path: Path) -> None:
    message = refused(folder(tmp_path, "a_b.pdf", "a b.pdf"), "A b.pdf")
    assert "several documents (a b.pdf, a_b.pdf)" in message


def test_the_same_name_in_two_folders_is_an_error_unless_the_folder_is_named(tmp_path: Path) -> None:
    documents = folder(tmp_path, "x/a.pdf", "y/a.pdf")
    refused(documents, "a.pdf")
    assert documents.find("y/a.pdf", "row 0") == tmp_path.resolve() / "documents" / "y" / "a.pdf"


def test_page_folders_are_documents_and_pdfs_come_first(tmp_path: Path) -> None:
    write_page_images(tmp_path / "pages" / "4000001", "4000001", 2)
    documents = folder(tmp_path, "4000002.pdf")
    assert found(documents, "4000001") == "4000001"
    assert found(documents, "4000001.pdf") == "4000001"
    write_page_images(tmp_path / "pages" / "4000002", "4000002", 2)
    assert found(folder(tmp_path), "4000002") == "4000002.pdf"
    assert set(folder(tmp_path).names()) == {"4000001", "4000002", "4000002.pdf"}


ESCAPES = [
    "../secret.pdf",
    "a/../../secret.pdf",
    "..",
    "/etc/passwd",
    "//server/share.pdf",
    "C:\\secret.pdf",
    "C:secret.pdf",
    "..\\secret.pdf",
    "\\\\server\\share.pdf",
    "%2e%2e/secret.pdf",
    "..%2fsecret.pdf",
    "a\0b.pdf",
]


@pytest.mark.parametrize("doc_id", ESCAPES)
def test_names_that_could_leave_the_folder_are_refused(tmp_path: Path, doc_id: str) -> None:
    write_pdf(tmp_path / "secret.pdf")
    assert "could leave the data folder" in refused(folder(tmp_path / "data", "a.pdf"), doc_id)


@given(doc_id=st.text(alphabet="./\\ab%2eF:~\0é \udce9", max_size=12))
def test_no_name_ever_leads_out(tmp_path_factory: pytest.TempPathFactory, doc_id: str) -> None:
    root = tmp_path_factory.getbasetemp() / "hypothesis-data"
    if not root.exists():
        folder(root, "a.pdf", "b/é.pdf")
        write_pdf(root.parent / "F.pdf")
    documents = DocumentFolder(root, [root / "documents"])
    try:
        path = documents.find(doc_id, "row 0")
    except DataError:
        return
    assert path is None or path.resolve().is_relative_to((root / "documents").resolve())


def test_a_link_to_a_file_outside_is_refused(tmp_path: Path) -> None:
    outside = write_pdf(tmp_path / "outside" / "a.pdf")
    documents = tmp_path / "data" / "documents"
    documents.mkdir(parents=True)
    (documents / "a.pdf").symlink_to(outside)
    (documents / "dangling.pdf").symlink_to(tmp_path / "nowhere.pdf")
    listed = DocumentFolder(tmp_path / "data", [documents])
    assert "a link that leaves the data folder" in refused(listed, "a.pdf")
    assert "a link that leaves the data folder" in refused(listed, "dangling.pdf")


def test_a_link_inside_the_folder_is_fine(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    write_pdf(documents / "a.pdf")
    (documents / "b.pdf").symlink_to("a.pdf")
    assert found(DocumentFolder(tmp_path, [documents]), "b.pdf") == "b.pdf"


def test_a_page_image_that_is_a_link_to_outside_is_refused(tmp_path: Path) -> None:
    pages = write_page_images(tmp_path / "data" / "pages" / "d", "d", 2)
    secret = tmp_path / "secret.png"
    (pages / "d_1.png").rename(secret)
    (pages / "d_1.png").symlink_to(secret)
    refused(DocumentFolder(tmp_path / "data", [tmp_path / "data" / "pages"]), "d")


def test_linked_folders_are_not_followed(tmp_path: Path) -> None:
    write_pdf(tmp_path / "outside" / "a.pdf")
    documents = tmp_path / "data" / "documents"
    documents.mkdir(parents=True)
    (documents / "more").symlink_to(tmp_path / "outside", target_is_directory=True)
    (documents / "loop").symlink_to(documents, target_is_directory=True)
    assert DocumentFolder(tmp_path / "data", [documents]).names() == {}


def test_a_documents_folder_that_is_a_link_to_outside_is_refused(tmp_path: Path) -> None:
    write_pdf(tmp_path / "outside" / "a.pdf")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "documents").symlink_to(tmp_path / "outside", target_is_directory=True)
    with pytest.raises(DataError, match="a link that leaves the data folder"):
        DocumentFolder(tmp_path / "data", [tmp_path / "data" / "documents"])


def test_the_data_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    folder(tmp_path / "real", "a.pdf")
    (tmp_path / "data").symlink_to(tmp_path / "real", target_is_directory=True)
    listed = DocumentFolder(tmp_path / "data", [tmp_path / "data" / "documents"])
    assert found(listed, "a.pdf") == "a.pdf"


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_names_that_are_not_utf8_are_listed_in_a_printable_form(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    write_pdf(documents / "a.pdf")
    (documents / "a.pdf").rename(documents / os.fsdecode(b"caf\xe9.pdf"))
    listed = DocumentFolder(tmp_path, [documents])
    assert list(listed.names()) == ["caf\\xe9.pdf"]
    assert found(listed, "café.pdf") is None


@given(st.text(max_size=30))
def test_normalising_twice_changes_nothing_more_on_plain_names(name: str) -> None:
    if "%" not in name and not normalised_name(name).endswith(".pdf"):
        assert normalised_name(normalised_name(name)) == normalised_name(name)
