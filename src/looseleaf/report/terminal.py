"""A report on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from looseleaf.metrics import MetricTable
from looseleaf.report.cells import interval_text, scored_text, value_text
from looseleaf.report.record import Report

__all__ = ["print_report"]

COMPARED = ("Acc", "Acc[answerable]", "MemAcc", "P_mmc[answerable]", "Cell11", "Cell10", "Cell01", "Cell00")
"""Metrics of the side-by-side table."""


def print_report(console: Console, report: Report) -> None:
    """Print the headline, the cells and the notices."""
    settings = ", ".join(
        f"{name} {value}" for name, value in report.settings.items() if name != "score ledger"
    )
    console.print(f"[bold]{escape(report.title)}[/bold]  [dim]{escape(settings)}[/dim]")
    console.print(_headline(report.headline))
    console.print(_cells(report.cells))
    console.print(_breakdown("answer format", report.breakdowns["answer format"]))
    for notice in report.notices:
        console.print(f"[yellow]•[/yellow] {escape(notice)}")


def print_comparison(console: Console, reports: list[Report]) -> None:
    """Print several runs side by side."""
    table = Table(title="Side by side", title_justify="left", show_edge=False)
    table.add_column("metric")
    for report in reports:
        table.add_column(escape(report.title), justify="right")
    for name in COMPARED:
        values = [(report.cells if name.startswith("Cell") else report.headline)[name] for report in reports]
        table.add_row(escape(name), *(value_text(value) for value in values))
    console.print(table)


def _headline(table: MetricTable) -> Table:
    shown = Table(show_edge=False)
    for heading in ("metric", "value", "95 % interval", "n"):
        shown.add_column(heading, justify="left" if heading == "metric" else "right")
    for value in table.values.values():
        shown.add_row(escape(value.name), value_text(value), escape(interval_text(value)), scored_text(value))
    return shown


def _cells(table: MetricTable) -> Table:
    shown = Table(title="Outcome cells, % of rows", title_justify="left", show_edge=False)
    shown.add_column("")
    shown.add_column("memory answers", justify="right")
    shown.add_column("memory does not", justify="right")
    shown.add_row("answer right", value_text(table["Cell11"]), value_text(table["Cell10"]))
    shown.add_row("answer wrong", value_text(table["Cell01"]), value_text(table["Cell00"]))
    return shown


def _breakdown(name: str, tables: list[MetricTable]) -> Table:
    shown = Table(title=f"By {name}", title_justify="left", show_edge=False)
    names = list(tables[0].values) if tables else []
    for heading in ("", "n", *names):
        shown.add_column(heading, justify="right" if heading else "left")
    for table in tables:
        shown.add_row(
            escape(table.label), str(table.n_rows), *(value_text(table[metric]) for metric in names)
        )
    return shown
