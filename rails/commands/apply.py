"""``ai-rails apply``: a saved answer takes the same path as one that a model gives live."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rails.approval.decision import ApprovalRequest, Approver, Decision
from rails.approval.terminal.screen import Look, draw_request
from rails.commands import agents as trust
from rails.commands import common
from rails.commands.live import ProgressScreen
from rails.commands.options import add_approval, add_correction, add_dialects, add_project
from rails.core.conversation import Delta, Message, ModelAnswer, TextPart, ToolSpec
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, RailsError, UsageError
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import (
    ChangePlanned,
    ChangeRefused,
    ExecutionStarted,
    GateVerdict,
    ToolExecutionResult,
)
from rails.core.events.record import Record
from rails.core.events.session import WorkflowEnd
from rails.core.events.turn import LlmResponse, ToolRequestValidationFailed
from rails.core.events.values import object_to_json, verdict_to_json
from rails.core.text import printable
from rails.core.tool_request import Json
from rails.gate.gate import Gate
from rails.log.writer import SessionLog
from rails.parsing.parse import AnswerParser
from rails.session.job import SessionJob, log_session_start
from rails.session.run import Session
from rails.session.turn import Turn, carry_out

_EXIT = {
    "applied": EXIT_OK,
    "refused": EXIT_FINDINGS,
    "denied": EXIT_FINDINGS,
    "partial": EXIT_FINDINGS,
    "error": EXIT_BROKEN,
}


@dataclass
class Collector:
    """Folds the records of one answer into the contract of ``rails/contracts/apply.schema.json``."""

    planned: list[Json] = field(default_factory=list)
    written: list[Json] = field(default_factory=list)
    refusals: list[Json] = field(default_factory=list)
    verdict: Json = None
    denied: bool = False

    def __call__(self, record: Record) -> None:
        """Take note of one record."""
        match record.event:
            case ToolRequestValidationFailed(refusals=refusals) | ChangeRefused(refusals=refusals):
                self.refusals += [object_to_json(refusal) for refusal in refusals]
            case ChangePlanned(changes=changes):
                self.planned = [object_to_json(change) for change in changes]
            case GateVerdict(verdict=verdict):
                self.verdict = {name: one for name, one in verdict_to_json(verdict).items() if name != "outlines"}
            case ExecutionStarted(changes=changes):
                self.planned = [object_to_json(change) for change in changes or ()] or self.planned
            case ToolExecutionResult(ok=True, changes=changes):
                self.written += [object_to_json(change) for change in changes or ()]
            case HumanDecision(answer=answer):
                self.denied = self.denied or answer != "approve"
            case _:
                pass


@dataclass
class DryRunApprover:
    """Approves nothing: shows what a human would be asked, remembers that it came so far, and says no."""

    show: Callable[[ApprovalRequest], None] | None = None
    reached: list[ApprovalRequest] = field(default_factory=list)

    def decide(self, request: ApprovalRequest) -> Decision:
        """Show and take note of the question."""
        self.reached.append(request)
        if self.show:
            self.show(request)
        return Decision("deny", "This is a dry run; nothing was written.", "dry run")


class SavedAnswer:
    """Stands where a model would: the answer is here already, so it is never asked."""

    name = "saved answer"

    def for_agent(self, role: str) -> SavedAnswer:
        """Return this: the answer is the same, whoever gave it."""
        del role
        return self

    def steady(self) -> SavedAnswer:
        """Return this: what was saved does not vary."""
        return self

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Never called."""
        del system, messages, tools
        raise UsageError("A saved answer cannot be asked again. Use ai-rails run to work with a model.")


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("file", nargs="?", default="-", help="the answer (default: standard input)")
    parser.add_argument("--agent", default="coder", help="whose tools the answer may use (default: coder)")
    parser.add_argument("--dry-run", action="store_true", help="do everything but ask and write")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    parser.add_argument("--jsonl", action="store_true", help='one {"id", "text"} per line in, one result per line out')
    add_correction(parser)
    add_dialects(parser)
    parser.add_argument("--commit", action="store_true", help="in the end, one clean commit on your branch")
    parser.add_argument("--debug", action="store_true", help="show the blocks as they were found")
    add_project(parser)
    add_approval(parser)


