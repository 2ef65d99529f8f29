"""Hosts' inputs, recorded or documented: for ``ai-rails hook test`` and tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from rails.core.builtin_tools import WRITE_FILE
from rails.core.tool_request import Json

CLEAN: Final = "x = 1\n"
MISTAKE: Final = "x = undefined_name\n"


def example(host: str, folder: Path, content: str, *, file: str = "example.py") -> bytes:
    """Return ``host``'s input before it writes a new file."""
    event, tool = "PreToolUse", "Write"
    given: dict[str, Json] = {"file_path": str(folder / file), "content": content}
    if host == "codex":
        patch = "".join(f"+{line}\n" for line in content.splitlines())
        tool = "apply_patch"
        given = {"command": f"*** Begin Patch\n*** Add File: {file}\n{patch}*** End Patch\n"}
    elif host == "gemini":
        event, tool = "BeforeTool", WRITE_FILE.name
    call = {"hook_event_name": event, "tool_use_id": "toolu_example", "tool_name": tool, "tool_input": given}
    return json.dumps({"session_id": "example", "cwd": str(folder), **call}).encode()
