"""The monitor: rules over a session's records that alert a human.

They do not judge the work's quality. A rule that crashes is an alert, too, so silence means that every rule ran.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from rails.agents.monitor_rules import behaviour, safety
from rails.agents.monitor_rules.alert import WatchRule, alert
from rails.core.events.record import Record
from rails.core.events.session import OverseerAlert

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
    """Looks at each record of a session once."""

    def __init__(self) -> None:
        self._looks = {name: rule() for name, rule in RULES.items()}

    def take(self, record: Record) -> list[OverseerAlert]:
        """Return a record's alerts."""
        found: list[OverseerAlert] = []
        for name, look in tuple(self._looks.items()):
            try:
                found += (replace(one, rule=name) for one in look(record, record.event))
            except Exception as error:
                # A rule that breaks must not pass for a clean session; that is said once.
                del self._looks[name]
                found.append(replace(_broken(name, error, record), rule=name))
        return found


def watch(records: Sequence[Record]) -> tuple[OverseerAlert, ...]:
    """Return all alerts of a session, in the order of its records."""
    watching = Watch()
    return tuple(one for record in records for one in watching.take(record))


def _broken(name: str, error: Exception, record: Record) -> OverseerAlert:
    return alert(
        record,
        "CRITICAL",
        "Other",
        description=f"The rule {name!r} could not examine the session.",
        evidence=f"{type(error).__name__}: {error}",
        recommendation="Read the log yourself before you trust it.",
    )
