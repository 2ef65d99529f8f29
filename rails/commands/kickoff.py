"""Shared by ``new``, ``feature`` and ``takeover``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rails.core.errors import EXIT_OK, UsageError
from rails.session.plan_files import NameTaken

#: Names that are asked for at a terminal before it is given up.
_TRIES: Final = 5


def page_with_free_name(name: str, make: Callable[[str], Path]) -> tuple[Path, str]:
    """Return the page of ``make`` and its name; terminals are asked again for a taken one."""
    for _ in range(_TRIES):
        try:
            return make(name), name
        except NameTaken as taken:
            if not sys.stdin.isatty():
                raise
            print(taken)
            name = input("Another name: ").strip()
    raise UsageError("No free name was given. Nothing was changed.")


def say_next(page: Path, name: str, project: Path) -> int:
    """Print place and next commands; return the exit code."""
    print(f"Wrote {page}")
    print("Fill it in, then:")
    if project != Path.cwd():
        print(f"  cd {project}")
    print(f"  ai-rails run --plan {name} --agent planner --then coder,reviewer")
    return EXIT_OK
