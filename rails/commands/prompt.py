"""``ai-rails prompt``: what to paste into a chat first, so that ``ai-rails apply`` can read its answers."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.commands.options import add_project
from rails.core.errors import EXIT_OK


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("--tools", action="store_true", help="the tools of an agent, for chats that can write JSON")
    parser.add_argument("--agent", default="coder", help="whose tools (default: coder)")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """Print the page; with ``--tools``, an agent's whole system prompt."""
    if not options.tools:
        from rails.agents.prompt import chat_page

        print(chat_page())
        return EXIT_OK
    from rails.agents.prompt import system_prompt
    from rails.agents.template import named
    from rails.commands import agents as trust
    from rails.session.project import agents_of, registry_of

    project = common.project_of(options)
    agents = trust.require(agents_of(project, options.agent), [options.agent], project, ask=False)
    print(system_prompt(named(agents, options.agent), registry_of(project)))
    return EXIT_OK
