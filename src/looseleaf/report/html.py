"""A report as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from looseleaf.lab.compare_record import Comparison
from looseleaf.metrics import METRICS, MetricTable, MetricValue
from looseleaf.report.cells import interval_text, scored_text, value_text
from looseleaf.report.comparison import comparison_blocks
from looseleaf.report.figures.cells import NAMES, cells_figure
from looseleaf.report.figures.curves import Line, curves_figure
from looseleaf.report.figures.intervals import Mark, intervals_figure
from looseleaf.report.figures.markup import Markup, tag
from looseleaf.report.html_extras import Extras, extras_of
from looseleaf.report.html_lab import lab_parts
from looseleaf.report.html_page import block_section, page, section, table
from looseleaf.report.plain import printable
from looseleaf.report.record import Report
from looseleaf.report.training import training_section
from looseleaf.runstore import Run, write_atomically
from looseleaf.statistics import MIN_CLUSTERS

__all__ = ["as_html", "comparison_page", "write_comparison_html", "write_html"]

TILES = ("Acc", "MemAcc", "P_mmc[answerable]", "Rec")
DRAWN = ("Acc", "MemAcc", "P_mmc")
MOST_DRAWN = 16
"""Labels of a breakdown that are drawn; the table has all."""
COMPARED = ("Acc", "Acc[answerable]", "MemAcc", "P_mmc[answerable]", "P_mmc", "Rec", "Pre")
WIDEST = 100.0
LONGEST_NAME = 120
"""Bytes of all run names together that a file is named by; many runs are named by the first and the last."""


def write_html(run: Run, report: Report, reading_id: str | None = None) -> Path:
    """Write `report/report.html` and return its path.

    Args:
        run: the run of the report.
        report: what `build_report` made of it.
        reading_id: the reader that was chosen, if one was.
    """
    settings = report.settings
    extras = extras_of(run, settings["score ledger"], reading_id, settings["correct if score"])
    path = run.path / "report" / "report.html"
    write_atomically(path, as_html(report, extras).encode())
    return path


def as_html(report: Report, extras: Extras) -> str:
    """The whole report as one HTML document."""
    return page(f"{report.title}: report", _parts(report, extras))


def _parts(report: Report, extras: Extras) -> list[Markup | None]:
    sections = [
        section("Results", _tiles(report), _headline(report), _marks(report), name="results"),
        section(
            f"Outcome cells (s_ans, s_mem) {''.join(report.marks)}".rstrip(), _cells(report), name="cells"
        ),
        *_by(report, extras),
        *lab_parts(extras),
        _training(report, extras.training),
        section("Scoring", *(block_section(block) for block in report.scoring.blocks()), name="scoring"),
        _spending(extras),
        section("Stop reasons", table(("stop reason", "trajectories"), list(report.stop_reasons.items()))),
        section("Settings", table(("setting", "value"), list(report.settings.items()), words=(1,))),
        section("Questions", table(("", "n"), list(report.counts.items()))),
    ]
    lead = ", ".join(f"{name} {value}" for name, value in report.settings.items() if name != "score ledger")
    return [
        tag("h1", printable(report.title)),
        tag("p", printable(lead), class_="lead"),
        _notices(report.notices),
        *sections,
    ]


def _notices(notices: Sequence[str]) -> Markup | None:
    if not notices:
        return None
    entries = tag("ul", *(tag("li", printable(notice)) for notice in notices))
    return tag("aside", tag("h2", "Read this first"), entries, class_="notices")


def _tiles(report: Report) -> Markup:
    tiles = [
        tag(
            "div",
            tag("span", report.labels[name]),
            tag("b", value_text(value) + (" %" if value.value is not None and METRICS[name].percent else "")),
            tag("span", " · ".join(filter(None, (interval_text(value), f"n = {scored_text(value)}")))),
            class_="tile",
        )
        for name in TILES
        if (value := report.headline.values.get(name)) is not None
    ]
    return tag("div", *tiles, class_="tiles")


def _headline(report: Report) -> Markup | None:
    rows = [
        (report.labels[v.name], value_text(v), interval_text(v), scored_text(v), METRICS[v.name].doc)
        for v in report.headline.values.values()
    ]
    return table(("metric", "value", "95 % interval", "n", "what it is"), rows, words=(4,))


def _marks(report: Report) -> Markup | None:
    marks = [tag("p", f"{mark} {meaning}", class_="small") for mark, meaning in report.marks.items()]
    if not any(value.interval for value in report.headline.values.values()):
        marks.append(tag("p", f"No intervals: they need at least {MIN_CLUSTERS} documents.", class_="small"))
    return tag("div", *marks) if marks else None


def _cells(report: Report) -> Markup | None:
    values = report.cells.values
    drawn = cells_figure({cell: values[f"Cell{cell}"].value for cell in NAMES})
    rows = [
        (f"({cell[0]}, {cell[1]}) {name}", value_text(v), interval_text(v), scored_text(v))
        for cell, name in NAMES.items()
        for v in (values[f"Cell{cell}"],)
    ]
    return tag("div", drawn, table(("cell", "%", "95 % interval", "n"), rows))


def _by(report: Report, extras: Extras) -> list[Markup | None]:
    return [
        section("Navigation and accuracy", *_sliced(report, extras.navigation), name="navigation"),
        section("Pages opened and correctness", *_sliced(report, extras.pages_opened), name="pages"),
        *(section(f"By {name}", *_sliced(report, tables)) for name, tables in report.breakdowns.items()),
    ]


def _sliced(report: Report, tables: Sequence[MetricTable]) -> list[Markup | None]:
    if not tables:
        return []
    names = list(tables[0].values)
    drawn = [name for name in names if name in DRAWN]
    figure = intervals_figure(
        ", ".join(report.labels[name] for name in drawn),
        [report.labels[name] for name in drawn],
        [(f"{t.label} ({t.n_rows})", [_mark(t[name]) for name in drawn]) for t in tables[:MOST_DRAWN]],
    )
    rows = [
        (
            t.label,
            t.n_rows,
            *(text for name in names for text in (value_text(t[name]), interval_text(t[name]))),
        )
        for t in tables
    ]
    head = ("", "n", *(text for name in names for text in (report.labels[name], "95 % interval")))
    return [figure, table(head, rows)]


def _mark(value: MetricValue) -> Mark:
    if value.value is None:
        return Mark(None)
    if value.interval is None:
        return Mark(100 * value.value)
    return Mark(100 * value.value, 100 * value.interval.low, 100 * value.interval.high)


def _training(report: Report, tables: Sequence[MetricTable]) -> Markup | None:
    lines = [
        Line(
            report.labels[name],
            [(float(t.label), value) for t in tables if (value := t[name].value) is not None],
        )
        for name in DRAWN
    ]
    return section("Training", curves_figure("Metrics by step of training", "step of training", lines),
                   *_sliced(report, tables)[1:], name="training")  # fmt: skip


def _spending(extras: Extras) -> Markup | None:
    rows = [
        (
            each.role,
            each.rows,
            f"{each.usage.calls:,}",
            f"{each.usage.prompt_tokens:,}",
            f"{each.usage.completion_tokens:,}",
            "–" if each.usage.cost is None else f"{each.usage.cost:.4f}",
            "–" if each.seconds is None else f"{each.seconds:,.1f}",
        )
        for each in extras.spending
    ]
    head = ("role", "rows", "calls", "prompt tokens", "completion tokens", "cost", "seconds")
    note = "Cost is in the currency of the price table, – where no price is known; roles that count no tokens show 0."
    return section(
        "Cost, tokens and time", table(head, rows), tag("p", note, class_="small"), name="spending"
    )


# -- several runs --------------------------------------------------------------------------------------------------


def write_comparison_html(folder: Path, reports: Sequence[Report], comparisons: Sequence[Comparison]) -> Path:
    """Write one page about several runs, `report-A-B.html`, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    titles = [report.title for report in reports]
    name = "-".join(titles)
    if len(name.encode()) > LONGEST_NAME:
        name = f"{titles[0]}-to-{titles[-1]}-{len(titles)}-runs"
    path = folder / f"report-{name}.html"
    write_atomically(path, comparison_page(reports, comparisons).encode())
    return path


