"""Grants: approvals that hold for a while, as readable rules.

They live in this process, expire, and cover clean creations and modifications in one folder or by name; never deleting,
running or protected paths.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rails.approval.decision import ApprovalRequest
from rails.approval.policy.rules import Circumstances, Policy, PolicyRule, items_of
from rails.core.builtin_tools import RUN_COMMAND, RUN_TESTS

USES: Final = 20
MINUTES: Final = 30
#: The largest change a grant covers, in added and removed lines: more than a screen is worth a look.
GRANT_LINES: Final = 200
#: The bounds of what holds for a session.
SESSION_USES: Final = 1_000
SESSION_MINUTES: Final = 24 * 60


class Grant(Struct, frozen=True):
    """A rule for ``uses`` more approvals, until ``ends`` (seconds since the epoch).

    ``extent``: the words of a grant for the session.
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


class Change(Struct, frozen=True):
    """A grant given or revoked, for the log."""

    what: Literal["given", "revoked"]
    grant: Grant


class Grants:
    """The grants in force in this process."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._grants: dict[int, Grant] = {}
        self._given = 0
        self._changes: list[Change] = []

    def add(self, rule: PolicyRule, *, uses: int = USES, minutes: float = MINUTES, extent: str = "") -> Grant:
        """Grant ``rule`` for ``uses`` approvals and ``minutes``."""
        self._given += 1
        named = replace(rule, number=self._given, name="grant", source="this session")
        grant = self._grants[self._given] = Grant(self._given, named, uses, self._clock() + minutes * 60, extent)
        self._changes.append(Change("given", grant))
        return grant

    def widen(self, request: ApprovalRequest) -> str:
        """Extend an approval to the session; return that in words, or ""."""
        more = wider(request)
        return str(self.add(more[1], uses=SESSION_USES, minutes=SESSION_MINUTES, extent=more[0])) if more else ""

    def active(self) -> tuple[Grant, ...]:
        """Return the grants in force."""
        now = self._clock()
        return tuple(grant for grant in self._grants.values() if grant.uses > 0 and now < grant.ends)

    def revoke(self, number: int) -> bool:
        """End a grant; say whether there was one."""
        grant = self._grants.pop(number, None)
        if grant is not None:
            self._changes.append(Change("revoked", grant))
        return grant is not None

    def revoke_all(self) -> tuple[Grant, ...]:
        """End every grant and return them."""
        return tuple(grant for grant in self.active() if self.revoke(grant.number))

    def changes(self) -> tuple[Change, ...]:
        """Return what was given and revoked since the last call."""
        changes = tuple(self._changes)
        self._changes = []
        return changes

    def take(
        self, request: ApprovalRequest, rules: Iterable[PolicyRule] = (), around: Circumstances | None = None
    ) -> tuple[Grant, ...]:
        """Use the grants that, with ``rules``, cover ``request``; return them, or ()."""
        active = {grant.rule: grant for grant in self.active()}
        judgement = Policy((*rules, *active)).judge(request, around or Circumstances())
        used = tuple(active[rule] for rule in judgement.rules if rule in active)
        spent = tuple(replace(grant, uses=grant.uses - 1) for grant in used)
        self._grants.update((grant.number, grant) for grant in spent)
        return spent


def wider(request: ApprovalRequest) -> tuple[str, PolicyRule] | None:
    """Return what an approval could cover for the session, in words and as a rule; None if there is a risk."""
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
    """Return the narrowest useful rule for ``request``, or why there is none."""
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
    """Return an allow rule in words."""
    return (
        f"{' or '.join(rule.agent) or 'any agent'} may {' or '.join(rule.kind) or 'use'} "
        f"{', '.join(rule.path) or 'any file'} with {', '.join(rule.tool) or 'any tool'}"
        + (f", at most {rule.max_lines} lines" if rule.max_lines is not None else "")
        + (", if the checks pass" if rule.verdict == ("pass",) else "")
        + (" and nothing had to be repaired" if rule.clean else "")
    )


def as_toml(rule: PolicyRule) -> str:
    """Return the rule as in a policy file."""
    lists = {key: getattr(rule, key) for key in ("tool", "path", "kind", "verdict", "agent")}
    lines = ["[[rule]]", f"decision = {json.dumps(rule.decision)}"]
    lines += [f"{key} = {json.dumps(list(values))}" for key, values in lists.items() if values]
    if rule.max_lines is not None:
        lines.append(f"max_lines = {rule.max_lines}")
    if rule.clean:
        lines.append("clean = true")
    return "\n".join(lines)
