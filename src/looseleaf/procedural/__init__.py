"""Generated documents: endless long PDFs with questions whose answers and evidence pages are exact.

`make` writes a folder that any reader of MMLongBench-Doc opens, and beside it `truth.json` with everything
that the generator knows. It needs `pip install "looseleaf[procedural]"`; nothing of that is imported before.
See docs/design/procedural.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from looseleaf.errors import ConfigError
from looseleaf.procedural.splits import Split

if TYPE_CHECKING:
    from looseleaf.procedural.manifest import Manifest
    from looseleaf.procedural.style import FormKind

__all__ = ["KINDS", "make"]

KINDS: tuple[FormKind, ...] = ("report", "paper", "slides", "manual", "form")
"""Every kind of document."""


def make(
    out: Path,
    *,
    documents: int,
    seed: int,
    split: Split,
    difficulty: float = 0.5,
    kinds: Sequence[FormKind] | Mapping[FormKind, float] = KINDS,
    questions: int = 8,
    twins: bool = False,
) -> Manifest:
    """Write generated documents with questions: `samples.json`, `documents/` and `truth.json`.

    The same arguments and the same versions of looseleaf, reportlab, pypdfium2 and Pillow give the same bytes.
    Document i does not depend on how many documents are made. No name, date, code or number of three digits
    or more, and no wording of a question, belongs to two splits.

    Args:
        out: new or empty folder.
        documents: how many documents.
        seed: everything is drawn from it, together with the split.
        split: `train`, `rl` or `test`.
        difficulty: 0 to 1; longer documents, more look-alike tables, charts without printed values, pictures
            and scanned pages, and more questions over several pages.
        kinds: kinds of documents, in their usual shares or with weights of one's own.
        questions: how many questions a document gets; a short one may give fewer.
        twins: write for every question a document whose evidence differs (`twins/changed`) and one in which
            something else differs (`twins/control`).

    Raises:
        ConfigError: an option is out of range, or the extra is not installed.
        DataError: the folder holds files or cannot be written.
    """
    try:
        import reportlab  # noqa: F401 - only to say what is missing before anything is written
    except ImportError as error:
        raise ConfigError(
            'Generated documents need reportlab; run `pip install "looseleaf[procedural]"`.'
        ) from error
    from looseleaf.procedural.folder import make_folder

    return make_folder(
        Path(out),
        documents=documents,
        seed=seed,
        split=split,
        difficulty=difficulty,
        kinds=kinds,
        questions=questions,
        twins=twins,
    )
