"""JSON-RPC 2.0 between editor and agent, one message a line.

An invalid line is answered (-32700: no JSON, -32600: no request) and skipped; the official SDK's reader is silent.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypedDict

import acp
import msgspec


class _Message(TypedDict, total=False):
    id: int | str | None
    method: str
    error: dict[str, Any]


_READER: Final = msgspec.json.Decoder(_Message)
_NO_JSON: Final = b"""{"jsonrpc":"2.0","id":null,"error":{"code":-32700,\
"message":"A line is one JSON object. This one was passed over."}}
"""
_NO_REQUEST: Final = b"""{"jsonrpc":"2.0","id":null,"error":{"code":-32600,\
"message":"A line is one message of JSON-RPC 2.0, not a batch. This one was passed over."}}
"""
#: In bytes: a prompt may bring files and pictures.
_LONGEST_LINE: Final = 50 << 20


async def serve(agent: Any) -> None:  # noqa: ANN401 - what of acp.Agent we have
    """Serve the editor on standard input and output until it hangs up."""
    given, out = await acp.stdio_streams(limit=_LONGEST_LINE)
    messages = asyncio.StreamReader()
    passing = asyncio.ensure_future(_pass_on(given, out, messages))
    await acp.run_agent(agent, out, messages, use_unstable_protocol=True)  # session/resume and session/close
    await passing


async def _pass_on(given: asyncio.StreamReader, out: asyncio.StreamWriter, messages: asyncio.StreamReader) -> None:
    try:
        while not given.at_eof():
            try:
                line = await given.readline()
            except ValueError:  # it is longer than the reader holds: its rest is a line of its own
                line = b"?"
            wrong = _wrong(line)
            if not wrong:
                messages.feed_data(line)
            elif line.strip():
                out.write(wrong)
                await out.drain()
    finally:
        messages.feed_eof()


def _wrong(line: bytes) -> bytes:
    """Return the answer to a line that is no message, or b""."""
    try:
        message = _READER.decode(line)
    except msgspec.ValidationError:
        return _NO_REQUEST
    except (ValueError, RecursionError):
        return _NO_JSON
    return b"" if "method" in message or message.get("id") is not None else _NO_REQUEST
