"""ONE TURN, TOP TO BOTTOM. Start reading here.

    ask the model ─▶ find its requests ─▶ validate each ─▶ look (reading tools)
                     ─▶ plan the edits ─▶ gate them ─▶ ask a human ─▶ write ─▶ run (executing tools)

Whatever fails on the way becomes an :class:`~rails.feedback.Outcome`, and all outcomes go back to the
agent as one message: there is one road back. The stages know nothing of the log or of each other; this
module calls them in order and says what happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rails import feedback
from rails.agents import Agent
from rails.approval.decision import (
    ApprovalRequest,
    Approver,
    Decision,
    request_for_changes,
    request_for_tool,
    sign_changes,
    sign_tool,
    still_valid,
)
from rails.core.changes import ChangeSet, unified_diff
from rails.core.conversation import Answer, Message, TextDelta, ToolSpec, answer_to_json
from rails.core.errors import Refusal, StaleError
from rails.core.events import Event, EventType
from rails.core.requests import Json, ToolRequest
from rails.core.wire import json_object
from rails.edits.apply import apply
from rails.edits.history import History
from rails.edits.plan import plan
from rails.feedback import Outcome
from rails.gate.gate import Gate
from rails.intake import Intake, Reader, Started
from rails.models import Model
from rails.tools import contract, runners
from rails.tools.definitions import Registry

STATUS_WORD = {"write_file": "Creating", "delete_file": "Deleting", "edit_file": "Editing", "multi_edit": "Editing"}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a turn stands on: the agent and its tools, the project, and who is asked and told."""

    project: Path
    session_id: str
    agent: Agent
    system: str
    registry: Registry
    model: Model
    gate: Gate
    approver: Approver
    history: History
    publish: Callable[[Event], object]
    tools: Sequence[ToolSpec] = ()
    #: Tools whose definition comes from the project itself: their approval says so.
    from_project: frozenset[str] = frozenset()
    #: Called with each piece of streamed text, for a screen that wants to show it.
    on_text: Callable[[str], object] = field(default=lambda _: None)

    def say(self, event: EventType, message: str, **details: object) -> None:
        """Publish an event of this agent and model."""
        self.publish(Event(event, message, json_object(details), self.agent.name, self.model.name))


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished turn: what the model said, what became of it, and the message it gets next.

    ``reply`` is ``None`` when the answer asked for nothing: then the agent is done.
    """

    answer: Answer
    outcomes: tuple[Outcome, ...]
    reply: Message | None

    @property
    def aborted(self) -> bool:
        """Whether the human ended the session."""
        return any(outcome.kind == "aborted" for outcome in self.outcomes)


def take_turn(setting: Setting, number: int, messages: Sequence[Message]) -> Turn:
    """Ask the model once and carry out what it asks for. Raises ModelError; nothing is run then."""
    reader = Reader(setting.registry.shapes(), id_prefix=f"t{number}.")
    setting.say("LLM_CALL", f"Asking {setting.model.name}", messages=len(messages), turn=number)
    started = time.monotonic()
    answer = _listen(setting, reader, messages)
    found = reader.flush(answer.stop_reason, answer.message.calls)
    setting.say(
        "LLM_RESPONSE",
        f"{setting.model.name} answered ({answer.stop_reason})",
        text=answer.message.text,
        prose=found.prose,
        calls=answer.message.calls,
        duration_ms=_ms(started),
        **answer_to_json(answer),
    )
    return settle(setting, answer, found)


def settle(setting: Setting, answer: Answer, found: Intake, done: Mapping[str, Outcome] | None = None) -> Turn:
    """Carry out a whole answer. ``done`` holds what an interrupted run has already carried out."""
    done = done or {}
    _narrate_intake(setting, found)
    outcomes = [feedback.syntax(refusal, _quote(answer, found, refusal)) for refusal in found.refusals]
    requests: list[ToolRequest] = []
    for raw in found.requests:
        checked = contract.validate(raw, setting.registry, setting.agent.name)
        if isinstance(checked, ToolRequest):
            setting.say(
                "TOOL_REQUEST_VALIDATED",
                f"{raw.tool_name} is valid",
                id=raw.id,
                tool_name=checked.tool_name,
                coerced=checked.coerced,
            )
            requests.append(checked)
        else:
            setting.say("TOOL_REQUEST_VALIDATION_FAILED", str(checked[0]), id=raw.id, refusals=checked)
            outcomes.append(feedback.schema([replace(refusal, request_id=raw.id) for refusal in checked]))

    outcomes += [done.get(r.id) or _run(setting, r) for r in requests if r.effect == "read"]
    if edits := [r for r in requests if r.effect == "edit"]:
        outcomes.append(done.get(edits[0].id) or _change(setting, edits, clean=all(outcome.ok for outcome in outcomes)))
    for request in (r for r in requests if r.effect == "run"):
        outcomes.append(done.get(request.id) or _execute(setting, request, clean=all(o.ok for o in outcomes)))

    cut = answer.stop_reason in ("max_tokens", "cut")
    if not outcomes and not cut:
        return Turn(answer, (), None)
    return Turn(answer, tuple(outcomes), feedback.compose(answer, outcomes, found.native_ids))


def _listen(setting: Setting, reader: Reader, messages: Sequence[Message]) -> Answer:
    """Stream the answer through the reader; a request's status is told as soon as its path is known."""
    for delta in setting.model.stream(system=setting.system, messages=messages, tools=setting.tools):
        if isinstance(delta, Answer):
            return delta
        if isinstance(delta, TextDelta):
            setting.on_text(delta.text)
            for signal in reader.feed(delta.text):
                if isinstance(signal, Started):
                    _status(setting, signal.id, "buffering", signal.tool_name, signal.path)
    raise AssertionError("a model's stream ends with an Answer")


