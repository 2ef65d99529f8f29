"""A proposed change, from a turn or outside: plan, gate, ask, write; and the words for its author.

All edits of an answer are one unit: on any failure, none is written.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.approval.decision import attended, request_for_changes, sign_changes
from rails.core import limits
from rails.core.builtin_tools import RUN_TESTS
from rails.core.changes import ChangeSet
from rails.core.errors import FAULT, CheckError, Refusal, StaleError, TimeUpError, WorkspaceError
from rails.core.events.changes import (
    ChangePlanned,
    ChangeRefused,
    CheckpointEvent,
    ExecutionStarted,
    ToolExecutionResult,
    changes_in_words,
)
from rails.core.events.session import ErrorEvent
from rails.core.text import head_and_tail, one_line
from rails.core.time_limit import run_within
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Verdict
from rails.edits.apply import Applied, apply, read_file, recover
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.plan import plan
from rails.edits.plan_result import Plan
from rails.log.masking import MARK
from rails.session import faults, feedback
from rails.session.ask_approval import Agreement, ask_permit, closed_files
from rails.session.feedback import RequestResult
from rails.session.text_answers import never_seen, shown_instead
from rails.session.turn_context import TurnContext, judged, ms_since

#: What is said besides of a log that fails after a write.
_ON_DISK: Final = (
    "What was approved just before is on the disk, whole ({title}). When the log can be written again, ai-rails undo "
    "takes it back and ai-rails run --resume {session} continues."
)
_NOT_RECORDED: Final = (
    "The change is written, but its history could not be: ai-rails undo cannot take it back yet. "
    "The next change or start of AI-Rails tries again."
)
#: Codes of refused edits after which the file would be as it is.
_SO_ALREADY: Final = ("no_change", "already_applied")
#: How often findings of style, and failing tests, go back to the agent before a person is shown the change with them.
_TRIES: Final = 2
_OUTPUT_CHARS: Final = 2_500
_WRITING: Final = "a change was written"


def propose_change(context: TurnContext, requests: Sequence[ToolRequest]) -> RequestResult:
    """Carry out edits as one change."""
    ids = tuple(request.id for request in requests)
    echoes = [doubt for request in requests if (doubt := context.echo(request))]
    unseen = never_seen(context, requests)
    known = [request for request in requests if request.parameters.get("file_path") not in unseen]
    if not known:
        return shown_instead(context, ids, unseen)
    planned = plan([context.based(edit) for edit in known], context.project, known=context.known)
    left_out = (f"Not changed, because the agent never saw it: {path}" for path in unseen)
    planned = replace(planned, notes=(*planned.notes, *left_out))
    if refusals := planned.refusals or tuple(_masked_writes(planned.changes)):
        if all(refusal.code in _SO_ALREADY for refusal in refusals):
            return feedback.same(ids, refusals)
        context.publish(ChangeRefused(ids, refusals, planned.edits))
        closed = closed_files(context, {refusal.path for refusal in refusals})
        return feedback.edit(ids, refusals, planned.edits, closed)
    return carry_out_plan(context, known, planned, echoes)


def _masked_writes(changes: ChangeSet) -> Iterator[Refusal]:
    for change in changes.changes:
        before, after = ((data or b"").decode("utf-8", "replace") for data in (change.before, change.after))
        if "«secret:" in after and not set(MARK.findall(after)) <= set(MARK.findall(before)):
            message = f"The edit would write «secret:…» into {change.path}, the mark of a masked value."
            hint = "Send an edit that leaves the lines with it as they are, or ask the user for the value's place."
            yield Refusal("masked", message, hint, path=str(change.path))


def propose_what_ran(
    context: TurnContext, request: ToolRequest, ran: RequestResult, changes: ChangeSet
) -> RequestResult:
    """Propose a contained command's changes; the outcome follows its result."""
    note = f"{request.tool_name} wrote this in the sandbox; it is not in the project yet."
    outcome = carry_out_plan(context, (request,), Plan(changes, notes=(note,)), ())
    if outcome.kind != "gate":
        context.contained.settle()
    kept = f"\n{feedback.KEPT_IN_SANDBOX}" if outcome.kind == "gate" else ""
    text = f"{ran.text}\nIt {one_line(changes_in_words(changes.files()), 400)}. {outcome.text}{kept}"
    return RequestResult(ran.ids, outcome.kind if ran.ok else ran.kind, text)


