"""``ai-rails feature``: a page that begins a feature of this project."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.commands.kickoff import page_with_free_name, say_next
from rails.session import plan_files

OPTIONS = """
name  the feature's name
@project
@summary
"""


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    project = common.project_of(options)
    page, name = page_with_free_name(
        options.name, lambda name: plan_files.begin("feature", project, name, " ".join(options.summary))
    )
    return say_next(page, name, project)
