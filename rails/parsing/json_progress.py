"""Follow a JSON text as it streams in, without building it: am I in a string, how deep, which keys?

The tracker is forgiving (any quotation marks, comments, junk) and never wrong about well-formed JSON. It
serves two purposes: a fence line inside a string is content, and a request can be announced before it is
complete. Each character is looked at once, in any chunking.
"""

from __future__ import annotations

import json
import re
from typing import Final

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import PATH_KEYS

_TOKEN: Final = lazy(r"[\"'“”„‘’{}\[\],:\\/#*\n`~]|[^\s\"'“”„‘’{}\[\],:\\/#*`~]+")
_CLOSING: Final = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "„": '“”"', "‘": "‘’'", "’": "‘’'"}
#: For each opening mark, a run of string content with its escapes, up to a closing mark or the end.
_RUNS: Final = {mark: lazy(rf"[^\\{ends}]*+(?:\\.[^\\{ends}]*+)*+", re.S) for mark, ends in _CLOSING.items()}
_STRING = r"""(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+')"""
_MEMBER = rf"{_STRING}\s*+:\s*+(?:{_STRING}|[-\w.]++)\s*+"
#: A run of flat objects in an array: followed in one step, because nothing in them is of interest.
_FLAT_OBJECT = rf"\s*+\{{\s*+{_MEMBER}(?:,\s*+{_MEMBER})*+\}}"
_FLAT_OBJECTS: Final = lazy(rf"(?:{_FLAT_OBJECT}\s*+,)++(?:{_FLAT_OBJECT}(?=\s*+\]))?+", re.S)
_WORTH_IT: Final = 80
_OPENERS: Final = frozenset("{[,:")
#: Keys and values are kept for the announcement only up to this length.
_KEPT: Final = 1_200
_DEPTH: Final = limits.JSON_DEPTH + 1
#: Keys whose object holds the parameters.
_ARGUMENTS: Final = frozenset({"arguments", "args", "params", "parameters"})
_ROOT_KEYS: Final = frozenset({"tool", "tool_name", "type"})
_TOLD: Final = _ROOT_KEYS.union(PATH_KEYS)


