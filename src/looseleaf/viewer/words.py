"""Places of the words of a page, so that those of a finding can be marked on its image."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["page_words"]

SECONDS = 20
"""What reading one page may take."""
KEPT_PAGES = 256


@lru_cache(KEPT_PAGES)
def page_words(path: Path, sha256: str, page: int) -> list[list[Any]]:
    """Words with their places, see `word_worker`; none for files that are no PDF or cannot be read.

    Args:
        path: the document.
        sha256: of its content, so that a changed file is read again.
        page: physical page, 1-based.
    """
    del sha256
    if path.suffix.lower() != ".pdf":
        return []
    command = [sys.executable, "-m", "looseleaf.viewer.word_worker", str(path.resolve()), str(page - 1)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
        found: list[list[Any]] = json.loads(done.stdout) if done.returncode == 0 else []
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []
    return found
