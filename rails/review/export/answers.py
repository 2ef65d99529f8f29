"""The answers of a session's models: each as a file of its own, or what of them was denied with nobody there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from rails.core.events.record import Record
from rails.core.events.turn import LlmResponse
from rails.projections.common import ApprovalView, SessionView, TurnView


def answer_files(records: Iterable[Record]) -> Mapping[str, str]:
    """Return the text of each answer by its file's name, ``{role}_output_{timestamp}.md``; two never share one."""
    files: dict[str, str] = {}
    for record in records:
        if isinstance(event := record.event, LlmResponse):
            when = re.sub(r"\D", "", record.timestamp)[:14]
            role = re.sub(r"\W+", "_", record.agent_role) or "model"
            stem = f"{role}_output_{when[:8]}_{when[8:]}"
            number = sum(name.startswith(stem) for name in files)
            files[f"{stem}{f'_{number + 1}' if number else ''}.md"] = event.text
    return files


def denied_answer(view: SessionView) -> str:
    """Return the calls of the last turn in which something was denied because nobody was there, as an answer.

    Calls that were carried out are left out; "" where nothing was denied so.
    """
    denied = [turn for turn in view.turns if any(map(_nobody_was_there, turn.approvals))]
    return "\n".join(_calls(denied[-1])) if denied else ""


def _nobody_was_there(approval: ApprovalView) -> bool:
    return (approval.answer, approval.by) == ("deny", "headless")


def _calls(turn: TurnView) -> Iterator[str]:
    done = {request_id for result in turn.results for request_id in result.ids}
    for request in turn.requests:
        if request.id not in done:
            call = {"tool": request.tool, "parameters": request.parameters, "explanation": request.explanation}
            yield f"```json\n{json.dumps(call, ensure_ascii=False)}\n```\n"
