"""Table and figure of the demonstration of training, from what `looseleaf train demo` left behind.

Run: `python perf/training_demo.py OUT`, which writes `docs/data/training-demo.json` and
`docs/images/training-demo.svg` and prints the tables of `docs/training-demo.md`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import msgspec

from looseleaf.report.figures.intervals import Mark, intervals_figure
from looseleaf.report.figures.palette import INK, SERIES
from looseleaf.training.demo.summary import BEFORE, Over, Summary

DOCS = Path(__file__).resolve().parent.parent / "docs"
SHOWN = {
    "s_ans": "right answers",
    "s_mem": "memory answers (training reader)",
    "s_mem_unseen": "memory answers (unseen reader)",
    "p_mmc": "P_mmc (training reader)",
    "grounded": "memory answers and is grounded",
}
NAMES = {BEFORE: "starting point", "answer-only": "answer-only", "awm": "AWM", "placebo": "placebo"}


def main(out: Path) -> None:
    """Write the files and print the tables."""
    summary = msgspec.json.decode((out / "summary.json").read_bytes(), type=Summary)
    (DOCS / "data").mkdir(exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n"
    (DOCS / "data" / "training-demo.json").write_bytes(content)
    (DOCS / "images" / "training-demo.svg").write_text(figure(summary), encoding="utf-8")
    print("\n".join([*rates(summary), "", *promises(summary), "", *costs(summary)]))


def figure(summary: Summary) -> str:
    """The rates of every policy, as one SVG file with its legend inside."""
    policies = [name for name in NAMES if name in summary.rates]
    rows = [
        (label, [_mark(summary.rates[policy][measure]) for policy in policies])
        for measure, label in SHOWN.items()
    ]
    made = intervals_figure(
        "Held-out rates by reward of training", [NAMES[policy] for policy in policies], rows
    )
    assert made is not None
    (found,) = re.findall(
        r'<svg viewBox="0 0 (\d+) (\d+)" role="img">(.*?)</svg>\s*</figure>', made, re.DOTALL
    )
    width, height, inner = int(found[0]), int(found[1]), found[2]
    legend = "".join(
        f'<text x="{20 + 170 * place}" y="{height + 18}" font-size="13" fill="{SERIES[place]}">'
        f"{'●■▲◆'[place]} {NAMES[policy]}</text>"
        for place, policy in enumerate(policies)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 30}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="{INK}">{inner}{legend}</svg>\n'
    )


def _mark(over: Over) -> Mark:
    ends = (None if end is None else 100 * end for end in (over.low, over.high))
    return Mark(100 * over.mean, *ends)


def rates(summary: Summary) -> list[str]:
    """Rates by policy."""
    measures = [*SHOWN, "p_mmc_unseen", "echo", "invalid"]
    lines = [
        "| | " + " | ".join(measures) + " |",
        "|---" * (len(measures) + 1) + "|",
    ]
    for policy, found in summary.rates.items():
        lines.append(f"| {NAMES[policy]} | " + " | ".join(_cell(found[name]) for name in measures) + " |")
    return lines


def promises(summary: Summary) -> list[str]:
    """What the demonstration is held to."""
    lines = ["| held to | measured | |", "|---|---|---|"]
    lines += [
        f"| {promise.what} | {_cell(promise.measured)} | {'holds' if promise.holds else 'falls short'} |"
        for promise in summary.promises
    ]
    return lines


def costs(summary: Summary) -> list[str]:
    """Calls and time."""
    calls = [
        f"{NAMES[arm]}: " + ", ".join(f"{count:.2f} {what}" for what, count in found.items())
        for arm, found in summary.calls.items()
    ]
    return [
        *calls,
        f"reading {summary.reading:.3f}; n {summary.n}; steps {summary.steps}; seeds {summary.seeds}; "
        f"start {summary.cpu_seconds['start']:.0f} s, arm {summary.cpu_seconds['arm']:.0f} s, "
        f"all {summary.cpu_minutes:.1f} min",
    ]


def _cell(over: Over) -> str:
    if over.low is None or over.high is None:
        return f"{over.mean:.3f}"
    return f"{over.mean:.3f} [{over.low:.3f}, {over.high:.3f}]"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
