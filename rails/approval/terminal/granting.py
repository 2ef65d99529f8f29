"""Giving and taking back grants at the question: the rule is shown in full before it holds."""

from __future__ import annotations

from collections.abc import Callable

from rails.approval.decision import ApprovalRequest
from rails.approval.policy.board import EVERY
from rails.approval.policy.grants import MINUTES, USES, Grants, as_toml, propose
from rails.approval.policy.rules import Rule
from rails.approval.terminal.console import Console
from rails.core.text import one_line


def words(grants: Grants | None) -> list[str]:
    """Return what the question says of revoking: nothing, unless there is something to revoke."""
    active = grants.active() if grants else ()
    if not active:
        return []
    return ["[r]evoke the grant" if len(active) == 1 else f"[r]evoke one of {len(active)} grants"]


def give(
    console: Console, grants: Grants | None, request: ApprovalRequest, dry_run: Callable[[Rule], str] | None
) -> str:
    """Show the rule and what it would have let through; return the grant in words once "grant" is typed."""
    rule = propose(request)
    if isinstance(rule, str) or grants is None:
        console.put(f"{one_line(str(rule), 400)}\n")
        return ""
    console.put(f"This rule would hold for {USES} approvals and {MINUTES} minutes:\n{as_toml(rule)}\n")
    if dry_run:
        console.put(f"{dry_run(rule)}\n")
    console.arm()
    console.put('Type "grant" and Enter to approve this and give the rule; anything else does not: ')
    if console.line().casefold() != "grant":
        console.put("Nothing is granted.\n")
        return ""
    return str(grants.add(rule))


def revoke(console: Console, grants: Grants | None, named: str) -> None:
    """Show the grants in force and end those that are named; the question stays open."""
    active = grants.active() if grants else ()
    if grants is None or not active:
        console.put("No grant is in force.\n")
        return
    if not named:
        console.put("".join(f"{one_line(str(grant), 400)}\n" for grant in active))
        console.put("Number of the grant to revoke, or all (Enter: none): ")
        named = console.line()
    numbers = {str(grant.number): grant.number for grant in active}
    for word in list(numbers) if named.casefold() == EVERY else named.replace(",", " ").split():
        done = word in numbers and grants.revoke(numbers[word])
        text = f"Grant {word} is revoked." if done else f"There is no grant {one_line(word, 20)!r} in force."
        console.put(f"{text}\n")