def carry_out_plan(
    context: TurnContext,
    requests: Sequence[ToolRequest],
    planned: Plan,
    echoes: Sequence[str],
    *,
    by_hand: bool = False,
) -> RequestResult:
    """Judge a planned change, ask and write. ``by_hand``: a person may overrule findings."""
    ids = tuple(request.id for request in requests)
    fuzzy, merged = (tuple(map(str, files)) for files in (planned.fuzzy, planned.merged))
    context.publish(ChangePlanned(ids, planned.changes.files(), planned.notes, fuzzy, merged, planned.edits))
    verdict = _judged(context, ids, requests, planned.changes)
    overrules = by_hand and attended(context.approver)
    if verdict.status == "fail" and not overrules and (verdict.breaks or not _shows_style(context)):
        return feedback.gate(ids, verdict, closed_files(context, {finding.path for finding in verdict.blocking}))
    shown = []
    for finding in (verdict.blocking if overrules else verdict.style)[: limits.FINDINGS_TOLD]:
        place = f"{finding.path}:{finding.line}"
        shown.append(f"{finding.weight}: {place}: {finding.rule} {one_line(finding.message, 120)}")
    notes = [*planned.notes]
    doubts = [*echoes, *planned.doubts, *shown]
    tested = _run_proposed_tests(context, verdict.proposal)
    if tested:
        notes.append(tested.summary)
    if tested and not tested.ok:
        context.sent_back["tests"] += 1
        if context.sent_back["tests"] <= _TRIES or not attended(context.approver):
            context.publish(tested.event())
            return feedback.not_done("tests_failed", ids, summary=tested.summary, output=tested.output)
        doubts.append(f"The tests fail with this change. {tested.summary}")
    asked = request_for_changes(
        ids[0],
        context.agent.name,
        requests,
        verdict,
        notes,
        from_project=context.from_project,
        doubts=doubts,
        model=context.model.name,
    )
    agreed = ask_permit(context, ids, asked, sign_changes)
    if isinstance(agreed, RequestResult):  # what was shown with the difference may be why
        return replace(agreed, text="\n".join((agreed.text, *shown)))
    outcome = _write(context, ids, agreed, planned, agreed.asked.verdict or verdict)
    context.wrote[:] = requests[:1]
    if tested and outcome.ok and not agreed.account:
        context.publish(tested.event())
    return outcome


class ProposedTests(Struct, frozen=True):
    """A test run with the change in place: its last line, and its output."""

    ok: bool
    summary: str
    output: str
    seconds: float

    def event(self) -> ToolExecutionResult:
        """Return the log's event: a run that nobody asked for."""
        text = f"{self.summary}\n{self.output}"
        return ToolExecutionResult(ids=(), ok=self.ok, text=text, tool=RUN_TESTS.name, duration_ms=self.seconds * 1000)


def _run_proposed_tests(context: TurnContext, changes: ChangeSet) -> ProposedTests | None:
    """Run the project's tests on a change; ``None`` where unwanted or nothing can run."""
    contained = context.contained
    human = contained.human
    wanted = context.tests == "on"
    if context.tests == "ask":
        if contained.tests_agreed is None and human is not None and contained.finds_tests():
            from rails.session.ask_user import UserQuestion, ask

            lines = (
                "── Run the project's tests on each change before you see it? ".ljust(78, "─"),
                "  They run in the sandbox, without network. Failures go back to the agent twice.",
                "  --tests on or off answers this beforehand.",
            )
            choices = {"y": ("yes", "run them, in this session"), "n": ("no", "leave them to me")}
            answer = ask(human, context.publish, UserQuestion("tests", lines, choices, "no")).answer
            contained.tests_agreed = answer == "yes"
        wanted = contained.tests_agreed is True
    try:
        ran = contained.test(changes) if wanted else None
    except CheckError:
        return None
    if ran is None:
        return None
    lines_out = [line for line in ran.out.splitlines() if line.strip()]
    summary = one_line(lines_out[-1].strip("= "), 120) if lines_out else ran.status
    output, _ = head_and_tail(ran.out.strip(), _OUTPUT_CHARS)
    return ProposedTests(ran.ok, f"tests: {summary}", context.mask(output), ran.seconds)


