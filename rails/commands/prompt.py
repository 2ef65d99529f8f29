"""``ai-rails prompt``: what to paste into a chat for ``ai-rails apply``."""

from __future__ import annotations

import argparse
import sys

from rails.commands import common
from rails.core.errors import EXIT_OK, UsageError

OPTIONS = """
--tools  the tools of an agent, as JSON
--agent AGENT  what this agent is sent before its task (default: coder)
@protocol
@project
"""


def run(options: argparse.Namespace) -> int:
    """Print the page for a chat, or an agent's whole prompt."""
    if not (options.tools or options.agent or options.protocol):
        from rails.agents.prompt import chat_page

        print(chat_page())
        return EXIT_OK
    from rails.agents.prompt import Protocol, system_prompt, tool_specs
    from rails.agents.template import named
    from rails.commands import agents as trust
    from rails.session.context_window import estimate
    from rails.session.project import agents_of, registry_of

    project = common.project_of(options)
    name = options.agent or "coder"
    protocol: Protocol = options.protocol or "json"
    if options.protocol == "auto":
        raise UsageError("--protocol auto depends on the model: name one of the others. Nothing was printed.")
    agent = named(trust.require(agents_of(project, name), [name], project, ask=False), name)
    registry = registry_of(project)
    text = system_prompt(agent, registry, protocol)
    tools = tool_specs(agent, registry, protocol)
    print(text)
    for tool in tools:
        print(f"{tool.name}: {tool.description}\n{tool.schema}\n")
    print(f"about {estimate(text, tools, ()):,} tokens", file=sys.stderr)
    return EXIT_OK
