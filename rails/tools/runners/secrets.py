"""A tool's secrets: looked up by name, given to the tool only, masked in what comes back.

``PROJECT__NAME``, then ``NAME``, as in the original AI-Rails: from the environment, and with ``AI_RAILS_KEYRING=1`` and
``ai-rails[keyring]`` from the keyring (``keyring set ai-rails NAME``), which may open a window. Never in a definition,
prompt, log or argument list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json

_REFERENCE: Final = lazy(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
#: Shorter values are not masked: they would blot out ordinary text.
_SHORTEST: Final = 6


class Secrets(Struct, frozen=True):
    """``values`` by definition's names; ``sources``: their variables."""

    values: Mapping[str, str]
    sources: Mapping[str, str]
    missing: tuple[str, ...] = ()

    @classmethod
    def find(cls, names: Iterable[str], project: Path) -> Secrets:
        """Look every name up; an empty value is missing."""
        values: dict[str, str] = {}
        sources: dict[str, str] = {}
        missing: list[str] = []
        for name in names:
            for variable in (scoped_name(project, name), name):
                value = os.environ.get(variable) or _from_keyring(variable)
                if value:
                    values[name] = value
                    sources[name] = variable
                    break
            else:
                missing.append(f"{scoped_name(project, name)} or {name}")
        return cls(values, sources, tuple(missing))

    def fill(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return ``texts`` with each secret's ``${NAME}`` replaced."""
        return {
            key: _REFERENCE.sub(lambda found: self.values.get(found[1], found[0]), text) for key, text in texts.items()
        }

    def facts(self) -> dict[str, Json]:
        """Return where a result's secrets came from, or {}."""
        return {"source": dict(self.sources)} if self.sources else {}

    def complaint(self) -> str:
        """Return which variables to set, without values."""
        return f"A secret is missing. {self.remedy()} Nothing was run."

    def remedy(self) -> str:
        """Return where each missing value can be put."""
        where = "With AI_RAILS_KEYRING=1 the keyring is asked, too: keyring set ai-rails NAME"
        return f"Set the environment variable {'; '.join(self.missing)}. {where}."

    def mask(self, text: str) -> str:
        """Replace secret values by their names."""
        for name, value in sorted(self.values.items(), key=lambda item: -len(item[1])):
            if len(value) >= _SHORTEST:
                text = text.replace(value, f"[secret {name}]")
        return text


def _from_keyring(variable: str) -> str:
    if os.environ.get("AI_RAILS_KEYRING") != "1":
        return ""
    import importlib

    try:
        found = importlib.import_module("keyring").get_password("ai-rails", variable)
    except Exception:
        # Each platform's keyring has errors of its own; without a value the tool is not run.
        return ""
    return found if isinstance(found, str) else ""


def secret_references(text: str) -> list[str]:
    """Return the names in ``${NAME}`` references."""
    return [found[1] for found in _REFERENCE.finditer(text)]


def scoped_name(project: Path, name: str) -> str:
    """Return the project's variable: upper-case, else ``_``."""
    own = os.environ.get("AI_RAILS_PROJECT_NAME") or project.resolve().name
    prefix = "".join(char if char.isascii() and char.isalnum() else "_" for char in own.upper())
    return f"{prefix}__{name}"
