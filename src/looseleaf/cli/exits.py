"""How a command ends where not everything could be done."""

from __future__ import annotations

import typer

__all__ = ["INTERRUPTED_EXIT", "UNSCORED_EXIT", "exit_on_faults"]

UNSCORED_EXIT = 1
"""Exit status when rows are unscored because something failed."""
INTERRUPTED_EXIT = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the signal's number."""


def exit_on_faults(faults: int, interrupted: bool, *, imported: bool = False) -> None:
    """Say what was left and end with its status; nothing where all was done.

    Args:
        faults: unscored rows.
        interrupted: whether the user stopped the command.
        imported: whether the rows come from an imported file, which the same command cannot complete.
    """
    if interrupted:
        typer.echo("looseleaf: interrupted; the same command goes on where it stopped.", err=True)
        raise typer.Exit(INTERRUPTED_EXIT)
    if faults:
        rows = "1 row is" if faults == 1 else f"{faults} rows are"
        why = (
            "the imported file has no answer there, or something failed; the report counts the reasons."
            if imported
            else f"something failed; the same command tries {'it' if faults == 1 else 'them'} again."
        )
        typer.echo(f"looseleaf: {rows} unscored because {why}", err=True)
        raise typer.Exit(UNSCORED_EXIT)