def propose_last_fixes(context: TurnContext) -> None:
    """Propose to remove unused imports left at the end of a task."""
    changes = context.gate.last_fixes(context.agent.name)
    if changes and context.wrote:
        notes = ("The task is done: what nothing uses is taken out.",)
        carry_out_plan(context, context.wrote, Plan(changes, notes=notes), ())


def _shows_style(context: TurnContext) -> bool:
    """Return whether style is shown: at once if nobody rewrites, else after two returns."""
    if not attended(context.approver):
        return False
    context.sent_back["style"] += 1
    return not context.model.provider or context.sent_back["style"] > _TRIES


def _judged(context: TurnContext, ids: tuple[str, ...], requests: Sequence[ToolRequest], changes: ChangeSet) -> Verdict:
    """What nothing uses as yet stays: an import may come first."""
    judge = partial(context.gate.judge, changes, agent=context.agent.name, author=context.author(requests), final=False)
    left = context.time_left()
    in_time = judge if math.isinf(left) else partial(run_within, left, judge, "the gate")
    try:
        return judged(context.publish, ids, in_time)
    except TimeoutError:
        raise TimeUpError("The time of the session was used up while the checks ran. Nothing was written.") from None


def _write(
    context: TurnContext, ids: tuple[str, ...], agreed: Agreement[ChangeSet], planned: Plan, verdict: Verdict
) -> RequestResult:
    started, asked = time.monotonic(), agreed.asked
    title = changes_in_words(agreed.approved.value.files()) + planned.label
    on_disk = _ON_DISK.format(title=title, session=context.session_id)
    step, intent = StepFacts(context.session_id, title), ExecutionStarted(ids, asked.digest, asked.changes.files())
    applied = Applied(ChangeSet())
    try:
        applied = apply(agreed.approved, context.project, step=step, on_intent=lambda: context.publish(intent))
    except WorkspaceError as error:
        why = "stale" if isinstance(error, StaleError) else "unwritable"
        outcome = feedback.not_done(why, ids, message=str(error))
    except FAULT as error:
        outcome = faults.outcome_of(context.publish, ids, _WRITING, error)
        applied = _left_by_a_fault(context, asked.changes)
    else:
        notes = (*planned.notes, agreed.account) if agreed.account else planned.notes
        words = partial(_told, context, ids, applied, verdict, notes)
        with faults.happened(on_disk):
            outcome = faults.attempted(context.publish, "the result was put in words", words, ids)
    ok = outcome.ok or bool(applied.changes)
    result = ToolExecutionResult(
        ids=ids, ok=ok, text=outcome.text, changes=applied.changes.files(), duration_ms=ms_since(started)
    )
    with faults.happened(on_disk if applied.changes else ""):
        context.publish(result)
        if applied.step:
            paths = tuple(str(change.path) for change in applied.changes.changes)
            context.publish(CheckpointEvent(f"step {applied.step}: {title}", applied.step, paths))
        elif applied.unrecorded:  # the files are written and logged; the journal keeps the step
            context.publish(ErrorEvent(_NOT_RECORDED, applied.unrecorded))
    return outcome


def _told(
    context: TurnContext, ids: tuple[str, ...], applied: Applied, verdict: Verdict, notes: Sequence[str]
) -> RequestResult:
    for change in applied.changes.changes:
        context.saw(str(change.path), change.after_sha256 or "")
    closed = closed_files(context, {fix.path for fix in verdict.fixed})
    return feedback.applied(ids, applied.changes, verdict, notes, closed)


def _left_by_a_fault(context: TurnContext, changes: ChangeSet) -> Applied:
    """All of the change, or nothing."""
    with suppress(*FAULT):  # the next start tries again
        recover(context.project)
    with suppress(WorkspaceError):
        if all(read_file(context.project, change.path) == change.after for change in changes.changes):
            return Applied(changes)
    return Applied(ChangeSet())
