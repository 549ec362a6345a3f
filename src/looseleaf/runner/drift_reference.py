"""The replies on the drift items that outlive runs: pinned by the first replay, later ones beside them.

They belong to an extractor or judge, not to a run, so they lie in the user's cache folder (emptying the cache leaves
them there) or in a file that the user names, which may be passed on to others together with a table of results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from looseleaf.document.cache import default_root
from looseleaf.errors import ConfigError
from looseleaf.runstore import Ledger
from looseleaf.scoring.drift import PinnedReply, drift_items

__all__ = ["FRESH", "DriftReference", "reference_path"]

FRESH = timedelta(hours=24)
"""For so long a replay counts as today's: several runs scored on one day share it, and one that broke off goes on."""
FOLDER = "drift"


def reference_path(named: str, reference_id: str) -> Path:
    """The file that the user named, or that of this reference in the cache folder.

    Raises:
        ConfigError: it cannot be written.
    """
    root = default_root()
    if not named and root is None:
        raise ConfigError(
            "There is no home directory to keep pinned replies in; name a file with --drift-reference, or use "
            "--no-drift."
        )
    path = Path(named) if named else Path(str(root)) / FOLDER / f"{reference_id}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644))
    except OSError as problem:
        raise ConfigError(
            f"Pinned replies cannot be kept in {path} ({problem.strerror}); name another file with --drift-reference, "
            "or use --no-drift."
        ) from problem
    return path


class DriftReference:
    """The replies of one extractor or judge in a file that may hold those of others too.

    Args:
        path: the file.
        reference_id: whose replies.

    Raises:
        RunError: a line of the file cannot be read.
    """

    def __init__(self, path: Path, reference_id: str) -> None:
        self.ledger = Ledger(path, PinnedReply, fsync=False)
        self._reference_id = reference_id
        self._rows = self._read()

    def _read(self) -> list[PinnedReply]:
        return [row for row in self.ledger.read() if row.reference == self._reference_id]

    def reload(self) -> None:
        """Read what has been appended since."""
        self._rows = self._read()

    def pinned(self) -> dict[str, PinnedReply]:
        """The first reply on each item that has a text."""
        first: dict[str, PinnedReply] = {}
        for row in self._rows:
            if row.text is not None:
                first.setdefault(row.item_id, row)
        return first

    def replies(self, replay: str) -> dict[str, PinnedReply]:
        """The last row of each item in one replay."""
        return {row.item_id: row for row in self._rows if row.replay == replay}

    def replay_of(self, now: datetime) -> str:
        """The latest replay if it is fresh, else a new one that begins now."""
        latest = max((row.replay for row in self._rows), default="")
        fresh = latest and now - datetime.fromisoformat(latest) < FRESH
        return latest if fresh else now.isoformat(timespec="microseconds")

    def missing(self, replay: str) -> list[str]:
        """Items that have no text in a replay."""
        replies: Mapping[str, PinnedReply] = self.replies(replay)
        done = {item_id for item_id, row in replies.items() if row.text is not None}
        return [item.item_id for item in drift_items() if item.item_id not in done]
