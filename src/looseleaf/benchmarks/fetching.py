"""`fetch`: download a benchmark into the layout that its loader reads.

Annotations and documents keep their owners' licences, which the report names. What was verified: the repositories and
files below were seen in stored listings of huggingface.co and github.com; none could be downloaded while this was
written, so sizes and names may have changed since.
"""

from __future__ import annotations

import hashlib
import importlib
import shutil
import tarfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any

from looseleaf.benchmarks.registry import get_benchmark
from looseleaf.benchmarks.rows import readable
from looseleaf.errors import ConfigError, DataError, boundary

__all__ = ["RECIPES", "FetchReport", "HubFiles", "Recipe", "WebFile", "fetch"]

DOWNLOADS = ".fetch"
"""Folder below the data folder where downloads are kept until they are put in place, so that a second try resumes."""

MAX_UNPACKED_BYTES = 32 << 30
"""Most bytes that are unpacked from one archive; the largest known one holds 2.6 GB."""

TIMEOUT_SECONDS = 60
_CHUNK = 1 << 20


@dataclass(frozen=True)
class WebFile:
    """One file at a fixed address.

    Attributes:
        url: `https` address.
        target: path below the data folder.
        sha256: what its bytes must be, where the address is pinned.
    """

    url: str
    target: str
    sha256: str | None = None


@dataclass(frozen=True)
class HubFiles:
    """Files of a data set on the Hugging Face Hub.

    Attributes:
        repo_id: owner and name.
        files: file name pattern to its place below the data folder; a place that ends in `/` is a folder, into
            which archives (`.tar.gz`, `.zip`) are unpacked and other files are moved.
        documents: whether these are documents, which `fetch(..., documents=False)` leaves out.
    """

    repo_id: str
    files: Mapping[str, str]
    documents: bool


@dataclass(frozen=True)
class Recipe:
    """Where a benchmark comes from.

    Attributes:
        web: single files.
        hub: files of data sets on the Hub.
        licence: terms of the data, as their owners state them.
    """

    licence: str
    web: tuple[WebFile, ...] = ()
    hub: tuple[HubFiles, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FetchReport:
    """What `fetch` did.

    Attributes:
        name: canonical benchmark name.
        placed: files written, below the data folder.
        kept: files that were there already and were left alone.
        annotations: sha256 of the annotation files placed.
        licence: terms of the data.
    """

    name: str
    placed: tuple[str, ...]
    kept: tuple[str, ...]
    annotations: Mapping[str, str]
    licence: str


_UDA_LICENCE = "UDA: CC BY-SA 4.0; the documents stay their authors' own"


def _mdocagent(folder: str, target: str, archive: str) -> Recipe:
    return Recipe(
        licence=_UDA_LICENCE,
        hub=(
            HubFiles("Lillianwei/Mdocagent-dataset", {f"{folder}/samples.json": target}, documents=False),
            HubFiles("qinchuanhui/UDA-QA", {f"src_doc_files/{archive}": "documents/"}, documents=True),
        ),
    )


RECIPES: Mapping[str, Recipe] = {
    "mmlongbench-doc": Recipe(
        licence="data CC BY-NC 4.0, research use; the documents stay their owners' own",
        web=(
            # The Hub's copy of the rows is the 1,091-row release; the leaderboard uses this one.
            WebFile(
                "https://raw.githubusercontent.com/mayubo2333/MMLongBench-Doc/a5cf967/data/samples.json",
                "samples.json",
                "4ffadad60b18cd7ede864155f3e8a366fe4deec2189b3d0a25691b7df4b839e8",
            ),
        ),
        hub=(HubFiles("yubo2333/MMLongBench-Doc", {"documents/*.pdf": "documents/"}, documents=True),),
    ),
    "longdocurl": Recipe(
        licence="Apache-2.0 by the data card; the documents come from Common Crawl and stay their owners' own",
        hub=(
            HubFiles(
                "dengchao/LongDocURL",
                {
                    "LongDocURL_public_with_subtask_category.jsonl": "LongDocURL_public_with_subtask_category.jsonl"
                },
                documents=False,
            ),
            HubFiles("dengchao/LongDocURL", {"pdf_files.tar.gz": "documents/"}, documents=True),
        ),
    ),
    "papertab": _mdocagent("PaperTab", "PaperTab_samples.json", "paper_docs.zip"),
    "papertext": _mdocagent("PaperText", "PaperText_samples.json", "paper_docs.zip"),
    "fetatab": _mdocagent("FetaTab", "FetaTab_samples.json", "wiki_feta_docs.zip"),
}
"""Recipes by canonical benchmark name."""

_BY_HAND: Mapping[str, str] = {
    "dude": "get the ground truth from the DUDE competition page and the PDFs from the Hub's jordyvl/DUDE_loader "
    "(DUDE_train-val-test_binaries.tar.gz, 11.5 GB), and put the PDFs into documents/",
    "dude-sub": "fetch DUDE by hand as its page says, and give your own id file",
    "doc-750k": "it takes about 1.5 TB; download OpenGVLab/Doc-750K with huggingface-cli and unzip its images",
    "procedural": 'make the documents with "looseleaf data make"',
}


def fetch(
    name: str, data: Path, *, mirror: Path | None = None, endpoint: str | None = None, documents: bool = True
) -> FetchReport:
    """Download a benchmark into `data`. Files that are there already are left alone.

    Args:
        name: a benchmark's name.
        data: folder to fill; made if absent.
        mirror: a folder to copy from instead of the network: `<owner>/<name>/<file>` for the Hub, and
            `<host>/<path>` for single files.
        endpoint: address of a Hub mirror.
        documents: also fetch the documents, which may be gigabytes.

    Raises:
        ConfigError: the benchmark cannot be fetched, or `huggingface_hub` is not installed.
        DataError: a download failed or is not what it should be.
    """
    canonical = get_benchmark(name).name
    recipe = RECIPES.get(canonical)
    if recipe is None:
        raise ConfigError(f"{canonical} cannot be fetched automatically: {_BY_HAND[canonical]}.")
    data = Path(data)
    data.mkdir(parents=True, exist_ok=True)
    place = _Placer(data)
    for file in recipe.web:
        place.file(_web(file, data, mirror), file.target)
    for files in recipe.hub:
        if documents or not files.documents:
            _place_hub(files, _hub(files, data, mirror, endpoint), place)
    shutil.rmtree(data / DOWNLOADS, ignore_errors=True)
    return FetchReport(
        name=canonical,
        placed=tuple(place.placed),
        kept=tuple(place.kept),
        annotations={name: place.hashes[name] for name in place.placed if "/" not in name},
        licence=recipe.licence,
    )


@dataclass
class _Placer:
    """Puts files below the data folder, never over existing ones."""

    data: Path
    placed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)

    def file(self, source: Path, target: str) -> None:
        """Copy `source` to `target`."""
        with source.open("rb") as stream:
            self.stream(stream, target)

    def stream(self, stream: IO[bytes], target: str) -> None:
        """Write a stream to `target`, whole or not at all."""
        path = self.data / target
        if path.exists():
            self.kept.append(target)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        digest = hashlib.sha256()
        with partial.open("wb") as out:
            for chunk in iter(lambda: stream.read(_CHUNK), b""):
                out.write(chunk)
                digest.update(chunk)
        partial.replace(path)
        self.placed.append(target)
        self.hashes[target] = digest.hexdigest()


