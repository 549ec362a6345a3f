"""`looseleaf import`: other people's trajectories as an ordinary RUN."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o
from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.adapters.imports.provenance import ImportOutcome
    from looseleaf.benchmarks import QuestionSet

__all__ = ["import_"]

SHOWN_REJECTIONS = 5
"""Rejected rows that are printed; the manifest names more."""


def import_(
    source_format: Annotated[str, typer.Argument(metavar="FORMAT", help="A format; `list` prints them.")],
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help="The file or folder.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="New RUN folder.")] = None,
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs", help="Folder of the documents: page numbers are checked and pages can be shown."
        ),
    ] = None,
    questions: Annotated[
        str | None,
        typer.Option(
            "--questions",
            help="Match rows with this benchmark, or with your own questions (.jsonl, with --docs).",
        ),
    ] = None,
    data: o.DataOption = None,
    only_present: Annotated[
        bool,
        typer.Option(
            "--only-present",
            help="Leave out questions that the file says nothing of; by default they count as unscored.",
        ),
    ] = False,
    option: Annotated[
        list[str],
        typer.Option("--set", metavar="NAME=VALUE", help="Option of the format; may be given several times."),
    ] = [],  # noqa: B006
) -> None:
    """Import trajectories of another tool, so that every scorer, memory diagnostic, report and viewer works on them.

    What the format does not record (a memory, pages, turns) is undefined, not 0.
    """
    from looseleaf.adapters import importer_named
    from looseleaf.adapters.exporter import checked_options
    from looseleaf.adapters.imports.write import ImportRequest, import_run

    if source_format == "list":
        _print_formats()
        return
    source = importer_named(source_format)
    if path is None or out is None:
        raise ConfigError(f"Give the file and the new run: looseleaf import {source.name} FILE --out RUN.")
    outcome = import_run(
        ImportRequest(
            source=source,
            path=path,
            options=checked_options(source.name, o.data_options(option), source.options),
            questions=_question_set(questions, data, docs),
            docs=docs,
            only_present=only_present,
        ),
        out,
    )
    _print_outcome(outcome, out)


def _question_set(questions: str | None, data: Path | None, docs: Path | None) -> QuestionSet | None:
    from looseleaf.benchmarks import canonical_name, load_benchmark, load_questions

    if questions is None:
        if data is not None:
            raise ConfigError("--data is the folder of a benchmark; name it with --questions.")
        return None
    if Path(questions).suffix in {".jsonl", ".json"}:
        if docs is None:
            raise ConfigError(f"Your questions {questions} need their documents; add --docs DIR.")
        return load_questions(Path(questions), docs)
    if data is None:
        raise ConfigError(f"The benchmark {questions} needs its data folder; add --data DIR.")
    return load_benchmark(canonical_name(questions), data, require_documents=False)


def _print_formats() -> None:
    from looseleaf.adapters import IMPORTERS, importer_named

    for name in sorted(IMPORTERS):
        source = importer_named(name)
        typer.echo(f"{name:13} {source.title}; pages {source.pages}; after {source.upstream}")
        for option, text in source.options.items():
            typer.echo(f"{'':13}   --set {option}=…: {text}")


def _print_outcome(outcome: ImportOutcome, out: Path) -> None:
    from looseleaf.report.plain import printable

    typer.echo(f"{outcome.imported} of {outcome.rows} rows are trajectories of {out}.")
    if outcome.not_run:
        typer.echo(f"• {outcome.not_run} rows hold a question and no answer yet; they count as not run.")
    if outcome.n_rejected:
        typer.echo(f"• {outcome.n_rejected} rows could not be used:")
        for row in outcome.rejected[:SHOWN_REJECTIONS]:
            typer.echo(f"    {printable(row.where)}: {printable(row.why)}")
    for notice in outcome.notices:
        typer.echo(f"• {printable(notice)}")
    typer.echo(f"Score it: looseleaf score {out}")
