"""``lazy(...)`` is :func:`re.compile` at first use: compiling two hundred patterns outlasted a small answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import AnyStr, Final, cast

_METHODS: Final = ("match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split", "flags", "groups")


class LazyPattern:
    """Becomes a pattern at the first use."""

    def __init__(self, pattern: str | bytes | Callable[[], str], flags: int) -> None:
        self.pattern = pattern
        self.asked = flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self.pattern() if callable(self.pattern) else self.pattern, self.asked)
        self.__dict__.update((one, getattr(compiled, one)) for one in _METHODS)
        return getattr(compiled, name)


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern; first use raises its mistakes."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


def lazy_built(build: Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return a pattern, its text built at first use."""
    return cast("re.Pattern[str]", LazyPattern(build, flags))
