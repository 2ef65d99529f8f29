"""Gemini CLI's hooks, tried on version 0.61.0.

A deny is ``decision`` and ``reason`` on standard output with exit code 0. Inputs are not rewritten: the model would not
be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.core.builtin_tools import WRITE_FILE
from rails.core.changes import ChangeSet, FileChange
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks import claude_code
from rails.integrations.hooks.contract import (
    HookCall,
    HookResult,
    specific_answer,
)

#: Its tools that write, and the tool of Claude Code that takes the same.
_WRITES: Final = {WRITE_FILE.name: "Write", "replace": "Edit"}


def named_files(call: HookCall, project: Path) -> Iterator[FileChange]:
    """Yield a change for each file that the tool names."""
    return claude_code.named_files(_alike(call), project)


def proposed(call: HookCall, project: Path) -> ChangeSet | None:
    """Return what the tool would write, None if nothing within the project. Raises UnjudgedError."""
    return claude_code.proposed(_alike(call), project)


def _alike(call: HookCall) -> HookCall:
    every = call.input.get("allow_multiple") is True or call.input.get("expected_replacements", 1) != 1
    return replace(call, tool=_WRITES.get(call.tool, ""), input={**call.input, "replace_all": every})


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return the output; an empty result prints nothing."""
    reason = result.deny or (result.block if call.event == "stop" else "")
    told = (result.block or result.context) if call.event == "after" else ""
    value = {"systemMessage": result.notice, "decision": reason and "deny", "reason": reason}
    return specific_answer(call, value, {"additionalContext": told})