def comparison_page(reports: Sequence[Report], comparisons: Sequence[Comparison]) -> str:
    """Runs side by side, and each against the first, paired by question."""
    title = " · ".join(report.title for report in reports)
    return page(
        title,
        [
            tag("h1", printable(title)),
            tag("p", "Runs side by side; differences are paired by question and clustered by document.",
                class_="lead"),
            section("Side by side", *_beside(reports)),
            training_section(reports),
            section("Outcome cells", *(_cells_of(report) for report in reports)),
            *(_compared(each) for each in comparisons),
        ],
    )  # fmt: skip


def _beside(reports: Sequence[Report]) -> list[Markup | None]:
    names = [name for name in reports[0].headline.values if all(name in r.headline.values for r in reports)]
    labels = {name: max((r.labels[name] for r in reports), key=len) for name in names}
    rows = [
        (
            labels[name],
            *(
                text
                for r in reports
                for text in (value_text(r.headline[name]), scored_text(r.headline[name]))
            ),
        )
        for name in names
    ]
    head = ("metric", *(text for r in reports for text in (r.title, "n")))
    figure = intervals_figure(
        "Headline metrics of the runs",
        [report.title for report in reports],
        [(labels[name], [_mark(r.headline[name]) for r in reports]) for name in COMPARED if name in names],
    )
    marks = {mark: meaning for r in reports for mark, meaning in r.marks.items()}
    return [
        figure,
        table(head, rows),
        *(tag("p", f"{m} {text}", class_="small") for m, text in marks.items()),
    ]


def _cells_of(report: Report) -> Markup:
    shares = {cell: report.cells[f"Cell{cell}"].value for cell in NAMES}
    return tag("div", tag("h3", printable(report.title)), cells_figure(shares))


def _compared(found: Comparison) -> Markup | None:
    lines = [line for line in found.metrics if line.name in COMPARED and line.percent]
    ends = [100 * abs(end) for line in lines if (i := line.difference.interval) for end in (i.low, i.high)]
    values = [100 * abs(line.difference.value) for line in lines if line.difference.value is not None]
    reach = min(WIDEST, max((5.0, *ends, *values)))
    reach = 10 * -(-reach // 10)
    marks = [(line.name, [_difference(line.difference.value, line.difference.interval)]) for line in lines]
    figure = intervals_figure("A − B, points", ["A − B"], marks, low=-reach, high=reach, unit="")
    return section(
        f"A = {found.first.name} against B = {found.second.name}",
        tag("p", "A − B in points, with 95 % intervals:") if figure else None,
        figure,
        *(block_section(block) for block in comparison_blocks(found)),
    )


def _difference(value: float | None, interval: object) -> Mark:
    low, high = getattr(interval, "low", None), getattr(interval, "high", None)
    if value is None:
        return Mark(None)
    if low is None or high is None:
        return Mark(100 * value)
    return Mark(100 * value, 100 * low, 100 * high)
