"""Tool requests to a change set: what every file will be, before anything is written.

All edits of an answer are one unit, matched against one look at each file; an edit whose text only earlier edits of
the answer made is applied to their result (a chain). Overlapping and contradicting requests are refused. One refusal
refuses all, except of a ``partial`` request: it is left out, with a note.

The tools and their parameters: ``mcp_definitions/``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct, convert
from msgspec.structs import replace

from rails.core import limits, paths
from rails.core.builtin_tools import (
    DELETE_FILE,
    EDIT_FILE,
    EDIT_WORKFLOW,
    FILE_EDITOR,
    INSERT_LINES,
    MOVE_FILE,
    MULTI_EDIT,
    TRACK_TASK,
    WRITE_FILE,
)
from rails.core.changes import ChangeSet, EditResult, FileChange
from rails.core.errors import Refusal, WorkspaceError
from rails.core.paths import WorkspacePath
from rails.core.plugins import plugin_of
from rails.core.restrictions import Restrictions
from rails.core.text import one_line
from rails.core.tool_request import Json, ToolRequest
from rails.data_formats.proposed import NAMED, PATCHES
from rails.edits.edit_request import EditRequest
from rails.edits.file_draft import Draft
from rails.edits.placeholders import lost_lines
from rails.edits.plan_result import EditError, Plan
from rails.edits.safe_files import UnsafeFileError, Workspace
from rails.edits.stale import MERGED, KnownFiles

if TYPE_CHECKING:
    from rails.edits.match import Miss


def plan(requests: Sequence[ToolRequest], project: Path, *, known: KnownFiles | None = None) -> Plan:
    """Plan all edit requests of one answer against the current files. Nothing is written.

    ``known`` is what the agent has read: a file that changed since is merged if certain (:mod:`rails.edits.merge`),
    else the request is stale.
    """
    restrictions = Restrictions.of(project)
    with Workspace(project) as workspace:
        rest = [part for request in requests for part in _parts(request)]
        left_out: list[EditResult] = []
        while True:
            planner = _Planner(project, workspace, known, restrictions)
            failed = [part for part in rest if not planner.take(part) and part.parameters.get("partial") is True]
            planned = planner.result()
            if not failed or len(failed) == len(rest):
                return _with_left_out(planned, left_out)
            left_out += planner.results_of(failed)
            rest = [part for part in rest if part not in failed]


def _parts(request: ToolRequest) -> Sequence[ToolRequest]:
    edits = request.parameters.get("edits")
    if request.parameters.get("partial") is not True or not isinstance(edits, list):
        return (request,)
    return [replace(request, parameters={"edits": [item], "partial": True}) for item in _in_order(edits)]


def _in_order(edits: Sequence[Json]) -> list[dict[str, Json]]:
    items = [item for item in edits if isinstance(item, dict)]
    return sorted(items, key=lambda item: _number(item.get("order")) or 0)


def _with_left_out(planned: Plan, left_out: Sequence[EditResult]) -> Plan:
    notes = tuple(f"Left out, as the request allows: {one.error}" for one in left_out)
    return replace(planned, notes=(*planned.notes, *notes), edits=(*planned.edits, *left_out)) if left_out else planned


class _Given(Struct, frozen=True):
    base_hash: str = ""
    content: str = ""
    create_only: bool = False
    keep_placeholder: bool = False
    line: int = 0
    end_line: int | None = None
    text: str = ""
    old_content: str | None = None


class _Planner:
    def __init__(
        self, project: Path, workspace: Workspace, known: KnownFiles | None, restrictions: Restrictions
    ) -> None:
        self.project = project
        self.workspace = workspace
        self.restrictions = restrictions
        self.known = known
        self.drafts: dict[WorkspacePath, Draft] = {}
        self.refusals: list[Refusal] = []
        self.misses: list[Miss] = []
        self.notes: list[str] = []
        self.fuzzy: list[WorkspacePath] = []
        self.done: dict[str, str] = {}
        self.occurrences = 0
        self.results: list[tuple[ToolRequest, EditResult]] = []

    def results_of(self, requests: Sequence[ToolRequest]) -> list[EditResult]:
        return [one for request, one in self.results if request in requests and not one.success]

    def take(self, request: ToolRequest) -> bool:
        """Take a request in. Return whether that could be done."""
        before = len(self.refusals)
        self._take(request)
        return len(self.refusals) == before

    def _take(self, request: ToolRequest) -> None:
        handler = _HANDLERS.get(request.tool_name)
        if handler is None:
            self.refuse(request, EditError("unknown_tool", f"{request.tool_name} is not an edit tool."), "")
            return
        fingerprint = repr((request.tool_name, sorted(request.parameters.items(), key=lambda item: item[0])))
        if first := self.done.get(fingerprint):
            self.notes.append(f"{request.id} repeats {first} and was taken once")
            return
        self.done[fingerprint] = request.id
        if handler in (_Planner.multi_edit, _Planner.file_editor):
            handler(self, request)
        else:
            self._noted(request, request.parameters.get("file_path"), lambda: handler(self, request))

    def _noted(self, request: ToolRequest, path: Json, step: Callable[[], object]) -> None:
        before = len(self.refusals)
        self.occurrences = 0
        step()
        error = self.refusals[before].message if len(self.refusals) > before else ""
        self.results.append((request, EditResult(_text(path), not error, error, 0 if error else self.occurrences)))

    def refuse(self, request: ToolRequest | None, problem: EditError, where: str) -> None:
        words = problem.message
        hint = problem.hint
        if request and request.raw and request.raw.dialect in (*PATCHES, NAMED):
            from rails.edits.patch_messages import in_chat_words

            words, hint = in_chat_words(problem.code, words, hint)
        message = f"{where}: {words}" if where else words
        number = request.id if request else ""
        self.refusals.append(Refusal(problem.code, message, hint, path=where, request_id=number))
        if problem.miss is not None:
            self.misses.append(replace(problem.miss, request_id=number, path=where))

    def draft(self, request: ToolRequest, raw: Json) -> Draft | None:
        path = paths.path_in(self.workspace.project, raw)
        if isinstance(path, Refusal):
            self.refusals.append(replace(path, request_id=request.id))
            return None
        try:
            return self.drafts.get(path) or self._open(path)
        except (UnsafeFileError, OSError) as error:
            self.refuse(request, EditError("path", str(error), "Name a plain file inside the project."), str(path))
        except EditError as problem:
            self.refuse(request, problem, str(path))
        return None

    def _open(self, path: WorkspacePath) -> Draft:
        if reason := paths.forbidden(path, self.workspace.project):
            raise EditError("protected", f"Not allowed: {reason}.", "Work on the project's own files.")
        if reason := self.restrictions.reason(str(path)):
            raise EditError("restricted", f"Not allowed: {reason}.", "Leave this file as it is.")
        if len(self.drafts) >= limits.FILES_PER_CHANGE:
            raise EditError("limit", f"More than {limits.FILES_PER_CHANGE} files in one answer.", "Send them in parts.")
        found = self.workspace.read(path)
        if found is None:
            self._check_spelling(path)
        draft = self.drafts[path] = Draft(path, found, self.known)
        return draft

    def _check_spelling(self, path: WorkspacePath) -> None:
        """Refuse a new name that some file system takes for an existing one, or that lies below a file."""
        drafted = [other.parts for other in self.drafts]
        for depth, part in enumerate(path.parts):
            parent = path.parts[:depth]
            names = {parts[depth] for parts in drafted if parts[:depth] == parent and len(parts) > depth}
            names.update(self.workspace.names(parent))
            if part in names:
                continue
            folded = paths.casefolded_name(part)
            if same := next((name for name in sorted(names) if paths.casefolded_name(name) == folded), None):
                real = "/".join((*parent, same, *path.parts[depth + 1 :]))
                raise EditError(
                    "path", f"{same!r} exists and differs only in spelling.", f'Write the path as "{real}".'
                )

    def edit(self, request: ToolRequest, raw: Json, wanted: EditRequest, base: Json) -> None:
        draft = self.draft(request, raw)
        if draft is not None:
            self._try(request, draft, lambda: self._edited(draft, wanted, base))

    def _edited(self, draft: Draft, wanted: EditRequest, base: Json) -> Sequence[str]:
        found = draft.edit(wanted, base if isinstance(base, str) else "")
        self.occurrences = len(found.spans)
        self.fuzzy += [draft.path] if found.fuzzy else []
        return (*found.notes, *draft.link_note())

    def _on_file(self, request: ToolRequest, step: Callable[[Draft], Sequence[str]]) -> None:
        draft = self.draft(request, request.parameters.get("file_path"))
        if draft is not None:
            self._try(request, draft, lambda: step(draft))

    def _try(self, request: ToolRequest, draft: Draft, step: Callable[[], Sequence[str]]) -> None:
        try:
            self.notes += [f"{draft.path}: {note}" for note in step()]
        except EditError as problem:
            self.refuse(request, problem, str(draft.path))

    def result(self) -> Plan:
        changes = []
        for draft in self.drafts.values():
            try:
                change = draft.finish()
            except EditError as problem:
                self.refuse(None, problem, str(draft.path))
                continue
            if change is not None:
                changes.append(change)
                self.notes += [f"{draft.path}: {note}" for note in _of_file(draft, change)]
        if changes and {one.code for one in self.refusals} == {"no_change"}:
            self.notes += [one.message for one in self.refusals]
            self.refusals.clear()
        if not self.refusals and sum(len(c.after or b"") for c in changes) > limits.CHANGE_BYTES:
            message = f"The files of this answer come to more than {limits.CHANGE_BYTES} bytes."
            self.refusals.append(Refusal("limit", message, "Send them in parts."))
        edits = tuple(one for _, one in self.results)
        if self.refusals:
            return Plan(ChangeSet(), tuple(self.refusals), misses=tuple(self.misses), edits=edits)
        drafts = self.drafts.values()
        return Plan(
            ChangeSet(tuple(changes)),
            notes=tuple(self.notes),
            fuzzy=tuple(dict.fromkeys(self.fuzzy)),
            merged=tuple(draft.path for draft in drafts if draft.merged),
            insisted=tuple(said for draft in drafts for said in draft.insisted),
            edits=edits,
        )

    # -- one method per tool ----------------------------------------------------------------------

    def write_file(self, request: ToolRequest) -> None:
        p = convert(request.parameters, _Given)
        self._on_file(
            request,
            lambda draft: draft.write(p.content, p.base_hash, create_only=p.create_only, keep=p.keep_placeholder),
        )

    def edit_file(self, request: ToolRequest) -> None:
        p = request.parameters
        wanted = convert(p, EditRequest)
        if request.raw is not None and request.raw.dialect in PATCHES:
            wanted = replace(wanted, whole_lines=True, below=request.raw.below)
        self.edit(request, p.get("file_path"), wanted, p.get("base_hash"))

    def multi_edit(self, request: ToolRequest) -> None:
        edits = request.parameters.get("edits")
        for item in _in_order(edits if isinstance(edits, list) else []):
            if _number(item.get("order")) is not None:
                for draft in self.drafts.values():
                    draft.chain()
            path = item.get("file_path")
            base = item.get("base_hash")
            self._noted(request, path, partial(self.edit, request, path, convert(item, EditRequest), base))

    def file_editor(self, request: ToolRequest) -> None:
        from rails.edits import file_editor  # which few answers need

        for part in file_editor.parts(request):
            path = request.parameters.get("file_path")
            step = partial(self._part, request, part)
            self._noted(request, path, step)
        if why := one_line(_text(request.parameters.get("commit_message")), 200):
            self.notes.append(f"{request.parameters.get('file_path')}: its commit message is: {why}")

    def _part(self, request: ToolRequest, part: ToolRequest | EditError) -> None:
        path = _text(request.parameters.get("file_path"))
        if isinstance(part, EditError):
            self.refuse(request, part, path)
        elif part.tool_name in _HANDLERS and part.tool_name != request.tool_name:
            _HANDLERS[part.tool_name](self, part)
        elif (draft := self.draft(request, path)) is not None:
            self._try(request, draft, lambda: self._rolled_back(draft))

    def _rolled_back(self, draft: Draft) -> Sequence[str]:
        from rails.edits.checkpoints import History

        try:
            changes = History(self.project).back_one(self.workspace, str(draft.path))
        except WorkspaceError as problem:
            raise EditError("not_found", str(problem), "Send the lines that you want changed as an edit.") from None
        if not changes:
            raise EditError("no_change", "The file is as it was before the last change to it.", "Leave this out.")
        return draft.put_back(changes[0])

    def insert_lines(self, request: ToolRequest) -> None:
        p = convert(request.parameters, _Given)
        self._on_file(
            request, lambda draft: draft.insert(p.line, p.end_line, p.text, p.base_hash, keep=p.keep_placeholder)
        )

    def delete_file(self, request: ToolRequest) -> None:
        p = convert(request.parameters, _Given)
        self._on_file(request, lambda draft: draft.delete(p.base_hash, p.old_content))

    def move_file(self, request: ToolRequest) -> None:
        source = self.draft(request, request.parameters.get("file_path"))
        target = self.draft(request, request.parameters.get("new_path"))
        if source is not None and target is not None:
            self._try(request, source, lambda: target.receive(source))

    def edit_workflow(self, request: ToolRequest) -> None:
        draft = self.draft(request, request.parameters.get("file_path"))
        if draft is None:
            return
        made = plugin_of("n8n").edit(draft.path, draft.before, request.parameters.get("operations"))
        if isinstance(made, Refusal):
            self.refusals.append(replace(made, path=str(draft.path), request_id=request.id))
        else:
            self._try(request, draft, lambda: self._edited(draft, EditRequest(*made), ""))

    def track_task(self, request: ToolRequest) -> None:
        from rails.data_formats import task_list  # which few answers need

        p = request.parameters
        draft = self.draft(request, p.get("file_path"))
        task = _text(p.get("task"))
        if draft is None:
            return

        def step() -> Sequence[str]:
            text = draft.text_so_far()
            if p.get("action") != "add":
                number, old, new = _granted(task_list.marked(text, task, done=p.get("action") == "close"))
                return self._edited(draft, EditRequest(old, new, near_line=number), "")
            line, new = _granted(task_list.added(text or "# Tasks\n", task))
            return draft.insert(line, None, new, "") if text else draft.write(f"# Tasks\n{new}", "")

        self._try(request, draft, step)


_Found = TypeVar("_Found")


def _granted(found: _Found | Refusal) -> _Found:
    if isinstance(found, Refusal):
        raise EditError(found.code, found.message, found.hint)
    return found


_HANDLERS: Final[Mapping[str, Callable[[_Planner, ToolRequest], None]]] = {
    WRITE_FILE.name: _Planner.write_file,
    EDIT_FILE.name: _Planner.edit_file,
    MULTI_EDIT.name: _Planner.multi_edit,
    FILE_EDITOR.name: _Planner.file_editor,
    INSERT_LINES.name: _Planner.insert_lines,
    DELETE_FILE.name: _Planner.delete_file,
    MOVE_FILE.name: _Planner.move_file,
    EDIT_WORKFLOW.name: _Planner.edit_workflow,
    TRACK_TASK.name: _Planner.track_task,
}


def _of_file(draft: Draft, change: FileChange) -> Sequence[str]:
    return [MERGED, *_losses(change)] if draft.merged else _losses(change)


def _losses(change: FileChange) -> Sequence[str]:
    if change.before is None and paths.not_on_windows(change.path):
        return ("Windows cannot have a file of this name",)
    if not change.before or change.after is None:
        return ()
    if not change.after:
        return ("it becomes empty",)
    old, new = (data.decode("utf-8", "replace") for data in (change.before, change.after))
    lost = lost_lines(old, new)
    return (f"it loses {lost[0]} of its {lost[1]} lines",) if lost else ()


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
