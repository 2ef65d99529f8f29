"""An approval request as it goes into the log: everything that a page shows of it, the bytes included. Pure.

The texts of the files are in it, so that a page in another process draws the same difference as the
terminal, and what was asked can be read years later. The log masks secrets: where that touched a text, its
hash is not that of the bytes, and whoever draws it says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, Literal

from rails.approval.decision import ApprovalRequest
from rails.approval.policy.grants import MINUTES, USES, as_toml, propose, sentence
from rails.core import record_fields as d
from rails.core.change_summary import summary_from_json
from rails.core.changes import ChangeSet, FileChange
from rails.core.dataclass import dataclass, replace
from rails.core.events.approval import ApprovalOpened, AskedFile, AskedRequest, GrantOffer
from rails.core.paths import WorkspacePath, parse_path
from rails.core.record_fields import Details
from rails.core.text import decode_text, sha256
from rails.core.tool_request import Json, ToolRequest
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked, Severity, Status, Verdict

#: Files of a request whose text is kept in its record altogether, in bytes; what is larger is named by its hash.
TEXT_BYTES: Final = 4_000_000


def audit_of(
    request: ApprovalRequest,
    *,
    from_project: Collection[str] = (),
    can_grant: bool = False,
    can_edit: bool = False,
    replaces: int = 0,
    note: str = "",
    expires: str = "",
) -> ApprovalOpened:
    """Return the event of a question that is put now.

    ``replaces`` is the number of the question that this one takes the place of, after an edit; ``note`` says
    the result of that edit. ``expires`` is when the question ends by itself (UTC, ISO 8601).
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
        grant=_grant(request) if can_grant else None,
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
    texts = (_text(data) if with_texts else None for data in sides)
    return AskedFile(str(change.path), change.kind, change.before_sha256, change.after_sha256, change.mode, *texts)


def _text(data: bytes | None) -> str | None:
    return data.decode() if data is not None and decode_text(data) is not None else None


def _request(request: ToolRequest, from_project: Collection[str]) -> AskedRequest:
    raw = request.raw
    return AskedRequest(
        id=request.id,
        tool=request.tool_name,
        effect=request.effect,
        parameters=request.parameters,
        definition=request.definition_digest,
        from_project=request.tool_name in from_project,
        dialect=raw.dialect if raw else "",
        repairs=raw.repairs if raw else (),
        coerced=request.coerced,
    )


def _grant(request: ApprovalRequest) -> GrantOffer:
    rule = propose(request)
    if isinstance(rule, str):
        return GrantOffer(why_not=rule)
    return GrantOffer(rule=as_toml(rule), words=sentence(rule), uses=USES, minutes=MINUTES)


_STATUS: Final[dict[str, Status]] = {"pass": "pass", "fail": "fail"}


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A tool and the parameters it would be called with, secrets masked."""

    tool_name: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """What ``ApprovalRequest`` holds, as far as it is drawn. ``unseen`` says what of the files cannot be shown."""

    kind: Literal["changes", "tool"]
    agent: str
    tools: tuple[str, ...]
    explanation: str
    risks: tuple[str, ...]
    notes: tuple[str, ...]
    digest: str
    changes: ChangeSet
    verdict: Verdict | None
    requests: tuple[LoggedCall, ...]
    unseen: tuple[str, ...]


def read_audit(facts: Details) -> LoggedRequest:
    """Return what an APPROVAL_OPENED record asks; what is missing or odd becomes something empty."""
    files = d.objects(facts, "files")
    changes = tuple(change for change in map(change_of, files) if change)
    return LoggedRequest(
        kind="changes" if d.text(facts, "kind") == "changes" else "tool",
        agent=d.text(facts, "agent"),
        tools=d.texts(facts, "tools"),
        explanation=d.text(facts, "explanation"),
        risks=d.texts(facts, "risks"),
        notes=d.texts(facts, "notes"),
        digest=d.text(facts, "digest"),
        changes=ChangeSet(changes),
        verdict=_read_verdict(d.inner(facts, "verdict"), ChangeSet(changes)),
        requests=tuple(
            LoggedCall(d.text(one, "tool"), d.inner(one, "parameters")) for one in d.objects(facts, "requests")
        ),
        unseen=tuple(line for file in files for line in _unseen(file)),
    )


def is_masked(file: Details) -> bool:
    """Whether what the log holds is not what would be written: a secret was masked on the way into it."""
    after = file.get("after")
    return isinstance(after, str) and sha256(after.encode("utf-8", "replace")) != d.text(file, "after_sha256")


def change_of(file: Details) -> FileChange | None:
    """Return a file's change as it was logged; ``None`` where the log does not have its texts."""
    path = parse_path(d.text(file, "path"))
    sides = [file.get(side) for side in ("before", "after", "proposed")]
    hashes = [file.get(f"{side}_sha256") for side in ("before", "after")]
    lost = any(digest is not None and not isinstance(side, str) for side, digest in zip(sides, hashes, strict=False))
    if not isinstance(path, WorkspacePath) or lost:
        return None
    before, after, proposed = (side.encode("utf-8", "replace") if isinstance(side, str) else None for side in sides)
    return FileChange(path, before, after, int(d.number(file, "mode")) or 0o644, proposed)


def finding_of(finding: Details) -> Finding:
    """Return a finding as it was logged."""
    names = ("path", "rule", "message", "tool")
    path, rule, message, tool = (d.text(finding, name) for name in names)
    line, column = (int(d.number(finding, name)) for name in ("line", "column"))
    severity: Severity = "warning" if d.text(finding, "severity") == "warning" else "error"
    return Finding(path, line, column, rule, message, tool, severity, new=d.flag(finding, "new", True))


def _unseen(file: Details) -> Iterator[str]:
    path = d.text(file, "path")
    if change_of(file) is None:
        digest = d.text(file, "after_sha256") or "none"
        yield f"{path} ({d.text(file, 'kind')}): not text, or too large to show here. SHA-256 after: {digest}"
    elif is_masked(file):
        yield f"A secret is masked in {path} as shown here; the file would hold its real value."


def _read_verdict(verdict: Details, proposal: ChangeSet) -> Verdict | None:
    if not verdict:
        return None
    return Verdict(
        _STATUS.get(d.text(verdict, "status"), "error"),
        proposal,
        findings=tuple(map(finding_of, d.objects(verdict, "findings"))),
        fixed=tuple(
            Fixed(d.text(one, "path"), d.text(one, "rule"), d.text(one, "tool"), d.integer(one, "count"))
            for one in d.objects(verdict, "fixed")
        ),
        not_checked=tuple(
            NotChecked(d.text(one, "path"), d.text(one, "check"), d.text(one, "reason"))
            for one in d.objects(verdict, "not_checked")
        ),
        checks=tuple(
            CheckRun(d.text(one, "name"), d.text(one, "version"), 0.0) for one in d.objects(verdict, "checks")
        ),
        outlines=tuple(map(summary_from_json, d.objects(verdict, "outlines"))),
    )
