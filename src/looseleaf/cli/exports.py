"""`looseleaf export`: a RUN as other tools' data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from looseleaf.cli import options as o
from looseleaf.errors import ConfigError

__all__ = ["export"]


def export(
    target: Annotated[str, typer.Argument(metavar="FORMAT", help="A format; `list` prints them.")],
    folder: Annotated[Path | None, typer.Argument(metavar="RUN", help="A RUN folder.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File or folder to write.")] = None,
    option: Annotated[
        list[str],
        typer.Option("--set", metavar="NAME=VALUE", help="Option of the format; may be given several times."),
    ] = [],  # noqa: B006
    pages: Annotated[
        bool,
        typer.Option(
            "--pages", help="Put page images in, where the format has them; short for --set pages=yes."
        ),
    ] = False,
) -> None:
    """Write a RUN as Parquet, as a Hugging Face dataset, as plain JSON lines, or in another tool's format."""
    from looseleaf.adapters import exporter_named

    if target == "list":
        _print_formats()
        return
    exporter = exporter_named(target)
    if folder is None or out is None:
        raise ConfigError(f"Give the run and the place: looseleaf export {target} RUN --out PATH.")
    for line in exporter.export(folder, out, o.data_options(option) | ({"pages": "yes"} if pages else {})):
        typer.echo(line)


def _print_formats() -> None:
    from looseleaf.adapters import EXPORTERS, exporter_named

    for name in sorted(EXPORTERS):
        exporter = exporter_named(name)
        typer.echo(f"{name:10} {exporter.title}")
        for option, text in exporter.options.items():
            typer.echo(f"{'':10}   --set {option}=…: {text}")
