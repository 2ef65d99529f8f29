"""JavaScript's regular expressions by RE2, in linear time; look-around and back-references are not modelled."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from rails.n8n.try_run import values
from rails.n8n.try_run.functions import call_function
from rails.n8n.try_run.values import UNDEFINED, NotModelled, Value, to_text

#: The beginning of a text that is a number.
NUMBER_START: Final = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_POINT: Final = re.compile(r"\\u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))")
_GROUP: Final = re.compile(r"\(\?<(?=[A-Za-z_$])")
_INSERTED: Final = re.compile(r"\$(?:\$|&|(\d{1,2})|<(\w+)>)")


class RegExp:
    """A regular expression with its flags; ``lastIndex`` is kept for ``g`` as JavaScript does."""

    kind = "regex"

    def __init__(self, pattern: Value, flags: Value = "") -> None:
        self.source: str = pattern.source if isinstance(pattern, RegExp) else to_text(pattern)
        self.flags = "" if flags is UNDEFINED else to_text(flags)
        self.compiled = _compiled(self.source, "".join(sorted(set(self.flags) & set("ims"))))
        self._last = 0

    def __str__(self) -> str:
        return f"/{self.source}/{self.flags}"

    def property(self, key: str) -> Value:
        """Return ``source``, ``flags`` or ``global``."""
        return {"source": self.source, "flags": self.flags, "global": "g" in self.flags}.get(key, UNDEFINED)

    def exec(self, text: str) -> Value:
        """Return the next match as JavaScript's array, or ``null``."""
        start = self._last if set("gy") & set(self.flags) else 0
        found = self.compiled.search(text, start) if start <= len(text) else None
        self._last = 0 if found is None else found.end() + (found.end() == found.start())
        return None if found is None else RegExpMatch(found, text)

    def split(self, text: str) -> list[Value]:
        """Return the pieces of a text between the matches."""
        pieces, position = list[Value](), 0
        for found in self.compiled.finditer(text):
            if found.end() == found.start() and found.start() in (0, len(text)):
                continue
            pieces += [text[position : found.start()], *(_group(found, n) for n in range(1, self.compiled.groups + 1))]
            position = found.end()
        return [*pieces, text[position:]]


class RegExpMatch(list[Value]):
    """What ``match`` gives back: the groups, with ``index`` and named ``groups``."""

    def __init__(self, found: Any, text: str) -> None:  # noqa: ANN401 - RE2 has no types
        super().__init__([_group(found, n) for n in range(found.re.groups + 1)])
        named = {name: _group(found, number) for name, number in found.re.groupindex.items()}
        self._own = {"index": found.start(), "input": text, "groups": named or UNDEFINED}

    def property(self, key: str) -> Value:
        """Return ``index``, ``input`` or ``groups``."""
        return self._own.get(key, UNDEFINED)


def _group(found: Any, number: int) -> Value:  # noqa: ANN401
    text = found.group(number)
    return UNDEFINED if text is None else text


@lru_cache(maxsize=256)
def _compiled(source: str, flags: str) -> Any:  # noqa: ANN401
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.case_sensitive, options.dot_nl = "i" not in flags, "s" in flags
    options.log_errors = False
    text = _POINT.sub(lambda point: f"\\x{{{point[1] or point[2]}}}", _GROUP.sub("(?P<", source))
    try:
        return re2.compile(f"(?m){text}" if "m" in flags else text, options)
    except re2.error:
        raise NotModelled(f"the regular expression /{source[:60]}/ (look-around, back-references)") from None


def _pattern(given: Value) -> RegExp:
    return given if isinstance(given, RegExp) else RegExp(given)


def match(text: str, given: Value) -> Value:
    """Return ``text.match(given)``."""
    found = _pattern(given)
    if "g" not in found.flags:
        return RegExp(found.source, found.flags).exec(text)
    return [one.group() for one in found.compiled.finditer(text)] or None


def match_all(text: str, given: Value) -> list[Value]:
    """Return all matches with their groups."""
    return [RegExpMatch(one, text) for one in _pattern(given).compiled.finditer(text)]


def search(text: str, given: Value) -> int:
    """Return where the first match begins, or -1."""
    found = _pattern(given).compiled.search(text)
    return -1 if found is None else int(found.start())


def replaced(text: str, what: Value, new: Value, *, every: bool) -> str:
    """Return ``text.replace(what, new)`` or ``replaceAll``."""
    made, position = list[str](), 0
    if isinstance(what, RegExp):
        matches = what.compiled.finditer(text)
        every = "g" in what.flags
    else:
        matches = re.finditer(re.escape(to_text(what)), text)
    for found in matches:
        made += [text[position : found.start()], _filled(new, found, text)]
        position = found.end()
        if not every:
            break
    return "".join([*made, text[position:]])


def _filled(new: Value, found: Any, text: str) -> str:  # noqa: ANN401
    groups = [_group(found, number) for number in range(1, (found.re.groups or 0) + 1)]
    if values.kind(new) == "function" and not isinstance(new, str):
        return to_text(call_function(new, found.group(), *groups, found.start(), text))
    return _INSERTED.sub(lambda one: _inserted(one, found, groups), to_text(new))


def _inserted(one: re.Match[str], found: Any, groups: list[Value]) -> str:  # noqa: ANN401
    if one[0] in {"$$", "$&"}:
        return "$" if one[0] == "$$" else str(found.group())
    if one[2]:
        return to_text(_group(found, found.re.groupindex[one[2]])) if one[2] in found.re.groupindex else ""
    number = int(one[1])
    if not 1 <= number <= len(groups):
        return one[0]
    return "" if groups[number - 1] is UNDEFINED else str(groups[number - 1])
