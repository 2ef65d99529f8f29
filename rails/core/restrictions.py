"""What agents may neither read nor write nor see: the patterns of a project's ``.agent-restrictions`` file.

The patterns are those of ``.gitignore``: one on each line, the last that matches decides, ``!`` takes back, a leading
or inner ``/`` ties to the project folder, a trailing one means folders only, ``**`` spans folders, ``*`` and ``?`` stay
within a name, ``[a-z]`` is a set. What lies in a restricted folder cannot be taken back. Case does not matter.

Or they are the items of the three lists of the tool that the file's name comes from (``RESTRICTED_FOLDERS:``,
``RESTRICTED_FILES:``, ``RESTRICTED_PATTERNS:``, below each ``- pattern``), which mean the same here.

A file that is there and cannot be read, is a link, is too large or no UTF-8 restricts everything: nobody knows what it
says. A project can only restrict with it; it allows nothing.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.lazy_pattern import lazy
from rails.core.plain_file import read_ordinary

RESTRICTIONS_NAME: Final = ".agent-restrictions"
_LISTS: Final = ("RESTRICTED_FOLDERS", "RESTRICTED_FILES", "RESTRICTED_PATTERNS")
_ITEM: Final = lazy(r"""[ \t]*-[ \t]+(?:"([^"]+)"|'([^']+)'|([^\s"'#][^#]*?))[ \t]*(?:[ \t]#.*)?""")
#: A glob's parts: ``**`` as a whole name, other stars, a slash, a set, any other character.
_TOKEN: Final = lazy(
    r"(?P<folders>(?<![^/])(?:\*{2,}/)+)|(?P<all>(?<![^/])\*{2,}$)|(?P<stars>\*+)|(?P<slash>/)"
    r"|(?P<set>\[[!^]?\]?(?:\[:\w*:\]|\\.|[^\]\\])*\])|\\.|.",
    re.DOTALL,
)
_IN_SET: Final = lazy(r"\[:(?P<name>\w*):\]|\\?.", re.DOTALL)
#: Classes in a set; case does not matter.
_CLASSES: Final = {
    **dict.fromkeys(("alpha", "lower", "upper"), "a-z"),
    **{"alnum": "a-z0-9", "digit": "0-9", "xdigit": "0-9a-f", "space": r"\s", "blank": r" \t", "cntrl": r"\0-\x1f\x7f"},
    **{"graph": "!-~", "print": " -~", "punct": "!-/:-@\\[-`{-~"},
}
_MOST_BYTES: Final = 200_000
_MOST_PATTERNS: Final = 2_000
_MOST_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Pattern:
    shape: re.Pattern[str]
    restricts: bool
    folders_only: bool
    written: str


@dataclass(frozen=True, slots=True)
class Restrictions:
    """The patterns in force; ``broken`` says why all is restricted instead."""

    patterns: tuple[_Pattern, ...] = ()
    broken: str = ""

    @classmethod
    def of(cls, project: Path) -> Restrictions:
        """Return what ``project`` restricts; nothing without a file."""
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
        except (ValueError, re.error) as error:
            return cls(broken=f"{RESTRICTIONS_NAME} cannot be read ({error})")

    def __bool__(self) -> bool:
        return bool(self.patterns or self.broken)

    def reason(self, path: str) -> str:
        """Return why agents may not touch ``path`` (written with ``/``, from the project folder); "" if they may."""
        if self.broken:
            return self.broken
        parts = path.casefold().split("/") if self.patterns else []
        for end in range(1, len(parts) + 1):
            name, is_folder = "/".join(parts[:end]), end < len(parts)
            if (last := self._last(name, is_folder)) and last.restricts:
                return f"{RESTRICTIONS_NAME} has {last.written}"
        return ""

    def _last(self, name: str, is_folder: bool) -> _Pattern | None:
        fitting = (one for one in reversed(self.patterns) if is_folder or not one.folders_only)
        return next((one for one in fitting if one.shape.fullmatch(name)), None)


