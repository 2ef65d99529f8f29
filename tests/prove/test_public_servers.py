"""Two public MCP servers, as their users install them, are imported and called."""

import importlib.util
import json
import subprocess
import sys

import pytest

from rails.core.tool_request import RawRequest, ToolRequest
from rails.tools.loader import check_folder, load_definitions
from rails.tools.mcp_import import import_server
from rails.tools.runners import dispatch
from rails.tools.validate import validate


def bring(module, tmp_path):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    folder = tmp_path / "mcp_definitions"
    folder.mkdir()
    imported = import_server(module, {"command": sys.executable, "args": ["-m", module]}, tmp_path)
    assert imported.notes == []
    for name, text in imported.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert check_folder([folder]) == ()
    return load_definitions([folder])


def use(registry, project, tool, **parameters):
    request = validate(RawRequest("r1", tool, parameters), registry, "coder")
    assert isinstance(request, ToolRequest), [str(refusal) for refusal in request]
    assert request.asks
    return dispatch.run_request(request, registry.get(tool), project)


def test_the_time_server_tells_the_time_and_its_refusals_come_through(tmp_path):
    registry = bring("mcp_server_time", tmp_path)
    assert registry.names() == ("convert_time", "get_current_time")
    good = use(registry, tmp_path, "get_current_time", timezone="Europe/Berlin")
    assert good.ok
    assert json.loads(good.text)["timezone"] == "Europe/Berlin"
    bad = use(registry, tmp_path, "get_current_time", timezone="Mars/Base")
    assert not bad.ok
    assert "Mars/Base" in bad.text


def test_the_git_server_reports_status_and_a_wrong_request_never_reaches_it(tmp_path):
    registry = bring("mcp_server_git", tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert "mcp_definitions/" in use(registry, tmp_path, "git_status", repo_path=str(tmp_path)).text
    refusals = validate(RawRequest("r1", "git_status", {"repository": "."}), registry, "coder")
    assert {refusal.path for refusal in refusals} == {"repo_path", "repository"}
    assert "Did you mean `repo_path`?" in "".join(refusal.hint for refusal in refusals)