def run(options: argparse.Namespace) -> int:
    """Apply one answer, or one for each line; print the result and return the exit code."""
    project = common.project_of(options)
    quiet = options.json or options.jsonl
    out = sys.stderr if quiet else sys.stdout
    colour = not quiet and common.colour_wanted(sys.stdout)
    screen = ProgressScreen(out, colour=colour, debug=options.debug, plain=options.plain)
    registry, gate = common.registry_of(project), Gate(project)
    agents = trust.require(common.agents_of(project), [options.agent], project, ask=not quiet)
    approver: Approver = (
        DryRunApprover(None if quiet else _shown_on(screen))
        if options.dry_run
        else common.approver_of(options, screen, project, registry, gate)
    )
    answers = list(common.read_jsonl(options.file)) if options.jsonl else [(None, common.read_input(options.file))]
    worst = EXIT_OK
    with SessionLog.create(common.state_of(project)) as log:
        tasks = ((options.agent, f"apply {options.file}"),)
        job = SessionJob(project, tasks, approve=options.approve, correction=options.correction)
        log_session_start(job, log, "saved answer")
        session = Session(job, log, registry, agents, SavedAnswer().for_agent, approver, gate=gate)
        common.listen(approver, log, session.publish)
        with session.open():
            for number, (item_id, text) in enumerate(answers, start=1):
                collected = Collector()
                session.watch = collected if quiet else common.both(collected, screen)
                reader = AnswerParser(
                    registry.shapes(), id_prefix=f"t{number}.", dialects=options.dialect, report_unread_calls=True
                )
                reader.feed(text)
                answer = ModelAnswer(Message("assistant", (TextPart(text),)), "end_turn", model="saved answer")
                session.publish(LlmResponse.of("saved answer", answer))
                try:
                    turn = carry_out(session.context(options.agent), answer, reader.flush("end_turn"))
                    result = summarise(turn, collected, approver)
                except RailsError as error:
                    if not options.jsonl:
                        raise
                    result = _broken(error)
                result |= {"dry_run": options.dry_run, "session": log.session_id}
                worst = max(worst, _EXIT[str(result["status"])])
                if options.jsonl:
                    common.print_json({"id": item_id, **result}, indent=None)
                elif options.json:
                    common.print_json(result)
                else:
                    _show(result, screen)
        session.publish(WorkflowEnd("applied a saved answer", "done"))
    if options.commit and worst == EXIT_OK and not options.dry_run:
        common.commit(project, log.session_id, f"Apply {options.file}", screen)
    return worst


def summarise(turn: Turn, collected: Collector, approver: Approver) -> dict[str, Json]:
    """Return the contract for one answer."""
    dry = isinstance(approver, DryRunApprover) and bool(approver.reached)
    failed = [outcome for outcome in turn.outcomes if not outcome.ok and not (dry and outcome.kind == "denied")]
    refusals = collected.refusals
    if not turn.outcomes:
        refusals = [_nothing_found()]
    if failed or not turn.outcomes:
        status = "partial" if collected.written else "refused"
        if collected.denied and not dry and not collected.written:
            status = "denied"
        verdict = collected.verdict
        if isinstance(verdict, dict) and verdict.get("status") == "error" and not collected.written:
            status = "error" if status == "refused" else status
    else:
        status = "applied"
    told = turn.reply.text if turn.reply and failed else ""
    return {
        "status": status,
        "changes": collected.planned if dry and status == "applied" else collected.written,
        "refusals": refusals,
        "verdict": collected.verdict,
        "previous_tool_output": told or ("No valid JSON code block found" if not turn.outcomes else ""),
    }


def _shown_on(screen: ProgressScreen) -> Callable[[ApprovalRequest], None]:
    def show(request: ApprovalRequest) -> None:
        screen.line()
        for line in draw_request(request, Look(colour=screen.colour, plain=screen.plain)).lines:
            screen.line(line)

    return show


def _nothing_found() -> dict[str, Json]:
    hint = "A request is a JSON object in a ```json fence, or one of the XML tool forms."
    return {"code": "no_request", "message": "No valid JSON code block found", "hint": hint, "start": -1, "end": -1}


def _broken(error: RailsError) -> dict[str, Json]:
    return {"status": "error", "changes": [], "refusals": [], "verdict": None, "previous_tool_output": str(error)}


def _show(result: Mapping[str, Json], screen: ProgressScreen) -> None:
    screen.rest()
    applied = result["status"] == "applied"
    words = "would be applied" if applied and result["dry_run"] else str(result["status"])
    dry = " (dry run: nothing was written)" if result["dry_run"] else ""
    screen.line()
    screen.line(f"{words}{dry}", "green" if applied else "red")
    if told := str(result["previous_tool_output"]):
        screen.line()
        screen.line("Give this back to the model:", "bold")
        screen.line(printable(told))
