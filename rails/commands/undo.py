"""``ai-rails undo`` and ``redo``: a step back or forth, byte for byte, and never over a person's later work."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.commands.options import add_project
from rails.core.errors import EXIT_OK, UsageError
from rails.core.events.changes import Undo
from rails.core.text import one_line
from rails.edits.apply import recover
from rails.edits.checkpoint_commits import is_fix_run
from rails.edits.checkpoints import History, Undone, in_effect
from rails.log.writer import SessionLog
from rails.session.project import state_of


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
    for one in _moved(History(project), options, redo=redo):
        say_moved(one, redo=redo)
        if not is_fix_run(one.session):  # which has no log
            with SessionLog.reopen(state_of(project), one.session) as log:
                log.append(undo_event(one, redo=redo))
    return EXIT_OK


def _moved(history: History, options: argparse.Namespace, *, redo: bool) -> tuple[Undone, ...]:
    """Do what the command line asks for. Raises UsageError where there is nothing to do."""
    fitting = in_effect(history.steps(options.session), undone=redo)
    if not fitting:
        where = f"session {one_line(options.session)!r}" if options.session else str(history.project)
        raise UsageError(
            f"There is nothing to {'redo' if redo else 'undo'} in {where}. ai-rails review lists the sessions."
        )
    session = options.session or fitting[-1].session
    if options.step is None and is_fix_run(session):  # one run of gate --fix, however many steps it was written in
        return history.redo_session(session) if redo else history.undo_session(session)
    if redo:
        return (history.redo(session, options.step),)
    if options.all:
        return history.undo_session(session)
    return (history.undo(session, options.step),)


def undo_event(one: Undone, *, redo: bool) -> Undo:
    """Return what the log is told of a step that was moved."""
    return Undo(one.step, tuple(str(change.path) for change in one.changes.changes), redo, one.changes.files())


def say_moved(one: Undone, *, redo: bool) -> None:
    """Print each file that was written, and whose step it was."""
    for change in one.changes.changes:
        verb = "removed" if change.kind == "delete" else "wrote" if redo else "restored"
        print(f"{verb} {one_line(str(change.path))}")
    done = "done again" if redo else "undone"
    print(f"Step {one.step}{_label(one.title)} of session {one_line(one.session)} is {done}.")
    if one.merged:
        print(one_line(f"What was changed since in {', '.join(map(str, one.merged))} is kept.", 400))
    if one.unrecorded:
        print(f"The history could not be written and is completed by the next start: {one.unrecorded}")


def _label(title: str) -> str:
    """Return what a step's title says of how its place was found: " (fuzzy match)", or nothing."""
    return next((f" ({word})" for word in ("fuzzy match, merged", "fuzzy match", "merged") if f"({word})" in title), "")
