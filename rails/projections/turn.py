"""One turn's records, gathered into a :class:`~rails.projections.common.TurnView`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import Literal

from msgspec.structs import replace

from rails.core.errors import Refusal
from rails.core.events.approval import ApprovalClosed, ApprovalOpened, ApprovalRequested, HumanDecision
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
from rails.log.actions import how_to_answer, is_of_agent
from rails.projections.common import ApprovalView, CorrectionView, RefusalView, RequestView, TurnOutcome, TurnView

#: Where a refusal happened.
RefusalStage = Literal["request", "edit", "output"]


class TurnBuilder:
    """Takes the records of one turn in order; ``build`` returns the view."""

    def __init__(self, number: int, first: Record) -> None:
        self.number = number
        self.answered = False
        self._view = TurnView(number, "", "", first.timestamp, first.seq, first.seq, "open")
        self._requests: dict[str, RequestView] = {}
        self._begun: list[tuple[str, ...]] = []

    def add(self, record: Record) -> None:
        """Take one record; types without a place only move the turn's end."""
        view = self._view
        view.last_seq = record.seq
        view.agent = view.agent or record.agent_role
        view.model = view.model or record.llm_model_used
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
                before, after = event.before.splitlines(), event.after.splitlines()
                diff = "\n".join(unified_diff(before, after, "sent", "corrected", lineterm=""))
                view.corrections += (CorrectionView(event.id, event.taken, event.why, diff),)
            case _:
                self._change(record)

    def _change(self, record: Record) -> None:
        view = self._view
        match record.event:
            case ChangePlanned(notes=notes, changes=changes):
                view.notes += notes
                view.planned = changes
            case GateVerdict() as event:
                self._spend("gate", event.duration_ms / 1000)
                view.gates += (event,)
            case ApprovalRequested() as event:
                facts = (event.kind, event.tools, event.diff, event.risks, event.notes, record.timestamp)
                self._asked(ApprovalView(event.id, event.digest, *facts))
            case HumanDecision() as event:
                self._decided(event, record)
            case ApprovalOpened() as event if is_of_agent(event):
                self._wants_words(event, record)
            case ApprovalClosed(id=asked, state="answered"):
                self._got_words(asked, record)
            case ExecutionStarted(ids=ids):
                self._begun.append(ids)
            case ToolExecutionResult() as event:
                self._result(event, record)
            case CheckpointEvent(step=step):
                view.checkpoints += (step,)
            case _:
                self._around(record)

    def _around(self, record: Record) -> None:
        view = self._view
        match record.event:
            case FeedbackSent(text=text):
                view.feedback = text or record.message
            case BlockIgnored(reason=reason):
                view.ignored += (reason or record.message,)
            case Escalation(files=files) if files:
                view.notes += (f"{record.message} ({', '.join(files)})",)
            case HumanSteered(about="follow_up" | "conversation"):
                pass  # said with what is sent, or at the end
            case Escalation() | Handoff() | HumanSteered() | ContextReduced():
                view.notes += (record.message,)
            case OverseerAlert():
                view.notes += (f"monitor: {record.message}",)
            case ErrorEvent(error=error) | LlmError(error=error):
                view.errors += (error or record.message,)

    def build(self) -> TurnView:
        """Return the turn so far."""
        return replace(
            self._view,
            outcome=self._outcome(),
            requests=tuple(self._requests.values()),
            notes=tuple(dict.fromkeys(self._view.notes)),
            in_doubt=bool(self._begun),
            seconds={stage: round(spent, 3) for stage, spent in self._view.seconds.items()},
        )

    def _outcome(self) -> TurnOutcome:
        """Set the outcome; of several, the one that stopped the turn."""
        view = self._view
        if any(approval.question and not approval.answer for approval in view.approvals):
            return "asked"
        answers = {approval.answer for approval in view.approvals}
        if "abort" in answers:
            return "aborted"
        if "deny" in answers:
            return "denied"
        if "dry_run" in answers:
            return "dry_run"
        if view.refusals:
            return "refused"
        if any(gate.verdict.status != "pass" for gate in view.gates) and "approve" not in answers:
            return "findings" if view.gates[-1].verdict.status == "fail" else "failed"
        if any(not result.ok for result in view.results):
            return "failed"
        is_whole = self.answered or view.results or view.gates or view.feedback
        if "" in answers or self._begun or not is_whole:
            return "failed" if view.errors and not view.approvals else "open"
        if any(result.changes for result in view.results):
            return "applied"
        return "ran" if view.results else "answered"

    def _spend(self, stage: str, seconds: float) -> None:
        if seconds > 0:
            spent = self._view.seconds
            self._view.seconds = {**spent, stage: spent.get(stage, 0.0) + seconds}

    def _response(self, event: LlmResponse) -> None:
        view = self._view
        usage = event.usage
        self.answered = True
        view.text = event.text if event.prose is None else event.prose
        view.stop_reason = event.stop_reason
        if event.note:
            view.notes += (event.note,)
        view.input_tokens = usage.input_tokens + usage.cache_write_tokens
        view.output_tokens = usage.output_tokens
        view.cached_tokens = usage.cache_read_tokens
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
            self._view.refusals += (view,)

    def _asked(self, view: ApprovalView) -> None:
        # The same without an answer yet is asked anew, after an interruption.
        before = (asked for asked in self._view.approvals if asked.answer or asked.id != view.id)
        self._view.approvals = (*before, view)

    def _wants_words(self, event: ApprovalOpened, record: Record) -> None:
        lines = tuple(line.strip() for line in event.lines[1:])
        view = ApprovalView(
            event.id,
            event.digest,
            "question",
            (),
            "",
            (),
            (),
            record.timestamp,
            reason=how_to_answer(record.session_id),
        )
        self._asked(replace(view, question=lines))

    def _got_words(self, request_id: str, record: Record) -> None:
        words = record.message.removeprefix("answered: ")
        self._view.approvals = tuple(
            replace(asked, answer="answered", reason=words) if asked.question and asked.id == request_id else asked
            for asked in self._view.approvals
        )

    def _decided(self, event: HumanDecision, record: Record) -> None:
        self._spend("human", event.seconds)
        key = event.id, event.digest
        approvals = list(self._view.approvals)
        waiting = [n for n, asked in enumerate(approvals) if not asked.answer and (asked.id, asked.digest) == key]
        if not waiting:
            waiting = [len(approvals)]
            approvals.append(ApprovalView(*key, "", (), "", (), (), asked_at=record.timestamp))
        approvals[waiting[0]] = replace(
            approvals[waiting[0]],
            answer=event.answer,
            reason=event.reason,
            by=event.by,
            at=event.at or record.timestamp,
            seconds=float(event.seconds),
        )
        self._view.approvals = tuple(approvals)

    def _result(self, event: ToolExecutionResult, record: Record) -> None:
        self._spend("run" if event.tool else "write", event.duration_ms / 1000)
        # A result ends what was begun for the same requests; tools that only look are not begun.
        if event.ids in self._begun:
            self._begun.remove(event.ids)
        result = event if event.text else replace(event, text=record.message)
        self._view.results += (result,)


def _repair(repair: Repair) -> str:
    change = f": {repair.before!r} → {repair.after!r}" if repair.before or repair.after else ""
    return f"{repair.name} at {repair.offset}{change}"
