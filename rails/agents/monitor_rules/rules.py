"""The overseer: rules over a session's records that say when a human should look.

Covered: the same failure or request again and again, a file going back and forth between states, tools outside the
role or made up, paths outside the project and files with secrets, a denied request that comes again, commands that
destroy or download and run, credentials, results that steer an agent or that it wrote itself, an agent that stalls.
Not covered: whether the work is any good. A rule that breaks is itself an alert, so that silence always means that
every rule has looked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rails.agents.monitor_rules import behaviour, safety
from rails.core.events.record import Record
from rails.core.events.session import OverseerAlert
from rails.core.text import one_line

RULES: Final[Mapping[str, Callable[[Sequence[Record]], Iterator[OverseerAlert]]]] = {
    "repeated failures": behaviour.repeated_failures,
    "repeated requests": behaviour.repeated_requests,
    "denied again": behaviour.denied_again,
    "oscillation": behaviour.oscillation,
    "out of role": safety.out_of_role,
    "made up tools": behaviour.made_up_tools,
    "forbidden places": safety.forbidden_places,
    "dangerous commands": safety.dangerous_commands,
    "credentials": safety.credentials,
    "instructions in results": safety.instructions_in_results,
    "invented results": behaviour.invented_results,
    "stalling": behaviour.stalling,
    "empty answers": behaviour.empty_answers,
}


def watch(records: Sequence[Record]) -> tuple[OverseerAlert, ...]:
    """Return every alert that the rules find in a session, in the order of the records that show them."""
    found: list[OverseerAlert] = []
    for name, rule in RULES.items():
        try:
            found += rule(records)
        except Exception as error:
            # A rule that breaks must not pass for a clean session.
            found.append(_broken(name, error, records))
    return tuple(sorted(found, key=lambda alert: alert.seq))


def _broken(name: str, error: Exception, records: Sequence[Record]) -> OverseerAlert:
    last = records[-1] if records else None
    return OverseerAlert(
        "CRITICAL",
        "",
        last.timestamp if last else "",
        "Other",
        f"The rule {name!r} could not examine the session.",
        one_line(f"{type(error).__name__}: {error}", 200),
        "Read the log yourself before you trust it.",
        last.seq if last else 0,
        "",
    )
