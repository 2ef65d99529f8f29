"""Every rule of the n8n check: its id, why it exists, and an example of what it catches.

Ids are grouped by tens: 00 the file, 01 nodes, 02 connections, 03 ports, 04 node types, 05 parameters,
06 expressions, 07 code, 08 triggers, 09 credentials and secrets, 10 the public API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.verdict import Severity


class WorkflowRule(Struct, frozen=True):
    """One rule: the severity on ``import``, the reason in one line, and an example of the fault."""

    id: str
    severity: Severity
    reason: str
    example: str


#: Rule id → rule. The rules stand in ``rules.json``: id, severity, reason, example.
RULES: Final[Mapping[str, WorkflowRule]] = {
    row[0]: WorkflowRule(*row) for row in json.loads(Path(__file__).with_name("rules.json").read_text("utf-8"))
}
