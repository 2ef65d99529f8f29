"""Approve with edits: what the human changed passes the same gate and is asked about again."""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.approval.decision import ApprovalRequest, request_for_changes, request_for_tool
from rails.core import limits
from rails.core.changes import ChangeSet, FileChange
from rails.core.diff import line_diff, unified
from rails.core.errors import CheckError, UsageError
from rails.core.paths import WorkspacePath
from rails.core.scratch import scratch_folder
from rails.core.text import decode_text, head_and_tail
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Verdict
from rails.processes import programs

Judge = Callable[[ChangeSet], Verdict]
#: The request with other parameters (JSON text), validated as the agent's was; or what is wrong with them.
Revalidate = Callable[[ToolRequest, str], ToolRequest | str]
Editor = Callable[[Sequence[Path]], None]
#: Content by path; ``None``: leave the file as it is.
Contents = Mapping[WorkspacePath, bytes | None]

EDITED: Final = "edited by the human"


class HumanEditError(UsageError):
    """An edit that cannot be used. Decides nothing."""


def edited(
    request: ApprovalRequest, contents: Contents, judge: Judge, from_project: Collection[str] = ()
) -> ApprovalRequest:
    """Return the request for ``contents`` instead of the agent's proposal.

    Files that are None or unchanged drop out. Raises HumanEditError when nothing is left or different.
    """
    changes = [
        change if change.path not in contents else replace(change, after=contents[change.path], proposed=None)
        for change in request.changes.changes
        if contents.get(change.path, b"") is not None
    ]
    remaining = tuple(change for change in changes if change.before != change.after)
    if not remaining:
        raise HumanEditError("Nothing of the proposal is left. To refuse it, deny it with a reason.")
    if ChangeSet(remaining).digest() == request.changes.digest():
        raise HumanEditError("Nothing was changed.")
    verdict = judge(ChangeSet(remaining))
    notes = tuple(dict.fromkeys((EDITED, *request.notes)))
    again = request_for_changes(
        request.id,
        request.agent,
        request.requests,
        verdict,
        (),
        from_project=from_project,
        doubts=request.doubts,
        model=request.model,
    )
    return replace(again, notes=notes)


def edited_run(request: ApprovalRequest, text: str, revalidate: Revalidate) -> ApprovalRequest:
    """Return the request for running the tool with the parameters in ``text`` (JSON).

    Raises HumanEditError when they don't satisfy the tool's definition, or are the same.
    """
    if request.tool_request is None:
        raise HumanEditError("There are no parameters to edit.")
    again = revalidate(request.tool_request, text)
    if isinstance(again, str):
        raise HumanEditError(again)
    if again.parameters == request.tool_request.parameters:
        raise HumanEditError("Nothing was changed.")
    local = [again.tool_name] if any("comes from the project" in risk for risk in request.risks) else []
    return request_for_tool(request.id, request.agent, again, (EDITED,), from_project=local, model=request.model)


def parameters_in_editor(request: ApprovalRequest, editor: Editor | None = None) -> str:
    """Let the human edit the parameters as JSON. Raises HumanEditError as :func:`in_editor` does."""
    parameters = dict(request.tool_request.parameters) if request.tool_request else {}
    with scratch_folder("edit") as folder:
        place = Path(folder) / "parameters.json"
        place.write_text(json.dumps(parameters, ensure_ascii=False, indent=2) + "\n", "utf-8")
        (editor or run_editor)([place])
        return _read_back(place).decode("utf-8", "replace")


def hunks(change: FileChange) -> list[tuple[list[str], list[str]]]:
    """Return the hunks of a text file as (lines before, lines after), in order; none for binaries."""
    both = sides(change)
    if both is None:
        return []
    old, new = both
    return [(old[b.old_start : b.old_end], new[b.new_start : b.new_end]) for b in line_diff(old, new).changed]


