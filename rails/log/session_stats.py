"""A session's stats: counts that a list, a sparkline or a heat-map shows, kept up record by record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Final

from rails.core.conversation import usage_from_json
from rails.core.events.record import Record
from rails.core.tool_request import Json

#: Points of the verdict sparkline that are kept, newest last.
_SPARK: Final = 40
#: What says how far a session's plan is. They are few, but nothing bounds them, so the newest are kept.
LANDMARKS: Final = frozenset(
    {"AGENT_ENGAGE", "AGENT_FINISHED", "ESCALATION", "HANDOFF", "HUMAN_STEERED", "WORKFLOW_END"}
)
_LANDMARKS: Final = 300
_MODELS: Final = 200


@dataclass(slots=True)
class SessionStats:
    """What a list shows of a session without opening it. Counts are of records; tokens are the providers' figures.

    ``spark`` has a letter for each verdict and decision, in order: p pass, f fail, e error, a approved,
    d denied. ``rules`` counts new findings by rule. ``used`` has the tokens of each model: in, out, read from the
    cache, written to it, those of corrections too. ``seconds`` is the time that was worked, ``limits`` what the
    session was started with. ``landmarks`` are the numbers of the records that say how far the plan is, ``start``
    and ``told`` those of the session's start and of the last feedback.
    """

    session_id: str
    started: str = ""
    last: str = ""
    task: str = ""
    outcome: str = ""
    message: str = ""
    records: int = 0
    damage: int = 0
    turns: int = 0
    requests: int = 0
    refused: int = 0
    gate_failed: int = 0
    approved: int = 0
    denied: int = 0
    errors: int = 0
    undone: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    agents: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)
    spark: str = ""
    used: dict[str, list[int]] = field(default_factory=dict)
    seconds: float = 0.0
    limits: dict[str, Json] = field(default_factory=dict)
    landmarks: list[int] = field(default_factory=list)
    start: int = 0
    told: int = 0

    def add(self, record: Record) -> None:
        """Count ``record`` in; its large values should be whole."""
        self.started = self.started or record.timestamp
        self.seconds += _worked(self.last, record)
        self.last = record.timestamp
        self.records = record.seq
        _remember(self.agents, record.agent_role)
        _remember(self.models, record.llm_model_used)
        details = record.details
        self._place(record)
        match record.event_type:
            case "WORKFLOW_START":
                self.task = _text(details, "task") or record.message
            case "WORKFLOW_END":
                self.outcome, self.message = _text(details, "outcome") or "ended", record.message
            case "SESSION_RESUMED":
                self.outcome = self.message = ""
            case "LLM_RESPONSE":
                self.turns += 1
                self._tokens(details.get("usage"))
            case "MCP_REQUEST_FORMULATED":
                self.requests += 1
            case "TOOL_REQUEST_VALIDATION_FAILED" | "CHANGE_REFUSED":
                self.refused += 1
            case "GATE_VERDICT":
                self._verdict(details)
            case "HUMAN_DECISION":
                self._decision(details)
            case "CHECKPOINT":
                for path in _list(details, "paths"):
                    _remember(self.paths, path if isinstance(path, str) else "")
            case "LLM_ERROR" | "ERROR":
                self.errors += 1
            case "UNDO":
                self.undone += 1

    def _place(self, record: Record) -> None:
        """Remember the records that plan and budget are computed from."""
        details = record.details
        match record.event_type:
            case "WORKFLOW_START":
                self.start, limits = record.seq, details.get("limits")
                self.limits = dict(limits) if isinstance(limits, Mapping) else {}
            case "LLM_RESPONSE" | "CORRECTION":
                self._use(record)
            case "FEEDBACK_SENT":
                self.told = record.seq
            case "HUMAN_STEERED" if details.get("about") != "handoff":
                pass
            case kind if kind in LANDMARKS:
                self.landmarks = [*self.landmarks, record.seq][-_LANDMARKS:]

    def to_json(self) -> dict[str, Json]:
        """Return the card as JSON values; ``SessionStats(**…)`` reads it back."""
        return asdict(self)

    def _tokens(self, usage: Json) -> None:
        if isinstance(usage, Mapping):
            self.input_tokens += _number(usage, "input_tokens")
            self.output_tokens += _number(usage, "output_tokens")
            self.cached_tokens += _number(usage, "cache_read_tokens")

    def _use(self, record: Record) -> None:
        usage = usage_from_json(record.details.get("usage"))
        new = usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        model = record.llm_model_used
        if any(new) and (model in self.used or len(self.used) < _MODELS):
            self.used[model] = [a + b for a, b in zip(self.used.get(model, (0, 0, 0, 0)), new, strict=True)]

    def _verdict(self, details: Mapping[str, Json]) -> None:
        status = _text(details, "status")
        self.gate_failed += status != "pass"
        self._mark(status[:1] or "e")
        for finding in _list(details, "findings"):
            if isinstance(finding, Mapping) and finding.get("new", True):
                rule = _text(finding, "rule")
                self.rules[rule] = self.rules.get(rule, 0) + 1

    def _decision(self, details: Mapping[str, Json]) -> None:
        if details.get("answer") == "dry_run":
            return
        agreed = details.get("answer") == "approve"
        self.approved += agreed
        self.denied += not agreed
        self._mark("a" if agreed else "d")

    def _mark(self, letter: str) -> None:
        self.spark = (self.spark + letter)[-_SPARK:]


def _remember(known: list[str], value: str) -> None:
    if value and value not in known and len(known) < 200:
        known.append(value)


def _worked(last: str, record: Record) -> float:
    """Return the seconds since the record before; what passed before a session was resumed is not work."""
    if not last or record.event_type == "SESSION_RESUMED":
        return 0.0
    try:
        return max(0.0, (datetime.fromisoformat(record.timestamp) - datetime.fromisoformat(last)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _text(details: Mapping[str, Json], key: str) -> str:
    value = details.get(key)
    return value if isinstance(value, str) else ""


def _number(details: Mapping[str, Json], key: str) -> int:
    value = details.get(key)
    return value if isinstance(value, int) else 0


def _list(details: Mapping[str, Json], key: str) -> list[Json]:
    value = details.get(key)
    return value if isinstance(value, list) else []
