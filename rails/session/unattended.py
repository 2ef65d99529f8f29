"""An unattended session of plain values, without user or machine settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.agents.template import Agent, load_agents, named
from rails.approval.policy.policy import PolicyApprover, load_policy
from rails.config.prices import Price
from rails.core.app_dirs import builtin_folder
from rails.core.builtin_tools import FETCH_WEBPAGE
from rails.edits.builtin_runners import BUILTIN_RUNNERS
from rails.gate.gate import Gate
from rails.log.writer import SessionLog
from rails.models.model import Model
from rails.session.ask_user import Unattended
from rails.session.job import SessionJob, log_session_start
from rails.session.run import Session
from rails.tools.loader import load_definitions
from rails.tools.registry import Registry

TEMPLATES: Final = "agent_templates"


@cache
def _shipped_agents() -> Mapping[str, Agent]:
    return load_agents([builtin_folder(TEMPLATES)])


@cache
def _shipped_tools() -> Registry:
    definitions = builtin_folder("mcp_definitions")
    return load_definitions([definitions]).without(FETCH_WEBPAGE.name).with_runners(BUILTIN_RUNNERS)


def unattended_session(
    job: SessionJob, log: SessionLog, model: Model, config: Path, gate: Gate, *, prices: Mapping[str, Price]
) -> Session:
    """Return a session whose approvals are the policy in ``config`` (none: no) and whose log has begun.

    The project's own agents and tools are left out. Raises UsageError for an unknown agent or an unusable policy.
    """
    own = config / TEMPLATES
    agents = {**_shipped_agents(), **load_agents([own], trusted_folders=[own])}
    job = replace(job, tasks=tuple((named(agents, role).name, task) for role, task in job.tasks))
    approver = PolicyApprover(load_policy(job.project, folder=config))
    log_session_start(job, log, model.name)
    return Session(
        job, log, _shipped_tools(), agents, model.for_agent, approver, gate=gate, human=Unattended(), prices=prices
    )
