"""Options that several verbs share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from looseleaf import __version__
from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.models.role_spec import RoleSpec

__all__ = [
    "ROLE_HELP",
    "BaseUrlOption",
    "CacheOption",
    "ConcurrencyOption",
    "DataOption",
    "DataOptionOption",
    "DocsOption",
    "DriftOption",
    "DriftReferenceOption",
    "ExecutorOption",
    "ExtractorOption",
    "IdsOption",
    "JudgeOption",
    "LimitOption",
    "MaxCostOption",
    "MaxTokensOption",
    "MaxTurnsOption",
    "OcrOption",
    "OutOption",
    "PolicyOption",
    "ProtocolOption",
    "RayAddressOption",
    "ReaderOption",
    "RetrieverOption",
    "SamplesOption",
    "ScorerOption",
    "SeedOption",
    "StrictOption",
    "ThresholdOption",
    "YesOption",
    "data_options",
    "print_version",
    "role_spec",
    "use_cache",
]

ROLE_HELP = "embedded, openai:MODEL, gguf:PATH, python:module:factory or a FILE.toml table"

PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        help=f"Who acts: {ROLE_HELP}; embedded:generic and embedded:echo are other note styles.",
        rich_help_panel="Roles",
    ),
]
ReaderOption = Annotated[
    list[str],
    typer.Option(
        "--reader",
        help=f"Who answers from the memory alone: {ROLE_HELP}. May be given several times; the first is the headline.",
        rich_help_panel="Roles",
    ),
]
ExtractorOption = Annotated[
    str,
    typer.Option(
        "--extractor",
        help=f"Who turns responses into short answers: {ROLE_HELP}, or none.",
        rich_help_panel="Roles",
    ),
]
JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge",
        help="Who judges, for judge scorers: openai:MODEL, gguf:PATH, python:module:factory, or none.",
        rich_help_panel="Roles",
    ),
]
BaseUrlOption = Annotated[
    list[str],
    typer.Option(
        "--base-url",
        help="Address of the OpenAI-compatible server of all openai: roles. May be given several times, for servers of "
        "the same model that share the work; one that dies is passed over.",
        rich_help_panel="Roles",
    ),
]
ProtocolOption = Annotated[
    str,
    typer.Option("--protocol", help="awm, alden, direct, rag or ep-given (oracle).", rich_help_panel="Run"),
]
RetrieverOption = Annotated[
    str,
    typer.Option(
        "--retriever",
        help="Who finds pages: bm25, random, dense:wordllama, dense:minilm, dense:MODEL or late:MODEL "
        "(sentence-transformers), dense-openai:MODEL or late-openai:MODEL (a server), rrf(A,B), python:module:factory, "
        "or gold-pages (oracle). Options in parentheses: late-openai:MODEL(base_url=URL,pages=image).",
        rich_help_panel="Run",
    ),
]
MaxTurnsOption = Annotated[
    int | None,
    typer.Option(
        "--max-turns", min=1, help="Change the protocol's budget of generations.", rich_help_panel="Run"
    ),
]
OcrOption = Annotated[
    bool,
    typer.Option(
        "--ocr/--no-ocr",
        help='Read pages and pictures without text by OCR (pip install "looseleaf[ocr]"); 1 to 9 CPU-s a page, once.',
        rich_help_panel="Run",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Only the first so many questions.", rich_help_panel="Run"),
]
IdsOption = Annotated[
    list[str],
    typer.Option("--ids", help="Only these question ids; may be given several times.", rich_help_panel="Run"),
]
SamplesOption = Annotated[
    int, typer.Option("--samples", min=1, help="Trajectories a question.", rich_help_panel="Run")
]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Base seed of sampling policies.", rich_help_panel="Run")
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Questions without their document count as unscored instead of being left out.",
        rich_help_panel="Run",
    ),
]
ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", min=1, help="Questions in flight.", rich_help_panel="Run")
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where the work is done: local, or ray (pip install 'looseleaf[ray]'), which changes no result. Of ray's "
        "cluster every processor has its share of --concurrency.",
        rich_help_panel="Scale",
    ),
]
CacheOption = Annotated[
    str,
    typer.Option(
        "--cache",
        metavar="PLACE",
        help="Cache of pages and replies, in place of $LOOSELEAF_CACHE: a folder, or an address that machines share, "
        "like s3://bucket/folder.",
        show_default=False,
        rich_help_panel="Scale",
    ),
]
RayAddressOption = Annotated[
    str,
    typer.Option(
        "--ray-address",
        metavar="HOST:PORT",
        help="A running Ray cluster whose nodes share the folders of the run; by default one on this machine.",
        show_default=False,
        rich_help_panel="Scale",
    ),
]
ScorerOption = Annotated[
    list[str],
    typer.Option(
        "--scorer",
        help="Scorer; the benchmark's official one if not given. Several may be given; the first is the headline.",
        rich_help_panel="Scoring",
    ),
]
DriftOption = Annotated[
    bool | None,
    typer.Option(
        "--drift/--no-drift",
        help="Replay 300 pinned items through extractor or judge, to see whether it changed. By default where a model "
        "on a server or in a GGUF file plays that role.",
        show_default=False,
        rich_help_panel="Scoring",
    ),
]
DriftReferenceOption = Annotated[
    Path | None,
    typer.Option(
        "--drift-reference",
        help="File of the pinned replies; in the cache folder by default. The first replay writes them.",
        rich_help_panel="Scoring",
    ),
]
ThresholdOption = Annotated[
    str,
    typer.Option(
        "--threshold",
        help="When a graded score counts as correct: '>0' (paper), '>=0.5' or '=1'.",
        rich_help_panel="Scoring",
    ),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost", help="Do not start a run estimated to cost more.", rich_help_panel="Preflight"
    ),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", help="Do not start a run estimated to take more.", rich_help_panel="Preflight"
    ),
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Start whatever it is estimated to take.", rich_help_panel="Preflight")
]
OutOption = Annotated[Path | None, typer.Option("--out", help="RUN folder, new or to be continued.")]
DataOption = Annotated[Path | None, typer.Option("--data", help="Data folder of a benchmark.")]
DocsOption = Annotated[
    Path | None, typer.Option("--docs", help="Folder of documents for one's own questions.")
]

DataOptionOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Loader option, e.g. overlay=FILE or pages=official-30; may be given several times.",
    ),
]


def data_options(given: list[str]) -> dict[str, Any]:
    """Loader options from `NAME=VALUE` words.

    Raises:
        ConfigError: a word has no equals sign.
    """
    for word in given:
        if "=" not in word:
            raise ConfigError(f"--set {word} has no value; write it as NAME=VALUE.")
    return dict(word.split("=", 1) for word in given)


def role_spec(text: str, base_urls: list[str]) -> RoleSpec:
    """The role that a word, or a table in a TOML file, stands for.

    Raises:
        ConfigError: it stands for none.
    """
    from looseleaf.models.role_spec import RoleSpec

    if text.endswith(".toml"):
        return RoleSpec.from_file(Path(text))
    return RoleSpec.on_servers(text, base_urls)


def use_cache(word: str) -> None:
    """Let this command, and every process that it starts, use the cache that was given; none is no change."""
    if word:
        os.environ["LOOSELEAF_CACHE"] = word


def print_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"looseleaf {__version__}")
        raise typer.Exit
