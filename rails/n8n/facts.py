"""Lists from n8n's packages of version 2.41, and our rules.

Ids: 00 file, 01 nodes, 02 connections, 03 ports, 04 node types, 05 parameters, 06 expressions, 07 code, 08 triggers, 09
credentials and secrets, 10 the public API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from rails.core.verdict import Severity


class WorkflowRule(Struct, frozen=True):
    """A rule: severity on ``import``, reason, example."""

    id: str
    severity: Severity
    reason: str
    example: str


def _read(name: str) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(Path(__file__).parent.joinpath(name).read_text("utf-8"))


FACTS: Final[dict[str, Any]] = _read("facts.json")
#: Rule id → rule.
RULES: Final[Mapping[str, WorkflowRule]] = {row[0]: WorkflowRule(*row) for row in _read("rules/rules.json")}
#: What a rule says: its id, and a letter where it has several texts → message and remedy.
RULE_TEXTS: Final[Mapping[str, tuple[str, str]]] = _read("rules/texts.json")
