"""Claude Code's hooks. Measured on version 2.1.330.

A deny is JSON on standard output with exit code 0. ``updatedInput`` comes without a permission decision, so that the
user's own permissions still apply; an Edit can only be replaced by an Edit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rails.core.changes import ChangeSet, FileChange
from rails.core.text import decode_text
from rails.core.tool_request import Json
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks.contract import (
    HookCall,
    HookResult,
    Unjudged,
    host_text,
    named_change,
    now_on_disk,
    specific_answer,
)

#: Tools whose writing is known before it is done.
_WRITES: Final = ("Write", "Edit", "NotebookEdit")
#: Lines that the one Edit may span that stands for an edit and its formatting.
_SPAN_LINES: Final = 400


def named_files(call: HookCall, project: Path) -> Iterator[FileChange]:
    """Yield a change for each file that the tool names."""
    for key in ("file_path", "notebook_path") if call.tool in _WRITES else ():
        if name := host_text(call.input.get(key)):
            yield from named_change(name, call, project)


def proposed(call: HookCall, project: Path) -> ChangeSet | Unjudged | None:
    """Return what the tool would write, None if nothing within the project."""
    if call.tool not in _WRITES:
        return None
    name = host_text(call.input.get("file_path")) or host_text(call.input.get("notebook_path"))
    read = now_on_disk(name, call, project)
    if not isinstance(read, tuple):
        return read
    path, before, mode = read
    after = _after(call, before)
    if isinstance(after, Unjudged):
        return after
    return ChangeSet((FileChange(path, before, after, mode),)) if after != before else None


def _after(call: HookCall, before: bytes | None) -> bytes | Unjudged:
    if call.tool == "Write":
        return host_text(call.input.get("content")).encode("utf-8", "surrogatepass")
    if call.tool == "NotebookEdit":
        return _notebook(call, before)
    decoded = decode_text(before or b"")
    if decoded is None:
        return Unjudged("the file is not UTF-8 text")
    old, new = (host_text(call.input.get(key)) for key in ("old_string", "new_string"))
    text = _replaced(decoded.text, old, new, every=call.input.get("replace_all") is True)
    return Unjudged("its old_string is not in the file as it is") if text is None else decoded.encode(text)


def _replaced(text: str, old: str, new: str, *, every: bool) -> str | None:
    """Return the text edited as the host would, with the file's line endings."""
    if not old:
        return new if not text else None
    if old not in text and "\r\n" in text:  # the host compares with plain line feeds
        old, new = (side.replace("\r\n", "\n").replace("\n", "\r\n") for side in (old, new))
    if old not in text:
        return None
    if not new and not old.endswith("\n") and f"{old}\n" in text:
        old = f"{old}\n"  # the host takes the emptied line away
    return text.replace(old, new) if every else text.replace(old, new, 1)


def _notebook(call: HookCall, before: bytes | None) -> bytes | Unjudged:
    fields = ("cell_id", "edit_mode", "cell_type", "new_source")
    wanted, mode, kind, source = (host_text(call.input.get(name)) for name in fields)
    try:
        notebook = json.loads(before or b"")
        cells = notebook["cells"]
        at = next((n for n, cell in enumerate(cells) if wanted in (cell.get("id"), f"cell-{n}")), None)
        lines = source.splitlines(keepends=True)
        if mode == "insert":
            new: dict[str, Json] = {"cell_type": kind or "code", "metadata": {}, "source": [*lines]}
            if kind in ("", "code"):
                new |= {"execution_count": None, "outputs": []}
            cells.insert(0 if at is None else at + 1, new)
        elif at is None:
            return Unjudged("there is no such cell")
        elif mode == "delete":
            del cells[at]
        else:
            cells[at]["source"] = lines
    except (ValueError, KeyError, TypeError, AttributeError):
        return Unjudged("the notebook cannot be read")
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode() + b"\n"


def rewritten(call: HookCall, before: ChangeSet, after: ChangeSet) -> Mapping[str, Json] | None:
    """Return the input for the gate's result, None if there is none."""
    old = before.changes[0]
    new = after.changes[0]
    text = decode_text(new.after or b"")
    if text is None or (new.after or b"").startswith(b"\xef\xbb\xbf") or b"\r" in (new.after or b""):
        return None
    if call.tool == "Write":
        return {**call.input, "content": text.text}
    was = decode_text(old.before or b"") if call.tool == "Edit" else None
    span = _span(was.text, text.text) if was else None
    return {**call.input, "old_string": span[0], "new_string": span[1], "replace_all": False} if span else None


def _span(old: str, new: str) -> tuple[str, str] | None:
    """Return the smallest unique run of lines with all differences, and its replacement."""
    from rails.core.diff import line_diff

    was = old.splitlines(keepends=True)
    now = new.splitlines(keepends=True)
    blocks = line_diff(was, now).changed
    if not blocks or not was:
        return None
    first = blocks[0].old_start
    last = blocks[-1].old_end
    shift = len(now) - len(was)
    while last - first <= _SPAN_LINES:
        piece = "".join(was[first:last])
        if piece and old.count(piece) == 1:
            return piece, "".join(now[first : last + shift])
        if first == 0 and last == len(was):
            return None
        first = max(first - 1, 0)
        last = min(last + 1, len(was))
    return None


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return the output; an empty result prints nothing."""
    value: dict[str, Json] = {"systemMessage": result.notice}
    told = result.context if call.event not in ("prompt", "stop", "end") else ""
    if result.block and call.event == "batch":  # blocked, it would end the host's run: it is told beside its results
        told = result.block
    elif result.block:
        value |= {"decision": "block", "reason": result.block}
    specific: dict[str, Json] = {"additionalContext": told}
    if result.deny:
        specific |= {"permissionDecision": "deny", "permissionDecisionReason": result.deny}
    elif result.rewritten is not None:
        specific["updatedInput"] = dict(result.rewritten)
    return specific_answer(call, value, specific)
