"""One agent's files for the next, in ``.rails/handoffs/SESSION/``; a human may edit them in between.

    00_task.md                the first agent's task (00_planning_doc.md for a plan)
    01_planning_output.md     its result (.json when its contract is a schema)
    02_for_coder.md           the second's input, whole and as data
    02_for_human.md           with 01_coder_answer.md, when it is your turn
    04_final_approved/        the files approved and written

No agent can write there. A killed session writes the same files again.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

from msgspec import Struct

from rails.agents.output import check_output
from rails.agents.template import Agent, read_template
from rails.core import atomic_file, limits
from rails.core.changes import ChangeSet
from rails.core.errors import UsageError, WorkspaceError
from rails.core.text import head_and_tail, one_line


class Handoffs(Struct, frozen=True):
    """The numbered files of one session; ``state`` is ``.rails``."""

    state: Path
    session_id: str

    @property
    def folder(self) -> Path:
        """The files' folder."""
        return self.state / "handoffs" / self.session_id

    def relative(self, name: str) -> str:
        """Return the path in the project."""
        return f"{self.state.name}/handoffs/{self.session_id}/{name}"

    def write(self, name: str, text: str) -> str:
        """Write a file atomically and return its name. Raises WorkspaceError."""
        return self.keep(name, text.encode("utf-8", "surrogatepass"))

    def keep(self, name: str, data: bytes) -> str:
        """Write bytes as :meth:`write` does text."""
        for folder in (self.state, self.folder.parent, self.folder):
            if folder.is_symlink():
                raise WorkspaceError(f"{folder} is a link, so no hand-off is written there. Remove it.")
        try:
            atomic_file.replace_file(self.folder / name, data)
        except OSError as error:
            raise WorkspaceError(f"{self.folder / name} cannot be written: {error.strerror}.") from error
        return name

    def read(self, name: str) -> str:
        """Return a file's text. Raises UsageError when it is missing, too large, or not text."""
        if (file := self.folder / name).is_symlink():
            raise UsageError(f"{file} is a link. Nothing was handed on.")
        return read_template(file, limits.FILE_BYTES, "Nothing was handed on.")

    def has(self, name: str) -> bool:
        """Return whether the file exists."""
        return (self.folder / name).is_file()


def next_name(step: int, receiver: str) -> str:
    """Return the file of ``receiver``'s input after ``step``."""
    return f"{2 * step + 2:02}_for_{receiver}.md"


def text_for(sender: Agent, receiver: str, result: str, made: ChangeSet) -> str:
    """Return ``receiver``'s input; the difference is quoted, as the last JSON is the result."""
    whole = result.strip()
    body, left_out = head_and_tail(  # bare JSON is read as a result; not so below words
        f"```json\n{whole}\n```" if (sender.schema is not None and whole.startswith("{")) else whole,
        limits.HANDOFF_CHARS,
    )
    cut = [f"[{left_out} characters left out; the whole result is in the file before this one.]"] if left_out else []
    parts = [f"# From {sender.name} to {receiver}", f"Result of the agent {sender.name}:", body, *cut]
    if made:
        files = "\n".join(f"- {one_line(str(one.path), 200)} ({one.kind})" for one in made.changes)
        parts += ["## Files changed in this session", head_and_tail(files, limits.PAGE_CHARS)[0], _quoted(made.diff())]
    return "\n\n".join(parts) + "\n"


def for_review(given: str, last_run: str) -> str:
    """Return a reviewer's further input, the task and its tests, both quoted."""
    tests = "No tests were run since the last change."
    if last_run:
        tests = f"What ran last since the last change, tests or a command:\n\n{_quoted(last_run)}"
    parts = ("## The work was given as", _quoted(given)) if given else ()
    return "\n" + "\n\n".join((*parts, "## Tests", tests)) + "\n"


def _quoted(text: str) -> str:
    shown, _ = head_and_tail(text.strip("\n"), limits.HANDOFF_CHARS)
    return indent(shown, "> ", lambda _: True)


def sent_back(why: str, title: str, text: str, given: str) -> str:
    """Return words for an agent whose work comes back."""
    shown, _ = head_and_tail(text.strip(), limits.HANDOFF_CHARS)
    before = f"\n\n## What you were given\n\n{given.strip()}" if given else ""
    return f"Human/System Feedback: {why}\n\n## {title}\n\n{shown}{before}\n"


def wrong_with(sender: Agent, text: str) -> str:
    """Return why ``text``, perhaps edited, is no valid result of ``sender``, or ""."""
    lacking = check_output(sender, text)
    if not text.strip():
        return "The file is empty. Nothing was handed on."
    return "\n".join(map(str, lacking[: limits.FINDINGS_TOLD]))
