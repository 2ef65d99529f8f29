"""The other direction: our definitions as a Model Context Protocol server on standard input and output.

Every call is validated by its definition before it runs, whatever the client checked. Edit tools are not
offered, because edits go through the gate and an approval. A tool that asks a human is run only when its
name was allowed by whoever started the server: there is nobody here to ask.

Both protocol eras are spoken: stateless calls of revision 2026-07-28, and the older handshake.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from rails import __version__
from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.tools.registry import Definition, Registry
from rails.tools.runners import dispatch
from rails.tools.runners.jsonrpc import REVISION, McpError, read_message
from rails.tools.validate import validate

_OLDER: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: The 2026 revision wants to know how long a client may keep an answer: not at all, files may change.
_NOT_KEPT: Final[Mapping[str, Json]] = {"ttlMs": 0, "cacheScope": "private"}
_PARSE_ERROR, _INVALID, _NO_METHOD, _BAD_PARAMS = -32700, -32600, -32601, -32602


@dataclass(frozen=True, slots=True)
class McpServer:
    """Answers one JSON-RPC message after another; keeps no state between them.

    ``role`` decides which tools there are; ``allowed`` are tools that may run although they would ask.
    """

    registry: Registry
    role: str
    project: Path
    allowed: Collection[str] = ()

    def offered(self) -> tuple[Definition, ...]:
        """Return the tools that a client sees: those of the role that can run here."""
        own = self.registry.for_role(self.role)
        return tuple(one for one in own if one.effect != "edit" and self._may_run(one))

    def _may_run(self, definition: Definition) -> bool:
        return definition.access_of(self.role) == "free" or definition.tool_name in self.allowed

    def answer(self, line: bytes) -> bytes | None:
        """Return the reply to one line, or ``None`` when there is nothing to reply."""
        try:
            message = read_message(line, "the message")
        except McpError as error:
            code = _INVALID if "JSON-RPC" in str(error) else _PARSE_ERROR
            return _encode(_error(None, code, str(error)))
        if not isinstance(message.get("method"), str):
            return _encode(_error(None, _INVALID, "the message is not a JSON-RPC request"))
        if "id" not in message:
            return None
        params = message.get("params")
        reply = self._reply(str(message["method"]), params if isinstance(params, dict) else {})
        return _encode({"jsonrpc": "2.0", "id": message["id"], **reply})

    def _reply(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        info: dict[str, Json] = {"name": "ai-rails", "version": __version__}
        match method:
            case "initialize":
                asked = params.get("protocolVersion")
                version = asked if asked in _OLDER else _OLDER[0]
                return _result({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            case "server/discover":
                found: dict[str, Json] = {"supportedVersions": [REVISION], "capabilities": {"tools": {}}}
                return _result({**found, "serverInfo": info, **_NOT_KEPT})
            case "ping":
                return _result({})
            case "tools/list":
                return _result({"tools": [tool_object(one) for one in self.offered()], **_NOT_KEPT})
            case "tools/call":
                return self._call(params)
        return {"error": {"code": _NO_METHOD, "message": f"the method {method!r} is not offered"}}

    def _call(self, params: Mapping[str, Json]) -> dict[str, Json]:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return {"error": {"code": _BAD_PARAMS, "message": "name must be a string and arguments an object"}}
        request = validate(RawRequest("m1", name, arguments, dialect="mcp"), self.registry, self.role)
        if not isinstance(request, ToolRequest):
            return _content("\n".join(str(refusal) for refusal in request), is_error=True)
        definition = self.registry.get(request.tool_name)
        if definition is None or definition not in self.offered():
            return _content(f"Error: {name} needs a human's agreement, and nobody can be asked here.", is_error=True)
        result = dispatch.run_request(request, definition, self.project, self.registry.runners)
        return _content(result.text, is_error=not result.ok, schema=definition.response_format)


def _result(value: Mapping[str, Json]) -> dict[str, Json]:
    return {"result": {"resultType": "complete", **value}}


def _content(text: str, *, is_error: bool, schema: Json = None) -> dict[str, Json]:
    value: dict[str, Json] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if isinstance(schema, dict) and not is_error:
        try:
            value["structuredContent"] = json.loads(text)
        except ValueError:
            return _content("Error: the answer was too long to be passed on whole.", is_error=True)
    return _result(value)


def _error(number: Json, code: int, message: str) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _encode(message: Mapping[str, Json]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def tool_object(definition: Definition) -> dict[str, Json]:
    """Return a definition as a Model Context Protocol ``Tool``."""
    tool: dict[str, Json] = {"name": definition.tool_name, "description": definition.description}
    if definition.title:
        tool["title"] = definition.title
    tool["inputSchema"] = dict(definition.request_schema)
    if isinstance(definition.response_format, dict):
        tool["outputSchema"] = definition.response_format
    if definition.annotations:
        tool["annotations"] = dict(definition.annotations)
    return tool


def serve(server: McpServer, lines: Iterable[bytes], output: BinaryIO) -> None:
    """Answer line after line until the input ends. Nothing else may be written to ``output``."""
    for line in lines:
        if not line.strip():
            continue
        too_long = len(line) > limits.BLOCK_CHARS
        reply = _encode(_error(None, _INVALID, "the message is too long")) if too_long else server.answer(line)
        if reply is not None:
            output.write(reply)
            output.flush()
