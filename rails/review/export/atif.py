"""A session as an ATIF trajectory (Agent Trajectory Interchange Format, version 1.8), for evaluation and training.

Source of the form: the models of the public ``atif`` package. All its objects are closed, so what only
we have goes under ``extra``. The mapping:

    first message, feedback   a ``user`` step with exactly the text that the model got
    model's answer            an ``agent`` step; every tool request in it is a tool call, and what became
                              of the request is that call's observation
    gate                      an ``agent`` step without a model call (``llm_call_count`` 0)
    approval                  a ``system`` step with the decision as its observation
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import rails
from rails.core import record_fields as facts
from rails.core.events.record import Record
from rails.core.tool_request import Json

VERSION: Final = "ATIF-v1.8"


def to_atif(records: Sequence[Record]) -> str:
    """Return the session as one JSON document. The same records give the same text."""
    walk = _Walk()
    for record in records:
        walk.take(record)
    first = records[0] if records else None
    models = list(dict.fromkeys(r.llm_model_used for r in records if r.event_type == "LLM_RESPONSE"))
    document: dict[str, Json] = {
        "schema_version": VERSION,
        "session_id": first.session_id if first else "",
        "agent": {"name": "ai-rails", "version": rails.__version__, "model_name": models[0] if models else ""},
        "steps": [*walk.steps],
        "final_metrics": {
            "total_prompt_tokens": walk.prompt,
            "total_completion_tokens": walk.completion,
            "total_cached_tokens": walk.cached,
            "total_steps": len(walk.steps),
        },
        "extra": {"outcome": walk.outcome, "task": walk.task, "records": records[-1].seq if records else 0},
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


class _Walk:
    """Makes steps of records. ``_calls`` and ``_results`` belong to the step of the running answer."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Json]] = []
        self.prompt = self.completion = self.cached = 0
        self.task = self.outcome = ""
        self._answered = False
        self._calls: list[Json] = []
        self._results: list[Json] = []

    def take(self, record: Record) -> None:
        details = record.details
        match record.event_type:
            case "WORKFLOW_START":
                self.task = facts.text(details, "task") or record.message
            case "AGENT_ENGAGE":
                if system := facts.text(details, "system"):
                    self._step(record, "system", system)
                self._step(record, "user", facts.text(details, "first_message") or record.message)
            case "LLM_RESPONSE":
                self._answer(record)
            case "MCP_REQUEST_FORMULATED":
                self._call(record)
            case "TOOL_REQUEST_VALIDATION_FAILED" | "CHANGE_REFUSED":
                self._result(record, "\n".join(_refusal(item) for item in facts.objects(details, "refusals")))
            case "TOOL_EXECUTION_RESULT":
                self._result(record, facts.text(details, "text") or record.message)
            case "GATE_VERDICT":
                self._event(record, "agent", _findings(record), llm_call_count=0)
            case "HUMAN_DECISION":
                self._event(record, "system", record.message)
            case "FEEDBACK_SENT":
                self._step(record, "user", facts.text(details, "text") or record.message)
            case "LLM_ERROR" | "ERROR" | "UNDO" | "SESSION_RESUMED" | "ESCALATION" | "HANDOFF" | "HUMAN_STEERED":
                first = facts.text(details, "first_message")
                self._step(record, "user" if first else "system", first or record.message)
            case "WORKFLOW_END":
                self.outcome = facts.text(details, "outcome")

    def _step(self, record: Record, source: str, message: str, **more: Json) -> dict[str, Json]:
        step: dict[str, Json] = {
            "step_id": len(self.steps) + 1,
            "timestamp": record.timestamp,
            "source": source,
            "message": message,
            **more,
            "extra": {"seq": record.seq, "event_type": record.event_type, "agent_role": record.agent_role},
        }
        self.steps.append(step)
        return step

    def _answer(self, record: Record) -> None:
        details, usage = record.details, facts.inner(record.details, "usage")
        cached = facts.integer(usage, "cache_read_tokens")
        prompt = facts.integer(usage, "input_tokens") + cached + facts.integer(usage, "cache_write_tokens")
        completion = facts.integer(usage, "output_tokens")
        self.prompt, self.cached = self.prompt + prompt, self.cached + cached
        self.completion += completion
        self._answered, self._calls, self._results = True, [], []
        step = self._step(
            record,
            "agent",
            facts.text(details, "text"),
            model_name=facts.text(details, "model") or record.llm_model_used,
            llm_call_count=1,
            tool_calls=self._calls,
            observation={"results": self._results},
            metrics={"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached},
        )
        step["extra"] = {
            "seq": record.seq,
            "agent_role": record.agent_role,
            "stop_reason": facts.text(details, "stop_reason"),
        }

    def _call(self, record: Record) -> None:
        details = record.details
        self._calls.append(
            {
                "tool_call_id": facts.text(details, "id"),
                "function_name": facts.text(details, "tool_name"),
                "arguments": dict(facts.inner(details, "parameters")),
                "extra": {"dialect": facts.text(details, "dialect"), "repairs": facts.items(details, "repairs")},
            }
        )

    def _result(self, record: Record, content: str) -> None:
        """Add the results of requests to their answer's step; a block that was no request has no call."""
        content = content or record.message
        if not self._answered:
            self._event(record, "system", content)
            return
        known = {call["tool_call_id"] for call in self._calls if isinstance(call, dict)}
        extra: dict[str, Json] = {"seq": record.seq, "event_type": record.event_type}
        own = [id_ for id_ in facts.ids(record.details) if id_ in known]
        results: list[dict[str, Json]] = [{"source_call_id": id_} for id_ in own] or [{}]
        self._results += [{**result, "content": content, "extra": extra} for result in results]

    def _event(self, record: Record, source: str, content: str, **more: Json) -> None:
        self._step(record, source, record.message, observation={"results": [{"content": content}]}, **more)


def _refusal(item: facts.Details) -> str:
    return " ".join(filter(None, (facts.text(item, "message"), facts.text(item, "hint"))))


def _findings(record: Record) -> str:
    lines = [
        f"{facts.text(item, 'path')}:{facts.integer(item, 'line')}:{facts.integer(item, 'column')} "
        f"{facts.text(item, 'rule')} {facts.text(item, 'message')}"
        for item in facts.objects(record.details, "findings")
        if item.get("new", True)
    ]
    return "\n".join([record.message, *lines])
