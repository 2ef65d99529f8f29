"""From a request to a permission: the only maker of :class:`~rails.core.changes.Approved`.

An approval signs tools, parameters, definitions, bytes before and after, and check results; whoever executes computes
the digest again: SHA-256 over JSON with sorted keys, no blanks, no Unicode normalisation.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from rails.approval.content_risks import Risk, parameter_risks, returned_risks
from rails.approval.risks import change_risks, gate_risks, tool_risks
from rails.core.changes import Approved, ChangeSet
from rails.core.errors import StaleError
from rails.core.text import sha256
from rails.core.tool_request import PATH_KEYS, Json, ToolRequest
from rails.core.verdict import Verdict

#: "dry_run": nothing was to be decided; it is neither a yes nor a no, but nothing is carried out.
Choice = Literal["approve", "deny", "abort", "dry_run"]

#: How the id of a question about what a run returned ends.
RETURNED: Final = ".result"
#: The reason of a denial when a question could not be put to anybody.
NO_HUMAN: Final = "Nobody is here to approve this, and no rule of a policy allows it."


def now() -> str:
    """Return the time: UTC, ISO 8601 with microseconds and ``Z``."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class ApprovalRequest(Struct, frozen=True):
    """One question to a human or a policy.

    ``risks``: worst first. ``notes``: adjustments (repairs, coercions, how an edit was located). ``doubts``: risks that
    no rule may allow. ``digest`` covers everything. ``named``: risks with names, for rules. ``returned``: may the agent
    read the tool's result?
    """

    id: str
    agent: str
    kind: Literal["changes", "tool"]
    requests: tuple[ToolRequest, ...]
    changes: ChangeSet = field(default_factory=ChangeSet)
    verdict: Verdict | None = None
    doubts: tuple[str, ...] = ()
    model: str = ""
    risks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str = ""
    named: tuple[Risk, ...] = ()
    returned: bool = False

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools, each once."""
        return tuple(dict.fromkeys(request.tool_name for request in self.requests))

    @property
    def explanation(self) -> str:
        """The agent's words, each once."""
        said = dict.fromkeys(request.explanation for request in self.requests)
        return "\n".join(words for words in said if words.strip())

    @property
    def tool_request(self) -> ToolRequest | None:
        """The run that is asked about."""
        return self.requests[0] if self.kind == "tool" else None


class Decision(Struct, frozen=True):
    """An answer. ``seconds`` is how long it took; ``at`` is UTC, ISO 8601; ``by`` says who decided.

    ``reason`` of a denial goes to the agent verbatim. ``edited``: what was approved instead, through the gate and shown
    again. ``of``: the digest of the answered request; no other can be signed.
    """

    answer: Choice
    reason: str
    by: str
    at: str = field(default_factory=now)
    seconds: float = 0.0
    scope: str = "once"
    edited: ApprovalRequest | None = None
    of: str = ""


@runtime_checkable
class Approver(Protocol):
    """Answers approval requests. End of input, a timeout, an error or an empty answer never approves."""

    def decide(self, request: ApprovalRequest) -> Decision:
        """Answer ``request``."""
        ...


@runtime_checkable
class RuleBook(Protocol):
    """An approver with rules, which also hold for tools that are free to use."""

    def looks_at(self, request: ApprovalRequest) -> bool:
        """Return whether a rule denies ``request`` or asks about it."""
        ...

    def keeps_back(self, agent: str, path: str, tools: Sequence[str], answered: ApprovalRequest | None = None) -> str:
        """Return the rule that forbids one of ``tools`` to show a file unasked, or "".

        Rules about ``answered``, the approved question, do not count.
        """
        ...

    def with_rules(self, request: ApprovalRequest) -> ApprovalRequest:
        """Return the question with the policy's remarks, where a person decides."""
        ...

    def shows_secrets(self, agent: str, tool: str, path: str | None) -> bool:
        """Return whether a rule lets an agent read secrets that ``tool`` returns."""
        ...


@runtime_checkable
class Attended(Protocol):
    """An approver that knows whether a person is there."""

    @property
    def attended(self) -> bool:
        """Whether a person is there to be asked."""
        ...


def attended(approver: object) -> bool:
    """Return whether a person is there to be asked."""
    return isinstance(approver, Attended) and approver.attended


def request_for_changes(
    id: str,
    agent: str,
    requests: Sequence[ToolRequest],
    verdict: Verdict,
    notes: Sequence[str] = (),
    *,
    from_project: Collection[str] = (),
    doubts: Sequence[str] = (),
    model: str = "",
) -> ApprovalRequest:
    """Ask about the change set that the gate proposes.

    ``from_project``: tools defined by the project, which may not be trusted.
    """
    ran = [request.tool_name for request in requests]
    # A tool that ran did so in the sandbox, else there would be no change set of it to ask about.
    named = (*change_risks(verdict.proposal), *gate_risks(verdict), *tool_risks(requests, from_project, ran))
    about = tuple(requests)
    asked = ApprovalRequest(id, agent, "changes", about, verdict.proposal, verdict, tuple(doubts), model)
    return _judged(asked, named, notes)


