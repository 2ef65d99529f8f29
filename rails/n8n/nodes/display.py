"""Visibility of parameters: n8n's ``displayOptions``.

Anchor: n8n-workflow 2.41, ``node-helpers`` (``displayParameter``, ``checkConditions``, ``getPropertyValues``). Every
``show`` key must match, any ``hide`` key hides, in order; an expression in a controlling value shows at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from rails.n8n.values import UNDEFINED, at_parts, is_numeric

_Test = Callable[[Any], bool]


class _Key(Struct, frozen=True):
    """A key of ``show`` or ``hide``: value's place, plain matches, conditions."""

    kind: str
    path: tuple[str, ...]
    plain: frozenset[Any]
    tests: tuple[tuple[str, _Test], ...]


class Display(Struct, frozen=True):
    """A compiled ``displayOptions``."""

    show: tuple[_Key, ...]
    hide: tuple[_Key, ...]
    depends_on: tuple[str, ...]

    def visible(self, values: Mapping[str, Any], root: Mapping[str, Any], version: float, is_tool: bool) -> bool:
        """Return whether it shows, by the level's and node's values."""
        for key in self.show:
            found = _values(key, values, root, version, is_tool)
            for value in found:
                if type(value) is str and value[:1] == "=":
                    return True
            if not _matches(key, found):
                return False
        for key in self.hide:
            found = _values(key, values, root, version, is_tool)
            if found and _matches(key, found):
                return False
        return True


def compiled(options: Mapping[str, Any] | None) -> Display | None:
    """Compile ``displayOptions``; ``None``: always visible."""
    if not options:
        return None
    show, hide = (options.get(name) or {} for name in ("show", "hide"))
    depends = dict.fromkeys(key for rule in (show, hide) for key in rule if key[:1] != "@")
    return Display(tuple(map(_key, show, show.values())), tuple(map(_key, hide, hide.values())), tuple(depends))


def _key(name: str, conditions: Sequence[Any]) -> _Key:
    plain = set()
    tests = []
    for condition in conditions if isinstance(conditions, list) else [conditions]:
        if isinstance(condition, dict) and len(condition) == 1 and condition.get("_cnd"):
            (operator, wanted), *_ = condition["_cnd"].items()
            tests.append((operator, _test(operator, wanted)))
        elif not isinstance(condition, dict | list):
            plain.add(token(condition))
    kind = name if name in {"@version", "@tool", "@feature"} else "root" if name[:1] == "/" else "level"
    return _Key(
        kind, tuple(part for part in re.split(r"[.\[\]]", name.lstrip("/")) if part), frozenset(plain), tuple(tests)
    )


def token(value: Any) -> Any:  # noqa: ANN401 - any JSON value comes in
    """Return a hashable, equal as under JavaScript's ``===``."""
    if value is True or value is False:
        return ("bool", value)
    return id(value) if isinstance(value, dict | list) else value


def _values(key: _Key, values: Any, root: Any, version: float, is_tool: bool) -> Sequence[Any]:  # noqa: ANN401
    if key.kind == "level":
        path = key.path
        if len(path) == 1 and type(values) is dict:
            found = values.get(path[0], UNDEFINED)
        else:
            found = at_parts(values, path)
    elif key.kind == "root":
        found = at_parts(root, key.path)
    elif key.kind == "@version":
        found = version
    elif key.kind == "@tool":
        found = is_tool
    else:
        return ()
    if type(found) is dict and found.get("__rl"):
        found = found.get("value", UNDEFINED)
    return found if type(found) is list else (found,)


def _matches(key: _Key, found: Sequence[Any]) -> bool:
    plain = key.plain
    for value in found:
        if (value if type(value) is str else token(value)) in plain:
            return True
    for operator, test in key.tests:
        if not found:
            if operator == "not":
                return True
        elif all(test(value) for value in found):
            return True
    return False


def _test(operator: str, wanted: Any) -> _Test:  # noqa: ANN401
    make = _TESTS.get(operator)
    return make(wanted) if make else lambda _: False


def _compare(check: Callable[[float, float], bool]) -> Callable[[Any], _Test]:
    def make(wanted: Any) -> _Test:  # noqa: ANN401
        return lambda value: is_numeric(value) and is_numeric(wanted) and check(value, wanted)

    return make


def _between(wanted: Any) -> _Test:  # noqa: ANN401
    return lambda value: is_numeric(value) and bool(wanted["from"] <= value <= wanted["to"])


def _regex(wanted: Any) -> _Test:  # noqa: ANN401
    pattern = pattern_of(wanted)
    return lambda value: pattern is not None and type(value) is str and bool(pattern.search(value[:2000]))


@lru_cache(maxsize=1024)
def pattern_of(text: str) -> re.Pattern[str] | None:
    """Compile a JavaScript pattern; ``None`` if Python cannot."""
    try:
        return re.compile(re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", text).replace(r"\/", "/"))
    except (re.error, OverflowError, RecursionError):
        return None


_TESTS: Final[Mapping[str, Callable[[Any], _Test]]] = {
    "eq": lambda wanted: lambda value: token(value) == token(wanted),
    "not": lambda wanted: lambda value: token(value) != token(wanted),
    "gte": _compare(lambda a, b: a >= b),
    "lte": _compare(lambda a, b: a <= b),
    "gt": _compare(lambda a, b: a > b),
    "lt": _compare(lambda a, b: a < b),
    "between": _between,
    "includes": lambda wanted: lambda value: type(value) is str and str(wanted) in value,
    "regex": _regex,
    "exists": lambda _: lambda value: value is not None and value is not UNDEFINED and value != "",
}
