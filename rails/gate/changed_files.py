"""The files that a check covers: every path is chosen or listed as missed.

From a clean ``git diff`` and untracked files; ignored files only if named. Without git the disk is walked, except names
with a leading dot.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rails.core.errors import CheckError, Refusal, UsageError
from rails.core.paths import WorkspacePath, exact_path
from rails.core.text import counted, one_line
from rails.core.verdict import NotChecked
from rails.gate.registry import FALLBACK, checks_for

if TYPE_CHECKING:
    from rails.git.listing import Tracked

    Entries = dict[str, Tracked]

_MOST: Final = 500_000
#: What stands in a name for a byte that is not UTF-8.
_UNDECODED: Final = re.compile("[\udc80-\udcff]")
#: Kinds of entries of a tree, by their mode; "" is none.
_LINK: Final = "120000"
_REPOSITORY: Final = "160000"
_FILE: Final = "100644"
_PIPE: Final = "pipe"


class ChangedFiles(Struct, frozen=True):
    """Files to check, deleted ones, and misses with reasons.

    ``whole``: the chosen of which every finding counts, as on disk: named, but not staged.
    """

    chosen: tuple[WorkspacePath, ...] = ()
    whole: frozenset[WorkspacePath] = frozenset()
    deleted: tuple[WorkspacePath, ...] = ()
    missed: tuple[NotChecked, ...] = ()


class _Reader(Struct, frozen=True):
    project: Path
    named: Sequence[str]
    compared: bool

    def wants(self, path: str) -> bool:
        return not self.named or any(f"{path}/".startswith(f"{name}/") for name in self.named)

    def entry(self, path: str, mode: str, was: str, *, recorded: bool) -> WorkspacePath | NotChecked | None:
        """Return what comes of an entry of ``mode``, which the base has as ``was``: its path, or why it is missed."""
        parsed = exact_path(path)
        if mode == _LINK:
            return self._link(path)
        if mode == _REPOSITORY:
            what = "it is a repository of its own" + (", recorded by its commit" if recorded else "")
            return _miss(path, what, required=self.compared and not recorded)
        if mode == _PIPE:
            return _miss(path, "it is a pipe, a socket or a device", required=self.compared)
        if not mode and was in ("", _REPOSITORY):
            return None
        if not isinstance(parsed, Refusal):
            return parsed
        if not mode:
            return _miss(path, "it is gone, and its name is refused", check="path")
        required = self.compared or checks_for(path) != [FALLBACK]
        why = "it is not UTF-8" if _UNDECODED.search(path) else parsed.message.partition(": ")[2]
        return _miss(path, f"its name is refused: {why}", required=required, check="path")

    def _link(self, path: str) -> NotChecked:
        """Miss a link; required if it leads outside or to configuration of checks."""
        configures = self.compared and self._configures(path)
        words = "it is a link; links are not followed" + (", and checks are configured by it" if configures else "")
        return _miss(path, words, required=self.compared and (configures or not self._leads_inside(path)))

    def _leads_inside(self, path: str) -> bool:
        from rails.git import listing

        inner = os.path.relpath(os.path.realpath(self.project / path), self.project)
        ignored = listing.ignored(self.project)
        return {"..", ".git"}.isdisjoint(inner.split("/")) and not any(
            f"{inner}/".startswith(f"{name.rstrip('/')}/") for name in ignored
        )

    def _configures(self, path: str) -> bool:
        from rails.gate import approved_state

        known = approved_state.configuration(self.project, self.project)
        return approved_state.is_configuration(path) or any(f"{name}/".startswith(f"{path}/") for name in known)


def read_changed_files(
    project: Path, named: Sequence[str], *, base: str | None = None, staged: bool = False
) -> ChangedFiles:
    """Return the files of a run. ``named``: files and folders, empty means all.

    With ``base`` only differences from that revision; ``staged`` reads git's index. Raises UsageError for an unknown
    revision, CheckError if git cannot run.
    """
    reader = _Reader(project, () if "" in named else named, base is not None)
    index: Entries = {}
    then: Entries = {}
    missed: list[NotChecked] = []
    alone = {name for name in named if _mode(project / name) not in ("", _REPOSITORY) and not _is_ours(name)}
    if base is not None or any((folder / ".git").exists() for folder in (project, *project.parents)):
        from rails.git import listing

        index = listing.indexed_files(project)
        then = listing.files_at(project, base) if base is not None else {}
        names = _staged(index, then) if staged else _on_disk(project, base, index)
        missed += () if staged else _beside(reader, names, index, alone)
    else:
        names = {*islice(_walk(project, ""), _MOST + 1)}
        if len(names) > _MOST:
            missed.append(_miss(".", f"there are more than {_MOST} files; name folders", required=True, check="walk"))
    chosen: dict[WorkspacePath, bool] = {}
    deleted: list[WorkspacePath] = []
    for path in sorted(filter(reader.wants, names | (alone if staged else alone.difference(index)))):
        was, now = (entries[path].mode if path in entries else "" for entries in (then, index))
        recorded = now == _REPOSITORY
        by_index = staged and path in names
        mode = now if by_index else _mode(project / path, recorded=recorded)
        found = reader.entry(path, mode, was, recorded=recorded)
        if isinstance(found, NotChecked):
            missed.append(found)
        elif found and mode:
            chosen[found] = by_index
        elif found:
            deleted.append(found)
    whole = frozenset(path for path, by_index in chosen.items() if staged and not by_index)
    return ChangedFiles(tuple(chosen), whole, tuple(deleted), tuple({one.path: one for one in missed}.values()))


def _miss(path: str, reason: str, *, required: bool = False, check: str = "read") -> NotChecked:
    return NotChecked(one_line(path, 300), check, reason, required)


def _staged(index: Entries, then: Entries) -> set[str]:
    now, was = ({(path, entry.mode, entry.object) for path, entry in entries.items()} for entries in (index, then))
    return {path for path, _, _ in now ^ was}


def _on_disk(project: Path, base: str | None, index: Entries) -> set[str]:
    from rails.git import listing

    names = [*index, *listing.untracked(project)] if base is None else listing.differing(project, base)
    return {name.rstrip("/") for name in names if not _is_ours(name)}


def _beside(reader: _Reader, names: set[str], index: Entries, alone: set[str]) -> Iterator[NotChecked]:
    """Yield what of the wanted is ignored, or differs in a submodule."""
    from rails.git import listing

    for path in (name.rstrip("/") for name in listing.ignored(reader.project) if reader.named):
        if reader.wants(path) and path not in alone:
            yield _miss(path, "it is ignored; name the file itself to have it checked", check="git")
    for path in filter(reader.wants, index.keys() - names):
        if reader.compared and index[path].mode == _REPOSITORY and os.path.lexists(reader.project / path / ".git"):
            try:
                count = len(listing.differing(reader.project / path, "HEAD"))
            except (CheckError, UsageError) as error:
                yield _miss(path, f"it is a repository of its own: {error}")
                continue
            differ = counted(count, "file differs", "files differ")
            how = f"to check them: ai-rails gate --diff HEAD --project {shlex.quote(path)}"
            if count:
                yield _miss(path, f"it is a repository of its own, in which {differ} from its commit; {how}")


def _walk(project: Path, folder: str) -> Iterator[str]:
    with os.scandir(project / folder) as found:
        entries = sorted(found, key=os.fspath)
    for entry in entries:
        path = f"{folder}{entry.name}"
        if entry.name.startswith("."):
            continue
        if _mode(project / path):
            yield path
        else:
            yield from _walk(project, f"{path}/")


def _mode(place: Path, *, recorded: bool = False) -> str:
    """Return the mode of what stands there; "" for nothing, and for a folder that is no repository."""
    if not os.path.lexists(place):
        return ""
    if place.is_symlink():
        return _LINK
    if place.is_dir():
        is_own = os.path.lexists(place / ".git") or (recorded and any(place.glob("[!.]*")))
        return _REPOSITORY if is_own else ""
    return _FILE if place.is_file() else _PIPE


def _is_ours(path: str) -> bool:
    return f"{path}/".startswith(".rails/")
