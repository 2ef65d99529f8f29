"""``ai-rails agents``: who there is, and what each is told."""

from __future__ import annotations

import argparse

from rails.agents import system_prompt, tool_specs
from rails.commands import common
from rails.core.errors import EXIT_OK, UsageError
from rails.core.text import one_line, printable


def run(options: argparse.Namespace) -> int:
    """List the agents, or show one with the whole prompt that it gets."""
    project = common.project_of(options)
    agents, registry = common.agents_of(project), common.registry_of(project)
    if options.name:
        if options.name not in agents:
            raise UsageError(
                f"There is no agent {one_line(options.name)!r}. Known agents: {', '.join(sorted(agents))}."
            )
        print(printable(system_prompt(agents[options.name], registry)))
        return EXIT_OK
    rows = [
        {
            "name": agent.name,
            "description": agent.description,
            "tools": [spec.name for spec in tool_specs(agent, registry)],
            "source": str(agent.source),
        }
        for agent in agents.values()
    ]
    if options.json:
        common.print_json(rows)  # type: ignore[arg-type]
        return EXIT_OK
    width = max(len(agent.name) for agent in agents.values())
    for agent in agents.values():
        print(f"{agent.name:{width}}  {one_line(agent.description, 100)}")
    return EXIT_OK
