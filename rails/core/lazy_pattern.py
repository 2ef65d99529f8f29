"""``lazy(...)`` is :func:`re.compile` at the first use: a command pays only for the patterns that its input needs.

The parser alone has two hundred, and compiling them all took longer than applying a small answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import AnyStr, Final, cast

_METHODS: Final = ("match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split", "flags", "groups")


class LazyPattern:
    """Stands for a pattern, and has the pattern's own methods from the first use on."""

    def __init__(self, pattern: str | bytes | Callable[[], str], flags: int) -> None:
        self.pattern, self.asked = pattern, flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self.pattern() if callable(self.pattern) else self.pattern, self.asked)
        self.__dict__.update((one, getattr(compiled, one)) for one in _METHODS)
        return getattr(compiled, name)


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern; a mistake in it is raised where it is first used."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


def lazy_built(build: Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return a pattern whose text takes time to put together, too."""
    return cast("re.Pattern[str]", LazyPattern(build, flags))
