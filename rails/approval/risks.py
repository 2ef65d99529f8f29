"""Risks of a change set, a verdict or a tool, worst first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rails.approval.content_risks import Risk, content_risks
from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import protected
from rails.core.text import counted, decode_text
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Verdict

#: A change that takes away this many lines, and more than half of the file, is a risk.
LARGE_DELETION_LINES: Final = 30
#: How the sentence about a tool of the project ends.
FROM_PROJECT: Final = "comes from the project, not from you"
#: Worse ones stand first; what is not named here, which is what a text hides or does, follows the protected files.
_RANK: Final = {"protected": 0, "delete": 2, "large_deletion": 3, "executable": 4}


def change_risks(changes: ChangeSet) -> tuple[Risk, ...]:
    """Return the risks: protected files, hidden content, deletions, big cuts."""
    files = len(changes.changes)
    ranked = [item for change in changes.changes for item in (*_of_file(change), *content_risks(change, files))]
    return tuple(sorted(ranked, key=lambda risk: _RANK.get(risk.kind, 1)))


def gate_risks(verdict: Verdict) -> tuple[Risk, ...]:
    """Return the risks from failed and missing checks."""
    if verdict.status == "pass":
        return ()
    missing = [skipped for skipped in verdict.not_checked if skipped.required]
    risks = []
    if verdict.status == "fail":
        risks.append(f"The checks did not pass: {counted(len(verdict.blocking), 'new problem')}.")
    if verdict.status == "error" and not missing:
        risks.append("The checks could not be completed.")
    risks += [f"Not checked by {skip.check}: {skip.path} ({skip.reason})" for skip in missing]
    return tuple(Risk("checks", "", text) for text in risks)


def tool_risks(
    requests: Sequence[ToolRequest], from_project: Collection[str] = (), contained: Collection[str] = ()
) -> tuple[Risk, ...]:
    """Return the risks of the tools; ``contained``: the sandboxed ones."""
    started = (request.tool_name for request in requests if request.effect == "run")
    running = dict.fromkeys(name for name in started if name not in contained)
    local = dict.fromkeys(request.tool_name for request in requests if request.tool_name in set(from_project))
    return (
        *(
            Risk("run", "", f"{name} runs a program or calls a service; what it does cannot be undone here.")
            for name in running
        ),
        *(Risk("project_tool", "", f"The definition of {name} {FROM_PROJECT}.") for name in local),
    )


def is_emptied(change: FileChange) -> bool:
    """Return whether all content is removed."""
    return bool(change.before and change.before.strip() and change.after is not None and not change.after.strip())


def _of_file(change: FileChange) -> Iterator[Risk]:
    path = str(change.path)
    if reason := protected(change.path):
        yield Risk("protected", path, f"Protected file {path}: {reason}.")
    if change.kind == "delete":
        yield Risk("delete", path, f"Deletes {path} ({_lines(change.before)}).")
    elif is_emptied(change):
        yield Risk("delete", path, f"Empties {path} ({_lines(change.before)} before).")
    elif (lost := _lost_lines(change)) >= LARGE_DELETION_LINES:
        yield Risk("large_deletion", path, f"Removes {lost} lines, more than half of {path}.")
    if change.kind == "create" and change.mode & 0o111:
        yield Risk("executable", path, f"Creates {path} as an executable file.")


def _lost_lines(change: FileChange) -> int:
    if change.before is None or change.after is None:
        return 0
    before = Counter(line.strip() for line in change.before.split(b"\n") if line.strip())
    gone = (before - Counter(line.strip() for line in change.after.split(b"\n"))).total()
    return gone if gone * 2 > before.total() else 0


def _lines(data: bytes | None) -> str:
    if data is None or decode_text(data) is None:
        return f"{counted(len(data or b''), 'byte')}"
    count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return counted(count, "line")
