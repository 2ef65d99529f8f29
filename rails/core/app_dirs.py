"""Where the shipped definition files, agent templates and example projects are.

In a checkout they are folders beside ``rails/``; the wheel carries them in ``rails/_data/``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

Shipped = Literal["mcp_definitions", "agent_templates", "workspace"]

_PACKAGE: Final = Path(__file__).resolve().parent.parent


def builtin_folder(name: Shipped | str) -> Path:
    """Return the shipped folder ``name``. Raises FileNotFoundError when the installation lacks it."""
    for folder in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the shipped folder {name!r} is missing; install ai-rails again")
