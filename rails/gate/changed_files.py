"""The files that a check covers: every path is chosen or listed as missed.

From a clean ``git diff`` and untracked files; ignored files only if named. Without git the disk is walked, except names
with a leading dot.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

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
#: Kinds of entries of a tree, by their mode.
_LINK: Final = "120000"
_REPOSITORY: Final = "160000"
_FILE: Final = "100644"
_MODES: Final = {stat.S_IFREG: _FILE, stat.S_IFLNK: _LINK, stat.S_IFDIR: _REPOSITORY}


class ChangedFiles(Struct, frozen=True):
    """Files to check, deleted ones, and misses with reasons.

    ``whole``: the chosen of which every finding counts, as on disk: named, but not staged.
    """

    chosen: tuple[WorkspacePath, ...] = ()
    whole: frozenset[WorkspacePath] = frozenset()
    deleted: tuple[WorkspacePath, ...] = ()
    missed: tuple[NotChecked, ...] = ()


class _Reader(Struct):
    project: Path
    named: Sequence[str]
    compared: bool
    chosen: dict[WorkspacePath, None] = field(default_factory=dict)
    deleted: dict[WorkspacePath, None] = field(default_factory=dict)
    missed: dict[str, NotChecked] = field(default_factory=dict)

    def wants(self, path: str) -> bool:
        return not self.named or any(f"{path}/".startswith(f"{name}/") or not name for name in self.named)

    def miss(self, path: str, reason: str, *, required: bool = False, check: str = "read") -> None:
        shown = one_line(path, 300)
        self.missed.setdefault(shown, NotChecked(shown, check, reason, required))

    def choose(self, path: str) -> None:
        parsed = exact_path(path)
        if not isinstance(parsed, Refusal):
            self.chosen[parsed] = None
            return
        required = self.compared or checks_for(path) != [FALLBACK]
        why = "it is not UTF-8" if _UNDECODED.search(path) else parsed.message.partition(": ")[2]
        self.miss(path, f"its name is refused: {why}", required=required, check="path")

    def lose(self, path: str) -> None:
        parsed = exact_path(path)
        if isinstance(parsed, Refusal):
            self.miss(path, "it is gone, and its name is refused", check="path")
        else:
            self.deleted[parsed] = None

    def take(self, path: str, mode: str = "", *, recorded: bool = False) -> None:
        """Choose or miss an entry of ``mode``, by default the disk's."""
        mode = mode or _MODES.get(stat.S_IFMT(os.lstat(self.project / path).st_mode), "")
        if mode == _LINK:
            self.miss_link(path)
        elif mode == _REPOSITORY:
            what = "it is a repository of its own" + (", recorded by its commit" if recorded else "")
            self.miss(path, what, required=self.compared and not recorded)
        elif mode:
            self.choose(path)
        else:
            self.miss(path, "it is a pipe, a socket or a device", required=self.compared)

    def miss_link(self, path: str) -> None:
        """Miss a link; required if it leads outside or to configuration of checks."""
        configures = self.compared and self._configures(path)
        words = "it is a link; links are not followed" + (", and checks are configured by it" if configures else "")
        self.miss(path, words, required=self.compared and (configures or not self._leads_inside(path)))

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
    reader = _Reader(project, named, base is not None)
    alone = [name for name in named if name and _is_single(project / name) and not _is_ours(name)]
    by_index: tuple[WorkspacePath, ...] = ()
    if base is not None or any((folder / ".git").exists() for folder in (project, *project.parents)):
        from rails.git import listing

        index = listing.indexed_files(project)
        then = listing.files_at(project, base) if base is not None else {}
        if staged:
            _staged(reader, index, then)
            by_index = tuple(reader.chosen)
        else:
            alone = [name for name in alone if name not in index]
            _on_disk(reader, base, index, then, alone)
    else:
        _without_git(reader)
    for name in alone:
        reader.take(name)
    chosen = tuple(reader.chosen)
    whole = chosen[len(by_index) :] if staged else ()
    return ChangedFiles(chosen, frozenset(whole), tuple(reader.deleted), tuple(reader.missed.values()))


def _on_disk(reader: _Reader, base: str | None, index: Entries, then: Entries, alone: Sequence[str]) -> None:
    from rails.git import listing

    project = reader.project
    if base is None:
        names = {*index, *listing.untracked(project)}
    else:
        names = {*listing.differing(project, base)}
        for path in (path for path, entry in index.items() if entry.mode == _REPOSITORY and path not in names):
            _in_submodule(reader, path)
    for path in sorted(name.rstrip("/") for name in names):
        if not reader.wants(path) or _is_ours(path):
            continue
        was, now = (entries[path].mode if path in entries else "" for entries in (then, index))
        place = project / path
        if _is_single(place) or os.path.lexists(place / ".git") or (now == _REPOSITORY and any(place.glob("[!.]*"))):
            reader.take(path, recorded=now == _REPOSITORY)
        elif was not in ("", _REPOSITORY):
            reader.lose(path)
    for name in listing.ignored(project) if reader.named and "" not in reader.named else ():
        path = name.rstrip("/")
        if reader.wants(path) and path not in alone:
            reader.miss(path, "it is ignored; name the file itself to have it checked", check="git")


def _in_submodule(reader: _Reader, path: str) -> None:
    from rails.git import listing

    if not reader.wants(path) or not os.path.lexists(reader.project / path / ".git"):
        return
    try:
        count = len(listing.differing(reader.project / path, "HEAD"))
    except (CheckError, UsageError) as error:
        reader.miss(path, f"it is a repository of its own: {error}")
        return
    if count:
        differ = counted(count, "file differs", "files differ")
        how = f"to check them: ai-rails gate --diff HEAD --project {shlex.quote(path)}"
        reader.miss(path, f"it is a repository of its own, in which {differ} from its commit; {how}")


def _staged(reader: _Reader, index: Entries, then: Entries) -> None:
    for path in filter(reader.wants, index):
        now, was = index[path], then.get(path)
        if was is None or (was.mode, was.object) != (now.mode, now.object):
            reader.take(path, now.mode, recorded=True)
    for path in then:
        if path not in index and reader.wants(path):
            reader.lose(path)


def _without_git(reader: _Reader) -> None:
    for number, path in enumerate(_walk(reader.project, "")):
        if number > _MOST:
            reader.miss(".", f"there are more than {_MOST} files; name folders", required=True, check="walk")
            return
        if reader.wants(path):
            reader.take(path)


def _walk(project: Path, folder: str) -> Iterator[str]:
    for entry in _entries(project / folder):
        path = f"{folder}{entry.name}"
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False) and not os.path.lexists(f"{entry.path}/.git"):
            yield from _walk(project, f"{path}/")
        else:
            yield path


def _entries(folder: Path) -> Iterable[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return sorted(found, key=os.fspath)


def _is_ours(path: str) -> bool:
    return f"{path}/".startswith(".rails/")


def _is_single(place: Path) -> bool:
    return os.path.lexists(place) and (place.is_symlink() or not place.is_dir())
