"""`looseleaf mcp`: a folder of documents for any MCP client."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o
from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.adapters.desk import DeskOptions
    from looseleaf.roles import Reader
    from looseleaf.runner.config import RunConfig

__all__ = ["PageView", "mcp"]


class PageView(StrEnum):
    """What the client sees of a page."""

    IMAGES = "images"
    TEXT = "text"
    BOTH = "both"


def mcp(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of PDFs.")],
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="Only these questions can be asked, JSON lines with gold answers, to measure a client.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="RUN folder that every question is recorded into.")
    ] = None,
    reader: Annotated[
        str,
        typer.Option("--reader", help=f"Who checks the notes: {o.ROLE_HELP}.", rich_help_panel="Roles"),
    ] = "embedded",
    base_url: o.BaseUrlOption = [],  # noqa: B006
    protocol: o.ProtocolOption = "awm",
    retriever: o.RetrieverOption = "bm25",
    max_turns: o.MaxTurnsOption = None,
    ocr: o.OcrOption = False,
    pages: Annotated[
        PageView, typer.Option("--pages", help="What the client sees of a page.", rich_help_panel="Run")
    ] = PageView.BOTH,
) -> None:
    """Serve search, fetch, note, answer and the memory check over a folder of PDFs, on standard input and output.

    For any MCP client: an assistant that you already use can ask your documents, and be measured as the policy.
    """
    import asyncio
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise ConfigError('MCP is not installed; use: pip install "looseleaf[mcp]".')
    from looseleaf.adapters.desk import DeskOptions
    from looseleaf.models.registry import make_reader
    from looseleaf.models.role_spec import RoleSpec
    from looseleaf.protocol import named_protocol

    reader_spec = RoleSpec.on_servers(reader, base_url)
    options = DeskOptions(
        protocol=named_protocol(protocol, max_turns=max_turns), pages=pages.value, reader=reader_spec.name
    )
    config = _config(folder, questions, out, options, retriever, ocr)
    if sys.stdin.isatty():
        typer.echo("looseleaf: an MCP client starts this command and talks to it; Ctrl-C ends it.", err=True)
    asyncio.run(_serve(folder, questions is not None, out, config, options, make_reader(reader_spec)))


def _config(
    folder: Path, questions: Path | None, out: Path | None, options: DeskOptions, retriever: str, ocr: bool
) -> RunConfig:
    from looseleaf.adapters.desk_record import DeskRecord
    from looseleaf.models.role_spec import RoleSpec
    from looseleaf.runner.config import DataConfig, RunConfig

    config = RunConfig(
        data=DataConfig(benchmark=str(questions), path=str(folder))
        if questions is not None
        else DeskRecord.free_data(out or Path(), folder),
        policy=RoleSpec(
            backend="mcp", options={"pages": options.pages, "max_image_pixels": options.max_pixels}
        ),
        protocol=options.protocol,
        retriever=retriever,
        ocr=ocr,
    )
    if config.is_ep_given and questions is None:
        raise ConfigError(
            "Gold pages need annotated questions; give --questions FILE, or use --protocol awm and --retriever bm25."
        )
    return config


async def _serve(
    folder: Path, listed: bool, out: Path | None, config: RunConfig, options: DeskOptions, reader: Reader
) -> None:
    from looseleaf.adapters.desk import Desk
    from looseleaf.adapters.desk_questions import FreeQuestions, ListedQuestions
    from looseleaf.adapters.desk_record import DeskRecord
    from looseleaf.adapters.mcp_server import serve
    from looseleaf.adapters.shelf import Shelf
    from looseleaf.document import default_store, require_ocr
    from looseleaf.models.retrievers import retriever_maker
    from looseleaf.runner.library import Library
    from looseleaf.runner.selection import load_data, select

    if config.ocr:
        require_ocr()
    shelf = Shelf(folder, default_store(), ocr=config.ocr)
    questions: FreeQuestions | ListedQuestions
    if listed:
        question_set = load_data(config.data)
        library = Library(question_set, config.retriever_in_force, default_store(), ocr=config.ocr)
        record = DeskRecord(out, config, question_set, library) if out else None
        questions = ListedQuestions(select(question_set, config), question_set, library, record)
    else:
        record = DeskRecord(out, config) if out else None
        questions = FreeQuestions(shelf, retriever_maker(config.retriever), record)
    with record or nullcontext():
        await serve(Desk(shelf.names, questions, reader, options, record))