def without_hunks(change: FileChange, dropped: Collection[int]) -> bytes | None:
    """Return ``change`` without the ``dropped`` hunks (from 0), or None if nothing is left."""
    both = sides(change)
    if both is None:
        raise HumanEditError(f"{change.path} is not text; it cannot be taken in part.")
    old, new = both
    if set(range(len(hunks(change)))) <= set(dropped):
        return None
    kept: list[str] = []
    number = 0
    for block in line_diff(old, new).blocks:
        drop = not block.equal and number in dropped
        kept += old[block.old_start : block.old_end] if drop else new[block.new_start : block.new_end]
        number += not block.equal
    form = decode_text(change.after or change.before or b"")
    text = "".join(kept)
    try:
        return form.encode(text) if form else text.encode()
    except UnicodeEncodeError as error:
        raise HumanEditError(f"{change.path} changes its encoding; it cannot be taken in part.") from error


def in_editor(request: ApprovalRequest, editor: Editor | None = None) -> dict[WorkspacePath, bytes]:
    """Let the human edit the files in ``$VISUAL`` or ``$EDITOR``; return the changed contents.

    Works on private copies. Raises HumanEditError without an editor, if it fails, or if a file comes back irregular or
    too large.
    """
    editable = [change for change in request.changes.changes if change.after is not None]
    if not editable:
        raise HumanEditError("There is nothing to edit: the proposal only deletes.")
    with scratch_folder("edit") as folder:
        places = {change.path: _place(Path(folder), change) for change in editable}
        (editor or run_editor)(list(places.values()))
        return {
            change.path: content for change in editable if (content := _read_back(places[change.path])) != change.after
        }


def run_editor(paths: Sequence[Path]) -> None:
    """Run the editor on ``paths`` and wait. Raises HumanEditError."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    if not command:
        raise HumanEditError("No editor is set. Set EDITOR, for example: export EDITOR=nano")
    try:
        code = programs.run_attached([*command, *map(str, paths)])
    except CheckError as error:
        raise HumanEditError(f"The editor: {error}") from error
    if code:
        raise HumanEditError(f"The editor {command[0]} ended with code {code}; the edit is not used.")


def edit_summary(original: ApprovalRequest, approved: ApprovalRequest) -> str:
    """Return the human's edits for the agent: ``-`` its lines, ``+`` theirs; "" for none."""
    parts = _account_of_run(original, approved)
    for path in sorted({c.path for c in (*original.changes.changes, *approved.changes.changes)}):
        was = original.changes.get(path)
        now = approved.changes.get(path)
        if was is not None and now is None:
            parts.append(f"{path}: left out; the file stays as it was.")
        elif was is not None and now is not None and was.after != now.after:
            parts.append("\n".join(_account(was, now)))
    if not parts:
        return ""
    told, _ = head_and_tail("\n".join(parts), limits.FEEDBACK_CHARS // 2)
    return f"The human changed your proposal before approving it (- your line, + the human's):\n{told}"


def _account_of_run(original: ApprovalRequest, approved: ApprovalRequest) -> list[str]:
    was = original.tool_request
    now = approved.tool_request
    if was is None or now is None or was.parameters == now.parameters:
        return []
    old, new = (json.dumps(dict(one.parameters), ensure_ascii=False, indent=2).split("\n") for one in (was, now))
    names = "parameters (yours)", "parameters (approved)"
    return ["\n".join(unified(old, new, names, context=2))]


def _account(was: FileChange, now: FileChange) -> list[str]:
    old = decode_text(was.after or b"")
    new = decode_text(now.after or b"")
    if old is None or new is None:
        return [f"{was.path}: replaced by other content that is not text."]
    names = f"{was.path} (yours)", f"{was.path} (approved)"
    return list(unified(old.text.splitlines(), new.text.splitlines(), names, context=2))


def sides(change: FileChange) -> tuple[list[str], list[str]] | None:
    """Return the lines before and after, with their line endings; None if not text."""
    before, after = (decode_text(data or b"") for data in (change.before, change.after))
    if before is None or after is None:
        return None
    return _with_ends(before.text), _with_ends(after.text)


def _with_ends(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _place(folder: Path, change: FileChange) -> Path:
    place = folder.joinpath(*change.path.parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(change.after or b"")
    return place


def _read_back(place: Path) -> bytes:
    try:
        facts = place.lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > limits.FILE_BYTES:
            raise HumanEditError(f"{place.name} did not come back as a file of at most {limits.FILE_BYTES} bytes.")
        return place.read_bytes()
    except OSError as error:
        raise HumanEditError(f"{place.name} did not come back: {error.strerror}. To leave it out, use p.") from error
