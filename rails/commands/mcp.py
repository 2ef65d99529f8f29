"""``ai-rails mcp``: gate, changes and tools for clients of the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from rails.commands import common
from rails.core.errors import EXIT_OK, UsageError
from rails.core.extras import install_command

if TYPE_CHECKING:
    from rails.integrations.mcp.project_tools import ProjectTools

_TOKEN: Final = "AI_RAILS_MCP_TOKEN"  # noqa: S105 - the name of a variable
_MINUTES: Final = 10.0


OPTIONS = f"""
--http PORT:port  serve HTTP on this port of the loopback interface (0: a free one); the token is in {_TOKEN}, or
    printed
--agent AGENT (coder)  the agent whose tools are offered, too (default: coder)
--approve ask|policy (ask)  ask: a person decides. policy: your policy file first (default: ask)
--answer-within MINUTES:number ({_MINUTES:g})  how long a question waits for an answer (default: {_MINUTES:g})
@project
"""


def run(options: argparse.Namespace) -> int:
    """Serve until the client hangs up."""
    try:
        from rails.integrations.mcp.server import McpService, on_http, on_stdio, run_until_ended
    except ModuleNotFoundError as error:
        raise UsageError(f"This needs {error.name}. Install it: {install_command('mcp')}") from None
    service = McpService(_tools(options))
    if options.http is None:
        run_until_ended(service, partial(on_stdio, service))
        return EXIT_OK
    try:
        listening = socket.create_server(("127.0.0.1", options.http))
    except OSError as error:
        raise UsageError(f"Port {options.http} cannot be used: {error.strerror}. --http 0 takes a free one.") from None
    token = os.environ.get(_TOKEN) or secrets.token_urlsafe(32)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
    print(f"Authorization: Bearer {'$' + _TOKEN if os.environ.get(_TOKEN) else token}", flush=True)
    run_until_ended(service, partial(on_http, service, listening, token))
    return EXIT_OK


def _tools(options: argparse.Namespace) -> ProjectTools:
    from rails.agents.prompt import registry_for
    from rails.approval.policy.policy import PolicyApprover, load_policy
    from rails.approval.terminal.approver import TerminalApprover
    from rails.commands import agents as trust
    from rails.gate.gate import Gate
    from rails.integrations.mcp.approver import ClientApprover
    from rails.integrations.mcp.project_tools import ProjectTools
    from rails.session.project import agents_of, registry_of

    project = common.project_of(options)
    agents = trust.require(agents_of(project), [options.agent], project, ask=False)
    registry = registry_for(agents[options.agent], registry_of(project))
    gate = Gate(project)
    queue = common.queue_of(registry, gate, page_waits=True, minutes=options.answer_within)
    over = queue.answered_elsewhere
    # On standard input and output the terminal is the client's own.
    at_hand = TerminalApprover(elsewhere=over) if options.http is not None and sys.stdin.isatty() else None
    queue.here = ClientApprover(over, at_hand)
    approver = PolicyApprover(load_policy(project), queue, queue.grants, decides=options.approve == "policy")
    return ProjectTools(
        project,
        registry,
        agents[options.agent].name,
        approver,
        gate,
        listen=lambda log, session: common.listen(approver, log, session.publish),
    )
