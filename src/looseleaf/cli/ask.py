"""`looseleaf ask`: one question about one document, or about all documents of a folder."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o
from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from looseleaf.models.role_spec import RoleSpec
    from looseleaf.retrieval import AnyDocument
    from looseleaf.trajectory import Trajectory

__all__ = ["ask"]

FAULT = 1
"""Exit status when the policy or its model failed."""


def ask(
    document: Annotated[
        Path, typer.Argument(help="A PDF, an image, a folder of page images, or a folder of PDFs.")
    ],
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    policy: o.PolicyOption = "embedded",
    reader: Annotated[
        str,
        typer.Option("--reader", help=f"Who checks the findings: {o.ROLE_HELP}.", rich_help_panel="Roles"),
    ] = "embedded",
    base_url: o.BaseUrlOption = [],  # noqa: B006
    protocol: o.ProtocolOption = "awm",
    retriever: o.RetrieverOption = "bm25",
    max_turns: o.MaxTurnsOption = None,
    ocr: Annotated[
        bool | None,
        typer.Option(
            "--ocr/--no-ocr",
            help="Read pages and pictures without text by OCR; by default if it is installed.",
            rich_help_panel="Run",
        ),
    ] = None,
) -> None:
    """Ask a document: the answer, the findings with their pages, and whether these alone give the same answer.

    Of a folder of PDFs all pages are searched, and findings name their document and page.
    """
    import asyncio

    from looseleaf.cli.console import console
    from looseleaf.models.registry import make_policy, make_reader
    from looseleaf.models.retrievers import retriever_maker
    from looseleaf.models.role_spec import RoleSpec
    from looseleaf.protocol import named_protocol
    from looseleaf.runner.ask import answer_from_memory, run_question

    if not question.strip():
        raise ConfigError("The question is empty; write what you want to know in quotation marks.")
    oracle = "ep-given" if protocol == "ep-given" else retriever
    if oracle in {"ep-given", "gold-pages"}:  # by name: rules are read once the question is found to be there
        raise ConfigError(
            f"{oracle} needs annotated gold pages, which a question of your own has not; use --protocol awm and "
            "--retriever bm25."
        )
    rules = named_protocol(protocol, max_turns=max_turns)
    policy_spec, reader_spec = (RoleSpec.on_servers(text, base_url) for text in (policy, reader))
    acting, checking = make_policy(policy_spec), make_reader(reader_spec)
    searching = retriever_maker(retriever)()
    out = console()
    opened = _open(out, document, ocr, policy_spec)
    trajectory = asyncio.run(run_question(opened, question, acting, searching, rules))
    _print(out, opened, trajectory)
    if trajectory.stop_reason.is_fault:
        raise typer.Exit(FAULT)
    if rules.memory != "none":
        reading = asyncio.run(answer_from_memory(trajectory, checking))
        _print_check(out, trajectory, reading, reader_spec.name)


def _open(out: Console, path: Path, ocr: bool | None, policy: RoleSpec) -> AnyDocument:
    """The document or documents, with what is missing and what it would take said before anything takes long."""
    from looseleaf.cli.console import progress_bars
    from looseleaf.document import (
        MIN_TEXT_CHARACTERS,
        Document,
        default_store,
        ocr_engine,
        require_ocr,
    )
    from looseleaf.retrieval import Collection

    if ocr:
        require_ocr()
    opening = Collection.open if Collection.is_at(path) else Document.open
    document: AnyDocument = opening(path)
    _name_unusable(out, document)
    bare = sum(len(text.strip()) < MIN_TEXT_CHARACTERS for text in document.texts())
    read = ocr_engine() is not None if ocr is None else ocr
    if bare and policy.backend == "embedded":
        _warn_without_text(out, document, bare, read)
    if not read:
        return document
    store = default_store()
    with progress_bars() if sys.stderr.isatty() else nullcontext() as draw:
        document = opening(path, ocr=True, progress=partial(draw, "OCR") if draw else None)
    if store.pages_recognized:
        seconds = store.ocr_cpu_seconds / store.pages_recognized
        out.print(
            f"[dim]{store.pages_recognized} pages read by OCR ({document.ocr}), {seconds:.1f} CPU-s a page; "
            "they are kept for the next question.[/dim]",
            highlight=False,
        )
    return document


def _name_unusable(out: Console, document: AnyDocument) -> None:
    """Say which files of a folder are left out."""
    from looseleaf.cli.console import safe
    from looseleaf.retrieval import Collection

    if isinstance(document, Collection):
        for problem in document.problems:
            out.print(f"[yellow]Left out:[/yellow] {safe(problem)}", highlight=False)


def _warn_without_text(out: Console, document: AnyDocument, bare: int, read: bool) -> None:
    from looseleaf.document import Document, ocr_engine

    whose = "this document" if isinstance(document, Document) else "these documents"
    with_text = document.page_count - bare
    which = f"{with_text} of {document.page_count} pages" if with_text else "no page"
    verb = "have" if with_text > 1 else "has"
    can_see = "--policy openai:MODEL --base-url URL"
    if read:
        advice = f"OCR (looseleaf\\[ocr]) reads the rest now; a model that sees it: {can_see}."
    elif ocr_engine() is None:
        advice = f'Add OCR (pip install "looseleaf\\[ocr]") or a model that can: {can_see}.'
    else:
        advice = f"Let OCR read the rest (leave out --no-ocr), or add a model that can: {can_see}."
    out.print(
        f"[yellow]Note:[/yellow] {which} of {whose} {verb} a text layer, and the embedded policy is a "
        f"text-and-OCR baseline that cannot see images. {advice}",
        highlight=False,
    )


def _print(out: Console, document: AnyDocument, trajectory: Trajectory) -> None:
    from looseleaf.cli.console import safe

    answer = (
        f"no answer ({trajectory.stop_reason})" if trajectory.answer is None else _written(trajectory.answer)
    )
    out.print(f"[bold]Answer:[/bold] {safe(answer)}", highlight=False)
    if trajectory.error:
        out.print(f"[red]{safe(trajectory.error)}[/red]", highlight=False)
    out.print(f"[bold]Findings:[/bold]{'' if trajectory.memory else ' none'}")
    for finding in trajectory.memory:
        where = safe(_page_name(document, finding.source_page))
        out.print(f"  {where}: {safe(finding.text)}", highlight=False)
    out.print(
        f"[dim]Pages looked at: {safe(_looked_at(document, trajectory.shown_pages))}; {trajectory.turns} turns.[/dim]",
        highlight=False,
    )


def _written(answer: str) -> str:
    """An answer as people write it; benchmarks have lists in brackets and quotation marks."""
    from looseleaf.benchmarks.literals import list_literal

    items = list_literal(answer)
    return ", ".join(map(str, items)) if items else answer


def _looked_at(document: AnyDocument, pages: tuple[int, ...]) -> str:
    """Pages by number, in a folder document by document."""
    from looseleaf.retrieval import Collection

    if not isinstance(document, Collection):
        return f"{', '.join(map(str, pages)) or 'none'} of {document.page_count}"
    by_document: dict[str, list[str]] = {}
    for place in map(document.place, pages):
        by_document.setdefault(place.document.doc_id, []).append(str(place.page))
    looked = "; ".join(f"{name} {', '.join(numbers)}" for name, numbers in by_document.items()) or "none"
    return f"{looked} of {document.page_count} in {len(document.documents)} documents"


def _page_name(document: AnyDocument, page: int) -> str:
    from looseleaf.retrieval import Collection

    label = document.label(page)
    if isinstance(document, Collection):
        return label
    return f"page {page}" if label == str(page) else f"page {page} (printed {label})"


def _print_check(out: Console, trajectory: Trajectory, reading: str, name: str) -> None:
    """Whether the findings alone give the answer, and if not, what they give."""
    from looseleaf.cli.console import safe
    from looseleaf.question import NOT_ANSWERABLE
    from looseleaf.runner.ask import same_words

    same = same_words(reading, trajectory.answer or "")
    if same and same_words(reading, NOT_ANSWERABLE):
        verdict = "yes, they do not answer it either"
    elif same:
        verdict = "[green]yes[/green]"
    else:
        verdict = f"[red]no[/red], from the findings alone: {safe(_written(reading))}"
    out.print(
        f"[bold]Do the findings alone give this answer?[/bold] {verdict}  [dim](reader: {safe(name)})[/dim]",
        highlight=False,
    )
