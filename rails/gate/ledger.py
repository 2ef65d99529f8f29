"""Which files a check of a project is about: every path that git or the disk holds is chosen, noted or refused by name.

The disk is walked, not asked of git's index: flags such as assume-unchanged, a wrong time stamp, a filter or a
pattern in an ignore file that came with the change hide nothing. With a base, a file is chosen when its bytes are
not those that the base has (or the same up to line ends).

Covered: names that no tool of ours may be given, links, pipes and devices, repositories within the project, ignored
files that were named, files that git would not look at, and what patterns hide that only the user has
(``info/exclude``), which is noted. Not covered: what git ignores by patterns that were committed before, unless it is
named; files above the bound of a walk, which is said.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rails.core.dataclass import NamedTuple, dataclass, field
from rails.core.errors import Refusal
from rails.core.paths import WorkspacePath, parse_path
from rails.core.text import one_line
from rails.core.verdict import NotChecked
from rails.gate.registry import FALLBACK, checks_for

if TYPE_CHECKING:
    from rails.git.listing import Tracked

_WALKED: Final = 500_000
#: Kinds of entries of a tree, by their mode.
_LINK: Final = "120000"
_REPOSITORY: Final = "160000"
_OWN_PATTERN: Final = "git ignores it by your own patterns, which no commit holds; name the file to have it checked"

_Kind = Literal["file", "link", "folder", "repository", "special", "closed"]


@dataclass(frozen=True, slots=True)
class Ledger:
    """The files to check, those of the base that are gone, and what cannot be checked, with the reason."""

    chosen: tuple[WorkspacePath, ...] = ()
    deleted: tuple[WorkspacePath, ...] = ()
    missed: tuple[NotChecked, ...] = ()


class _Entry(NamedTuple):
    path: str
    kind: _Kind


@dataclass(slots=True)
class _Reader:
    """Puts the paths of one run in their places. ``named`` are those of the command line, from the project."""

    project: Path
    named: Sequence[str]
    base: Mapping[str, Tracked] | None
    index: Mapping[str, Tracked]
    chosen: dict[WorkspacePath, None] = field(default_factory=dict)
    deleted: dict[WorkspacePath, None] = field(default_factory=dict)
    missed: dict[tuple[str, str], NotChecked] = field(default_factory=dict)
    configured: set[str] = field(default_factory=set)

    def miss(self, path: str, check: str, reason: str, *, required: bool) -> None:
        """Keep why a path is not checked."""
        shown = one_line(path, 300)
        self.missed.setdefault((shown, check), NotChecked(shown, check, reason, required))

    def choose(self, path: str) -> None:
        """Choose a file, or say why its name cannot be given to a tool."""
        parsed = parse_path(path)
        if isinstance(parsed, Refusal):
            checked = checks_for(path) != [FALLBACK]
            reason = parsed.message.partition(": ")[2]
            self.miss(path, "path", f"its name is refused: {reason}", required=self.base is not None or checked)
        else:
            self.chosen[parsed] = None

    def lose(self, path: str) -> None:
        """Keep a file of the base that is gone."""
        parsed = parse_path(path)
        if isinstance(parsed, Refusal):
            self.miss(path, "path", "it is gone, and its name is refused", required=False)
        else:
            self.deleted[parsed] = None

    def is_wanted(self, path: str) -> bool:
        """Whether the command line names the path, a folder around it, or nothing at all."""
        return not self.named or any(name in ("", path) or path.startswith(f"{name}/") for name in self.named)

    def take(self, entry: _Entry) -> None:
        """Put one thing on the disk in its place."""
        path, compared = entry.path, self.base is not None
        if entry.kind == "file":
            self.choose(path)
        elif entry.kind == "link":
            self.miss_link(path, "links are not followed")
        elif entry.kind == "repository":
            known = path in self.index and self.index[path].mode == _REPOSITORY
            what = "it is a repository of its own" + (", recorded by its commit" if known else "")
            self.miss(path, "read", what, required=compared and not known)
        else:
            what = "it is a pipe, a socket or a device" if entry.kind == "special" else "the folder cannot be read"
            self.miss(path, "read", what, required=compared or entry.kind == "closed")

    def miss_link(self, path: str, why: str) -> None:
        """Keep that a link is not checked; it has to be looked at where it leads out or to what configures checks."""
        configures = self.base is not None and self.configures(path)
        words = f"it is a link; {why}{', and checks are configured by it' if configures else ''}"
        required = configures or (self.base is not None and not self.leads_inside(path))
        self.miss(path, "read", words, required=required)

    def configures(self, path: str) -> bool:
        """Whether checks are configured by what is at ``path`` or in it."""
        from rails.gate import approved_state

        if approved_state.is_configuration(path):
            return True
        self.configured = self.configured or approved_state.configuration(self.project, self.project)
        return any(name == path or name.startswith(f"{path}/") for name in self.configured)

    def leads_inside(self, path: str) -> bool:
        """Whether a link leads to something else of the project, which stands in the ledger by itself."""
        target = Path(os.path.realpath(self.project / path))
        if not target.is_relative_to(self.project):
            return False
        inner = target.relative_to(self.project)
        if ".git" in inner.parts:
            return False
        from rails.git import listing

        names = {end for one in (inner, *inner.parents) for end in (one.as_posix(), f"{one.as_posix()}/")}
        return names.isdisjoint(listing.ignored(self.project))

    def ledger(self) -> Ledger:
        """Return all of it, in order."""
        return Ledger(tuple(self.chosen), tuple(self.deleted), tuple(self.missed.values()))


def read_ledger(project: Path, named: Sequence[str], *, base: str | None = None, staged: bool = False) -> Ledger:
    """Return what a run is about. ``named`` are files and folders, from the project; none means all of it.

    With ``base``, only what differs from that revision; ``staged`` looks at git's index instead of the disk. Raises
    UsageError for an unknown revision, CheckError where git cannot be run.
    """
    has_git = any((folder / ".git").exists() for folder in (project, *project.parents))
    index: Mapping[str, Tracked] = {}
    then: Mapping[str, Tracked] | None = None
    if has_git or base is not None:
        from rails.git import listing  # which a project without git does not need

        index = listing.indexed_files(project)
        then = listing.files_at(project, base) if base is not None else None
    reader = _Reader(project, named, then, index)
    if staged:
        _staged(reader)
    else:
        _on_disk(reader, base, has_git=has_git)
    return reader.ledger()


def _staged(reader: _Reader) -> None:
    base = reader.base or {}
    for path, now in reader.index.items():
        was = base.get(path)
        if not reader.is_wanted(path) or (was is not None and (was.mode, was.object) == (now.mode, now.object)):
            continue
        if now.mode == _REPOSITORY:
            reader.miss(path, "read", "it is a repository of its own, recorded by its commit", required=False)
        elif now.mode == _LINK:
            reader.miss_link(path, "a link has no text of its own")
        else:
            reader.choose(path)
    for path in base:
        if path not in reader.index and reader.is_wanted(path):
            reader.lose(path)


def _on_disk(reader: _Reader, base: str | None, *, has_git: bool) -> None:
    outside: set[str] = set()
    if has_git:
        from rails.git import listing

        outside = set(listing.ignored(reader.project))
        outside -= _newly_ignored(reader, outside, base)
    seen: set[str] = set()
    hidden: list[str] = []
    for number, entry in enumerate(_walk(reader.project, outside, hidden, all_names=has_git)):
        if number > _WALKED:
            reader.miss(".", "walk", f"there are more than {_WALKED} files; name folders", required=True)
            break
        seen.add(entry.path)
        if reader.is_wanted(entry.path) and not _is_unchanged(reader, entry):
            reader.take(entry)
    _named_ones(reader, hidden, seen)
    for path in {**(reader.base or {}), **reader.index}:
        if path not in seen and reader.is_wanted(path):
            _not_on_the_walk(reader, path)


def _not_on_the_walk(reader: _Reader, path: str) -> None:
    """Take a path that git holds and the walk did not come by: gone, or in a folder that claims to be another thing."""
    was, now = (reader.base or {}).get(path), reader.index.get(path)
    if _REPOSITORY in (was and was.mode, now and now.mode) or (now and now.sparse):
        return
    place = reader.project / path
    if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
        entry = _Entry(path, _kind_of(place))
        if not _is_unchanged(reader, entry):
            reader.take(entry)
    elif was is not None:
        reader.lose(path)


def _named_ones(reader: _Reader, hidden: Iterable[str], seen: set[str]) -> None:
    """Take files that were named although they are ignored; say so of ignored ones in folders that were named."""
    for name in reader.named:
        place = reader.project / name
        if name not in seen and os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            reader.take(_Entry(name, _kind_of(place)))
    if reader.named and "" not in reader.named:
        for bare in (path.rstrip("/") for path in hidden if path.rstrip("/") not in seen):
            if reader.is_wanted(bare) and not (bare in reader.named and not (reader.project / bare).is_dir()):
                reader.miss(bare, "git", "it is ignored; name the file itself to have it checked", required=False)


def _newly_ignored(reader: _Reader, outside: set[str], base: str | None) -> set[str]:
    """Return what is ignored only by patterns that came with the change; say what the user's own patterns hide."""
    from rails.git import listing, revisions

    if not outside or (base is None and not listing.has_own_patterns(reader.project)):
        return set()
    sources = listing.ignored_by(reader.project, sorted(outside))
    root, _ = revisions.repository(reader.project)
    kept = {file: file.relative_to(root).as_posix() for file, _ in sources.values() if _is_committed(file, root)}
    for path in sorted(path for path, (file, _) in sources.items() if file not in kept and path not in reader.named):
        if reader.is_wanted(path):
            reader.miss(path.rstrip("/"), "git", _OWN_PATTERN, required=False)
    if base is None:
        return set()
    names = [name for name in kept.values() if "\n" not in name and base != revisions.EMPTY_TREE]
    then = revisions.contents(root, base, names) if names else {}
    now = {file: file.read_bytes() for file in kept}
    inner = [name for name in reader.base or {} if name.endswith("/.gitignore") and "\n" not in name]
    was = revisions.contents(reader.project, base, inner) if inner else {}
    open_now = (*listing.without_exceptions(reader.project, was),)
    return {
        path
        for path, (file, pattern) in sources.items()
        if file in kept
        and (
            listing.changed_pattern(pattern, then.get(kept[file]), now[file])
            or any(path.startswith(folder) or folder.startswith(path) for folder in open_now)
        )
    }


