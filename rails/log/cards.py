"""A session on one card: counts that a list, a sparkline or a heat-map shows, kept up record by record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from rails.core.events import Record
from rails.core.requests import Json

#: Points of the verdict sparkline that are kept, newest last.
_SPARK: Final = 40


@dataclass(slots=True)
class Card:
    """What is told of a session without opening it. Counts are of records; tokens are the providers' figures.

    ``spark`` has a letter for each verdict and decision, in order: p pass, f fail, e error, a approved,
    d denied. ``rules`` counts new findings by rule.
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

    def add(self, record: Record) -> None:
        """Count ``record`` in; its large values should be whole."""
        self.started = self.started or record.timestamp
        self.last = record.timestamp
        self.records = record.seq
        _remember(self.agents, record.agent_role)
        _remember(self.models, record.llm_model_used)
        details = record.details
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

    def to_json(self) -> dict[str, Json]:
        """Return the card as JSON values; ``Card(**…)`` reads it back."""
        return asdict(self)

    def _tokens(self, usage: Json) -> None:
        if isinstance(usage, Mapping):
            self.input_tokens += _number(usage, "input_tokens")
            self.output_tokens += _number(usage, "output_tokens")
            self.cached_tokens += _number(usage, "cache_read_tokens")

    def _verdict(self, details: Mapping[str, Json]) -> None:
        status = _text(details, "status")
        self.gate_failed += status != "pass"
        self._mark(status[:1] or "e")
        for finding in _list(details, "findings"):
            if isinstance(finding, Mapping) and finding.get("new", True):
                rule = _text(finding, "rule")
                self.rules[rule] = self.rules.get(rule, 0) + 1

    def _decision(self, details: Mapping[str, Json]) -> None:
        agreed = details.get("answer") == "approve"
        self.approved += agreed
        self.denied += not agreed
        self._mark("a" if agreed else "d")

    def _mark(self, letter: str) -> None:
        self.spark = (self.spark + letter)[-_SPARK:]


def _remember(known: list[str], value: str) -> None:
    if value and value not in known and len(known) < 200:
        known.append(value)


def _text(details: Mapping[str, Json], key: str) -> str:
    value = details.get(key)
    return value if isinstance(value, str) else ""


def _number(details: Mapping[str, Json], key: str) -> int:
    value = details.get(key)
    return value if isinstance(value, int) else 0


def _list(details: Mapping[str, Json], key: str) -> list[Json]:
    value = details.get(key)
    return value if isinstance(value, list) else []