#: What holds without a file.
UNRESTRICTED: Final = Restrictions()


def _written(lines: Sequence[str]) -> Sequence[str]:
    """Return the patterns of a file, one on each line or in lists. Raises ValueError for a list in another form."""
    if not any(line.lstrip().startswith(_LISTS) for line in lines):
        return lines
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#") or line.rstrip() in [f"{name}:" for name in _LISTS]:
            continue
        item = _ITEM.fullmatch(line)
        if item is None:
            raise ValueError(f"line {number} is neither the name of a list nor an item")
        found += [part for part in item.groups() if part]
    return found


def _pattern(line: str) -> _Pattern | None:
    """Return the pattern of a line; ``None`` for an empty one and a comment."""
    text = re.sub(r"(?<!\\) +$", "", line.rstrip("\r"))
    if not text or text.startswith("#"):
        return None
    restricts = not text.startswith("!")
    body = text.removeprefix("!").removeprefix("./")
    folders_only, body = body.endswith("/"), body.rstrip("/")
    tied, text_of = "/" in body, body.removeprefix("/").casefold()
    shape = _regex(text_of if tied else f"**/{text_of}")
    return _Pattern(re.compile(shape, re.DOTALL), restricts, folders_only, text) if text_of else None


def _regex(glob: str) -> str:
    """Translate a glob to a pattern that never takes back a choice of an earlier star: no glob is slow.

    Raises ValueError for a class of characters that there is not.
    """
    sections, chunks = [""], [""]  # what stands between ``**/``, and between the stars of a name
    for token in _TOKEN.finditer(glob):
        if (kind := token.lastgroup) == "stars":
            chunks.append("")
        elif kind in ("slash", "folders", "all"):
            sections[-1] += _joined(chunks, "[^/]*?", "[^/]*") + ("/" if kind == "slash" else "")
            sections += [""] if kind == "folders" else []
            chunks = [".+" if kind == "all" else ""]
        else:
            chunks[-1] += _piece(token)
    sections[-1] += _joined(chunks, "[^/]*?", "[^/]*")
    return _joined(sections, "(?:[^/]*/)*?", "(?:.*/)?")


def _joined(parts: Sequence[str], between: str, before_last: str) -> str:
    first, *more = parts
    return (
        first
        + "".join(f"(?>{between}{part})" for part in more[:-1])
        + "".join(before_last + part for part in more[-1:])
    )


def _piece(token: re.Match[str]) -> str:
    text = token[0]
    if token.lastgroup == "set":
        negated = text[1] in "!^"
        if len(text) == 2 + negated:
            raise ValueError(f"the set {text} has no end")
        return f"(?!/)[{'^' if negated else ''}{''.join(_members(text[1 + negated : -1]))}]"
    return "[^/]" if text == "?" else re.escape(text.removeprefix("\\") or text)


def _members(inside: str) -> Iterator[str]:
    """Translate what a set holds: classes, ranges, characters. Raises ValueError for what is none of these."""
    tokens = list(_IN_SET.finditer(inside))
    while tokens:
        token = tokens.pop(0)
        if token["name"]:
            if token["name"] not in _CLASSES:
                raise ValueError(f"there is no class [:{token['name']}:]")
            yield _CLASSES[token["name"]]
        elif len(tokens) > 1 and tokens[0][0] == "-" and not tokens[1]["name"]:
            first, last = token[0][-1], tokens[1][0][-1]
            if first > last:
                raise ValueError(f"the range {first}-{last} runs backwards")
            yield f"{re.escape(first)}-{re.escape(last)}"
            if first <= "Z" and last >= "A":  # of a letter, either case
                yield f"{max(first, 'A')}-{min(last, 'Z')}".lower()
            del tokens[:2]
        else:
            yield f"\\{token[0][-1]}" if not token[0][-1].isalnum() else token[0][-1]
