"""The OCR worker: a process with the models loaded, which sees pixels and never a file.

Apart from the page worker, as its models take more memory than a page may, and loading them takes longer
than reading a page of text. Run as `python -m looseleaf.document.ocr_worker LIMITS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .guard import cpu_seconds
from .limits import Limits
from .messages import ReadScan, Recognized, Reply
from .refusal import Broken
from .service import run

if TYPE_CHECKING:
    from .recognizer import Recognizer

__all__ = ["main"]

_BROKEN = 'does not work here ({}); run pip install --upgrade "looseleaf[ocr]", or go without OCR'


def main() -> None:
    """Load the models and serve requests for the lines of scans."""
    recognizer: list[Recognizer] = []

    def answer(request: ReadScan, limits: Limits) -> Iterator[Reply]:
        if not recognizer:
            recognizer.append(_loaded())
        before = cpu_seconds()
        lines = recognizer[0].read(request.scan)
        yield Recognized(lines, cpu_seconds() - before)

    run(answer)


def _loaded() -> Recognizer:
    try:
        from .recognizer import Recognizer

        return Recognizer()
    except MemoryError:
        raise
    except Exception as error:
        raise Broken(_BROKEN.format(f"{type(error).__name__}: {error}".splitlines()[0])) from error


if __name__ == "__main__":
    main()
