"""The paths that programs and configuration files may mean by their quotes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from rails.core.lazy_pattern import lazy

#: What a program or a configuration file quotes and what may be the name of a file.
_QUOTED: Final = lazy(rb"""["'`]([\w@$.][^"'`\s\\]{0,300})["'`]""")
_PROGRAMS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", "package.json")
#: How a file may end whose name leaves that out.
_ENDINGS: Final = (
    *("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".json"),
    *("/package.json", "/index.js", "/index.cjs"),
)


def named_by(name: str, data: bytes) -> Iterator[str]:
    """Yield project paths that a program's quotes may mean, from its folder."""
    return (path for path in paths_named(name, data) if not path.startswith(("/", "../")))


def paths_named(name: str, data: bytes) -> Iterator[str]:
    """Yield all such paths, outside the project too."""
    quoted = _QUOTED.findall(data) if name.endswith(_PROGRAMS) else []
    for found in quoted:
        text = found.decode("utf-8", "replace")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), text))
        if path not in ("..", ".") and "\0" not in path:
            # TypeScript is imported by the name that it is compiled to.
            for base in dict.fromkeys((path, re.sub(r"\.[cm]?js$", "", path))):
                yield from (f"{base}{end}" for end in _ENDINGS)
