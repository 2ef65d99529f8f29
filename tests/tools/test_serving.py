"""Our definitions, offered as a validating Model Context Protocol server."""

import io
import json
import sys

import pytest

from rails.core.app_dirs import builtin_folder
from rails.integrations.mcp_server import McpServer, serve
from rails.tools.loader import load_definitions

COUNT = {
    "tool_name": "count",
    "description": "Count the lines of a file.",
    "request_schema": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}},
        "required": ["file_path"],
    },
    "response_format": {"type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]},
    "transport": {"type": "command", "command": [sys.executable, "count.py", "--", "{file_path}"]},
    "access_control": {"*": "permissioned_access"},
}


@pytest.fixture
def server(tmp_path):
    (tmp_path / "count.py").write_text("import sys, json\nprint('x', len(open(sys.argv[2]).readlines()))\n")
    (tmp_path / "a.txt").write_text("1\n2\n")
    folder = tmp_path / "mcp_definitions"
    folder.mkdir()
    (folder / "count.json").write_text(json.dumps({**COUNT, "response_format": "A number."}))
    return McpServer(
        load_definitions([builtin_folder("mcp_definitions"), folder]), "coder", tmp_path, allowed=["count"]
    )


def ask(server, method, **params):
    reply = server.answer(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode())
    message = json.loads(reply)
    assert message["id"] == 7
    return message


def test_it_offers_what_can_run_without_a_human_and_no_edits(server, tmp_path):
    assert [tool["name"] for tool in ask(server, "tools/list")["result"]["tools"]] == [
        "count",
        "list_files",
        "read_file",
        "search_files",
    ]
    closed = McpServer(server.registry, "coder", tmp_path)
    assert "count" not in [tool["name"] for tool in ask(closed, "tools/list")["result"]["tools"]]


def test_a_call_runs(server):
    result = ask(server, "tools/call", name="count", arguments={"file_path": "a.txt"})["result"]
    assert (result["isError"], result["content"][0]["text"]) == (False, "count: exit code 0\nx 2")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("count", {"path": "a.txt"}, "`file_path` is missing"),
        ("count", {"file_path": "-x", "more": 1}, "`more` is not a parameter"),
        ("cuont", {}, "is not defined or accessible"),
        ("write_file", {"file_path": "b", "content": ""}, "nobody can be asked"),
    ],
)
def test_a_wrong_call_is_answered_with_an_error_the_model_can_read(server, name, arguments, said):
    result = ask(server, "tools/call", name=name, arguments=arguments)["result"]
    assert result["isError"] is True
    assert said in result["content"][0]["text"]
    assert not (server.project / "b").exists()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b'{"id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 3}}', -32602),
    ],
)
def test_a_message_that_cannot_be_answered_gets_a_code(server, line, code):
    assert json.loads(server.answer(line))["error"]["code"] == code


def test_both_eras_are_greeted(server):
    assert ask(server, "server/discover")["result"]["supportedVersions"] == ["2026-07-28"]
    assert ask(server, "initialize", protocolVersion="2025-06-18")["result"]["protocolVersion"] == "2025-06-18"
    assert ask(server, "initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-11-25"
    assert ask(server, "ping")["result"] == {"resultType": "complete"}
    assert server.answer(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}') is None


def test_lines_in_lines_out(server):
    output = io.BytesIO()
    serve(server, [b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', b"\n", b"{\n"], output)
    assert len(output.getvalue().splitlines()) == 2


# -- the official SDK -----------------------------------------------------------------------------


SERVE = """
import sys
from pathlib import Path
from rails.core.app_dirs import builtin_folder
from rails.tools.loader import load_definitions
from rails.integrations.mcp_server import McpServer, serve
project = Path(sys.argv[1])
registry = load_definitions([builtin_folder("mcp_definitions"), project / "mcp_definitions"])
serve(McpServer(registry, "coder", project, ["count"]),
      sys.stdin.buffer, sys.stdout.buffer)
"""

SDK_SERVER = """
import sys
from mcp.server import MCPServer
server = MCPServer("calc")

@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    "Add two numbers."
    return {"sum": a + b}

if sys.argv[1:]:
    server.run(transport="streamable-http", port=int(sys.argv[1]))
else:
    server.run()
"""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_sdk_lists_and_calls_our_tools(server, mode):
    mcp = pytest.importorskip("mcp", reason="the official SDK is not installed")
    import asyncio

    async def session():
        parameters = mcp.StdioServerParameters(command=sys.executable, args=["-c", SERVE, str(server.project)])
        async with mcp.Client(parameters, mode=mode) as client:
            listed = await client.list_tools()
            good = await client.call_tool("count", {"file_path": "a.txt"})
            bad = await client.call_tool("count", {"path": "a.txt"})
            return [tool.name for tool in listed.tools], good, bad

    names, good, bad = asyncio.run(asyncio.wait_for(session(), 60))
    assert "count" in names
    assert (good.is_error, good.content[0].text) == (False, "count: exit code 0\nx 2")
    assert bad.is_error
    assert "file_path" in bad.content[0].text


def test_a_server_of_the_official_sdk_is_imported_and_called_on_stdio(tmp_path):
    pytest.importorskip("mcp", reason="the official SDK is not installed")
    from rails.core.tool_request import ToolRequest
    from rails.tools.loader import check_folder
    from rails.tools.mcp_import import import_server
    from rails.tools.runners import dispatch

    (tmp_path / "calc.py").write_text(SDK_SERVER)
    imported = import_server("calc", {"command": sys.executable, "args": ["calc.py"]}, tmp_path)
    folder = tmp_path / "mcp_definitions"
    folder.mkdir()
    (folder / "add.json").write_text(imported.files["add.json"])
    assert check_folder([folder]) == ()
    definition = load_definitions([folder]).get("add")
    request = ToolRequest("r1", "add", {"a": 40, "b": 2}, "", "run", True, definition.digest, "coder")
    result = dispatch.run_request(request, definition, tmp_path)
    assert (result.ok, json.loads(result.text)) == (True, {"sum": 42})


def test_a_server_of_the_official_sdk_is_called_over_http(tmp_path):
    pytest.importorskip("mcp", reason="the official SDK is not installed")
    import socket
    import subprocess
    import time

    from rails.core.tool_request import ToolRequest
    from rails.tools.mcp_import import import_server
    from rails.tools.runners import dispatch

    (tmp_path / "calc.py").write_text(SDK_SERVER)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = subprocess.Popen([sys.executable, "calc.py", str(port)], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.1)
        imported = import_server("calc", {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}, tmp_path)
        folder = tmp_path / "mcp_definitions"
        folder.mkdir()
        (folder / "add.json").write_text(imported.files["add.json"])
        definition = load_definitions([folder]).get("add")
        request = ToolRequest("r1", "add", {"a": 40, "b": 2}, "", "run", True, definition.digest, "coder")
        assert json.loads(dispatch.run_request(request, definition, tmp_path).text) == {"sum": 42}
    finally:
        process.kill()
        process.wait()
