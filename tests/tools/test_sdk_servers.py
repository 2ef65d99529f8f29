"""Our client of the Model Context Protocol and servers of the official SDK."""

import json
import socket
import subprocess
import sys
import time

import pytest

from rails.core.tool_request import ToolRequest
from rails.tools.mcp_import import import_server
from rails.tools.runners import dispatch

SDK_SERVER = """
import sys
from mcp.server import MCPServer
server = MCPServer("calc")

@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    "Add two numbers."
    return {"sum": a + b}

server.run(transport="streamable-http", port=int(sys.argv[1]))
"""


def test_a_server_of_the_official_sdk_is_called_over_http(tmp_path):
    pytest.importorskip("mcp", reason="the official SDK is not installed")
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
        (definition,) = imported.definitions
        request = ToolRequest("r1", "add", {"a": 40, "b": 2}, "", "run", True, definition.digest, "coder")
        assert json.loads(dispatch.run_request(request, definition, tmp_path).text) == {"sum": 42}
    finally:
        process.kill()
        process.wait()
