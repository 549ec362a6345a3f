"""The lab's report on disk and on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from looseleaf.lab.records import ScoredRun
from looseleaf.lab.report import LabReport
from looseleaf.lab.variants import Variant, VariantKind
from looseleaf.report.lab_tables import LabTable, lab_tables
from looseleaf.report.marks import READER_MARK, labels_of, marks_of
from looseleaf.report.notices import notices_of
from looseleaf.report.plain import markdown_text, printable
from looseleaf.runstore import Run, write_atomically

__all__ = ["lab_notices", "print_lab_report", "write_lab_report"]

ORACLE_VARIANTS = {
    VariantKind.GOLD_TEXT: "Oracle control: gold-text shows the text of the gold pages; charts and scans have none.",
    VariantKind.IMPROVED: "Oracle control: improved memories are written from the gold pages.",
    VariantKind.ANSWER_REMOVED: "Oracle control: answer-removed uses the gold answer.",
}
EMBEDDED_GROUNDING = (
    "Grounding embedded: rules over the text layer, not a judge that sees the page; what only a picture shows is "
    "not found, and verdicts on other kinds of documents than it was tried on are estimates."
)


def lab_notices(run: Run, report: LabReport, more: Sequence[str] = ()) -> list[str]:
    """What a reader of the numbers must know: oracle settings, embedded parts, unscored rows, what was left out."""
    ledgers = report.ledgers
    scored = ScoredRun(run, ledgers.score_id)
    rows = scored.rows(ledgers.reading_ids[0], threshold=report.threshold)
    kinds = {Variant.parse(name).kind for r in ledgers.reading_ids for name in scored.variants(r)}
    checked = run.sidecars("audits").get(ledgers.grounding_id, {}).get("check", {})
    return [
        *notices_of(run, rows, ledgers.score_id, ledgers.reading_ids[0]),
        *(text for kind, text in ORACLE_VARIANTS.items() if kind in kinds),
        *([EMBEDDED_GROUNDING] if checked.get("backend") == "embedded" else []),
        *_unscored_variants(scored, ledgers.reading_ids),
        *more,
    ]


def _unscored_variants(scored: ScoredRun, reading_ids: Sequence[str]) -> list[str]:
    """Unscored rows of controls, which the run's own notices do not count."""
    found = []
    for reading_id in reading_ids:
        for variant in scored.variants(reading_id):
            rows = scored.scores("memory", reading_id, variant).values()
            missing = sum(row.unscored is not None for row in rows)
            if missing and variant != VariantKind.OWN:
                found.append(f"{missing} of {len(rows)} readings of {variant} by {reading_id} are unscored.")
    return found


def write_lab_report(run: Run, report: LabReport, notices: Sequence[str]) -> tuple[Path, Path]:
    """Write `report/lab.json` and `report/lab.md`; returns the two paths."""
    folder = run.path / "report"
    folder.mkdir(exist_ok=True)
    content = {"notices": list(notices), **msgspec.to_builtins(report)}
    json_path, markdown_path = folder / "lab.json", folder / "lab.md"
    write_atomically(json_path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    write_atomically(markdown_path, _markdown(run, report, notices).encode())
    return json_path, markdown_path


def _markdown(run: Run, report: LabReport, notices: Sequence[str]) -> str:
    lines = [f"# Memory lab: {markdown_text(report.title)}", "", "## Read this first", ""]
    lines += [f"* {markdown_text(notice)}" for notice in (*notices, *_marks(run, report))]
    for table in _tables(run, report):
        lines += ["", f"## {markdown_text(table.title)}", "", *_markdown_table(table)]
        if table.remark:
            lines += ["", markdown_text(table.remark)]
    return "\n".join(lines) + "\n"


def _markdown_table(table: LabTable) -> list[str]:
    rows = [table.head, *table.rows]
    text = ["| " + " | ".join(markdown_text(cell) for cell in row) + " |" for row in rows]
    return [text[0], "|" + " --- |" * len(table.head), *text[1:]]


def print_lab_report(console: Console, run: Run, report: LabReport, notices: Sequence[str]) -> None:
    """Print the main tables and the notices."""
    console.print(f"[bold]{escape(printable(report.title))}[/bold]  memory lab", highlight=False)
    for table in _tables(run, report):
        if table.brief:
            console.print(_terminal_table(table))
    for notice in (*notices, *_marks(run, report)):
        console.print(f"[yellow]•[/yellow] {escape(printable(notice))}", highlight=False)


def _terminal_table(table: LabTable) -> Table:
    shown = Table(
        title=escape(printable(table.title)),
        title_justify="left",
        caption=escape(printable(table.remark)) or None,
        caption_justify="left",
        show_edge=False,
    )
    for index, head in enumerate(table.head):
        shown.add_column(escape(printable(head)), justify="right" if index else "left")
    for row in table.rows:
        shown.add_row(*(escape(printable(cell)) for cell in row))
    return shown


def _tables(run: Run, report: LabReport) -> list[LabTable]:
    marks = marks_of(run, report.ledgers.score_id, report.ledgers.reading_ids[0])
    labels = labels_of({sign: text for sign, text in marks.items() if sign != READER_MARK})
    return lab_tables(report, _namer(run), labels)


def _marks(run: Run, report: LabReport) -> list[str]:
    found: dict[str, str] = {}
    for reading_id in report.ledgers.reading_ids:
        found |= marks_of(run, report.ledgers.score_id, reading_id)
    return [f"{sign} {text}." for sign, text in found.items()]


def _namer(run: Run) -> Callable[[str], str]:
    """Printed name of a reader's ledger: its role, its temperature if it is sampled, and the mark of embedded ones."""
    sidecars = run.sidecars("readings")

    def name(reading_id: str) -> str:
        spec: dict[str, Any] = sidecars.get(reading_id, {}).get("reader", {})
        words = ":".join(
            filter(None, [str(spec.get("backend", reading_id)), _short(spec.get("argument", ""))])
        )
        temperature = spec.get("options", {}).get("temperature")
        sampled = f" at T {temperature}" if temperature else ""
        mark = f" {READER_MARK}" if spec.get("backend") == "embedded" else ""
        return f"{words}{sampled}{mark}"

    return name


LONGEST_NAME = 32


def _short(argument: str) -> str:
    """The end of a long model name or path, which tells models apart."""
    return argument if len(argument) <= LONGEST_NAME else f"…{argument[-LONGEST_NAME:]}"
