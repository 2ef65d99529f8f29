"""Agents: a Markdown template becomes a role, and a role becomes the prompt that the model reads.

A template is a valid Claude Code subagent: YAML front matter with ``name``, ``description``, ``tools``,
``model`` and ``maxTurns``, then the prompt. What is ours stands under the one key ``x-rails``.

The system prompt is the template's text, the protocol (``agent_templates/_protocol.md``), the role's own
tools with their schemas, and the role's guidance. It depends on nothing else, so that caches hold. Texts
are joined, never substituted into each other: what is injected arrives byte for byte.
"""

from rails.agents.output import check_output
from rails.agents.prompt import (
    as_data,
    first_message,
    guidance_text,
    protocol,
    registry_for,
    system_prompt,
    tool_specs,
    tools_text,
)
from rails.agents.template import COMPONENTS_MARKER, Agent, load_agents, named, read_agent

__all__ = [
    "COMPONENTS_MARKER",
    "Agent",
    "as_data",
    "check_output",
    "first_message",
    "guidance_text",
    "load_agents",
    "named",
    "protocol",
    "read_agent",
    "registry_for",
    "system_prompt",
    "tool_specs",
    "tools_text",
]
