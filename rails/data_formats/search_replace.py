"""SEARCH/REPLACE blocks: ``<<<<<<< SEARCH``, ``=======``, ``>>>>>>> REPLACE``, the file's name on a line before.

Also ``------- SEARCH`` and ``+++++++ REPLACE``, and ``:start_line:`` and a ruler below the first mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rails.data_formats.file_names import Exists, name_above, nothing_exists
from rails.data_formats.proposed import NotRead, Outcome, edit_of, new_file

OPENING: Final = re.compile(r"[ \t]*(?:<{5,9} ?(?:SEARCH|ORIGINAL)|-{5,9} ?SEARCH)>?[ \t\r]*", re.IGNORECASE)
_MIDDLE: Final = re.compile(r"={5,9}[ \t\r]*")
_CLOSING: Final = re.compile(r"[ \t]*(?:>{5,9} ?(?:REPLACE|UPDATED)|\+{5,9} ?REPLACE)<?[ \t\r]*", re.IGNORECASE)
_CONFLICT: Final = re.compile(r"^([ \t]*<{7}) HEAD(?=[ \t\r]*$)", re.MULTILINE)
_UPDATED: Final = re.compile(r"^([ \t]*>{7}) updated(?=[ \t\r]*$)", re.MULTILINE | re.IGNORECASE)
_START_LINE: Final = re.compile(r"\A:start_line:[ \t]*\d{1,7}[ \t\r]*\n(?:-{5,9}[ \t]*\n)?")


def block_changes(
    text: str, before: Sequence[str], name: str = "", *, conflicts: bool = False, exists: Exists = nothing_exists
) -> Iterator[Outcome]:
    """Yield the changes of a text's blocks; ``before`` are the lines above it. A later block may share the name.

    ``conflicts``: also blocks between ``<<<<<<< HEAD`` and ``>>>>>>> updated``, elsewhere git's own.
    """
    text = _CONFLICT.sub(r"\1 SEARCH", _UPDATED.sub(r"\1 REPLACE", text)) if conflicts else text
    above = [*before]
    block: list[str] = []
    start = -1
    is_first = True
    for number, line in enumerate(text.split("\n")):
        if start >= 0 and _CLOSING.fullmatch(line):
            yield _block(block, name, start)
            start = -1
            above = []
        elif start >= 0:
            block.append(line.removesuffix("\r"))
        elif OPENING.fullmatch(line):
            name = (name_above(above, "", exists) or name) if is_first else name_above(above, name, exists)
            start = number
            block = []
            is_first = False
        else:
            above.append(line)
    if start >= 0:
        yield NotRead(start, "a SEARCH block has no >>>>>>> REPLACE; it may be cut off", "Send it again.")


def _block(lines: list[str], name: str, at: int) -> Outcome:
    if not name:
        return NotRead(at, "a SEARCH block names no file", "Put the path of the file on the line above the block.")
    lines = _START_LINE.sub("", "\n".join(lines)).split("\n")
    middles = [n for n, line in enumerate(lines) if _MIDDLE.fullmatch(line)]
    if len(middles) != 1 or any(OPENING.fullmatch(line) for line in lines):
        what = "several lines that could divide it" if middles else "no ======= line"
        return NotRead(at, f"a SEARCH block for {name} has {what}", "Send the change in another form.")
    old = lines[: middles[0]]
    new = lines[middles[0] + 1 :]
    return edit_of(name, old, new) if any(line.strip() for line in old) else new_file(name, new)
