"""Prefetch: the gate begins on files while the answer that edits them is still coming."""

from __future__ import annotations

from collections.abc import Sequence

from rails.core.builtin_tools import WRITE_FILE
from rails.core.tool_request import RawRequest
from rails.parsing.results import CallFound, CallStarted, ParseEvent
from rails.session.turn_context import TurnContext


def begin(context: TurnContext, signals: Sequence[ParseEvent]) -> None:
    """Let the gate look at what is named or complete by now: its answers are known when the edits are judged."""
    for signal in signals:
        if isinstance(signal, CallStarted) and signal.path and _edits(context, signal.tool_name):
            context.gate.prefetch(signal.path)
        elif isinstance(signal, CallFound) and (whole := _whole_file(signal.outcome)):
            context.gate.prefetch(*whole)


def _edits(context: TurnContext, tool_name: str) -> bool:
    definition = context.registry.get(tool_name)
    return definition is not None and definition.effect == "edit"


def _whole_file(request: object) -> tuple[str, str] | None:
    """Return path and content of a request that writes a whole file, as it was found in an answer."""
    if not isinstance(request, RawRequest) or request.tool_name != WRITE_FILE.name:
        return None
    path, content = request.parameters.get("file_path"), request.parameters.get("content")
    return (path, content) if isinstance(path, str) and isinstance(content, str) else None