class JsonProgress:
    """Feed text; read ``quote`` (the open quotation mark or ""), ``depth``, ``done``, ``suspicious`` and ``found``.

    ``trailing`` is set once anything but closing brackets and blanks followed a complete root value.
    ``done`` is set while a complete root value lies behind and nothing new has begun. ``suspicious`` is set once a
    quotation mark stood where none belongs: from then on "in a string" is a guess. ``keys`` are the
    keys of the root object, or of the objects in a root array. ``found`` maps "tool", "type" and path
    keys of the root object and its arguments to their string values.
    """

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.done = False
        self.trailing = False
        self.suspicious = False
        self.keys: set[str] = set()
        self.found: dict[str, str] = {}
        self._kinds: list[str] = []
        self._key: list[str] = ["", "", ""]
        self._held: list[str] | None = None
        self._length = 0
        self._last = ""
        self._skip = False
        self._comment = ""
        self._after_string = False
        self._after_value = False
        self._bare = ""
        self._joins = False
        self.tool = ""

    @property
    def path(self) -> str:
        """The path that the call names, as far as is known yet."""
        return self.found.get("path", "")

    @property
    def is_call(self) -> bool:
        """Whether this is surely a call."""
        return True

    @property
    def started(self) -> bool:
        """Return whether a root value has begun."""
        return bool(self._kinds)

    def feed(self, text: str) -> None:
        """Follow the next piece of text. Beyond a depth that no block may have, nothing is followed any more."""
        pos, end = 0, len(text)
        if self.depth > _DEPTH:
            return
        while pos < end and self.depth <= _DEPTH:
            if self._skip:
                self._keep(text[pos])
                pos, self._skip = pos + 1, False
            elif self.quote:
                pos = self._in_string(text, pos)
            elif self._comment in ("//", "/*", "/**"):
                pos = self._in_comment(text, pos)
            else:
                pos = self._between(text, pos)

    def note(self, key: str, value: str) -> None:
        """Take note of a string that an announcement needs; the first one of each key counts, as in the stream."""
        self.found.setdefault(key, value)
        if not self.tool:
            requested = self.found.get("type") == "tool_request"
            self.tool = self.found.get("tool_name" if requested else "tool", "")

    def _keep(self, piece: str) -> None:
        if self._held is not None:
            self._held.append(piece)
            self._length += len(piece)
            if self._length > _KEPT:
                self._held = None

    def _in_string(self, text: str, pos: int) -> int:
        run = _RUNS[self.quote].match(text, pos)
        stop = run.end() if run else pos
        if self._held is not None and stop > pos:
            self._keep(text[pos:stop])
        if stop >= len(text):
            return stop
        if text[stop] == "\\":
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
        if self.depth == 2 and self._last in ("[", ",") and self._kinds[1] == "[" and len(text) - pos > _WORTH_IT:
            run = _FLAT_OBJECTS.match(text, pos) if not self._comment else None
            if run:
                self._last = "," if run[0].endswith(",") else "w"
                self._after_string = self._after_value = self._joins = False
                return run.end()
        match = _TOKEN.search(text, pos)
        if match is None:
            self._comment = "" if self._comment == "/" else self._comment
            self._joins = False
            return len(text)
        piece = match[0]
        slash, self._comment = self._comment == "/" and match.start() == pos, ""
        joins, self._joins = self._joins and match.start() == pos, False
        if self.done and piece not in "}]\n":
            self.trailing = True
        if piece == "\\":
            self._skip = True
        elif piece in _CLOSING:
            self._quotation(piece)
        elif piece in "{[":
            self._open(piece)
        elif piece in "}]":
            self._close()
        elif piece in "/*#":
            self._slash(piece, slash)
        elif piece == "\n":
            self._after_string = False
        elif piece in ",:":
            self._mark(piece)
        else:
            self._word(piece, joins)
        return match.end()

    def _slash(self, piece: str, slash: bool) -> None:
        if piece == "#" or (piece == "/" and slash):
            self._comment = "//"
        elif piece == "*" and slash:
            self._comment = "/*"
        elif piece == "/":
            self._comment = "/"

    def _mark(self, piece: str) -> None:
        self.suspicious = self.suspicious or (piece == ":" and self._after_value)
        if piece == ":" and self._last == "w" and self._bare and self._at_key():
            self._named(self._bare)
        self._last, self._bare = piece, ""
        self._after_string = self._after_value = False

    def _word(self, piece: str, joins: bool) -> None:
        """Follow a word; ``joins``: it goes on where the last piece of text ended. A bare key is one word."""
        self.suspicious = self.suspicious or self._after_string
        if joins:
            self._bare = (self._bare + piece)[:_KEPT] if self._bare else ""
        else:
            self._bare = piece if self._last in ("{", ",") else ""
        self._last, self._joins = "w", True
        self._after_string = self._after_value = False

    def _quotation(self, mark: str) -> None:
        if mark == '"' and self._last == "" and not self._kinds:
            self.quote, self._held = mark, None  # the whole block is one string
            return
        expected = self._last in _OPENERS and self._last != ""
        if self.done or (not expected and mark != '"') or (self.depth == 0 and not self.done and self._last == ""):
            self.suspicious = self.suspicious or (mark == '"' and not self.done and self.depth > 0)
            return
        self.suspicious = self.suspicious or not expected
        self.quote = mark
        kept = self.depth in (1, 2)
        self._held = [] if kept else None
        self._length = 0

    def _end_string(self) -> None:
        self.quote = ""
        held, self._held = self._held, None
        is_value = self._last == ":"
        was_key = not is_value and self._at_key() and self._last in ("{", ",")
        self._last = "s"
        self._after_string = True
        self._after_value = is_value
        if not self._kinds:
            self._kinds.append('"')
            self.done = True
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
            self.note(key, _decoded(value))
        elif (at_root or in_arguments) and key in PATH_KEYS:
            self.note("path", _decoded(value))

    def _open(self, bracket: str) -> None:
        self._after_value = False
        self.depth += 1
        if self.depth > _DEPTH:
            self.suspicious = True
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
        self._after_value = False
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


def from_value(value: object, body: str) -> JsonProgress:
    """Return a tracker that knows what following ``body`` would have taught it; ``value`` is ``body``, parsed.

    A shortcut for complete blocks: only what an announcement needs is filled in.
    """
    progress = JsonProgress()
    parsed = getattr(value, "value", None)
    if not isinstance(parsed, dict):
        return progress
    for key, item in parsed.items():
        if type(item) is str:
            if key in _TOLD:
                progress.note(key if key in _ROOT_KEYS else "path", item)
        elif key in _ARGUMENTS and isinstance(item, dict):
            for inner, text in item.items():
                if inner in PATH_KEYS and isinstance(text, str):
                    progress.note("path", text)
    if max(map(len, progress.found.values()), default=0) > _KEPT // 6:
        progress = JsonProgress()
        progress.feed(body)
    return progress
