"""Grants: "yes, and the same again for a while", as a rule that everyone can read.

A grant lives in this process only, ends by itself, and covers what was clean: files of one folder or
by name, created or modified, checks passed, nothing repaired on the way. Deleting, running and
protected paths can't be granted. After a restart everything is asked about again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from rails.approval.decision import ApprovalRequest
from rails.approval.policy.rules import Circumstances, Policy, PolicyRule, items_of
from rails.core import atomic_file
from rails.core.builtin_tools import RUN_COMMAND, RUN_TESTS
from rails.core.dataclass import dataclass, replace
from rails.core.lazy_pattern import lazy

_MOST_BYTES: Final = 100_000
_BOARDS: Final = 100
_LIVE: Final = lazy(r"[1-9][0-9]{0,8}\.json")
EVERY: Final = "all"


@dataclass(frozen=True, slots=True)
class PostedGrant:
    """A grant as another process sees it: whose it is, its number, and what it says in words."""

    process: int
    number: int
    words: str


class GrantsFile:
    """The board in ``folder``, from the side of this process."""

    def __init__(self, folder: Path) -> None:
        self._own = folder / f"{os.getpid()}.json"
        self._revoked = folder / f"{os.getpid()}.revoke"
        self._up = False

    def post(self, grants: Mapping[int, str]) -> None:
        """Show ``grants`` (number and words), or take the board down when there are none.

        A board that cannot be written is no reason to stop: the grants can still be revoked at the prompt.
        """
        with contextlib.suppress(OSError):
            if not grants:
                self._own.unlink()
                return
            if any(folder.is_symlink() for folder in (self._own.parent, self._own.parent.parent)):
                return  # a project could lead us anywhere with it
            if not self._up:
                self._revoked.unlink(missing_ok=True)  # of an earlier process with this number
                self._up = True
            shown = json.dumps([{"number": n, "words": words} for n, words in grants.items()])
            atomic_file.replace_file(self._own, shown.encode(), durable=False)

    def revoked(self) -> tuple[str, ...]:
        """Return what others asked to revoke: numbers, or "all"."""
        return tuple(_read(self._revoked).split()) if self._up else ()


def posted_grants(folder: Path) -> Iterator[PostedGrant]:
    """Yield the grants of every process that still runs."""
    names = sorted(path.name for path in folder.glob("*.json"))
    for name in [name for name in names if _LIVE.fullmatch(name)][:_BOARDS]:
        process = int(name.removesuffix(".json"))
        if _runs(process):
            yield from _posted(process, _read(folder / name))


def ask_to_revoke(folder: Path, grants: Iterable[PostedGrant]) -> None:
    """Ask the processes of ``grants`` to revoke them; each does so before it lets anything through again."""
    for grant in grants:
        with (folder / f"{grant.process}.revoke").open("ab") as file:
            file.write(b"%d\n" % grant.number)


def _posted(process: int, text: str) -> Iterator[PostedGrant]:
    try:
        items = json.loads(text)
        yield from [PostedGrant(process, int(item["number"]), str(item["words"])) for item in items]
    except (ValueError, TypeError, KeyError):
        return


def _read(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # else it runs, as somebody else
    return True


USES: Final = 20
MINUTES: Final = 30
#: The largest change a grant covers, in added and removed lines: more than a screen is worth a look.
GRANT_LINES: Final = 200
#: The bounds of what holds for a session.
SESSION_USES: Final = 1_000
SESSION_MINUTES: Final = 24 * 60


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule with an end: ``uses`` more approvals, until ``ends`` (seconds since the epoch).

    ``extent`` are the words of one that holds for the rest of the session.
    """

    number: int
    rule: PolicyRule
    uses: int
    ends: float
    extent: str = ""

    def __str__(self) -> str:
        if self.extent:
            return f"grant {self.number}: {self.extent}"
        until = datetime.fromtimestamp(self.ends, UTC).strftime("%H:%M UTC")
        return f"grant {self.number}: {sentence(self.rule)}; {self.uses} more, until {until}"


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a grant, for the log: given, or revoked by somebody."""

    what: Literal["given", "revoked"]
    grant: Grant


class Grants:
    """The grants in force. With a ``board``, other processes can see and revoke them."""

    def __init__(self, clock: Callable[[], float] = time.time, board: GrantsFile | None = None) -> None:
        self._clock = clock
        self._board = board
        self._grants: dict[int, Grant] = {}
        self._given = 0
        self._changes: list[Change] = []

    def add(self, rule: PolicyRule, *, uses: int = USES, minutes: float = MINUTES, extent: str = "") -> Grant:
        """Put ``rule`` in force for ``uses`` approvals and ``minutes``."""
        self._given += 1
        named = replace(rule, number=self._given, name="grant", source="this session")
        grant = self._grants[self._given] = Grant(self._given, named, uses, self._clock() + minutes * 60, extent)
        self._changes.append(Change("given", grant))
        self._post()
        return grant

    def widen(self, request: ApprovalRequest) -> str:
        """Let a yes hold for the rest of the session; return that in words, or "" where it holds for one only."""
        more = wider(request)
        return str(self.add(more[1], uses=SESSION_USES, minutes=SESSION_MINUTES, extent=more[0])) if more else ""

    def active(self) -> tuple[Grant, ...]:
        """Return the grants that are still good for something, without those that were revoked from elsewhere."""
        for word in self._board.revoked() if self._board else ():
            numbers = list(self._grants) if word == EVERY else [int(word)] if word.isdecimal() else []
            for number in numbers:
                self.revoke(number)
        now = self._clock()
        return tuple(grant for grant in self._grants.values() if grant.uses > 0 and now < grant.ends)

    def revoke(self, number: int) -> bool:
        """End a grant. Returns whether there was one."""
        grant = self._grants.pop(number, None)
        if grant is not None:
            self._changes.append(Change("revoked", grant))
            self._post()
        return grant is not None

    def revoke_all(self) -> tuple[Grant, ...]:
        """End every grant in force and return them."""
        return tuple(grant for grant in self.active() if self.revoke(grant.number))

    def changes(self) -> tuple[Change, ...]:
        """Return what was given and revoked since this was last asked."""
        changes, self._changes = tuple(self._changes), []
        return changes

    def take(
        self, request: ApprovalRequest, rules: Iterable[PolicyRule] = (), around: Circumstances | None = None
    ) -> tuple[Grant, ...]:
        """Use the grants that, with ``rules``, cover ``request``; return them, or nothing if they don't."""
        active = {grant.rule: grant for grant in self.active()}
        judgement = Policy((*rules, *active)).judge(request, around or Circumstances())
        used = tuple(active[rule] for rule in judgement.rules if rule in active)
        spent = tuple(replace(grant, uses=grant.uses - 1) for grant in used)
        self._grants.update((grant.number, grant) for grant in spent)
        self._post()
        return spent

    def close(self) -> None:
        """End every grant: the process that held them is done."""
        self._grants.clear()
        self._post()

    def _post(self) -> None:
        if self._board:
            now = self._clock()
            alive = [grant for grant in self._grants.values() if grant.uses > 0 and now < grant.ends]
            self._board.post({grant.number: str(grant) for grant in alive})


