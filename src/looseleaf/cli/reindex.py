"""`looseleaf reindex`: stored vectors into another store, or documents into the page cache and an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o

if TYPE_CHECKING:
    from looseleaf.runner.executor import Executor
    from looseleaf.runner.indexing import Indexed
    from looseleaf.runner.preparing import PagesHow, Prepared

__all__ = ["reindex"]

PAGES = "pages"
"""The target that is no store of vectors: the page cache alone."""
UNUSABLE_EXIT = 1
"""Exit status when a document or page could not be used."""
NAMED = 10
"""Most problems that are printed."""


def reindex(
    target: Annotated[
        str,
        typer.Argument(
            help="What to fill: qdrant:FOLDER, qdrant:http://HOST:6333, local, or, with --docs, pages (the page cache "
            "alone)."
        ),
    ],
    source: Annotated[str, typer.Option("--from", help="Store to read.")] = "local",
    encoder: Annotated[
        str, typer.Option("--encoder", help="Only encoders whose id begins like this; all by default.")
    ] = "",
    docs: Annotated[
        Path | None,
        typer.Option("--docs", help="Folder of documents: read, rendered and indexed in place of --from."),
    ] = None,
    retriever: Annotated[
        str,
        typer.Option("--retriever", help="With --docs: whose vectors are made, e.g. dense:wordllama."),
    ] = "",
    images: Annotated[
        bool, typer.Option("--images/--no-images", help="With --docs: render the pages too.")
    ] = True,
    ocr: o.OcrOption = False,
    max_pixels: Annotated[
        int | None,
        typer.Option("--max-pixels", min=1, help="Cap of a page image, as the protocol of the run has it."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, help="With --docs: documents that are indexed at once.")
    ] = 8,
    executor: o.ExecutorOption = "local",
    ray_address: o.RayAddressOption = "",
    cache: o.CacheOption = "",
) -> None:
    """Copy the stored vectors of all documents into another store. No encoder and no document is needed.

    Documents that the target holds already are passed over, so the same command goes on after an interrupt.

    With --docs, a folder of documents is read instead: text, OCR if asked for, and images into the page cache, and
    vectors of --retriever into the target. A run over these documents then finds all of it done.
    """
    from looseleaf.errors import ConfigError

    o.use_cache(cache)
    if docs is None:
        if retriever or ocr or executor != "local" or target == PAGES:
            raise ConfigError("Reading documents needs their folder; add --docs DIR.")
        _replay(source, target, encoder)
        return
    if encoder or source != "local":
        raise ConfigError("--docs reads documents, and --from and --encoder a store; leave one of them out.")
    if (target == PAGES) == bool(retriever):
        raise ConfigError(
            "Vectors need a retriever and a store; write `reindex local --docs DIR --retriever dense:wordllama`, or "
            "`reindex pages --docs DIR` for pages alone."
        )
    _from_documents(target, docs, retriever, images, ocr, max_pixels, concurrency, executor, ray_address)


def _replay(source: str, target: str, encoder: str) -> None:
    from looseleaf.cli.console import progress_bars
    from looseleaf.errors import ConfigError
    from looseleaf.retrieval.reindex import replay
    from looseleaf.retrieval.stores import open_store, vector_root

    if source == target:
        raise ConfigError(f"Source and target are both {source}; name two different stores.")
    root = vector_root()
    with progress_bars() as draw:
        done = replay(
            open_store(source, root),
            open_store(target, root),
            encoder=encoder,
            progress=lambda finished, total: draw("reindex", finished, total),
        )
    typer.echo(f"{done.copied} documents copied, {done.held} already there ({done.pages} pages in all).")


def _from_documents(
    target: str,
    docs: Path,
    retriever: str,
    images: bool,
    ocr: bool,
    max_pixels: int | None,
    concurrency: int,
    executor: str,
    ray_address: str,
) -> None:
    from looseleaf.document import require_ocr
    from looseleaf.models.retrievers import retriever_maker
    from looseleaf.retrieval.collection import document_files
    from looseleaf.runner.executor import executor_named
    from looseleaf.runner.preparing import PagesHow

    files = document_files(docs)
    if ocr:
        require_ocr()
    spec = _with_store(retriever, target) if retriever else ""
    if spec:
        retriever_maker(spec)  # a mistake is found before hours are spent on pages
    how = PagesHow(ocr=ocr, images=images, max_pixels=max_pixels)
    with executor_named(executor, ray_address) as where:
        prepared = _prepare(files, how, executor)
        indexed = _index(files, spec, ocr, where, concurrency) if spec else []
    _tell(prepared, indexed, bool(spec))


def _with_store(retriever: str, target: str) -> str:
    """The spec with the target as its store; of a fused one, of every member that has a store."""
    import msgspec

    from looseleaf.retrieval import RetrieverSpec

    def placed(spec: RetrieverSpec) -> RetrieverSpec:
        members = tuple(map(placed, spec.members))
        stored = spec.kind.partition("-")[0] in {"dense", "late"}
        options = spec.options | ({"store": target} if stored else {})
        return msgspec.structs.replace(spec, members=members, options=options)

    return placed(RetrieverSpec.parse(retriever)).text


def _prepare(files: list[Path], how: PagesHow, executor: str) -> list[Prepared]:
    from looseleaf.cli.console import progress_bars
    from looseleaf.document import default_store
    from looseleaf.document.store import default_workers
    from looseleaf.runner.preparing import prepare_here

    store = default_store()
    if executor == "ray":
        from looseleaf.runner.executor.ray_pages import prepare_on_ray

        rows = prepare_on_ray(files, store, how)
    else:
        rows = prepare_here(files, store, how, threads=default_workers())
    done: list[Prepared] = []
    read = rendered = 0
    with progress_bars() as draw:
        for row in rows:
            done.append(row)
            read, rendered = read + row.read, rendered + row.rendered
            draw("pages", rendered if how.images else read, read)
    return done


def _index(files: list[Path], spec: str, ocr: bool, executor: Executor, concurrency: int) -> list[Indexed]:
    from looseleaf.cli.console import progress_bars
    from looseleaf.document import default_store
    from looseleaf.runner.indexing import IndexStage, index_documents

    stage = IndexStage(spec, default_store(), ocr=ocr)
    with progress_bars() as draw:
        return index_documents(files, stage, executor, concurrency=concurrency, progress=draw)


def _tell(prepared: list[Prepared], indexed: list[Indexed], has_index: bool) -> None:
    documents = {row.path for row in prepared if row.read}
    line = (
        f"{len(documents)} documents, {sum(row.read for row in prepared)} pages read, "
        f"{sum(row.rendered for row in prepared)} rendered"
    )
    if has_index:
        done = [row for row in indexed if not row.error]
        line += f"; {len(done)} documents indexed ({sum(row.pages for row in done)} pages)"
    typer.echo(f"{line}.")
    problems = [problem for row in prepared for problem in row.errors]
    problems += [row.error for row in indexed if row.error and row.path in documents]
    for problem in problems[:NAMED]:
        typer.echo(f"looseleaf: {problem}", err=True)
    if len(problems) > NAMED:
        typer.echo(f"looseleaf: {len(problems) - NAMED} more problems of this kind.", err=True)
    if problems:
        raise typer.Exit(UNUSABLE_EXIT)
