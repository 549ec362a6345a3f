"""A human audit's result: on the terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from rich.console import Console

from looseleaf.lab.human_audit_record import AuditResult, Confusion
from looseleaf.report.blocks import Block, blocks_as_markdown, print_blocks
from looseleaf.runstore import write_atomically
from looseleaf.statistics import Estimate, wilson_interval

__all__ = ["audit_blocks", "print_audit", "write_audit"]

NOTHING = "–"


def print_audit(console: Console, result: AuditResult, marks: Mapping[str, str]) -> None:
    """Print the estimates, the confusion matrices and the strata.

    Args:
        console: where to.
        result: of the audit.
        marks: marks on the judge's numbers, with what they mean.
    """
    print_blocks(console, _title(result), audit_blocks(result, marks))


def write_audit(folder: Path, result: AuditResult, marks: Mapping[str, str]) -> tuple[Path, Path]:
    """Write `<audit id>.result.json` and `.result.md` into a folder; returns the two paths."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{result.design.audit_id}.result"
    json_path, markdown_path = folder / f"{stem}.json", folder / f"{stem}.md"
    write_atomically(json_path, msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    write_atomically(markdown_path, blocks_as_markdown(_title(result), audit_blocks(result, marks)).encode())
    return json_path, markdown_path


def _title(result: AuditResult) -> str:
    rows = sum(plan.size for plan in result.design.strata.values())
    return f"Human audit {result.design.audit_id}: {sum(result.labelled.values())} labels for {rows} rows"


def audit_blocks(result: AuditResult, marks: Mapping[str, str]) -> list[Block]:
    """The parts of the printed result, in order."""
    who = f"Judge {''.join(marks)}".rstrip()
    return [
        _estimates(result, marks),
        *(_confusion(f"{who} against people: {name}", judge) for name, judge in result.judges.items()),
        _strata(result),
    ]


def _estimates(result: AuditResult, marks: Mapping[str, str]) -> Block:
    sign = "".join(marks)
    return Block(
        title="Rates of this run, %",
        head=(
            "",
            "by people",
            "95 % interval",
            f"by the judge {sign}".rstrip(),
            "half width",
            "simple sample's",
        ),
        rows=tuple((name, *_cells(estimate)) for name, estimate in result.estimates.items()),
        sentences=(
            "By people: the judge on every row, corrected by the labels. The interval is over which rows were drawn; "
            "that other documents would differ is in the report's intervals.",
            "Simple sample's: half width if as many rows had been drawn at random and only their labels were used.",
            *(
                [f"{result.design.left_out} rows cannot be labelled and are left out."]
                * bool(result.design.left_out)
            ),
            *(f"{mark} {meaning}" for mark, meaning in marks.items()),
        ),
    )


def _cells(estimate: Estimate) -> tuple[str, ...]:
    ends = estimate.interval
    if estimate.value is None or ends is None:
        return NOTHING, NOTHING, _percent(estimate.judged), NOTHING, NOTHING
    low, high = _of_a_simple_sample(estimate, estimate.value)
    return (
        _percent(estimate.value),
        f"{_percent(ends.low)} – {_percent(ends.high)}",
        _percent(estimate.judged),
        _percent((ends.high - ends.low) / 2),
        _percent((high - low) / 2),
    )


def _of_a_simple_sample(estimate: Estimate, value: float) -> tuple[float, float]:
    """Wilson, with n enlarged because the run's rows are finite."""
    undrawn = 1 - estimate.labelled / estimate.rows
    n = estimate.labelled * estimate.base
    return wilson_interval(value * n / undrawn, n / undrawn) if undrawn > 0 else (value, value)


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f}"


def _confusion(title: str, judge: Confusion) -> Block:
    rows = tuple(
        (
            f"judge: {verdict}",
            *(
                f"{judge.labelled[f'{verdict}/{said}']} (≈ {judge.estimated[f'{verdict}/{said}']:.0f} rows)"
                for said in ("right", "wrong")
            ),
        )
        for verdict in ("right", "wrong")
    )
    differ = judge.disagreement
    ends = f" [{_percent(differ.interval.low)}, {_percent(differ.interval.high)}]" if differ.interval else ""
    kappa = NOTHING if judge.kappa is None else f"{judge.kappa:.2f}"
    return Block(
        title=title,
        head=("", "people: right", "people: wrong"),
        rows=rows,
        sentences=(f"They differ on {_percent(differ.value)} %{ends} of the rows; κ {kappa}.",),
    )


def _strata(result: AuditResult) -> Block:
    return Block(
        title="Strata",
        head=("cell by the judge", "rows", "drawn", "labelled"),
        rows=tuple(
            (name, str(plan.size), str(plan.drawn), str(result.labelled.get(name, 0)))
            for name, plan in result.design.strata.items()
        ),
        sentences=(
            (f"Scorers asked for disagreement: {', '.join(result.design.others)}.",)
            if result.design.others
            else ("The run has no other scores, so strata are the cells alone.",)
        ),
    )
