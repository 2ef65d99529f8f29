"""Secrets a tool needs: looked up by name, handed to the tool only, masked in whatever comes back.

The order is the original AI-Rails': ``PROJECT__NAME`` for the project at hand, then ``NAME``. They come
from the environment, and from the system's keyring when ``AI_RAILS_KEYRING=1`` and the ``keyring`` package (the
extra ``ai-rails[keyring]``) is installed; asking a keyring may open a window, so it is not the default. Put one
there with ``keyring set ai-rails NAME``. A value never
stands in a definition, a prompt, a log or an argument list.
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
    """``values`` by the names that the definition uses; ``sources`` say which variable each came from."""

    values: Mapping[str, str]
    sources: Mapping[str, str]
    missing: tuple[str, ...] = ()

    @classmethod
    def find(cls, names: Iterable[str], project: Path) -> Secrets:
        """Look every name up; an empty value counts as missing."""
        values: dict[str, str] = {}
        sources: dict[str, str] = {}
        missing: list[str] = []
        for name in names:
            for variable in (scoped_name(project, name), name):
                value = os.environ.get(variable) or _from_keyring(variable)
                if value:
                    values[name], sources[name] = value, variable
                    break
            else:
                missing.append(f"{scoped_name(project, name)} or {name}")
        return cls(values, sources, tuple(missing))

    def fill(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return ``texts`` with every ``${NAME}`` of a secret replaced by its value."""
        return {key: _REFERENCE.sub(lambda found: self.values[found[1]], text) for key, text in texts.items()}

    def facts(self) -> dict[str, Json]:
        """Return what a result says of where its secrets came from; nothing where there are none."""
        return {"source": dict(self.sources)} if self.sources else {}

    def complaint(self) -> str:
        """Say which variables to set, without showing any value."""
        return f"A secret is missing: set the environment variable {'; '.join(self.missing)}. Nothing was run."

    def remedy(self) -> str:
        """Say where each missing value is looked for."""
        text = f"Set the environment variable {'; '.join(self.missing)}."
        if os.environ.get("AI_RAILS_KEYRING") != "1":
            return f"{text} The keyring was not asked: AI_RAILS_KEYRING is not 1."
        import importlib.util

        if importlib.util.find_spec("keyring") is None:
            return f"{text} The keyring was not asked: its package is missing, install ai-rails[keyring]."
        return f"{text} The keyring has none of them either: keyring set ai-rails {self.missing[0].split(' or ')[-1]}"

    def mask(self, text: str) -> str:
        """Replace every secret value in ``text`` by its name."""
        for name, value in sorted(self.values.items(), key=lambda item: -len(item[1])):
            if len(value) >= _SHORTEST:
                text = text.replace(value, f"[secret {name}]")
        return text


def _from_keyring(variable: str) -> str:
    """Return a value of the keyring, or an empty text. A keyring that fails is like one without the value."""
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
    """Return the names in the ``${NAME}`` references of ``text``."""
    return [found[1] for found in _REFERENCE.finditer(text)]


def scoped_name(project: Path, name: str) -> str:
    """Return the variable of the project at hand: upper-case, with ``_`` for everything else."""
    own = os.environ.get("AI_RAILS_PROJECT_NAME") or project.resolve().name
    prefix = "".join(char if char.isascii() and char.isalnum() else "_" for char in own.upper())
    return f"{prefix}__{name}"