def request_for_tool(
    id: str,
    agent: str,
    request: ToolRequest,
    notes: Sequence[str] = (),
    *,
    from_project: Collection[str] = (),
    doubts: Sequence[str] = (),
    model: str = "",
    contained: bool = False,
) -> ApprovalRequest:
    """Ask about running one tool; ``contained``: it is sandboxed."""
    held = (request.tool_name,) if contained else ()
    named = (*tool_risks((request,), from_project, held), *parameter_risks(request.tool_name, request.parameters))
    asked = ApprovalRequest(id, agent, "tool", (request,), doubts=tuple(doubts), model=model)
    return _judged(asked, named, notes)


def _judged(asked: ApprovalRequest, named: tuple[Risk, ...], notes: Sequence[str]) -> ApprovalRequest:
    return replace(
        asked,
        risks=(*asked.doubts, *(risk.text for risk in named)),
        notes=(*notes, *_adjustments(asked.requests)),
        digest=request_digest(asked),
        named=named,
    )


def request_for_result(request: ApprovalRequest, text: str) -> ApprovalRequest:
    """Ask whether the agent may read ``text``, the result of the run in ``request``."""
    assert request.tool_request is not None, "only a run returns something"
    where = {key: value for key, value in request.tool_request.parameters.items() if key in PATH_KEYS}
    shown = replace(request.tool_request, parameters={**where, "returned": text}, explanation="")
    named = (
        *returned_risks(text),
        *(risk for risk in parameter_risks("", {"returned": text}) if risk.kind == "hidden"),
    )
    has_run = f"{shown.tool_name} has run. Approve to let the agent read what it returned, deny to keep it back."
    asked = request_for_tool(f"{request.id}{RETURNED}", request.agent, shown, model=request.model)
    return replace(asked, risks=(has_run, *(risk.text for risk in named)), named=named, notes=(), returned=True)


def sign_changes(request: ApprovalRequest, decision: Decision) -> Approved[ChangeSet]:
    """Permit the change set of ``request``.

    Raises ValueError unless ``decision`` approves this request, StaleError if its digest does not match.
    """
    _require_yes(request, decision, "changes")
    changes = request.changes
    return Approved(changes, changes.digest(), decision.by, decision.at, decision.scope, request.digest)


def sign_tool(request: ApprovalRequest, decision: Decision) -> Approved[ToolRequest]:
    """Permit the tool run of ``request``. Raises as :func:`sign_changes` does."""
    _require_yes(request, decision, "tool")
    assert request.tool_request is not None, "it is about a run"
    return Approved(request.tool_request, request.digest, decision.by, decision.at, decision.scope, request.digest)


def still_valid(approved: Approved[ChangeSet] | Approved[ToolRequest], request: ApprovalRequest) -> bool:
    """Return whether ``approved`` is for exactly this ``request``; computes every digest again."""
    digest = request_digest(request)
    if not digest == request.digest == approved.request:
        return False
    if isinstance(approved.value, ChangeSet):
        now_planned = request.changes.digest()
        return request.kind == "changes" and approved.value.digest() == approved.digest == now_planned
    return request.kind == "tool" and approved.value == request.tool_request and approved.digest == digest


def request_digest(request: ApprovalRequest) -> str:
    """Compute the digest of ``request`` from its content."""
    content = {
        "v": 1,
        "kind": request.kind,
        "agent": request.agent,
        "requests": [_canonical(one) for one in request.requests],
        "bases": {str(change.path): change.before_sha256 for change in request.changes.changes},
        "changes": request.changes.digest(),
        "gate": None if request.verdict is None else _gate(request.verdict),
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode())


def _require_yes(request: ApprovalRequest, decision: Decision, kind: str) -> None:
    if not isinstance(decision, Decision) or decision.answer != "approve":
        raise ValueError("Only an approval can be signed.")
    if request.kind != kind:
        raise ValueError(f"This request is about {request.kind}, not about {kind}.")
    if decision.edited is not None and decision.edited.digest != request.digest:
        raise StaleError("The human approved an edited proposal, not this one. Nothing was changed.")
    if decision.of and decision.of != request.digest:
        raise StaleError("The approval was given for another request. Nothing was changed.")
    if request_digest(request) != request.digest:
        raise StaleError("The request is not what was shown. Nothing was changed; it has to be asked again.")


def _canonical(request: ToolRequest) -> dict[str, object]:
    parameters: Mapping[str, Json] = request.parameters
    return {"tool": request.tool_name, "parameters": dict(parameters), "definition": request.definition_digest}


def _gate(verdict: Verdict) -> dict[str, object]:
    return {
        "status": verdict.status,
        "checks": sorted((run.name, run.version) for run in verdict.checks),
        "findings": sorted((f.path, f.line, f.column, f.rule, f.message) for f in verdict.findings if f.new),
        "not_checked": sorted((n.path, n.check, n.required) for n in verdict.not_checked),
    }


def _adjustments(requests: Sequence[ToolRequest]) -> tuple[str, ...]:
    notes = []
    for request in requests:
        repairs = request.raw.repairs if request.raw else ()
        notes += [f"{request.tool_name}: JSON repaired ({repair.name}) at {repair.offset}" for repair in repairs]
        notes += [f"{request.tool_name}: converted {what}" for what in request.coerced]
    return tuple(dict.fromkeys(notes))
