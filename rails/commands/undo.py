"""``ai-rails undo`` and ``redo``: byte for byte, never over a person's later work."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rails.commands import common
from rails.commands.exit import uninterrupted
from rails.core.errors import EXIT_OK, UsageError
from rails.core.events.changes import CheckpointEvent, Undo
from rails.core.paths import WorkspacePath, exact_path
from rails.core.text import one_line
from rails.edits.apply import recover
from rails.edits.checkpoint_commits import is_fix_run
from rails.edits.checkpoints import History, Undone, in_effect
from rails.integrations.daemon.client import let_go
from rails.log.writer import SessionLog
from rails.session.project import state_of

OPTIONS = """
session?  which session (default: the last)
--step N:count  which step (default: the last)
--all  every step of the session, the last first
--file PATH  only this file; repeat to go further back
@project
"""


def run(options: argparse.Namespace) -> int:
    """Undo the named step, else the last."""
    return _one_file(options) if options.file else move(options, redo=False)


def _one_file(options: argparse.Namespace) -> int:
    project = common.project_of(options)
    path = exact_path(options.file)
    if options.all or not isinstance(path, WorkspacePath):
        what = "--file and --all exclude each other." if options.all else str(path)
        raise UsageError(f"{what} Nothing was changed.")
    for note in recover(project):
        print(one_line(note, 400))
    with uninterrupted():
        done = History(project).undo_file(str(path), options.session, options.step)
        say_moved(done, redo=False, whole=False)
        if not is_fix_run(done.session) and not done.unrecorded:
            with open_log(project, done.session) as log:
                log.append(CheckpointEvent(f"step {done.step}: {done.title}", done.step, (str(path),)))
    return EXIT_OK


def move(options: argparse.Namespace, *, redo: bool) -> int:
    """Undo or ``redo`` one step; log and report it."""
    project = common.project_of(options)
    for note in recover(project):
        print(one_line(note, 400))
    history = History(project)
    session = session_to_move(history, options.session, redo=redo)
    with log_of(project, session) as log, uninterrupted():
        for one in _moved(history, session, options, redo=redo):
            say_moved(one, redo=redo)
            if log is not None:
                log.append(undo_event(one, redo=redo))
    return EXIT_OK


def session_to_move(history: History, session: str | None, *, redo: bool) -> str:
    """Return the session of the next step. Raises UsageError for none."""
    fitting = in_effect(history.steps(session), undone=redo)
    if not fitting:
        where = f"session {one_line(session)!r}" if session else str(history.project)
        raise UsageError(
            f"There is nothing to {'redo' if redo else 'undo'} in {where}. ai-rails review lists the sessions."
        )
    return session or fitting[-1].session


def log_of(project: Path, session: str) -> AbstractContextManager[SessionLog | None]:
    """Open the undo's log first. Raises LogError with nothing changed."""
    return nullcontext() if is_fix_run(session) else open_log(project, session)


def open_log(project: Path, session: str) -> SessionLog:
    """Return a session's log for writing. Raises LogError if another process keeps it."""
    let_go(str(project))  # the hooks of another agent keep it open
    return SessionLog.reopen(state_of(project), session)


def undo_event(one: Undone, *, redo: bool) -> Undo:
    """Return the event of a step undone or redone."""
    return Undo(one.step, tuple(str(change.path) for change in one.changes.changes), redo, one.changes.files())


def _moved(history: History, session: str, options: argparse.Namespace, *, redo: bool) -> tuple[Undone, ...]:
    if options.step is None and is_fix_run(session):  # one run of gate --fix, however many steps it was written in
        return history.redo_session(session) if redo else history.undo_session(session)
    if redo:
        return (history.redo(session, options.step),)
    if options.all:
        return history.undo_session(session)
    return (history.undo(session, options.step),)


def say_moved(one: Undone, *, redo: bool, whole: bool = True) -> None:
    """Print each written file and whose step it was."""
    for change in one.changes.changes:
        verb = "removed" if change.kind == "delete" else "wrote" if redo else "restored"
        print(f"{verb} {one_line(str(change.path))}")
    done = "done again" if redo else "undone"
    if not whole:
        print(f"It is step {one.step} of session {one_line(one.session)}: {one_line(one.title)}.")
    else:
        print(f"Step {one.step}{_label(one.title)} of session {one_line(one.session)} is {done}.")
    if one.merged:
        print(one_line(f"Later changes in {', '.join(map(str, one.merged))} are kept.", 400))
    if one.unrecorded:
        print(f"The history could not be written; the next start of AI-Rails completes it: {one.unrecorded}")


def _label(title: str) -> str:
    return next((f" ({word})" for word in ("fuzzy match, merged", "fuzzy match", "merged") if f"({word})" in title), "")
