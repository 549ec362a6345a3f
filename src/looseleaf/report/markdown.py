"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from looseleaf.metrics import METRICS, MetricTable
from looseleaf.metrics.memory import OutcomeCell
from looseleaf.report.blocks import block_lines
from looseleaf.report.cells import interval_text, scored_text, value_text
from looseleaf.report.plain import markdown_text
from looseleaf.report.record import Report

__all__ = ["as_markdown"]


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown document."""
    lines = [f"# {markdown_text(report.title)}", "", *_settings(report), *_notices(report), *_counts(report)]
    lines += ["## Results", "", *_headline(report), *_marks(report), *_cells(report)]
    for block in report.scoring.blocks():
        lines += block_lines(block)
    for name, tables in report.breakdowns.items():
        lines += [f"## By {name}", "", *_breakdown(report, tables)]
    lines += ["## Stop reasons", "", *_table(["stop reason", "trajectories"], report.stop_reasons.items())]
    return "\n".join(lines).rstrip() + "\n"


def _settings(report: Report) -> list[str]:
    return _table(["setting", "value"], report.settings.items())


def _notices(report: Report) -> list[str]:
    return (
        ["## Read this first", "", *(f"* {markdown_text(notice)}" for notice in report.notices), ""]
        if report.notices
        else []
    )


def _counts(report: Report) -> list[str]:
    return ["## Questions", "", *_table(["", "n"], report.counts.items())]


def _marks(report: Report) -> list[str]:
    return [
        line for mark, meaning in report.marks.items() for line in (f"{mark} {markdown_text(meaning)}", "")
    ]


def _headline(report: Report) -> list[str]:
    rows = [
        (
            report.labels[value.name],
            value_text(value),
            interval_text(value),
            scored_text(value),
            METRICS[value.name].doc,
        )
        for value in report.headline.values.values()
    ]
    return _table(["metric", "value", "95 % interval", "n", "what it is"], rows)


def _cells(report: Report) -> list[str]:
    meanings = {f"Cell{cell}": f"({cell[0]}, {cell[1]}) {_meaning(cell)}" for cell in OutcomeCell}
    rows = [
        (meanings[name], value_text(value), scored_text(value)) for name, value in report.cells.values.items()
    ]
    return [
        f"## Outcome cells (s_ans, s_mem) {''.join(report.marks)}".rstrip(),
        "",
        *_table(["cell", "%", "n"], rows),
    ]


def _meaning(cell: OutcomeCell) -> str:
    return {
        OutcomeCell.SUPPORTED: "memory-supported correct",
        OutcomeCell.MISSING: "memory-missing correct",
        OutcomeCell.ANSWERING_ERROR: "answering error",
        OutcomeCell.UNRESOLVED: "unresolved error",
    }[cell]


def _breakdown(report: Report, tables: Sequence[MetricTable]) -> list[str]:
    names = list(tables[0].values) if tables else []
    rows = [(table.label, table.n_rows, *(value_text(table[name]) for name in names)) for table in tables]
    return _table(["", "n", *(report.labels[name] for name in names)], rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    body = ["| " + " | ".join(markdown_text(str(cell)) for cell in row) + " |" for row in rows]
    return [
        "| " + " | ".join(markdown_text(cell) for cell in head) + " |",
        "|" + " --- |" * len(head),
        *body,
        "",
    ]
