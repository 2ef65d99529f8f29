"""A project's own agent templates run only after a human read and accepted them.

The acceptance is bound to the file's bytes and kept in ``rails.trust.record`` under ``agent:NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rails.agents.template import Agent
from rails.core.errors import UsageError
from rails.core.text import one_line, printable
from rails.trust.record import TrustRecord, file_for_review


def key_of(agent: Agent) -> str:
    """Return the key of an acceptance; no tool's name has a colon."""
    return f"agent:{agent.name}"


def pending_agents(agents: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """Return the agents whose present text is not accepted, by name."""
    return tuple(agents[name] for name in sorted(agents) if not agents[name].trusted)


def trust_question(agent: Agent, trust: TrustRecord) -> str:
    """Return the text to review before accepting: the replaced template, the diff, the file."""
    first = [f"The agent {agent.name} as defined by this project ({agent.source})"]
    if agent.replaces:
        first.append(f"It takes the place of {_whose(agent.replaces)} {agent.name}.")
    tools = "all that the tool definitions give its role" if agent.tools is None else ", ".join(agent.tools) or "none"
    first.append(f"Tools it may ask for: {tools}")
    models = [f"runs on {agent.runs_on}"] if agent.runs_on else []
    models += [f"may go on with {agent.stronger}, if you agree then"] if agent.stronger else []
    first += [f"Model: {'; '.join(models)}"] if models else []
    return printable("\n".join((*first, "", *file_for_review(trust.accepted_text(key_of(agent)), agent.text))))


def accept_agent(agent: Agent, trust: TrustRecord) -> None:
    """Record the acceptance of this template's bytes. Raises UsageError when it cannot be recorded."""
    trust.accept(key_of(agent), agent.digest, agent.text)


def trust_state_of(agent: Agent, trust: TrustRecord | None = None) -> str:
    """Return "trusted", "changed since trusted" or "not trusted"."""
    if agent.trusted:
        return "trusted"
    return "changed since trusted" if trust and trust.accepted_text(key_of(agent)) else "not trusted"


def untrusted_agent_error(agent: Agent) -> UsageError:
    """Return the error for an unaccepted agent."""
    instead = f" {_whose(agent.replaces).capitalize()} {agent.name} is not used in its place." if agent.replaces else ""
    return UsageError(
        f"The agent {agent.name} is a template of this project ({one_line(agent.source, 200)}), and nobody has "
        f"accepted this version.{instead} Nothing was started. Read it and accept it: ai-rails agents trust "
        f"{agent.name}; or remove the file."
    )


def _whose(origin: str) -> str:
    return {"shipped": "the shipped", "user": "your own"}.get(origin, "another")
