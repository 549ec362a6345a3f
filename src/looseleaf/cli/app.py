"""The application: verbs, and how errors leave it."""

from __future__ import annotations

import io
import sys

import typer

from looseleaf.cli.ask import ask
from looseleaf.cli.audit import audit_app
from looseleaf.cli.cache import cache
from looseleaf.cli.compare import compare
from looseleaf.cli.data import data_app
from looseleaf.cli.demo import demo
from looseleaf.cli.doctor import doctor
from looseleaf.cli.evaluate import eval_, report, run, score
from looseleaf.cli.exports import export
from looseleaf.cli.imports import import_
from looseleaf.cli.lab import lab
from looseleaf.cli.mcp import mcp
from looseleaf.cli.options import print_version
from looseleaf.cli.reindex import reindex
from looseleaf.cli.simulate import simulate
from looseleaf.cli.train import train_app
from looseleaf.cli.view import view
from looseleaf.errors import LooseleafError, UserError

__all__ = ["app", "main"]

USER_MISTAKE = 2
"""Exit status for something the user gave that cannot be used."""
FAULT = 1
"""Exit status for something that failed under way: rows are unscored, the same command goes on."""
INTERRUPTED = 130
"""Exit status after an interrupt, as shells use it (128 + SIGINT)."""

EPILOG = """
**First steps**

`looseleaf demo` — bundled documents, three note-writers, scored and reported in seconds; no key, no GPU.

`looseleaf ask report.pdf "What was the revenue in 2023?"` — answer, findings with pages, and whether they suffice.

`looseleaf eval mmlongbench-doc --data DIR --out RUN` — run, score and report a benchmark; the same command resumes.
"""

app = typer.Typer(
    name="looseleaf",
    help="The bench for long-document question answering agents: answers, navigation, whether memory alone answers.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=print_version, is_eager=True
    ),
) -> None:
    """Options of the command itself."""


app.command("demo")(demo)
app.command("ask")(ask)
app.command("eval")(eval_)
app.command("run")(run)
app.command("score")(score)
app.command("report")(report)
app.command("lab")(lab)
app.command("compare")(compare)
app.command("view")(view)
app.command("simulate")(simulate)
app.command("import")(import_)
app.command("export")(export)
app.command("mcp")(mcp)
app.command("doctor")(doctor)
app.command("cache")(cache)
app.command("reindex")(reindex)
app.add_typer(audit_app, name="audit")
app.add_typer(data_app, name="data")
app.add_typer(train_app, name="train")


def main() -> None:
    """Run the command; user mistakes are one sentence and exit status 2, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a narrow terminal encoding must not end a command
    try:
        app()
    except UserError as problem:
        _say(problem)
        sys.exit(USER_MISTAKE)
    except LooseleafError as problem:
        _say(problem)
        sys.exit(FAULT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _say(problem: LooseleafError) -> None:
    from looseleaf.report.plain import terminal_lines

    typer.echo(terminal_lines(f"looseleaf: {problem}"), err=True)
