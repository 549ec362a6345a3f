"""Building a report from a stored run, and writing it into the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.errors import RunError
from looseleaf.metrics import Row, evaluate_rows
from looseleaf.metrics.stored import StoredRun
from looseleaf.metrics.table import evaluate_by
from looseleaf.report.html import write_html
from looseleaf.report.markdown import as_markdown
from looseleaf.report.marks import labels_of, marks_of
from looseleaf.report.notices import notices_of
from looseleaf.report.record import Report
from looseleaf.report.scorers import chosen_scores
from looseleaf.report.scoring import ScoringDetails, scoring_details
from looseleaf.report.training import training_point
from looseleaf.runstore import Run, write_atomically
from looseleaf.scoring.thresholds import DEFAULT_THRESHOLD

__all__ = ["HEADLINE", "build_report", "write_report"]

HEADLINE = (
    *("Acc", "Acc[answerable]", "Acc[unanswerable]", "Acc(upstream)", "F1"),
    *("MemAcc", "MemAcc[answerable]", "P_mmc[answerable]", "P_mmc", "Gap", "GradedLoss"),
    *("Rec", "Pre", "PageF1", "Hit", "Rec(recipe)", "Pre(recipe)", "PageF1(recipe)", "#UP"),
    *("Turns", "Invalid", "Findings"),
)
"""Metrics of the first table, in order."""
CELLS = ("Cell11", "Cell10", "Cell01", "Cell00")
BREAKDOWN = ("Acc", "MemAcc", "P_mmc", "Rec")
"""Metrics of the breakdown tables."""
NO_LABEL = "(none)"


def build_report(
    run: Run,
    *,
    score_id: str | None = None,
    reading_id: str | None = None,
    threshold: str | None = None,
    also: Sequence[str] = (),
) -> Report:
    """Compute the report of a stored run; the agent, readers and judges are not run.

    Args:
        run: the run.
        score_id: ledger of scores, or name of a scorer that has one; the one of the last scoring by default.
        reading_id: reader of the memory metrics; the headline reader of the last scoring by default.
        threshold: name of the binarisation; the one of the last scoring by default.
        also: further ledgers or scorers to stand beside the first; those of the last scoring by default.

    Raises:
        RunError: nothing is scored yet, or there is no such ledger.
        ConfigError: there is no threshold of that name.
    """
    chosen = run.manifest.get("score", {})
    newest = _newest(run, "scores")
    score_ids = chosen_scores(run, [score_id, *also] if score_id else also) or ([newest] if newest else [])
    if not score_ids:
        raise RunError(f"{run.path} is not scored yet; use `looseleaf score {run.path}`.")
    score_id = score_ids[0]
    threshold = threshold or chosen.get("threshold") or DEFAULT_THRESHOLD
    reading_id = reading_id or next(iter(chosen.get("reading_ids", [])), None) or _newest(run, "readings")
    stored = StoredRun(run)
    rows = stored.rows(score_id, reading_id, threshold=threshold)
    marks = marks_of(run, score_id, reading_id)
    scoring = scoring_details(stored, score_ids, reading_id, threshold)
    return Report(
        title=run.path.name,
        settings=_settings(run, score_id, reading_id, threshold),
        notices=[*scoring.warnings(), *notices_of(run, rows, score_id, reading_id)],
        counts=_counts(run, rows),
        labels=labels_of(marks),
        marks=marks,
        headline=evaluate_rows(rows, _headline(scoring)),
        cells=evaluate_rows(rows, CELLS),
        breakdowns={name: evaluate_by(rows, labels, BREAKDOWN) for name, labels in BREAKDOWNS.items()},
        stop_reasons=dict(
            Counter(str(row.trajectory.stop_reason) if row.trajectory else "not run" for row in rows)
        ),
        scoring=scoring,
        training=training_point(run),
    )


def _headline(scoring: ScoringDetails) -> list[str]:
    """The first table's metrics; without upstream's convention where the scorer has no upstream pipeline."""
    has_pipeline = scoring.scorers[0].upstream is not None
    return [name for name in HEADLINE if has_pipeline or name != "Acc(upstream)"]


def _newest(run: Run, kind: str) -> str | None:
    paths = sorted((run.path / kind).glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return paths[-1].stem if paths else None


def _settings(run: Run, score_id: str, reading_id: str | None, threshold: str) -> dict[str, str]:
    config, manifest = run.config, run.manifest
    protocol, scores = config.get("protocol", {}), run.sidecars("scores").get(score_id, {})
    readings = run.sidecars("readings").get(reading_id or "", {})
    data, retriever = manifest.get("data", {}), manifest.get("retriever", {})
    return {
        "data": f"{data.get('name', '?')} {data.get('version', '')}".strip(),
        "policy": _role(config.get("roles", {}).get("policy")),
        "protocol": f"{protocol.get('name', '?')}, {protocol.get('max_turns', '?')} turns",
        "retriever": f"{retriever.get('name', '?')} ({retriever.get('family', 'family unknown')})",
        "page text": _page_text(config.get("pages", {}).get("ocr")),
        "page images": _resolution(manifest.get("page_images", {"max_pixels": protocol.get("max_pixels")})),
        "scorer": str(scores.get("scorer", score_id)),
        "extractor": str(scores.get("extraction_id") or "none"),
        "reader": _role(readings.get("reader")),
        "correct if score": threshold,
        "score ledger": score_id,
    }


def _page_text(ocr: str | None) -> str:
    if ocr is None:
        return "unknown"
    return "text layer" if ocr == "none" else f"text layer, and OCR where there is none ({ocr})"


def _role(spec: dict[str, Any] | None) -> str:
    if not spec:
        return "none"
    return f"{spec['backend']}:{spec['argument']}" if spec.get("argument") else str(spec["backend"])


def _resolution(images: dict[str, Any]) -> str:
    cap = images.get("max_pixels")
    dpi = f"{images['dpi']} dpi" if "dpi" in images else "resolution unknown"
    return f"{dpi}, at most {cap:,} pixels" if cap else dpi


def _counts(run: Run, rows: Sequence[Row]) -> dict[str, int]:
    counts = run.manifest.get("counts", {})
    scored = [row for row in rows if row.answer.value is not None]
    return {
        "questions in the set": int(counts.get("n_set", len(rows))),
        "without their document here (excluded)": int(counts.get("n_without_document", 0)),
        "selected": len(rows),
        "with a trajectory": sum(row.trajectory is not None for row in rows),
        "scored": len(scored),
        "answerable": sum(not row.question.unanswerable for row in rows),
        "unanswerable": sum(row.question.unanswerable for row in rows),
        "documents": len({row.question.doc_id for row in rows}),
    }


def _or_none(labels: Iterable[str]) -> list[str]:
    return list(labels) or [NO_LABEL]


BREAKDOWNS: dict[str, Callable[[Row], Iterable[str]]] = {
    "answerability": lambda row: ["unanswerable" if row.question.unanswerable else "answerable"],
    "answer format": lambda row: _or_none([row.question.answer_format] if row.question.answer_format else []),
    "evidence source (a question may have several)": lambda row: _or_none(row.question.sources),
    "document type": lambda row: _or_none([row.question.doc_type] if row.question.doc_type else []),
}


def write_report(run: Run, report: Report, reading_id: str | None = None) -> tuple[Path, Path]:
    """Write `report/report.json`, `report/report.md` and `report/report.html`; returns the first two paths.

    Args:
        run: the run of the report.
        report: what `build_report` made of it.
        reading_id: the reader that was chosen, if one was.
    """
    folder = run.path / "report"
    try:
        folder.mkdir(exist_ok=True)
    except OSError as problem:
        raise RunError(
            f"{folder} cannot be written ({problem.strerror}); remove what is in its place."
        ) from problem
    json_path, markdown_path = folder / "report.json", folder / "report.md"
    write_atomically(json_path, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    write_atomically(markdown_path, as_markdown(report).encode())
    write_html(run, report, reading_id)
    return json_path, markdown_path
