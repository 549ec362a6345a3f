"""Making roles from `openai:MODEL` specs."""

from __future__ import annotations

from typing import Any

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.image_tokens import family_of
from looseleaf.models.chat.keys import key_for
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.policy import ChatPolicy
from looseleaf.models.chat.prices import read_prices
from looseleaf.models.chat.server import ChatServer
from looseleaf.models.chat.servers import ChatServers
from looseleaf.models.chat.text_roles import ChatExtractor, ChatJudge, ChatReader
from looseleaf.models.prompts import prompt_text
from looseleaf.models.role_spec import RoleName, RoleSpec

__all__ = ["chat_client", "chat_role", "openai_role"]


def openai_role(role: RoleName, spec: RoleSpec) -> Any:
    """A role played by a model on an OpenAI-compatible server.

    Raises:
        ConfigError: the spec names no model, or an option cannot be used.
    """
    return chat_role(role, chat_client(role, spec))


def chat_client(role: RoleName, spec: RoleSpec) -> ChatClient:
    """The client of `openai:MODEL`.

    Raises:
        ConfigError: the spec names no model, or an option cannot be used.
    """
    if not spec.argument:
        raise ConfigError("openai needs the name of a model; use openai:MODEL, e.g. with --base-url URL.")
    options = ChatOptions.of(role, spec)
    family_of(spec.argument, options.image_family)
    if options.prompt:
        prompt_text("reader", options.prompt)
    return ChatClient(
        _server(spec, options), spec.argument, options, price=read_prices(options.prices, spec.argument)
    )


def _server(spec: RoleSpec, options: ChatOptions) -> ChatServer | ChatServers:
    """The server of a role, or its servers. They share one key: it is sent to nobody whom it is not meant for."""
    key = key_for(options)
    if len(options.base_urls) == 1:
        return ChatServer(options.base_url, key, options.timeout)
    each = [key_for(msgspec.structs.replace(options, base_url=url)) for url in options.base_urls]
    if any(other.variable != key.variable for other in each):
        raise ConfigError(
            f"The servers of {spec.name} take different keys; list servers of one provider, or name the key with "
            "key_env."
        )
    return ChatServers(options.base_urls, key, options.timeout)


def chat_role(role: RoleName, client: ChatClient) -> Any:
    """The role around a client."""
    roles = {"policy": ChatPolicy, "reader": ChatReader, "extractor": ChatExtractor, "judge": ChatJudge}
    return roles[role](client)
