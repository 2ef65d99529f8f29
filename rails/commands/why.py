"""``ai-rails why FILE:LINE``: which edit made a line, and who approved it."""

from __future__ import annotations

import argparse
from pathlib import Path

from rails.commands import common
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, UsageError
from rails.core.plain_file import real_path
from rails.core.text import one_line, sha256
from rails.review.reports.line_history import line_history_as_text
from rails.review.session_list import SessionList
from rails.session.project import state_of

OPTIONS = """
place FILE:LINE  the line, for example src/app.py:12
@project
"""


def run(options: argparse.Namespace) -> int:
    """Print the line's history; exit 1 if no session touched it."""
    project = common.project_of(options)
    name, colon, number = options.place.rpartition(":")
    if not (colon and name) or not number.isdigit() or not int(number):
        raise UsageError(f"Name a file and a line, for example src/app.py:12, not {one_line(options.place)!r}.")
    file = real_path(Path.cwd() / name)
    if not file.is_file() or not file.is_relative_to(project):
        raise UsageError(f"{one_line(name)} is not a file of the project {project}.")
    path = file.relative_to(project).as_posix()
    story = SessionList(state_of(project)).why(path, int(number), sha256(file.read_bytes()))
    print(line_history_as_text(story))
    return EXIT_OK if story.origin else EXIT_FINDINGS
