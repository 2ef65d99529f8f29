"""What opens over a screen: the keys, and a line to type."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

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
    """A line to type. Escape gives none."""

    BINDINGS: ClassVar = [("escape", "give_up", "Cancel")]

    def __init__(self, question: str, example: str, value: str = "") -> None:
        super().__init__()
        self._question, self._example, self._value = question, example, value

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="dialog"):
            yield Label(self._question, classes="title", markup=False)
            yield Input(self._value, placeholder=self._example, max_length=1_000)

    def action_give_up(self) -> None:
        """Close without an answer."""
        self.dismiss("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the line."""
        self.dismiss(event.value.strip() or " ")
