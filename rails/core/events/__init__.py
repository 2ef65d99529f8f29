"""The events of a session, one frozen class for each type; see ``rails.core.events.record`` for the log's form.

    session    a session and its agents: start and end, hand-offs, escalation, what people and the overseer say
    turn       one question to a model: its answer, the calls in it, corrections, refusals, feedback
    changes    proposed files: planned, judged by the gate, written, undone
    approval   what is asked of a human, and the answer

Write with ``publish(GateVerdict(…))``; read with ``match record.event: case GateVerdict(verdict=verdict): …``.
"""
