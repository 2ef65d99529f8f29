"""The modes of ``file_editor`` as requests of the tools that do the same, one a block of a diff."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rails.core import paths
from rails.core.builtin_tools import EDIT_FILE, INSERT_LINES, WRITE_FILE
from rails.core.text import unfenced
from rails.core.tool_request import RawRequest, ToolRequest
from rails.data_formats.proposed import PATCHES, NotRead, Outcome
from rails.data_formats.search_replace import block_changes
from rails.data_formats.unified_diff import diff_changes
from rails.edits.plan_result import EditError

_OTHER: EditError = EditError(
    "unsupported",
    "The diff makes, deletes or moves another file; file_editor changes the text of the one it names.",
    "Send a request of its own for each file.",
)


def parts(request: ToolRequest) -> Iterator[ToolRequest | EditError]:
    """Yield the requests; a rollback, which no other tool does, stays itself."""
    given = dict(request.parameters)
    path = str(given["file_path"])
    mode = given.pop("mode")
    if mode != "edit":
        yield replace(request, tool_name=WRITE_FILE.name, parameters=given) if mode == "whole_write" else request
        return
    text = unfenced(str(given["diff"]))
    found = [*block_changes(text, (), path, conflicts=True)] or [*diff_changes(text, path)]
    for one in found or [NotRead(0, "the diff has no <<<<<<< HEAD block and no @@ hunk")]:
        yield _part(request, one, path)


def _part(request: ToolRequest, one: Outcome, path: str) -> ToolRequest | EditError:
    if isinstance(one, NotRead):
        hint = "Send blocks of <<<<<<< HEAD, =======, >>>>>>> updated, or the whole file with whole_write."
        return EditError("syntax", f"Line {one.line + 1} of the diff: {one.message}.", hint)
    if one.tool not in (EDIT_FILE.name, INSERT_LINES.name, WRITE_FILE.name):
        return _OTHER
    if paths.parse_path(one.parameters["file_path"]) != paths.parse_path(path):
        return _OTHER
    kept = {name: value for name, value in request.parameters.items() if name == "keep_placeholder"}
    raw = RawRequest(request.id, one.tool, one.parameters, dialect=PATCHES[1])
    return replace(request, tool_name=one.tool, parameters={**one.parameters, **kept}, raw=raw)
