"""The two tools that need to know n8n: asking about a node type, and editing a workflow by operations.

They stand between ``tools``, which knows requests, and ``n8n``, which knows workflows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rails.core import paths
from rails.core.dataclass import replace
from rails.core.errors import Refusal
from rails.core.text import decode_text, one_line
from rails.core.tool_request import Json, ToolRequest, ToolResult
from rails.edits.apply import read_file
from rails.n8n import formatting
from rails.n8n.edit import operations
from rails.n8n.nodes import describe

#: Names of the built-in tools that this module carries out.
NODE_INFO = "n8n_node_info"
EDIT_WORKFLOW = "edit_workflow"


def n8n_node_info(request: ToolRequest) -> ToolResult:
    """Return what is known of a node type, or which types its words can mean."""
    started, p = time.monotonic(), request.parameters
    node_type, version, given = p.get("type"), p.get("version"), p.get("parameters")
    if isinstance(node_type, str):
        number = float(version) if isinstance(version, int | float) else None
        text = describe.describe_node(node_type, number, given if isinstance(given, dict) else None)
    else:
        found = describe.find_nodes(str(p.get("search", "")))
        text = "\n".join(found) or "No node type has all of these words in its name."
    return ToolResult(True, text, round((time.monotonic() - started) * 1000, 3))


def as_edits(requests: Sequence[ToolRequest], project: Path) -> tuple[list[ToolRequest], list[Refusal]]:
    """Return the requests with every ``edit_workflow`` as an exact edit, and a refusal for each that cannot be one."""
    made = [as_edit(request, project) if request.tool_name == EDIT_WORKFLOW else request for request in requests]
    fit = [one for one in made if isinstance(one, ToolRequest)]
    return fit, [one for one in made if isinstance(one, Refusal)]


def as_edit(request: ToolRequest, project: Path) -> ToolRequest | Refusal:
    """Turn the operations of ``edit_workflow`` into one exact edit of the file, in n8n's own form.

    Returns a refusal when the file is no workflow or an operation cannot be done; nothing is planned then.
    """
    path = paths.parse_path(request.parameters.get("file_path"))
    if isinstance(path, Refusal):
        return replace(path, request_id=request.id)
    data = read_file(project, path)
    workflow = None if data is None else _workflow(data)
    if data is None or workflow is None:
        what = "does not exist" if data is None else "is no workflow in JSON"
        hint = "Create the whole file with write_file."
        return Refusal("workflow", f"{path} {what}.", hint, path=str(path), request_id=request.id)
    steps = request.parameters.get("operations")
    wanted = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    made = operations.apply_operations(workflow, wanted)
    if isinstance(made, Refusal):
        return replace(made, path=str(path), request_id=request.id)
    text = json.dumps(made, ensure_ascii=False, indent=2)
    after, _ = formatting.complete(f"{text}\n".encode("utf-8", "surrogatepass"), str(path))
    before, new = decode_text(data), decode_text(after)
    if before is None or new is None:
        return Refusal("workflow", f"{path} is not UTF-8 text.", "Save it as UTF-8.", path=one_line(str(path)))
    parameters: Mapping[str, Json] = {"file_path": str(path), "old_string": before.text, "new_string": new.text}
    return replace(request, tool_name="edit_file", parameters=parameters)


def _workflow(data: bytes) -> dict[str, Json] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
