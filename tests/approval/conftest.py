from types import SimpleNamespace

import pytest

from rails.approval.decision import request_for_changes, request_for_tool
from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.core.tool_request import RawRequest, Repair, ToolRequest
from rails.core.verdict import CheckRun, Finding, Verdict


def change(path="src/app.py", before=b"a = 1\n", after=b"a = 2\n", **more):
    return FileChange(WorkspacePath(path), before, after, **more)


def tool_request(tool="edit_file", effect="edit", repairs=(), coerced=(), **parameters):
    raw = RawRequest("t1.r1", tool, parameters, repairs=tuple(Repair(name, 7, "", "") for name in repairs))
    parameters = parameters or {"file_path": "src/app.py", "old_string": "a = 1", "new_string": "a = 2"}
    return ToolRequest("t1.r1", tool, parameters, "bump a", effect, True, "d" * 64, "coder", tuple(coerced), raw)


def verdict(*changes, status="pass", findings=(), **more):
    checks = (CheckRun("ruff", "0.17.1", 12.0), CheckRun("black", "26.1.0", 30.0))
    return Verdict(status, ChangeSet(tuple(changes) or (change(),)), tuple(findings), checks=checks, **more)


def finding(path="src/app.py", line=1, rule="F401", message="'os' imported but unused", **more):
    return Finding(path, line, 1, rule, message, "ruff", **more)


def ask(*changes, tools=("edit_file",), notes=(), agent="coder", from_project=(), **more):
    requests = [tool_request(tool) for tool in tools]
    judged = more.pop("judged", None) or verdict(*changes, **more)
    return request_for_changes("t1.a1", agent, requests, judged, notes, from_project=from_project)


def ask_tool(tool="run_tests", effect="run", **parameters):
    return request_for_tool("t1.a1", "coder", tool_request(tool, effect, **parameters))


@pytest.fixture(scope="session")
def make():
    """Factories for changes, verdicts and approval requests."""
    return SimpleNamespace(
        change=change, tool_request=tool_request, verdict=verdict, finding=finding, ask=ask, ask_tool=ask_tool
    )
