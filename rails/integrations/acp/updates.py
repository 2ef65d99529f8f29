"""Our events as updates of the Agent Client Protocol. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import acp
from acp.schema import ToolCallLocation, ToolCallStatus, ToolKind, Usage, UsageUpdate

from rails.approval.decision import ApprovalRequest
from rails.approval.terminal.screen import Look, draw_request
from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.core.changes import ChangeSet
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import ChangeRefused, GateVerdict, ToolExecutionResult
from rails.core.events.record import Record
from rails.core.events.session import AgentEngage, ErrorEvent, HumanSteered
from rails.core.events.turn import LlmResponse, McpRequestFormulated, ToolRequestValidationFailed
from rails.core.text import decode_text, one_line
from rails.core.tool_request import PATH_KEYS, RawRequest
from rails.gate.report.text import verdict_as_text

#: One update: any of the kinds that the protocol has.
Update = Any
_BY_EFFECT: Final[Mapping[str, ToolKind]] = {"read": "read", "edit": "edit", "run": "execute"}
_WIDTH: Final = 100


def updates_of(record: Record, project: Path) -> Iterator[Update]:
    """Yield a record's updates."""
    match record.event:
        case LlmResponse(text=text, prose=prose):
            words = text if prose is None else prose
            if words.strip():
                yield acp.update_agent_message_text(words)
        case McpRequestFormulated(request=raw):
            yield _formulated(raw, project)
        case ToolRequestValidationFailed(id=call, refusals=refusals):
            yield from _ended((call,), "\n".join(map(str, refusals)), ok=False)
        case ChangeRefused(ids=calls, refusals=refusals):
            yield from _ended(calls, "\n".join(map(str, refusals)), ok=False)
        case GateVerdict(ids=calls, verdict=verdict) if verdict.status == "fail":
            yield from _ended(calls, verdict_as_text(verdict), ok=False)
        case GateVerdict(ids=calls, diff=diff):
            # Stays if nobody is asked; a question shows the entire files in its place.
            yield from _now(calls, diff and f"````diff\n{diff}\n````", "in_progress")
        case ToolExecutionResult(ids=calls, ok=ok, text=text, changes=changes):
            # What was written stays shown as the difference.
            yield from _ended(calls, "" if ok and changes else text, ok=ok)
        case HumanDecision(id=call, answer=answer, reason=reason) if answer != "approve":
            yield from _ended((call,), reason or "Denied.", ok=False)
        case ErrorEvent(error=error):
            yield acp.update_agent_message_text(f"AI-Rails: {error}\n")


def _formulated(raw: RawRequest, project: Path) -> Update:
    path = next((str(raw.parameters[key]) for key in PATH_KEYS if key in raw.parameters), "")
    places = [ToolCallLocation(path=str(project / path))] if path else []
    title = one_line(f"{raw.tool_name} {path}".strip(), 200)
    tool = BUILTIN_TOOLS.get(raw.tool_name)
    kind = _BY_EFFECT[tool.effect] if tool else "other"
    parameters = dict(raw.parameters)
    return acp.start_tool_call(raw.id, title, kind=kind, status="pending", locations=places, raw_input=parameters)


def _ended(ids: Sequence[str], text: str, *, ok: bool) -> Iterator[Update]:
    return _now(ids, text, "completed" if ok else "failed")


def _now(ids: Sequence[str], text: str, status: ToolCallStatus) -> Iterator[Update]:
    content = [acp.tool_content(acp.text_block(text))] if text else None
    for one in ids:
        yield acp.update_tool_call(one, status=status, content=content)


def history_of(records: Sequence[Record], project: Path) -> Iterator[Update]:
    """Yield the updates of a reopened session, with the person's words; one sentence if there are none."""
    if not records:
        yield acp.update_agent_message_text("Nothing of this session is logged here.\n")
    for record in records:
        match record.event:
            case AgentEngage(task=words) | HumanSteered(about="follow_up", text=str(words)):
                yield acp.update_user_message_text(words)
            case _:
                yield from updates_of(record, project)


def usage_of(answers: Sequence[LlmResponse]) -> Usage:
    """Return the sum of tokens."""
    read, written, cached, kept = (
        sum(getattr(one.usage, f"{kind}_tokens") for one in answers)
        for kind in ("input", "output", "cache_read", "cache_write")
    )
    return Usage(
        total_tokens=read + written + cached + kept,
        input_tokens=read,
        output_tokens=written,
        cached_read_tokens=cached,
        cached_write_tokens=kept,
    )


def context_update(answer: LlmResponse, window: int) -> Update:
    """Return the tokens used of the model's window."""
    used = usage_of([answer]).total_tokens
    return UsageUpdate(session_update="usage_update", used=used, size=window)


def shown(request: ApprovalRequest, project: Path) -> list[Any]:
    """Return a question for display: full files before and after, the rest as text."""
    diffs = [] if request.kind == "tool" else list(_diffs(request.changes, project))
    look = Look(width=_WIDTH, plain=True)
    whole = request.kind == "tool" or len(diffs) < len(request.changes.changes)
    lines = draw_request(request, look, full=True).lines if whole else (*request.risks, *request.notes)
    return [*diffs, *([acp.tool_content(acp.text_block("\n".join(lines)))] if lines else ())]


def _diffs(changes: ChangeSet, project: Path) -> Iterator[Any]:
    for change in changes.changes:
        before, after = (decode_text(side or b"") for side in (change.before, change.after))
        if before and after:
            old = None if change.before is None else before.text
            yield acp.tool_diff_content(str(project.joinpath(*change.path.parts)), after.text, old)
