"""The server's tools and calls, without the protocol.

All calls share a session log, begun by the first. Requests take a model's pipeline: validated, planned, gated, asked,
written. Instead of edit tools there is ``propose_changes``.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.approval.decision import Approver
from rails.core import limits
from rails.core.builtin_tools import DELETE_FILE, EDIT_FILE, MOVE_FILE, N8N_NODE_INFO, WRITE_FILE
from rails.core.errors import RailsError, UsageError
from rails.core.events.changes import ToolExecutionResult
from rails.core.plain_file import real_path
from rails.core.text import one_line
from rails.core.tool_request import Json, RawRequest, ToolRequest
from rails.core.verdict import Verdict
from rails.gate.changed_files import read_changed_files
from rails.gate.gate import Gate
from rails.gate.report.text import verdict_as_json, verdict_as_text
from rails.log.reader import SessionSummary, sessions
from rails.log.scan import search
from rails.log.writer import SessionLog
from rails.review.reports.session_text import session_as_markdown
from rails.review.session_list import SessionList
from rails.session.apply import Proposals, SavedAnswer
from rails.session.job import SessionJob
from rails.session.project import agents_of, state_of
from rails.tools.registry import ANY_ROLE, Definition, Registry
from rails.tools.validate import validate

#: Where a workflow is judged that is in no file.
_WORKFLOW: Final = "workflow.n8n.json"
#: Sessions that are listed as resources.
_LISTED: Final = 50
#: Which tool an edit means: the key that only it has.
_EDITS: Final = {
    "content": WRITE_FILE,
    "old_string": EDIT_FILE,
    "new_string": EDIT_FILE,
    "new_path": MOVE_FILE,
    "delete": DELETE_FILE,
}


class McpResult(Struct, frozen=True):
    """A result: text, and a value if any."""

    text: str
    ok: bool = True
    value: Mapping[str, Json] | None = None


@dataclass
class ProjectTools:
    """A project's tools. Thread-safe; writes are serialised.

    ``registry``: the definitions ``role`` may use; ``listen`` lets a page answer.
    """

    project: Path
    registry: Registry
    role: str
    approver: Approver
    gate: Gate
    listen: Callable[[SessionLog, Proposals], None] = field(default=lambda *_: None)
    client: str = "an MCP client"
    own: Registry = field(init=False)
    _open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, init=False)
    _proposals: Proposals | None = field(default=None, init=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        """Put the server's own tools together."""
        self.own = Registry(_own(self.registry.definitions[N8N_NODE_INFO.name]))

    def offered(self) -> tuple[Definition, ...]:
        """Return our tools, and the role's that do not edit."""
        theirs = (one for one in self.registry.for_role(self.role) if one.effect != "edit" and one.trusted)
        return (*self.own.definitions.values(), *(one for one in theirs if one.tool_name not in self.own.definitions))

    def call(self, name: str, given: Mapping[str, Json]) -> McpResult:
        """Make a call; errors are results too."""
        try:
            if name not in self.own.definitions:
                return self._called([(name, given)], "")
            request = validate(RawRequest("m1", name, given, dialect="mcp"), self.own, self.role)
            if not isinstance(request, ToolRequest):
                return McpResult("\n".join(map(str, request)), ok=False)
            return _ACTIONS[name](self, request.parameters)
        except RailsError as error:
            return McpResult(str(error), ok=False)

    def close(self) -> None:
        """End session and gate."""
        self._open.close()
        self.gate.close()

    def logs(self) -> tuple[SessionSummary, ...]:
        """Return the last sessions of the project, newest first."""
        return sessions(state_of(self.project))[: -_LISTED - 1 : -1]

    def log_text(self, session_id: str) -> str:
        """Return a session as Markdown. Raises UsageError, for one that is not there or is too long."""
        state = state_of(self.project)
        sizes = {one.session_id: one.size for one in sessions(state)}
        if sizes.get(session_id, limits.FILE_BYTES) >= limits.FILE_BYTES:
            raise UsageError("There is no such session, or it is too long to be sent: ai-rails review shows it.")
        return session_as_markdown(SessionList(state).view(session_id))

    def session(self) -> Proposals:
        """Return the shared session, begun on first use."""
        with self._opening:
            if self._proposals is None:
                log = self._open.enter_context(SessionLog.create(state_of(self.project)))
                job = SessionJob(self.project, ((self.role, f"calls of {self.client}"),))
                agents = agents_of(self.project)
                author = SavedAnswer(self.client)
                made = Proposals(job, log, self.registry, agents, author.for_agent, self.approver, gate=self.gate)
                self.listen(log, made)
                self._open.enter_context(made.open())
                self._proposals = made
            return self._proposals

    def _called(self, calls: list[tuple[str, Mapping[str, Json]]], why: str) -> McpResult:
        session = self.session()
        with self._turn:
            turn, _ = session.call(calls, why)
            given = session.collected.result
        text = "\n\n".join(outcome.text for outcome in turn.outcomes)
        ok = all(one.ok for one in turn.outcomes)
        definition = self.registry.get(calls[0][0])
        if ok and definition and isinstance(definition.response_format, dict):
            return _as_promised(text, given)
        return McpResult(text, ok)

    def _judged(self, name: str, given: Mapping[str, Json], judge: Callable[[], Verdict]) -> McpResult:
        verdict = self.session().judged(name, given, judge)
        return McpResult(verdict_as_text(verdict), True, verdict_as_json(verdict))


