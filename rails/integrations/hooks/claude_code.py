"""Claude Code's hooks. Measured on version 2.1.330.

A deny is JSON on standard output with exit code 0. ``updatedInput`` comes without a permission decision, so that the
user's own permissions still apply; an Edit can only be replaced by an Edit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rails.core.builtin_tools import WRITE_FILE
from rails.core.changes import ChangeSet, FileChange
from rails.core.text import decode_text
from rails.core.tool_request import Json
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks.contract import (
    HookCall,
    HookResult,
    UnjudgedError,
    host_text,
    named_change,
    now_on_disk,
    usual_answer,
)

#: Tools whose writing is known before it is done, and where each names its file; the last two are Gemini CLI's.
_WRITES: Final = {
    "Write": "file_path",
    "Edit": "file_path",
    "NotebookEdit": "notebook_path",
    WRITE_FILE.name: "file_path",
    "replace": "file_path",
}
#: Lines that the one Edit may span that stands for an edit and its formatting.
_SPAN_LINES: Final = 400


def named_files(call: HookCall, project: Path) -> Iterator[FileChange]:
    """Yield a change for each file that the tool names."""
    if name := _file(call):
        yield from named_change(name, call, project)


def _file(call: HookCall) -> str:
    return host_text(call.input.get(_WRITES.get(call.tool, "")))


def proposed(call: HookCall, project: Path) -> ChangeSet | None:
    """Return what the tool would write, None if nothing within the project. Raises UnjudgedError."""
    name = _file(call)
    found = now_on_disk(name, call, project) if name else None
    if found is None:
        return None
    path, before, mode = found
    after = _after(call, before)
    return ChangeSet((FileChange(path, before, after, mode),)) if after != before else None


def _after(call: HookCall, before: bytes | None) -> bytes:
    if call.tool in ("Write", WRITE_FILE.name):
        return host_text(call.input.get("content")).encode("utf-8", "surrogatepass")
    if call.tool == "NotebookEdit":
        return _notebook(call, before or b"")
    decoded = decode_text(before or b"")
    if decoded is None:
        raise UnjudgedError("the file is not UTF-8 text")
    old, new = (host_text(call.input.get(key)) for key in ("old_string", "new_string"))
    every = True in (call.input.get("replace_all"), call.input.get("allow_multiple"))
    return decoded.encode(_replaced(decoded.text, old, new, every=every))


def _replaced(text: str, old: str, new: str, *, every: bool) -> str:
    """Return the text edited as the host would, with the file's line endings."""
    if not old and not text:
        return new
    if old not in text and "\r\n" in text:  # the host compares with plain line feeds
        old, new = (side.replace("\r\n", "\n").replace("\n", "\r\n") for side in (old, new))
    if not old or old not in text:
        raise UnjudgedError("its old_string is not in the file as it is")
    if not new and not old.endswith("\n") and f"{old}\n" in text:
        old += "\n"  # the host takes the emptied line away
    return text.replace(old, new, -1 if every else 1)


def _notebook(call: HookCall, before: bytes) -> bytes:
    wanted, mode, kind = (host_text(call.input.get(name)) for name in ("cell_id", "edit_mode", "cell_type"))
    lines = host_text(call.input.get("new_source")).splitlines(keepends=True)
    try:
        notebook = json.loads(before)
        cells = notebook["cells"]
        found = [n for n, cell in enumerate(cells) if wanted in (cell.get("id"), f"cell-{n}")]
        if mode == "insert":
            new: dict[str, Json] = {"cell_type": kind or "code", "metadata": {}, "source": [*lines]}
            if kind != "markdown":
                new |= {"execution_count": None, "outputs": []}
            cells.insert(found[0] + 1 if found else 0, new)
        elif mode == "delete":
            del cells[found[0]]
        else:
            cells[found[0]]["source"] = lines
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnjudgedError("the notebook cannot be read, or has no such cell") from None
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode() + b"\n"


def rewritten(call: HookCall, before: ChangeSet, after: ChangeSet) -> dict[str, Json] | None:
    """Return the input for the gate's result, None if there is none."""
    old, new = before.changes[0].before or b"", after.changes[0].after or b""
    now = decode_text(new)
    if now is None or new.startswith(b"\xef\xbb\xbf") or b"\r" in new:
        return None
    if call.tool == "Write":
        return {**call.input, "content": now.text}
    was = decode_text(old)
    span = _span(was.text, now.text) if was and call.tool == "Edit" else None
    return {**call.input, "old_string": span[0], "new_string": span[1], "replace_all": False} if span else None


def _span(old: str, new: str) -> tuple[str, str] | None:
    """Return the smallest unique run of lines with all differences, and its replacement."""
    from rails.core.diff import line_diff

    was = old.splitlines(keepends=True)
    now = new.splitlines(keepends=True)
    blocks = line_diff(was, now).changed
    if not blocks:
        return None
    for more in range(_SPAN_LINES):
        first = max(blocks[0].old_start - more, 0)
        last = blocks[-1].old_end + more
        if last - first > _SPAN_LINES:
            break
        piece = "".join(was[first:last])
        if piece and old.count(piece) == 1:
            return piece, "".join(now[first : last + len(now) - len(was)])
    return None


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return the output; an empty result prints nothing."""
    # Blocked at a batch, the host's run would end: it is told beside its results.
    return usual_answer(call, result, ("after", "stop"), ("before", "after", "batch"))
