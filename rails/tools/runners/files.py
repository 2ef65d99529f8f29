"""The built-in read tools: show, outline, list and search files; and a project's map.

Covered: folders are opened one by one without links, so no path leads out, not even one swapped meanwhile; devices and
pipes are not opened; version control, our state, keys, ``.env``, what is restricted or kept back is neither read,
listed nor searched; binary files are only named; answers are bounded, in a fixed order. Not covered: secrets in
ordinary files.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, cast

from msgspec import Struct

from rails.core import limits
from rails.core.builtin_tools import LIST_FILES, OUTLINE, READ_FILE, SEARCH_FILES
from rails.core.errors import Refusal
from rails.core.globs import glob_match
from rails.core.paths import HIDDEN_FOLDERS, WorkspacePath, exact_path, hidden, path_in, why_hidden
from rails.core.restrictions import Restrictions
from rails.core.text import Decoded, counted, decode_text, one_line, sha256, why_not_text, with_unseen_escaped
from rails.core.tool_request import Json, ToolRequest, ToolResult
from rails.data_formats.regex import RegexError, compile_pattern
from rails.data_formats.source import Symbol, language_of, symbols
from rails.json_schema.allowed import nearest_name
from rails.tools.registry import Builtin, Definition

#: Folders that lists and searches leave out; a file in them can still be read by its path.
SKIPPED_FOLDERS: Final = frozenset(
    str.split("node_modules .venv venv __pycache__ .mypy_cache .ruff_cache .pytest_cache .tox .nox")
)
_DEFAULT_LINES: Final = 2_000
_LINE_CHARS: Final = 2_000
_LISTED: Final = 1_000
_MATCHES: Final = 200
_VISITED: Final = 50_000
#: Names in one refusal; files of a map, and bytes of them that are read for it.
_NAMED: Final = 8
_MAPPED: Final = 4_000
_MAP_BYTES: Final = 300_000
_SEARCHED_BYTES: Final = 20_000_000
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class _Unreadable(Exception):
    """The reason why a path cannot be shown, for the model."""


class AgentView(Struct, frozen=True):
    """A project as an agent sees it. ``keeps_back``: why a path is hidden, or ""."""

    project: Path
    keeps_back: Callable[[str], str]


def run_builtin_tool(
    request: ToolRequest, definition: Definition, project: Path, keeps_back: Callable[[str], str] | None = None
) -> ToolResult:
    """Run a built-in read tool. ``keeps_back`` adds to the project's restrictions."""
    transport = definition.transport
    tool = _TOOLS.get(transport.name) if isinstance(transport, Builtin) else None
    if tool is None:
        return ToolResult(False, f"Error: {request.tool_name} cannot be run here. Do without it.")
    try:
        return tool(request.parameters, _view_of(project, keeps_back))
    except _Unreadable as error:
        return ToolResult(False, f"Error: {error}")


def _view_of(project: Path, keeps_back: Callable[[str], str] | None) -> AgentView:
    restricted = Restrictions.of(project).reason
    return AgentView(project, lambda path: restricted(path) or (keeps_back(path) if keeps_back else ""))


# -- read_file ------------------------------------------------------------------------------------


