"""``lazy(...)`` is :func:`re.compile` at first use: compiling two hundred patterns outlasted a small answer."""

from __future__ import annotations

import re
from typing import AnyStr, Final, cast

_METHODS: Final = ("match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split", "flags", "groups")


class LazyPattern:
    """Becomes a pattern at the first use."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self.asked = flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self.pattern, self.asked)
        self.__dict__.update((one, getattr(compiled, one)) for one in _METHODS)
        return getattr(compiled, name)


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern; first use raises its mistakes."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))
