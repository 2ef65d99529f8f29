"""Follow a JSON text as it streams in, without building it: am I in a string, how deep, which keys?

The tracker is forgiving (any quotation marks, comments, junk) and never wrong about well-formed JSON. It
serves two purposes: a fence line inside a string is content, and a request can be announced before it is
complete. Each character is looked at once, in any chunking.
"""

from __future__ import annotations

import json
import re
from typing import Final

_TOKEN: Final = re.compile(r"[\"'“”„‘’{}\[\],:\\/#*\n]|[^\s\"'“”„‘’{}\[\],:\\/#*]+")
_ENDS: Final = {
    '"': re.compile(r'["\\]'),
    "'": re.compile(r"['\\]"),
    "“": re.compile(r"[“”\"\\]"),
    "”": re.compile(r"[“”\"\\]"),
    "„": re.compile(r"[“”\"\\]"),
    "‘": re.compile(r"[‘’'\\]"),
    "’": re.compile(r"[‘’'\\]"),
}
_OPENERS: Final = frozenset("{[,:")
#: Keys and values are kept for the announcement only up to this length.
_KEPT: Final = 1_200
#: Keys whose object holds the parameters.
_ARGUMENTS: Final = frozenset({"arguments", "args", "params", "parameters"})
_ROOT_KEYS: Final = frozenset({"tool", "tool_name", "type"})
PATH_KEYS: Final = ("file_path", "path", "filePath", "filename", "file")


class Tracker:
    """Feed text; read ``quote`` (the open quotation mark or ""), ``depth``, ``done``, ``odd`` and ``found``.

    ``done`` is set while a complete root value lies behind and nothing new has begun. ``odd`` is set once a
    quotation mark stood where none belongs: from then on "in a string" is a guess. ``keys`` are the
    keys of the root object, or of the objects in a root array. ``found`` maps "tool", "type" and path
    keys of the root object and its arguments to their string values.
    """

    __slots__ = (
        "_after_string",
        "_comment",
        "_held",
        "_key",
        "_kinds",
        "_last",
        "_skip",
        "depth",
        "done",
        "found",
        "keys",
        "odd",
        "quote",
    )

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.done = False
        self.odd = False
        self.keys: set[str] = set()
        self.found: dict[str, str] = {}
        self._kinds: list[str] = []
        self._key: list[str] = ["", "", ""]
        self._held: list[str] | None = None
        self._last = ""
        self._skip = False
        self._comment = ""
        self._after_string = False

    def feed(self, text: str) -> None:
        """Follow the next piece of text."""
        pos, end = 0, len(text)
        while pos < end:
            if self._skip:
                self._keep(text[pos])
                pos, self._skip = pos + 1, False
            elif self.quote:
                pos = self._in_string(text, pos)
            elif self._comment in ("//", "/*", "/**"):
                pos = self._in_comment(text, pos)
            else:
                pos = self._between(text, pos)

    def tool(self) -> str:
        """Return the name of the tool that the block calls, as far as is known yet."""
        if self.found.get("type") == "tool_request":
            return self.found.get("tool_name", "")
        return self.found.get("tool", "")

    def _keep(self, piece: str) -> None:
        if self._held is not None:
            self._held.append(piece)
            if len(piece) > _KEPT or len(self._held) > _KEPT:
                self._held = None

    def _in_string(self, text: str, pos: int) -> int:
        match = _ENDS[self.quote].search(text, pos)
        stop = match.start() if match else len(text)
        if self._held is not None and stop > pos:
            self._keep(text[pos:stop])
        if match is None:
            return stop
        if match[0] == "\\":
            self._keep("\\")
            self._skip = True
        else:
            self._end_string()
        return stop + 1

    def _in_comment(self, text: str, pos: int) -> int:
        if self._comment == "//":
            stop = text.find("\n", pos)
            if stop < 0:
                return len(text)
            self._comment = ""
            return stop
        char = text[pos]
        if self._comment == "/**" and char == "/":
            self._comment = ""
            return pos + 1
        self._comment = "/**" if char == "*" else "/*"
        if char != "*":
            stop = text.find("*", pos)
            return len(text) if stop < 0 else stop
        return pos + 1

    def _between(self, text: str, pos: int) -> int:
        match = _TOKEN.search(text, pos)
        if match is None:
            self._comment = "" if self._comment == "/" else self._comment
            return len(text)
        piece = match[0]
        slash, self._comment = self._comment == "/" and match.start() == pos, ""
        if piece == "\\":
            self._skip = True
        elif piece in _ENDS:
            self._quotation(piece)
        elif piece in "{[":
            self._open(piece)
        elif piece in "}]":
            self._close()
        elif piece in "/*#":
            self._slash(piece, slash)
        elif piece == "\n":
            self._after_string = False
        else:
            self._word(piece)
        return match.end()

    def _slash(self, piece: str, slash: bool) -> None:
        if piece == "#" or (piece == "/" and slash):
            self._comment = "//"
        elif piece == "*" and slash:
            self._comment = "/*"
        elif piece == "/":
            self._comment = "/"

    def _word(self, piece: str) -> None:
        if piece in ",:":
            self._last = piece
        else:
            self.odd = self.odd or self._after_string
            if self._at_key() and self._last in ("{", ","):
                self._named(piece)
            self._last = "w"
        self._after_string = False

    def _quotation(self, mark: str) -> None:
        expected = self._last in _OPENERS and self._last != ""
        if self.done or (not expected and mark != '"') or (self.depth == 0 and not self.done and self._last == ""):
            self.odd = self.odd or (mark == '"' and not self.done and self.depth > 0)
            return
        self.odd = self.odd or not expected
        self.quote = mark
        kept = self.depth in (1, 2)
        self._held = [] if kept else None

    def _end_string(self) -> None:
        self.quote = ""
        held, self._held = self._held, None
        is_value = self._last == ":"
        was_key = not is_value and self._at_key() and self._last in ("{", ",")
        self._last = "s"
        self._after_string = True
        if held is None:
            return
        if was_key:
            self._named("".join(held))
        elif is_value:
            self._valued("".join(held))

    def _at_key(self) -> bool:
        return 0 < self.depth <= len(self._kinds) and self._kinds[self.depth - 1] == "{"

    def _named(self, key: str) -> None:
        if self.depth <= 2:
            self._key[self.depth] = key
            if self.depth == 1 or self._kinds[0] == "[":
                self.keys.add(key)

    def _valued(self, value: str) -> None:
        key = self._key[min(self.depth, 2)]
        at_root = self.depth == 1
        in_arguments = self.depth == 2 and self._kinds[0] == "{" and self._key[1] in _ARGUMENTS
        if at_root and key in _ROOT_KEYS:
            self.found.setdefault(key, _decoded(value))
        elif (at_root or in_arguments) and key in PATH_KEYS:
            self.found.setdefault("path", _decoded(value))

    def _open(self, bracket: str) -> None:
        self.depth += 1
        if self.done:
            self.done, self.depth = False, 1
        if self.depth <= 3:
            del self._kinds[self.depth - 1 :]
            self._kinds.append(bracket)
        if self.depth <= 2:
            self._key[self.depth] = ""
        self._last = bracket
        self._after_string = False

    def _close(self) -> None:
        if self.depth:
            self.depth -= 1
            self.done = self.depth == 0
        self._last = "w"
        self._after_string = False


def _decoded(raw: str) -> str:
    if "\\" not in raw:
        return raw
    try:
        value = json.loads(f'"{raw}"', strict=False)
    except ValueError:
        return raw
    return value if isinstance(value, str) else raw
