"""A project's own black, ruff and flake8 at work: in a process of its own Python, contained, once a person agreed.

Agreed is to their names and versions: ``gate-trust.json`` has them under the folder of the environment. Packages are
not compared by content, because nothing that is contained can do more than give back another text.
"""

from __future__ import annotations

from pathlib import Path

from rails.gate.languages.python.own_tools import OwnTool, installed_tools
from rails.gate.support.warm_processes import Pipe, PythonPool, json_line
from rails.sandbox.probe import label
from rails.sandbox.run import start
from rails.sandbox.view import NONE, SandboxView
from rails.trust import consent


def agree(project: Path) -> None:
    """Record that a person lets the tools of a project's environment run. Raises UsageError."""
    tools = installed_tools(project)
    if tools:
        consent.give_consent(project / tools[0].place, _names(tools))


def may_run(project: Path) -> bool:
    """Return whether a person has agreed to them in these versions, and something contains them here."""
    tools = installed_tools(project)
    agreed = consent.agreed_digest(project / tools[0].place) if tools else ""
    return bool(agreed) and agreed == _names(tools) and label().level > NONE


def workers(project: Path, home: Path) -> PythonPool:
    """Return a process of the environment of ``home`` that reads ``project``, which may stand for it."""
    tools = installed_tools(home)
    python = home / tools[0].place / "bin" / "python"

    def begin(script: Path) -> Pipe:
        running = start((str(python), "-I", str(script)), SandboxView(project, None, (script, home)), label=label())
        return Pipe("The project's own Python", running.process, json_line, running.end)

    return PythonPool(1, begin)


def _names(tools: tuple[OwnTool, ...]) -> str:
    return ", ".join(map(str, tools))
