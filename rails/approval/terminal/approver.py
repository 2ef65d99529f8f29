"""Approval at a terminal: a typed letter and Enter decide."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import Final, TextIO, Unpack

from msgspec import Struct

from rails.approval.decision import NO_HUMAN, ApprovalRequest, Choice, Decision
from rails.approval.edit import (
    Contents,
    Editor,
    HumanEditError,
    Judge,
    Revalidate,
    edited,
    edited_run,
    hunks,
    in_editor,
    parameters_in_editor,
    without_hunks,
)
from rails.approval.policy.grants import (
    MINUTES,
    USES,
    Grants,
    as_toml,
    propose,
    wider,
)
from rails.approval.policy.rules import PolicyRule
from rails.approval.question import as_drawn
from rails.approval.terminal.console import Console, ConsoleOptions, Elsewhere, NoAnswer, Pasted, key_line
from rails.core.errors import RailsError
from rails.core.paths import WorkspacePath
from rails.core.text import counted, one_line
from rails.render.blocks import show
from rails.render.terminal import wrap

#: Lines of a piece that are shown when the human chooses among pieces.
_LINES: Final = 6
_BAR: Final = "   | "


def without_pieces(console: Console, request: ApprovalRequest) -> Contents | None:
    """Ask which hunks to drop; return the contents, or None. Raises HumanEditError."""
    pieces = [(change, n) for change in as_drawn(request.changes.changes) for n in range(len(hunks(change)))]
    _list(console, request)
    console.arm()
    console.put(f"Numbers of the parts to leave out (empty = none, {_BACK} = back): ")
    words = console.line().replace(",", " ").split()
    if words == [_BACK]:
        return None
    if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= len(pieces) for word in words):
        console.put(f"Type numbers from 1 to {len(pieces)}.\n")
        return None
    dropped: dict[WorkspacePath, set[int]] = {}
    for change, n in (pieces[int(word) - 1] for word in words):
        dropped.setdefault(change.path, set()).add(n)
    chosen = [change for change in request.changes.changes if change.path in dropped]
    return {change.path: without_hunks(change, dropped[change.path]) for change in chosen} or None


def _list(console: Console, request: ApprovalRequest) -> None:
    number = 0
    for change in as_drawn(request.changes.changes):
        for old, new in hunks(change):
            number += 1
            lines = [*(f"- {show(line[:-1])}" for line in old), *(f"+ {show(line[:-1])}" for line in new)]
            cut = [f"[… {counted(len(lines) - _LINES, 'more line')} …]"] if len(lines) > _LINES else []
            console.put(f"{number}: {change.path}\n", "title")
            width = console.look().width - len(_BAR)
            for line in (*lines[:_LINES], *cut):
                console.put("".join(f"{_BAR}{piece}\n" for piece in wrap(line.expandtabs(4), width)))


def ask_for_grant(
    console: Console, grants: Grants | None, request: ApprovalRequest, dry_run: Callable[[PolicyRule], str] | None
) -> str:
    """Show the rule and its effect on past sessions; return the grant once "grant" is typed."""
    rule = propose(request)
    if isinstance(rule, str) or grants is None:
        console.put(f"{one_line(str(rule), 400)}\n")
        return ""
    console.put(f"This rule would hold for {USES} approvals and {MINUTES} minutes:\n{as_toml(rule)}\n")
    if dry_run:
        console.put(f"{dry_run(rule)}\n")
    console.arm()
    console.put('Type "grant" and Enter to approve this and add the rule; anything else does not: ')
    if console.line().casefold() != "grant":
        console.put("Nothing was granted.\n")
        return ""
    return str(grants.add(rule))


#: Questions for one answer; then it counts as a denial.
_TRIES: Final = 20


class Choices(Struct, frozen=True):
    """Further answers, and what each needs.

    ``judge``: the gate, for edits; ``revalidate``: the same for parameters; ``dry_run``: what a rule would have done in
    past sessions; ``editor`` replaces ``$EDITOR``.
    """

    judge: Judge | None = None
    revalidate: Revalidate | None = None
    grants: Grants | None = None
    dry_run: Callable[[PolicyRule], str] | None = None
    from_project: Collection[str] = ()
    editor: Editor | None = None


class TerminalApprover:
    """Draws the request, waits for quiet, asks.

    Input that is not a terminal is denied. A timeout is a denial by "timeout"; "elsewhere" decides nothing
    (``rails.approval.queue``). Options: :class:`~rails.approval.terminal.console.Console`.
    """

    def __init__(
        self,
        stream_in: TextIO | None = None,
        stream_out: TextIO | None = None,
        *,
        choices: Choices | None = None,
        clock: Callable[[], float] = time.monotonic,
        **options: Unpack[ConsoleOptions],
    ) -> None:
        self._console = Console(stream_in, stream_out, clock=clock, **options)
        self._choices = choices or Choices()
        self._clock = clock

    def decide(self, request: ApprovalRequest) -> Decision:
        """Show ``request`` and return the answer. An error denies; Ctrl-C answers nothing."""
        if not self.attended:
            return Decision("deny", NO_HUMAN, "headless", of=request.digest)
        started = self._clock()
        answer: Choice = "deny"
        scope = "once"
        final = request
        try:
            answer, reason, scope, final = _Question(self._console, self._choices, request).ask()
            by = "human"
        except NoAnswer as error:
            reason = str(error)
            by = error.by
            if isinstance(error, Elsewhere):
                self._console.put("\n")
        except (OSError, ValueError) as error:
            reason = f"the terminal failed: {error}"
            by = "error"
        instead = final if answer == "approve" and final is not request else None
        seconds = round(self._clock() - started, 3)
        return Decision(answer, reason, by, seconds=seconds, scope=scope, edited=instead, of=final.digest)

    @property
    def attended(self) -> bool:
        """Whether input is a terminal."""
        return self._console.attended


_Answered = tuple[Choice, str, str, ApprovalRequest]
#: What goes back to the question from whatever was begun there.
_BACK: Final = "<"


class _Key(Struct, frozen=True):
    letter: str
    word: str
    label: str
    meaning: str
    act: Callable[[], _Answered | None]


class _Question:
    def __init__(self, console: Console, choices: Choices, request: ApprovalRequest) -> None:
        self._console = console
        self._choices = choices
        self._original = self.request = request
        self._hidden = 0
        self._rest = ""

    def _keys(self) -> Iterator[_Key]:
        yes = 'type "approve"' if self.request.risks else "[a]pprove"
        changes = self.request.kind == "changes"
        choices = self._choices
        yield _Key("a", "approve", yes, "do exactly what is shown, and only that", self._yes)
        yield _Key("d", "deny", "[d]eny with a reason", "refuse it; the agent reads your reason", self._no)
        yield _Key("s", "stop", "[s]top the session", "refuse it and end the session for good", self._stop)
        if changes and choices.judge:
            edit = "change it in your editor; it is checked and shown again before anything is written"
            yield _Key("e", "edit", "[e]dit", edit, self._edit)
            yield _Key("p", "partial", "[p]artial (choose hunks)", "choose parts to leave unchanged", self._leave_out)
        if not changes and choices.revalidate:
            yield _Key("e", "edit", "[e]dit", "change the parameters in your editor", self._edit_run)
        if self.request is not self._original:
            yield _Key("o", "original", "[o]riginal", "go back to what the agent proposed", self._back)
        if choices.grants and (more := wider(self.request)):
            yield _Key("w", "widen", f"[w]iden to {more[0]}", f"approve it, and from now on {more[0]}", self._widen)
        if changes and choices.grants:
            grant = "approve it, and allow similar changes for a while, by a rule that you see first"
            yield _Key("g", "grant", "[g]rant (always allow…)", grant, self._grant)
        if choices.grants and choices.grants.active():
            yield _Key("r", "revoke", "[r]evoke grants", "end every grant", self._revoke)
        yield _Key("v", "view", "[v]iew everything", "show every line, and what the agent sent", self._view)
        yield _Key("?", "help", "[?]", "explain these keys", self._explain)

    def ask(self) -> _Answered:
        self._hidden = self._console.show(self.request, full=False)
        for _ in range(_TRIES):
            try:
                if answered := self._answered():
                    return answered
            except Pasted as pasted:
                self._console.put(f"\n{pasted}\n", "risk")
                self._hidden = self._console.show(self.request, full=False)
        return "deny", f"no clear answer in {_TRIES} tries", "once", self.request

    def _answered(self) -> _Answered | None:
        if self._hidden:
            self._console.put(f"Not shown: {counted(self._hidden, 'line')}. Type v to see everything.\n", "risk")
        for held in self._choices.grants.active() if self._choices.grants else ():
            self._console.put(f"In force: {one_line(str(held), 400)}\n", "risk")
        keys = tuple(self._keys())
        self._console.put(key_line(*(key.label for key in keys)))
        word, _, rest = self._console.line().partition(" ")
        key = next((key for key in keys if word.casefold() in (key.letter, key.word)), None)
        if key and key.letter == "a" and self.request.risks and word.casefold() == "a":
            self._console.put('There are risks above: type the whole word "approve".\n')
        elif key:
            return self._acted(key, rest.strip())
        else:
            self._console.put("Not a valid choice. Type ? for help.\n")
        return None

    def _acted(self, key: _Key, rest: str) -> _Answered | None:
        self._rest = rest
        try:
            return key.act()
        except NoAnswer:
            raise
        except RailsError as error:
            self._console.put(f"{one_line(str(error), 800)}\n")
            return None

    def _explain(self) -> None:
        for key in self._keys():
            typed = key.word if key.letter == "a" and self.request.risks else f"{key.letter} or {key.word}"
            self._console.put(f"  {typed:<14} {key.meaning}.\n")
        self._console.put("  Any other input, even an empty line, decides nothing. Ctrl-C pauses the session.\n")

    def _back(self) -> None:
        self.request = self._original
        self._hidden = self._console.show(self.request, full=False)

    def _yes(self) -> _Answered | None:
        if self._rest:
            self._console.put("Not a valid choice: an approval takes no further words.\n")
            return None
        return "approve", "", "once", self.request

    def _no(self) -> _Answered | None:
        reason = self._rest or self._reason()
        return None if reason == _BACK else ("deny", reason, "once", self.request)

    def _stop(self) -> _Answered | None:
        return "abort", self._rest, "once", self.request

    def _view(self) -> None:
        self._hidden = self._console.show(self.request, full=True)

    def _reason(self) -> str:
        self._console.put(f"Reason (sent to the model; Enter: none, {_BACK}: back): ")
        try:
            return self._console.line()
        except (Elsewhere, Pasted):
            raise
        except NoAnswer:
            return ""

    def _edit(self) -> None:
        self._replace(in_editor(self.request, self._choices.editor))

    def _edit_run(self) -> None:
        if self._choices.revalidate is None:
            raise HumanEditError("Edits cannot be checked here, so none is accepted.")
        text = parameters_in_editor(self.request, self._choices.editor)
        self.request = edited_run(self.request, text, self._choices.revalidate)
        self._hidden = self._console.show(self.request, full=False)

    def _leave_out(self) -> None:
        if contents := without_pieces(self._console, self.request):
            self._replace(contents)

    def _replace(self, contents: Contents) -> None:
        if self._choices.judge is None:
            raise HumanEditError("Edits cannot be checked here, so none is accepted.")
        self._console.put("Checking your version.\n")
        self.request = edited(self.request, contents, self._choices.judge, self._choices.from_project)
        self._hidden = self._console.show(self.request, full=False)

    def _grant(self) -> _Answered | None:
        scope = ask_for_grant(self._console, self._choices.grants, self.request, self._choices.dry_run)
        return ("approve", "", scope, self.request) if scope else None

    def _widen(self) -> _Answered | None:
        grants = self._choices.grants
        scope = grants.widen(self.request) if grants else ""
        if not scope:
            return None
        self._console.put(f"{scope}. r revokes it at the next question.\n")
        return "approve", "", scope, self.request

    def _revoke(self) -> None:
        for grant in self._choices.grants.revoke_all() if self._choices.grants else ():
            self._console.put(f"Revoked: {one_line(str(grant), 400)}\n")
