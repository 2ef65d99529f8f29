"""What a turn publishes: one function for each of its events.

The payload of every event type that a turn publishes is made here and nowhere else; the reader's side is
``rails.review``, ``rails.session.resume`` and ``rails.commands.live``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Literal

from rails.approval.decision import ApprovalRequest, Decision
from rails.approval.edit import edit_summary
from rails.approval.policy.grants import Granter
from rails.core.builtin_tools import status_verb
from rails.core.candidates import PlaceChoice
from rails.core.changes import ChangeSet, unified_diff
from rails.core.conversation import ModelAnswer, answer_to_json
from rails.core.errors import Refusal
from rails.core.json_text import json_object
from rails.core.tool_request import RawRequest, ToolRequest, ToolResult
from rails.core.verdict import Verdict
from rails.edits.plan_result import Plan
from rails.json_schema.quick_check import PATH_KEYS
from rails.parsing.results import CallFound, CallStarted, ParsedAnswer, ParseEvent
from rails.session.correction import Corrected
from rails.session.feedback import RequestResult
from rails.session.turn_context import TurnContext

BlockVerdict = Literal["passed", "corrected", "failed"]

_WROTE: Final = {"create": "Created", "modify": "Edited", "delete": "Deleted"}


def asking(context: TurnContext, messages: int, number: int) -> None:
    """The model is asked."""
    context.say("LLM_CALL", f"Asking {context.model.name}", messages=messages, turn=number)


def answered(context: TurnContext, answer: ModelAnswer, found: ParsedAnswer, started: float) -> None:
    """The model's whole answer is here."""
    context.say(
        "LLM_RESPONSE",
        f"{context.model.name} answered ({answer.stop_reason})",
        text=answer.message.text,
        prose=found.prose,
        calls=answer.message.calls,
        duration_ms=since(started),
        **answer_to_json(answer),
    )


def begun(context: TurnContext, signals: Sequence[ParseEvent]) -> None:
    """Requests whose tool and path are known, although their block may still be coming.

    Where the paths stand inside a list (``edits[]``), they are only known once the block is complete; then
    the status is published again, with the first file and how many more there are.
    """
    for signal in signals:
        if isinstance(signal, CallStarted):
            _status(context, signal.id, signal.tool_name, (signal.path,) if signal.path else ())
            continue
        found = signal.outcome if isinstance(signal, CallFound) else None
        if isinstance(found, RawRequest) and (paths := _inner_paths(found)):
            _status(context, signal.id, found.tool_name, paths)


def _status(context: TurnContext, request_id: str, tool: str, paths: Sequence[str]) -> None:
    words = f"{status_verb(tool)}..."
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    context.say(
        "TOOL_STATUS",
        f"{words} {paths[0]}{more}" if paths else words,
        id=request_id,
        status="buffering",
        toolType=tool,
        path=paths[0] if paths else "",
        statusMessage=words,
    )


def _inner_paths(raw: RawRequest) -> tuple[str, ...]:
    """Return the different paths inside the lists of a request that names none itself, in their order."""
    if any(name in raw.parameters for name in PATH_KEYS):
        return ()
    lists = [value for value in raw.parameters.values() if isinstance(value, list)]
    items = [item for value in lists for item in value if isinstance(item, dict)]
    named = [next((item[key] for key in PATH_KEYS if key in item), None) for item in items]
    return tuple(dict.fromkeys(path for path in named if isinstance(path, str) and path))


def formulated(context: TurnContext, raw: RawRequest) -> None:
    """A request was found in the answer."""
    context.say(
        "MCP_REQUEST_FORMULATED",
        f"{raw.tool_name}: {raw.explanation}" if raw.explanation else raw.tool_name,
        id=raw.id,
        tool_name=raw.tool_name,
        parameters=raw.parameters,
        explanation=raw.explanation,
        dialect=raw.dialect,
        start=raw.start,
        end=raw.end,
        repairs=raw.repairs,
    )


def ignored(context: TurnContext, found: ParsedAnswer) -> None:
    """Blocks that are no requests."""
    for block in found.ignored:
        context.say("BLOCK_IGNORED", block.reason, start=block.start, end=block.end, reason=block.reason)


def refused(context: TurnContext, request_id: str, refusals: Sequence[Refusal]) -> None:
    """A block or a request was refused before anything was done with it."""
    context.say("TOOL_REQUEST_VALIDATION_FAILED", str(refusals[0]), id=request_id, refusals=refusals)


def valid(context: TurnContext, request: ToolRequest) -> None:
    """A request satisfies its tool's definition."""
    context.say(
        "TOOL_REQUEST_VALIDATED",
        f"{request.tool_name} is valid",
        id=request.id,
        tool_name=request.tool_name,
        coerced=request.coerced,
    )


def block(
    context: TurnContext, item: RawRequest | Refusal, place: tuple[int, int] | None, verdict: BlockVerdict
) -> None:
    """A block is complete: published exactly once for each, in the order of the answer."""
    known = item if isinstance(item, RawRequest) else None
    path = next((known.parameters[name] for name in ("file_path", "path") if known and name in known.parameters), "")
    inner = _inner_paths(known) if known else ()
    context.say(
        "TOOL_BLOCK",
        f"block {verdict}",
        id=item.id if isinstance(item, RawRequest) else item.request_id,
        toolType=known.tool_name if known else "",
        path=path if isinstance(path, str) and path else inner[0] if inner else "",
        start=place[0] if place else -1,
        end=place[1] if place else -1,
        content=known.raw if known and not place else "",
        validationPassed=verdict == "passed",
        corrected=verdict == "corrected",
        verdict=verdict,
    )


