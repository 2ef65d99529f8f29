"""Cursor's hooks, by what others have written of version 3.9: tried with recorded inputs, not on the host.

Its answers are flat. What it proposes to write is judged where its input says it; what does not say it, and what the
shell writes, is judged at the end of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core.changes import ChangeSet
from rails.core.dataclass import replace
from rails.core.tool_request import Json
from rails.integrations.hooks import claude_code
from rails.integrations.hooks.contract import (
    HookAnswer,
    HookCall,
    HookEvent,
    HookResult,
    Unjudged,
    as_json,
    hook_call,
    host_text,
)

NAME: Final = "cursor"
_EVENTS: Final[Mapping[str, HookEvent]] = {
    "sessionStart": "start",
    "beforeSubmitPrompt": "prompt",
    "preToolUse": "before",
    "postToolUse": "after",
    "stop": "stop",
    "sessionEnd": "end",
}
_PATHS: Final = ("file_path", "path", "target_file")
_CONTENTS: Final = ("content", "contents")


def call_of(payload: Mapping[str, Json], environment: Mapping[str, str]) -> HookCall | None:
    """Return the call of Cursor's input, ``None`` for an event that nothing is done about, such as a stop by hand."""
    del environment
    if payload.get("status") in ("aborted", "error"):
        return None
    roots = payload.get("workspace_roots")
    folder = host_text(roots[0]) if isinstance(roots, list) and roots else host_text(payload.get("cwd"))
    found = hook_call(NAME, _EVENTS, payload, folder)
    return found and replace(
        found, session=host_text(payload.get("conversation_id")), again=bool(payload.get("loop_count"))
    )


def proposed(call: HookCall, project: Path) -> ChangeSet | Unjudged | None:
    """Return what the tool would write, ``None`` where its input does not say it."""
    given = _given(call)
    tool = "Write" if "content" in given else "Edit" if "old_string" in given else ""
    return claude_code.proposed(replace(call, tool=tool, input=given), project) if call.tool == "Write" else None


def _given(call: HookCall) -> dict[str, Json]:
    """Return the input with the names that we know; versions differ in them."""
    given = dict(call.input)
    for name, others in (("file_path", _PATHS), ("content", _CONTENTS)):
        if key := next((other for other in others if other in given), ""):
            given[name] = given[key]
    return given


def rewritten(call: HookCall, before: ChangeSet, after: ChangeSet) -> Mapping[str, Json] | None:
    """Return the tool's input for what the gate made of the proposal, ``None`` where there is no such input."""
    key = next((one for one in _CONTENTS if one in call.input), "")
    found = claude_code.rewritten(replace(call, tool="Write" if key else ""), before, after)
    return {**call.input, key: found["content"]} if found else None


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return what is printed: never nothing, which a hook that has to succeed may not say."""
    value: dict[str, Json] = {}
    if call.event == "before" and result.deny:
        value = {"permission": "deny", "user_message": result.deny, "agent_message": result.deny}
    elif call.event == "stop" and result.block:
        value = {"followup_message": result.block}
    elif call.event in ("before", "after"):
        if result.rewritten is not None and result.allowed:
            value = {"permission": "allow", "updated_input": dict(result.rewritten)}
        if (told := result.block or result.context) and (value or result.rewritten is None):
            value["additional_context"] = told
    return HookAnswer(as_json(value))
