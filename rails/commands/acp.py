"""``ai-rails acp``: an agent for editors that speak the Agent Client Protocol."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rails.config.run_defaults import run_defaults
from rails.core.app_dirs import config_folder
from rails.core.errors import EXIT_OK, UsageError
from rails.core.extras import install_command
from rails.session.project import agents_of, registry_of, state_of

if TYPE_CHECKING:
    from rails.core.events.record import Record
    from rails.integrations.acp.agent import Conversation
    from rails.session.resume import ResumeState
    from rails.session.run import Session


OPTIONS = """
--agent AGENT (coder)  the agent, unless the editor chooses another (default: coder)
@models
@protocol
@correction-model
@dialects
@approval
"""


def run(options: argparse.Namespace) -> int:
    """Answer the editor until it hangs up."""
    try:
        from rails.integrations.acp.agent import RailsAgent
        from rails.integrations.acp.lines import serve
    except ModuleNotFoundError as error:
        raise UsageError(f"This needs {error.name}. Install it: {install_command('acp')}") from None
    agent = RailsAgent(_Sessions(options))
    try:
        asyncio.run(serve(agent))
    except KeyboardInterrupt:  # how a person ends it
        print(file=sys.stderr)
    finally:
        agent.close()
    return EXIT_OK


class _Sessions:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    def choices(self, project: Path) -> Mapping[str, Sequence[str]]:
        from rails.agents.template import PROTOCOLS, named
        from rails.commands.models import cast_of

        agents = agents_of(project)
        trusted = [name for name, one in agents.items() if one.trusted]
        configured = run_defaults(project, config_folder()).values
        cast = cast_of(self._options, agents, configured)
        approve = self._options.approve or str(configured.get("approve", "ask"))
        models = (cast.model or cast.usual, cast.stronger, cast.usual_stronger, *cast.chosen.values())
        return {
            "agent": [*dict.fromkeys((named(agents, self._options.agent).name, *trusted))],
            "model": [*dict.fromkeys(filter(None, models))],
            "protocol": [*dict.fromkeys((self._options.protocol or "auto", *PROTOCOLS))],
            "approve": [*dict.fromkeys((approve, "ask", "policy"))],
        }

    def open(self, talk: Conversation, task: str) -> tuple[Session, ResumeState | None]:
        from rails.approval.policy.policy import PolicyApprover, load_policy
        from rails.commands import agents as trust
        from rails.commands import job, models
        from rails.gate.gate import Gate
        from rails.log.writer import SessionLog
        from rails.session.job import SessionJob, log_session_start
        from rails.session.run import Session

        project = talk.project
        agent = talk.agent
        options = argparse.Namespace(**(vars(self._options) | talk.chosen))
        registry = talk.with_servers(registry_of(project), agents_of(project))
        log, standing = (None, None) if task else job.reopen(project, talk.session_id, "")
        tasks = standing.tasks if standing else ((agent, task),)
        roles = [role for role, _ in tasks]
        agents = trust.require(agents_of(project), roles, project, ask=False)
        configured = run_defaults(project, config_folder()).values
        players = models.cast_of(options, agents, configured)
        approve = options.approve or str(configured.get("approve", "ask"))
        of = SessionJob(
            project,
            tasks,
            approve=approve,
            correction=options.correction,
            dialects=tuple(options.dialect),
            protocol=options.protocol or "auto",
        )
        models.check_models(players, roles, of, {}, project)
        if log is None:
            log = SessionLog.create(state_of(project), session_id=talk.session_id)
            log_session_start(of, log, players.for_role(agent).name)
        approver = PolicyApprover(load_policy(project), talk, talk.grants, decides=approve == "policy")
        session = Session(
            of,
            log,
            registry,
            agents,
            players.for_role,
            approver,
            watch=talk.watch,
            on_text=lambda _: talk.check(),
            check=talk.check,
            gate=Gate(project),
            human=talk,
            stronger_for=players.stronger_for,
            overseer=players.overseer(),
        )
        return session, standing

    def records(self, project: Path, session_id: str) -> list[Record]:
        from rails.commands.log import chosen_session
        from rails.log.reader import full, read_lenient

        state = state_of(project)
        return [full(record, state) for record in read_lenient(chosen_session(state, session_id).path)[0]]
