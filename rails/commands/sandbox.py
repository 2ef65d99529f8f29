"""``ai-rails sandbox -- COMMAND``: run it contained, keep or discard its changes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path

from rails.commands import common
from rails.core.errors import EXIT_OK, RailsError
from rails.core.text import one_line

#: As other programs that run a program have it: nothing of the command's own.
_NOT_RUN = 125
_NOT_TAKEN = 126
#: As a program that SIGPIPE ends: nobody reads on.
_UNREAD = 141


OPTIONS = """
> It sees the project and the system's programs only: no network, no home. Its changes are written after you agreed;
    what git ignores is discarded. The exit code is the command's; 125 if nothing was run, 126 if its changes were not
    taken, 127 if there is no such program.
command+ COMMAND  the program and its arguments, after --
--timeout SECONDS:number (600)  end it then (default: 600)
--discard  discard its changes
@project
@approval
"""


def run(options: argparse.Namespace) -> int:
    """Return the command's exit code."""
    try:
        return _run(options)
    except RailsError as error:
        print(f"ai-rails: {error}", file=sys.stderr)
        return _NOT_TAKEN if "was taken" in str(error) else _NOT_RUN


def _run(options: argparse.Namespace) -> int:
    from rails.commands.live import ProgressScreen
    from rails.core.events.changes import ToolExecutionResult
    from rails.gate.gate import Gate
    from rails.log.writer import SessionLog
    from rails.sandbox.places import told_on_card
    from rails.sandbox.values import NONE
    from rails.session.apply import SAVED, DryRunApprover, Proposals
    from rails.session.job import SessionJob
    from rails.session.project import agents_of, registry_of, state_of

    project = common.project_above(options)
    here = os.path.relpath(Path(options.project).resolve(), project)
    words = one_line(" ".join(options.command), 200)
    screen = ProgressScreen(sys.stderr, plain=options.plain)
    registry = registry_of(project)
    gate = Gate(project)
    approver = DryRunApprover() if options.discard else common.approver_of(options, screen, project, registry, gate)
    with SessionLog.create(state_of(project)) as log:
        job = SessionJob(project, (("coder", f"sandbox {words}"),), approve=options.approve)
        proposals = Proposals(job, log, registry, agents_of(project), SAVED.for_agent, approver, gate=gate)
        proposals.watch = lambda record: None if isinstance(record.event, ToolExecutionResult) else screen(record)
        common.listen(approver, log, proposals.publish)
        with proposals.open():
            label = proposals.contained.label
            screen.line(f"sandbox  {label}", "green" if label.contained else "red")
            if label.level == NONE:
                print("ai-rails: nothing was run.", file=sys.stderr)
                return _NOT_RUN
            if told := told_on_card(project, label.level):
                screen.line(f"         {told.strip()}", "dim")
            if Path.home().is_relative_to(project):
                screen.line("         Your home is in the project: it can read all of it.", "yellow")
            ran, taken = proposals.run_contained(options.command, options.timeout, _print, here)
    screen.line(f"{ran.status}, {ran.seconds:.1f} s", "green" if ran.ok else "red")
    refused = False
    if not ran.changes:
        for words in ran.left_out:  # else it has stood in the question
            screen.line(f"  {words}", "yellow")
        screen.line("No changes.")
    elif taken.status != "applied" or options.discard:
        refused = not options.discard
        some = refused and bool(taken.changes)
        screen.line("Some of its changes were discarded." if some else "Changes discarded.", "yellow")
    else:
        screen.line(f"Applied. To undo it: ai-rails undo {log.session_id} --all", "green")
    if ran.exit_code < 0:
        return 128 - ran.exit_code
    return ran.exit_code or (_NOT_TAKEN if refused else EXIT_OK)


def _print(chunk: bytes, is_error: bool) -> None:
    from rails.core.text import printable

    out = sys.stderr if is_error else sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="surrogateescape")
    text = chunk.decode("utf-8", "surrogateescape")
    try:
        out.write(printable(text, keep="\n\t") if out.isatty() else text)
        out.flush()
    except BrokenPipeError:
        sys.exit(_UNREAD)
