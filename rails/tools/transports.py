"""The place where a definition's tool runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import convert

from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace
from rails.sandbox.functions import function_argv
from rails.tools.registry import Builtin, Command, Http, Mcp, Transport

_PLACEHOLDER: Final = lazy(r"\{\{|\}\}|\{([^{}]*)\}")


def placeholders(text: str) -> list[str]:
    """Return the ``{name}`` placeholders' names; ``{{`` and ``}}`` are plain braces."""
    return [found[1] for found in _PLACEHOLDER.finditer(text) if found[1] is not None]


def fill(text: str, value_of: Callable[[str], str]) -> str:
    """Return ``text`` with ``{name}`` as ``value_of(name)``, ``{{`` as a brace."""
    return _PLACEHOLDER.sub(lambda found: found[0][0] if found[1] is None else value_of(found[1]), text)


def as_text(value: Json) -> str:
    """Return a parameter as it is filled in: JSON, unless it is a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def variable_name(tool_name: str) -> str:
    """Return the variable that overrides a tool's address: ``CODEBASE_SUMMARY_MCP_URL`` for ``CodebaseSummaryMCP``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", tool_name).replace("-", "_")
    return f"{words.upper()}_URL"


def read_transport(value: Mapping[str, Any], tool: str) -> Transport:
    """Return a schema-valid definition's transport."""
    endpoint = value.get("api_endpoint", "")
    raw = {"tool": tool, **value.get("transport", {})}
    raw["endpoint"] = raw.get("url", endpoint)
    raw["contained"] = raw.get("contained", False) or bool(raw.get("network"))
    default = "builtin" if tool in BUILTIN_TOOLS and not endpoint else "http"
    match raw.get("type", default):
        case "builtin":
            return Builtin(raw.get("name", tool))
        case "command":
            return convert(raw, Command)
        case "python":  # a command that calls it, contained wherever its definition lies
            command = function_argv("python3", raw["function"])
            return convert({**raw, "command": command, "stdin": "json", "contained": True}, Command)
        case "mcp-http":
            return convert(raw, Mcp)
        case "mcp-stdio":
            program = raw["command"]
            words = [program] if isinstance(program, str) else program
            return convert({**raw, "endpoint": "", "command": [*words, *raw.get("args", ())]}, Mcp)
    repeatable = raw.get("idempotent", False) or raw.get("method") in ("GET", "PUT", "DELETE")
    return convert({"endpoint_env": variable_name(tool), **raw, "idempotent": repeatable}, Http)


def filled_texts(transport: Transport, value: Mapping[str, Any]) -> Iterator[tuple[JsonPlace, str, str]]:
    """Yield texts with placeholders: place, text, what must have none."""
    if isinstance(transport, Command):
        for index, word in enumerate(transport.command):
            yield ("transport", "command", index), word, ""
    elif isinstance(transport, Http):
        place: JsonPlace = ("api_endpoint",) if "api_endpoint" in value else ("transport", "url")
        yield place, transport.endpoint, re.split(r"[/?#]", transport.endpoint.partition("://")[2])[0]


def secret_texts(transport: Transport) -> Iterator[tuple[JsonPlace, str]]:
    """Yield texts that may have ``${NAME}`` secrets."""
    for key in ("headers", "env"):
        texts: Mapping[str, str] = getattr(transport, key, {})
        for name, text in texts.items():
            yield ("transport", key, name), text
