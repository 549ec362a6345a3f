"""The desk as an MCP server on standard input and output, by the official SDK.

Arguments are handed on as they come: the environment checks them and answers misuse with an observation, and the
SDK's low-level server does not refuse them before.
"""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from looseleaf import __version__
from looseleaf.adapters.desk import Desk, PagePart, Said

__all__ = ["make_server", "serve"]

INSTRUCTIONS = (
    "A folder of long documents. Open one question at a time with ask, which says how to work on it; look at pages "
    "with search and fetch, write findings down with note, and end with answer. Your notes are then checked: whether "
    "a reader who sees nothing else can answer from them."
)


def make_server(desk: Desk) -> Server[Any]:
    """The server of a desk; it serves one assistant."""
    tools = [
        types.Tool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"])
        for tool in desk.tools()
    ]

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        desk.client = _client(context)
        return _result(await desk.call(params.name, params.arguments or {}))

    return Server(
        "looseleaf",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve(desk: Desk) -> None:
    """Serve until the client goes away; an open question is then recorded as cancelled."""
    server = make_server(desk)
    try:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())
    finally:
        desk.close()


def _client(context: ServerRequestContext[Any]) -> str:
    """Name and version of the assistant, as it gives them."""
    given = context.session.client_params
    return "" if given is None else f"{given.client_info.name} {given.client_info.version}".strip()


def _result(said: Said) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=_sendable(said.text))]
    for page in said.pages:
        content += _page(page)
    return types.CallToolResult(content=content)


def _sendable(text: str) -> str:
    """What can be sent as UTF-8: half characters of documents and names would end the server."""
    return text.encode("utf-8", "backslashreplace").decode()


def _page(page: PagePart) -> list[types.ContentBlock]:
    text = types.TextContent(type="text", text=_sendable(page.text))
    if page.jpeg is None:
        return [text]
    data = base64.b64encode(page.jpeg).decode()
    return [text, types.ImageContent(type="image", data=data, mime_type="image/jpeg")]
