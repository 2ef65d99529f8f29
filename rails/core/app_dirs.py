"""Folders of the shipped definitions, templates and examples: beside ``rails/``, or in the wheel's ``rails/_data/``."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar, Token
from pathlib import Path
from typing import Final, Literal

Shipped = Literal["mcp_definitions", "agent_templates", "workspace"]

_PACKAGE: Final = Path(__file__).resolve().parent.parent
#: The configuration folder of what runs in this context, where that is not the user's.
_CHOSEN: Final[ContextVar[Path | None]] = ContextVar("config folder", default=None)


def builtin_folder(name: Shipped | str) -> Path:
    """Return the shipped folder ``name``. Raises FileNotFoundError."""
    for folder in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the shipped folder {name!r} is missing; install ai-rails again")


def config_folder() -> Path:
    """Return the user's configuration folder: ``AI_RAILS_CONFIG_DIR``, or the platform's."""
    if (chosen := _CHOSEN.get()) is not None:
        return chosen
    if override := os.environ.get("AI_RAILS_CONFIG_DIR"):
        return Path(override)
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        # What platformdirs answers here, by the XDG Base Directory Specification; importing it takes as long as
        # Python's own start.
        named = os.environ.get("XDG_CONFIG_HOME", "")
        base = named if named.startswith("/") else os.path.join(os.environ.get("HOME", ""), ".config")  # noqa: PTH118
        if base.startswith("/"):
            return Path(base, "ai-rails")
    from platformdirs import user_config_path

    return user_config_path("ai-rails", appauthor=False)


def choose_config_folder(folder: Path) -> Token[Path | None]:
    """Use ``folder`` as this context's configuration; give the result to :func:`take_back`."""
    return _CHOSEN.set(folder)


def take_back(chosen: Token[Path | None]) -> None:
    """Undo :func:`choose_config_folder`."""
    _CHOSEN.reset(chosen)
