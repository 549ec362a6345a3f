"""`IndexStage`: documents into a retriever's index, one by one: text, what the encoder makes of it, and the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from looseleaf.document import Document, PageStore
from looseleaf.document.cache import cache_place
from looseleaf.errors import DocumentError, FaultError
from looseleaf.models.retrievers import retriever_maker
from looseleaf.runner.executor import Executor
from looseleaf.runner.executor.stage import Counts
from looseleaf.runner.executor.wire import enter, here
from looseleaf.runner.interrupt import Interrupt
from looseleaf.runner.manifest import StoreCounts
from looseleaf.runner.stage import StageProgress

__all__ = ["IndexJob", "IndexStage", "Indexed", "index_documents"]


class IndexJob(NamedTuple):
    """A document to be indexed."""

    path: str


class Indexed(msgspec.Struct, frozen=True):
    """What became of it.

    Attributes:
        path: the document.
        pages: its pages.
        error: why it is not in the index; empty if it is.
    """

    path: str
    pages: int = 0
    error: str = ""


class _Context(msgspec.Struct, frozen=True):
    retriever: str
    ocr: bool
    cache: str
    here: str


class IndexStage:
    """Opens documents and indexes them.

    Args:
        retriever: spec, with the store that the vectors go to.
        store: reads the pages.
        ocr: read what has no text layer by OCR.

    Raises:
        ConfigError: there is no such retriever, or it cannot be set up.
    """

    kind = "index"

    def __init__(self, retriever: str, store: PageStore, *, ocr: bool = False) -> None:
        self._spec = retriever
        self._maker = retriever_maker(retriever)
        self._store = store
        self._ocr = ocr

    @classmethod
    def of(cls, context: bytes) -> IndexStage:
        """The same stage in another process, which reads pages with one worker of its own."""
        given = msgspec.json.decode(context, type=_Context)
        enter(given.here)
        store = PageStore(cache_place(given.cache), workers=1)
        return cls(given.retriever, store, ocr=given.ocr)

    def context(self) -> bytes:
        """All that another process makes the same stage from."""
        return msgspec.json.encode(_Context(self._spec, self._ocr, self._store.place.word, here()))

    async def one(self, item: IndexJob) -> Indexed:
        """Index one document; what it holds already is not encoded again."""
        try:
            return await asyncio.to_thread(self._index, item.path)
        except (DocumentError, FaultError) as problem:
            return self.failed(item, str(problem))

    def failed(self, item: IndexJob, why: str) -> Indexed:
        """The row of a document that is not in the index."""
        return Indexed(item.path, error=why)

    def counts(self) -> Counts:
        """Pages that were read."""
        return dict(StoreCounts.of(self._store)._asdict())

    def _index(self, path: str) -> Indexed:
        document = Document.open(path, store=self._store, ocr=self._ocr)
        self._maker().index(document)
        return Indexed(path, document.page_count)


def index_documents(
    files: Sequence[Path],
    stage: IndexStage,
    executor: Executor,
    *,
    concurrency: int,
    progress: StageProgress | None = None,
) -> list[Indexed]:
    """Index documents, so many at once; what an earlier call has indexed costs a look.

    Raises:
        UserError: the retriever cannot work where the stage runs.
        KeyboardInterrupt: the user interrupted; what was in flight is indexed.
    """
    return asyncio.run(_index_all(files, stage, executor, concurrency, progress))


async def _index_all(
    files: Sequence[Path],
    stage: IndexStage,
    executor: Executor,
    concurrency: int,
    progress: StageProgress | None,
) -> list[Indexed]:
    rows: list[Indexed] = []
    queue = iter(files)
    interrupt = Interrupt()

    async def work() -> None:
        for file in queue:
            if interrupt.asked:
                return
            rows.extend(await executor.run(stage, [IndexJob(str(file))]))
            if progress:
                progress("index", len(rows), len(files))

    with interrupt.listening():
        await asyncio.gather(*(work() for _ in range(min(concurrency, len(files)))))
    if interrupt.asked:
        raise KeyboardInterrupt
    return rows
