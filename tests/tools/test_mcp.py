"""Tools of Model Context Protocol servers, of the stateless revision and of older ones, over HTTP and stdio."""

import asyncio
import json
import sys
import threading
import time

import pytest

from rails.core.errors import UsageError
from rails.core.extras import install_command
from rails.core.tool_request import ToolRequest
from rails.tools import runners
from rails.tools.loader import check_folder, load_definitions, read_definition
from rails.tools.mcp_import import define_tools, import_server, server_entries
from rails.tools.registry import Mcp
from rails.tools.runners import dispatch
from rails.tools.runners.mcp import McpError, server_entry

SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
KNOWN = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}
FORM = {"type": "object", "properties": {}}
ASKED = {"method": "elicitation/create", "params": {"mode": "form", "message": "Sure?", "requestedSchema": FORM}}
ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    "outputSchema": SUM,
    "annotations": {"readOnlyHint": True},
}


def respond(message):
    """What every fake server here answers, as both eras want it."""
    answer = say(message)
    return {"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **answer}}


def say(message):
    """What every fake server here answers to ``tools/list`` and ``tools/call``."""
    method = message["method"]
    params = message.get("params", {})
    if method == "server/discover":
        return KNOWN
    if method == "tools/list":
        return {"resultType": "complete", "tools": [ADD]}
    name = params["name"]
    arguments = params["arguments"]
    if name == "add":
        value = {"sum": arguments["a"] + arguments["b"]}
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
    if name == "wrong":
        return {"content": [], "structuredContent": {"sum": "many"}}
    if name == "ask":
        return {"resultType": "input_required", "requestState": "s", "inputRequests": {"q": ASKED}}
    if name == "picture":
        return {"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}
    return {"content": [{"type": "text", "text": "no such thing"}], "isError": True}


def define(transport, tool="add", **fields):
    definition, mistakes = read_definition(
        json.dumps(
            {
                "tool_name": "probe",
                "description": "A test.",
                "request_schema": {"type": "object", "additionalProperties": True},
                "transport": {**transport, "tool": tool},
                **fields,
            }
        ),
        "probe.json",
    )
    assert not mistakes, [str(mistake) for mistake in mistakes]
    return definition


def use(definition, project, **parameters):
    request = ToolRequest("r1", "probe", parameters, "", "run", True, definition.digest, "coder")
    return dispatch.run_request(request, definition, project)


# -- over HTTP ------------------------------------------------------------------------------------


def stateless(seen):
    message = seen.json()
    assert seen.headers["mcp-protocol-version"] == "2026-07-28"
    assert seen.headers["mcp-method"] == message["method"]
    if "id" not in message:
        return 202, {}, b""
    assert message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    return 200, {}, {"jsonrpc": "2.0", "id": message["id"], **respond(message)}


def legacy(seen):
    """A server with sessions that answers in an event stream, as those of 2025 do."""
    if seen.method in ("GET", "DELETE"):
        return (405 if seen.method == "GET" else 200), {}, b""
    message = seen.json()
    if message["method"] == "initialize":
        return 200, {"Mcp-Session-Id": "s1"}, {"jsonrpc": "2.0", "id": message["id"], "result": HELLO}
    if seen.headers.get("mcp-session-id") != "s1":
        error = {"code": -32600, "message": "Bad Request: Missing session ID"}
        return 400, {}, {"jsonrpc": "2.0", "id": None, "error": error}
    if "id" not in message:
        return 202, {}, b""
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
    events = [progress, {"jsonrpc": "2.0", "id": message["id"], **respond(message)}]
    body = "".join(f"event: message\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)
    return 200, {"Content-Type": "text/event-stream"}, body.encode()


@pytest.mark.parametrize(("server_kind", "posts"), [(stateless, 3), (legacy, 5)])
def test_a_tool_is_called_over_http(serving, tmp_path, server_kind, posts):
    with serving(server_kind) as server:
        result = use(define({"type": "mcp-http", "url": f"{server.url}/mcp"}, response_format=SUM), tmp_path, a=1, b=2)
    assert (result.ok, json.loads(result.text)) == (True, {"sum": 3})
    assert len([seen for seen in server.seen if seen.method == "POST"]) == posts
    assert (server.seen[-1].method == "DELETE") == (server_kind == legacy)


def test_a_server_that_does_not_take_the_end_of_its_session_does_not_take_the_answer_with_it(serving, tmp_path):
    done = threading.Event()

    def slow_to_end(seen):
        if seen.method == "DELETE":
            done.wait(60)
        return legacy(seen)

    with serving(slow_to_end) as server:
        result = use(define({"type": "mcp-http", "url": server.url}), tmp_path, a=1, b=2)
        done.set()
    assert json.loads(result.text) == {"sum": 3}


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("unknown", "no such thing"),
        ("wrong", "must be an integer"),
        ("ask", "licitation not supported"),
    ],
)
def test_what_a_server_cannot_do_is_a_failed_result(serving, tmp_path, tool, said):
    with serving(stateless) as server:
        result = use(define({"type": "mcp-http", "url": server.url}, tool, response_format=SUM), tmp_path)
    assert not result.ok
    assert said in result.text


def test_content_that_is_not_text_is_named(serving, tmp_path):
    with serving(stateless) as server:
        assert use(define({"type": "mcp-http", "url": server.url}, "picture"), tmp_path).text == "[image, image/png]"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {}, b"not json"), "parse JSON"),
        ((200, {}, {"jsonrpc": "2.0", "id": 1}), "parse JSON"),
        ((200, {"Content-Encoding": "gzip"}, b"x"), "nobody asked for"),
        ((200, {}, b"x" * 5_000_000), "more than"),
        ((400, {}, {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "bad"}}), "bad"),
        ((302, {"Location": "/x"}, b""), "redirects are not followed"),
        ((401, {}, b""), "status 401"),
        ((200, {"Content-Type": "text/event-stream"}, b"data: {}\n\n"), "parse SSE"),
    ],
)
def test_an_unusable_answer_is_said(serving, tmp_path, answer, said):
    with serving(lambda seen: answer) as server:
        result = use(define({"type": "mcp-http", "url": server.url}), tmp_path, a=1, b=2)
    assert not result.ok
    assert said in result.text


