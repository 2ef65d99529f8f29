"""The tool definitions of a project that nobody has accepted as they are now, and the question to a human.

Until a definition is accepted, ``rails.tools.loader.load_definitions`` lets its tool ask before every use.
"""

from __future__ import annotations

from rails.core.dataclass import dataclass
from rails.core.text import printable
from rails.tools.describe import what_runs
from rails.tools.registry import Definition, Registry
from rails.trust.record import TrustRecord, file_for_review


@dataclass(frozen=True, slots=True)
class PendingDefinition:
    """A definition that waits for a human: ``before`` is the text that was accepted last, or empty."""

    definition: Definition
    before: str = ""

    def question(self) -> str:
        """All that a human should see before accepting: what runs, the change, and the whole file."""
        one = self.definition
        first = f"{one.tool_name} ({one.source}) {what_runs(one.transport)}"
        return printable("\n".join((first, "", *file_for_review(self.before, one.text))))


def pending_definitions(registry: Registry, record: TrustRecord) -> tuple[PendingDefinition, ...]:
    """The definitions of ``registry`` that nobody accepted as they are now, by name. Raises UsageError."""
    waiting = [registry.definitions[name] for name in registry.names() if not registry.definitions[name].trusted]
    return tuple(PendingDefinition(one, record.accepted_text(one.tool_name)) for one in waiting)


def accept_definition(definition: Definition, record: TrustRecord) -> None:
    """Record that a human accepted this text. Raises UsageError when it cannot be recorded."""
    record.accept(definition.tool_name, definition.digest, definition.text)