def _read_file(parameters: Mapping[str, Json], view: AgentView) -> ToolResult:
    path = _shown(path_in(view.project, parameters["file_path"]))
    if why := view.keeps_back(str(path)):
        raise _Unreadable(f"{path} is not shown to agents: {why}. Do without it.")
    data = _read(view.project, path)
    decoded = _text_of(data, str(path))
    lines = decoded.text.removesuffix("\n").split("\n") if decoded.text else []
    first, last = _integer(parameters, "offset", 1), len(lines)
    most = _integer(parameters, "limit", _DEFAULT_LINES)
    if name := _string(parameters, "symbol"):
        found = _symbol(path, decoded.text, name)
        first, most = found.first, found.last - found.first + 1
    if lines and first > last:
        raise _Unreadable(f"{path} has {counted(last, 'line')}; line {first} is after its end.")
    numbered = (f"{number:>6}\t{_cut(line)}" for number, line in enumerate(lines[first - 1 :][:most], start=first))
    shown = _fitting(numbered, limits.FEEDBACK_CHARS)
    end = first + len(shown) - 1
    head = _read_head(path, first, end, last)
    if decoded.encoding != "utf-8":
        head += f" ({decoded.label})"
    text, unseen = with_unseen_escaped("\n".join(["", *shown]))
    if unseen:
        head += f"; {counted(unseen, 'invisible character')} shown as escapes such as \\u200b"
    facts = {"path": str(path), "first_line": first, "last_line": end, "lines": last, "sha256": sha256(data)}
    return ToolResult(True, head + text, facts=cast("dict[str, Json]", facts))


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _symbol(path: WorkspacePath, text: str, name: str) -> Symbol:
    known = symbols(text, language_of(str(path)))
    found = [one for one in known if one.name == name] or [one for one in known if one.name.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{one.name} (line {one.first})" for one in found[:_NAMED])
        raise _Unreadable(f"{path} has {len(found)} symbols {name}: {places}. Read one of them with offset and limit.")
    near = nearest_name(name, [one.name for one in known])
    has = f"do you mean {near}?" if near else f"use {OUTLINE.name} to see what it has."
    raise _Unreadable(f"{path} has no symbol {one_line(name, 80)!r}; {has}")


def _read_head(path: WorkspacePath, first: int, last: int, total: int) -> str:
    if not total:
        return f"{path}: empty file"
    if first == 1 and last == total:
        return f"{path}: {counted(total, 'line')}"
    more = f"; go on with offset {last + 1}" if last < total else ""
    return f"{path}: lines {first} to {last} of {total}{more}"


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    left_out = len(line) - _LINE_CHARS
    return line if left_out <= 0 else f"{line[:_LINE_CHARS]} [… {left_out} characters left out …]"


def _integer(parameters: Mapping[str, Json], name: str, default: int) -> int:
    value = parameters.get(name, default)
    return value if isinstance(value, int) else default


def _string(parameters: Mapping[str, Json], name: str) -> str:
    value = parameters.get(name)
    return value if isinstance(value, str) else ""


# -- outline, and the map of a project -------------------------------------------------------------


def _outline(parameters: Mapping[str, Json], view: AgentView) -> ToolResult:
    walk = _Walk()
    lines = list[str]()
    files = 0
    for path, text in _texts(view, walk, _start(parameters, view), known=True):
        if found := symbols(text, language_of(path)):
            files += 1
            lines.append(path)
            lines += [f"{one.first:>6}-{one.last:<6} {'  ' * one.depth}{one_line(one.head, 160)}" for one in found]
    head = f"{counted(files, 'file')} with symbols; lines first-last"
    return ToolResult(True, _fit([head, *lines, *walk.notes()]))


def _texts(
    view: AgentView, walk: _Walk, start: str, glob: str = "", *, known: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield files' paths and texts, by name, up to 20 MB; ``known``: of a known language, as many as fit."""
    read = 0
    for entry in walk.files(view, start, glob):
        if known and (entry.size > _SEARCHED_BYTES - read or not language_of(entry.path)):
            continue
        read += entry.size
        if read > _SEARCHED_BYTES:
            walk.stopped = f"stopped after {_SEARCHED_BYTES // 1_000_000} MB; name a path or a glob"
            return
        try:
            text = _text(view.project, entry)
        except _Unreadable:
            walk.unread += 1
        else:
            yield entry.path, text


def project_texts(project: Path) -> Iterator[tuple[str, str]]:
    """Yield files' paths and texts (lines end in ``\\n``), by name, up to 20 MB."""
    for path, text in _texts(AgentView(project, lambda _: ""), _Walk(), ""):
        yield path, text.replace("\r\n", "\n")


def project_map(project: Path, room: int, keeps_back: Callable[[str], str] | None = None) -> str:
    """Return files by folder and what the topmost define, in ``room`` bytes."""
    view = _view_of(project, keeps_back)
    entries = [one for one in islice(_Walk().files(view, ""), _MAPPED) if not one.path.startswith(".")]
    shown = ("\n".join(_folders(entries, depth)) for depth in (32, 3, 2, 1, 0))
    lines = [next((text for text in shown if len(text.encode()) <= room), "")]
    left = room - len(lines[0].encode()) if lines[0] else 0
    read = 0
    for entry in sorted(entries, key=lambda one: ("test" in one.path, one.path.count("/"), one.path)):
        if left < len(entry.path):  # the rest of them have no room either, or hardly
            break
        if not language_of(entry.path) or read + entry.size > _MAP_BYTES:
            continue
        read += entry.size
        names = list[str]()
        with contextlib.suppress(_Unreadable):
            found = symbols(_text(project, entry), language_of(entry.path))
            names = [one.name for one in found if not one.depth and one.name[0] != "_"]
        line = one_line(f"{entry.path}: {', '.join(names)}", _LINE_CHARS)
        if names and len(line.encode()) < left:
            lines.append(line)
            left -= len(line.encode()) + 1
    return "\n".join(lines)


def _folders(entries: Sequence[_Entry], depth: int) -> Iterator[str]:
    folders: dict[str, list[str]] = {}
    for entry in entries:
        *above, name = entry.path.split("/")
        folders.setdefault("/".join(above[:depth]), []).append("" if len(above) >= depth else one_line(name, 60))
    for folder, names in sorted(folders.items()):
        yield f"{one_line(folder, 200) or '.'}/: {', '.join(names) if all(names) else counted(len(names), 'file')}"


# -- list_files and search_files ------------------------------------------------------------------


def _list_files(parameters: Mapping[str, Json], view: AgentView) -> ToolResult:
    pattern = _string(parameters, "pattern")
    walk = _Walk()
    found = list[str]()
    total = 0
    for entry in walk.files(view, _start(parameters, view), pattern):
        total += 1
        if len(found) < _LISTED:
            found.append(f"{entry.path}  ({entry.size} bytes)")
    return _listing(counted(total, "file"), total, found, walk, "files")


def _search_files(parameters: Mapping[str, Json], view: AgentView) -> ToolResult:
    try:
        regex = compile_pattern(_string(parameters, "pattern"))
    except RegexError as error:
        raise _Unreadable(
            f"the pattern cannot be used: {error}. Write \\ before a character to take it literally."
        ) from None
    walk = _Walk()
    found = list[str]()
    total = 0
    for path, text in _texts(view, walk, _start(parameters, view), _string(parameters, "glob")):
        lines = text.split("\n")
        for at in regex.lines(text):
            total += 1
            if len(found) < _MATCHES:
                shown = one_line(lines[at].removesuffix("\r"), 300)
                found.append(f"{path}:{at + 1}: {shown}")
    return _listing(counted(total, "matching line"), total, found, walk, "matches")


def _listing(head: str, total: int, found: list[str], walk: _Walk, fact: str) -> ToolResult:
    if total > len(found):
        head += f", the first {len(found)} shown"
    return ToolResult(True, _fit([head, *found, *walk.notes()]), facts={fact: total})


def _fit(lines: list[str]) -> str:
    shown = _fitting(lines, limits.RESULT_CHARS)
    left_out = len(lines) - len(shown)
    return "\n".join([*shown, f"[… {counted(left_out, 'line')} left out …]"] if left_out else shown)


def glob_matches(pattern: str, path: str) -> bool:
    """Return whether a path matches: ``**`` spans folders; without ``/`` the name counts."""
    if "/" not in pattern:
        return fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)
    return glob_match(pattern, path, sets=True)


# -- the disk -------------------------------------------------------------------------------------


class _Entry(Struct, frozen=True):
    path: str
    size: int


class _Walk:
    """Goes through files by name, and counts those left out."""

    def __init__(self) -> None:
        self.visited = self.links = self.unread = self.kept_back = 0
        self.stopped = ""

    def files(self, view: AgentView, start: str, glob: str = "") -> Iterator[_Entry]:
        """Yield every ordinary visible file below ``start``, or ``start`` itself, that matches."""
        for entry in self._all(view.project, start):
            if view.keeps_back(entry.path):
                self.kept_back += 1
            elif not glob or glob_matches(glob, entry.path):
                yield entry

    def _all(self, project: Path, start: str) -> Iterator[_Entry]:
        *above, name = start.split("/") if start else ("",)
        folder = _open_folders(project, above)
        try:
            if start:
                _must_exist(folder, name, start)
            names = [name] if start else self._names(folder)
            yield from self._entries(folder, names, start.removesuffix(name))
        finally:
            os.close(folder)

    def _names(self, folder: int) -> Iterator[str]:
        for name in sorted(os.listdir(folder)):
            self.visited += 1
            if self.visited > _VISITED:
                self.stopped = f"stopped after {_VISITED} entries; name a path"
                return
            if name.casefold() not in HIDDEN_FOLDERS | SKIPPED_FOLDERS and not hidden(name):
                yield name

    def _entries(self, folder: int, names: Iterable[str], prefix: str) -> Iterator[_Entry]:
        for name in names:
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield _Entry(f"{prefix}{name}", status.st_size)
                elif stat.S_ISLNK(status.st_mode):
                    self.links += 1
                elif stat.S_ISDIR(status.st_mode) and prefix.count("/") < limits.PATH_DEPTH:
                    inner = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
                    try:
                        yield from self._entries(inner, self._names(inner), f"{prefix}{name}/")
                    finally:
                        os.close(inner)
            except OSError:
                self.unread += 1

    def notes(self) -> list[str]:
        said = [self.stopped] if self.stopped else []
        said += [f"{counted(self.links, 'link')} not followed"] if self.links else []
        said += [f"{self.unread} binary, large or unreadable left out"] if self.unread else []
        said += [f"{self.kept_back} kept back from agents"] if self.kept_back else []
        return [f"({'; '.join(said)})"] if said else []


def _shown(path: WorkspacePath | Refusal) -> WorkspacePath:
    if isinstance(path, Refusal):
        raise _Unreadable(str(path))
    if why := why_hidden(path):
        raise _Unreadable(why)
    return path


def _start(parameters: Mapping[str, Json], view: AgentView) -> str:
    trimmed = _string(parameters, "path").strip().rstrip("/")
    return "" if trimmed in ("", ".") else str(_shown(path_in(view.project, trimmed)))


def _open_folders(project: Path, parts: list[str]) -> int:
    """Open the folder ``parts``, one by one, following no link."""
    try:
        folder = os.open(project, os.O_RDONLY | os.O_DIRECTORY)
        for part in parts:
            try:
                inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
    except OSError as error:
        raise _Unreadable(_reason("/".join(parts) or "the project folder", error)) from None
    return folder


def _must_exist(folder: int, name: str, shown: str) -> None:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise _Unreadable(_reason(shown, error)) from None


def _read(project: Path, path: WorkspacePath) -> bytes:
    folder = _open_folders(project, list(path.parts[:-1]))
    try:
        file = os.open(path.name, _FILE_FLAGS, dir_fd=folder)
    except OSError as error:
        raise _Unreadable(_reason(str(path), error)) from None
    finally:
        os.close(folder)
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        raise _Unreadable(f"{path} is not an ordinary file. Use list_files to see a folder.")
    with os.fdopen(file, "rb") as stream:
        if status.st_size > limits.FILE_BYTES:
            raise _Unreadable(f"{path} has {status.st_size} bytes; {limits.FILE_BYTES} are allowed.")
        try:
            return stream.read(limits.FILE_BYTES + 1)
        except OSError as error:
            raise _Unreadable(_reason(str(path), error)) from None


def _reason(shown: str, error: OSError) -> str:
    reasons = {
        errno.ENOENT: f"{shown} does not exist. Use list_files to see what does.",
        errno.ENOTDIR: f"{shown} does not exist, or a link is on the way to it; links are not followed.",
        errno.ELOOP: f"{shown} is a link; links are not followed.",
        errno.EACCES: f"{shown} may not be read (permission denied).",
    }
    return reasons.get(error.errno or 0, f"{shown} cannot be read: {error.strerror}.")


def _text(project: Path, entry: _Entry) -> str:
    return _text_of(_read(project, _shown(exact_path(entry.path))), entry.path).text


def _text_of(data: bytes, shown: str) -> Decoded:
    decoded = decode_text(data)
    if decoded is None:
        raise _Unreadable(f"{shown} is not a text file ({len(data)} bytes): {why_not_text(data)}.")
    return decoded


_TOOLS: Final[Mapping[str, Callable[[Mapping[str, Json], AgentView], ToolResult]]] = {
    READ_FILE.name: _read_file,
    OUTLINE.name: _outline,
    LIST_FILES.name: _list_files,
    SEARCH_FILES.name: _search_files,
}
