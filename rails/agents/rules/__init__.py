"""The overseer's rules. Each looks at all records of a session and yields alerts; none depends on another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rails.agents.alert import Alert
from rails.agents.rules import habits, safety
from rails.core.events import Record

RULES: Final[Mapping[str, Callable[[Sequence[Record]], Iterator[Alert]]]] = {
    "repeated failures": habits.repeated_failures,
    "repeated requests": habits.repeated_requests,
    "denied again": habits.denied_again,
    "oscillation": habits.oscillation,
    "out of role": safety.out_of_role,
    "made up tools": habits.made_up_tools,
    "forbidden places": safety.forbidden_places,
    "dangerous commands": safety.dangerous_commands,
    "credentials": safety.credentials,
    "instructions in results": safety.instructions_in_results,
    "invented results": habits.invented_results,
    "stalling": habits.stalling,
    "empty answers": habits.empty_answers,
}
