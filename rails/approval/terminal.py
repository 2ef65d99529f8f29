"""Asking a human at a terminal. A typed letter and Enter decide; nothing else does."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from rails.approval import granting
from rails.approval.batch import decide_batch
from rails.approval.decision import NO_HUMAN, Answer, ApprovalRequest, Decision
from rails.approval.edit import (
    Contents,
    EditError,
    Editor,
    Judge,
    Revalidate,
    edited,
    edited_run,
    in_editor,
    parameters_in_editor,
)
from rails.approval.grants import Grants
from rails.approval.keys import Elsewhere, Keys, NoAnswer
from rails.approval.paint import styled
from rails.approval.pieces import without_pieces
from rails.approval.placing import choose_place
from rails.approval.rules import Rule
from rails.approval.screen import Look, draw_request
from rails.core.errors import RailsError
from rails.core.places import Offer
from rails.core.text import one_line

#: Questions for one answer; then it counts as a denial.
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Choices:
    """What a human can do besides approving, denying and stopping; each needs something from outside.

    ``judge`` is the gate, for editing the proposal; ``revalidate`` is the same for the parameters of a tool
    run. ``grants`` lets an approval hold for what is alike;
    ``dry_run`` tells what such a rule would have done in past sessions. ``from_project`` as in
    :func:`~rails.approval.decision.request_for_changes`. ``editor`` replaces ``$EDITOR``.
    """

    judge: Judge | None = None
    revalidate: Revalidate | None = None
    grants: Grants | None = None
    dry_run: Callable[[Rule], str] | None = None
    from_project: Collection[str] = ()
    editor: Editor | None = None


class TerminalApprover:
    """Draws the request, waits for quiet, asks.

    ``plain`` means no colour and no decoration that a screen reader stumbles over; ``colour`` defaults
    to whether ``stream_out`` is a terminal and ``NO_COLOR`` is not set. Input that is not a terminal is
    not a human: it is denied with "no human", unless ``accept_pipe`` (for tests) says otherwise.
    ``timeout_s`` limits the wait for an answer; running out is a denial by "timeout". ``elsewhere`` says
    whether the question was answered somewhere else meanwhile; then the answer here is one by "elsewhere",
    which decides nothing (``rails.approval.queue``).
    """

    def __init__(
        self,
        stream_in: TextIO | None = None,
        stream_out: TextIO | None = None,
        *,
        plain: bool = False,
        colour: bool | None = None,
        width: int | None = None,
        quiet_s: float = 0.35,
        timeout_s: float | None = None,
        accept_pipe: bool = False,
        choices: Choices | None = None,
        clock: Callable[[], float] = time.monotonic,
        elsewhere: Callable[[], bool] | None = None,
    ) -> None:
        self._out = stream_out or sys.stdout
        self._keys = Keys(stream_in or sys.stdin, quiet_s=quiet_s, clock=clock, elsewhere=elsewhere)
        self._colour = (_wants_colour(self._out) if colour is None else colour) and not plain
        self._plain = plain
        self._width = width
        self._timeout_s = timeout_s
        self._accept_pipe = accept_pipe
        self._choices = choices or Choices()
        self._clock = clock

    def decide(self, request: ApprovalRequest) -> Decision:
        """Show ``request`` and return the answer. Whatever goes wrong here is a denial or an abort."""
        if not self.attended:
            return Decision("deny", NO_HUMAN, "headless", of=request.digest)
        started = self._clock()
        answer: Answer = "deny"
        scope, final = "once", request
        try:
            answer, reason, scope, final = _Question(self, request).ask()
            by = "human"
        except KeyboardInterrupt:
            answer, reason, by = "abort", "interrupted", "human"
        except NoAnswer as error:
            reason, by = str(error), error.by
            if isinstance(error, Elsewhere):
                self.put("\n")
        except (OSError, ValueError) as error:
            reason, by = f"the terminal failed: {error}", "error"
        instead = final if answer == "approve" and final is not request else None
        seconds = round(self._clock() - started, 3)
        return Decision(answer, reason, by, seconds=seconds, scope=scope, edited=instead, of=final.digest)

    def decide_batch(self, requests: Sequence[ApprovalRequest]) -> Sequence[Decision | None]:
        """Answer several questions about one tool at once; ``None``: to be asked about by itself."""
        if not self.attended:
            return [self.decide(request) for request in requests]
        return decide_batch(self, requests)

    @property
    def attended(self) -> bool:
        """Whether a human can answer: input that is not a terminal is not a human."""
        return self._keys.is_terminal or self._accept_pipe

    def choose(self, offer: Offer) -> str:
        """Show where a refused edit could go, and return the handle that the human takes, or an empty text."""
        if not self.attended:
            return ""
        return choose_place(self, offer, self.look)

    def look(self) -> Look:
        """Return how to draw on this terminal as it is now."""
        width = self._width or shutil.get_terminal_size((100, 24)).columns
        return Look(self._colour, max(40, width), self._plain)

    def show(self, request: ApprovalRequest, *, full: bool) -> int:
        """Draw ``request``, throw away what was typed meanwhile, and return how many lines were left out."""
        screen = draw_request(request, self.look(), full=full)
        self.put("\n".join(screen.lines) + "\n")
        self._keys.arm()
        return screen.hidden

    def line(self, timeout_s: float | None = None) -> str:
        """Return the next typed line, stripped; wait ``timeout_s`` or the approver's own limit. Raises NoAnswer."""
        return self._keys.line(timeout_s or self._timeout_s).strip()

    def arm(self) -> None:
        """Throw away what was typed, and wait for quiet."""
        self._keys.arm()

    def put(self, text: str, style: str = "") -> None:
        """Write printable ``text``; what the terminal's encoding lacks is shown as an escape."""
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        shown = styled(text, style, self._colour)
        self._out.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()

    @property
    def choices(self) -> Choices:
        """What the human can do besides the three answers."""
        return self._choices


