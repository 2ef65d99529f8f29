"""Leaving parts of a proposal out: the pieces are listed by number, and those that are named stay as they were."""

from __future__ import annotations

from typing import Final

from rails.approval.decision import ApprovalRequest
from rails.approval.diff_view import show
from rails.approval.edit import Contents, hunks, without_hunks
from rails.approval.terminal.console import Console
from rails.approval.terminal.paint import wrap
from rails.core.paths import WorkspacePath

#: Lines of a piece that are shown when the human chooses among pieces.
_LINES: Final = 6


def without_pieces(console: Console, request: ApprovalRequest) -> Contents | None:
    """Ask which pieces to leave out; return the contents without them, or ``None`` for none. Raises EditError."""
    pieces = [(change, n) for change in request.changes.changes for n in range(len(hunks(change)))]
    _list(console, request)
    console.arm()
    console.put("Numbers of the parts to leave out (Enter: none): ")
    words = console.line().replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= len(pieces) for word in words):
        console.put(f"Numbers from 1 to {len(pieces)} are wanted.\n")
        return None
    dropped: dict[WorkspacePath, set[int]] = {}
    for change, n in (pieces[int(word) - 1] for word in words):
        dropped.setdefault(change.path, set()).add(n)
    chosen = [change for change in request.changes.changes if change.path in dropped]
    return {change.path: without_hunks(change, dropped[change.path]) for change in chosen} or None


def _list(console: Console, request: ApprovalRequest) -> None:
    number = 0
    for change in request.changes.changes:
        for old, new in hunks(change):
            number += 1
            lines = [*(f"- {show(line[:-1])}" for line in old), *(f"+ {show(line[:-1])}" for line in new)]
            cut = [f"[… {len(lines) - _LINES} more lines …]"] if len(lines) > _LINES else []
            console.put(f"{number}: {change.path}\n", "title")
            for line in (*lines[:_LINES], *cut):
                console.put("".join(f"   | {piece}\n" for piece in wrap(line.expandtabs(4), 90)))
