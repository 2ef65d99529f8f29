"""The paths that programs and configuration files may mean by their quotes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rails.core.lazy_pattern import lazy

SCRIPTS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
#: What a program quotes and what may be the name of a file, with a dot before it or in it.
_QUOTED: Final = lazy(rb"""["'`]([\w@$.][^"'`\s\\]{0,300})["'`]""")
#: How a file may end whose name leaves that out. TypeScript is imported by the name that it is compiled to.
_ENDINGS: Final = (*SCRIPTS, ".json", "/index.js", "/index.cjs")


def paths_named(name: str, data: bytes) -> Iterator[str]:
    """Yield the paths that a program's quotes may mean, from its folder; outside of the project, too."""
    for found in _QUOTED.findall(data) if name.endswith(SCRIPTS) else ():
        path = path_from(name, found)
        yield path
        yield from (f"{base}{end}" for base in (path, re.sub(r"\.[cm]?js$", "", path)) for end in _ENDINGS)


def path_from(name: str, text: bytes) -> str:
    """Return the path that ``text`` means in the file ``name``."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), text.decode("utf-8", "replace")))


def is_inside(path: str) -> bool:
    """Return whether a normal path may be a file of the project."""
    return path not in (".", "..") and not path.startswith(("/", "../")) and "\0" not in path


def reached(
    places: Iterable[str], read: Callable[[str], bytes | None], named: Callable[[str, bytes], Iterable[str]], most: int
) -> set[str]:
    """Return ``places``, what they name, and so on, as ``read`` has them; no more after ``most``."""
    found: set[str] = set()
    waiting = [*places]
    while waiting and len(found) < most:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            data = read(name)
            waiting += () if data is None else named(name, data)
    return found
