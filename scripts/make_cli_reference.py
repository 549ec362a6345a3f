"""Write `docs/reference/cli.md` from the typer application.

    python scripts/make_cli_reference.py [FILE]

Text comes from the declarations (help, default, panel of every option), not from rendered help, so that neither the
width of a terminal nor the version of typer or rich changes a byte of it. A test fails when the file is stale.
"""

from __future__ import annotations

import argparse
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.models import ArgumentInfo, DefaultPlaceholder, OptionInfo, ParameterInfo

from looseleaf.cli.app import app

OUT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
PROGRAM = "looseleaf"
INTRODUCTION = """# Command line

Every verb, made from the declarations by `python scripts/make_cli_reference.py`; `looseleaf VERB --help` says the
same. What each verb does as a Python function is in [Verbs as functions](../library.md).

Exit status: 0 when all is well; 1 when rows stayed unscored because something failed (the same command tries them
again), or when `data overlap` found an overlap; 2 when something that was given cannot be used, with one sentence that
says what to do; 130 after an interrupt.
"""
KINDS: dict[Any, str] = {str: "TEXT", Path: "PATH", int: "INTEGER", float: "NUMBER"}
"""How the value of an option is written, by its type."""
NONE_SHOWN: tuple[Any, ...] = (None, [], (), "", ...)
"""Defaults that are not worth a word."""


class Parameter(NamedTuple):
    """One argument or option of a verb: its Python name, declaration, type, default and given option names."""

    name: str
    info: ParameterInfo
    kind: Any
    default: Any
    names: tuple[str, ...]

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return bare(self.kind) is bool


def reference() -> str:
    """The whole page."""
    verbs = list(commands(app, PROGRAM))
    contents = [f"* [`{name}`](#{anchor(name)}) {first_sentence(function)}" for name, function in verbs]
    sections = [section(name, function) for name, function in verbs]
    return "\n".join([INTRODUCTION, *contents, "", *sections]).rstrip() + "\n"


def commands(group: typer.Typer, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every verb with its function, groups last."""
    for command in group.registered_commands:
        assert command.callback is not None
        yield f"{prefix} {command.name or command.callback.__name__.replace('_', '-')}", command.callback
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        assert inner.name is not None
        yield from commands(inner.typer_instance, f"{prefix} {inner.name}")


def section(name: str, function: Callable[..., Any]) -> str:
    """One verb: usage, what it does, its arguments, and its options by panel."""
    found = parameters(function)
    arguments = [one for one in found if isinstance(one.info, ArgumentInfo)]
    options = [one for one in found if isinstance(one.info, OptionInfo)]
    usage = " ".join([name, *map(usage_of, arguments), *(["[OPTIONS]"] if options else [])])
    lines = [
        f"## {name} {{ #{anchor(name)} }}",
        "",
        f"```text\n{usage}\n```",
        "",
        inspect.getdoc(function) or "",
        "",
    ]
    if arguments:
        lines += ["| argument | |", "|---|---|", *map(argument_row, arguments), ""]
    panels = dict.fromkeys(panel_of(one) for one in options)
    for panel in panels:
        lines += [f"| {panel} | default | |", "|---|---|---|"]
        lines += [option_row(one) for one in options if panel_of(one) == panel]
        lines.append("")
    return "\n".join(lines)


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Arguments and options in order."""
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind, default = hints[name], parameter.default
        assert typing.get_origin(kind) is typing.Annotated, f"{function.__name__}: {name} is not declared"
        kind, info = typing.get_args(kind)[:2]
        # Inside `Annotated` the first word that was given stands where typer keeps a default.
        names = (*(() if info.default is ... else (info.default,)), *(info.param_decls or ()))
        default = ... if default is inspect.Parameter.empty else default
        found.append(Parameter(name, info, kind, default, names))
    return found


def argument_row(one: Parameter) -> str:
    """A row of the table of arguments."""
    return f"| `{metavar_of(one)}` | {said(one)}{'' if one.default in NONE_SHOWN else f' Default: {shown(one)}.'} |"


def option_row(one: Parameter) -> str:
    """A row of a table of options."""
    names = "/".join(declared(one))
    value = "" if one.is_flag else f" {metavar_of(one)}"
    given = "" if one.default in NONE_SHOWN or one.info.show_default is False else shown(one)
    return f"| `{names}{value}` | {given} | {said(one)} |"


def usage_of(one: Parameter) -> str:
    """An argument in the line of usage."""
    return metavar_of(one) if one.default is ... else f"[{metavar_of(one)}]"


def declared(one: Parameter) -> list[str]:
    """Names of an option; those that typer makes of the Python name where none are given."""
    if one.names:
        return "/".join(one.names).split("/")
    name = one.name.replace("_", "-")
    return [f"--{name}", f"--no-{name}"] if one.is_flag else [f"--{name}"]


def metavar_of(one: Parameter) -> str:
    """How a value is written."""
    if one.info.metavar:
        return str(one.info.metavar)
    if isinstance(one.info, ArgumentInfo):
        return one.name.upper() + ("…" if typing.get_origin(one.kind) is list else "")
    kind = bare(one.kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "{" + ",".join(str(member.value) for member in kind) + "}"
    return KINDS[kind]


def bare(kind: Any) -> Any:
    """The type of one value: what is inside `list[…]` or `… | None`."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return bare(next(one for one in inside if one is not type(None)))
    return bare(inside[0]) if origin in (list, tuple) else kind


def panel_of(one: Parameter) -> str:
    """The panel that an option stands in."""
    panel = one.info.rich_help_panel
    return "Options" if panel is None or isinstance(panel, DefaultPlaceholder) else str(panel)


def said(one: Parameter) -> str:
    """The help text, safe in a table."""
    assert one.info.help, f"{one.name} has no help"
    return escaped(" ".join(one.info.help.split()))


def shown(one: Parameter) -> str:
    """A default value."""
    if one.is_flag:
        names = declared(one)
        return f"`{names[0] if one.default else names[-1]}`" if one.default or len(names) > 1 else "off"
    values = one.default if isinstance(one.default, (list, tuple)) else [one.default]
    plain = (value.value if isinstance(value, enum.Enum) else value for value in values)
    return f"`{' '.join(map(str, plain))}`"


def escaped(text: str) -> str:
    """Text whose special characters Markdown leaves alone."""
    for sign in "\\|[]<>*_":
        text = text.replace(sign, f"\\{sign}")
    return text


def first_sentence(function: Callable[..., Any]) -> str:
    """What a verb does, in its first sentence."""
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def anchor(name: str) -> str:
    """Anchor of a verb's section."""
    return name.replace(" ", "-")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Write the reference of the command line.")
    parser.add_argument("file", nargs="?", type=Path, default=OUT)
    parser.parse_args().file.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
