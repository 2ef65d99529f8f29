"""Undo and deletion of ended sessions, for the page and ``ai-rails log delete``."""

from __future__ import annotations

from pathlib import Path

from rails.commands.undo import open_log, undo_event
from rails.core.errors import UsageError
from rails.core.text import counted, one_line, sha256
from rails.edits.checkpoint_commits import Checkpoint
from rails.edits.checkpoints import History, in_effect
from rails.log.reader import LOG_NAME
from rails.render.units import bytes_text
from rails.review.web.changes import ChangeOffer, Deed
from rails.session.deletion import KeptBytes, delete_sessions, folder_bytes
from rails.session.project import state_of


class AgreedChanges:
    """Does what a person agreed to. Raises RailsError with nothing changed."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.history = History(project)

    def offer(self, session_id: str, do: Deed) -> ChangeOffer:
        """Return what would be done to a session."""
        return self._undo(session_id)[0] if do == "undo" else self.deletion((session_id,))

    def carry_out(self, session_id: str, do: Deed, digest: str) -> str:
        """Do what was shown under ``digest``; return a sentence."""
        if self.offer(session_id, do).digest != digest:
            raise UsageError("This has changed since it was shown, so nothing was done. Look at it again.")
        if do == "delete":
            return deleted_words(1, delete_sessions(self.project, [session_id]))
        step = self._undo(session_id)[1]
        with open_log(self.project, session_id) as log:  # one that runs refuses before anything else
            done = self.history.undo(session_id, step.step)
            log.append(undo_event(done, redo=False))
        files = one_line(", ".join(str(change.path) for change in done.changes.changes), 300)
        return f"Step {done.step} is undone: {files}. ai-rails redo does it again."

    def deletion(self, names: tuple[str, ...]) -> ChangeOffer:
        """Return the offer to delete sessions."""
        state = state_of(self.project)
        size = sum(folder_bytes(state / "sessions" / name) for name in names)
        steps = [step for name in names for step in in_effect(self.history.steps(name), undone=False)]
        which = f"session {names[0]}" if len(names) == 1 else counted(len(names), "session")
        lines = (
            f"The log of {which} ({bytes_text(size)}) is deleted for good, with the values and hand-offs of it alone.",
            f"{counted(len(steps), 'step')} of it in your files can then no longer be undone."
            if steps
            else "None of its steps is in effect in your files, so no undo is lost.",
            "Your files, and the other sessions with their undo, stay as they are.",
        )
        logs = [state / "sessions" / name / LOG_NAME for name in names]
        marks = [str(log.stat().st_size) for log in logs if log.is_file()]
        return ChangeOffer(f"Delete {which}?", lines, sha256("\n".join([*names, *marks, *lines]).encode()))

    def _undo(self, session_id: str) -> tuple[ChangeOffer, Checkpoint]:
        steps = in_effect(self.history.steps(session_id), undone=False)
        if not steps:
            raise UsageError("No step of this session is in effect, so there is nothing to undo.")
        step = steps[-1]
        changed = self.history.restore_point(step)
        lines = (
            f"Step {step.step} is undone; this is what it changed.",
            "Files that somebody changed since are merged; where the same lines were changed, nothing is done.",
            "ai-rails redo does it again.",
        )
        title = f"Undo step {step.step} of session {session_id}?"
        return ChangeOffer(title, lines, sha256(step.commit.encode()), changed.diff()), step


def deleted_words(count: int, freed: KeptBytes) -> str:
    """Return what was deleted, in words."""
    return (
        f"{counted(count, 'session is', 'sessions are')} deleted: {bytes_text(freed.logs)} of logs, "
        f"{bytes_text(freed.values)} of stored values and {bytes_text(freed.checkpoints)} of checkpoints are free."
    )
