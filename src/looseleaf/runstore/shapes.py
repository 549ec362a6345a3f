"""What readers of a RUN rely on in its configuration, manifest and sidecars."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

__all__ = ["MOST_SAMPLES", "Config", "Manifest", "Sidecar", "TrajectoryKey"]

# What readers of a folder rely on. The folder may be another person's: other fields are free, these have these types.

MOST_SAMPLES = 100_000
"""Most trajectories of one question: every one of them has a row, so a huge number in a file must not be believed."""
Table = dict[str, Any]


class _Role(msgspec.Struct, frozen=True):
    backend: str = ""
    argument: str = ""
    options: Table = {}


class _Roles(msgspec.Struct, frozen=True):
    policy: _Role | None = None
    extractor: _Role | None = None
    judge: _Role | None = None
    reader: list[_Role] | _Role = []


class _ProtocolTable(msgspec.Struct, frozen=True):
    name: str = ""
    memory: str = "mandatory"
    max_pixels: int | None = None


class _RunTable(msgspec.Struct, frozen=True):
    samples: Annotated[int, msgspec.Meta(ge=1, le=MOST_SAMPLES)] = 1
    strict: bool = False


class _DataTable(msgspec.Struct, frozen=True):
    benchmark: str = ""
    path: str = ""
    options: Table = {}


class _ScoreTable(msgspec.Struct, frozen=True):
    scorer: str = ""
    threshold: str = ""


class Config(msgspec.Struct, frozen=True):
    """What readers take from `config.toml`."""

    data: _DataTable = _DataTable()
    protocol: _ProtocolTable = _ProtocolTable()
    retriever: Table = {}
    pages: Table = {}
    roles: _Roles = _Roles()
    run: _RunTable = _RunTable()
    score: _ScoreTable = _ScoreTable()
    train: Table = {}
    reward: Table = {}


class _LastScore(msgspec.Struct, frozen=True):
    score_id: str | None = None
    also: list[str] = []
    reading_ids: list[str] = []
    threshold: str = ">0"


class _Described(msgspec.Struct, frozen=True):
    name: str = ""
    sha256: str = ""
    version: str = ""
    notes: list[str] = []
    oracle: Table = {}


class _Counts(msgspec.Struct, frozen=True):
    n_set: int = 0
    n_selected: int = 0
    n_without_document: int = 0
    n_without_gold_pages: int = 0


class _PageImages(msgspec.Struct, frozen=True):
    dpi: int | None = None
    max_pixels: int | None = None


class _Imported(msgspec.Struct, frozen=True):
    rows: int = 0
    imported: int = 0
    not_run: int = 0
    rejected: int = 0
    undefined: Table = {}
    notices: list[str] = []


class Manifest(msgspec.Struct, frozen=True):
    """What readers take from `manifest.json`."""

    run_id: str = ""
    versions: Table = {}
    data: _Described = _Described()
    counts: _Counts = _Counts()
    retriever: Table = {}
    page_images: _PageImages | None = None
    prompts: Table = {}
    last_session: Table = {}
    score: _LastScore = _LastScore()
    clients: list[str] = []
    imported: _Imported | None = msgspec.field(default=None, name="import")


class Sidecar(msgspec.Struct, frozen=True):
    """What readers take from the configuration behind a ledger."""

    scorer: str = ""
    extraction_id: str | None = None
    variant: str = ""
    extractor: _Role | None = None
    judge: _Role | None = None
    reader: _Role | None = None


class TrajectoryKey(msgspec.Struct):
    """What tells trajectories apart."""

    trajectory_id: str
