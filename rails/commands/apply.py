"""``ai-rails apply``: a saved answer takes the same path as one that a model gives live."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rails.approval.decision import NO_HUMAN
from rails.commands import common
from rails.commands.options import add_approval, add_correction, add_dialects, add_project
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, RailsError
from rails.core.messages import say
from rails.core.text import printable
from rails.session.project import agents_of, registry_of, state_of

if TYPE_CHECKING:
    from rails.approval.decision import ApprovalRequest, Approver
    from rails.commands.live import ProgressScreen
    from rails.core.tool_request import Json
    from rails.session.saved_answer import AppliedAnswer, Proposals

_EXIT: Final = {
    "applied": EXIT_OK,
    "refused": EXIT_FINDINGS,
    "denied": EXIT_FINDINGS,
    "partial": EXIT_FINDINGS,
    "error": EXIT_BROKEN,
}


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
    from rails.commands import agents as trust
    from rails.commands.live import ProgressScreen
    from rails.gate.gate import Gate
    from rails.log.writer import SessionLog
    from rails.session.job import SessionJob
    from rails.session.saved_answer import DryRunApprover, Proposals

    project = common.project_of(options)
    quiet = options.json or options.jsonl
    out = sys.stderr if quiet else sys.stdout
    colour = not quiet and common.colour_wanted(sys.stdout)
    screen = ProgressScreen(out, colour=colour, debug=options.debug, plain=options.plain)
    registry, gate = registry_of(project), Gate(project)
    loaded = agents_of(project, options.agent)
    for words in common.notes_of(loaded, registry):
        print(f"note: {words}", file=sys.stderr)
    agents = trust.require(loaded, [options.agent], project, ask=not quiet)
    approver: Approver = (
        DryRunApprover(None if quiet else _shown_on(screen))
        if options.dry_run
        else common.approver_of(options, screen, project, registry, gate)
    )
    answers = list(common.read_jsonl(options.file)) if options.jsonl else [(None, common.read_input(options.file))]
    worst = EXIT_OK
    with SessionLog.create(state_of(project)) as log:
        tasks = ((options.agent, f"apply {options.file}"),)
        dialects = tuple(options.dialect)
        job = SessionJob(project, tasks, approve=options.approve, correction=options.correction, dialects=dialects)
        proposals = Proposals(job, log, registry, agents, approver, gate)
        if not quiet:
            proposals.watch = screen
        common.listen(approver, log, proposals.session.publish)
        with proposals.open():
            for item_id, text in answers:
                result = _applied(proposals, text, only=not options.jsonl)
                worst = max(worst, _EXIT[result.status])
                value = _as_json(result, dry_run=options.dry_run)
                if options.jsonl:
                    common.print_json({"id": item_id, **value}, indent=None)
                elif options.json:
                    common.print_json(value)
                else:
                    _show(result, screen, dry_run=options.dry_run)
    if options.commit and worst == EXIT_OK and not options.dry_run:
        common.commit(project, log.session_id, f"Apply {options.file}", screen)
    return worst


def _applied(proposals: Proposals, text: str, *, only: bool) -> AppliedAnswer:
    """Apply one answer; what cannot be done at all is the result of one of several, and ends the command for one."""
    from rails.session.saved_answer import broken

    try:
        return proposals.apply(text)
    except RailsError as error:
        if only:
            raise
        return broken(error, proposals.log.session_id)


def _as_json(result: AppliedAnswer, *, dry_run: bool) -> dict[str, Json]:
    """Return the contract ``apply.schema.json``."""
    facts = result.to_json()
    session = facts.pop("session")
    return {**facts, "dry_run": dry_run, "session": session}


def _shown_on(screen: ProgressScreen) -> Callable[[ApprovalRequest], None]:
    from rails.approval.terminal.screen import Look, draw_request

    def show(request: ApprovalRequest) -> None:
        screen.line()
        for line in draw_request(request, Look(colour=screen.colour, plain=screen.plain)).lines:
            screen.line(line)

    return show


def _show(result: AppliedAnswer, screen: ProgressScreen, *, dry_run: bool) -> None:
    screen.rest()
    applied = result.status == "applied"
    words = "would be applied (dry run: nothing was written)" if applied and dry_run else result.status
    screen.line()
    screen.line(words, "green" if applied else "red")
    told = result.previous_tool_output
    if f"Human Feedback: {NO_HUMAN}" in told:
        screen.line(say("nothing_written", "en"))  # the model has nothing to correct
    elif told:
        screen.line()
        screen.line("Paste this back into the chat:", "bold")
        screen.line(printable(told))
