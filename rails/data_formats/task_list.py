"""A list of tasks and one action on it, as in ``track_task``.

Markdown with one line per task: ``- [ ] …`` open, ``- [x] …`` done.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line

_TASK: Final = lazy(r"(?P<box>[ \t]*[-*+] \[)(?P<mark>[ xX])(?P<rest>\][ \t]++(?P<text>(?:.*[^ \t\n])?)[ \t]*)")


def added(text: str, task: str) -> tuple[int, str] | Refusal:
    """Return line number and text to insert for ``task`` in the list ``text``, or a refusal."""
    line = _line(task)
    if not line:
        return Refusal("task", "The task has no words.", "Say it in one line.")
    if any(found["text"] == line and found["mark"] == " " for _, found in _tasks(text)):
        return Refusal("task", f"The task {line!r} is open already.", "Leave it as it is.")
    before = text.rstrip().split("\n")
    gap = "" if _TASK.fullmatch(before[-1]) else "\n"
    return len(before) + 1, f"{gap}- [ ] {line}\n"


def marked(text: str, task: str, *, done: bool) -> tuple[int, str, str] | Refusal:
    """Return the line of ``text`` that marks ``task`` as done or open: its number, old and new text; or a refusal."""
    line = _line(task)
    state = "open" if done else "done"
    tasks = [(number, found) for number, found in _tasks(text) if (found["mark"] == " ") is done]
    mine = [one for one in tasks if one[1]["text"] == line]
    if len(mine) == 1:
        number, found = mine[0]
        return number, found[0], f"{found['box']}{'x' if done else ' '}{found['rest']}"
    known = "; ".join(one_line(found["text"], 80) for _, found in tasks[:10]) or "none"
    return Refusal(
        "task", f"The task {line!r} is there {len(mine)} times as {state}.", f"These tasks are {state}: {known}."
    )


def _tasks(text: str) -> list[tuple[int, re.Match[str]]]:
    return [
        (number, found) for number, line in enumerate(text.split("\n"), start=1) if (found := _TASK.fullmatch(line))
    ]


def _line(task: str) -> str:
    return one_line(" ".join(task.split()), 300)
