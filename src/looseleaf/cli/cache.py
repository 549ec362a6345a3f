"""`looseleaf cache`: how large the cache is, its limit, and clearing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.document.cache_folder import CacheFolder

__all__ = ["cache"]

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)


def cache(
    limit: Annotated[
        str | None,
        typer.Option("--limit", metavar="SIZE", help="Most that pages may take, e.g. 5GB, or none."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all pages; replies of models stay.")] = False,
    clear_replies: Annotated[
        bool,
        typer.Option("--clear-replies", help="Remove the replies of models: asking again may cost money."),
    ] = False,
) -> None:
    """Show what the cache holds; set its limit, or clear it.

    The pages that were not used longest go first. The folder is $LOOSELEAF_CACHE, or looseleaf in the platform's
    folder for caches; where that is an address like s3://bucket/folder, $LOOSELEAF_CACHE_LOCAL names the folder.
    """
    from looseleaf.document.cache import cache_place
    from looseleaf.document.cache_folder import PAGE_KINDS, CacheFolder

    root, remote = cache_place()
    if root is None:
        raise ConfigError("There is no home directory for a cache; set LOOSELEAF_CACHE to a folder.")
    folder = CacheFolder(root)
    removed = 0
    if limit is not None:
        folder.set_limit(_bytes(limit))
        removed += folder.trim()
    if clear:
        removed += folder.clear(PAGE_KINDS)
    if clear_replies:
        removed += folder.clear(["replies"])
    _show(folder, remote)
    if limit is not None or clear or clear_replies:
        typer.echo(f"{_size(removed)} removed.")


def _show(folder: CacheFolder, remote: str) -> None:
    from looseleaf.document.cache_folder import KINDS

    typer.echo(
        f"{folder.root}"
        + (f", and behind it {remote}, which is neither counted nor cleared" if remote else "")
    )
    for kind, usage in folder.usage().items():
        typer.echo(f"  {KINDS[kind]:24} {usage.files:>9,} files {_size(usage.bytes):>10}")
    allowed = "no limit" if folder.limit is None else f"at most {_size(folder.limit)}"
    typer.echo(f"  pages: {allowed} (--limit)")


def _bytes(text: str) -> int | None:
    if text.strip().lower() == "none":
        return None
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ConfigError(f"--limit {text} is no size; write it like 500MB or 5GB, or none.")
    return int(float(match[1]) * UNITS[match[2].upper()])


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"
