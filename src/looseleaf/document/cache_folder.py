"""`CacheFolder`: how large the cache on disk is, and how it is kept within its limit."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import ConfigError

__all__ = ["DEFAULT_LIMIT", "KINDS", "PAGE_KINDS", "CacheFolder", "Usage"]

KINDS = {
    "text": "texts of documents",
    "images": "rendered pages",
    "ocr": "lines read by OCR",
    "office": "converted office files",
    "vectors": "vectors of pages",
    "replies": "replies of models",
}
"""Folders of a cache. All but the replies count towards the limit: those cannot be made again for nothing."""

PAGE_KINDS = tuple(kind for kind in KINDS if kind != "replies")

DEFAULT_LIMIT = 20 << 30
"""Bytes that pages may take if no limit is set: about 100,000 rendered pages of 209 kB."""

_TRIMMED_SHARE = 0.9
"""Share of the limit that is left after trimming, so that it is not needed again at once."""

_ABANDONED_SECONDS = 3600.0
"""Age from which a half-written file is one whose writer was killed."""

_LIMIT_FILE = "limit"
_CHECKED_FILE = "checked"
_NO_LIMIT = "none"
_PART = ".part-"


class Usage(NamedTuple):
    """Number and size of the files of one kind."""

    files: int
    bytes: int


class _Entry(NamedTuple):
    used: float
    size: int
    path: str


class CacheFolder:
    """The folder of a `Cache`; safe while other processes use it, as a file that is gone is only a miss."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def limit(self) -> int | None:
        """Bytes that pages may take; `None` without a limit."""
        try:
            text = (self.root / _LIMIT_FILE).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return DEFAULT_LIMIT
        if text == _NO_LIMIT:
            return None
        return int(text) if text.isdecimal() else DEFAULT_LIMIT

    def set_limit(self, limit: int | None) -> None:
        """Set the limit for all who use the folder.

        Raises:
            ConfigError: the folder cannot be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            (self.root / _LIMIT_FILE).write_text(_NO_LIMIT if limit is None else str(limit))
        except OSError as error:
            raise ConfigError(
                f"The limit cannot be kept in {self.root} ({error.strerror}); check its permissions."
            ) from error

    @property
    def unchecked_seconds(self) -> float:
        """How long ago it was trimmed."""
        try:
            return time.time() - (self.root / _CHECKED_FILE).stat().st_mtime
        except OSError:
            return float("inf")

    def usage(self) -> dict[str, Usage]:
        """Files of each kind."""
        used: dict[str, Usage] = {}
        for kind in KINDS:
            sizes = [entry.size for entry in self._entries([kind])]
            used[kind] = Usage(len(sizes), sum(sizes))
        return used

    def trim(self) -> int:
        """Remove the pages that were not used longest until all are within the limit; returns the bytes removed.

        Files that a killed process has left half-written go as well.
        """
        with contextlib.suppress(OSError):
            (self.root / _CHECKED_FILE).touch()
        limit = self.limit
        found = list(self._entries(PAGE_KINDS))
        entries = [entry for entry in found if not _abandoned(entry)]
        removed = _remove(entry for entry in found if _abandoned(entry))
        total = sum(entry.size for entry in entries)
        if limit is None or total <= limit:
            return removed
        return removed + _remove(_oldest(entries, total - int(limit * _TRIMMED_SHARE)))

    def clear(self, kinds: Iterable[str] = PAGE_KINDS) -> int:
        """Remove all files of these kinds; returns the bytes removed."""
        removed = _remove(self._entries(kinds))
        for kind in kinds:
            for folder, _, _ in os.walk(self.root / kind, topdown=False):
                with contextlib.suppress(OSError):  # somebody has just put something into it
                    Path(folder).rmdir()
        return removed

    def _entries(self, kinds: Iterable[str]) -> Iterator[_Entry]:
        for kind in kinds:
            for folder, _, names in os.walk(self.root / kind):
                for name in names:
                    path = Path(folder, name)
                    with contextlib.suppress(OSError):
                        status = path.stat()
                        yield _Entry(status.st_mtime, status.st_size, str(path))


def _abandoned(entry: _Entry) -> bool:
    return Path(entry.path).name.startswith(_PART) and time.time() - entry.used > _ABANDONED_SECONDS


def _oldest(entries: list[_Entry], excess: int) -> Iterator[_Entry]:
    """The entries that were not used longest, of this size together."""
    for entry in sorted(entries):
        if excess <= 0:
            return
        excess -= entry.size
        yield entry


def _remove(entries: Iterable[_Entry]) -> int:
    removed = 0
    for entry in entries:
        with contextlib.suppress(OSError):
            Path(entry.path).unlink()
            removed += entry.size
    return removed
