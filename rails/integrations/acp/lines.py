"""JSON-RPC 2.0 between editor and agent, one message a line.

An invalid line is answered (-32700: no JSON, -32600: no request) and skipped; the official SDK's reader ends there.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final, TypedDict

import acp
import msgspec


class _Message(TypedDict, total=False):
    id: int | str | None
    method: str
    params: Any
    result: Any
    error: dict[str, Any]


_READER: Final = msgspec.json.Decoder(_Message)
_NO_JSON: Final = (-32700, "A line is one JSON object. This one was passed over.")
_NO_REQUEST: Final = (-32600, "A line is one message of JSON-RPC 2.0, not a batch. This one was passed over.")


#: In bytes: a prompt may bring files and pictures.
_LONGEST_LINE: Final = 50 << 20


class Lines:
    """A transport for ``acp.run_agent``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raises OSError if the editor is gone."""
        self._writer.write(json.dumps(message).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, None at the end."""
        while True:
            wrong, line = _NO_REQUEST, b""
            try:
                line = await self._reader.readline()
                if not line:
                    return None
                message = _READER.decode(line)
                if "method" in message or message.get("id") is not None:
                    return dict(message)
            except msgspec.ValidationError:
                pass
            except (ValueError, RecursionError):  # or longer than the reader holds: its rest is a line of its own
                wrong = _NO_JSON
            if not line.isspace():
                await self._refuse(*wrong)

    async def close(self) -> None:
        """Do nothing: standard output stays open."""

    async def _refuse(self, code: int, words: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}})


async def serve(agent: Any) -> None:  # noqa: ANN401 - what of acp.Agent we have
    """Serve the editor on standard input and output until it hangs up."""
    lines = Lines(*await acp.stdio_streams(limit=_LONGEST_LINE))
    await acp.run_agent(agent, lines, use_unstable_protocol=True)  # session/resume and session/close
