"""JSON-RPC messages as the Model Context Protocol uses them, and the two errors of its channels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Protocol

from rails import __version__
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document

#: The stateless revision that is tried first.
REVISION: Final = "2026-07-28"
#: What is offered to a server that wants a handshake; servers answer with one that they know.
OLDER: Final = "2025-06-18"
_META: Final[dict[str, Json]] = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class McpError(Exception):
    """The server answered something unusable, or not at all. The text is for the model and the user."""


class Refused(McpError):
    """The server answered with an error: a JSON-RPC code, or an HTTP status that came without one."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"the server answered with error {code}")
        self.code = code


class Channel(Protocol):
    """Contract: returns the result of one request, or raises McpError or ExchangeError; never waits without end."""

    def ask(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        """Send one request and return its result."""


def message(number: int | None, method: str, params: Mapping[str, Json], *, meta: bool) -> bytes:
    """Return one request, or a notification when ``number`` is ``None``, as JSON."""
    body: dict[str, Json] = dict(params)
    if meta:
        body["_meta"] = dict(_META)
    whole: dict[str, Json] = {"jsonrpc": "2.0", "method": method, "params": body}
    if number is not None:
        whole["id"] = number
    return json.dumps(whole, ensure_ascii=False).encode("utf-8")


def read_message(data: bytes) -> dict[str, Json]:
    """One message, read strictly. Raises McpError."""
    try:
        value = parse_document(data.decode("utf-8")).value
    except UnicodeDecodeError:
        raise McpError("the server's answer is not UTF-8") from None
    except JsonError as error:
        raise McpError(f"the server's answer is not JSON: {error.message}") from None
    if not isinstance(value, dict):
        raise McpError("the server's answer is not a JSON-RPC message")
    return value


def result_of(reply: Mapping[str, Json]) -> dict[str, Json]:
    """Return the result of a reply. Raises Refused or McpError."""
    error = reply.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        raise Refused(code if isinstance(code, int) else 0, one_line(str(error.get("message", "")), 400))
    result = reply.get("result")
    if not isinstance(result, dict):
        raise McpError("the server's answer has neither a result nor an error")
    return result


def hello() -> dict[str, Json]:
    """Return the parameters of the handshake that older servers want."""
    client: dict[str, Json] = {"name": "ai-rails", "version": __version__}
    return {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": client}
