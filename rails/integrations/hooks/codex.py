"""Codex's hooks. Measured on version 0.169.0.

Codex ignores what it does not understand, so a deny stands alone; patches are not rewritten, as that needs a
permission. A here-document patch comes as a shell command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.core import paths
from rails.core.changes import ChangeSet, FileChange
from rails.core.text import decode_text
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks import codex_patch
from rails.integrations.hooks.codex_patch import FilePatch, PatchError
from rails.integrations.hooks.contract import (
    HookCall,
    HookResult,
    Unjudged,
    host_text,
    named_change,
    now_on_disk,
    path_in_project,
    specific_answer,
)

#: A line of a patch that names a file, also where a blank stands before it.
_NAMES: Final = re.compile(r"\s*\*\*\* ?(Add File|Update File|Delete File|Move to): ?(.+)")
#: Where a shell goes before it applies a patch. A folder in a variable, or that a command prints, is not seen: what is
#: written there is judged afterwards.
_CHANGES_TO: Final = re.compile(
    r"""(?:\b(?:cd|chdir|pushd)|\s-C|--chdir)(?:[ \t=]|\\\n)+(?:-\S*[ \t]+)*"""
    r"""((?:"[^"]*"|'[^']*'|\\.|[^\s;&|()<>\\"'])+)"""
)
_QUOTES: Final = re.compile(r"""\\(.)|\$?["']""")
#: How many of these are followed: each doubles the folders that come into question.
_MOST_CHANGES: Final = 5


def _placed(call: HookCall, before: str) -> list[HookCall]:
    """Return the call for each folder that the shell may be in after ``before``, the likeliest last.

    A bracket may undo any change of folder.
    """
    placed = [call]
    for word in _CHANGES_TO.findall(before)[:_MOST_CHANGES]:
        folder = os.path.expanduser(_QUOTES.sub(r"\1", word))  # noqa: PTH111 - as for a file
        placed += [replace(one, folder=one.folder / folder) for one in placed]
    return placed


def named_files(call: HookCall, project: Path) -> Iterator[FileChange]:
    """Yield a change for each of the patch's files, even unreadable."""
    before = ""
    for part in host_text(call.input.get("command")).split(codex_patch.BEGIN):
        placed = _placed(call, before)
        for found in filter(None, map(_NAMES.match, part.splitlines())):
            for one in placed:
                yield from named_change(found[2].strip(), one, project, gone=found[1] == "Delete File")
        before += part.rpartition(codex_patch.END)[2]


def proposed(call: HookCall, project: Path) -> ChangeSet | Unjudged | None:
    """Return what the patch would write, None if nothing within the project."""
    command = host_text(call.input.get("command"))
    patch = codex_patch.patch_in(command)
    if not patch:
        return None
    placed = _placed(call, command.partition(patch)[0])[-1]
    changes: list[FileChange] = []
    try:
        for one in codex_patch.read_patch(patch):
            found = _change(one, placed, project)
            if isinstance(found, Unjudged):
                return found
            changes += found
    except PatchError as error:
        return Unjudged(f"the patch cannot be applied here: {error}")
    if len({change.path for change in changes}) < len(changes):
        return Unjudged("the patch names one file twice")
    return ChangeSet(tuple(changes)) if changes else None


def _change(patch: FilePatch, call: HookCall, project: Path) -> tuple[FileChange, ...] | Unjudged:
    """Return the change of one file; nothing outside the project. Raises PatchError."""
    read = now_on_disk(patch.path, call, project)
    if not isinstance(read, tuple):
        return read or ()
    path, before, mode = read
    if patch.kind == "Add":
        after = codex_patch.apply_hunks("", patch.hunks).encode()
        return (FileChange(path, before, after, mode),)
    if patch.kind == "Delete" or before is None:
        return (FileChange(path, before, None, mode),) if before is not None else Unjudged(f"{path} is not there")
    decoded = decode_text(before)
    if decoded is None:
        return Unjudged(f"{path} is not UTF-8 text")
    after = decoded.encode(codex_patch.apply_hunks(decoded.text, patch.hunks))
    moved = path_in_project(patch.moved, call, project) if patch.moved else path
    if not isinstance(moved, paths.WorkspacePath):
        return moved or Unjudged(f"{path} is moved out of the project")
    if moved == path:
        return (FileChange(path, before, after, mode),)
    return FileChange(path, before, None, mode), FileChange(moved, None, after, mode)


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return the output; an empty result prints nothing, a deny stands alone."""
    if result.deny:
        return specific_answer(call, {}, {"permissionDecision": "deny", "permissionDecisionReason": result.deny})
    if result.block and call.event == "stop":
        return specific_answer(call, {"decision": "block", "reason": result.block}, {})
    told = (result.block or result.context) if call.event in ("before", "after") else ""
    if told and call.event == "after" and call.tool == "apply_patch":
        told = f"The patch was applied. {told}"
    return specific_answer(call, {"systemMessage": result.notice}, {"additionalContext": told})
