"""Whether an Inspect log can be given to inspect_ai, which bounds neither what it unpacks nor how deep it nests.

Source: inspect_ai 0.3.285, `inspect_ai/_util/async_zip.py` (members are unpacked whole, whatever size the archive
declares) and `inspect_ai/log/_recorders/json.py` (a `.json` log of 200 kB that nests 100,000 lists takes more than
20 GB there, measured).
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import IO

from looseleaf.adapters.imports.json_file import BLOCK, MAX_LINE, json_value
from looseleaf.benchmarks.rows import readable
from looseleaf.errors import DataError

__all__ = ["check_log"]

RAW_DEFLATE = -zlib.MAX_WBITS
LOCAL_HEADER = 30
"""Bytes of a member's own header before its name and extra field (PKWARE APPNOTE 6.3.10, 4.3.7)."""
NAME_LENGTH, EXTRA_LENGTH = slice(26, 28), slice(28, 30)
MAX_MEMBERS = 1_000_000


def check_log(path: Path) -> None:
    """Refuse a log that would take memory without bound to read.

    Raises:
        DataError: a `.json` log is nested too deeply or too large, or a member of an `.eval` log unpacks to more than
            `MAX_LINE`, the longest line of JSON lines.
    """
    if path.suffix == ".json":
        json_value(path)
    elif zipfile.is_zipfile(path):
        _check_archive(path)


def _check_archive(path: Path) -> None:
    name = readable(path.name)
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            members = archive.infolist()
            packed = sum(member.compress_size for member in members)
            if packed > path.stat().st_size or len(members) > MAX_MEMBERS:
                raise DataError(
                    f"{name} is no Inspect log: its members overlap or are too many; check the file."
                )
            for member in members:
                if _unpacked(file, member) > MAX_LINE:
                    raise DataError(
                        f"{name} is no Inspect log that can be read ({ascii(member.filename)[:60]} unpacks to more "
                        f"than {MAX_LINE // 1024**2} MiB); check the file."
                    )
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, ValueError) as problem:
        raise DataError(
            f"{name} is no Inspect log that can be read ({problem}); check the file."
        ) from problem


def _unpacked(file: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Bytes that a member really unpacks to, counted up to just above `MAX_LINE`; not what the archive declares."""
    if member.compress_type != zipfile.ZIP_DEFLATED:
        return max(member.file_size, member.compress_size)
    file.seek(member.header_offset)
    header = file.read(LOCAL_HEADER)
    lengths = (int.from_bytes(header[part], "little") for part in (NAME_LENGTH, EXTRA_LENGTH))
    file.seek(member.header_offset + LOCAL_HEADER + sum(lengths))
    unpacker, left, size = zlib.decompressobj(RAW_DEFLATE), member.compress_size, 0
    while left > 0 and size <= MAX_LINE and not unpacker.eof:
        block = file.read(min(BLOCK, left))
        if not block:
            break
        left -= len(block)
        size += len(unpacker.decompress(block, BLOCK))
        while unpacker.unconsumed_tail and size <= MAX_LINE:
            size += len(unpacker.decompress(unpacker.unconsumed_tail, BLOCK))
    return size
