"""A project's tools and agents, and a human's acceptance of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rails.core.app_dirs import builtin_folder, config_folder
from rails.core.builtin_tools import FETCH_WEBPAGE

if TYPE_CHECKING:
    from rails.agents.template import Agents
    from rails.core.tool_request import Json, ToolResult
    from rails.tools.registry import Registry
    from rails.trust.record import TrustRecord


def state_of(project: Path) -> Path:
    """Return the folder of sessions and checkpoints; it need not exist yet."""
    return project / ".rails"


def definition_folders(name: str, project: Path) -> list[Path]:
    """Return the folders of definitions or templates, later ones overriding: shipped, the user's, the project's."""
    own = [config_folder() / name, *(project / place / name for place in (".ai-rails", ".")), state_of(project) / name]
    shipped = builtin_folder(name)
    return [shipped, *(folder for folder in own if folder.is_dir() and folder.resolve() != shipped)]


def registry_of(project: Path) -> Registry:
    """Load all tool definitions but wrong ones of the project. Raises DefinitionError."""
    from rails.config.run_defaults import fetch_hosts
    from rails.edits.builtin_runners import BUILTIN_RUNNERS
    from rails.tools.loader import load_definitions

    own = config_folder() / "mcp_definitions"
    found = load_definitions(
        definition_folders("mcp_definitions", project), trusted=trust_of(project).digests(), trusted_folders=[own]
    )
    if not (hosts := fetch_hosts(config_folder())):
        return found.without(FETCH_WEBPAGE.name).with_runners(BUILTIN_RUNNERS)
    return found.with_runners({**BUILTIN_RUNNERS, FETCH_WEBPAGE.name: partial(_fetched, hosts)})


def _fetched(hosts: Sequence[str], parameters: Mapping[str, Json], project: Path) -> ToolResult:
    from rails.tools.runners.fetch import page_fetcher  # which hardly any session needs

    return page_fetcher(hosts)(parameters, project)


def trust_of(project: Path) -> TrustRecord:
    """Return which of the project's definitions a human accepted."""
    from rails.trust.record import TrustRecord

    return TrustRecord(config_folder(), project)


def agents_of(project: Path, only: str = "") -> Agents:
    """Load the agent templates, or only the one named. Raises DefinitionError."""
    from rails.agents.template import load_agents

    own = config_folder() / "agent_templates"
    trusted = trust_of(project).digests()
    return load_agents(
        definition_folders("agent_templates", project), trusted=trusted, trusted_folders=[own], only=only
    )
