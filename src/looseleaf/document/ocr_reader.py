"""`OcrReader`: reads the pages and pictures of a document that have no text layer, each of them once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from ..errors import ConfigError
from .cache import Cache
from .facts import DocumentFacts, OcrLine, OcrPage, PageFacts
from .hyphens import join_divided
from .limits import Limits
from .messages import ReadScan, Recognized, Scan, Scanned, ScanPage
from .ocr import has_text_layer, require_ocr, with_ocr
from .pool import WorkerPool
from .process import WorkerLost
from .refusal import Broken, Refusal
from .source import Source
from .versions import versions

__all__ = ["OcrReader", "Progress"]

OCR_VERSION = 2
"""Version of what is given to the engine and kept of it; raise it, and pages are read anew."""

LAYOUT_VERSION = 2
"""Version of how lines become text; raise it when the text of a page may change, and it is laid out anew."""

_GIVEN_UP = "was not read by OCR, as too many pages before it exceeded its limits"

Progress = Callable[[int, int], None]
"""Called with the number of finished pages and of all pages."""


class _Job(NamedTuple):
    """A document that is being read."""

    source: Source
    facts: DocumentFacts
    key: str
    lost: list[int]
    """Pages that exceeded the limits."""


class OcrReader:
    """Sends pixels from the page workers to the OCR workers and keeps the lines.

    The page worker sees the file and no models; the OCR worker sees pixels and no file. The lines of each
    page are kept on disk as soon as they are known, so that an interrupted document goes on where it
    stopped, and two processes share the pages of one document.

    Args:
        cache: where lines and texts are kept.
        pages: page workers.
        limits: what OCR of one page may cost.

    Attributes:
        pages: pages that were read by OCR.
        cpu_seconds: processor time that it took.
    """

    def __init__(self, cache: Cache, pages: WorkerPool, limits: Limits) -> None:
        self.pages = 0
        self.cpu_seconds = 0.0
        self._cache = cache
        self._limits = limits
        self._scanners = pages
        self._readers = WorkerPool("looseleaf.document.ocr_worker", limits, pages.size)
        self._counting = threading.Lock()

    def read(self, source: Source, facts: DocumentFacts, progress: Progress | None) -> DocumentFacts:
        """The facts of a document with what OCR reads on its pages.

        Raises:
            ConfigError: OCR is not installed, or does not work here.
            DocumentError: the file has changed since it was opened.
        """
        require_ocr()
        engine = f"{versions('pypdfium2', 'pillow', 'rapidocr', 'onnxruntime')}-ocr{OCR_VERSION}"
        key = f"text/{source.key}/{engine}-layout{LAYOUT_VERSION}.msgpack"
        whole = self._cache.decoded(key, DocumentFacts)
        if whole is None:
            job = _Job(source, facts, f"ocr/{source.key}/{engine}", [])
            whole = DocumentFacts(facts.labels, _joined(self._all(job, progress)))
            keep = self._cache.put if whole.lasting else self._cache.put_in_memory
            keep(key, msgspec.msgpack.encode(whole))
        return whole

    def close(self) -> None:
        """End the OCR workers that are running."""
        self._readers.close()

    def after_fork(self) -> None:
        """In a forked child: other threads may have held the locks, and the workers are the parent's."""
        self._counting = threading.Lock()
        self._readers.after_fork()

    def _all(self, job: _Job, progress: Progress | None) -> list[PageFacts]:
        """All pages: first those that nobody else is reading, then those that somebody was."""
        found: dict[int, PageFacts] = {}
        total = len(job.facts.pages)
        for wait in (False, True):
            rest = [index for index in range(total) if index not in found]
            for index, page in zip(rest, self._each(job, rest, wait), strict=True):
                if page is not None:
                    found[index] = page
                    if progress:
                        progress(len(found), total)
        self._readers.close()  # the models take 650 MB
        return [found[index] for index in range(total)]

    def _each(self, job: _Job, rest: list[int], wait: bool) -> Iterable[PageFacts | None]:
        executor = ThreadPoolExecutor(self._readers.size, "looseleaf-ocr")
        try:
            yield from executor.map(lambda index: self._page(job, index, wait), rest)
        finally:
            executor.shutdown(cancel_futures=True)

    def _page(self, job: _Job, index: int, wait: bool) -> PageFacts | None:
        """One page with what OCR reads on it; `None` if another thread or process is reading it."""
        page = job.facts.pages[index]
        if page.problem:
            return page  # what broke one worker would break the next
        key = f"{job.key}/{index + 1}.msgpack"
        read = self._cache.decoded(key, OcrPage)
        if read is None:
            with self._cache.lock(key, wait=wait) as held:
                if not held:
                    return None
                read = self._cache.decoded(key, OcrPage) or self._recognized(job, index)
                if not read.passing:
                    self._cache.put(key, msgspec.msgpack.encode(read))
        return with_ocr(page, read)

    def _recognized(self, job: _Job, index: int) -> OcrPage:
        if len(job.lost) > self._limits.lost_pages:
            return OcrPage((), _GIVEN_UP, passing=True)
        try:
            scans = self._scans(job, index)
            lines = [line for scan in scans for line in self._lines(scan)]
        except Broken as broken:
            raise ConfigError(f"OCR {broken}.") from broken
        except Refusal as refusal:
            return OcrPage((), f"{refusal}", passing=True)
        except WorkerLost as loss:
            job.lost.append(index)
            return OcrPage((), f"{loss}, when it was read by OCR", passing=True)
        with self._counting:
            self.pages += bool(scans)
        return OcrPage(tuple(lines))

    def _scans(self, job: _Job, index: int) -> tuple[Scan, ...]:
        file, index_in_file = job.source.locate(index)
        job.source.check_unchanged(file)
        whole = not has_text_layer(job.facts.pages[index])
        try:
            with self._scanners.asking(ScanPage(job.source.file_kind, file, index_in_file, whole)) as worker:
                return worker.receive(Scanned).scans
        except Refusal:
            return ()  # nothing to see, which is no fault of the text

    def _lines(self, scan: Scan) -> tuple[OcrLine, ...]:
        with self._readers.asking(ReadScan(scan)) as worker:
            reply = worker.receive(Recognized)
        with self._counting:
            self.cpu_seconds += reply.cpu_seconds
        return reply.lines


def _joined(pages: list[PageFacts]) -> tuple[PageFacts, ...]:
    texts = join_divided(page.text for page in pages)
    return tuple(msgspec.structs.replace(page, text=text) for page, text in zip(pages, texts, strict=True))
