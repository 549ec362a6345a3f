"""`PageStore`: the disk cache, the workers, and counters of the work that was really done."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
import threading
import weakref
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

import msgspec

from ..errors import DocumentError
from .cache import Cache, CachePlace, cache_place, write_atomically
from .facts import JPEG_QUALITY, DocumentFacts, PageFacts, PageImage, RenderSettings
from .hyphens import join_divided
from .limits import Limits
from .messages import Opened, Page, ReadFile, Rendered, RenderPage
from .ocr import OCR_LIMITS
from .ocr_reader import OcrReader, Progress
from .office import convert, converter_version, require_converter
from .pool import WorkerPool
from .process import WorkerLost, WorkerProcess
from .refusal import Refusal
from .source import Source, single_file
from .versions import versions

__all__ = ["PageStore", "Progress", "default_store", "default_workers"]

TEXT_VERSION = 4
"""Version of text extraction; raise it when the text of a page may change, and cached texts are read anew."""

RENDER_VERSION = 1
"""Version of rendering; raise it when the image of a page may change."""

MAX_DEFAULT_WORKERS = 4
"""Most worker processes that a store starts if it is not told how many."""

_RESAVE = "re-save the file with another program"

_stores: weakref.WeakSet[PageStore] = weakref.WeakSet()


class PageStore:
    """Reads and renders documents in worker processes and remembers the results on disk.

    Thread-safe: each worker serves one thread at a time. Several processes may share one cache folder. A
    worker starts with a request that the cache cannot answer and no running worker is free for; it ends with
    `close()`, with the process, or with a request that breaks it.

    Args:
        root: cache folder, or a place that may have a remote cache behind its folder (`cache_place`); default
            `$LOOSELEAF_CACHE`, or `looseleaf` in the platform's folder for caches.
        limits: what one page may cost.
        workers: most worker processes; default `default_workers()`.
        ocr: whether documents are read by OCR where they have no text layer, if `Document.open` is not told.
        ocr_limits: what OCR of one page may cost.

    Attributes:
        documents_opened: documents that a worker opened to read them.
        pages_extracted: pages whose text and size a worker read.
        pages_rendered: pages that a worker rendered.
        pages_recognized: pages that were read by OCR.
        ocr_cpu_seconds: processor time that OCR took.
    """

    def __init__(
        self,
        root: Path | CachePlace | None = None,
        *,
        limits: Limits | None = None,
        workers: int | None = None,
        ocr: bool = False,
        ocr_limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.ocr = ocr
        self.documents_opened = 0
        self.pages_extracted = 0
        self.pages_rendered = 0
        place = CachePlace(root) if isinstance(root, Path) else root
        self._cache = Cache.at(place or cache_place())
        self._counting = threading.Lock()
        workers = workers or default_workers()
        self._pages = WorkerPool("looseleaf.document.worker", self.limits, workers)
        self._reader = OcrReader(self._cache, self._pages, ocr_limits or OCR_LIMITS)
        _stores.add(self)

    @property
    def root(self) -> Path | None:
        """The cache folder, or `None` where there is none."""
        return self._cache.root

    @property
    def place(self) -> CachePlace:
        """The cache folder, and the remote cache behind it if there is one."""
        return self._cache.place

    @property
    def pages_recognized(self) -> int:
        """Pages that were read by OCR."""
        return self._reader.pages

    @property
    def ocr_cpu_seconds(self) -> float:
        """Processor time that OCR took."""
        return self._reader.cpu_seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepared(self, source: Source, name: str) -> Source:
        """The document's files as the workers can read them: an office file as a PDF in the cache folder.

        Raises:
            DocumentError: LibreOffice is not installed, or cannot convert it.
        """
        if source.kind != "office":
            return source
        command = require_converter(name)
        version = converter_version(command)
        path = self._office / f"{source.sha256}-{version}.pdf"
        with self._cache.lock(path.name):
            if not path.is_file():
                write_atomically(path, convert(command, Path(source.files[0]), name))
            return single_file(path, source.sha256, f"office{version}")

    @functools.cached_property
    def _office(self) -> Path:
        """Folder of converted files; in the cache, or a temporary one where there is none to write to."""
        if self.root is not None:
            folder = self.root / "office"
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                if os.access(folder, os.W_OK):
                    return folder
        scratch = tempfile.mkdtemp(prefix="looseleaf-")
        weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        return Path(scratch)

    def facts(
        self, source: Source, name: str, *, ocr: bool = False, progress: Progress | None = None
    ) -> DocumentFacts:
        """Labels, texts and sizes of all pages.

        Args:
            source: the document's files.
            name: what error messages call the document.
            ocr: read pages and pictures without text by OCR.
            progress: called after each page that OCR has looked at.

        Raises:
            DocumentError: the document cannot be used.
            ConfigError: OCR was asked for and is not installed.
        """
        key = f"text/{source.key}/{versions('pypdfium2', 'pillow')}-text{TEXT_VERSION}.msgpack"
        facts = self._cache.decoded(key, DocumentFacts)
        if facts is None:
            with self._cache.lock(key):
                facts = self._cache.decoded(key, DocumentFacts) or self._read(source, name)
                keep = self._cache.put if facts.lasting else self._cache.put_in_memory
                keep(key, msgspec.msgpack.encode(facts))
        return self._reader.read(source, facts, progress) if ocr else facts

    def image(self, source: Source, name: str, index: int, settings: RenderSettings) -> PageImage:
        """The image of the page with this 0-based index.

        Raises:
            DocumentError: the page cannot be rendered.
        """
        renderer = f"{versions('pypdfium2', 'pillow')}-render{RENDER_VERSION}"
        how = f"{settings.dpi}dpi-{settings.max_pixels}px-jpeg{JPEG_QUALITY}"
        key = f"images/{source.key}/{renderer}/{how}/{index + 1}.msgpack"
        image = self._cache.decoded(key, PageImage)
        if image is None:
            with self._cache.lock(key):
                image = self._cache.decoded(key, PageImage)
                if image is None:
                    image = self._render(source, name, index, settings)
                    self._cache.put(key, msgspec.msgpack.encode(image))
        return image

    def close(self) -> None:
        """End the workers that are running. The store can still be used."""
        self._pages.close()
        self._reader.close()

    def _read(self, source: Source, name: str) -> DocumentFacts:
        read = self._read_folder if source.folder else self._read_file
        try:
            labels, pages = read(source)
        except Refusal as refusal:
            raise DocumentError(f"{name} {refusal}.") from refusal
        except WorkerLost as loss:
            raise DocumentError(f"{name} {loss}; {_RESAVE}.") from loss
        self._count(documents=1)
        texts = join_divided(page.text for page in pages)
        joined = (msgspec.structs.replace(page, text=text) for page, text in zip(pages, texts, strict=True))
        return DocumentFacts(labels, tuple(joined))

    def _read_file(self, source: Source) -> tuple[tuple[str, ...], list[PageFacts]]:
        """All pages of one file; a page that breaks the worker is noted, and reading goes on behind it."""
        file, _ = source.locate(0)
        labels: tuple[str, ...] | None = None
        pages: list[PageFacts] = []
        while labels is None or len(pages) < len(labels):
            try:
                with self._asking(source, ReadFile(source.file_kind, file, len(pages))) as worker:
                    labels = worker.receive(Opened).labels
                    for _ in range(len(pages), len(labels)):
                        pages.append(worker.receive(Page).facts)
                        self._count(extracted=1)
            except WorkerLost as loss:
                if labels is None or not self._may_lose(pages):
                    raise
                pages.append(_lost_page(loss))
        return labels, pages

    def _read_folder(self, source: Source) -> tuple[tuple[str, ...], list[PageFacts]]:
        """One page a file; an image that cannot be used costs only its own page."""
        pages: list[PageFacts] = []
        for index in range(len(source.files)):
            file, _ = source.locate(index)
            try:
                with self._asking(source, ReadFile(source.file_kind, file, 0, 1)) as worker:
                    worker.receive(Opened)
                    pages.append(worker.receive(Page).facts)
                    self._count(extracted=1)
            except Refusal as refusal:
                pages.append(PageFacts("", 0.0, 0.0, str(refusal)))
            except WorkerLost as loss:
                if not self._may_lose(pages):
                    raise
                pages.append(_lost_page(loss))
        return ("",) * len(pages), pages

    def _may_lose(self, pages: list[PageFacts]) -> bool:
        """Whether one more page of a document may be given up without giving up the document."""
        return sum(page.passing for page in pages) < self.limits.lost_pages

    def _render(self, source: Source, name: str, index: int, settings: RenderSettings) -> PageImage:
        where = f"Page {index + 1} of {name}"
        file, index_in_file = source.locate(index)
        try:
            with self._asking(source, RenderPage(source.file_kind, file, index_in_file, settings)) as worker:
                image = worker.receive(Rendered).image
        except Refusal as refusal:
            raise DocumentError(f"{where} {refusal}.") from refusal
        except WorkerLost as loss:
            raise DocumentError(f"{where} {loss}; {_RESAVE}.") from loss
        self._count(rendered=1)
        return image

    def _asking(
        self, source: Source, request: ReadFile | RenderPage
    ) -> AbstractContextManager[WorkerProcess]:
        """Send a request about an unchanged file and lend the worker to receive the replies."""
        source.check_unchanged(request.path)
        return self._pages.asking(request)

    def _count(self, *, documents: int = 0, extracted: int = 0, rendered: int = 0) -> None:
        with self._counting:
            self.documents_opened += documents
            self.pages_extracted += extracted
            self.pages_rendered += rendered

    def _after_fork(self) -> None:
        """In a forked child: other threads may have held the locks, and the workers are the parent's."""
        self._counting = threading.Lock()
        self._pages.after_fork()
        self._reader.after_fork()
        self._cache.after_fork()


def _lost_page(loss: WorkerLost) -> PageFacts:
    return PageFacts("", 0.0, 0.0, f"{loss}; {_RESAVE}", passing=True)


def default_workers() -> int:
    """Worker processes of a store that is not told how many: one a core, at most `MAX_DEFAULT_WORKERS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_DEFAULT_WORKERS)


_default: PageStore | None = None
_default_lock = threading.Lock()


def default_store() -> PageStore:
    """The store that `Document.open` uses where none is given: one a process, in the default folder."""
    global _default
    with _default_lock:
        if _default is None:
            _default = PageStore()
        return _default


def _after_fork() -> None:
    for store in list(_stores):
        store._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
