"""Two stored runs compared: on the terminal, as Markdown and as JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from looseleaf.lab.compare_record import Comparison, MetricComparison, Side, SliceTable
from looseleaf.lab.compare_settings import FAIRNESS
from looseleaf.report.blocks import Block, blocks_as_markdown, print_blocks
from looseleaf.report.marks import EMBEDDED_READER, EXTRACTOR_MARK, READER_MARK, labels_of
from looseleaf.runstore import write_atomically
from looseleaf.scoring.extraction import NOT_OFFICIAL
from looseleaf.statistics import Difference, SeedSummary

__all__ = ["comparison_blocks", "print_two_runs", "write_comparison"]

HEAD = ("", "A", "B", "A − B", "95 % interval", "p", "p (Holm)", "n")
NOTHING = "–"
SMALLEST_P = 0.001
"""p-values below are printed as such."""
SIGNIFICANT = 0.05
DOUBT = 5.0
"""How many times larger the sign-flip test's p-value is before the asymptotic test is doubted aloud."""


def print_two_runs(console: Console, comparison: Comparison) -> None:
    """Print warnings, headline metrics, the split of P_mmc and what it would take to see two points."""
    print_blocks(console, _title(comparison), comparison_blocks(comparison))


def write_comparison(folder: Path, comparison: Comparison) -> tuple[Path, Path]:
    """Write `compare-A-B.json` and `.md` into a folder; returns the two paths."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"compare-{comparison.first.name}-{comparison.second.name}"
    json_path, markdown_path = folder / f"{stem}.json", folder / f"{stem}.md"
    write_atomically(json_path, msgspec.json.format(msgspec.json.encode(comparison), indent=2) + b"\n")
    text = blocks_as_markdown(_title(comparison), comparison_blocks(comparison))
    write_atomically(markdown_path, text.encode())
    return json_path, markdown_path


def _title(comparison: Comparison) -> str:
    return f"A = {comparison.first.name} against B = {comparison.second.name}"


def comparison_blocks(comparison: Comparison) -> list[Block]:
    """The parts of the printed result, in order."""
    labels = _labels(comparison)
    return [
        Block(
            sentences=(*(each.text() for each in comparison.differing), *comparison.notices),
            warning=True,
        ),
        _headline(comparison, labels),
        _split(comparison),
        _seeds(comparison),
        _power(comparison),
        *(_slices(table, labels) for table in comparison.slices),
        _beside(comparison),
        _independent(comparison),
        _settings(comparison),
        Block(
            title="Questions",
            head=("", "n"),
            rows=tuple((name, str(count)) for name, count in comparison.counts.items()),
            brief=False,
        ),
    ]


def _labels(comparison: Comparison) -> dict[str, str]:
    marks = _marks(comparison)
    sign = EXTRACTOR_MARK * (EXTRACTOR_MARK in marks)
    own = {"s_ans": f"s_ans {sign}".rstrip()}
    own["s_mem"] = f"s_mem {sign}{READER_MARK * (READER_MARK in marks)}".rstrip()
    return labels_of(marks) | own


def _marks(comparison: Comparison) -> dict[str, str]:
    def embedded(setting: str) -> bool:
        return any(
            side.settings[setting].shown.startswith("embedded")
            for side in (comparison.first, comparison.second)
        )

    return {
        **({EXTRACTOR_MARK: NOT_OFFICIAL} if embedded("extractor") else {}),
        **({READER_MARK: EMBEDDED_READER} if embedded("reader") else {}),
    }


def _headline(comparison: Comparison, labels: dict[str, str]) -> Block:
    family = ", ".join(comparison.family)
    return Block(
        title=f"Paired by question, clustered by document (correct if score {comparison.threshold})",
        head=HEAD,
        rows=tuple(_row(labels[line.name], line) for line in comparison.metrics),
        sentences=(
            f"p (Holm) adjusts over {family}, fixed beforehand; every other p is exploratory.",
            *_doubts(comparison),
            *(f"{mark} {meaning}" for mark, meaning in _marks(comparison).items()),
            *(
                [
                    "Unscored questions are left out of both runs; brackets hold A − B whatever they would score."
                ]
                if any(line.n < line.n_applies for line in comparison.metrics)
                else []
            ),
        ),
    )


def _doubts(comparison: Comparison) -> list[str]:
    """Tests of the family that rest on documents too few or too unequal to be trusted."""
    return [
        f"{line.name}: few documents carry this difference; flipping their signs gives p = {_p(flip.p_value)}."
        for line in comparison.metrics
        if line.name in comparison.family and (flip := line.sign_flip) and line.p_value is not None
        if line.p_value < SIGNIFICANT and flip.p_value > DOUBT * line.p_value
    ]


def _row(label: str, line: MetricComparison) -> tuple[str, ...]:
    return (
        label,
        _number(line.first, line.percent),
        _number(line.second, line.percent),
        _signed(line.difference.value, line.percent),
        _interval(line),
        _p(line.p_value),
        _p(line.adjusted) if line.adjusted is not None else "",
        str(line.n) if line.n == line.n_applies else f"{line.n} / {line.n_applies}",
    )


def _number(value: float | None, percent: bool = True) -> str:
    if value is None:
        return NOTHING
    return f"{100 * value:.1f}" if percent else f"{value:.2f}"


def _signed(value: float | None, percent: bool = True) -> str:
    text = _number(value, percent)
    return text if value is None or text.startswith("-") else f"+{text}"


def _interval(line: MetricComparison) -> str:
    found = line.difference.interval
    ends = f"{_signed(found.low, line.percent)} … {_signed(found.high, line.percent)}" if found else NOTHING
    if line.n == line.n_applies:
        return ends
    return f"{ends} [{_signed(line.lowest, line.percent)} … {_signed(line.highest, line.percent)}]"


def _p(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"<{SMALLEST_P:g}" if value < SMALLEST_P else f"{value:.3f}"


def _split(comparison: Comparison) -> Block:
    split = comparison.split
    if split is None:
        return Block()
    rows = (
        (
            "own correct answers",
            split.first,
            split.second,
            split.total,
            f"{split.n_first} and {split.n_second}",
        ),
        ("both correct (within)", split.first_common, split.second_common, split.within, str(split.n_common)),
        ("composition (the rest)", None, None, split.composition, ""),
    )
    return Block(
        title="P_mmc on answerable questions: the same questions, or other questions?",
        head=("", "A", "B", "A − B", "95 % interval", "p", "n"),
        rows=tuple((name, _number(a), _number(b), *_difference(each), n) for name, a, b, each, n in rows),
        sentences=(
            "P_mmc is conditional on a correct answer, and the runs answer different questions correctly: within "
            "compares memories of the same questions, composition is what the change of questions adds.",
        ),
    )


def _difference(difference: Difference) -> tuple[str, str, str]:
    ends = difference.interval
    text = f"{_signed(ends.low)} … {_signed(ends.high)}" if ends else NOTHING
    return _signed(difference.value), text, _p(difference.p_value)


def _seeds(comparison: Comparison) -> Block:
    rows = [
        (f"{letter}: {name}", *_seed_cells(summary))
        for letter, side in (("A", comparison.first), ("B", comparison.second))
        for name, summary in side.seeds.items()
    ]
    return Block(
        title="Several samples a question",
        head=("", "mean ± sd", "samples", "variance of one question"),
        rows=tuple(rows),
    )


def _seed_cells(summary: SeedSummary) -> tuple[str, str, str]:
    spread = NOTHING if summary.sd is None else f"{100 * summary.sd:.1f}"
    variance = NOTHING if summary.question_variance is None else f"{summary.question_variance:.3f}"
    return f"{_number(summary.mean)} ± {spread}", str(len(summary.values)), variance


def _power(comparison: Comparison) -> Block:
    lines = [line for line in comparison.metrics if line.name in comparison.family and line.sample_size]
    return Block(
        sentences=tuple(
            f"{line.name}: {line.sample_size.text()}; there are {line.n:,} ({line.documents:,})."
            for line in lines
            if line.sample_size
        )
    )


def _slices(table: SliceTable, labels: dict[str, str]) -> Block:
    note = "A question may stand in several lines; the lines do not add up. " if table.overlapping else ""
    return Block(
        title=f"By {table.name}",
        head=("", "metric", *HEAD[1:6], "n"),
        rows=tuple(
            (label, labels[line.name], *_row("", line)[1:6], _row("", line)[7])
            for label, lines in table.lines.items()
            for line in lines
        ),
        sentences=(f"{note}These p-values are exploratory and not adjusted.",),
        brief=False,
    )


def _beside(comparison: Comparison) -> Block:
    """The other methods, so that nobody needs to take one on trust."""
    rows = [
        (
            line.name,
            *_bootstrap_cells(line),
            _p(line.sign_flip.p_value) if line.sign_flip else NOTHING,
            _method(line),
        )
        for line in comparison.metrics
        if line.p_value is not None
    ]
    return Block(
        title="Beside the headline: other methods",
        head=(
            "",
            "bootstrap interval of A − B",
            "undefined resamples",
            "sign-flip p",
            "p of the first table",
        ),
        rows=tuple(rows),
        brief=False,
    )


def _bootstrap_cells(line: MetricComparison) -> tuple[str, str]:
    found = line.bootstrap
    if found is None:
        return NOTHING, NOTHING
    ends = f"{_signed(found.low, line.percent)} … {_signed(found.high, line.percent)}"
    return ends, f"{found.undefined} of {found.resamples:,}"


def _method(line: MetricComparison) -> str:
    if line.test is not None:
        return line.test.method
    if line.difference.p_value is not None or line.sign_flip is None:
        return "Student t of the linearised difference"
    return line.sign_flip.method


def _independent(comparison: Comparison) -> Block:
    return Block(
        title="As papers print it",
        head=("", "statistic", "p", "method"),
        rows=tuple(
            (name, f"{test.statistic:.2f}", _p(test.p_value), test.method)
            for name, test in comparison.independent.items()
        ),
        brief=False,
    )


def _settings(comparison: Comparison) -> Block:
    a, b = comparison.first, comparison.second
    rows = [("policy", a.policy, b.policy)]
    rows += [(name, a.settings[name].shown, b.settings[name].shown) for name in FAIRNESS]
    rows += [("scores", a.score_id, b.score_id), ("readings", _reading(a), _reading(b))]
    return Block(title="Settings", head=("", "A", "B"), rows=tuple(rows), brief=False)


def _reading(side: Side) -> str:
    return side.reading_id or "none"
