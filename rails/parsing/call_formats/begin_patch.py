"""``*** Begin Patch``: sections that add, delete, update and move files, hunks between ``@@`` lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.builtin_tools import DELETE_FILE, MOVE_FILE
from rails.data_formats.proposed import NotRead, Outcome, Proposed, edit_of, new_file

BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_SECTIONS: Final = ("*** Add File:", "*** Delete File:", "*** Update File:")


def patch_changes(text: str) -> Iterator[Outcome]:
    """Yield a patch's changes. Of one without an end nothing is taken."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    first = next((n for n, line in enumerate(lines) if line.strip() == BEGIN), -1)
    last = next((n for n, line in enumerate(lines) if line.strip() == _END), -1)
    if first < 0 or last < first:
        yield NotRead(max(first, 0), f"the patch has no {_END!r}; it may be cut off", "Send the whole patch again.")
        return
    heads = [n for n in range(first + 1, last) if lines[n].startswith(_SECTIONS)]
    if not heads or any(line.strip() for line in lines[first + 1 : heads[0]]):
        yield NotRead(first, "the patch names no file in its first line (*** Update File: path)")
        return
    for start, end in zip(heads, [*heads[1:], last], strict=True):
        yield from _section(lines, start, end)


def _section(lines: list[str], start: int, end: int) -> Iterator[Outcome]:
    kind, _, path = lines[start].partition(":")
    path, body = path.strip(), lines[start + 1 : end]
    if kind == "*** Delete File":
        yield Proposed(DELETE_FILE.name, {"file_path": path})
        return
    while body and not body[-1].strip():
        body.pop()
    if kind == "*** Add File":
        wrong = next((n for n, line in enumerate(body) if line[:1] != "+" and line.strip()), -1)
        none = NotRead(start + 1 + wrong, f"a line of the new file {path} does not begin with +")
        yield none if wrong >= 0 else new_file(path, [line[1:] for line in body])
        return
    target = ""
    if body and body[0].startswith("*** Move to:"):
        target, body, start = body[0].partition(":")[2].strip(), body[1:], start + 1
    if len(body) > 1 and body[0].startswith("--- ") and body[1].startswith("+++ ") and body[0].endswith(path):
        body, start = body[2:], start + 2
    changes = list(_hunks(path, body, start + 1))
    yield from changes
    if target:
        yield Proposed(MOVE_FILE.name, {"file_path": path, "new_path": target})
    elif not changes:
        same, _ = _sides([line for line in body if not line.startswith("@@")])
        nothing = NotRead(start, f"the update of {path} changes nothing")
        yield edit_of(path, same, same) if any(same) else nothing


def _hunks(path: str, body: Sequence[str], first: int) -> Iterator[Outcome]:
    """Yield the edits. A hunk of context only places the next one below it."""
    rows: list[str] = []
    last: list[str] = []
    below: tuple[str, ...] = ()
    for n, line in enumerate([*body, "@@"]):
        if line.startswith("*** End of File"):
            continue
        if not line.startswith("@@"):
            rows.append(line)
            continue
        old, new = _sides(rows)
        if old != new:
            shared = _shared(last, old, new)
            below = (*below, *old[:shared])
            found = _edit(path, old[shared:], new[shared:], first + n - len(rows))
            yield found._replace(below=below) if isinstance(found, Proposed) else found
            last, below = old, ()
        elif rows:
            below = (*below, *old) if any(row.strip() for row in old) else ()
        rows = []
        named = line[2:].strip()
        if named and not named.startswith("-"):  # numbers of lines, as in a unified diff, are loose
            below = (*below, named)


def _shared(last: Sequence[str], old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines of context two hunks share: the file has them once."""
    counts = range(min(len(last), len(old) - 1, len(new)), 0, -1)
    return next((n for n in counts if last[-n:] == old[:n] == new[:n]), 0)


def _sides(rows: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines before and after. If a context line lost its blank, none loses one."""
    rows = list(rows)
    while rows and not rows[-1].strip():
        rows.pop()
    lost = any(row and row[0] not in " +-" for row in rows)
    old, new = list[str](), list[str]()
    for row in rows:
        sign = row[:1] if row[:1] in ("+", "-") else ""
        text = row if lost and not sign else row[1:]
        if sign != "+":
            old.append(text)
        if sign != "-":
            new.append(text)
    return old, new


def _edit(path: str, old: Sequence[str], new: Sequence[str], at: int) -> Outcome:
    if not any(line.strip() for line in old):
        return NotRead(at, f"a hunk of {path} adds lines and shows none around them, so their place is not known")
    return edit_of(path, old, new)
