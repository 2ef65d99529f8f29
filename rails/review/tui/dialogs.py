"""What opens over a screen: the keys, and a line to type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from rails.core.text import printable

KEYS: Final = (
    ("j k, ↓ ↑", "next, previous turn (or session, in the list)"),
    ("Enter", "open; in a session, its diff in full"),
    ("n p", "next, previous failure"),
    ("[ ]  { }", "previous, next file and hunk, in a diff"),
    ("g G", "top, end"),
    ("/", "search all sessions"),
    ("i", "only sessions that a line asks for: is:failed rule:F821 …"),
    ("x", "mark a session; with two marked, compare them"),
    ("r", "reports: models, rules, weeks, drift, decisions (1 to 5)"),
    ("w", "go to the question that waits for you, or to the next one"),
    ("a d A S", "there: approve, deny, grant, stop the session"),
    ("v", "there: view everything"),
    ("y", "why is this line so: FILE:LINE"),
    ("l, Escape", "back to the list, back"),
    ("?", "these keys"),
    ("q", "quit"),
)


class Help(ModalScreen[None]):
    """Every key."""

    BINDINGS: ClassVar = [("escape,question_mark,q,enter", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="dialog"):
            yield Label("Keys", classes="title")
            yield Static("\n".join(f"{key:<11} {words}" for key, words in KEYS), markup=False)


class Ask(ModalScreen[str]):
    """A line to type below ``lines``. Escape gives none, and Enter without a word a blank."""

    BINDINGS: ClassVar = [("escape", "give_up", "Cancel")]

    def __init__(
        self, question: str, example: str, value: str = "", *, lines: Sequence[str] = (), most: int = 1_000
    ) -> None:
        super().__init__()
        self._lines, self._most = lines, most
        self._question, self._example, self._value = question, example, value

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="dialog"):
            yield Label(self._question, classes="title", markup=False)
            if self._lines:
                yield Static("\n".join(map(printable, self._lines)), markup=False)
            yield Input(self._value, placeholder=self._example, max_length=self._most)

    def action_give_up(self) -> None:
        """Close without an answer."""
        self.dismiss("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the line."""
        self.dismiss(event.value.strip() or " ")
