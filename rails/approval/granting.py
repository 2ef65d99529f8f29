"""Giving and taking back grants at the question: the rule is shown in full before it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rails.approval.board import EVERY
from rails.approval.decision import ApprovalRequest
from rails.approval.grants import MINUTES, USES, Grants, as_toml, propose
from rails.approval.rules import Rule
from rails.core.text import one_line

if TYPE_CHECKING:
    from rails.approval.terminal import TerminalApprover


def words(grants: Grants | None) -> list[str]:
    """Return what the question says of revoking: nothing, unless there is something to revoke."""
    active = grants.active() if grants else ()
    if not active:
        return []
    return ["[r]evoke the grant" if len(active) == 1 else f"[r]evoke one of {len(active)} grants"]


def give(
    terminal: TerminalApprover, grants: Grants | None, request: ApprovalRequest, dry_run: Callable[[Rule], str] | None
) -> str:
    """Show the rule and what it would have let through; return the grant in words once "grant" is typed."""
    rule = propose(request)
    if isinstance(rule, str) or grants is None:
        terminal.put(f"{one_line(str(rule), 400)}\n")
        return ""
    terminal.put(f"This rule would hold for {USES} approvals and {MINUTES} minutes:\n{as_toml(rule)}\n")
    if dry_run:
        terminal.put(f"{dry_run(rule)}\n")
    terminal.arm()
    terminal.put('Type "grant" and Enter to approve this and give the rule; anything else does not: ')
    if terminal.line().casefold() != "grant":
        terminal.put("Nothing is granted.\n")
        return ""
    return str(grants.add(rule))


def revoke(terminal: TerminalApprover, grants: Grants | None, named: str) -> None:
    """Show the grants in force and end those that are named; the question stays open."""
    active = grants.active() if grants else ()
    if grants is None or not active:
        terminal.put("No grant is in force.\n")
        return
    if not named:
        terminal.put("".join(f"{one_line(str(grant), 400)}\n" for grant in active))
        terminal.put("Number of the grant to revoke, or all (Enter: none): ")
        named = terminal.line()
    numbers = {str(grant.number): grant.number for grant in active}
    for word in list(numbers) if named.casefold() == EVERY else named.replace(",", " ").split():
        done = word in numbers and grants.revoke(numbers[word])
        text = f"Grant {word} is revoked." if done else f"There is no grant {one_line(word, 20)!r} in force."
        terminal.put(f"{text}\n")
