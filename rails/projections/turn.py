"""One turn's records, gathered into a :class:`~rails.projections.common.TurnView`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from rails.core import change_summary, limits
from rails.core import record_fields as d
from rails.core.dataclass import replace
from rails.core.events import Record
from rails.core.json_text import json_leaves, without_quoting
from rails.core.record_fields import Details
from rails.core.tool_request import Json
from rails.data_formats.strict_json import ParsedJson
from rails.parsing.repairs import repair
from rails.projections.common import (
    ApprovalView,
    ChangeView,
    CorrectionView,
    FindingView,
    GateView,
    RefusalView,
    RequestView,
    ResultView,
    TurnOutcome,
    TurnView,
    ValueChange,
)

#: Wrappers of the parameters, and the names that a tool goes by, in the forms that a request may have.
_WRAPPERS: Final = ("parameters", "arguments")
_TOOL: Final = ("tool", "tool_name")
#: Not part of what is asked for.
_FORM: Final = ("type",)
#: A shorter value stands in any text by chance.
_TELLING: Final = 8
_DRIFT: Final = re.compile(r"([^=]{1,200}) = (.*)", re.DOTALL)
_VALUE: Final = r'"{}"\s*:\s*("(?:[^"\\]|\\.){{0,4000}}"|[^\s,}}\]]{{1,200}})'


def correction_of(details: Details) -> CorrectionView:
    """Return a CORRECTION record as people see it."""
    before, after = d.shortened(details, "before"), d.shortened(details, "after")
    old, new = _leaves_of(before), _leaves_of(after)
    if not after:
        changes: tuple[ValueChange, ...] = ()
    elif old is None or new is None:
        changes = tuple(_named(d.texts(details, "drift"), before))
    else:
        changes = tuple(_changes(old, new, before, after))
    return CorrectionView(d.shortened(details, "id"), d.flag(details, "taken"), d.shortened(details, "why"), changes)


def _changes(old: Mapping[str, Json], new: Mapping[str, Json], before: str, after: str) -> Iterator[ValueChange]:
    for place, value in new.items():
        if place in old:
            if _json(old[place]) != _json(value):
                yield ValueChange(place, _json(old[place]), _json(value))
        elif not _stands_in(value, old, before):
            yield ValueChange(place, None, _json(value))
    for place, value in old.items():
        if place not in new and not _stands_in(value, new, after):
            yield ValueChange(place, _json(value), None)


def _named(drift: tuple[str, ...], before: str) -> Iterator[ValueChange]:
    """Return what the harness itself named as changed, with the old values that can be read from a torn block."""
    for words in drift:
        if match := _DRIFT.fullmatch(words):
            key = re.split(r"[.\[]", match[1])[-1].rstrip("]")
            found = re.search(_VALUE.format(re.escape(key)), before[: limits.FEEDBACK_CHARS])
            yield ValueChange(match[1], found[1] if found else None, match[2])


def _leaves_of(block: str) -> dict[str, Json] | None:
    """Return the values of a block by their place, ``None`` for one that cannot be read."""
    start, end = block.find("{"), block.rfind("}") + 1
    body = block[start : end if end > start else len(block)].strip().strip("`")
    # What was cut off is read as far as it goes: this is for the eye, and runs nothing.
    parsed = repair(body, closers=True) if start >= 0 else None
    if not isinstance(parsed, ParsedJson) or not isinstance(parsed.value, dict):
        return None
    request = dict(parsed.value)
    wrapped = next((value for key in _WRAPPERS if isinstance(value := request.pop(key, None), dict)), {})
    tool = next((request.pop(key) for key in _TOOL if key in request), None)
    whole = {**{key: value for key, value in request.items() if key not in _FORM}, **wrapped}
    return {**({"tool": tool} if tool is not None else {}), **dict(json_leaves(whole))}


def _stands_in(value: Json, known: Mapping[str, Json], block: str) -> bool:
    """Whether a value is one of ``known``, or a longer one stands in the block however it is quoted there."""
    if _json(value) in map(_json, known.values()):
        return True
    flat = without_quoting(value if isinstance(value, str) else _json(value))
    return len(flat) >= _TELLING and flat in without_quoting(block)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


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
        self._changes: tuple[ChangeView, ...] = ()
        self._gates: list[GateView] = []
        self._approvals: list[ApprovalView] = []
        self._results: list[ResultView] = []
        self._checkpoints: list[int] = []
        self._errors: list[str] = []
        self._seconds: dict[str, float] = {}
        self._begun: list[tuple[str, ...]] = []

    def add(self, record: Record) -> None:
        """Take in one record; types without a place in the view only move the end of the turn."""
        self._last = record
        self._agent = self._agent or record.agent_role
        self._model = self._model or record.llm_model_used
        if take := _TAKERS.get(record.event_type):
            take(self, record.details, record)

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
        if self._refusals:
            return "refused"
        if any(gate.status != "pass" for gate in self._gates) and "approve" not in answers:
            return "findings" if self._gates[-1].status == "fail" else "failed"
        if any(not result.ok for result in self._results):
            return "failed"
        if "" in answers or self._begun or not (self.answered or self._finished):
            return "failed" if self._errors and not self._approvals else "open"
        if any(result.changes for result in self._results):
            return "applied"
        return "ran" if self._results else "answered"

    @property
    def _finished(self) -> bool:
        return bool(self._results or self._gates or self._feedback)

    def _spend(self, stage: str, seconds: float) -> None:
        if seconds > 0:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def _response(self, details: Details, record: Record) -> None:
        del record
        self.answered = True
        self._text = d.shortened(details, "prose") or d.shortened(details, "text")
        self._stop = d.shortened(details, "stop_reason")
        if note := d.shortened(details, "note"):
            self._notes.append(note)
        usage = d.inner(details, "usage")
        names = ("input_tokens", "cache_write_tokens", "output_tokens", "cache_read_tokens")
        read, kept, written, cached = (int(d.number(usage, name)) for name in names)
        self._tokens = (read + kept, written, cached)
        self._spend("model", d.number(details, "duration_ms") / 1000)

    def _request(self, details: Details, record: Record) -> None:
        request_id = d.shortened(details, "id") or f"#{record.seq}"
        self._requests[request_id] = RequestView(
            id=request_id,
            tool=d.shortened(details, "tool_name"),
            explanation=d.shortened(details, "explanation"),
            dialect=d.shortened(details, "dialect"),
            parameters=details.get("parameters"),
            repairs=tuple(_repair(repair) for repair in d.objects(details, "repairs")),
        )

    def _valid(self, details: Details, record: Record) -> None:
        del record
        request_id = d.shortened(details, "id")
        if known := self._requests.get(request_id):
            self._requests[request_id] = replace(known, valid=True, coerced=d.texts(details, "coerced"))

    def _invalid(self, details: Details, record: Record) -> None:
        request_id = d.shortened(details, "id")
        if known := self._requests.get(request_id):
            self._requests[request_id] = replace(known, valid=False)
        self._refuse("request", details, record)

    def _change_refused(self, details: Details, record: Record) -> None:
        self._refuse("edit", details, record)

    def _output_refused(self, details: Details, record: Record) -> None:
        self._refuse("output", details, record)

    def _refuse(self, stage: Literal["request", "edit", "output"], details: Details, record: Record) -> None:
        refusals = d.objects(details, "refusals") or ({"code": "refused", "message": record.message},)
        for refusal in refusals:
            code, message, hint, path = (d.shortened(refusal, key) for key in ("code", "message", "hint", "path"))
            request_id = d.shortened(refusal, "request_id") or d.shortened(details, "id")
            self._refusals.append(RefusalView(stage, code, message, hint, path, request_id))

    def _block_ignored(self, details: Details, record: Record) -> None:
        self._ignored.append(d.shortened(details, "reason") or record.message)

    def _corrected(self, details: Details, record: Record) -> None:
        del record
        self._corrections.append(correction_of(details))

    def _planned(self, details: Details, record: Record) -> None:
        del record
        self._notes += d.texts(details, "notes")
        self._changes = tuple(_change(change) for change in d.objects(details, "changes"))

    def _gate(self, details: Details, record: Record) -> None:
        del record
        fixed = d.objects(details, "fixed")
        seconds = d.number(details, "duration_ms") / 1000
        self._spend("gate", seconds)
        self._gates.append(
            GateView(
                status=d.shortened(details, "status"),
                findings=tuple(_finding(finding) for finding in d.objects(details, "findings")),
                fixed=tuple(_fixed(one) for one in fixed),
                fixes=sum(int(d.number(one, "count")) or 1 for one in fixed),
                not_checked=tuple(_skipped(one) for one in d.objects(details, "not_checked")),
                checks=tuple(
                    f"{d.shortened(check, 'name')} {d.shortened(check, 'version')}".strip()
                    for check in d.objects(details, "checks")
                ),
                seconds=round(seconds, 3),
                diff=d.shortened(details, "diff"),
                outlines=tuple(change_summary.summary_from_json(one) for one in d.objects(details, "outlines")),
            )
        )

    def _asked(self, details: Details, record: Record) -> None:
        # The same without an answer yet is asked anew, after an interruption.
        request_id = d.shortened(details, "id")
        self._approvals = [asked for asked in self._approvals if asked.answer or asked.id != request_id]
        self._approvals.append(
            ApprovalView(
                id=request_id,
                digest=d.shortened(details, "digest"),
                kind=d.shortened(details, "kind"),
                tools=d.texts(details, "tools"),
                diff=d.shortened(details, "diff"),
                risks=d.texts(details, "risks"),
                notes=d.texts(details, "notes"),
                asked_at=record.timestamp,
            )
        )

    def _decided(self, details: Details, record: Record) -> None:
        self._spend("human", d.number(details, "seconds"))
        key = d.shortened(details, "id"), d.shortened(details, "digest")
        waiting = [n for n, asked in enumerate(self._approvals) if not asked.answer and (asked.id, asked.digest) == key]
        if not waiting:
            waiting = [len(self._approvals)]
            self._approvals.append(ApprovalView(*key, "", (), "", (), (), asked_at=record.timestamp))
        self._approvals[waiting[0]] = replace(
            self._approvals[waiting[0]],
            answer=d.shortened(details, "answer"),
            reason=d.shortened(details, "reason"),
            by=d.shortened(details, "by"),
            at=d.shortened(details, "at") or record.timestamp,
            seconds=float(d.number(details, "seconds")),
        )

    def _execution(self, details: Details, record: Record) -> None:
        del record
        self._begun.append(_ids(details))

    def _result(self, details: Details, record: Record) -> None:
        changes = tuple(_change(change) for change in d.objects(details, "changes"))
        seconds = d.number(details, "duration_ms") / 1000
        tool = d.shortened(details, "tool")
        self._spend("run" if tool else "write", seconds)
        words = d.shortened(details, "text") or record.message
        # A result ends what was begun for the same requests; tools that only look are not begun.
        if (ids := _ids(details)) in self._begun:
            self._begun.remove(ids)
        self._results.append(ResultView(d.flag(details, "ok", True), words, tool, changes, round(seconds, 3)))

    def _checkpoint(self, details: Details, record: Record) -> None:
        del record
        self._checkpoints.append(int(d.number(details, "step")))

    def _told(self, details: Details, record: Record) -> None:
        self._feedback = d.shortened(details, "text") or record.message

    def _noted(self, details: Details, record: Record) -> None:
        """Keep what happened around the turn: an escalation, a hand-off, an answer, an alert."""
        who = "overseer: " if record.event_type == "OVERSEER_ALERT" else ""
        files = ", ".join(d.texts(details, "files"))
        self._notes.append(f"{who}{record.message}{f' ({files})' if files else ''}")

    def _error(self, details: Details, record: Record) -> None:
        self._errors.append(d.shortened(details, "error") or record.message)


_TAKERS: Final[dict[str, Callable[[TurnBuilder, Details, Record], None]]] = {
    "LLM_RESPONSE": TurnBuilder._response,
    "LLM_ERROR": TurnBuilder._error,
    "MCP_REQUEST_FORMULATED": TurnBuilder._request,
    "TOOL_REQUEST_VALIDATED": TurnBuilder._valid,
    "TOOL_REQUEST_VALIDATION_FAILED": TurnBuilder._invalid,
    "CORRECTION": TurnBuilder._corrected,
    "BLOCK_IGNORED": TurnBuilder._block_ignored,
    "CHANGE_PLANNED": TurnBuilder._planned,
    "CHANGE_REFUSED": TurnBuilder._change_refused,
    "GATE_VERDICT": TurnBuilder._gate,
    "APPROVAL_REQUESTED": TurnBuilder._asked,
    "HUMAN_DECISION": TurnBuilder._decided,
    "EXECUTION_STARTED": TurnBuilder._execution,
    "TOOL_EXECUTION_RESULT": TurnBuilder._result,
    "CHECKPOINT": TurnBuilder._checkpoint,
    "OUTPUT_REFUSED": TurnBuilder._output_refused,
    "FEEDBACK_SENT": TurnBuilder._told,
    "ESCALATION": TurnBuilder._noted,
    "HANDOFF": TurnBuilder._noted,
    "HUMAN_STEERED": TurnBuilder._noted,
    "OVERSEER_ALERT": TurnBuilder._noted,
    "ERROR": TurnBuilder._error,
}


def _ids(details: Details) -> tuple[str, ...]:
    return d.texts(details, "ids") or (d.shortened(details, "id"),)


def _repair(repair: Details) -> str:
    before, after = d.shortened(repair, "before"), d.shortened(repair, "after")
    change = f": {before!r} → {after!r}" if before or after else ""
    return f"{d.shortened(repair, 'name')} at {d.number(repair, 'offset'):.0f}{change}"


def _finding(finding: Details) -> FindingView:
    path, rule, message, tool, severity = (
        d.shortened(finding, key) for key in ("path", "rule", "message", "tool", "severity")
    )
    line, column = (int(d.number(finding, key)) for key in ("line", "column"))
    return FindingView(path, line, column, rule, message, tool, severity or "error", d.flag(finding, "new", True))


def _fixed(fixed: Details) -> str:
    count = int(d.number(fixed, "count")) or 1
    return f"{d.shortened(fixed, 'tool')} {d.shortened(fixed, 'rule')} ×{count} in {d.shortened(fixed, 'path')}"


def _skipped(skip: Details) -> str:
    return f"{d.shortened(skip, 'path')} by {d.shortened(skip, 'check')}: {d.shortened(skip, 'reason')}"


def _change(change: Details) -> ChangeView:
    before, after = (d.shortened(change, key) or None for key in ("before_sha256", "after_sha256"))
    return ChangeView(d.shortened(change, "path"), d.shortened(change, "kind"), before, after)
