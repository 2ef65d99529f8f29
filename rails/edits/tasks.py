"""A list of tasks and one action on it: what ``track_task`` asks for.

The list is Markdown with one line per task, ``- [ ] …`` for an open one and ``- [x] …`` for one that is done.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line
from rails.edits.edit_request import EditRequest
from rails.edits.plan_result import EditError

_TASK: Final = lazy(r"(?P<box>[ \t]*[-*+] \[)(?P<mark>[ xX])(?P<rest>\][ \t]+(?P<text>.*?)[ \t]*)")


def added(text: str, task: str) -> tuple[int, str]:
    """Return where ``task`` goes in the list ``text``: before which line, and as what. Raises EditError."""
    line = _line(task)
    if any(found["text"] == line and found["mark"] == " " for _, found in _tasks(text)):
        raise EditError("task", f"The task {line!r} is open already.", "Leave it as it is.")
    before = text.rstrip().split("\n")
    gap = "" if _TASK.fullmatch(before[-1]) else "\n"
    return len(before) + 1, f"{gap}- [ ] {line}\n"


def marked(text: str, task: str, *, done: bool) -> EditRequest:
    """Return the edit of the list ``text`` that marks ``task`` as done, or as open again. Raises EditError."""
    line, state = _line(task), "open" if done else "done"
    tasks = [(number, found) for number, found in _tasks(text) if (found["mark"] == " ") is done]
    mine = [(number, found) for number, found in tasks if found["text"] == line]
    if len(mine) != 1:
        how = f"stands there {len(mine)} times as {state}" if mine else f"is not there as {state}"
        known = "; ".join(one_line(found["text"], 80) for _, found in tasks[:10]) or "none"
        raise EditError("task", f"The task {line!r} {how}.", f"These tasks are {state}: {known}.")
    number, found = mine[0]
    return EditRequest(found[0], f"{found['box']}{'x' if done else ' '}{found['rest']}", near_line=number)


def _tasks(text: str) -> list[tuple[int, re.Match[str]]]:
    lines = enumerate(text.split("\n"), start=1)
    return [(number, found) for number, line in lines if (found := _TASK.fullmatch(line))]


def _line(task: str) -> str:
    if not (line := one_line(" ".join(task.split()), 300)):
        raise EditError("task", "The task has no words.", "Say it in one line.")
    return line