def _change(setting: Setting, requests: Sequence[ToolRequest], *, clean: bool) -> Outcome:
    """Plan, gate, ask, write: all edits of an answer are one unit."""
    ids = tuple(request.id for request in requests)
    if not clean:
        return feedback.skipped(ids, "another part of your answer was refused, and its edits are one unit.")
    planned = plan(requests, setting.project)
    if planned.refusals:
        setting.say("CHANGE_REFUSED", str(planned.refusals[0]), ids=ids, refusals=planned.refusals)
        return feedback.edit(ids, planned.refusals)
    setting.say("CHANGE_PLANNED", _paths(planned.changes), ids=ids, changes=planned.changes, notes=planned.notes)

    started = time.monotonic()
    verdict = setting.gate.judge(planned.changes)
    facts: dict[str, Json] = {name: value for name, value in json_object(verdict).items() if name != "proposal"}
    setting.say("GATE_VERDICT", f"gate: {verdict.status}", ids=ids, duration_ms=_ms(started), **facts)
    if verdict.status == "fail":
        return feedback.gate(ids, verdict)

    asked = request_for_changes(
        ids[0], setting.agent.name, requests, verdict, planned.notes, from_project=setting.from_project
    )
    decision = _ask_human(setting, asked)
    if decision.answer != "approve":
        return feedback.denied(ids, decision.reason, stop=decision.answer == "abort")
    approved = sign_changes(asked, decision)
    if not still_valid(approved, asked):
        return feedback.stale(ids, "What was approved is not what would be written; nothing was written.")

    def intend() -> None:
        setting.say(
            "EXECUTION_STARTED", _paths(verdict.proposal), ids=ids, digest=asked.digest, changes=verdict.proposal
        )

    started = time.monotonic()
    try:
        written = apply(approved, setting.project, on_intent=intend).changes
    except StaleError as error:
        setting.say("TOOL_EXECUTION_RESULT", str(error), ids=ids, ok=False, text=str(error), duration_ms=_ms(started))
        return feedback.stale(ids, str(error))
    step = setting.history.checkpoint(written, session=setting.session_id, message=_paths(written))
    outcome = feedback.applied(ids, written, verdict, planned.notes)
    setting.say(
        "TOOL_EXECUTION_RESULT",
        _paths(written),
        ids=ids,
        ok=True,
        text=outcome.text,
        changes=written,
        duration_ms=_ms(started),
    )
    setting.say("CHECKPOINT", f"step {step}: {_paths(written)}", step=step, paths=[c.path for c in written.changes])
    return outcome


