"""``ai-rails run``: an agent works on a task, or a session goes on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from rails.commands import common
from rails.commands.common import both
from rails.core.errors import UsageError
from rails.core.events import Event
from rails.core.text import one_line
from rails.doors.events import EventStream
from rails.gate.gate import Gate
from rails.log.reader import sessions
from rails.log.writer import SessionLog
from rails.resume import Standing
from rails.screen import Screen
from rails.session import Job, Session, start, where


def run(options: argparse.Namespace) -> int:
    """Run the job of the command line and return the exit code."""
    project = common.project_of(options)
    registry, agents = common.registry_of(project), common.agents_of(project)
    # Standard output belongs to the protocol when another program listens.
    out = sys.stderr if options.events else sys.stdout
    screen = Screen(out, colour=common.colour_wanted(out), debug=options.debug, plain=options.plain)
    gate = Gate(project)
    approver = common.approver_of(options, screen, project, registry, gate)
    model = common.model_of(options)
    if options.resume is None:
        if not options.task:
            raise UsageError(
                'What shall the agent do? For example: ai-rails run "add a --json flag". Nothing was started.'
            )
        tasks = ((options.agent, options.task), *(_then(words) for words in options.then))
        _check_agents(tasks, agents)
        log, resumed = SessionLog.create(common.state_of(project)), None
        start(_job(project, tasks, options), log, model.name)
    else:
        log, resumed = _reopen(project, options.resume)
        tasks = resumed.tasks
        _check_agents(tasks, agents)
    job = _job(project, tasks, options)
    screen.line(f"AI-Rails · session {log.session_id} · {one_line(str(project))} · {one_line(model.name)}", "bold")
    events = EventStream(sys.stdout, options.events) if options.events else None
    watch = both(screen, events) if events else screen
    session = Session(job, log, registry, agents, model.for_agent, approver, gate=gate, watch=watch)
    if resumed:
        session.record(Event("SESSION_RESUMED", f"Going on after turn {resumed.turns}", {"turns": resumed.turns}))
    try:
        with log:
            ending = session.run(resumed)
        code = common.close(ending, screen, project)
        if options.commit and ending.outcome == "done":
            common.commit(project, ending.session_id, tasks[0][1], screen)
        return code
    finally:
        if events:
            events.close()


def _job(project: Path, tasks: tuple[tuple[str, str], ...], options: argparse.Namespace) -> Job:
    return Job(
        project,
        tasks,
        options.max_attempts,
        options.max_turns,
        options.approve,
        options.correction,
        tuple(options.dialect),
        options.max_tokens,
        None if options.max_minutes is None else options.max_minutes * 60,
    )


def _reopen(project: Path, name: str) -> tuple[SessionLog, Standing]:
    state = common.state_of(project)
    known = sessions(state)
    if not known:
        raise UsageError(f"There is no session in {project}. Start one with ai-rails run.")
    session_id = name or known[-1].session_id
    if session_id not in {session.session_id for session in known}:
        raise UsageError(f"There is no session {one_line(name)!r}. The last one is {known[-1].session_id}.")
    log = SessionLog.reopen(state, session_id)
    standing = where(project, log)
    if standing.ended:
        log.close()
        raise UsageError(f"Session {session_id} is over. Start a new one, or look at it with ai-rails review.")
    return log, standing


def _then(words: str) -> tuple[str, str]:
    agent, equals, task = words.partition("=")
    if not equals or not agent.strip() or not task.strip():
        raise UsageError(
            f'--then takes AGENT=TASK, not {one_line(words)!r}. For example: --then reviewer="look it over".'
        )
    return agent.strip(), task.strip()


def _check_agents(tasks: Sequence[tuple[str, str]], known: Collection[str]) -> None:
    for agent, _ in tasks:
        if agent not in known:
            raise UsageError(f"There is no agent {one_line(agent)!r}. Known agents: {', '.join(sorted(known))}.")
