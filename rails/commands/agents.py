"""``ai-rails agents``: list, show and accept agents."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from rails.agents import acceptance
from rails.agents.instructions import Instructions, instructions_text, unaccepted
from rails.agents.prompt import system_prompt, tool_specs
from rails.agents.template import Agent, named
from rails.commands import common
from rails.core.errors import EXIT_FINDINGS, EXIT_OK
from rails.core.text import one_line, printable
from rails.core.tool_request import Json
from rails.session.project import agents_of, registry_of, trust_of
from rails.tools.registry import Registry
from rails.trust.record import TrustRecord

OPTIONS = """
name?  show this agent and the prompt it gets; or: show, trust
which?  with show or trust: which agent (trust: all pending)
--json  the result as JSON
@project
"""


def run(options: argparse.Namespace) -> int:
    """Carry out one action."""
    common.refuse_more(f"agents {options.name}", (options.which,), int(options.name in ("show", "trust")))
    project = common.project_of(options)
    agents = agents_of(project)
    registry = registry_of(project)
    trust = trust_of(project)
    if options.name == "trust":
        return _trust(agents, trust, options.which, project)
    name = options.which or "coder" if options.name == "show" else options.name
    if name:
        agent = named(agents, name)
        prompt = system_prompt(agent, registry) + instructions_text(project, trust)
        if not agent.trusted:
            print(f"note: {_origin(agent, trust)}; {one_line(agent.source, 200)}", file=sys.stderr)
        if options.json:
            common.print_json({**_as_json(agent, registry, trust), "prompt": prompt})
        else:
            print(printable(prompt))
    elif options.json:
        common.print_json([_as_json(agent, registry, trust) for agent in agents.values()])
    else:
        width = max(len(agent.name) for agent in agents.values())
        for agent in agents.values():
            common.print_row(f"{agent.name:{width}}  {_origin(agent, trust):20}  ", agent.description)
    for words in filter(None, (_not_used(project, trust), *common.notes_of(agents, registry, sys.maxsize))):
        print(f"note: {words}", file=sys.stderr)
    if not name and (waiting := acceptance.pending_agents(agents)):
        print(f"Read and accept: ai-rails agents trust ({', '.join(agent.name for agent in waiting)})", file=sys.stderr)
    return EXIT_OK


def _as_json(agent: Agent, registry: Registry, trust: TrustRecord) -> dict[str, Json]:
    return {
        "name": agent.name,
        "description": agent.description,
        "tools": [spec.name for spec in tool_specs(agent, registry)],
        "source": str(agent.source),
        "origin": agent.origin,
        "trust": acceptance.trust_state_of(agent, trust),
        "replaces": agent.replaces,
        "model": agent.runs_on,
        "stronger_model": agent.stronger,
        "aliases": list(agent.aliases),
        "digest": agent.digest,
    }


def _origin(agent: Agent, trust: TrustRecord) -> str:
    return agent.origin if agent.origin != "project" else f"project, {acceptance.trust_state_of(agent, trust)}"


def _not_used(project: Path, trust: TrustRecord) -> str:
    names = ", ".join(one.name for one in unaccepted(project, trust))
    why = "nobody has accepted this version. Read and accept it: ai-rails agents trust"
    return f"Not given to any agent: {one_line(names, 400)}; {why}" if names else ""


def offer_instructions(project: Path, listened: str | None) -> str:
    """Show the project's instructions, ask to accept them unless a program listens (``listened``); return a note if
    they are not used.
    """
    trust = trust_of(project)
    if not listened and sys.stdin.isatty():
        for one in unaccepted(project, trust):
            if not _offered(one, trust):
                break
    return _not_used(project, trust)


def _offered(found: Instructions, trust: TrustRecord) -> bool:
    return common.accepted(found.question(trust), "give it to every agent", lambda: found.accept(trust))


def _trust(agents: Mapping[str, Agent], trust: TrustRecord, which: str | None, project: Path) -> int:
    instructions = [] if which else unaccepted(project, trust)
    for found in instructions:
        if not _offered(found, trust):
            print(f"Not trusted: {found.name} is not given to any agent until it is.")
            return EXIT_FINDINGS
        print(f"{found.name} is trusted in this version.")
    waiting = [agent for agent in acceptance.pending_agents(agents) if which in (None, agent.name)]
    if which:
        named(agents, which)
    for agent in waiting:
        if not _accepted(agent, trust):
            print(f"Not trusted: no agent works as {agent.name} in this project until it is.")
            return EXIT_FINDINGS
        print(f"{agent.name} is trusted in this version.")
    if not waiting and not instructions:
        print("Nothing is waiting to be trusted.")
    return EXIT_OK


def require(agents: Mapping[str, Agent], roles: Sequence[str], project: Path, *, ask: bool = True) -> dict[str, Agent]:
    """Return ``agents`` with those of ``roles`` accepted, asking for a project's own. Raises UsageError."""
    accepted = dict(agents)
    trust = trust_of(project)
    for role in dict.fromkeys(roles):
        agent = named(agents, role)
        if not agent.trusted:
            if not ask or not _accepted(agent, trust):
                raise acceptance.untrusted_agent_error(agent)
            accepted[agent.name] = replace(agent, trusted=True)
    return accepted


def _accepted(agent: Agent, trust: TrustRecord) -> bool:
    what = f"let agents work as this {agent.name}"
    return common.accepted(
        acceptance.trust_question(agent, trust), what, partial(acceptance.accept_agent, agent, trust)
    )
