"""The server's tools and calls, without the protocol.

All calls share a session log, begun by the first. Requests take a model's pipeline: validated, planned, gated, asked,
written. Instead of edit tools there is ``propose_changes``.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from rails.approval.decision import Approver
from rails.core import limits
from rails.core.builtin_tools import DELETE_FILE, EDIT_FILE, MOVE_FILE, N8N_NODE_INFO, WRITE_FILE
from rails.core.errors import RailsError, UsageError
from rails.core.plain_file import real_path
from rails.core.text import one_line
from rails.core.tool_request import RawRequest, ToolRequest
from rails.core.verdict import Verdict
from rails.gate.changed_files import read_changed_files
from rails.gate.gate import Gate
from rails.gate.report.text import verdict_as_json, verdict_as_text
from rails.log.reader import sessions
from rails.log.scan import search
from rails.log.writer import SessionLog
from rails.review.reports.session_text import session_as_markdown
from rails.review.session_list import SessionList
from rails.session.apply import Proposals, SavedAnswer
from rails.session.job import SessionJob
from rails.session.project import agents_of, state_of
from rails.tools.definition_file import make_definition
from rails.tools.registry import ANY_ROLE, Definition, Registry
from rails.tools.validate import validate

#: Where a workflow is judged that is in no file.
_WORKFLOW: Final = "workflow.n8n.json"
#: Which tool an edit means: the key that only it has. One that has several is refused, as that tool does not take them.
_EDITS: Final = {
    "delete": DELETE_FILE,
    "content": WRITE_FILE,
    "old_string": EDIT_FILE,
    "new_path": MOVE_FILE,
}
_Given = Mapping[str, Any]


class McpResult(Struct, frozen=True):
    """A result: text, and a value if any."""

    text: str
    ok: bool = True
    value: dict[str, Any] | None = None


class ProjectTools:
    """A project's tools. Thread-safe; writes are serialised.

    ``registry``: the definitions ``role`` may use; ``listen`` lets a page answer.
    """

    def __init__(
        self,
        project: Path,
        registry: Registry,
        role: str,
        approver: Approver,
        gate: Gate,
        *,
        listen: Callable[[SessionLog, Proposals], None],
    ) -> None:
        self.project = project
        self.gate = gate
        self.client = "an MCP client"
        self.registry = registry
        self.own = _own(registry.definitions[N8N_NODE_INFO.name])
        self._role = role
        self._approver = approver
        self._listen = listen
        self._open = contextlib.ExitStack()
        self._proposals: Proposals | None = None
        self._opening = threading.Lock()
        self.turn = threading.Lock()

    def offered(self) -> tuple[Definition, ...]:
        """Return our tools, and the role's that do not edit."""
        own = self.own.definitions
        theirs = [one for one in self.registry.for_role(self._role) if one.effect != "edit" and one.trusted]
        return tuple({**own, **{one.tool_name: one for one in theirs}, **own}.values())

    def call(self, name: str, given: _Given) -> McpResult:
        """Make a call; errors are results too."""
        try:
            if name not in self.own.definitions:
                return self.called([(name, given)], "")
            request = validate(RawRequest("m1", name, given, dialect="mcp"), self.own, self._role)
            if not isinstance(request, ToolRequest):
                return McpResult("\n".join(map(str, request)), ok=False)
            return _ACTIONS[name](self, request.parameters)
        except RailsError as error:
            return McpResult(str(error), ok=False)

    def close(self) -> None:
        """End session and gate."""
        self._open.close()
        self.gate.close()

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
                job = SessionJob(self.project, ((self._role, f"calls of {self.client}"),))
                model = SavedAnswer(self.client).for_agent
                agents = agents_of(self.project)
                made = Proposals(job, log, self.registry, agents, model, self._approver, gate=self.gate)
                self._listen(log, made)
                self._open.enter_context(made.open())
                self._proposals = made
            return self._proposals

    def called(self, calls: Sequence[tuple[str, _Given]], why: str) -> McpResult:
        """Carry out calls as one answer, as those of a model of ours."""
        session = self.session()
        with self.turn:
            turn, _ = session.call(calls, why)
            given = session.collected.result
        text = "\n\n".join(outcome.text for outcome in turn.outcomes)
        ok = all(one.ok for one in turn.outcomes)
        definition = self.registry.get(calls[0][0])
        if not ok or definition is None or not isinstance(definition.response_format, dict):
            return McpResult(text, ok)
        try:
            return McpResult(text, True, json.loads(given.text if given else ""))
        except ValueError:
            return McpResult("The answer was too long to be passed on whole.", ok=False)

    def judged(self, name: str, given: _Given, judge: Callable[[], Verdict]) -> McpResult:
        """Let the gate judge, and log it."""
        verdict = self.session().judged(name, given, judge)
        return McpResult(verdict_as_text(verdict), True, verdict_as_json(verdict))


