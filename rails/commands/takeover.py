"""``ai-rails takeover``: a page with what a project has."""

from __future__ import annotations

import argparse
from pathlib import Path

from rails.commands.kickoff import page_with_free_name, say_next
from rails.core.errors import UsageError
from rails.session import plan_files

OPTIONS = """
folder DIR  the project's folder
--name NAME  the plan's name (default: the folder's)
@summary
"""


def run(options: argparse.Namespace) -> int:
    """Write the page, say what comes next."""
    project = Path(options.folder).resolve()
    if not project.is_dir():
        raise UsageError(f"{options.folder} is not a folder, so there is nothing to take over. Nothing was changed.")
    page, name = page_with_free_name(
        options.name or project.name,
        lambda name: plan_files.begin("takeover", project, name, " ".join(options.summary)),
    )
    return say_next(page, name, project)
