"""Gemini CLI's hooks, tried on version 0.61.0.

Its tools take what Claude Code's take. A deny is ``decision`` and ``reason`` on standard output with exit code 0.
Inputs are not rewritten: the model would not be told.
"""

from __future__ import annotations

from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks.claude_code import named_files, proposed
from rails.integrations.hooks.contract import HookCall, HookResult, specific_answer

__all__ = ("named_files", "printed", "proposed")


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return the output; an empty result prints nothing."""
    reason = result.deny or (result.block if call.event == "stop" else "")
    told = (result.block or result.context) if call.event == "after" else ""
    value = {"systemMessage": result.notice, "decision": reason and "deny", "reason": reason}
    return specific_answer(call, value, {"additionalContext": told})
