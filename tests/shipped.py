"""The definitions and agents of the package, read once in a process: what reads them has tests of its own."""

import functools

from rails.agents.template import load_agents
from rails.core.app_dirs import builtin_folder
from rails.tools.loader import load_definitions


@functools.cache
def _agents():
    return load_agents([builtin_folder("agent_templates")])


@functools.cache
def _registry():
    return load_definitions([builtin_folder("mcp_definitions")]).without("fetch_webpage")


def shipped_agents():
    return dict(_agents())


def registry_with(*folders, trusted_folders=()):
    """Return the shipped definitions and those of the folders that are there."""
    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        return _registry()
    found = load_definitions([builtin_folder("mcp_definitions"), *there], trusted_folders=trusted_folders)
    return found.without("fetch_webpage")


#: A project that asks for ruff, black and flake8; without settings only errors count.
STYLE = """\
[tool.ruff]
line-length = 88
[tool.ruff.lint]
select = ["E", "W", "F", "I", "UP", "B"]
[tool.black]
line-length = 88
[tool.flake8]
max-line-length = 88
extend-ignore = ["E203", "E501", "E701", "E704", "W503", "W504"]
"""


def styled(folder):
    """Give a project the settings that ask for style."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(STYLE, "utf-8")
    return folder