def _execute(setting: Setting, request: ToolRequest, *, clean: bool) -> Outcome:
    """Run a tool that executes something, after a human agreed if the definition asks for one."""
    if not clean:
        return feedback.skipped((request.id,), "another part of your answer was refused or denied.")
    if request.asks:
        asked = request_for_tool(request.id, setting.agent.name, request, from_project=setting.from_project)
        decision = _ask_human(setting, asked)
        if decision.answer != "approve":
            return feedback.denied((request.id,), decision.reason, stop=decision.answer == "abort")
        if not still_valid(sign_tool(asked, decision), asked):
            return feedback.stale((request.id,), "What was approved is not what would be run; it was not run.")
    setting.say("EXECUTION_STARTED", request.tool_name, ids=[request.id], tool=request.tool_name)
    return _run(setting, request)


def _run(setting: Setting, request: ToolRequest) -> Outcome:
    definition = setting.registry.get(request.tool_name)
    assert definition is not None, "a validated request has a definition"
    result = runners.run(request, definition, setting.project)
    setting.say(
        "TOOL_EXECUTION_RESULT",
        f"{request.tool_name} {'finished' if result.ok else 'failed'}",
        ids=[request.id],
        ok=result.ok,
        text=result.text,
        tool=request.tool_name,
        facts=result.facts,
        duration_ms=result.duration_ms,
    )
    return feedback.result((request.id,), request.tool_name, result)


def _ask_human(setting: Setting, asked: ApprovalRequest) -> Decision:
    diff = [line for c in asked.changes.changes for line in unified_diff(c.before, c.after, str(c.path))]
    setting.say(
        "APPROVAL_REQUESTED",
        f"{', '.join(asked.tools)} by {asked.agent}",
        id=asked.id,
        digest=asked.digest,
        kind=asked.kind,
        tools=asked.tools,
        diff="\n".join(diff),
        risks=asked.risks,
        notes=asked.notes,
        explanation=asked.explanation,
    )
    decision = setting.approver.decide(asked)
    message = f"{decision.answer} by {decision.by}" + (f": {decision.reason}" if decision.reason else "")
    setting.say("HUMAN_DECISION", message, id=asked.id, digest=asked.digest, **json_object(decision))
    return decision


def _narrate_intake(setting: Setting, found: Intake) -> None:
    for raw in found.requests:
        place = {"start": raw.start, "end": raw.end, "repairs": raw.repairs, "dialect": raw.dialect}
        setting.say(
            "MCP_REQUEST_FORMULATED",
            f"{raw.tool_name}: {raw.explanation}" if raw.explanation else raw.tool_name,
            id=raw.id,
            tool_name=raw.tool_name,
            parameters=raw.parameters,
            explanation=raw.explanation,
            **place,
        )
    for refusal in found.refusals:
        setting.say("TOOL_REQUEST_VALIDATION_FAILED", str(refusal), id=refusal.request_id, refusals=[refusal])
    for block in found.ignored:
        setting.say("BLOCK_IGNORED", block.reason, start=block.start, end=block.end, reason=block.reason)


def _status(setting: Setting, request_id: str, status: str, tool: str, path: str) -> None:
    words = f"{STATUS_WORD.get(tool, 'Processing')}..."
    setting.say(
        "TOOL_STATUS",
        f"{words} {path}".strip(),
        id=request_id,
        status=status,
        toolType=tool,
        path=path,
        statusMessage=words,
    )


def _quote(answer: Answer, found: Intake, refusal: Refusal) -> str:
    """The block as the agent sent it, for the sentence that quotes it."""
    if refusal.start >= 0:
        return answer.message.text[refusal.start : refusal.end]
    call_id = found.native_ids.get(refusal.request_id)
    return next((call.arguments for call in answer.message.calls if call.id == call_id), "")


def _paths(changes: ChangeSet) -> str:
    verb = {"create": "Created", "modify": "Edited", "delete": "Deleted"}
    return ", ".join(f"{verb[change.kind]} {change.path}" for change in changes.changes)


def _ms(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 3)
