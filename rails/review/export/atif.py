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
from rails.core.errors import Refusal
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import ChangeRefused, GateVerdict, ToolExecutionResult, Undo
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    ErrorEvent,
    Escalation,
    Handoff,
    HumanSteered,
    SessionResumed,
    WorkflowEnd,
    WorkflowStart,
)
from rails.core.events.turn import (
    FeedbackSent,
    LlmError,
    LlmResponse,
    McpRequestFormulated,
    ToolRequestValidationFailed,
)
from rails.core.events.values import to_json
from rails.core.tool_request import Json, RawRequest

VERSION: Final = "ATIF-v1.8"


def to_atif(records: Sequence[Record]) -> str:
    """Return the session as one JSON document. The same records give the same text."""
    walk = _Walk()
    for record in records:
        walk.take(record)
    first = records[0] if records else None
    models = list(dict.fromkeys(r.llm_model_used for r in records if isinstance(r.event, LlmResponse)))
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
        """Take in one record."""
        match record.event:
            case LlmResponse() as event:
                self._answer(record, event)
            case McpRequestFormulated(request=request):
                self._call(request)
            case ToolRequestValidationFailed(ids=ids, refusals=refusals) | ChangeRefused(ids=ids, refusals=refusals):
                self._result(record, ids, "\n".join(map(_refusal, refusals)))
            case ToolExecutionResult(ids=ids, text=text):
                self._result(record, ids, text)
            case GateVerdict() as event:
                self._event(record, "agent", _findings(record, event), llm_call_count=0)
            case HumanDecision():
                self._event(record, "system", record.message)
            case _:
                self._around(record)

    def _around(self, record: Record) -> None:
        """Take in what happens around an answer: how session and agents begin and end, what the model is told."""
        match record.event:
            case WorkflowStart(task=task):
                self.task = task or record.message
            case AgentEngage(system=system, first_message=first):
                if system:
                    self._step(record, "system", system)
                self._step(record, "user", first or record.message)
            case FeedbackSent(text=text):
                self._step(record, "user", text or record.message)
            case Escalation(first_message=first) if first:
                self._step(record, "user", first)
            case LlmError() | ErrorEvent() | Undo() | SessionResumed() | Escalation() | Handoff() | HumanSteered():
                self._step(record, "system", record.message)
            case WorkflowEnd(outcome=outcome):
                self.outcome = outcome

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

    def _answer(self, record: Record, event: LlmResponse) -> None:
        usage = event.usage
        cached, completion = usage.cache_read_tokens, usage.output_tokens
        prompt = usage.input_tokens + cached + usage.cache_write_tokens
        self.prompt, self.cached = self.prompt + prompt, self.cached + cached
        self.completion += completion
        self._answered, self._calls, self._results = True, [], []
        step = self._step(
            record,
            "agent",
            event.text,
            model_name=event.model or record.llm_model_used,
            llm_call_count=1,
            tool_calls=self._calls,
            observation={"results": self._results},
            metrics={"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached},
        )
        step["extra"] = {"seq": record.seq, "agent_role": record.agent_role, "stop_reason": event.stop_reason}

    def _call(self, request: RawRequest) -> None:
        self._calls.append(
            {
                "tool_call_id": request.id,
                "function_name": request.tool_name,
                "arguments": dict(request.parameters),
                "extra": {"dialect": request.dialect, "repairs": to_json(request.repairs)},
            }
        )

    def _result(self, record: Record, ids: Sequence[str], content: str) -> None:
        """Add the results of requests to their answer's step; a block that was no request has no call."""
        content = content or record.message
        if not self._answered:
            self._event(record, "system", content)
            return
        known = {call["tool_call_id"] for call in self._calls if isinstance(call, dict)}
        extra: dict[str, Json] = {"seq": record.seq, "event_type": record.event_type}
        own = [id_ for id_ in ids if id_ in known]
        results: list[dict[str, Json]] = [{"source_call_id": id_} for id_ in own] or [{}]
        self._results += [{**result, "content": content, "extra": extra} for result in results]

    def _event(self, record: Record, source: str, content: str, **more: Json) -> None:
        self._step(record, source, record.message, observation={"results": [{"content": content}]}, **more)


def _refusal(refusal: Refusal) -> str:
    return " ".join(filter(None, (refusal.message, refusal.hint)))


def _findings(record: Record, event: GateVerdict) -> str:
    lines = [f"{f.path}:{f.line}:{f.column} {f.rule} {f.message}" for f in event.verdict.findings if f.new]
    return "\n".join([record.message, *lines])
