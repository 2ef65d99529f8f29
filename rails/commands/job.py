"""``ai-rails run``: from the command line to a session that runs or resumes."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, cast

from msgspec.structs import replace

from rails.agents.template import Agent, named
from rails.commands import agents as trust
from rails.commands import common, models
from rails.commands.live import ProgressScreen
from rails.commands.log import chosen_session
from rails.commands.typed_ahead import TypedAhead
from rails.config.run_defaults import RunDefaults, keep_days, run_defaults
from rails.core.app_dirs import config_folder
from rails.core.errors import LogError, RailsError, UsageError
from rails.core.events.changes import CheckpointEvent
from rails.core.events.record import Record
from rails.core.events.session import AgentFinished, SessionLimits, SessionResumed
from rails.core.outcomes import is_good
from rails.core.text import one_line
from rails.gate.gate import Gate
from rails.log.live_text import LiveText
from rails.log.reader import sessions
from rails.log.scan import records_from
from rails.log.writer import SessionLog
from rails.models.model import Model
from rails.projections.event_stream import EventStream
from rails.sandbox.probe import label as sandbox_label
from rails.session import plan_files
from rails.session.ask_user import Unattended
from rails.session.escalation import RUNGS, Escalate
from rails.session.job import Ending, HandoffMode, SessionJob, log_session_start
from rails.session.open_session import both, choose_protocol
from rails.session.plan_files import PlanFile
from rails.session.project import agents_of, registry_of, state_of
from rails.session.resume import AGAIN, ResumeState, where
from rails.session.run import Session

#: What a session that goes on takes from the settings files as well.
_ANEW: Final = frozenset({"approve", "answer_within", "overseer_model"})
#: What counts where neither the command line nor a settings file says anything.
_USUAL: Final[Mapping[str, str]] = {"agent": "coder", "approve": "ask", "correction": "syntax"}
_PLANNER: Final = "planning"
_WRITE_PLAN: Final = "Write the plan for what the document below asks for."
_DO_PLAN: Final = "Do your role's part of the plan below."
_NEXT: Final = "Others have worked on this before you; their results are below. Do your role's part of it."


def run_words(options: argparse.Namespace, talk: Callable[[Session, ProgressScreen, Ending], str] | None = None) -> int:
    """Return the exit code; ``talk`` makes it a conversation."""
    project = common.project_of(options)
    registry, loaded = registry_of(project), agents_of(project)
    # Standard output belongs to the protocol when another program listens.
    out = sys.stderr if options.events else sys.stdout
    screen = ProgressScreen(out, debug=options.debug, plain=options.plain)
    gate, configured = Gate(project), run_defaults(project, config_folder())
    resuming = options.resume is not None
    log, resumed = reopen(project, options.resume, options.task or "") if resuming else (None, None)
    before = resumed.limits if resumed else None
    recalled = ""
    try:
        if resumed and log:
            recalled = models.recall(options, resumed.limits, log.session_id)
        taken = _take(options, configured)
        approver = common.approver_of(options, screen, project, registry, gate)
        screen.typed = TypedAhead(approver.grants, talks=talk is not None)
        human = common.human_of(screen, approver)
        name = options.plan or (before.plan if before else "")
        plan = _plan(project, name, needed=bool(options.plan)) if name else None
        tasks = resumed.tasks if resumed else _tasks(options, loaded, plan)
        roles = [role for role, _ in tasks]
        job = replace(_job(project, tasks, options, before, attended=not isinstance(human, Unattended)), plan=name)
        agents = trust.require(loaded, roles, project, ask=not options.events)
        screen.prices = models.known_prices()
        players, prices = models.cast_of(options, agents, configured.values), screen.prices.models
        models.check_models(players, roles, job, prices, config_folder())
        if log is None:
            job, log, recalled = _log_start(job, project, plan, options, players.for_role(roles[0]).name)
    except BaseException:
        if log is not None:
            log.close()
        raise
    _begin(screen, job, log.session_id, named(agents, roles[0]), players.for_role(roles[0]))
    noted = (*common.notes_of(loaded, registry), trust.offer_instructions(project, options.events))
    _say(screen, "dim", (recalled, taken, _too_old(project, log.session_id)))
    _say(screen, "yellow", noted)
    live, events, watch = _listeners(log, screen, options, plan)
    session = Session(
        job,
        log,
        registry,
        agents,
        players.for_role,
        approver,
        gate=gate,
        watch=both(watch, live.note),
        on_text=live.hear,
        human=human,
        stronger_for=players.stronger_for,
        overseer=players.overseer(),
        prices=prices,
    )
    if talk:
        session.talk = partial(talk, session, screen)
    try:
        with log, live, serving(project, screen, log, wanted=options.web):
            common.listen(approver, log, session.publish)
            ending = _ended(session, resumed, screen)
        return _closed(options, ending, screen, session)
    finally:
        if events:
            events.close()


def _listeners(
    log: SessionLog, screen: ProgressScreen, options: argparse.Namespace, plan: PlanFile | None
) -> tuple[LiveText, EventStream | None, Callable[[Record], object]]:
    events = EventStream(sys.stdout, options.events, screen.prices.cost) if options.events else None
    if events:
        for record in records_from(log.state, log.session_id, 1, 1):
            events(record)
    live = LiveText(log, screen.hear, events.partly if events else None)
    watch = both(screen, events) if events else screen
    if plan and plan.kind:
        watch = both(watch, _keeping_plan(plan, screen))
    return live, events, watch


def _take(options: argparse.Namespace, configured: RunDefaults) -> str:
    """Take over settings; return a sentence about them.

    A resumed session's bounds and models are in its log; for models, template and environment precede.
    """
    names = (
        _ANEW if options.resume is not None else configured.values.keys() - {"model", "stronger_model", "temperature"}
    )
    told = []
    for name, value in configured.values.items():
        if name in names and getattr(options, name) in (None, []):
            flat = [f"{role}={model}" for role, model in value.items()] if isinstance(value, dict) else value
            setattr(options, name, flat)
            shown = " ".join(flat) if isinstance(flat, list) else str(flat)
            told.append(f"--{name.replace('_', '-')} {one_line(shown, 100)} ({configured.sources[name]})")
    for name, usual in _USUAL.items():
        if getattr(options, name) is None:
            setattr(options, name, usual)
    return f"as configured: {', '.join(told)}" if told else ""


def _too_old(project: Path, session_id: str) -> str:
    if not (days := keep_days(config_folder())):
        return ""
    from rails.commands.session_actions import deleted_words
    from rails.session.deletion import delete_sessions, older_than

    names = [name for name in older_than(project, days) if name != session_id]
    if not names:
        return ""
    try:
        return f"{deleted_words(len(names), delete_sessions(project, names))} (keep_days = {days} in config.toml)"
    except RailsError as error:
        return f"Sessions older than {days} days were not deleted: {error}"


def _begin(screen: ProgressScreen, job: SessionJob, session_id: str, agent: Agent, model: Model) -> None:
    found = sandbox_label()
    asked = choose_protocol(job, agent, model)
    project, name = one_line(str(job.project)), one_line(model.name)
    screen.line(f"AI-Rails · session {session_id} · {project} · {name}", "bold")
    screen.line(f"  protocol {asked.protocol}: {asked.why}", "dim")
    screen.line(f"  sandbox  {found}", "dim" if found.contained else "yellow")


def _say(screen: ProgressScreen, style: str, sentences: Iterable[str]) -> None:
    for words in filter(None, sentences):
        screen.line(f"  {one_line(words, 600)}", style)


def _ended(session: Session, resumed: ResumeState | None, screen: ProgressScreen) -> Ending | str:
    try:
        if resumed:
            screen.wrote = any(isinstance(record.event, CheckpointEvent) for record in resumed.records)
            session.publish(SessionResumed(resumed.turns, resumed.advice))
        return session.run(resumed)
    except KeyboardInterrupt as stopped:
        return str(stopped) or "Ctrl-C"
    except LogError as error:
        if "--resume" in str(error) or not session.log.path.exists():
            raise
        words = f"Once that is fixed: ai-rails run --resume {session.log.session_id}"
        raise LogError(f"{str(error).rstrip('.')}. What was approved before stays. {words}") from error
    finally:
        screen.rest()


def _closed(options: argparse.Namespace, ending: Ending | str, screen: ProgressScreen, session: Session) -> int:
    project = session.job.project
    session_id = session.log.session_id
    if isinstance(ending, str):
        return common.interrupted(session_id, screen, project, ending, talks=session.talk is not None)
    code = common.close(ending, screen, project)
    if options.commit and is_good(ending.outcome):
        common.commit(project, session_id, session.job.tasks[0][1], screen)
    return code


def _log_start(
    job: SessionJob, project: Path, plan: PlanFile | None, options: argparse.Namespace, model: str
) -> tuple[SessionJob, SessionLog, str]:
    kept = ""
    if options.backup:
        from rails.edits.commit import backup_branch

        kept = f"the work tree is saved on the branch {backup_branch(project)}"
    job = replace(job, handed=f"The plan ({plan.path.name}):\n{plan.text}" if plan else "")
    log = SessionLog.create(state_of(project))
    log_session_start(job, log, model, models.chosen_words(options, log.session_id))
    return job, log, kept


@contextlib.contextmanager
def serving(project: Path, screen: ProgressScreen, log: SessionLog, *, wanted: bool) -> Iterator[None]:
    """Serve the page while a session runs, if ``wanted``."""
    if not wanted:
        yield
        return
    from rails.commands.serve import addresses, server_of

    with server_of(project) as server:
        for line in addresses(server, log.session_id):
            screen.line(f"  {line}")
        try:
            yield
        finally:
            server.settle()


def _plan(project: Path, name: str, *, needed: bool) -> PlanFile | None:
    try:
        return plan_files.find_plan(project, name)
    except UsageError:
        if needed:
            raise
        return None


def _job(
    project: Path,
    tasks: tuple[tuple[str, str], ...],
    options: argparse.Namespace,
    before: SessionLimits | None,
    *,
    attended: bool,
) -> SessionJob:
    asks = before.handoffs == "ask" if before else options.approve == "ask"
    before = before or SessionLimits(None, None)
    escalate = options.escalate or before.escalate or ("model" if attended else "again")
    return SessionJob(
        project,
        tasks,
        options.max_attempts or before.max_attempts,
        options.max_turns or before.max_turns,
        options.approve,
        options.correction,
        tuple(options.dialect),
        options.max_tokens or before.max_tokens,
        options.max_minutes * 60 if options.max_minutes else before.max_seconds,
        options.max_cost or before.max_cost,
        cast("Escalate", escalate if escalate in RUNGS else "off"),
        # A policy that decides alone is not stopped between agents; a session that began so goes on so.
        cast("HandoffMode", options.handoff or ("ask" if asks else "go")),
        protocol=options.protocol or "auto",
        files=tuple(options.file),
        tests=options.tests or "ask",
        max_reviews=options.max_reviews or before.max_reviews,
    )


def _keeping_plan(plan: PlanFile, screen: ProgressScreen) -> Callable[[Record], None]:
    def watch(record: Record) -> None:
        over = record.event
        if isinstance(over, AgentFinished) and is_good(over.outcome) and record.agent_role == _PLANNER:
            screen.line(f"  plan: {one_line(str(plan_files.save_plan(plan, over.result or '')), 300)}", "green")

    return watch


def reopen(project: Path, name: str, advice: str) -> tuple[SessionLog, ResumeState]:
    """Open a session's log ("": the last) and its state. Raises UsageError."""
    state = state_of(project)
    session_id = chosen_session(state, name or "last").session_id
    log = SessionLog.reopen(state, session_id)
    try:
        standing = where(project, log)
    except UsageError as error:  # its start was torn
        log.close()
        before = [one.session_id for one in sessions(state) if one.size and one.session_id < session_id]
        hint = f" The session before it: ai-rails run --resume {before[-1]}" if before else ""
        raise UsageError(f"{error}{hint}") from error
    if standing.ended and standing.stopped in AGAIN:
        # The agent had given up, or asked; that a human resumes the session means that it must try again.
        return log, replace(standing, ended=False, stopped="", again=True, advice=advice)
    if standing.ended:
        log.close()
        raise UsageError(f"Session {session_id} is over. Start a new one, or look at it with ai-rails review.")
    if advice:
        log.close()
        raise UsageError(f"Session {session_id} has not given up, so it takes no hint. Nothing was started.")
    return log, standing


def _tasks(
    options: argparse.Namespace, agents: Mapping[str, Agent], plan: PlanFile | None
) -> tuple[tuple[str, str], ...]:
    first = named(agents, options.agent).name
    if not (options.task or "").strip() and plan is None:
        raise UsageError(
            'What should the agent do? For example: ai-rails run "add a --json flag". Nothing was started.'
        )
    task = options.task or (_WRITE_PLAN if first == _PLANNER else _DO_PLAN)
    tasks = [(first, task)]
    shared = f"{options.task}\n\n{_NEXT}" if options.task else _DO_PLAN
    for words in options.then:
        names, equals, own = words.partition("=")
        if not names.strip() or (equals and (not own.strip() or "," in names)):
            raise UsageError(
                f"--then takes agents (coder,reviewer) or AGENT=TASK, not {one_line(words)!r}. Nothing was started."
            )
        task = own.strip() if equals else shared
        tasks += [(named(agents, name.strip()).name, task) for name in names.split(",")]
    return tuple(tasks)
