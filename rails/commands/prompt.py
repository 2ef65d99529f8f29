"""``ai-rails prompt``: what to paste into a chat first, so that ``ai-rails apply`` can read its answers."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.commands.options import add_project
from rails.core.errors import EXIT_OK, UsageError


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("--tools", action="store_true", help="the tools of an agent, for chats that can write JSON")
    parser.add_argument("--agent", help="with --tools: whose (default: coder)")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """Print the page; with ``--tools``, an agent's whole system prompt."""
    if options.agent and not options.tools:
        raise UsageError("--agent goes with --tools: the page without it is the same for every agent.")
    if not options.tools:
        from rails.agents.prompt import chat_page

        print(chat_page())
        return EXIT_OK
    from rails.agents.prompt import system_prompt
    from rails.agents.template import named
    from rails.commands import agents as trust
    from rails.session.project import agents_of, registry_of

    project, name = common.project_of(options), options.agent or "coder"
    agents = trust.require(agents_of(project, name), [name], project, ask=False)
    print(system_prompt(named(agents, name), registry_of(project)))
    return EXIT_OK
