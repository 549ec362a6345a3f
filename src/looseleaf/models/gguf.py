"""`gguf:PATH`: one's own GGUF file, served by llama.cpp inside this process on the loopback interface (xllamacpp)."""

from __future__ import annotations

import functools
import hashlib
import importlib
import secrets
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.keys import Key
from looseleaf.models.chat.make import chat_role
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.server import ChatServer
from looseleaf.models.role_spec import RoleName, RoleSpec

__all__ = ["LlamaOptions", "gguf_role", "llama_server"]

LOOPBACK = "127.0.0.1"
ERRORS_ONLY = 1
"""llama.cpp's verbosity: 0 is output only, 1 adds errors, 3 (the default) information."""


class LlamaOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How llama.cpp runs the file.

    Attributes:
        n_ctx: context of each request in tokens; 0 = the model's own.
        n_parallel: requests that are worked on at once.
        n_threads: processor threads; 0 = llama.cpp's choice.
        n_gpu_layers: layers on the graphics card; -1 = llama.cpp's choice.
    """

    n_ctx: int = 0
    n_parallel: int = 1
    n_threads: int = 0
    n_gpu_layers: int = -1


LLAMA_OPTIONS = frozenset(LlamaOptions.__struct_fields__)


def gguf_role(role: RoleName, spec: RoleSpec) -> Any:
    """A role played by a GGUF file. As a policy it reads the pages' text layer and writes its actions as JSON.

    Roles with the same file and llama options share one loaded model.

    Raises:
        ConfigError: the file or an option cannot be used, or xllamacpp is not installed.
    """
    path = Path(spec.argument).expanduser()
    if not spec.argument or not path.is_file():
        raise ConfigError(f"There is no GGUF file {spec.argument!r}; use gguf:PATH.")
    llama = {name: value for name, value in spec.options.items() if name in LLAMA_OPTIONS}
    rest = {name: value for name, value in spec.options.items() if name not in LLAMA_OPTIONS}
    try:
        llama_options = msgspec.convert(llama, LlamaOptions, strict=False)
    except msgspec.ValidationError as problem:
        raise ConfigError(f"An option of {spec.name} cannot be used: {problem}.") from problem
    options = ChatOptions.of(
        role, msgspec.structs.replace(spec, options=rest), pages="text", actions="json", max_in_flight=4
    )
    url, key = llama_server(path.resolve(), llama_options)
    server = ChatServer(url, Key("", key), options.timeout)
    client = ChatClient(server, path.name, options, identity=_identity(path, llama_options))
    return chat_role(role, client)


@functools.cache
def llama_server(path: Path, options: LlamaOptions) -> tuple[str, str]:
    """Load the file and serve it to this process; it stays loaded until the process ends.

    Returns:
        The base URL on the loopback interface, and the key that it asks for.

    Raises:
        ConfigError: xllamacpp is not installed, or the file cannot be loaded.
    """
    xllamacpp = _xllamacpp()
    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.hostnames = [LOOPBACK]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.verbosity = ERRORS_ONLY
    params.n_parallel = options.n_parallel
    params.n_ctx = options.n_ctx * options.n_parallel
    if options.n_threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.n_threads
    if options.n_gpu_layers >= 0:
        params.n_gpu_layers = options.n_gpu_layers
    try:
        server = xllamacpp.Server(params)
    except Exception as problem:
        raise ConfigError(
            f"llama.cpp cannot load {path} ({problem}); check that it is a GGUF file of a chat model."
        ) from problem
    _running.append(server)
    return f"{server.listening_address}/v1", key


_running: list[Any] = []
"""Servers that run; dropping one would end it."""


def _xllamacpp() -> Any:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as problem:
        raise ConfigError(
            "GGUF files need xllamacpp; install it with `pip install 'looseleaf[gguf]'`."
        ) from problem


def _identity(path: Path, options: LlamaOptions) -> str:
    """What stands for the file in cache keys: the port of its server changes, its size and first bytes do not."""
    with path.open("rb") as file:
        head = hashlib.sha256(file.read(1 << 20)).hexdigest()
    return f"gguf:{path.stat().st_size}:{head}:{options.n_ctx}"