def test_headers_can_hold_secrets_that_come_back_masked(serving, tmp_path, monkeypatch):
    monkeypatch.setenv("MCP_TOKEN", "canary-0815")

    def echo(seen):
        message = seen.json()
        content = [{"type": "text", "text": seen.headers["authorization"]}]
        said = respond(message)["result"] | ({"content": content} if message["method"] == "tools/call" else {})
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": said}

    with serving(echo) as server:
        transport = {"type": "mcp-http", "url": server.url, "headers": {"Authorization": "Bearer ${MCP_TOKEN}"}}
        result = use(define(transport, "picture", secrets=["MCP_TOKEN"]), tmp_path)
    assert result.text == "Bearer [secret MCP_TOKEN]"


def test_without_the_sdk_a_tool_is_refused_with_the_line_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "rails.tools.runners.mcp_client", raising=False)
    monkeypatch.delattr(runners, "mcp_client", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    result = use(define({"type": "mcp-http", "url": "http://127.0.0.1:1/"}), tmp_path)
    assert not result.ok
    assert "need mcp" in result.text
    assert install_command("mcp") in result.text


# -- over standard input and output ---------------------------------------------------------------


SERVER = """
import json, sys, time
ADD, KNOWN, HELLO, ASKED = {constants!r}
{respond}
mode = sys.argv[1]
ready = mode == "stateless"
print("log line of a server", flush=True)
print("warming up", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if "id" not in message:
        ready = True
        continue
    reply = {{"jsonrpc": "2.0", "id": message["id"]}}
    if method == "initialize":
        reply["result"] = HELLO
    elif mode == "mute" and not ready:
        continue
    elif not ready:
        reply["error"] = {{"code": -32602, "message": "received request before initialization"}}
    elif message.get("params", {{}}).get("name") == "die":
        print("out of memory", file=sys.stderr, flush=True)
        sys.exit(1)
    elif message.get("params", {{}}).get("name") == "hang":
        time.sleep(60)
    elif message.get("params", {{}}).get("name") == "question":
        question = {{"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {{}}}}
        print(json.dumps(question), flush=True)
        answer = json.loads(sys.stdin.readline())
        said = {{"content": [{{"type": "text", "text": json.dumps(answer["error"])}}]}}
        reply["result"] = respond(message)["result"] | said | {{"isError": False}}
    else:
        reply |= respond(message)
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
def program(tmp_path):
    import inspect

    file = tmp_path / "server.py"
    file.write_text(
        SERVER.format(constants=(ADD, KNOWN, HELLO, ASKED), respond=inspect.getsource(respond) + inspect.getsource(say))
    )
    return lambda mode: {"type": "mcp-stdio", "command": sys.executable, "args": [str(file), mode]}


@pytest.mark.parametrize("mode", ["stateless", "legacy", "mute"])
def test_a_tool_is_called_on_standard_input(program, tmp_path, monkeypatch, mode):
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 0.5)
    result = use(define(program(mode), response_format=SUM), tmp_path, a=1, b=2)
    assert (result.ok, json.loads(result.text)) == (True, {"sum": 3})


def test_a_server_that_ends_is_told_with_its_last_words(program, tmp_path):
    result = use(define(program("stateless"), "die"), tmp_path)
    assert "ended without an answer" in result.text
    assert "out of memory" in result.text


def test_a_server_that_hangs_is_stopped(program, tmp_path):
    started = time.monotonic()
    result = use(define(program("stateless"), "hang", timeout_s=1.5), tmp_path)
    assert time.monotonic() - started < 40
    assert "no complete answer within 1.5 s" in result.text


def test_a_question_of_the_server_is_declined(program, tmp_path):
    assert "Method not found" in use(define(program("stateless"), "question"), tmp_path).text


def test_a_tool_is_called_from_within_an_event_loop(program, tmp_path):
    async def main():
        return use(define(program("stateless"), response_format=SUM), tmp_path, a=1, b=2)

    assert json.loads(asyncio.run(main()).text) == {"sum": 3}


def test_a_server_that_is_not_there_is_said(tmp_path):
    assert "was not found" in use(define({"type": "mcp-stdio", "command": "no-such-server"}), tmp_path).text


def test_large_parameters_do_not_block(program, tmp_path):
    result = use(define(program("stateless"), "unknown"), tmp_path, text="x" * 1_000_000)
    assert result.text == "no such thing"


# -- import ---------------------------------------------------------------------------------------


def test_a_running_server_becomes_definition_files(program, tmp_path):
    entry = {key: value for key, value in program("stateless").items() if key != "type"}
    imported = import_server("calc", entry, tmp_path)
    folder = tmp_path / "mcp_definitions"
    folder.mkdir()
    for name, text in imported.files.items():
        (folder / name).write_text(text)
    assert check_folder([folder]) == ()
    definition = load_definitions([folder]).get("add")
    assert definition.access == {"*": "ask"}
    assert definition.request_schema == ADD["inputSchema"]
    request = ToolRequest("r1", "add", {"a": 20, "b": 22}, "", "run", True, definition.digest, "coder")
    assert json.loads(dispatch.run_request(request, definition, tmp_path).text) == {"sum": 42}


def test_a_servers_unusual_tools_are_made_usable_and_the_changes_are_noted():
    tools = json.loads("""[
  {
    "name": "dir.list",
    "description": "List\u200b files ❤️",
    "inputSchema": {
      "type": "object"
    }
  },
  {
    "name": "dir/list",
    "description": "Again",
    "inputSchema": {}
  },
  {
    "name": "9lives",
    "inputSchema": {
      "$schema": "http://json-schema.org/draft-07/schema#",
      "type": "object",
      "properties": {
        "email": {
          "type": "string",
          "pattern": "^(?!x)",
          "format": "odd"
        },
        "tree": {
          "$ref": "#/definitions/tree"
        }
      },
      "definitions": {
        "tree": {
          "type": "object",
          "properties": {
            "left": {
              "$ref": "#/definitions/tree"
            }
          }
        }
      },
      "patternProperties": {
        "^x": {}
      }
    }
  },
  {
    "name": "read_file",
    "description": "Read",
    "inputSchema": {
      "type": "object"
    }
  },
  {
    "name": "Write",
    "description": "Write",
    "inputSchema": {
      "type": "object"
    }
  },
  {
    "name": "mine",
    "description": "Mine",
    "inputSchema": {
      "type": "object"
    }
  }
]""")
    imported = define_tools("my server", tools, Mcp(endpoint="http://127.0.0.1:1/mcp"), taken=["mine"])
    assert sorted(imported.files) == [
        "dir_list.json",
        "my_server_Write.json",
        "my_server_dir_list.json",
        "my_server_mine.json",
        "my_server_read_file.json",
        "t_9lives.json",
    ]
    lives = json.loads(imported.files["t_9lives.json"])
    assert lives["transport"]["tool"] == "9lives"
    assert lives["request_schema"]["properties"]["email"] == {"type": "string"}
    assert json.loads(imported.files["dir_list.json"])["description"] == "List\\u200b files \u2764"
    assert len(imported.notes) >= 5


def test_servers_are_read_from_an_mcp_json():
    text = json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"type": "http", "url": "http://127.0.0.1/"}}})
    assert list(server_entries(text, ".mcp.json")) == ["a", "b"]
    with pytest.raises(UsageError, match='no "mcpServers"'):
        server_entries("{}", ".mcp.json")
    with pytest.raises(UsageError, match="not JSON"):
        server_entries("{", ".mcp.json")


def test_a_secret_that_stands_in_an_entry_is_used_for_the_import_and_not_copied(serving, tmp_path):
    with serving(stateless) as server:
        entry = {"url": server.url, "headers": {"Authorization": "Bearer canary-77", "X-Trace": "on"}}
        imported = import_server("my-server", entry, tmp_path)
    assert server.seen[0].headers["authorization"] == "Bearer canary-77"
    text = imported.files["add.json"]
    assert "canary" not in text + "".join(imported.notes)
    definition = json.loads(text)
    assert definition["transport"]["headers"] == {"Authorization": "${MY_SERVER_AUTHORIZATION}", "X-Trace": "on"}
    assert definition["secrets"] == ["MY_SERVER_AUTHORIZATION"]
    assert imported.notes == [
        "the value of MY_SERVER_AUTHORIZATION was not copied; set the environment variable MY_SERVER_AUTHORIZATION"
    ]


def test_references_to_the_environment_are_read_as_clients_write_them(monkeypatch):
    monkeypatch.setenv("SET", "value")
    monkeypatch.delenv("UNSET", raising=False)
    env = {"A": "${SET}", "B": "${env:SET}", "C": "${UNSET:-other}", "D": "${SET:-other}", "E": "$HOME {x}"}
    transport, names = server_entry({"command": "x", "env": env})
    assert transport.env == {"A": "${SET}", "B": "${SET}", "C": "other", "D": "${SET}", "E": "$HOME {x}"}
    assert names == ["SET", "SET", "SET"]
    assert server_entry({"url": "http://${UNSET:-localhost}:1/${SET}"})[0].endpoint == "http://localhost:1/value"
    for entry in ({"command": "x", "args": ["--key", "${SET}"]}, {"url": "http://${UNSET}/"}):
        with pytest.raises(McpError):
            server_entry(entry)


def test_a_server_that_cannot_be_used_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="was not found"):
        import_server("x", {"command": "no-such-server"}, tmp_path)
    with pytest.raises(UsageError, match="neither a url nor a command"):
        import_server("x", {}, tmp_path)
