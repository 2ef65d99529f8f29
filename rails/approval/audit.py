"""An approval request as it goes into the log: everything that a page shows of it, the bytes included. Pure.

The texts of the files are in it, so that a page in another process draws the same difference as the
terminal, and what was asked can be read years later. The log masks secrets: where that touched a text, its
hash is not that of the bytes, and whoever draws it says so.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from rails.approval.decision import ApprovalRequest
from rails.approval.policy.grants import MINUTES, USES, as_toml, propose, sentence
from rails.core.changes import FileChange
from rails.core.dataclass import replace
from rails.core.json_text import change_json, json_object, to_json
from rails.core.text import decode
from rails.core.tool_request import Json, ToolRequest
from rails.core.verdict import Verdict

#: Files of a request whose text is kept in its record altogether, in bytes; what is larger is named by its hash.
TEXT_BYTES: Final = 4_000_000


def card_of(
    request: ApprovalRequest,
    *,
    from_project: Collection[str] = (),
    can_grant: bool = False,
    can_edit: bool = False,
    replaces: int = 0,
    note: str = "",
    expires: str = "",
) -> dict[str, Json]:
    """Return the details of an APPROVAL_OPENED record.

    ``replaces`` is the number of the question that this one takes the place of, after an edit; ``note`` says
    what became of that edit. ``expires`` is when the question ends by itself (UTC, ISO 8601).
    """
    room = TEXT_BYTES
    files: list[Json] = []
    for change in request.changes.changes:
        size = sum(len(data or b"") for data in (change.before, change.proposed, change.after))
        files.append(_file(change, with_texts=size <= room))
        room -= min(size, room)
    return {
        "id": request.id,
        "digest": request.digest,
        "kind": request.kind,
        "agent": request.agent,
        "tools": list(request.tools),
        "explanation": request.explanation,
        "risks": list(request.risks),
        "notes": list(request.notes),
        "requests": [_request(one, from_project) for one in request.requests],
        "files": files,
        "verdict": _verdict(request.verdict) if request.verdict else None,
        "grant": _grant(request) if can_grant else None,
        "can_edit": can_edit and request.kind == "changes",
        "replaces": replaces,
        "note": note,
        "expires": expires,
    }


def _verdict(verdict: Verdict) -> dict[str, Json]:
    judged = {name: value for name, value in json_object(verdict).items() if name != "proposal"}
    # What a picture is made of is with the verdict's own record; the words are part of what is asked.
    outlines = [json_object(replace(outline, drawing=None)) for outline in verdict.outlines]
    return {**judged, "outlines": [*outlines]} if outlines else judged


def _file(change: FileChange, *, with_texts: bool) -> dict[str, Json]:
    sides = {"before": change.before, "proposed": change.proposed, "after": change.after}
    texts = {side: _text(data) if with_texts else None for side, data in sides.items()}
    return {**change_json(change), "mode": change.mode, **texts}


def _text(data: bytes | None) -> str | None:
    return data.decode() if data is not None and decode(data) is not None else None


def _request(request: ToolRequest, from_project: Collection[str]) -> dict[str, Json]:
    raw = request.raw
    return {
        "id": request.id,
        "tool": request.tool_name,
        "effect": request.effect,
        "parameters": dict(request.parameters),
        "definition": request.definition_digest,
        "from_project": request.tool_name in from_project,
        "dialect": raw.dialect if raw else "",
        "repairs": to_json(raw.repairs) if raw else [],
        "coerced": list(request.coerced),
    }


def _grant(request: ApprovalRequest) -> dict[str, Json]:
    rule = propose(request)
    if isinstance(rule, str):
        return {"why_not": rule}
    return {"rule": as_toml(rule), "words": sentence(rule), "uses": USES, "minutes": MINUTES}