def _own(like: Definition) -> Registry:
    described = json.loads((Path(__file__).parent / "tools.json").read_text("utf-8"))
    own = [make_definition(one, "", json.dumps(one)) for one in described]
    own.append(replace(like, access={ANY_ROLE: "free"}))
    return Registry({one.tool_name: one for one in own})


# -- our own tools ----------------------------------------------------------------------------------


def _gate(tools: ProjectTools, given: _Given) -> McpResult:
    contents = {one["file_path"]: one["content"] for one in given.get("contents", ())}
    if contents and (given.get("paths") or given.get("base")):
        raise UsageError("Give paths (with or without base) or contents, not both. Nothing was checked.")
    judge = partial(tools.gate.check_contents, contents)
    if not contents:
        judge = _on_disk(tools.project, given.get("paths", []), given.get("base"), tools.gate)
    return tools.judged("gate", given, judge)


def _on_disk(project: Path, paths: list[str], base: str | None, gate: Gate) -> partial[Verdict]:
    """Return a judgement of files on disk, to call. Raises UsageError for files not in the project."""
    if missing := [path for path in paths if not real_path(project / path).is_relative_to(project)]:
        raise UsageError(f"{one_line(missing[0])} is outside the project. Nothing was checked.")
    found = read_changed_files(project, paths, base=base)
    if not found.chosen and not found.missed and not found.deleted:
        raise UsageError("There is no such file to check.")
    return partial(gate.check_files, [*found.chosen], base=base, deleted=found.deleted, missed=found.missed)


def _propose(tools: ProjectTools, given: _Given) -> McpResult:
    calls = []
    for one in given["edits"]:
        tool = next((tool for key, tool in _EDITS.items() if key in one), EDIT_FILE)
        calls.append((tool.name, {key: value for key, value in one.items() if key != "delete"}))
    return tools.called(calls, given.get("explanation", ""))


def _n8n_check(tools: ProjectTools, given: _Given) -> McpResult:
    path, workflow = given.get("path"), given.get("workflow")
    if (path is None) == (workflow is None):
        raise UsageError("Give either path or workflow. Nothing was checked.")
    with Gate(tools.project, profile=given["profile"]) as gate:
        judge = partial(gate.check_contents, {_WORKFLOW: workflow})
        if path:
            judge = _on_disk(tools.project, [path], None, gate)
        return tools.judged("n8n_check", given, judge)


def _undo(tools: ProjectTools, _given: _Given) -> McpResult:
    session = tools.session()
    with tools.turn:
        return McpResult(session.undo())


def _node_info(tools: ProjectTools, given: _Given) -> McpResult:
    found = tools.registry.runners[N8N_NODE_INFO.name](given, tools.project)
    return McpResult(found.text, found.ok)


def _session_search(tools: ProjectTools, given: _Given) -> McpResult:
    lines = []
    for hit in search(state_of(tools.project), given["query"], limit=given["limit"]).hits:
        record = hit.record
        words = one_line(record.message, 200)
        lines.append(f"{hit.place}  {record.timestamp[:19]}  {record.event_type}  {words}")
    return McpResult("\n".join(lines) or "Nothing found.")


_ACTIONS: Final[Mapping[str, Callable[[ProjectTools, _Given], McpResult]]] = {
    "gate": _gate,
    "propose_changes": _propose,
    "n8n_check": _n8n_check,
    N8N_NODE_INFO.name: _node_info,
    "undo": _undo,
    "session_search": _session_search,
}
