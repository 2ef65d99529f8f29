"""The events of a session, a frozen class each; ``rails.core.events.record`` has the log's form.

Write: ``publish(GateVerdict(…))``; read: ``match record.event: case GateVerdict(verdict=verdict): …``.
"""