def wider(request: ApprovalRequest) -> tuple[str, PolicyRule] | None:
    """Return what a yes could be widened to for the session, in words and as a rule; None where it holds for one only.

    Nothing with a risk is covered by it: that is asked about each time.
    """
    if request.risks or request.returned:
        return None
    if request.kind == "changes":
        words = "all edits that pass the gate, this session"
        rule = PolicyRule(0, "allow", "this session", kind=("create", "modify"), verdict=("pass",), clean=True)
    elif set(request.tools) <= {RUN_COMMAND.name, RUN_TESTS.name}:
        words = "all sandboxed commands, this session"
        rule = PolicyRule(0, "allow", "this session", tool=(RUN_COMMAND.name, RUN_TESTS.name), kind=("run",))
    else:
        return None
    return (words, rule) if all(map(rule.matches, items_of(request))) else None


def propose(request: ApprovalRequest) -> PolicyRule | str:
    """Return the narrowest useful rule that would have allowed ``request``, or why it can't be granted."""
    if request.kind != "changes":
        return "Running a tool cannot be granted; it is asked about each time."
    if request.risks:
        return f"This cannot be granted: {request.risks[0]}"
    if request.notes:
        return f"This cannot be granted, because something was adjusted: {request.notes[0]}"
    paths = sorted(str(change.path) for change in request.changes.changes)
    folders = {path.rpartition("/")[0] for path in paths}
    rule = PolicyRule(
        number=0,
        decision="allow",
        source="this session",
        tool=request.tools,
        path=(f"{folders.pop()}/*",) if len(folders) == 1 and "" not in folders else tuple(paths),
        kind=("create", "modify"),
        verdict=("pass",),
        agent=(request.agent,),
        max_lines=GRANT_LINES,
        clean=True,
    )
    if not all(rule.matches(item) for item in items_of(request)):
        return f"This cannot be granted: it changes more than {GRANT_LINES} lines, or names that are patterns."
    return rule


def sentence(rule: PolicyRule) -> str:
    """Return what an allow rule allows, in words."""
    return (
        f"{' or '.join(rule.agent) or 'any agent'} may {' or '.join(rule.kind) or 'use'} "
        f"{', '.join(rule.path) or 'any file'} with {', '.join(rule.tool) or 'any tool'}"
        + (f", at most {rule.max_lines} lines" if rule.max_lines is not None else "")
        + (", if the checks pass" if rule.verdict == ("pass",) else "")
        + (" and nothing had to be repaired" if rule.clean else "")
    )


def as_toml(rule: PolicyRule) -> str:
    """Return the rule as it would stand in a policy file."""
    lists = {key: getattr(rule, key) for key in ("tool", "path", "kind", "verdict", "agent")}
    lines = ["[[rule]]", f"decision = {json.dumps(rule.decision)}"]
    lines += [f"{key} = {json.dumps(list(values))}" for key, values in lists.items() if values]
    if rule.max_lines is not None:
        lines.append(f"max_lines = {rule.max_lines}")
    if rule.clean:
        lines.append("clean = true")
    return "\n".join(lines)
