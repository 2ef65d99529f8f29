"""Codex's hooks. Measured on version 0.169.0.

Codex ignores what it does not understand, so a deny stands alone; patches are not rewritten, as that needs a
permission. A here-document patch comes as a shell command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.core import paths
from rails.core.changes import ChangeSet, FileChange
from rails.core.text import decode_text
from rails.core.tool_request import Json
from rails.integrations.hooks import codex_patch
from rails.integrations.hooks.codex_patch import FilePatch, PatchError
from rails.integrations.hooks.contract import (
    HookAnswer,
    HookCall,
    HookEvent,
    HookResult,
    Unjudged,
    as_json,
    hook_call,
    host_text,
    named_change,
    now_on_disk,
    path_in_project,
)

NAME: Final = "codex"
#: A line of a patch that names a file, also where a blank stands before it.
_NAMES: Final = re.compile(r"\s*\*\*\* ?(Add File|Update File|Delete File|Move to): ?(.+)")
#: Where a shell goes before it applies a patch.
_CHANGES_TO: Final = re.compile(r"\s*cd\s+(\S+)\s*(?:&&|;)")
_EVENTS: Final[Mapping[str, HookEvent]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "Stop": "stop",
    "SessionEnd": "end",
}
_HOST_EVENT: Final = {"before": "PreToolUse", "after": "PostToolUse"}


def call_of(payload: Mapping[str, Json], environment: Mapping[str, str]) -> HookCall | None:
    """Return the call, None for an ignored event."""
    del environment
    call = hook_call(NAME, _EVENTS, payload, host_text(payload.get("cwd")))
    folder = _CHANGES_TO.match(host_text(call.input.get("command"))) if call else None
    return replace(call, folder=call.folder / folder[1].strip("'\"")) if call and folder else call


def named_files(call: HookCall, project: Path) -> Iterator[FileChange]:
    """Yield a change for each of the patch's files, even unreadable."""
    _, begin, patch = host_text(call.input.get("command")).partition(codex_patch.BEGIN)
    for line in patch.splitlines() if begin else ():
        if found := _NAMES.match(line):
            yield from named_change(found[2].strip(), call, project, gone=found[1] == "Delete File")


def proposed(call: HookCall, project: Path) -> ChangeSet | Unjudged | None:
    """Return what the patch would write, None if nothing within the project."""
    patch = codex_patch.patch_in(host_text(call.input.get("command")))
    if not patch:
        return None
    try:
        found = [_change(one, call, project) for one in codex_patch.read_patch(patch)]
    except PatchError as error:
        return Unjudged(f"the patch cannot be applied here: {error}")
    wrong = next((one for one in found if isinstance(one, Unjudged)), None)
    if wrong:
        return wrong
    changes = tuple(one for change in found if isinstance(change, tuple) for one in change)
    if len({change.path for change in changes}) < len(changes):
        return Unjudged("the patch names one file twice")
    return ChangeSet(changes) if changes else None


def _change(patch: FilePatch, call: HookCall, project: Path) -> tuple[FileChange, ...] | Unjudged:
    """Return the change of one file; nothing outside the project. Raises PatchError."""
    path = path_in_project(patch.path, call, project)
    if path is None or isinstance(path, Unjudged):
        return () if path is None else path
    read = now_on_disk(path, project)
    if isinstance(read, Unjudged):
        return read
    before, mode = read
    if patch.kind == "add":
        return (FileChange(path, before, codex_patch.added_text(patch).encode(), mode),)
    if patch.kind == "delete" or before is None:
        return (FileChange(path, before, None, mode),) if before is not None else Unjudged(f"{path} is not there")
    decoded = decode_text(before)
    if decoded is None:
        return Unjudged(f"{path} is not UTF-8 text")
    after = decoded.encode(codex_patch.apply_hunks(decoded.text, patch.hunks))
    moved = path_in_project(patch.moved, call, project) if patch.moved else path
    if not isinstance(moved, paths.WorkspacePath):
        return moved or Unjudged(f"{path} is moved out of the project")
    if moved == path:
        return (FileChange(path, before, after, mode),)
    return FileChange(path, before, None, mode), FileChange(moved, None, after, mode)


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return the output; an empty result prints nothing, a deny stands alone."""
    if call.event == "before" and result.deny:
        deny: dict[str, Json] = {"permissionDecision": "deny", "permissionDecisionReason": result.deny}
        return HookAnswer(as_json({"hookSpecificOutput": {"hookEventName": "PreToolUse", **deny}}))
    if call.event == "stop" and result.block:
        return HookAnswer(as_json({"decision": "block", "reason": result.block}))
    value: dict[str, Json] = {"systemMessage": result.notice} if result.notice else {}
    if (told := result.block or result.context) and call.event in _HOST_EVENT:
        applied = "The patch was applied. " if call.event == "after" and call.tool == "apply_patch" else ""
        context: dict[str, Json] = {"hookEventName": _HOST_EVENT[call.event], "additionalContext": applied + told}
        value["hookSpecificOutput"] = context
    return HookAnswer(as_json(value) if value else "")