def _as_promised(text: str, given: ToolExecutionResult | None) -> McpResult:
    try:
        return McpResult(text, True, json.loads(given.text if given else ""))
    except ValueError:
        return McpResult("The answer was too long to be passed on whole.", ok=False)


def tool_object(definition: Definition) -> dict[str, Json]:
    """Return a definition as an MCP ``Tool``."""
    promised = definition.response_format
    return {
        "name": definition.tool_name,
        "title": definition.title or None,
        "description": definition.description,
        "inputSchema": dict(definition.request_schema),
        "outputSchema": promised if isinstance(promised, dict) else None,
        "annotations": dict(definition.annotations),
    }


def _own(like: Definition) -> dict[str, Definition]:
    plain = replace(like, guidance={}, aliases={}, tool_aliases=(), mistaken_names=(), examples=())
    described = json.loads((Path(__file__).parent / "tools.json").read_text("utf-8"))
    own = {one["tool_name"]: replace(plain, text=json.dumps(one), **one) for one in described}
    return {name: replace(one, access={ANY_ROLE: "free"}) for name, one in {**own, like.tool_name: like}.items()}


# -- our own tools ----------------------------------------------------------------------------------


def _gate(tools: ProjectTools, given: Mapping[str, Json]) -> McpResult:
    contents = given.get("contents")
    paths = given.get("paths")
    base = given.get("base")
    if contents and (paths or base):
        raise UsageError("Give paths (with or without base) or contents, not both. Nothing was checked.")
    if isinstance(contents, list):
        proposed = {str(one["file_path"]): str(one["content"]) for one in contents if isinstance(one, dict)}
        return tools._judged("gate", given, lambda: tools.gate.check_contents(proposed))
    names = [str(one) for one in paths] if isinstance(paths, list) else []
    judge = _on_disk(tools, names, str(base) if base else None, tools.gate)
    return tools._judged("gate", given, judge)


def _on_disk(tools: ProjectTools, paths: list[str], base: str | None, gate: Gate) -> Callable[[], Verdict]:
    """Return a judgement of files on disk, to call. Raises UsageError for files not in the project."""
    if missing := [path for path in paths if not real_path(tools.project / path).is_relative_to(tools.project)]:
        raise UsageError(f"{one_line(missing[0])} is outside the project. Nothing was checked.")
    found = read_changed_files(tools.project, paths, base=base)
    if not found.chosen and not found.missed and not found.deleted:
        raise UsageError("There is no such file to check.")
    chosen = list(found.chosen)
    return lambda: gate.check_files(chosen, base=base, deleted=found.deleted, missed=found.missed)


def _propose(tools: ProjectTools, given: Mapping[str, Json]) -> McpResult:
    edits = given["edits"]
    assert isinstance(edits, list), "the request was validated"
    calls = [_edit(one) for one in edits if isinstance(one, dict)]
    return tools._called(calls, str(given.get("explanation", "")))


def _edit(one: dict[str, Json]) -> tuple[str, Mapping[str, Json]]:
    tool = next((tool for key, tool in _EDITS.items() if key in one), EDIT_FILE)
    return tool.name, {key: value for key, value in one.items() if key != "delete" or tool is not DELETE_FILE}


def _n8n_check(tools: ProjectTools, given: Mapping[str, Json]) -> McpResult:
    path = given.get("path")
    workflow = given.get("workflow")
    if (path is None) == (workflow is None):
        raise UsageError("Give either path or workflow. Nothing was checked.")
    with Gate(tools.project, profile=str(given["profile"])) as gate:
        text = {_WORKFLOW: str(workflow)}
        judge = _on_disk(tools, [str(path)], None, gate) if path else partial(gate.check_contents, text)
        return tools._judged("n8n_check", given, judge)


def _undo(tools: ProjectTools, _given: Mapping[str, Json]) -> McpResult:
    session = tools.session()
    with tools._turn:
        return McpResult(session.undo())


def _node_info(tools: ProjectTools, given: Mapping[str, Json]) -> McpResult:
    found = tools.registry.runners[N8N_NODE_INFO.name](given, tools.project)
    return McpResult(found.text, found.ok)


def _session_search(tools: ProjectTools, given: Mapping[str, Json]) -> McpResult:
    state = state_of(tools.project)
    hits = search(state, str(given["query"]), limit=int(str(given["limit"]))).hits
    lines = [
        f"{hit.place}  {hit.record.timestamp[:19]}  {hit.record.event_type}  {one_line(hit.record.message, 200)}"
        for hit in hits
    ]
    return McpResult("\n".join(lines) or "Nothing found.")


_ACTIONS: Final[Mapping[str, Callable[[ProjectTools, Mapping[str, Json]], McpResult]]] = {
    "gate": _gate,
    "propose_changes": _propose,
    "n8n_check": _n8n_check,
    N8N_NODE_INFO.name: _node_info,
    "undo": _undo,
    "session_search": _session_search,
}
