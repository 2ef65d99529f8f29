"""The kinds of files: every module of ``rails.gate.kinds`` with a ``KIND``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from rails.gate import kinds
from rails.gate.support.check import Check, Kind

#: Looks at every text file that no other check wants.
FALLBACK: Final = "text"


def load_check(name: str) -> Check:
    """Return the check called ``name``."""
    module: Check = importlib.import_module(f"{kinds.__name__}.{name}")
    return module


def _found() -> Iterator[Kind]:
    for file in Path(kinds.__path__[0]).glob("*.py"):
        kind = getattr(load_check(file.stem), "KIND", None)
        if isinstance(kind, Kind):
            yield kind


#: Every kind but that of other texts, by its name (that of its module), in the order of running.
CHECKS: Final[Mapping[str, Kind]] = {
    kind.name: kind for kind in sorted(_found(), key=lambda kind: (kind.place, kind.name))
}


def checks_for(path: str, data: bytes = b"") -> list[str]:
    """Return the checks for ``path``, at least one.

    A kind may claim ``data``: a script without an ending, a workflow in JSON.
    """
    claimed = _claimed(path, data)
    if claimed is not None:
        return [claimed]
    return [name for name, kind in CHECKS.items() if kind.wants(path)] or [FALLBACK]


@lru_cache(maxsize=256)
def _claimed(path: str, data: bytes) -> str | None:
    claiming = (name for name, kind in CHECKS.items() if kind.claims is not None and kind.claims(path, data))
    return next(claiming, None)
