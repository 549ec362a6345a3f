"""`looseleaf reindex`: stored vectors into another store."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["reindex"]


def reindex(
    target: Annotated[
        str, typer.Argument(help="Store to fill: qdrant:FOLDER, qdrant:http://HOST:6333, or local.")
    ],
    source: Annotated[str, typer.Option("--from", help="Store to read.")] = "local",
    encoder: Annotated[
        str, typer.Option("--encoder", help="Only encoders whose id begins like this; all by default.")
    ] = "",
) -> None:
    """Copy the stored vectors of all documents into another store. No encoder and no document is needed.

    Documents that the target holds already are passed over, so the same command goes on after an interrupt.
    """
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
