"""``ai-rails apply``: a saved answer takes the same path as a live one."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from rails.approval.decision import NO_HUMAN
from rails.commands import common
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, RailsError, UsageError
from rails.core.events.session import HumanSteered
from rails.core.messages import say
from rails.core.text import printable
from rails.core.tool_request import Json
from rails.log.session_stats import DENIED
from rails.session.project import agents_of, registry_of, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rails.approval.decision import Approver
    from rails.commands.live import ProgressScreen
    from rails.session.apply import AppliedAnswer, Proposals
    from rails.tools.registry import Registry

_AGENT = "coder"
_EXIT = {"applied": EXIT_OK, "error": EXIT_BROKEN}


OPTIONS = """
file?  the answer (default: standard input)
--denied SESSION  instead of a file: what was denied in that session because nobody was there
--agent AGENT  whose tools the answer may use (default: coder; of --denied: its own)
--dry-run  show all, but do not ask or write
--json  the result as JSON
--jsonl  one {"id", "text"} per line in, one result per line out
--copy  copy the feedback for the chat to the clipboard
@correction
@dialects
--debug  show the blocks as they were found
--commit  make one commit on your branch at the end
@project
@approval
"""


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    from rails.commands import agents as trust
    from rails.commands.live import ProgressScreen
    from rails.gate.gate import Gate
    from rails.log.writer import SessionLog
    from rails.session.apply import SAVED, DryRunApprover, Proposals
    from rails.session.job import SessionJob

    project = common.project_of(options)
    quiet = options.json or options.jsonl
    out = sys.stderr if quiet else sys.stdout
    screen = ProgressScreen(out, debug=options.debug, plain=options.plain)
    registry = registry_of(project)
    gate = Gate(project)
    denied, answers = _answers(options, project)
    names = [*dict.fromkeys(name for name, _, _ in answers)] or [_AGENT]
    loaded = agents_of(project, "" if names[1:] else names[0])
    for words in common.notes_of(loaded, registry):
        print(f"note: {words}", file=sys.stderr)
    agents = trust.require(loaded, names, project, ask=not quiet)
    approver: Approver = (
        DryRunApprover(None if quiet else partial(common.show_question, screen))
        if options.dry_run
        else common.approver_of(options, screen, project, registry, gate)
    )
    if not denied:
        answers = [(name, one, _settled(text, options, project, registry, screen)) for name, one, text in answers]
        if not (quiet or answers[0][2]):
            return EXIT_FINDINGS
    what = f"what was denied in session {denied}" if denied else options.file or "-"
    with SessionLog.create(state_of(project)) as log:
        job = SessionJob(
            project,
            ((names[0], f"apply {what}"),),
            approve=options.approve,
            correction=options.correction,
            dialects=tuple(options.dialect),
        )
        proposals = Proposals(job, log, registry, agents, SAVED.for_agent, approver, gate=gate)
        if not quiet:
            proposals.watch = screen
        common.listen(approver, log, proposals.publish)
        with proposals.open():
            worst = _each(answers, proposals, screen, options)
    if denied and not options.dry_run and {"applied", "denied"}.issuperset(proposals.became):
        _no_longer_listed(project, denied, log.session_id)
    if options.commit and worst == EXIT_OK and not options.dry_run:
        common.commit(project, log.session_id, f"Apply {what}", screen)
    return worst


def _each(
    answers: Sequence[tuple[str, Json, str]], proposals: Proposals, screen: ProgressScreen, options: argparse.Namespace
) -> int:
    from rails.session.apply import broken

    worst = EXIT_OK
    values = []
    for name, item_id, text in answers:
        try:
            result = proposals.apply(text, name)
        except RailsError as error:
            if not (options.jsonl or options.denied):
                raise
            result = broken(error, proposals.log.session_id)
        worst = max(worst, _EXIT.get(result.status, EXIT_FINDINGS))
        value = result.to_json()
        value |= {"dry_run": options.dry_run, "session": value.pop("session")}
        values.append(value)
        if options.jsonl:
            common.print_json({"id": item_id, **value}, indent=None)
        elif not options.json:
            _show(result, screen, options)
    if options.json and not options.jsonl:
        common.print_json(values if options.denied else values[0])
    return worst


def _answers(options: argparse.Namespace, project: Path) -> tuple[str, list[tuple[str, Json, str]]]:
    """Return the session of --denied or "", and each answer with its agent and id. Raises UsageError."""
    file = "-" if options.file is None else options.file
    if not options.denied:
        read = common.read_jsonl(file) if options.jsonl else ((None, common.read_input(file)),)
        return "", [(options.agent or _AGENT, item_id, text) for item_id, text in read]
    if options.jsonl or options.file:
        raise UsageError("--denied takes its answers from a session, not --jsonl or a file. Nothing was applied.")
    from rails.commands.log import chosen_session
    from rails.review.session_list import SessionList

    state = state_of(project)
    session_id = chosen_session(state, options.denied).session_id
    return session_id, [(options.agent or name, None, text) for name, text in SessionList(state).denied(session_id)]


def _no_longer_listed(project: Path, denied: str, session_id: str) -> None:
    from rails.commands.undo import open_log

    with open_log(project, denied) as log:
        log.append(HumanSteered(DENIED, "taken up", "ai-rails apply", text=f"in session {session_id}"))


def _settled(text: str, options: argparse.Namespace, project: Path, registry: Registry, screen: ProgressScreen) -> str:
    from rails.parsing.parse import parse

    quiet = options.json or options.jsonl
    if quiet and not common.OPTION.search(text):
        return text
    shapes = registry.shapes()
    found = parse(text, shapes, dialects=options.dialect)
    if found.requests or found.refusals:
        return text
    from rails.commands.pasted import NothingToApplyError, Settling, with_fence
    from rails.tools.runners.files import project_texts

    person = common.human_of(screen)
    settling = Settling({}, shapes, person, lambda words: screen.line(f"  {words}", "dim"))
    text = settling.one_option(text)
    if quiet:
        return text
    settling.files |= project_texts(project)
    try:
        return settling.settle(with_fence(text))
    except NothingToApplyError as nothing:
        screen.line(str(nothing), "yellow")
        return ""


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
