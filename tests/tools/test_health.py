"""Whether a tool could be used now is found out without running it."""

import json
import sys

import pytest

from rails.core.shipped import builtin_folder
from rails.tools.definitions import load, read_definition
from rails.tools.health import reach


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


def test_built_in_tools_are_always_there(tmp_path):
    registry = load([builtin_folder("mcp_definitions")])
    assert all(reach(registry.get(name), tmp_path).ok for name in registry.names())


@pytest.mark.parametrize(("program", "ok"), [(sys.executable, True), ("no-such-program", False)])
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
    assert "PROBE_URL" in reach(define({"type": "http"}), tmp_path).text


def test_a_server_must_have_the_tool(serving, tmp_path):
    def answer(seen):
        message = seen.json()
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [{"name": "probe"}]}}

    with serving(answer) as server:
        transport = {"type": "mcp-http", "url": server.url}
        assert "has 1 tools" in reach(define(transport), tmp_path).text
        assert not reach(define({**transport, "tool": "other"}), tmp_path).ok


def test_a_missing_secret_is_said_before_anything_is_touched(tmp_path, monkeypatch):
    monkeypatch.delenv("PROBE_KEY", raising=False)
    definition = define({"type": "command", "command": [sys.executable]}, secrets=["PROBE_KEY"])
    assert "A secret is missing" in reach(definition, tmp_path).text
