"""The overseer's rules. Each looks at all records of a session and yields alerts; none depends on another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rails.agents.monitor_rules import behaviour, safety
from rails.agents.monitor_rules.alert import Alert
from rails.core.events import Record

RULES: Final[Mapping[str, Callable[[Sequence[Record]], Iterator[Alert]]]] = {
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
