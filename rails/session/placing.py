"""Asking a human where an edit goes that has no certain place, before the agent is asked to correct it.

A place that is only alike is never taken by itself. What was accepted is labelled as a fuzzy match in the
log, in the approval that follows, in what the agent is told, and in the step that can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.approval.decision import Chooser
from rails.core.dataclass import replace
from rails.core.tool_request import ToolRequest
from rails.edits.choices import accept, offers
from rails.edits.plan import plan
from rails.edits.plan_result import Plan
from rails.session import publish as tell
from rails.session.turn_context import Setting

_MOST: Final = 10


def planned_with(setting: Setting, edits: Sequence[ToolRequest]) -> tuple[Sequence[ToolRequest], Plan]:
    """Plan ``edits``; where they are refused, let the human choose among the places that come nearest.

    Returns the edits as they were planned, with the accepted handles, and the plan.
    """
    edits, planned = list(edits), _plan(setting, edits)
    chosen: list[str] = []
    for _ in range(_MOST):
        if not planned.refusals or not isinstance(setting.approver, Chooser) or not setting.approver.attended:
            break
        offered = offers(edits, planned, setting.project)
        handle = setting.approver.choose(offered[0]) if offered else ""
        if not handle:
            break
        tell.placed(setting, offered[0], handle)
        chosen.append(f"{offered[0].path}: the human chose the place of an edit that had no certain one")
        edits = accept(edits, offered[0], handle)
        planned = _plan(setting, edits)
    return edits, replace(planned, notes=(*planned.notes, *dict.fromkeys(chosen))) if planned.changes else planned


def _plan(setting: Setting, edits: Sequence[ToolRequest]) -> Plan:
    return plan([setting.based(edit) for edit in edits], setting.project, known=setting.known)
