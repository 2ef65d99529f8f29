"""Files that agents may neither read, write nor see: a project's ``.agent-restrictions``.

Patterns as in ``.gitignore``, in any case; what is in a restricted folder cannot be taken back. Or items (``-
pattern``) of the lists ``RESTRICTED_FOLDERS:``, ``RESTRICTED_FILES:``, ``RESTRICTED_PATTERNS:``.

A line that is no pattern, a set with a class or a back-slash, or a file that is unreadable, a link, too large or no
UTF-8 restricts everything.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from rails.core.lazy_pattern import lazy
from rails.core.plain_file import read_ordinary

if TYPE_CHECKING:
    import re2  # type: ignore[import-untyped]

RESTRICTIONS_NAME: Final = ".agent-restrictions"
_LISTS: Final = ("RESTRICTED_FOLDERS", "RESTRICTED_FILES", "RESTRICTED_PATTERNS")
#: A line of a file with lists: nothing, the name of a list, or an item.
_LISTED: Final = lazy(
    r"""\s*(?:#.*)?|RESTRICTED_(?:FOLDERS|FILES|PATTERNS):\s*"""
    r"""|[ \t]*-[ \t]+(?:"([^"]+)"|'([^']+)'|([^\s"'#][^#]*?))[ \t]*(?:[ \t]#.*)?"""
)
#: In the library's shape of a name that may be a folder.
_ITSELF: Final = "(?P<ps_d>/)"
#: What git reads in a set, and the library does not.
_ODD_SET: Final = lazy(r"(?<!\\)\[[^\[\]\\]*\\")
_MOST_BYTES: Final = 200_000
_MOST_PATTERNS: Final = 2_000
_MOST_CHARS: Final = 1_000


class _Pattern(Struct, frozen=True):
    shape: re2._Regexp[str]
    restricts: bool
    written: str


class Restrictions(Struct, frozen=True):
    """The patterns in force; ``broken``: why all is restricted. ``above``: the folder above's, which calls the project
    ``name``.
    """

    patterns: tuple[_Pattern, ...] = ()
    broken: str = ""
    above: Restrictions | None = None
    name: str = ""

    @classmethod
    def of(cls, project: Path) -> Restrictions:
        """Return what ``project`` and its repository's folders above restrict."""
        own = cls._in(project)
        if (project / ".git").exists() or not any((one / ".git").exists() for one in project.parents):
            return own
        above = cls.of(project.parent)
        return replace(own, above=above, name=project.name) if above else own

    @classmethod
    def _in(cls, project: Path) -> Restrictions:
        try:
            data = read_ordinary(project / RESTRICTIONS_NAME, _MOST_BYTES, links=False)
        except FileNotFoundError:
            return cls()
        except OSError as error:
            what = "it is a link" if error.errno == errno.ELOOP else error.strerror
            return cls(broken=f"{RESTRICTIONS_NAME} cannot be read ({what})")
        return cls.parsed(data)

    @classmethod
    def parsed(cls, data: bytes) -> Restrictions:
        """Return what a file of this content restricts."""
        try:
            lines = data.decode("utf-8-sig").splitlines()
            if len(data) > _MOST_BYTES or len(lines) > _MOST_PATTERNS or any(len(line) > _MOST_CHARS for line in lines):
                return cls(broken=f"{RESTRICTIONS_NAME} is too large")
            return cls(tuple(made for line in _written(lines) if (made := _pattern(line))))
        except ValueError as error:
            return cls(broken=f"{RESTRICTIONS_NAME} cannot be read ({error})")

    def __bool__(self) -> bool:
        return bool(self.patterns or self.broken or self.above)

    def reason(self, path: str) -> str:
        """Return why agents may not touch ``path`` (with ``/``, from the project), or ""."""
        if self.broken:
            return self.broken
        path = path.encode("utf-8", "replace").decode()
        parts = path.split("/") if self.patterns else []
        for end in range(1, len(parts) + 1):
            name = "/".join(parts[:end]) + "/" * (end < len(parts))
            last = next((one for one in reversed(self.patterns) if one.shape.search(name)), None)
            if last and last.restricts:
                return f"{RESTRICTIONS_NAME} has {last.written}"
        return self.above.reason(f"{self.name}/{path}") if self.above else ""


#: What holds without a file.
UNRESTRICTED: Final = Restrictions()


def _written(lines: Sequence[str]) -> Sequence[str]:
    """Return a file's patterns. Raises ValueError for a list in another form."""
    if not any(line.lstrip().startswith(_LISTS) for line in lines):
        return lines
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        item = _LISTED.fullmatch(line)
        if item is None:
            raise ValueError(f"line {number} is neither the name of a list nor an item")
        found += filter(None, item.groups())
    return found


def _pattern(line: str) -> _Pattern | None:
    """Return a line's pattern, None if empty or a comment. Raises ValueError."""
    import re2
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    text = re.sub(r"(?<!\\)(?<!(?<!\\) ) +$", "", line.rstrip("\r"))
    if not text or text.startswith("#"):
        return None
    glob = re.sub(r"\*{3,}", "**", text.removeprefix("!").removeprefix("./"))
    shape, _ = GitIgnoreSpecPattern.pattern_to_regex(glob)
    try:
        if not shape or _ODD_SET.search(text):
            raise ValueError(f"{text} is no pattern")
        # The library's shapes match what lies in a folder, too; here each name on the way is asked about by itself.
        if _ITSELF in shape:
            shape += "$"
        elif shape.endswith("/"):
            shape += "."
        return _Pattern(re2.compile(f"(?is){shape}"), not text.startswith("!"), text)
    except re2.error:
        raise ValueError(f"{text} is no pattern") from None
