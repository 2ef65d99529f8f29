"""Our events as updates of the Agent Client Protocol. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import acp
from acp.schema import ToolCallLocation, ToolCallStatus, ToolKind

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
#: Kinds of tokens, as the protocol calls them.
_TOKENS: Final = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cachedReadTokens": "cache_read",
    "cachedWriteTokens": "cache_write",
}


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
            yield from progress((call,), "\n".join(map(str, refusals)), "failed")
        case ChangeRefused(ids=calls, refusals=refusals):
            yield from progress(calls, "\n".join(map(str, refusals)), "failed")
        case GateVerdict(ids=calls, verdict=verdict) if verdict.status == "fail":
            yield from progress(calls, verdict_as_text(verdict), "failed")
        case GateVerdict(ids=calls, diff=diff):
            # Stays if nobody is asked; a question shows the entire files in its place.
            yield from progress(calls, diff and f"````diff\n{diff}\n````", "in_progress")
        case ToolExecutionResult(ids=calls, ok=ok, text=text, changes=changes):
            # What was written stays shown as the difference.
            yield from progress(calls, "" if ok and changes else text, "completed" if ok else "failed")
        case HumanDecision(id=call, answer=answer, reason=reason) if answer != "approve":
            yield from progress((call,), reason or "Denied.", "failed")
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


def progress(ids: Sequence[str], text: str, status: ToolCallStatus) -> Iterator[Update]:
    """Yield the state of calls, with a text if there is one."""
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


def usage_of(answers: Sequence[LlmResponse]) -> dict[str, int]:
    """Return the sum of tokens, as it goes over the wire."""
    sums = {name: sum(getattr(one.usage, f"{kind}_tokens") for one in answers) for name, kind in _TOKENS.items()}
    return {**sums, "totalTokens": sum(sums.values())}


def shown(request: ApprovalRequest, project: Path) -> list[Any]:
    """Return a question for display: full files before and after, the rest as text."""
    diffs = [*_diffs(request.changes, project)]
    lines: Sequence[str] = (*request.risks, *request.notes)
    if not diffs or len(diffs) < len(request.changes.changes):  # a run, or bytes that are no text
        lines = draw_request(request, Look(width=_WIDTH, plain=True), full=True).lines
    if lines:
        diffs.append(acp.tool_content(acp.text_block("\n".join(lines))))
    return diffs


def _diffs(changes: ChangeSet, project: Path) -> Iterator[Any]:
    for change in changes.changes:
        before, after = (decode_text(side or b"") for side in (change.before, change.after))
        if before and after:
            old = None if change.before is None else before.text
            yield acp.tool_diff_content(str(project / change.path.text), after.text, old)
