"""The licence that a repository states."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from rails.core.text import one_line

_FILES: Final = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING")
_DECLARED: Final = (("pyproject.toml", r'(?m)^license\s*=.*?"([^"]+)"'), ("package.json", r'"license"\s*:\s*"([^"]+)"'))
_BYTES: Final = 100_000


def licence_of(project: Path) -> str:
    """Return the declared licence, else its file's title, or ""."""
    for name, pattern in _DECLARED:
        if found := re.search(pattern, _text(project / name)):
            return one_line(found[1], 60)
    titles = (line.strip(" #") for name in _FILES for line in _text(project / name).splitlines() if line.strip())
    return one_line(next(titles, ""), 60)


def _text(file: Path) -> str:
    if file.is_symlink() or not file.is_file():
        return ""
    with file.open("rb") as opened:
        return opened.read(_BYTES).decode("utf-8", "replace")
