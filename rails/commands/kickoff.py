"""``ai-rails new|feature|takeover``: a page that begins a piece of work, and the commands that go on from it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rails.commands import common
from rails.core.errors import EXIT_OK, UsageError
from rails.session import plan_files
from rails.session.plan_files import NameTaken, PlanKind

#: Names that are asked for at a terminal before it is given up.
_TRIES = 5


def run(options: argparse.Namespace) -> int:
    """Write the page, say where it is and what comes next. A taken name is asked for anew at a terminal only."""
    kind: PlanKind = options.kind
    summary = " ".join(options.summary)
    if kind == "new":
        place = Path(options.into)
        page, name = _with_free_name(options.name, lambda name: plan_files.new_project(place.resolve(), name, summary))
        project = (place / name).resolve()
    elif kind == "feature":
        project = common.project_of(options)
        page, name = _with_free_name(options.name, lambda name: plan_files.begin("feature", project, name, summary))
    else:
        project = Path(options.folder).resolve()
        if not project.is_dir():
            raise UsageError(
                f"{options.folder} is not a folder, so there is nothing to take over. Nothing was changed."
            )
        page, name = _with_free_name(
            options.name or project.name, lambda name: plan_files.begin("takeover", project, name, summary)
        )
    print(f"Wrote {page}")
    print("Fill it in, then:")
    if project != Path.cwd():
        print(f"  cd {project}")
    print(f"  ai-rails run --plan {name} --agent planner --then coder,reviewer")
    return EXIT_OK


def _with_free_name(name: str, make: Callable[[str], Path]) -> tuple[Path, str]:
    for _ in range(_TRIES):
        try:
            return make(name), name
        except NameTaken as taken:
            if not sys.stdin.isatty():
                raise
            print(taken)
            name = input("Another name: ").strip()
    raise UsageError("No free name was given. Nothing was changed.")
