"""``ai-rails apply``: a saved answer takes the same path as a live one."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from rails.approval.decision import NO_HUMAN
from rails.commands import common
from rails.commands.options import add_approval, add_correction, add_dialects, add_project
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, RailsError
from rails.core.messages import say
from rails.core.text import printable
from rails.session.project import agents_of, registry_of, state_of

if TYPE_CHECKING:
    from pathlib import Path

    from rails.approval.decision import Approver
    from rails.commands.live import ProgressScreen
    from rails.session.apply import AppliedAnswer, Proposals
    from rails.tools.registry import Registry

_EXIT = {"applied": EXIT_OK, "error": EXIT_BROKEN}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", nargs="?", default="-", help="the answer (default: standard input)")
    words = "in place of a file: what was denied in that session because nobody was there"
    parser.add_argument("--denied", metavar="SESSION", help=words)
    parser.add_argument("--agent", default="coder", help="whose tools the answer may use (default: coder)")
    parser.add_argument("--dry-run", action="store_true", help="show all, but do not ask or write")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    parser.add_argument("--jsonl", action="store_true", help='one {"id", "text"} per line in, one result per line out')
    parser.add_argument("--copy", action="store_true", help="copy the feedback for the chat to the clipboard")
    add_correction(parser)
    add_dialects(parser)
    parser.add_argument("--debug", action="store_true", help="show the blocks as they were found")
    parser.add_argument("--commit", action="store_true", help="make one commit on your branch at the end")
    add_project(parser)
    add_approval(parser)


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    from rails.commands import agents as trust
    from rails.commands.live import ProgressScreen
    from rails.gate.gate import Gate
    from rails.log.writer import SessionLog
    from rails.session.apply import DryRunApprover, Proposals
    from rails.session.job import SessionJob

    project = common.project_of(options)
    quiet = options.json or options.jsonl
    out = sys.stderr if quiet else sys.stdout
    colour = not quiet and common.colour_wanted(sys.stdout)
    screen = ProgressScreen(out, colour=colour, debug=options.debug, plain=options.plain)
    registry = registry_of(project)
    gate = Gate(project)
    loaded = agents_of(project, options.agent)
    for words in common.notes_of(loaded, registry):
        print(f"note: {words}", file=sys.stderr)
    agents = trust.require(loaded, [options.agent], project, ask=not quiet)
    approver: Approver = (
        DryRunApprover(None if quiet else partial(common.show_question, screen))
        if options.dry_run
        else common.approver_of(options, screen, project, registry, gate)
    )
    if options.jsonl:
        answers = list(common.read_jsonl(options.file))
    elif options.denied:
        answers = [(None, _denied(project, options.denied))]
    else:
        answers = [(None, common.read_input(options.file))]
    if not quiet:
        answers = [(None, _settled(answers[0][1], options, project, registry, screen))]
        if not answers[0][1]:
            return EXIT_FINDINGS
    worst = EXIT_OK
    with SessionLog.create(state_of(project)) as log:
        tasks = ((options.agent, f"apply {options.denied or options.file}"),)
        dialects = tuple(options.dialect)
        job = SessionJob(project, tasks, approve=options.approve, correction=options.correction, dialects=dialects)
        proposals = Proposals(job, log, registry, agents, approver, gate)
        if not quiet:
            proposals.watch = screen
        common.listen(approver, log, proposals.session.publish)
        with proposals.open():
            for item_id, text in answers:
                result = _applied(proposals, text, only=not options.jsonl)
                worst = max(worst, _EXIT.get(result.status, EXIT_FINDINGS))
                value = result.to_json()
                value |= {"dry_run": options.dry_run, "session": value.pop("session")}
                if options.jsonl:
                    common.print_json({"id": item_id, **value}, indent=None)
                elif options.json:
                    common.print_json(value)
                else:
                    _show(result, screen, options)
    if options.commit and worst == EXIT_OK and not options.dry_run:
        common.commit(project, log.session_id, f"Apply {options.file}", screen)
    return worst


def _denied(project: Path, wanted: str) -> str:
    """Return a session's unattended denials as an answer. Raises UsageError for none."""
    from rails.commands.log import chosen_session
    from rails.review.session_list import SessionList

    state = state_of(project)
    return SessionList(state).denied(chosen_session(state, wanted).session_id)


def _settled(text: str, options: argparse.Namespace, project: Path, registry: Registry, screen: ProgressScreen) -> str:
    from rails.parsing.parse import parse

    shapes = registry.shapes()
    found = parse(text, shapes, dialects=options.dialect)
    if found.requests or found.refusals:
        return text
    from rails.commands.pasted import NothingToApplyError, Settling, with_fence
    from rails.tools.runners.files import project_texts

    files = dict(project_texts(project))
    person = common.human_of(screen)
    try:
        return Settling(files, shapes, person, lambda words: screen.line(f"  {words}", "dim")).settle(with_fence(text))
    except NothingToApplyError as nothing:
        screen.line(str(nothing), "yellow")
        return ""


def _applied(proposals: Proposals, text: str, *, only: bool) -> AppliedAnswer:
    from rails.session.apply import broken

    try:
        return proposals.apply(text)
    except RailsError as error:
        if only:
            raise
        return broken(error, proposals.log.session_id)


def _show(result: AppliedAnswer, screen: ProgressScreen, options: argparse.Namespace) -> None:
    screen.rest()
    applied = result.status == "applied"
    words: str = "would be applied (dry run: nothing was written)" if applied and options.dry_run else result.status
    if applied and not result.changes:
        words = "No changes."
    screen.line()
    screen.line(words, "green" if applied else "red")
    from rails.session.feedback import HEADER

    told = result.previous_tool_output.removeprefix(HEADER).lstrip("\n")
    if f"Human Feedback: {NO_HUMAN}" in told:
        screen.line(say("nothing_written", "en"))  # the model has nothing to correct
    elif told:
        screen.line()
        screen.line("Paste this back into the chat:", "bold")
        back = printable(told)
        screen.out.write(f"{back}\n")  # it is copied, so nothing is wrapped
        if options.copy:
            from rails.commands.clipboard import copied

            screen.line(copied(back), "dim")
