"""`looseleaf data`: what is there, what is broken, getting it, and whether two sets overlap."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o
from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.benchmarks import CheckReport

__all__ = ["data_app"]

data_app = typer.Typer(
    help="Data sets: check what is there, fetch them, make documents, compare two sets.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

BenchmarkArgument = Annotated[str, typer.Argument(help="A benchmark's name.")]
JsonOption = Annotated[
    Path | None, typer.Option("--json", help="Also write the result as JSON into this file.")
]

OVERLAP_EXIT = 1
"""Exit status when two sets overlap."""


@data_app.command("check")
def check(
    benchmark: BenchmarkArgument,
    data: Annotated[Path, typer.Option("--data", help="Data folder of the benchmark.")],
    json_path: JsonOption = None,
    option: o.DataOptionOption = [],  # noqa: B006
    documents: Annotated[bool, typer.Option(help="Open the documents too, not only the annotations.")] = True,
) -> None:
    """What of a benchmark is there, and what is wrong with it: counts, missing and broken documents, gold faults."""
    from looseleaf.benchmarks import check as find_faults
    from looseleaf.benchmarks import load_benchmark
    from looseleaf.document import default_store

    options = {**o.data_options(option), "require_documents": False}
    report = find_faults(
        load_benchmark(benchmark, data, **options), default_store(), open_documents=documents
    )
    _print_check(report)
    if json_path is not None:
        _write_json(json_path, report.to_json())


def _print_check(report: CheckReport) -> None:
    from rich.markup import escape
    from rich.table import Table

    from looseleaf.cli.console import console

    out = console()
    out.print(
        f"[bold]{escape(str(report.data['name']))}[/bold] {escape(str(report.data['version']))}",
        highlight=False,
    )
    counts = Table(show_header=False, show_edge=False)
    for name, number in report.counts.items():
        counts.add_row(name.replace("_", " "), str(number))
    out.print(counts)
    faults = Table("kind", "where", "", "what", show_edge=False)
    for row in report.rows():
        faults.add_row(*(escape(cell) for cell in row))
    out.print(faults if report.faults else "Nothing is wrong.")
    for note in report.data["notes"]:
        out.print(f"[yellow]•[/yellow] {escape(str(note))}", highlight=False)


@data_app.command("fetch")
def fetch(
    benchmark: BenchmarkArgument,
    data: Annotated[Path, typer.Option("--data", help="Folder to fill.")],
    documents: Annotated[bool, typer.Option(help="Fetch the documents too, which may be gigabytes.")] = True,
    mirror: Annotated[
        Path | None, typer.Option("--mirror", help="Copy from this folder instead of the network.")
    ] = None,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Address of a Hub mirror.")] = None,
) -> None:
    """Download a benchmark; files that are there already are left alone."""
    from looseleaf.benchmarks import fetch as download

    report = download(benchmark, data, mirror=mirror, endpoint=endpoint, documents=documents)
    typer.echo(f"{report.name}: {len(report.placed)} files placed in {data}, {len(report.kept)} were there.")
    typer.echo(f"Licence: {report.licence}.")


class _Split(StrEnum):
    TRAIN = "train"
    RL = "rl"
    TEST = "test"


@data_app.command("make")
def make(
    out: Annotated[Path, typer.Option("--out", help="New or empty folder.")],
    benchmark: Annotated[
        str, typer.Argument(help="What to make; only procedural can be made.")
    ] = "procedural",
    documents: Annotated[int, typer.Option(min=1, help="How many documents.")] = 20,
    seed: Annotated[int, typer.Option(help="Everything is drawn from it, together with the split.")] = 0,
    split: Annotated[_Split, typer.Option(help="Splits share no names, values and wordings.")] = _Split.TEST,
    difficulty: Annotated[float, typer.Option(min=0, max=1, help="0 easy to 1 hard.")] = 0.5,
    questions: Annotated[int, typer.Option(min=1, help="Questions a document.")] = 8,
    kind: Annotated[
        list[str], typer.Option("--kind", help="report, paper, slides, manual or form; all if not given.")
    ] = [],  # noqa: B006
    twins: Annotated[
        bool, typer.Option("--twins", help="Also write counterfactual twins of every question.")
    ] = False,
) -> None:
    """Make long documents with questions whose answers and evidence pages are exact; the same seed, the same bytes."""
    from typing import Any, cast

    from looseleaf.benchmarks import canonical_name
    from looseleaf.procedural import KINDS
    from looseleaf.procedural import make as make_documents

    if canonical_name(benchmark) != "procedural":
        raise ConfigError(
            f"{benchmark} cannot be made; use procedural, or `looseleaf data fetch {benchmark}`."
        )
    chosen = cast(Any, kind or KINDS)  # checked by the generator, which names the kinds
    manifest = make_documents(
        out,
        documents=documents,
        seed=seed,
        split=split.value,
        difficulty=difficulty,
        kinds=chosen,
        questions=questions,
        twins=twins,
    )
    typer.echo(
        f"{manifest.documents} documents, {manifest.pages} pages, {manifest.questions} questions in {out}."
    )
    typer.echo(f"Run an agent on them: looseleaf eval procedural --data {out} --out RUN")


@data_app.command("overlap")
def overlap(
    train: Annotated[str, typer.Argument(help="Training set: a benchmark's name.")],
    train_data: Annotated[Path, typer.Argument(help="Its data folder.")],
    evaluation: Annotated[str, typer.Argument(help="Evaluation set: a benchmark's name.")],
    evaluation_data: Annotated[Path, typer.Argument(help="Its data folder.")],
    pages: Annotated[
        bool, typer.Option(help="Also compare rendered pages; about 100 pages a second.")
    ] = True,
    json_path: JsonOption = None,
) -> None:
    """Whether a training set shares documents, pages or questions with an evaluation set; exit status 1 if so."""
    from looseleaf.benchmarks import contamination, load_benchmark

    report = contamination(
        load_benchmark(train, train_data), load_benchmark(evaluation, evaluation_data), pages=pages
    )
    for row in report.rows():
        typer.echo("  ".join(row))
    if json_path is not None:
        _write_json(json_path, report.to_json())
    typer.echo("The sets do not overlap." if report.clean else f"{len(report.overlaps)} overlaps.")
    if not report.clean:
        raise typer.Exit(OVERLAP_EXIT)


@data_app.command("leak")
def leak(
    benchmark: BenchmarkArgument,
    data: Annotated[Path, typer.Option("--data", help="Data folder of the benchmark.")],
    option: o.DataOptionOption = [],  # noqa: B006
) -> None:
    """What constant policies score: a protocol under which they do well leaks the answer.

    `always` refuses every question. `without pages` refuses only where the set lists no gold pages, as a protocol
    that shows the gold pages only would let any model do.
    """
    from looseleaf.benchmarks import constant_scores, load_benchmark

    found = constant_scores(load_benchmark(benchmark, data, **o.data_options(option)))
    typer.echo(f"{found.questions} questions, official scorer, prediction 'Not answerable':")
    typer.echo(f"  always:         accuracy {100 * found.always:.1f}")
    typer.echo(
        f"  without pages:  accuracy {100 * found.informed:.1f}, on {found.without_pages} questions without gold pages"
    )
    if found.reveals:
        typer.echo("  Whoever sees that a question has no gold page knows that it is unanswerable.")


def _write_json(path: Path, content: object) -> None:
    import msgspec

    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    except OSError as problem:
        raise ConfigError(f"{path} cannot be written ({problem.strerror}); choose another file.") from problem
