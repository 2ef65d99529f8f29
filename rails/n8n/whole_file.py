"""A workflow after ``edit_workflow``, in n8n's form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rails.core.errors import Refusal
from rails.core.paths import WorkspacePath
from rails.core.text import decode_text, one_line
from rails.core.tool_request import Json
from rails.n8n.edit.operations import apply_operations
from rails.n8n.formatting import complete
from rails.n8n.json_file import WorkflowFile, read_workflow_file


def workflow_edit(
    path: WorkspacePath, data: bytes | None, steps: Sequence[Mapping[str, Json]]
) -> tuple[str, str] | Refusal:
    """Return the text before and after ``steps``, or a refusal."""
    read = read_workflow_file(data) if data is not None else None
    if not isinstance(read, WorkflowFile) or not isinstance(read.value, dict):
        what = "does not exist" if data is None else "is not a workflow in JSON"
        return Refusal("workflow", f"{path} {what}.", "Create the whole file with write_file.")
    made = apply_operations(read.value, steps)
    if isinstance(made, Refusal):
        return made
    text = json.dumps(made, ensure_ascii=False, indent=2)
    after, _ = complete(f"{text}\n".encode("utf-8", "surrogatepass"), str(path))
    new = decode_text(after)
    if new is None:
        return Refusal("workflow", f"{path} is not UTF-8 text.", "Save it as UTF-8.", path=one_line(str(path)))
    return read.text, new.text
