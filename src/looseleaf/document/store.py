"""`PageStore`: the disk cache, the worker, and counters of the work that was really done."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from ..errors import DocumentError
from .cache import Cache, default_root
from .facts import JPEG_QUALITY, DocumentFacts, PageFacts, PageImage, RenderSettings
from .hyphens import join_divided
from .limits import Limits
from .messages import Opened, Page, ReadFile, Rendered, RenderPage, Request
from .process import WorkerLost, WorkerProcess
from .refusal import Refusal
from .source import Source

__all__ = ["PageStore", "default_store"]

TEXT_VERSION = 4
"""Version of text extraction; raise it when the text of a page may change, and cached texts are read anew."""

RENDER_VERSION = 1
"""Version of rendering; raise it when the image of a page may change."""

_RESAVE = "re-save the file with another program"

T = TypeVar("T")

_stores: weakref.WeakSet[PageStore] = weakref.WeakSet()


class PageStore:
    """Reads and renders documents in a worker process and remembers the results on disk.

    Thread-safe. Several processes may share one cache folder. The worker starts with the first request that
    the cache cannot answer and ends with `close()`, with the process, or with a request that breaks it; the
    next request starts a fresh one.

    Args:
        root: cache folder; default `$LOOSELEAF_CACHE`, or `looseleaf` in the platform's folder for caches.
        limits: what one page may cost.

    Attributes:
        documents_opened: documents that the worker opened to read them.
        pages_extracted: pages whose text and size the worker read.
        pages_rendered: pages that the worker rendered.
    """

    def __init__(self, root: Path | None = None, *, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.documents_opened = 0
        self.pages_extracted = 0
        self.pages_rendered = 0
        self._cache = Cache(root or default_root())
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        _stores.add(self)

    @property
    def root(self) -> Path | None:
        """The cache folder, or `None` where there is none."""
        return self._cache.root

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def facts(self, source: Source, name: str) -> DocumentFacts:
        """Labels, texts and sizes of all pages; `name` is what error messages call the document.

        Raises:
            DocumentError: the document cannot be used.
        """
        key = f"text/{source.sha256}/{_versions()}-text{TEXT_VERSION}.msgpack"
        facts = _decode(self._cache.get(key), DocumentFacts)
        if facts is None:
            with self._lock:
                facts = _decode(self._cache.get(key), DocumentFacts) or self._read(source, name)
                keep = self._cache.put if facts.lasting else self._cache.put_in_memory
                keep(key, msgspec.msgpack.encode(facts))
        return facts

    def image(self, source: Source, name: str, index: int, settings: RenderSettings) -> PageImage:
        """The image of the page with this 0-based index.

        Raises:
            DocumentError: the page cannot be rendered.
        """
        renderer = f"{_versions()}-render{RENDER_VERSION}"
        how = f"{settings.dpi}dpi-{settings.max_pixels}px-jpeg{JPEG_QUALITY}"
        key = f"images/{source.sha256}/{renderer}/{how}/{index + 1}.msgpack"
        image = _decode(self._cache.get(key), PageImage)
        if image is None:
            with self._lock:
                image = _decode(self._cache.get(key), PageImage) or self._render(
                    source, name, index, settings
                )
                self._cache.put(key, msgspec.msgpack.encode(image))
        return image

    def close(self) -> None:
        """End the worker, if one is running. The store can still be used."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker:
                worker.close()

    def _read(self, source: Source, name: str) -> DocumentFacts:
        read = self._read_folder if source.folder else self._read_file
        try:
            labels, pages = read(source)
        except Refusal as refusal:
            raise DocumentError(f"{name} {refusal}.") from refusal
        except WorkerLost as loss:
            raise DocumentError(f"{name} {loss}; {_RESAVE}.") from loss
        self.documents_opened += 1
        texts = join_divided(page.text for page in pages)
        joined = (msgspec.structs.replace(page, text=text) for page, text in zip(pages, texts, strict=True))
        return DocumentFacts(labels, tuple(joined))

    def _read_file(self, source: Source) -> tuple[tuple[str, ...], list[PageFacts]]:
        """All pages of one file; a page that breaks the worker is noted, and reading goes on behind it."""
        labels: tuple[str, ...] | None = None
        pages: list[PageFacts] = []
        while labels is None or len(pages) < len(labels):
            try:
                with self._asking(source, ReadFile(source.kind, source.files[0], len(pages))) as worker:
                    labels = worker.receive(Opened).labels
                    for _ in range(len(pages), len(labels)):
                        pages.append(worker.receive(Page).facts)
                        self.pages_extracted += 1
            except WorkerLost as loss:
                if labels is None or not self._may_lose(pages):
                    raise
                pages.append(_lost_page(loss))
        return labels, pages

    def _read_folder(self, source: Source) -> tuple[tuple[str, ...], list[PageFacts]]:
        """One page a file; an image that cannot be used costs only its own page."""
        pages: list[PageFacts] = []
        for file in source.files:
            try:
                with self._asking(source, ReadFile(source.kind, file, 0, 1)) as worker:
                    worker.receive(Opened)
                    pages.append(worker.receive(Page).facts)
                    self.pages_extracted += 1
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
            with self._asking(source, RenderPage(source.kind, file, index_in_file, settings)) as worker:
                image = worker.receive(Rendered).image
        except Refusal as refusal:
            raise DocumentError(f"{where} {refusal}.") from refusal
        except WorkerLost as loss:
            raise DocumentError(f"{where} {loss}; {_RESAVE}.") from loss
        self.pages_rendered += 1
        return image

    @contextlib.contextmanager
    def _asking(self, source: Source, request: Request) -> Iterator[WorkerProcess]:
        """Send a request and lend the worker to receive the replies.

        The worker is kept only if all that it sends has been received: a pipe that is out of step, after
        an interrupt say, would answer the next request with the last one's page.
        """
        source.check_unchanged(request.path)
        worker, self._worker = self._worker, None
        if worker and not worker.alive:
            worker.kill()
            worker = None
        worker = worker or WorkerProcess(self.limits)
        try:
            worker.send(request)
            yield worker
        except Refusal:
            self._worker = worker
            raise
        except BaseException:
            worker.kill()
            raise
        self._worker = worker

    def _after_fork(self) -> None:
        """In a forked child: another thread may have held the lock, and the worker is the parent's."""
        self._lock = threading.Lock()
        self._worker = None
        self._cache.after_fork()


def _lost_page(loss: WorkerLost) -> PageFacts:
    return PageFacts("", 0.0, 0.0, f"{loss}; {_RESAVE}", passing=True)


def _decode(value: bytes | None, kind: type[T]) -> T | None:
    """A cached value, or `None` where there is none of this shape."""
    if value is None:
        return None
    try:
        return msgspec.msgpack.decode(value, type=kind)
    except msgspec.MsgspecError:
        return None


@functools.cache
def _versions() -> str:
    """What a cached page depends on besides its file."""
    return "-".join(f"{name}{importlib.metadata.version(name)}" for name in ("pypdfium2", "pillow"))


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
