"""``ai-rails agents``: who there is, where each comes from and whether it is trusted, and the prompt of each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rails.agents import acceptance
from rails.agents.prompt import system_prompt, tool_specs
from rails.agents.template import Agent, named
from rails.commands import common
from rails.commands.options import add_project
from rails.core.dataclass import replace
from rails.core.errors import EXIT_FINDINGS, EXIT_OK
from rails.core.text import one_line, printable
from rails.session.project import agents_of, registry_of, trust_of
from rails.trust.record import TrustRecord


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("name", nargs="?", help="show this agent and the prompt it gets; or: trust")
    parser.add_argument("which", nargs="?", help="with trust: which agent (default: all that wait)")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """List the agents, show one with the whole prompt that it gets, or accept a project's own."""
    project = common.project_of(options)
    agents, registry = agents_of(project), registry_of(project)
    trust = trust_of(project)
    if options.name == "trust":
        return _trust(agents, trust, options.which)
    if options.name:
        agent = named(agents, options.name)
        if not agent.trusted:
            print(f"note: {_origin(agent, trust)}; {one_line(agent.source, 200)}", file=sys.stderr)
        print(printable(system_prompt(agent, registry)))
        return EXIT_OK
    if options.json:
        common.print_json(
            [
                {
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
                for agent in agents.values()
            ]
        )
        return EXIT_OK
    width = max(len(agent.name) for agent in agents.values())
    origins = {agent.name: _origin(agent, trust) for agent in agents.values()}
    wide = max(map(len, origins.values()))
    for agent in agents.values():
        print(f"{agent.name:{width}}  {origins[agent.name]:{wide}}  {one_line(agent.description, 100)}")
    for words in agents.left_out.values():
        print(f"note: {one_line(words, 600)}", file=sys.stderr)
    if waiting := acceptance.pending_agents(agents):
        print(f"Read and accept: ai-rails agents trust ({', '.join(agent.name for agent in waiting)})", file=sys.stderr)
    return EXIT_OK


def _origin(agent: Agent, trust: TrustRecord) -> str:
    return agent.origin if agent.origin != "project" else f"project, {acceptance.trust_state_of(agent, trust)}"


def _trust(agents: Mapping[str, Agent], trust: TrustRecord, which: str | None) -> int:
    waiting = [agent for agent in acceptance.pending_agents(agents) if which in (None, agent.name)]
    if which:
        named(agents, which)
    for agent in waiting:
        if not _accepted(agent, trust):
            print(f"Not trusted; nobody is engaged as {agent.name} in this project until it is.")
            return EXIT_FINDINGS
        print(f"{agent.name} is trusted as it is now.")
    if not waiting:
        print("Nothing waits to be trusted.")
    return EXIT_OK


def require(agents: Mapping[str, Agent], roles: Sequence[str], project: Path, *, ask: bool = True) -> dict[str, Agent]:
    """Return ``agents`` with those of ``roles`` accepted: a project's own is shown and asked for at a terminal.

    Raises UsageError, before anything is started, where nobody accepts it or can be asked (``ask``).
    """
    accepted, trust = dict(agents), trust_of(project)
    for role in dict.fromkeys(roles):
        agent = named(agents, role)
        if not agent.trusted:
            if not ask or not _accepted(agent, trust):
                raise acceptance.untrusted_agent_error(agent)
            accepted[agent.name] = replace(agent, trusted=True)
    return accepted


def _accepted(agent: Agent, trust: TrustRecord) -> bool:
    """Show a template whole and have the word typed; without a terminal the answer is no."""
    print(acceptance.trust_question(agent, trust))
    sys.stdout.flush()
    question = f'Type the whole word "trust" to let agents work as this {agent.name}: '
    if not sys.stdin.isatty():
        return False
    try:
        answer = input(question).strip()
    except EOFError:
        return False
    if answer != "trust":
        return False
    acceptance.accept_agent(agent, trust)
    return True
