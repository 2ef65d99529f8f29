"""The grants of a running process on a board that other processes can read, and where they can revoke one.

The board gives no power: grants live in the memory of the process that a human gave them to, and what stands
here is for reading. What is read back can only take a grant away, so a file that somebody forges can do no
more than make AI-Rails ask again.

One file for each process, ``PID.json``, and one with the numbers to revoke, ``PID.revoke``, in
``.rails/grants/`` of the project.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rails.core.dataclass import dataclass

_MOST_BYTES: Final = 100_000
_BOARDS: Final = 100
_LIVE: Final = re.compile(r"[1-9][0-9]{0,8}\.json")
EVERY: Final = "all"


@dataclass(frozen=True, slots=True)
class Posted:
    """A grant as another process sees it: whose it is, its number, and what it says in words."""

    process: int
    number: int
    words: str


class Board:
    """The board in ``folder``, from the side of this process."""

    def __init__(self, folder: Path) -> None:
        self._own = folder / f"{os.getpid()}.json"
        self._revoked = folder / f"{os.getpid()}.revoke"
        self._up = False

    def post(self, grants: Mapping[int, str]) -> None:
        """Show ``grants`` (number and words), or take the board down when there are none.

        A board that cannot be written is no reason to stop: the grants can still be revoked at the prompt.
        """
        with contextlib.suppress(OSError):
            if not grants:
                self._own.unlink(missing_ok=True)
                return
            if any(folder.is_symlink() for folder in (self._own.parent, self._own.parent.parent)):
                return  # a project could lead us anywhere with it
            self._own.parent.mkdir(parents=True, exist_ok=True)
            if not self._up:
                self._revoked.unlink(missing_ok=True)  # of an earlier process with this number
                self._up = True
            new = self._own.with_suffix(".new")
            new.write_text(json.dumps([{"number": n, "words": words} for n, words in grants.items()]), "utf-8")
            new.replace(self._own)

    def revoked(self) -> tuple[str, ...]:
        """Return what others asked to revoke: numbers, or "all"."""
        return tuple(_read(self._revoked).split()) if self._up else ()


def posted(folder: Path) -> Iterator[Posted]:
    """Yield the grants of every process that still runs."""
    names = sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []
    for name in [name for name in names if _LIVE.fullmatch(name)][:_BOARDS]:
        process = int(name.removesuffix(".json"))
        if _runs(process):
            yield from _posted(process, _read(folder / name))


def ask_to_revoke(folder: Path, grants: Iterable[Posted]) -> None:
    """Ask the processes of ``grants`` to revoke them; each does so before it lets anything through again."""
    for grant in grants:
        with (folder / f"{grant.process}.revoke").open("a", encoding="utf-8") as file:
            file.write(f"{grant.number}\n")


def _posted(process: int, text: str) -> Iterator[Posted]:
    try:
        items = json.loads(text)
        yield from [Posted(process, int(item["number"]), str(item["words"])) for item in items]
    except (ValueError, TypeError, KeyError):
        return


def _read(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, as somebody else
        return True
    return True
