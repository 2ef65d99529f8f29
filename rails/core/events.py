"""Events: what happened, in one documented, versioned form for log, screen and review.

A record of the session log is one JSON object on one line:

    v               format version, 1
    seq             1, 2, 3, … without a gap
    timestamp       UTC, ISO 8601 with microseconds and "Z"
    session_id      the session's folder name
    agent_role      the agent concerned, or ""
    llm_model_used  the model concerned, or ""
    event_type      one of EVENT_TYPES
    message         one line for a person
    details         facts for programs; its form belongs to the event type
    prev            hash of the record before ("" for the first)
    hash            SHA-256 over prev, the header and the payload's hash (``rails.log.writer``)

Version 1 grows by adding keys and event types only. A reader ignores keys it does not know and shows
types it does not know as they are; a type whose meaning changes gets a new name.

The first twelve types are the original AI-Rails log's; the others are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from rails.core.dataclass import dataclass, field
from rails.core.tool_request import Json

FORMAT_VERSION: Final = 1

EventType = Literal[
    "WORKFLOW_START",  # a session begins: project, task, versions, limits
    "WORKFLOW_END",  # a session ends: outcome and totals
    "AGENT_ENGAGE",  # an agent starts on a task: role, prompt, tools
    "LLM_CALL",  # the model is asked: number of messages
    "LLM_RESPONSE",  # the model's whole answer: parts, stop reason, usage, duration
    "LLM_ERROR",  # the model could not be used: what, whether tried again
    "MCP_REQUEST_FORMULATED",  # a tool request was found in the answer
    "TOOL_REQUEST_VALIDATED",  # it satisfies its definition
    "TOOL_REQUEST_VALIDATION_FAILED",  # it was refused: code, message, hint
    "HUMAN_DECISION",  # approve, deny or abort: who, digest, reason, after how long
    "TOOL_EXECUTION_RESULT",  # a tool ran or files were written: result
    "ERROR",  # something broke on our side
    "TOOL_STATUS",  # a request's state: buffering … executing, completed, failed
    "TOOL_BLOCK",  # a block of the answer is complete: its place, and passed, corrected or failed
    "CORRECTION",  # the model was asked to correct a block: before, after, values that changed
    "BLOCK_IGNORED",  # a block that is not a request, and why
    "CHANGE_PLANNED",  # requests became a change set: paths, hashes
    "CHANGE_REFUSED",  # requests could not become a change set: refusals
    "PLACE_CHOSEN",  # a human said where a refused edit goes: path, lines, how alike, handle
    "GATE_VERDICT",  # what the checks said: findings, fixes, not checked
    "APPROVAL_REQUESTED",  # what a human is asked: digest, diff
    "GRANT",  # a human gave a grant or took it back: which, its rule, how often and how long it holds
    "APPROVAL_OPENED",  # a human is asked now, at the terminal and the page: everything that is shown
    "APPROVAL_CLOSED",  # such a question ended without an answer: expired, withdrawn, stale, replaced
    "EXECUTION_STARTED",  # durable before the first byte changes
    "CHECKPOINT",  # a step that can be undone: step, paths
    "UNDO",  # a step was undone
    "OVERSEER_ALERT",  # a rule over the log says that a human should look
    "OUTPUT_REFUSED",  # a final answer lacks what the role's answer must have
    "FEEDBACK_SENT",  # the exact text the model gets next
    "ESCALATION",  # attempts ran out: the next escalation step (squash, model, human), and what it begins with
    "HANDOFF",  # one agent's result is ready for the next: its numbered files
    "HUMAN_STEERED",  # what a person answered between turns: about what, which way, who
    "AGENT_FINISHED",  # an agent's part is over: done, gave up, aborted
    "SESSION_RESUMED",  # a session goes on after an interruption
    "LOG_RECOVERED",  # a torn record was found and kept
]
EVENT_TYPES: Final[frozenset[str]] = frozenset(get_args(EventType))

#: Written to disk before the work goes on; the others follow with the next of these.
DURABLE: Final[frozenset[str]] = frozenset(
    {
        "WORKFLOW_START",
        "LLM_RESPONSE",
        "APPROVAL_OPENED",
        "HUMAN_DECISION",
        "EXECUTION_STARTED",
        "TOOL_EXECUTION_RESULT",
        "CHECKPOINT",
        "UNDO",
        "FEEDBACK_SENT",
        "ESCALATION",
        "HANDOFF",
        "HUMAN_STEERED",
        "WORKFLOW_END",
    }
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, before the log gives it a number, a time and a hash."""

    type: EventType
    message: str
    details: Mapping[str, Json] = field(default_factory=dict)
    agent_role: str = ""
    llm_model_used: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """An event as the log holds it. ``event_type`` is a string: a newer log may have newer types."""

    seq: int
    timestamp: str
    session_id: str
    agent_role: str
    llm_model_used: str
    event_type: str
    message: str
    details: Mapping[str, Json]
    prev: str
    hash: str
    v: int = FORMAT_VERSION
