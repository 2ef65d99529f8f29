"""The overseer: rules over a session's records that say when a human should look.

Covered: the same failure or request again and again, a file going back and forth between states, tools outside the
role, paths outside the project and files with secrets, commands that destroy or download and run, credentials, results
that steer an agent or that it wrote itself, an agent that stalls.
Not covered: whether the work is any good. A rule that breaks is itself an alert, so that silence always means that
every rule has looked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from rails.agents.monitor_rules import behaviour, safety
from rails.agents.monitor_rules.alert import WatchRule
from rails.core.events.record import Record
from rails.core.events.session import OverseerAlert
from rails.core.text import one_line

RULES: Mapping[str, Callable[[], WatchRule]] = {
    "repeated failures": behaviour.repeated_failures,
    "repeated requests": behaviour.repeated_requests,
    "oscillation": behaviour.oscillation,
    "out of role": safety.out_of_role,
    "forbidden places": safety.forbidden_places,
    "dangerous commands": lambda: safety.dangerous_commands,
    "credentials": lambda: safety.credentials,
    "instructions in results": lambda: safety.instructions_in_results,
    "invented results": lambda: behaviour.invented_results,
    "stalling": behaviour.stalling,
    "empty answers": lambda: behaviour.empty_answers,
}


class Watch:
    """Looks at a session's records as they come, each of them once."""

    def __init__(self) -> None:
        self._looks = {name: rule() for name, rule in RULES.items()}

    def take(self, record: Record) -> list[OverseerAlert]:
        """Return the alerts that a record gives rise to."""
        found: list[OverseerAlert] = []
        for name, look in tuple(self._looks.items()):
            try:
                found += (replace(alert, rule=name) for alert in look(record, record.event))
            except Exception as error:
                # A rule that breaks must not pass for a clean session; that is said once.
                del self._looks[name]
                found.append(replace(_broken(name, error, record), rule=name))
        return found


def watch(records: Sequence[Record]) -> tuple[OverseerAlert, ...]:
    """Return every alert that the rules find in a session, in the order of the records that show them."""
    watching = Watch()
    return tuple(alert for record in records for alert in watching.take(record))


def _broken(name: str, error: Exception, record: Record) -> OverseerAlert:
    return OverseerAlert(
        "CRITICAL",
        "",
        record.timestamp,
        "Other",
        f"The rule {name!r} could not examine the session.",
        one_line(f"{type(error).__name__}: {error}", 200),
        "Read the log yourself before you trust it.",
        record.seq,
        "",
    )