_Answered = tuple[Answer, str, str, ApprovalRequest]


class _Question:
    """One request until it is answered; ``self.request`` is the edited one once there is one."""

    def __init__(self, approver: TerminalApprover, request: ApprovalRequest) -> None:
        self._terminal = approver
        self._choices = approver.choices
        self.request = request
        self._hidden = 0
        self._commands: dict[str, Callable[[str], _Answered | None]] = {
            "a": self._short_yes,
            "approve": self._yes,
            "d": self._no,
            "deny": self._no,
            "s": self._stop,
            "stop": self._stop,
            "v": self._view,
            "view": self._view,
        }
        if self._choices.judge and request.kind == "changes":
            self._commands |= {"e": self._edit, "edit": self._edit, "l": self._leave_out}
        if self._choices.revalidate and request.kind == "tool":
            self._commands |= {"e": self._edit_run, "edit": self._edit_run}
        if self._choices.grants and request.kind == "changes":
            self._commands |= {"g": self._grant, "grant": self._grant}
        if self._choices.grants:
            self._commands |= {"r": self._revoke, "revoke": self._revoke}

    def ask(self) -> _Answered:
        """Show the request and ask until there is an answer. Raises NoAnswer."""
        self._hidden = self._terminal.show(self.request, full=False)
        for _ in range(_TRIES):
            self._prompt()
            word, _, rest = self._terminal.line().partition(" ")
            command = self._commands.get(word.casefold())
            if command is None:
                self._terminal.put("That decides nothing.\n")
            elif answered := command(rest.strip()):
                return answered
        return "deny", f"no clear answer in {_TRIES} tries", "once", self.request

    def _prompt(self) -> None:
        if self._hidden:
            self._terminal.put(f"{self._hidden} lines are not shown: v shows them.\n", "risk")
        words = ['type "approve"' if self.request.risks else "[a]pprove", "[d]eny with a reason", "[s]top the session"]
        words += ["[e]dit"] if "e" in self._commands else []
        words += ["[l]eave parts out"] if "l" in self._commands else []
        words += ["[g]rant"] if "g" in self._commands else []
        words += granting.words(self._choices.grants)
        self._terminal.put("  ".join([*words, "[v]iew everything"]) + ", then Enter: ")

    def _short_yes(self, rest: str) -> _Answered | None:
        if self.request.risks:
            self._terminal.put('There are risks above: type the whole word "approve".\n')
            return None
        return self._yes(rest)

    def _yes(self, rest: str) -> _Answered | None:
        if rest:
            self._terminal.put("That decides nothing.\n")
            return None
        return "approve", "", "once", self.request

    def _no(self, rest: str) -> _Answered | None:
        return "deny", rest or self._reason(), "once", self.request

    def _stop(self, rest: str) -> _Answered | None:
        return "abort", rest, "once", self.request

    def _view(self, rest: str) -> None:
        del rest
        self._hidden = self._terminal.show(self.request, full=True)

    def _reason(self) -> str:
        self._terminal.put("Why not? The agent reads this (Enter: no reason): ")
        try:
            return self._terminal.line()
        except Elsewhere:
            raise
        except NoAnswer:
            return ""

    def _edit(self, rest: str) -> None:
        del rest
        try:
            self._replace(in_editor(self.request, self._choices.editor))
        except RailsError as error:
            self._terminal.put(f"{one_line(str(error), 400)}\n")

    def _edit_run(self, rest: str) -> None:
        del rest
        try:
            if self._choices.revalidate is None:
                raise EditError("There is nothing here that could check an edit.")
            text = parameters_in_editor(self.request, self._choices.editor)
            self.request = edited_run(self.request, text, self._choices.revalidate)
        except RailsError as error:
            self._terminal.put(f"{one_line(str(error), 800)}\n")
            return
        self._hidden = self._terminal.show(self.request, full=False)

    def _leave_out(self, rest: str) -> None:
        del rest
        try:
            if contents := without_pieces(self._terminal, self.request):
                self._replace(contents)
        except RailsError as error:
            self._terminal.put(f"{one_line(str(error), 400)}\n")

    def _replace(self, contents: Contents) -> None:
        """Have the edited proposal checked, and show it: from now on it is what is asked about."""
        if self._choices.judge is None:
            raise EditError("There is nothing here that could check an edit.")
        self._terminal.put("Checking your version.\n")
        self.request = edited(self.request, contents, self._choices.judge, self._choices.from_project)
        self._hidden = self._terminal.show(self.request, full=False)

    def _grant(self, rest: str) -> _Answered | None:
        del rest
        scope = granting.give(self._terminal, self._choices.grants, self.request, self._choices.dry_run)
        return ("approve", "", scope, self.request) if scope else None

    def _revoke(self, rest: str) -> None:
        granting.revoke(self._terminal, self._choices.grants, rest)


def _wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
