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
    common: dict[str, Json] = {
        "session_id": "example",
        "cwd": str(folder),
        "hook_event_name": "PreToolUse",
        "tool_use_id": "toolu_example",
        "tool_name": "Write",
        "tool_input": {"file_path": str(folder / file), "content": content},
    }
    if host == "codex":
        patch = "".join(f"+{line}\n" for line in content.splitlines())
        command = f"*** Begin Patch\n*** Add File: {file}\n{patch}*** End Patch\n"
        common |= {"model": "gpt-5.5", "tool_name": "apply_patch", "tool_input": {"command": command}}
    elif host == "gemini":
        common |= {"hook_event_name": "BeforeTool", "tool_name": WRITE_FILE.name}
    return json.dumps(common).encode()
