"""Which ledgers of a run are meant where the user names none."""

from __future__ import annotations

from looseleaf.errors import RunError
from looseleaf.runstore import Run

__all__ = ["chosen_ledgers"]


def chosen_ledgers(run: Run, score_id: str | None, reading_id: str | None) -> tuple[str, str | None]:
    """The scores and the readings to look at: as named, else of the last scoring, else the newest.

    Raises:
        RunError: nothing is scored yet, or there is no ledger of that name.
    """
    last = run.manifest.get("score", {})
    score_id = score_id or last.get("score_id") or _newest(run, "scores")
    if score_id is None:
        raise RunError(f"{run.path} is not scored yet; use `looseleaf score {run.path}`.")
    if reading_id is not None and reading_id not in run.sidecars("readings"):
        raise RunError(
            f"{run.path} has no readings {reading_id!r}; make them with `looseleaf score {run.path} --reader …`."
        )
    return score_id, reading_id or next(iter(last.get("reading_ids", [])), None) or _newest(run, "readings")


def _newest(run: Run, kind: str) -> str | None:
    paths = sorted((run.path / kind).glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return paths[-1].stem if paths else None
