"""One turn's records, gathered into a :class:`~rails.projections.common.TurnView`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rails.core.changes import ChangedFile
from rails.core.dataclass import replace
from rails.core.errors import Refusal
from rails.core.events.approval import ApprovalRequested, HumanDecision
from rails.core.events.changes import (
    ChangePlanned,
    ChangeRefused,
    CheckpointEvent,
    ExecutionStarted,
    GateVerdict,
    ToolExecutionResult,
)
from rails.core.events.record import Record
from rails.core.events.session import ErrorEvent, Escalation, Handoff, HumanSteered, OverseerAlert
from rails.core.events.turn import (
    BlockIgnored,
    ContextReduced,
    CorrectionEvent,
    FeedbackSent,
    LlmError,
    LlmResponse,
    McpRequestFormulated,
    OutputRefused,
    ToolRequestValidated,
    ToolRequestValidationFailed,
)
from rails.core.tool_request import RawRequest, Repair
from rails.projections.common import ApprovalView, CorrectionView, RefusalView, RequestView, TurnOutcome, TurnView
from rails.projections.corrections import correction_of

#: Where a refusal happened.
RefusalStage = Literal["request", "edit", "output"]


class TurnBuilder:
    """Takes the records of one turn in order; ``build`` gives the view."""

    def __init__(self, number: int, first: Record) -> None:
        self.number = number
        self.answered = False
        self._first = self._last = first
        self._agent = self._model = self._text = self._stop = self._feedback = ""
        self._tokens = (0, 0, 0)
        self._requests: dict[str, RequestView] = {}
        self._refusals: list[RefusalView] = []
        self._ignored: list[str] = []
        self._corrections: list[CorrectionView] = []
        self._notes: list[str] = []
        self._changes: tuple[ChangedFile, ...] = ()
        self._gates: list[GateVerdict] = []
        self._approvals: list[ApprovalView] = []
        self._results: list[ToolExecutionResult] = []
        self._checkpoints: list[int] = []
        self._errors: list[str] = []
        self._seconds: dict[str, float] = {}
        self._begun: list[tuple[str, ...]] = []

    def add(self, record: Record) -> None:
        """Take in one record; types without a place in the view only move the end of the turn."""
        self._last = record
        self._agent = self._agent or record.agent_role
        self._model = self._model or record.llm_model_used
        match record.event:
            case LlmResponse() as event:
                self._response(event)
            case McpRequestFormulated(request=request):
                self._request(request, record)
            case ToolRequestValidated(id=request_id, coerced=coerced) if known := self._requests.get(request_id):
                self._requests[request_id] = replace(known, valid=True, coerced=coerced)
            case ToolRequestValidationFailed() as event:
                if known := self._requests.get(event.id):
                    self._requests[event.id] = replace(known, valid=False)
                self._refuse("request", event.refusals, record, event.id)
            case ChangeRefused(refusals=refusals):
                self._refuse("edit", refusals, record)
            case OutputRefused(refusals=refusals):
                self._refuse("output", refusals, record)
            case CorrectionEvent() as event:
                self._corrections.append(correction_of(event))
            case _:
                self._change(record)

    def _change(self, record: Record) -> None:
        """Take in what became of the proposed changes."""
        match record.event:
            case ChangePlanned(notes=notes, changes=changes):
                self._notes += notes
                self._changes = changes
            case GateVerdict() as event:
                self._spend("gate", event.duration_ms / 1000)
                self._gates.append(event)
            case ApprovalRequested() as event:
                self._asked(event, record)
            case HumanDecision() as event:
                self._decided(event, record)
            case ExecutionStarted(ids=ids):
                self._begun.append(ids)
            case ToolExecutionResult() as event:
                self._result(event, record)
            case CheckpointEvent(step=step):
                self._checkpoints.append(step)
            case _:
                self._around(record)

    def _around(self, record: Record) -> None:
        """Take in what happened around the turn: feedback, an escalation, a hand-off, an answer, an alert, an error."""
        match record.event:
            case FeedbackSent(text=text):
                self._feedback = text or record.message
            case BlockIgnored(reason=reason):
                self._ignored.append(reason or record.message)
            case Escalation(files=files) if files:
                self._notes.append(f"{record.message} ({', '.join(files)})")
            case HumanSteered(about="follow_up"):
                pass  # what is sent with it says it
            case Escalation() | Handoff() | HumanSteered() | ContextReduced():
                self._notes.append(record.message)
            case OverseerAlert():
                self._notes.append(f"overseer: {record.message}")
            case ErrorEvent(error=error) | LlmError(error=error):
                self._errors.append(error or record.message)

    def build(self) -> TurnView:
        """Return the turn as it stands."""
        return TurnView(
            number=self.number,
            agent=self._agent,
            model=self._model,
            started=self._first.timestamp,
            first_seq=self._first.seq,
            last_seq=self._last.seq,
            outcome=self._outcome(),
            text=self._text,
            stop_reason=self._stop,
            input_tokens=self._tokens[0],
            output_tokens=self._tokens[1],
            cached_tokens=self._tokens[2],
            requests=tuple(self._requests.values()),
            refusals=tuple(self._refusals),
            ignored=tuple(self._ignored),
            corrections=tuple(self._corrections),
            notes=tuple(dict.fromkeys(self._notes)),
            planned=self._changes,
            gates=tuple(self._gates),
            approvals=tuple(self._approvals),
            results=tuple(self._results),
            checkpoints=tuple(self._checkpoints),
            errors=tuple(self._errors),
            feedback=self._feedback,
            in_doubt=bool(self._begun),
            seconds={stage: round(spent, 3) for stage, spent in self._seconds.items()},
        )

    def _outcome(self) -> TurnOutcome:
        """Set the outcome of the turn; where several things happened, the one that stopped it."""
        answers = {approval.answer for approval in self._approvals}
        if "abort" in answers:
            return "aborted"
        if "deny" in answers:
            return "denied"
        if "dry_run" in answers:
            return "dry_run"
        if self._refusals:
            return "refused"
        if any(gate.verdict.status != "pass" for gate in self._gates) and "approve" not in answers:
            return "findings" if self._gates[-1].verdict.status == "fail" else "failed"
        if any(not result.ok for result in self._results):
            return "failed"
        is_whole = self.answered or self._results or self._gates or self._feedback
        if "" in answers or self._begun or not is_whole:
            return "failed" if self._errors and not self._approvals else "open"
        if any(result.changes for result in self._results):
            return "applied"
        return "ran" if self._results else "answered"

    def _spend(self, stage: str, seconds: float) -> None:
        if seconds > 0:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def _response(self, event: LlmResponse) -> None:
        self.answered = True
        self._text = event.prose or event.text
        self._stop = event.stop_reason
        if event.note:
            self._notes.append(event.note)
        usage = event.usage
        read = usage.input_tokens + usage.cache_write_tokens
        self._tokens = (read, usage.output_tokens, usage.cache_read_tokens)
        self._spend("model", (event.duration_ms or 0) / 1000)

    def _request(self, request: RawRequest, record: Record) -> None:
        request_id = request.id or f"#{record.seq}"
        self._requests[request_id] = RequestView(
            id=request_id,
            tool=request.tool_name,
            explanation=request.explanation,
            dialect=request.dialect,
            parameters=dict(request.parameters),
            repairs=tuple(map(_repair, request.repairs)),
        )

    def _refuse(self, stage: RefusalStage, refusals: Sequence[Refusal], record: Record, request_id: str = "") -> None:
        for one in refusals or (Refusal("refused", record.message),):
            view = RefusalView(stage, one.code, one.message, one.hint, one.path, one.request_id or request_id)
            self._refusals.append(view)

    def _asked(self, event: ApprovalRequested, record: Record) -> None:
        # The same without an answer yet is asked anew, after an interruption.
        self._approvals = [asked for asked in self._approvals if asked.answer or asked.id != event.id]
        facts = (event.kind, event.tools, event.diff, event.risks, event.notes, record.timestamp)
        self._approvals.append(ApprovalView(event.id, event.digest, *facts))

    def _decided(self, event: HumanDecision, record: Record) -> None:
        self._spend("human", event.seconds)
        key = event.id, event.digest
        waiting = [n for n, asked in enumerate(self._approvals) if not asked.answer and (asked.id, asked.digest) == key]
        if not waiting:
            waiting = [len(self._approvals)]
            self._approvals.append(ApprovalView(*key, "", (), "", (), (), asked_at=record.timestamp))
        self._approvals[waiting[0]] = replace(
            self._approvals[waiting[0]],
            answer=event.answer,
            reason=event.reason,
            by=event.by,
            at=event.at or record.timestamp,
            seconds=float(event.seconds),
        )

    def _result(self, event: ToolExecutionResult, record: Record) -> None:
        self._spend("run" if event.tool else "write", event.duration_ms / 1000)
        # A result ends what was begun for the same requests; tools that only look are not begun.
        if event.ids in self._begun:
            self._begun.remove(event.ids)
        self._results.append(event if event.text else msgspec.structs.replace(event, text=record.message))


def _repair(repair: Repair) -> str:
    change = f": {repair.before!r} → {repair.after!r}" if repair.before or repair.after else ""
    return f"{repair.name} at {repair.offset}{change}"