def _web(file: WebFile, data: Path, mirror: Path | None) -> Path:
    parts = urllib.parse.urlsplit(file.url)
    if mirror is not None:
        path = mirror / parts.netloc / parts.path.lstrip("/")
        if not path.is_file():
            raise DataError(f"the mirror {mirror} lacks {parts.netloc}{parts.path}; add the file.")
    else:
        path = data / DOWNLOADS / PurePosixPath(parts.path).name
        path.parent.mkdir(parents=True, exist_ok=True)
        with boundary(DataError, f"{file.url} cannot be downloaded; check the network and try again"):
            _download(file.url, path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if file.sha256 is not None and found != file.sha256:
        raise DataError(
            f"{file.url} has sha256 {found[:12]}…, expected {file.sha256[:12]}…; download it by hand and check it."
        )
    return path


def _download(url: str, path: Path) -> None:
    if not url.startswith("https://"):
        raise ConfigError(f"{url} is no https address; use one.")
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response, path.open("wb") as out:  # noqa: S310
        shutil.copyfileobj(response, out)


def _hub(files: HubFiles, data: Path, mirror: Path | None, endpoint: str | None) -> Path:
    """The folder that holds the downloaded files of a data set."""
    if mirror is not None:
        folder = mirror / files.repo_id
        if not folder.is_dir():
            raise DataError(f"the mirror {mirror} has no folder {files.repo_id}; add the data set's files.")
        return folder
    folder = data / DOWNLOADS / files.repo_id
    snapshot_download = _snapshot_download()
    with boundary(
        DataError, f"the data set {files.repo_id} cannot be downloaded; check the network and try again"
    ):
        snapshot_download(
            repo_id=files.repo_id,
            repo_type="dataset",
            allow_patterns=list(files.files),
            local_dir=folder,
            endpoint=endpoint,
        )
    return folder


def _snapshot_download() -> Callable[..., Any]:
    try:
        hub = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise ConfigError(
            'fetching needs huggingface_hub; install it with: pip install "looseleaf[data]", or give a mirror folder.'
        ) from error
    download: Callable[..., Any] = hub.snapshot_download
    return download


def _place_hub(files: HubFiles, folder: Path, place: _Placer) -> None:
    for pattern, target in files.files.items():
        matching = [
            path for path in _below(folder) if fnmatchcase(path.relative_to(folder).as_posix(), pattern)
        ]
        if not matching:
            raise DataError(f"the data set {files.repo_id} has no file {pattern} any more; fetch it by hand.")
        for path in matching:
            _place_one(path, target, place)


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _place_one(path: Path, target: str, place: _Placer) -> None:
    if not target.endswith("/"):
        place.file(path, target)
    elif path.name.endswith((".tar.gz", ".tgz", ".tar", ".zip")):
        with boundary(DataError, f"the archive {path.name} cannot be unpacked; download it again"):
            for name, stream in _members(path):
                place.stream(stream, target + name)
    else:
        place.file(path, target + path.name)


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Plain PDF name and content of each PDF in an archive, whatever folder it lies in there."""
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if _is_pdf(info.filename) and not info.is_dir()]
            _refuse_bomb(path, sum(info.file_size for info in members))
            for info in members:
                with archive.open(info) as stream:
                    yield PurePosixPath(info.filename).name, stream
        return
    unpacked = 0
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() and _is_pdf(member.name) else None
            if content is not None:
                unpacked += member.size
                _refuse_bomb(path, unpacked)
                yield PurePosixPath(member.name).name, content


def _is_pdf(name: str) -> bool:
    # macOS archives carry a shadow file "._name.pdf" for each file.
    return name.lower().endswith(".pdf") and not PurePosixPath(name).name.startswith("._")


def _refuse_bomb(path: Path, size: int) -> None:
    if size > MAX_UNPACKED_BYTES:
        raise DataError(
            f"{readable(path.name)} unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB; unpack it by hand."
        )
