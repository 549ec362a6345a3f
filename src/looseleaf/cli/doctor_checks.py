"""What `looseleaf doctor` looks at: packages, cache, page worker, programs, keys and servers."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from looseleaf import __version__
from looseleaf.errors import ConfigError, DocumentError

if TYPE_CHECKING:
    from looseleaf.models.chat.keys import Key

__all__ = ["Check", "all_checks"]

Status = Literal["ok", "absent", "problem"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Commands of Chromium and its kin."""
SERVER_SECONDS = 10.0
"""How long a server may take to say that it is there."""
NO_LIST = frozenset({404, 405, 501})
"""Statuses of a server that is there and keeps no list of models."""
MODELS_SHOWN = 5
"""Most names of a server's models that are shown."""
REQUIREMENT = re.compile(r"""([A-Za-z0-9._-]+)(?:\[[^]]*\])?([^;]*)(?:;.*extra == ['"]([^'"]+)['"])?""")
"""Name, version range and extra of a line of a package's requirements (PEP 508, as far as our own lines use it)."""
CLAUSE = re.compile(r"(>=|<=|==|<|>)\s*([0-9][0-9.]*)")
ONE_PAGE = (
    b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n"
    b"3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 144 144]/Contents 4 0 R"
    b"/Resources<</Font<</F 5 0 R>>>>>>\nendobj\n"
    b"4 0 obj\n<</Length 41>>\nstream\nBT /F 12 Tf 9 72 Td (A page to test) Tj ET\nendstream\nendobj\n"
    b"5 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\ntrailer\n<</Size 6/Root 1 0 R>>\n%%EOF\n"
)
"""The smallest document with a page and text on it."""


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        section: what kind of thing.
        name: what.
        status: `ok`, `absent` (optional and not there) or `problem` (something does not work, and how to mend it).
        detail: version, place, size or sentence.
    """

    section: str
    name: str
    status: Status
    detail: str


def all_checks(base_urls: Sequence[str] = (), key_env: str = "") -> Iterator[Check]:
    """Every check, in order; none of them raises.

    Args:
        base_urls: servers to be asked whether they are there.
        key_env: environment variable that holds their key, or empty for the one of a known host.
    """
    yield Check("looseleaf", "looseleaf", "ok", __version__)
    yield Check("looseleaf", "python", "ok", f"{platform.python_version()} on {platform.platform()}")
    yield from _packages()
    yield from _cache()
    yield _page_worker()
    yield _ocr()
    yield from _programs()
    yield from _keys()
    for url in base_urls:
        yield _server(url, key_env)


# -- packages --------------------------------------------------------------------------------------------------


def _packages() -> Iterator[Check]:
    """Core packages one by one, and each extra as a whole."""
    lines = (metadata.requires("looseleaf") or []) if _version_of("looseleaf") else []
    found = [match.groups() for line in lines if (match := REQUIREMENT.match(line))]
    for name, wanted, extra in found:
        if extra is None:
            yield _core(name, wanted.strip())
    extras = sorted((extra, name, wanted.strip()) for name, wanted, extra in found if extra is not None)
    for extra, group in groupby(extras, key=lambda one: one[0]):
        yield _extra(extra, [(name, wanted) for _, name, wanted in group])


def _core(name: str, wanted: str) -> Check:
    version = _version_of(name)
    if version is None or not _fits(version, wanted):
        is_there = "is not installed" if version is None else f"is {version}"
        advice = f"{is_there} and must be {wanted or 'there'}; use: pip install --upgrade looseleaf"
        return Check("packages", name, "problem", advice)
    return Check("packages", name, "ok", version)


def _extra(extra: str, packages: Sequence[tuple[str, str]]) -> Check:
    versions = {name: _version_of(name) for name, _ in packages}
    there = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    old = [f"{name} must be {wanted}" for name, wanted in packages if _is_outside(versions[name], wanted)]
    install = f'pip install "looseleaf[{extra}]"'
    if old:
        return Check("extras", extra, "problem", f"{there}; {', '.join(old)}; use: {install} --upgrade")
    if None in versions.values():
        return Check("extras", extra, "absent", f"{install}{f' (there is {there})' if there else ''}")
    return Check("extras", extra, "ok", there)


def _version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _is_outside(version: str | None, wanted: str) -> bool:
    return version is not None and not _fits(version, wanted)


def _fits(version: str, wanted: str) -> bool:
    """Whether a version is in a range such as `>=0.3.285,<0.4`, by its leading numbers."""
    have = _numbers(version)
    for operator, text in CLAUSE.findall(wanted):
        bound = _numbers(text)
        holds = {
            ">=": have >= bound,
            "<=": have <= bound,
            "==": have == bound,
            "<": have < bound,
            ">": have > bound,
        }
        if not holds[operator]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers without zeros at their end, so that 2.0 is 2."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(number) for number in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


# -- this machine ----------------------------------------------------------------------------------------------


def _cache() -> Iterator[Check]:
    from looseleaf.document.cache import default_root
    from looseleaf.document.cache_folder import CacheFolder

    root = default_root()
    if root is None:
        yield Check(
            "cache", "folder", "problem", "there is no home directory; set LOOSELEAF_CACHE to a folder"
        )
        return
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as problem:
        advice = f"{root} cannot be written ({problem.strerror}); set LOOSELEAF_CACHE to a folder that can"
        yield Check("cache", "folder", "problem", advice)
        return
    yield Check("cache", "folder", "ok", str(root))
    folder = CacheFolder(root)
    used = sum(usage.bytes for usage in folder.usage().values())
    limit = "no limit" if folder.limit is None else f"limit {_gigabytes(folder.limit)}"
    free = shutil.disk_usage(root).free
    yield Check(
        "cache", "size", "ok", f"{_gigabytes(used)} used, {limit}, {_gigabytes(free)} free on the disk"
    )


def _gigabytes(count: int) -> str:
    return f"{count / (1 << 30):.2f} GB"


def _page_worker() -> Check:
    """Read and render a page in a worker process, as every document is."""
    from looseleaf.document import Document, PageStore

    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="looseleaf-") as folder:
        path = Path(folder, "page.pdf")
        path.write_bytes(ONE_PAGE)
        try:
            with PageStore(Path(folder, "cache"), workers=1) as store:
                document = Document.open(path, store=store)
                text, image = document.text(1), document.image(1)
        except (DocumentError, OSError) as problem:
            return Check("pages", "worker", "problem", f"no page could be rendered: {problem}")
    if "A page to test" not in text:
        return Check(
            "pages", "worker", "problem", "the text of a page could not be read; reinstall pypdfium2"
        )
    took = time.perf_counter() - start
    return Check("pages", "worker", "ok", f"{image.width} × {image.height} pixels and text in {took:.1f} s")


def _ocr() -> Check:
    from looseleaf.document import ocr_engine

    engine = ocr_engine()
    if engine is None:
        return Check(
            "pages", "ocr", "absent", 'pip install "looseleaf[ocr]" to read pages without a text layer'
        )
    return Check("pages", "ocr", "ok", engine)


def _programs() -> Iterator[Check]:
    from looseleaf.document.office import converter

    office = converter()
    yield Check(
        "programs", "libreoffice", "ok" if office else "absent", office or "install it to open office files"
    )
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    yield Check(
        "programs",
        "chromium",
        "ok" if browser else "absent",
        browser or "any other browser shows reports, too",
    )


# -- models ----------------------------------------------------------------------------------------------------


def _keys() -> Iterator[Check]:
    """Whether the variables of known hosts are set. What they hold is never looked at beyond that."""
    from looseleaf.models.chat.keys import KEY_VARIABLES

    for host, variable in KEY_VARIABLES.items():
        given = bool(os.environ.get(variable, "").strip())
        yield Check("keys", variable, "ok" if given else "absent", f"{'yes' if given else 'no'} ({host})")


def _server(url: str, key_env: str) -> Check:
    """Ask a server for its models."""
    from looseleaf.models.chat.keys import key_for
    from looseleaf.models.chat.options import ChatOptions
    from looseleaf.models.role_spec import RoleSpec

    given = {"base_url": url, **({"key_env": key_env} if key_env else {})}
    name = urlsplit(url).netloc.rpartition("@")[2] or url
    try:
        options = ChatOptions.of("policy", RoleSpec(backend="openai", argument="any", options=given))
        return asyncio.run(_ask(name, options.base_url, key_for(options)))
    except ConfigError as problem:
        return Check("servers", name, "problem", str(problem))


async def _ask(name: str, base_url: str, key: Key) -> Check:
    from looseleaf.models.chat.server import ChatServer, ServerError

    server = ChatServer(base_url, key, SERVER_SECONDS)
    try:
        body = await server.get("/models")
    except ServerError as problem:
        fault = problem.fault
        if fault.status in NO_LIST:
            return Check("servers", name, "ok", "it answers; it has no list of models")
        return Check(
            "servers", name, "problem", f"{fault.words or fault.kind}; check the address and the key"
        )
    finally:
        await server.close()
    return Check("servers", name, "ok", _models(body))


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def _models(body: bytes) -> str:
    """The names that a server lists, the first few of them."""
    try:
        names = [model.id for model in msgspec.json.decode(body, type=_Models).data]
    except msgspec.DecodeError:
        return "it answers; its list of models cannot be read"
    more = f" and {len(names) - MODELS_SHOWN} more" if len(names) > MODELS_SHOWN else ""
    return f"it lists {', '.join(names[:MODELS_SHOWN])}{more}" if names else "it answers and lists no models"
