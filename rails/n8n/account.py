"""What an n8n has that a workflow can refer to: credentials, workflows, webhook paths, packages. Never a secret.

It stands as ``[n8n]`` in ``.rails.toml``, written by hand or by ``ai-rails n8n account read``. What is not described is
``None``: nothing is said of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rails.core.dataclass import dataclass
from rails.core.text import one_line


@dataclass(frozen=True, slots=True)
class N8nAccount:
    """``credentials`` are names by type and id, ``workflows`` names by id, ``webhooks`` workflow ids by route."""

    version: str = ""
    credentials: Mapping[str, Mapping[str, str]] | None = None
    workflows: Mapping[str, str] | None = None
    published: frozenset[str] | None = None
    webhooks: Mapping[str, str] | None = None
    packages: frozenset[str] | None = None

    def toml(self) -> str:
        """Return the account as the table of ``.rails.toml``."""
        lines = ["[n8n]", *([f"version = {_quoted(self.version)}"] if self.version else [])]
        for name, have in (("published", self.published), ("packages", self.packages)):
            lines += [] if have is None else [f"{name} = [{', '.join(map(_quoted, sorted(have)))}]"]
        for kind, known in sorted((self.credentials or {}).items()):
            lines += _table(f"n8n.credentials.{_quoted(kind)}", known)
        lines += [] if self.credentials or self.credentials is None else ["", "[n8n.credentials]"]
        for name, table in (("workflows", self.workflows), ("webhooks", self.webhooks)):
            lines += [] if table is None else _table(f"n8n.{name}", table)
        return "\n".join(lines) + "\n"


def _table(name: str, rows: Mapping[str, str]) -> list[str]:
    return ["", f"[{name}]", *(f"{_quoted(key)} = {_quoted(value)}" for key, value in rows.items())]


def _quoted(text: str) -> str:
    """Return a text as a basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(one_line(text, 200), ensure_ascii=True)


def account_of(
    version: str,
    workflows: Sequence[Mapping[str, Any]] | None,
    credentials: Iterable[Mapping[str, Any]] | None,
    packages: Iterable[Mapping[str, Any]] | None,
    routes: Mapping[str, str],
) -> N8nAccount:
    """Return the account that an n8n's public API describes; ``None`` stands for what its key may not read."""
    by_type: dict[str, dict[str, str]] = {}
    for one in credentials or ():
        by_type.setdefault(str(one.get("type")), {})[str(one.get("id"))] = str(one.get("name"))
    return N8nAccount(
        version,
        None if credentials is None else by_type,
        None if workflows is None else {str(one.get("id")): str(one.get("name")) for one in workflows},
        None if workflows is None else frozenset(str(one.get("id")) for one in workflows if one.get("active") is True),
        None if workflows is None else routes,
        None if packages is None else frozenset(str(one.get("packageName")) for one in packages),
    )
