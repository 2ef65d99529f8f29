"""``ai-rails demo``: the shipped example, without key or network: recorded answers and, without ``--interactive``,
approvals.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rails.commands import common
from rails.core.app_dirs import builtin_folder
from rails.core.errors import EXIT_FINDINGS, EXIT_OK, CheckError, UsageError
from rails.core.scratch import kept_folder
from rails.processes.programs import run_tool
from rails.session.project import agents_of, registry_of, state_of

if TYPE_CHECKING:
    from rails.approval.decision import Approver
    from rails.commands.live import ProgressScreen


OPTIONS = """
--interactive  answer the questions yourself
--web  answer them in the browser
--keep DIR  where to put the copy (default: a temporary folder)
"""


def run(options: argparse.Namespace) -> int:
    """Run the example; exit 0 only if it and the project's tests pass."""
    from rails.approval.terminal.scripted import ScriptedApprover
    from rails.commands.job import serving
    from rails.commands.live import ProgressScreen
    from rails.gate.gate import Gate
    from rails.log.writer import SessionLog
    from rails.models.providers import open_model
    from rails.session.job import SessionJob, log_session_start
    from rails.session.run import Session

    project = _fresh_copy(options.keep)
    example = builtin_folder("workspace") / "todo-demo"
    script = json.loads((example / "demo.json").read_text("utf-8"))
    screen = ProgressScreen()
    gate = Gate(project, wait=True)
    registry = registry_of(project)
    options.interactive = options.interactive or options.web
    options.approve = "ask"
    options.answer_within = None
    if options.interactive:
        approver: Approver = common.approver_of(options, screen, project, registry, gate)
    else:
        approver = ScriptedApprover(script["approvals"], partial(common.show_question, screen), by="the demo script")
    model = open_model(f"recorded:{example / 'conversation.jsonl'}")
    job = SessionJob(
        project,
        tuple((step["agent"], step["task"]) for step in script["tasks"]),
        approve="ask" if options.interactive else "script",
    )
    with SessionLog.create(state_of(project)) as log:
        screen.line(f"AI-Rails demo · session {log.session_id}", "bold")
        screen.line(f"  project   {project} (a fresh copy, in git)")
        screen.line("  model     recorded answers, replayed in pieces; nothing leaves this machine")
        answers = "you" if options.interactive else "the demo script; ai-rails demo --interactive lets you answer"
        screen.line(f"  approvals answered by {answers}")
        log_session_start(job, log, model.name)
        session = Session(
            job,
            log,
            registry,
            agents_of(project),
            model.for_agent,
            approver,
            watch=screen,
            on_text=screen.hear,
            gate=gate,
        )
        with serving(project, screen, log, wanted=options.web):
            common.listen(approver, log, session.publish)
            code = common.close(session.run(), screen, project)
    return code or _own_tests(project, screen)


def _fresh_copy(keep: str | None) -> Path:
    if keep:
        project = Path(keep).resolve()
        if project.exists():
            raise UsageError(f"{project} exists already. Name a folder that does not; nothing was changed.")
    else:
        project = kept_folder("demo") / "todo"
    shutil.copytree(
        builtin_folder("workspace") / "todo", project, ignore=shutil.ignore_patterns("__pycache__", ".rails")
    )
    if git := shutil.which("git"):
        identity = ["-c", "user.name=AI-Rails demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "The example project"]):
            ran = run_tool([git, *words], cwd=str(project), timeout=60)
            if ran.code:
                raise CheckError(f"git {words[0]} ended with code {ran.code}: {ran.complaint}")
    return project


def _own_tests(project: Path, screen: ProgressScreen) -> int:
    from rails.sandbox.probe import label
    from rails.sandbox.run import run as run_contained
    from rails.sandbox.values import SandboxView

    ran = run_contained((sys.executable, "-m", "unittest", "discover", "-q"), SandboxView(project), label=label())
    last = [line for line in ran.err.splitlines() if line.startswith(("Ran", "OK", "FAILED"))]
    screen.line()
    screen.line(f"the project's own tests: {', '.join(last) or ran.err[-200:]}", "green" if ran.ok else "red")
    return EXIT_OK if ran.ok else EXIT_FINDINGS
