"""The files that a check covers: every path is chosen or listed as missed.

From a clean ``git diff`` and untracked files; ignored files only if named. Without git the disk is walked, except names
with a leading dot.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

_MOST: Final = 500_000
#: What stands in a name for a byte that is not UTF-8.
_UNDECODED: Final = re.compile("[\udc80-\udcff]")
#: Kinds of entries of a tree, by their mode.
_LINK: Final = "120000"
_REPOSITORY: Final = "160000"


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
    compared: bool
    chosen: dict[WorkspacePath, None] = field(default_factory=dict)
    staged: int = 0
    deleted: dict[WorkspacePath, None] = field(default_factory=dict)
    missed: dict[str, NotChecked] = field(default_factory=dict)

    def miss(self, path: str, check: str, reason: str, *, required: bool) -> None:
        shown = one_line(path, 300)
        self.missed.setdefault(shown, NotChecked(shown, check, reason, required))

    def choose(self, path: str) -> None:
        parsed = exact_path(path)
        if not isinstance(parsed, Refusal):
            self.chosen[parsed] = None
            return
        required = self.compared or checks_for(path) != [FALLBACK]
        why = "it is not UTF-8" if _UNDECODED.search(path) else parsed.message.partition(": ")[2]
        self.miss(path, "path", f"its name is refused: {why}", required=required)

    def lose(self, path: str) -> None:
        parsed = exact_path(path)
        if isinstance(parsed, Refusal):
            self.miss(path, "path", "it is gone, and its name is refused", required=False)
        else:
            self.deleted[parsed] = None

    def take(self, path: str, *, recorded: bool) -> None:
        mode = os.lstat(self.project / path).st_mode
        if stat.S_ISREG(mode):
            self.choose(path)
        elif stat.S_ISLNK(mode):
            self.miss_link(path)
        elif stat.S_ISDIR(mode):
            what = "it is a repository of its own" + (", recorded by its commit" if recorded else "")
            self.miss(path, "read", what, required=self.compared and not recorded)
        else:
            self.miss(path, "read", "it is a pipe, a socket or a device", required=self.compared)

    def miss_link(self, path: str) -> None:
        """Miss a link; required if it leads outside or to configuration of checks."""
        configures = self.compared and self._configures(path)
        words = "it is a link; links are not followed" + (", and checks are configured by it" if configures else "")
        self.miss(path, "read", words, required=self.compared and (configures or not self._leads_inside(path)))

    def _leads_inside(self, path: str) -> bool:
        from rails.git import listing

        target = Path(os.path.realpath(self.project / path))
        if not target.is_relative_to(self.project):
            return False
        inner = target.relative_to(self.project)
        above = {name.as_posix() for name in (inner, *inner.parents)}
        ignored = {name.rstrip("/") for name in listing.ignored(self.project)}
        return ".git" not in inner.parts and above.isdisjoint(ignored)

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
    reader = _Reader(project, base is not None)
    if any((folder / ".git").exists() for folder in (project, *project.parents)) or base is not None:
        _by_git(reader, named, base, staged=staged)
    else:
        _without_git(reader, named)
    chosen = tuple(reader.chosen)
    whole = chosen[reader.staged :] if staged else ()
    return ChangedFiles(chosen, frozenset(whole), tuple(reader.deleted), tuple(reader.missed.values()))


def _by_git(reader: _Reader, named: Sequence[str], base: str | None, *, staged: bool) -> None:
    from rails.git import listing

    index = listing.indexed_files(reader.project)
    then = listing.files_at(reader.project, base) if base is not None else {}
    if staged:
        _staged(reader, index, then, named)
        return
    names = [*index, *listing.untracked(reader.project)] if base is None else listing.differing(reader.project, base)
    places = [*names, *(name for name in named if name and name not in index and _is_single(reader.project / name))]
    if base is not None:
        _in_submodules(
            reader, named, [path for path in index if index[path].mode == _REPOSITORY and path not in places]
        )
    for path in sorted(set(places)):
        bare = path.rstrip("/")
        entries = (then.get(bare), index.get(bare))
        if not _is_wanted(bare, named) or f"{bare}/".startswith(".rails/"):
            continue
        repository, recorded = (entry is not None and entry.mode == _REPOSITORY for entry in entries)
        place = reader.project / bare
        if _is_single(place) or os.path.lexists(place / ".git") or (recorded and any(place.glob("[!.]*"))):
            reader.take(bare, recorded=recorded)
        elif entries[0] and not repository:
            reader.lose(bare)
    ignored = listing.ignored(reader.project) if named and "" not in named else ()
    for name in ignored:
        path = name.rstrip("/")
        if _is_wanted(path, named) and not (path in named and _is_single(reader.project / path)):
            reader.miss(path, "git", "it is ignored; name the file itself to have it checked", required=False)


def _in_submodules(reader: _Reader, named: Sequence[str], paths: Sequence[str]) -> None:
    from rails.git import listing

    for path in paths:
        if not _is_wanted(path, named) or not os.path.lexists(reader.project / path / ".git"):
            continue
        try:
            count = len(listing.differing(reader.project / path, "HEAD"))
        except (CheckError, UsageError) as error:
            reader.miss(path, "read", f"it is a repository of its own: {error}", required=False)
            continue
        if count:
            differ = counted(count, "file differs", "files differ")
            what = f"it is a repository of its own, in which {differ} from its commit"
            how = f"to check them: ai-rails gate --diff HEAD --project {shlex.quote(path)}"
            reader.miss(path, "read", f"{what}; {how}", required=False)


def _staged(reader: _Reader, index: Mapping[str, Tracked], then: Mapping[str, Tracked], named: Sequence[str]) -> None:
    for path, now in index.items():
        was = then.get(path)
        same = was and (was.mode, was.object) == (now.mode, now.object)
        if same or not _is_wanted(path, named):
            continue
        if now.mode == _REPOSITORY:
            reader.miss(path, "read", "it is a repository of its own, recorded by its commit", required=False)
        elif now.mode == _LINK:
            reader.miss_link(path)
        else:
            reader.choose(path)
    for path in then:
        if path not in index and _is_wanted(path, named):
            reader.lose(path)
    reader.staged = len(reader.chosen)
    _take_named(reader, named)


def _without_git(reader: _Reader, named: Sequence[str]) -> None:
    for number, path in enumerate(_walk(reader.project, "")):
        if number > _MOST:
            reader.miss(".", "walk", f"there are more than {_MOST} files; name folders", required=True)
            return
        if _is_wanted(path, named):
            reader.take(path, recorded=False)
    _take_named(reader, named)


def _take_named(reader: _Reader, named: Sequence[str]) -> None:
    for name in named:
        if name and _is_single(reader.project / name):
            reader.take(name, recorded=False)


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


def _is_single(place: Path) -> bool:
    return os.path.lexists(place) and (place.is_symlink() or not place.is_dir())


def _is_wanted(path: str, named: Sequence[str]) -> bool:
    return not named or any(name in ("", path) or path.startswith(f"{name}/") for name in named)
