"""An approval request as a log event, with all its bytes. Pure.

Where the log masked a secret, the hash of a text is not that of the bytes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from rails.approval.decision import ApprovalRequest
from rails.approval.policy.grants import Grants, as_toml, propose, sentence, wider
from rails.core.changes import FileChange
from rails.core.events.approval import ApprovalOpened, AskedFile, AskedRequest, GrantOffer
from rails.core.text import decode_text
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Verdict

#: Files of a request whose text is kept in its record altogether, in bytes; what is larger is named by its hash.
TEXT_BYTES: Final = 4_000_000


def audit_of(
    request: ApprovalRequest,
    *,
    from_project: Collection[str] = (),
    grants: Grants | None = None,
    can_edit: bool = False,
    replaces: int = 0,
    note: str = "",
    expires: str = "",
) -> ApprovalOpened:
    """Return the event of a question.

    ``replaces``: the number of the question before an edit; ``note``: the result of that edit; ``expires``: UTC, ISO
    8601.
    """
    room = TEXT_BYTES
    files: list[AskedFile] = []
    for change in request.changes.changes:
        size = sum(len(data or b"") for data in (change.before, change.proposed, change.after))
        files.append(_file(change, with_texts=size <= room))
        room -= min(size, room)
    return ApprovalOpened(
        id=request.id,
        digest=request.digest,
        kind=request.kind,
        agent=request.agent,
        tools=request.tools,
        explanation=request.explanation,
        risks=request.risks,
        notes=request.notes,
        requests=tuple(_request(one, from_project) for one in request.requests),
        files=tuple(files),
        verdict=_verdict(request.verdict) if request.verdict else None,
        grant=_grant(request, grants) if grants else None,
        can_edit=can_edit and request.kind == "changes",
        replaces=replaces,
        note=note,
        expires=expires,
    )


def _verdict(verdict: Verdict) -> Verdict:
    # What a picture is made of is with the verdict's own record; the words are part of what is asked.
    return replace(verdict, outlines=tuple(replace(outline, drawing=None) for outline in verdict.outlines))


def _file(change: FileChange, *, with_texts: bool) -> AskedFile:
    sides = (change.before, change.proposed, change.after)
    read = [None if data is None else decode_text(data) for data in sides]
    encoding = next((one.encoding for one in reversed(read) if one is not None), "utf-8")
    before, proposed, after = (
        one.whole if with_texts and one is not None and one.encoding == encoding else None for one in read
    )
    return AskedFile(
        str(change.path),
        change.kind,
        change.before_sha256,
        change.after_sha256,
        change.mode,
        before,
        proposed,
        after,
        "" if encoding == "utf-8" else encoding,
    )


def _request(request: ToolRequest, from_project: Collection[str]) -> AskedRequest:
    raw = request.raw
    return AskedRequest(
        id=request.id,
        tool_name=request.tool_name,
        effect=request.effect,
        parameters=request.parameters,
        definition=request.definition_digest,
        from_project=request.tool_name in from_project,
        dialect=raw.dialect if raw else "",
        repairs=raw.repairs if raw else (),
        coerced=request.coerced,
    )


def _grant(request: ApprovalRequest, grants: Grants) -> GrantOffer:
    more = wider(request)
    rule = propose(request)
    held = "; ".join(map(str, grants.active()))
    extent = more[0] if more else ""
    if isinstance(rule, str):
        return GrantOffer(extent, held, rule)
    return GrantOffer(extent, held, "", as_toml(rule), sentence(rule))