def _is_committed(file: Path, root: Path) -> bool:
    """Whether an ignore file is one of those that a commit can hold."""
    return file.name == ".gitignore" and file.is_relative_to(root) and ".git" not in file.relative_to(root).parts


def _is_unchanged(reader: _Reader, entry: _Entry) -> bool:
    """Whether the base has the same; without a base nothing has."""
    was = (reader.base or {}).get(entry.path)
    if was is None:
        return False
    from rails.git import blobs

    place = reader.project / entry.path
    try:
        match entry.kind:
            case "file":
                return was.mode not in (_LINK, _REPOSITORY) and blobs.has_content(reader.project, place, was.object)
            case "link":
                target = os.fsencode(place.readlink())
                return was.mode == _LINK and blobs.name_of(target, was.object) == was.object
            case "repository":
                now = reader.index.get(entry.path)
                return was.mode == _REPOSITORY and now is not None and now.object == was.object
            case _:
                return False
    except OSError:
        return False


def _kind_of(place: Path) -> _Kind:
    mode = os.lstat(place).st_mode
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "special"


def _walk(project: Path, outside: set[str], hidden: list[str], *, all_names: bool) -> Iterator[_Entry]:
    """Yield what lies in ``project``, in name order; what is ``outside`` goes to ``hidden``.

    Without git (not ``all_names``) names that begin with a dot are hidden, too.
    """
    waiting = [iter(_entries(project, ""))]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
            continue
        path, kind = step
        bare = path.rstrip("/")
        name = bare.rpartition("/")[2]
        if name == ".git" or path == ".rails/":
            continue
        if bare in outside or f"{bare}/" in outside or (not all_names and kind != "closed" and name.startswith(".")):
            hidden.append(path)
        elif kind != "folder":
            yield _Entry(bare, kind)
        elif os.path.lexists(project / bare / ".git"):
            yield _Entry(bare, "repository")
        else:
            waiting.append(iter(_entries(project, path)))


def _entries(project: Path, folder: str) -> list[tuple[str, _Kind]]:
    try:
        with os.scandir(project / folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return [(folder.rstrip("/") or ".", "closed")]
    return [(f"{folder}{entry.name}{'/' if kind == 'folder' else ''}", kind) for entry, kind in _kinds(entries)]


def _kinds(entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[os.DirEntry[str], _Kind]]:
    for entry in entries:
        if entry.is_symlink():
            yield entry, "link"
        elif entry.is_dir():
            yield entry, "folder"
        else:
            yield entry, "file" if entry.is_file() else "special"