def lacking(context: TurnContext, refusals: Sequence[Refusal]) -> None:
    """A final answer is not what the role's answer must be."""
    context.say("OUTPUT_REFUSED", str(refusals[0]), refusals=refusals)


def corrected(context: TurnContext, request_id: str, before: str, result: Corrected) -> None:
    """The model was asked to correct a block; ``result.why`` says why the answer was not taken."""
    context.say(
        "CORRECTION",
        f"correction not taken: {result.why}" if result.why else "corrected by the model",
        id=request_id,
        before=before,
        after=result.answer,
        taken=result.request is not None,
        why=result.why,
        drift=result.drift,
        usage=result.usage,
    )


def planned(context: TurnContext, ids: tuple[str, ...], plan: Plan) -> None:
    """The edits became a change set, or were refused."""
    if plan.refusals:
        context.say("CHANGE_REFUSED", str(plan.refusals[0]), ids=ids, refusals=plan.refusals)
    else:
        context.say(
            "CHANGE_PLANNED",
            changes_in_words(plan.changes),
            ids=ids,
            changes=plan.changes,
            notes=plan.notes,
            **{name: files for name, files in (("fuzzy", plan.fuzzy), ("merged", plan.merged)) if files},
        )


def placed(context: TurnContext, offer: PlaceChoice, handle: str) -> None:
    """A human chose the place of an edit that was refused."""
    place = next(place for place in offer.places if place.handle == handle)
    where = f"lines {place.first_line}–{place.last_line} of {offer.path}"
    context.say(
        "PLACE_CHOSEN",
        f"{where} chosen by the human: a fuzzy match" if place.likeness < 1 else f"{where} chosen by the human",
        id=offer.request_id,
        path=offer.path,
        refusal=offer.message,
        handle=handle,
        first_line=place.first_line,
        last_line=place.last_line,
        likeness=place.likeness,
    )


def judged(context: TurnContext, ids: tuple[str, ...], verdict: Verdict, started: float) -> None:
    """The gate has spoken."""
    facts = {name: value for name, value in json_object(verdict).items() if name != "proposal"}
    diff = "\n".join(_diff(verdict.proposal))
    told = {"outlines": verdict.outlines} if verdict.outlines else {}
    words = f"gate: {verdict.status}"
    context.say("GATE_VERDICT", words, ids=ids, duration_ms=since(started), diff=diff, **facts, **told)


def questioned(context: TurnContext, asked: ApprovalRequest, batch: str = "") -> None:
    """Somebody is asked; ``batch`` names the question where several were put as one."""
    context.say(
        "APPROVAL_REQUESTED",
        f"{', '.join(asked.tools)} by {asked.agent}",
        id=asked.id,
        digest=asked.digest,
        kind=asked.kind,
        tools=asked.tools,
        diff="\n".join(_diff(asked.changes)),
        risks=asked.risks,
        notes=asked.notes,
        explanation=asked.explanation,
        **({"batch": batch} if batch else {}),
    )


def decided(context: TurnContext, asked: ApprovalRequest, decision: Decision) -> None:
    """Somebody has answered."""
    message = f"{decision.answer} by {decision.by}" + (f": {decision.reason}" if decision.reason else "")
    account = edit_summary(asked, decision.edited) if decision.edited else ""
    facts = json_object(decision) | ({"batch": decision.batch} if decision.batch else {})
    context.say("HUMAN_DECISION", message, id=asked.id, digest=asked.digest, account=account, **facts)
    for change in context.approver.changes() if isinstance(context.approver, Granter) else ():
        context.say("GRANT", f"{change.what}: {change.grant}", what=change.what, **json_object(change.grant))


def writing(context: TurnContext, ids: tuple[str, ...], asked: ApprovalRequest) -> None:
    """Files are about to be written; this record is durable before the first byte changes."""
    changes = asked.changes
    context.say("EXECUTION_STARTED", changes_in_words(changes), ids=ids, digest=asked.digest, changes=changes)


def running(context: TurnContext, request: ToolRequest) -> None:
    """A tool is about to run."""
    context.say("EXECUTION_STARTED", request.tool_name, ids=[request.id], tool=request.tool_name)


def wrote(context: TurnContext, outcome: RequestResult, written: ChangeSet, started: float) -> None:
    """Files were written, or (nothing in ``written``) were not."""
    message = changes_in_words(written) if written else outcome.text
    context.say(
        "TOOL_EXECUTION_RESULT",
        message,
        ids=outcome.ids,
        ok=outcome.ok,
        text=outcome.text,
        changes=written,
        duration_ms=since(started),
    )


def checkpointed(context: TurnContext, step: int, written: ChangeSet, title: str) -> None:
    """The step can be undone."""
    context.say("CHECKPOINT", f"step {step}: {title}", step=step, paths=[c.path for c in written.changes])


def ran(context: TurnContext, request: ToolRequest, result: ToolResult) -> None:
    """A tool has run."""
    context.say(
        "TOOL_EXECUTION_RESULT",
        f"{request.tool_name} {'finished' if result.ok else 'failed'}",
        ids=[request.id],
        ok=result.ok,
        text=result.text,
        tool=request.tool_name,
        facts=result.facts,
        duration_ms=result.duration_ms,
    )


def _diff(changes: ChangeSet) -> list[str]:
    return [line for c in changes.changes for line in unified_diff(c.before, c.after, str(c.path))]


def changes_in_words(changes: ChangeSet) -> str:
    """Say what a change set does to which files."""
    return ", ".join(f"{_WROTE[change.kind]} {change.path}" for change in changes.changes)


def since(started: float) -> float:
    """Return the milliseconds since ``started`` (``time.monotonic``)."""
    return round((time.monotonic() - started) * 1000, 3)
