"""A report on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from looseleaf.report.blocks import print_block
from looseleaf.report.cells import interval_text, scored_text, value_text
from looseleaf.report.plain import printable
from looseleaf.report.record import Report, report_differences

__all__ = ["print_report"]

COMPARED = ("Acc", "Acc[answerable]", "MemAcc", "P_mmc[answerable]", "Cell11", "Cell10", "Cell01", "Cell00")
"""Metrics of the side-by-side table."""


def print_report(console: Console, report: Report) -> None:
    """Print the headline, the cells and the notices."""
    settings = ", ".join(
        f"{name} {value}" for name, value in report.settings.items() if name != "score ledger"
    )
    console.print(f"[bold]{_safe(report.title)}[/bold]  [dim]{_safe(settings)}[/dim]")
    console.print(_headline(report))
    console.print(_cells(report))
    console.print(_breakdown("answer format", report))
    for block in report.scoring.blocks():
        print_block(console, block)
    for mark, meaning in report.marks.items():
        console.print(f"{mark} {_safe(meaning)}", highlight=False)
    for notice in report.notices:
        console.print(f"[yellow]•[/yellow] {_safe(notice)}")


def print_comparison(console: Console, reports: list[Report]) -> None:
    """Print several runs side by side."""
    table = Table(title="Side by side", title_justify="left", show_edge=False)
    table.add_column("metric")
    for report in reports:
        table.add_column(_safe(report.title), justify="right")
    for name in COMPARED:
        values = [(report.cells if name.startswith("Cell") else report.headline)[name] for report in reports]
        table.add_row(_safe(_common_label(name, reports)), *(value_text(value) for value in values))
    console.print(table)
    for name in report_differences(reports):
        console.print(
            f"[yellow]•[/yellow] These runs differ in {_safe(name)}: compare with care.", highlight=False
        )


def _common_label(name: str, reports: list[Report]) -> str:
    """The label with every mark that any of the reports puts on it."""
    return max((report.labels[name] for report in reports), key=len)


def _headline(report: Report) -> Table:
    shown = Table(show_edge=False)
    for heading in ("metric", "value", "95 % interval", "n"):
        shown.add_column(heading, justify="left" if heading == "metric" else "right")
    for value in report.headline.values.values():
        shown.add_row(
            _safe(report.labels[value.name]),
            value_text(value),
            _safe(interval_text(value)),
            scored_text(value),
        )
    return shown


def _cells(report: Report) -> Table:
    table = report.cells
    shown = Table(
        title=f"Outcome cells, % of rows {''.join(report.marks)}", title_justify="left", show_edge=False
    )
    shown.add_column("")
    shown.add_column("memory answers", justify="right")
    shown.add_column("memory does not", justify="right")
    shown.add_row("answer right", value_text(table["Cell11"]), value_text(table["Cell10"]))
    shown.add_row("answer wrong", value_text(table["Cell01"]), value_text(table["Cell00"]))
    return shown


def _breakdown(name: str, report: Report) -> Table:
    tables = report.breakdowns[name]
    shown = Table(title=f"By {name}", title_justify="left", show_edge=False)
    names = list(tables[0].values) if tables else []
    for heading in ("", "n", *(report.labels[metric] for metric in names)):
        shown.add_column(_safe(heading), justify="right" if heading else "left")
    for table in tables:
        shown.add_row(_safe(table.label), str(table.n_rows), *(value_text(table[metric]) for metric in names))
    return shown


def _safe(text: str) -> str:
    return escape(printable(text))
