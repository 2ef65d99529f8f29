"""A pasted patch or block as an edit request, or why it is none.

Texts are whole lines without the last line end, so that the file keeps its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from rails.core.builtin_tools import EDIT_FILE, WRITE_FILE
from rails.core.tool_request import Json


class Proposed(NamedTuple):
    """A request of ``tool``. ``below``: the lines above it in a patch, outermost first."""

    tool: str
    parameters: Mapping[str, Json]
    below: tuple[str, ...] = ()


class NotRead(NamedTuple):
    """The reason why a part is not read, and a remedy. ``line`` counts from 0."""

    line: int
    message: str
    hint: str = "Correct the patch, or send the whole new text of the file in a fence with its name."


Outcome: TypeAlias = Proposed | NotRead
#: The forms of patches: what their edits search for is whole lines, never a piece of one.
PATCHES: Final = ("*** Begin Patch", "SEARCH/REPLACE", "unified diff")
#: Whole files in fences with a name.
NAMED: Final = "named block"


def edit_of(path: str, old: Sequence[str], new: Sequence[str], line: int = 0) -> Proposed:
    """Return the replacement of whole lines; ``line`` is their place, if certain."""
    ends = "" if new else "\n"
    texts: dict[str, Json] = {"old_string": "\n".join(old) + ends, "new_string": "\n".join(new)}
    return Proposed(EDIT_FILE.name, {"file_path": path, **texts, **({"near_line": line} if line else {})})


def new_file(path: str, lines: Sequence[str], *, ends: bool = True) -> Proposed:
    """Return the creation of a file that must not exist; ``ends``: its last line has a line end."""
    return Proposed(
        WRITE_FILE.name,
        {"file_path": path, "content": ("\n".join(lines) + ("\n" if ends and lines else "")), "create_only": True},
    )
