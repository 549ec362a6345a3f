"""`Block`: a titled table with sentences, printed alike on the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from looseleaf.report.plain import markdown_text, printable

__all__ = ["Block", "block_lines", "blocks_as_markdown", "print_block", "print_blocks"]


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a printed result. All of its text is shown as text.

    Attributes:
        title: heading, or empty.
        head: column names; the first column holds labels and is set to the left.
        rows: cells as text; none for a block of sentences.
        sentences: what stands below the table.
        warning: whether the sentences are warnings.
        brief: whether it belongs on the terminal too, not only into the file.
    """

    title: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    sentences: tuple[str, ...] = ()
    warning: bool = False
    brief: bool = True


def print_blocks(console: Console, title: str, blocks: Sequence[Block]) -> None:
    """Print what belongs on the terminal."""
    console.print(f"[bold]{escape(printable(title))}[/bold]", highlight=False)
    for block in blocks:
        print_block(console, block)


def print_block(console: Console, block: Block) -> None:
    """Print one part, if it belongs on the terminal."""
    if not block.brief:
        return
    if block.rows:
        console.print(_table(block))
    elif block.title and block.sentences:
        console.print(f"[bold]{escape(printable(block.title))}[/bold]", highlight=False)
    for sentence in block.sentences:
        mark = "[yellow]![/yellow]" if block.warning else "•"
        console.print(f"{mark} {escape(printable(sentence))}", highlight=False)


def _table(block: Block) -> Table:
    shown = Table(title=escape(printable(block.title)) or None, title_justify="left", show_edge=False)
    for place, heading in enumerate(block.head):
        shown.add_column(escape(printable(heading)), justify="right" if place else "left")
    for row in block.rows:
        shown.add_row(*(escape(printable(cell)) for cell in row))
    return shown


def blocks_as_markdown(title: str, blocks: Sequence[Block]) -> str:
    """Everything as one Markdown document."""
    lines = [f"# {markdown_text(title)}", ""]
    for block in blocks:
        lines += block_lines(block)
    return "\n".join(lines).rstrip() + "\n"


def block_lines(block: Block) -> list[str]:
    """One part as lines of Markdown; none for an empty one."""
    if not block.rows and not block.sentences:
        return []
    return [
        *([f"## {markdown_text(block.title)}", ""] if block.title else []),
        *(_markdown_table(block) if block.rows else []),
        *([*(f"* {markdown_text(sentence)}" for sentence in block.sentences), ""] if block.sentences else []),
    ]


def _markdown_table(block: Block) -> list[str]:
    return [
        "| " + " | ".join(map(markdown_text, block.head)) + " |",
        "|" + " --- |" * len(block.head),
        *("| " + " | ".join(map(markdown_text, row)) + " |" for row in block.rows),
        "",
    ]
