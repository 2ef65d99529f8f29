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

from rails.core.changes import ChangeSet, FileChange
from rails.core.text import decode_text
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks.codex_patch import BEGIN, END, FilePatch, patched, read_patch
from rails.integrations.hooks.contract import (
    HookCall,
    HookResult,
    UnjudgedError,
    host_text,
    named_change,
    now_on_disk,
    path_in_project,
    usual_answer,
)

#: A line of a patch that names a file, also where a blank stands before it.
_NAMES: Final = re.compile(r"^[^\S\n]*\*\*\* ?(Add File|Update File|Delete File|Move to): ?(.+)", re.MULTILINE)
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
    for part in host_text(call.input.get("command")).split(BEGIN):
        placed = _placed(call, before)
        for kind, name in _NAMES.findall(part):
            for one in placed:
                yield from named_change(name, one, project, gone=kind == "Delete File")
        before += part.rpartition(END)[2]


def proposed(call: HookCall, project: Path) -> ChangeSet | None:
    """Return what the patch would write, None if nothing within the project. Raises UnjudgedError."""
    command = host_text(call.input.get("command"))
    before, _, patch = command.partition(BEGIN)
    if END not in patch:
        return None
    placed = _placed(call, before)[-1]
    changes = [change for one in read_patch(patch) for change in _changes(one, placed, project)]
    if len({change.path for change in changes}) < len(changes):
        raise UnjudgedError("the patch names one file twice")
    return ChangeSet(tuple(changes)) if changes else None


def _changes(patch: FilePatch, call: HookCall, project: Path) -> Iterator[FileChange]:
    """Yield the changes of one file; nothing outside the project. Raises UnjudgedError."""
    found = now_on_disk(patch.path, call, project)
    if found is None:
        return
    path, before, mode = found
    if before is None and patch.kind != "Add":
        raise UnjudgedError(f"{path} is not there")
    if patch.kind == "Delete":
        yield FileChange(path, before, None, mode)
        return
    text = decode_text((patch.kind == "Update" and before) or b"")
    if text is None:
        raise UnjudgedError(f"{path} is not UTF-8 text")
    moved = path_in_project(patch.moved, call, project) if patch.moved else path
    if moved is None:
        raise UnjudgedError(f"{path} is moved out of the project")
    after = text.encode(patched(text.text, patch))
    if moved != path:
        yield FileChange(path, before, None, mode)
        before = None
    yield FileChange(moved, before, after, mode)


def printed(call: HookCall, result: HookResult) -> HookAnswer:
    """Return the output; an empty result prints nothing, a deny stands alone."""
    told = result.block or result.context
    if told and call.event == "after" and call.tool == "apply_patch":
        result = HookResult(context=f"The patch was applied. {told}", notice=result.notice)
    return usual_answer(call, result, ("stop",), ("before", "after"))
