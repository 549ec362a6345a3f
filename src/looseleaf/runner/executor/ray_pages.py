"""Filling the page cache on a Ray cluster: Ray Data carries paths and page numbers; pages go to the shared cache."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.document import PageStore
from looseleaf.document.cache import cache_place
from looseleaf.runner.executor.ray_worker import use_cache
from looseleaf.runner.executor.wire import enter, here
from looseleaf.runner.preparing import PageBatch, PagePreparer, PagesHow, Prepared

__all__ = ["prepare_on_ray"]

ROWS_A_BLOCK = 4
"""Batches of pages in one task: some two seconds of work, so that a long document spreads over the cluster."""


class _Where(msgspec.Struct, frozen=True):
    how: PagesHow
    cache: str
    here: str


def prepare_on_ray(files: Iterable[Path], store: PageStore, how: PagesHow) -> Iterator[Prepared]:
    """Prepare documents on the cluster that this process is connected to, a row for each document and each batch.

    Args:
        files: the documents, under paths that all nodes share.
        store: whose cache is filled; nodes need it too, as a shared folder or a remote cache.
        how: what is done.

    Raises:
        ConfigError: a node cannot reach the folder of the command.
    """
    import ray.data

    _be_quiet(ray.data)
    where = msgspec.json.encode(_Where(how, store.place.word, here()))
    paths = [{"path": str(file)} for file in files]
    work = (
        ray.data.from_items(paths, override_num_blocks=max(1, len(paths)))
        .flat_map(functools.partial(_read, where=where))
        .repartition(target_num_rows_per_block=ROWS_A_BLOCK)
        .map(functools.partial(_render, where=where))
    )
    for row in work.iter_rows():
        yield msgspec.msgpack.decode(row["prepared"], type=Prepared)


def _be_quiet(data: Any) -> None:
    """No progress bars and no reports on standard error: the command line has its own."""
    for name in ("ray.data", "ray.data._internal"):
        logging.getLogger(name).setLevel(logging.ERROR)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.enable_rich_progress_bars = False
    context.print_on_execution_start = False


def _read(row: dict[str, Any], *, where: bytes) -> list[dict[str, Any]]:
    """A document's text; a row for what was done and one for each batch of pages."""
    prepared, batches = _preparer(where).read(row["path"])
    done = {"first": 0, "last": 0, "path": row["path"], "prepared": msgspec.msgpack.encode(prepared)}
    return [
        done,
        *({"first": b.first, "last": b.last, "path": b.path, "prepared": b""} for b in batches),
    ]


def _render(row: dict[str, Any], *, where: bytes) -> dict[str, Any]:
    if row["prepared"]:
        return {"prepared": row["prepared"]}
    prepared = _preparer(where).render(PageBatch(row["path"], int(row["first"]), int(row["last"])))
    return {"prepared": msgspec.msgpack.encode(prepared)}


@functools.lru_cache(maxsize=1)
def _preparer(where: bytes) -> PagePreparer:
    """Made once a process, with one page worker."""
    given = msgspec.json.decode(where, type=_Where)
    enter(given.here)
    use_cache(given.cache)
    return PagePreparer(PageStore(cache_place(given.cache), workers=1), given.how)
