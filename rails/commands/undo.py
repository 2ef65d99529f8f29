"""``ai-rails undo`` and ``redo``: a step back or forth, byte for byte, and never over a person's later work."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.commands.options import add_project
from rails.core.errors import EXIT_OK, UsageError
from rails.core.events.changes import Undo
from rails.core.text import one_line
from rails.edits.apply import recover
from rails.edits.checkpoints import History, Undone
from rails.log.writer import SessionLog


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("session", nargs="?", help="which session (default: the last)")
    parser.add_argument("--step", type=int, metavar="N", help="which step (default: the last)")
    parser.add_argument("--all", action="store_true", help="every step of the session, the last first")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """Take back the named step, the whole session, or the last step there is."""
    return move(options, redo=False)


def move(options: argparse.Namespace, *, redo: bool) -> int:
    """Go one step back, or (``redo``) forth again; log it, and say what was written."""
    project = common.project_of(options)
    for note in recover(project):
        print(one_line(note, 400))
    history = History(project)
    fitting = [step for step in history.steps(options.session) if step.kind == "change" and step.undone == redo]
    if not fitting:
        where = f"session {one_line(options.session)!r}" if options.session else str(project)
        raise UsageError(
            f"There is nothing to {'redo' if redo else 'undo'} in {where}. ai-rails review lists the sessions."
        )
    session = options.session or fitting[-1].session
    if redo:
        done: tuple[Undone, ...] = (history.redo(session, options.step),)
    elif options.all:
        done = history.undo_session(session)
    else:
        done = (history.undo(session, options.step),)
    titles = {step.step: step.title for step in history.steps(session)}
    with SessionLog.reopen(common.state_of(project), session) as log:
        for one in done:
            for change in one.changes.changes:
                verb = "removed" if change.kind == "delete" else "wrote" if redo else "restored"
                print(f"{verb} {one_line(str(change.path))}")
            label = _label(titles.get(one.step, ""))
            print(f"Step {one.step}{label} of session {session} is {'done again' if redo else 'undone'}.")
            paths = tuple(str(change.path) for change in one.changes.changes)
            log.append(Undo(one.step, paths, redo, one.changes.files()))
    return EXIT_OK


def _label(title: str) -> str:
    """Return what a step's title says of how its place was found: " (fuzzy match)", or nothing."""
    return next((f" ({word})" for word in ("fuzzy match, merged", "fuzzy match", "merged") if f"({word})" in title), "")
