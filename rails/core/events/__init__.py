"""The events of a session, one frozen class for each type; ``rails.core.events.record`` has the log's form.

Write with ``publish(GateVerdict(…))``; read with ``match record.event: case GateVerdict(verdict=verdict): …``.
"""
