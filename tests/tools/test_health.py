"""Whether a tool could be used now is found out without running it."""

import json
import sys

from msgspec.structs import replace

from rails.core.app_dirs import builtin_folder
from rails.core.tool_request import ToolRequest
from rails.tools.health import check_health, reach
from rails.tools.loader import load_definitions, read_definition
from rails.tools.runners import dispatch
from tests.rows import walked


def define(transport, **fields):
    definition, mistakes = read_definition(
        json.dumps(
            {
                "tool_name": "probe",
                "description": "A test.",
                "request_schema": {"type": "object", "properties": {"word": {"type": "string"}}},
                "transport": transport,
                **fields,
            }
        ),
        "probe.json",
    )
    assert not mistakes, [str(mistake) for mistake in mistakes]
    return definition


@walked(("program", "ok"), [(sys.executable, True), ("no-such-program", False)])
def test_a_program_is_looked_for_and_not_run(tmp_path, program, ok):
    reached = reach(define({"type": "command", "command": [program, "-c", "open('ran', 'w')"]}), tmp_path)
    assert reached.ok is ok
    assert not (tmp_path / "ran").exists()


def test_a_service_is_connected_to_and_not_asked(serving, tmp_path):
    with serving(lambda seen: (200, {}, {})) as server:
        assert reach(define({"type": "http", "url": f"{server.url}/x"}), tmp_path).ok
    assert server.seen == []
    assert not reach(define({"type": "http", "url": f"{server.url}/x"}), tmp_path).ok


def test_a_service_without_an_address_names_the_variable(tmp_path):
    reached = reach(define({"type": "http"}), tmp_path)
    assert not reached.ok
    assert "PROBE_URL" in reached.fix


def test_a_server_must_have_the_tool(serving, tmp_path):
    def answer(seen):
        message = seen.json()
        facts = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "capabilities": {}}
        facts |= {"supportedVersions": ["2026-07-28"], "tools": [{"name": "probe", "inputSchema": {"type": "object"}}]}
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": facts}

    with serving(answer) as server:
        transport = {"type": "mcp-http", "url": server.url}
        assert "has 1 tool" in reach(define(transport), tmp_path).text
        assert not reach(define({**transport, "tool": "other"}), tmp_path).ok


def test_a_missing_secret_is_said_before_anything_is_touched(tmp_path, monkeypatch):
    monkeypatch.delenv("PROBE_KEY", raising=False)
    monkeypatch.setenv("AI_RAILS_PROJECT_NAME", "shop")
    definition = define({"type": "command", "command": [sys.executable]}, secrets=["PROBE_KEY"])
    reached = reach(definition, tmp_path)
    assert not reached.ok
    assert reached.text == "a secret is missing: SHOP__PROBE_KEY or PROBE_KEY"
    assert reached.fix.startswith("Set the environment variable SHOP__PROBE_KEY or PROBE_KEY. ")
    assert "keyring set ai-rails" in reached.fix
    assert "Nothing was run" not in reached.fix, "nothing was to be run"


def test_c14_07_the_variable_that_a_secret_came_from_is_shown_and_never_its_value(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_PROJECT_NAME", "shop")
    monkeypatch.setenv("PROBE_KEY", "the plain value")
    definition = define({"type": "command", "command": [sys.executable, "-c", "pass"]}, secrets=["PROBE_KEY"])
    request = ToolRequest("r1", definition.tool_name, {}, "", "run", True, definition.digest, "coder")
    assert reach(definition, tmp_path).text.endswith("; secret PROBE_KEY from PROBE_KEY")
    monkeypatch.setenv("SHOP__PROBE_KEY", "the value of this project")
    reached = reach(definition, tmp_path)
    result = dispatch.run_request(request, definition, tmp_path)
    assert reached.text.endswith("; secret PROBE_KEY from SHOP__PROBE_KEY")
    assert result.facts["source"] == {"PROBE_KEY": "SHOP__PROBE_KEY"}
    assert "the value" not in f"{reached}{result}"


def test_what_nobody_has_trusted_is_neither_started_nor_connected_to(serving, tmp_path):
    mark = tmp_path / "started"
    command = [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]
    started = replace(define({"type": "mcp-stdio", "command": command}), trusted=False)
    with serving(lambda seen: (200, {}, {})) as server:
        asked = replace(define({"type": "http", "url": f"{server.url}/x"}), trusted=False)
        found = [reach(one, tmp_path) for one in (started, asked)]
    assert [one.asked for one in found] == [False, False]
    assert all("tools trust probe" in one.fix for one in found)
    assert not mark.exists()
    assert not reach(replace(started, trusted=True), tmp_path).ok
    assert mark.exists()


def test_all_tools_are_surveyed_by_name_and_built_in_ones_left_out(tmp_path):
    registry = load_definitions([builtin_folder("mcp_definitions")])
    missing = replace(define({"type": "command", "command": ["no-such-program"]}), tool_name="a")
    there = replace(define({"type": "command", "command": [sys.executable]}), tool_name="b")
    found = check_health([there, *registry.definitions.values(), missing], tmp_path)
    assert {name: one.ok for name, one in found.items()} == {"a": False, "b": True}
