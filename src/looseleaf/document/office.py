"""Office files as PDF, by LibreOffice where it is installed."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from ..errors import DocumentError

__all__ = ["OFFICE_SUFFIXES", "convert", "converter", "converter_version", "require_converter"]

OFFICE_SUFFIXES = frozenset(
    {".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".doc", ".ppt", ".xls", ".rtf"}
)
"""Names of files that LibreOffice is given."""

CONVERSION_SECONDS = 180.0
"""How long a conversion may take; 60 slides take ten seconds, most of them to start LibreOffice."""

_VERSION_SECONDS = 60.0

_NAMES = ("soffice", "libreoffice", "/Applications/LibreOffice.app/Contents/MacOS/soffice")

_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution"
oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="BlockUntrustedRefererLinks"
oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableActiveContent"
oor:op="fuse"><value>true</value></prop></item>
</oor:items>
"""
"""Settings of the throw-away profile: a document runs no macro and fetches nothing."""


def converter() -> str | None:
    """Path of LibreOffice's command, or `None` where it is not installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def require_converter(name: str) -> str:
    """The same, where an office file is to be opened.

    Raises:
        DocumentError: it is not installed.
    """
    command = converter()
    if command is None:
        raise DocumentError(
            f"{name} is an office file; install LibreOffice so that it can be converted, or save it as PDF."
        )
    return command


@functools.cache
def converter_version(command: str) -> str:
    """Version of LibreOffice for use in a cache key; the same file may look different in another one."""
    try:
        done = subprocess.run(  # noqa: S603 — the user's own LibreOffice
            [command, "--version"], capture_output=True, text=True, timeout=_VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return "".join(part for part in done.stdout.split()[1:2] if part.replace(".", "").isalnum()) or "unknown"


def convert(command: str, path: Path, name: str) -> bytes:
    """An office file as the bytes of a PDF.

    The file is copied under a plain name, and LibreOffice works with a throw-away profile: it neither waits
    for a running instance nor knows anything of the user. It is killed with its children if it takes too long.

    Raises:
        DocumentError: it cannot be converted.
    """
    with tempfile.TemporaryDirectory(prefix="looseleaf-office-") as scratch:
        folder = Path(scratch)
        copy = folder / f"document{path.suffix.lower()}"
        shutil.copyfile(path, copy)
        (folder / "out").mkdir()
        _write_profile(folder / "profile")
        _run([*_command(command, folder), str(copy)], name)
        try:
            return (folder / "out" / "document.pdf").read_bytes()
        except OSError as error:
            raise DocumentError(
                f"{name} cannot be converted by LibreOffice; open it there and save it as PDF."
            ) from error


def _command(command: str, folder: Path) -> list[str]:
    profile = (folder / "profile").absolute().as_uri()
    quiet = ["--headless", "--norestore", "--nolockcheck", "--nodefault", "--nofirststartwizard"]
    return [
        command,
        f"-env:UserInstallation={profile}",
        *quiet,
        "--convert-to",
        "pdf",
        "--outdir",
        str(folder / "out"),
    ]


def _write_profile(folder: Path) -> None:
    (folder / "user").mkdir(parents=True)
    (folder / "user" / "registrymodifications.xcu").write_text(_SETTINGS, encoding="utf-8")


def _run(command: list[str], name: str) -> None:
    try:
        process = subprocess.Popen(  # noqa: S603 — the user's own LibreOffice
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise DocumentError(
            f"{name} cannot be converted, as LibreOffice does not start ({error.strerror}); save it as PDF."
        ) from error
    try:
        process.wait(CONVERSION_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise DocumentError(
            f"{name} took LibreOffice more than {CONVERSION_SECONDS:g} s and was stopped; save it as PDF."
        ) from error
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End LibreOffice and the processes that its launcher has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
