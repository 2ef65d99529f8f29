"""``ai-rails undo``: take a step back, byte for byte, and never over a person's later work."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.core.errors import EXIT_OK, UsageError
from rails.core.events import Event
from rails.core.text import one_line
from rails.core.wire import json_object
from rails.edits.apply import recover
from rails.edits.history import History
from rails.log.writer import SessionLog


def run(options: argparse.Namespace) -> int:
    """Undo the named step, or the last one of the named or the last session."""
    project = common.project_of(options)
    for note in recover(project):
        print(one_line(note, 400))
    history = History(project)
    steps = history.steps(options.session)
    if not steps:
        where = f"session {one_line(options.session)!r}" if options.session else str(project)
        raise UsageError(f"There is nothing to undo in {where}. ai-rails review lists the sessions.")
    session = options.session or steps[-1].session
    undone = history.undo(session, options.step)
    for change in undone.changes.changes:
        verb = {"create": "restored", "modify": "restored", "delete": "removed"}[change.kind]
        print(f"{verb} {one_line(str(change.path))}")
    print(f"Step {undone.step} of session {session} is undone.")
    with SessionLog.reopen(common.state_of(project), session) as log:
        details = json_object(
            {"step": undone.step, "paths": [c.path for c in undone.changes.changes], "changes": undone.changes}
        )
        log.append(Event("UNDO", f"step {undone.step} undone", details))
    return EXIT_OK
