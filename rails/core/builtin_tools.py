"""Facts of each built-in tool besides its definition; no other module names one as a string."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from rails.core.tool_request import Effect


class BuiltinTool(Struct, frozen=True):
    """One built-in tool.

    ``status_verb`` begins the line shown while a request arrives. ``by_place``: it must know which bytes the agent saw.
    ``on_files``: its parameters are paths and texts, no commands. ``like``: the tool, of the same access, that agents
    are told of instead.
    """

    name: str
    effect: Effect
    status_verb: str = "Processing"
    by_place: bool = False
    on_files: bool = True
    like: str = ""


READ_FILE: Final = BuiltinTool("read_file", "read")
OUTLINE: Final = BuiltinTool("outline", "read")
LIST_FILES: Final = BuiltinTool("list_files", "read")
SEARCH_FILES: Final = BuiltinTool("search_files", "read")
N8N_NODE_INFO: Final = BuiltinTool("n8n_node_info", "read", on_files=False)
EDIT_WORKFLOW: Final = BuiltinTool("edit_workflow", "edit")
#: The name under which ``write_file`` only creates: it fails when the file exists.
CREATE: Final = "create"
WRITE_FILE: Final = BuiltinTool("write_file", "edit", "Creating", by_place=True)
EDIT_FILE: Final = BuiltinTool("edit_file", "edit", "Editing")
MULTI_EDIT: Final = BuiltinTool("multi_edit", "edit", "Editing")
FILE_EDITOR: Final = BuiltinTool("file_editor", "edit", "Editing", by_place=True, like=MULTI_EDIT.name)
INSERT_LINES: Final = BuiltinTool("insert_lines", "edit", "Editing", by_place=True)
DELETE_FILE: Final = BuiltinTool("delete_file", "edit", "Deleting")
MOVE_FILE: Final = BuiltinTool("move_file", "edit")
TRACK_TASK: Final = BuiltinTool("track_task", "edit")
FETCH_WEBPAGE: Final = BuiltinTool("fetch_webpage", "run", "Fetching", on_files=False)
RUN_COMMAND: Final = BuiltinTool("run_command", "run", "Running", on_files=False)
RUN_TESTS: Final = BuiltinTool("run_tests", "run", "Running", on_files=False)
ASK_USER: Final = BuiltinTool("ask_user", "read")

_ALL: Final = (
    *(READ_FILE, OUTLINE, LIST_FILES, SEARCH_FILES, N8N_NODE_INFO),
    *(EDIT_WORKFLOW, WRITE_FILE, EDIT_FILE, MULTI_EDIT, FILE_EDITOR, INSERT_LINES, DELETE_FILE, MOVE_FILE, TRACK_TASK),
    *(RUN_COMMAND, RUN_TESTS, FETCH_WEBPAGE, ASK_USER),
)
#: The built-in tools by name.
BUILTIN_TOOLS: Final[Mapping[str, BuiltinTool]] = {tool.name: tool for tool in _ALL}


def status_verb(name: str) -> str:
    """Return the status line's verb."""
    tool = BUILTIN_TOOLS.get(name)
    return tool.status_verb if tool else "Processing"


#: A command that runs tests, by the programs that do, and by the word that others take.
RUNS_TESTS: Final = re.compile(
    r"(?:^|[;&|('/] ?|-m |run |npx |exec )(?:py\.?test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest)\b"
    r"|\bpython\S* (?:\S*/)?test\w*\.py"
    r"|\b(?:npm|pnpm|yarn|bun|deno|node|make|just|cargo|go|mvn|gradlew?|dotnet|mix|rake|swift|manage\.py)"
    r" (?:run |-\S+ ){0,5}-{0,2}(?:tests?|check|verify)\b"
)
