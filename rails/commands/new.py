"""``ai-rails new``: a project's folder and a page that begins the work."""

from __future__ import annotations

import argparse
from pathlib import Path

from rails.commands.kickoff import page_with_free_name, say_next
from rails.session import plan_files

OPTIONS = """
name  the project's name, and its folder's
--into DIR (workspace)  where its folder goes (default: workspace)
@summary
"""


def run(options: argparse.Namespace) -> int:
    """Write folder and page."""
    place = Path(options.into)
    page, name = page_with_free_name(
        options.name, lambda name: plan_files.new_project(place.resolve(), name, " ".join(options.summary))
    )
    return say_next(page, name, (place / name).resolve())
