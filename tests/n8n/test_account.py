"""``ai-rails n8n account read``: what an n8n has becomes a table of ``.rails.toml``, and its key goes nowhere else."""

import json
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from rails.cli import main
from rails.core.paths import parse_path
from rails.gate.gate import Gate
from rails.integrations.n8n_api import N8nApi

KEY = "n8n_api_0123456789"
HOOK = {"name": "Hook", "type": "n8n-nodes-base.webhook", "parameters": {"path": "orders", "httpMethod": "POST"}}


class Answers(BaseHTTPRequestHandler):
    """n8n's public API, as far as it is read."""

    asked: ClassVar[list] = []
    refused: ClassVar[dict] = {}

    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.asked.append((self.command, self.path, self.headers.get("X-N8N-API-KEY")))
        if path in self.refused:
            self._send(self.refused[path], {"message": "no"})
        elif path == "/rest/settings":
            self._send(200, {"data": {"versionCli": "2.41.1"}})
        elif path == "/api/v1/workflows" and "cursor" not in query:
            flows = [{"id": "w1", "name": 'Orders "x"', "active": True, "nodes": [HOOK], "connections": {}}]
            self._send(200, {"data": flows, "nextCursor": "a&b"})
        elif path == "/api/v1/workflows":
            self._send(200, {"data": [{"id": "w2", "name": "Draft", "active": False}], "nextCursor": None})
        elif path == "/api/v1/credentials":
            self._send(200, {"data": [{"id": "abc", "name": "Team", "type": "slackApi", "data": {"token": "SECRET"}}]})
        else:
            self._send(200, [{"packageName": "n8n-nodes-foo"}])

    def _send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("N8N_API_KEY", KEY)
    made = type("Handler", (Answers,), {"asked": [], "refused": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), made) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        made.address = f"http://127.0.0.1:{running.server_port}"
        yield made
        running.shutdown()


def test_the_account_is_printed_as_a_table_that_can_be_read_back(server, capsys):
    assert main(["n8n", "account", "read", server.address]) == 0
    out = capsys.readouterr()
    assert tomllib.loads(out.out)["n8n"] == {
        "version": "2.41.1",
        "published": ["w1"],
        "packages": ["n8n-nodes-foo"],
        "credentials": {"slackApi": {"abc": "Team"}},
        "workflows": {"w1": 'Orders "x"', "w2": "Draft"},
        "webhooks": {"POST orders": "w1"},
    }
    assert KEY not in out.out + out.err
    assert "SECRET" not in out.out + out.err
    assert {method for method, _, _ in server.asked} == {"GET"}
    assert [key for _, path, key in server.asked if path.startswith("/rest")] == [None]


def test_it_takes_the_place_of_the_table_in_the_settings_and_counts_there(server, tmp_path):
    file = tmp_path / ".rails.toml"
    file.write_text(
        '[n8n]\nversion = "1.0"\n\n[n8n.workflows]\nold = "Old"\n\n[[gate.mode]]\nmode = "advisory"\npath = "x/**"\n'
    )
    for _ in range(2):
        assert main(["n8n", "account", "read", server.address, "-o", str(file)]) == 0
    text = file.read_text()
    assert tomllib.loads(text)["gate"] == {"mode": [{"mode": "advisory", "path": "x/**"}]}
    assert (text.count("[n8n]"), "old" in text, KEY in text) == (1, False, False)
    start = {"id": "1", "name": "S", "type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "position": [0, 0]}
    call = {
        **start,
        "id": "2",
        "name": "C",
        "type": "n8n-nodes-base.executeWorkflow",
        "parameters": {"workflowId": "w9"},
    }
    wires = {"S": {"main": [[{"node": "C", "type": "main", "index": 0}]]}}
    flow = {"name": "F", "nodes": [{**start, "parameters": {}}, call], "connections": wires}
    (tmp_path / "flow.json").write_text(json.dumps(flow))
    with Gate(tmp_path, profile="publish") as gate:
        found = gate.check_files([parse_path("flow.json")]).findings
    assert ("N8N110", "error") in [(one.rule, one.severity) for one in found]


def test_what_the_key_may_not_read_is_said_and_not_taken_for_empty(server, capsys):
    server.refused["/api/v1/credentials"] = 403
    assert main(["n8n", "account", "read", server.address]) == 0
    out = capsys.readouterr()
    assert "credentials" not in tomllib.loads(out.out)["n8n"]
    assert "may not read the credentials" in out.err


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://localhost", "Name your n8n"),
        ("http://n8n.example.com", "unprotected"),
        ("http://user:word@localhost", "Name your n8n"),
        ("http://127.0.0.1:9", "cannot be asked"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_without_the_key_in_it(monkeypatch, capsys, address, said):
    monkeypatch.setenv("N8N_API_KEY", KEY)
    assert main(["n8n", "account", "read", address]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert KEY not in told.out + told.err


def test_a_refused_or_missing_key_is_told(server, monkeypatch, capsys):
    server.refused["/api/v1/workflows"] = 401
    assert main(["n8n", "account", "read", server.address]) == 2
    assert "refused the key" in capsys.readouterr().err
    assert main(["n8n", "account", "read", server.address, "--key-env", "NO_SUCH_KEY"]) == 2
    assert "NO_SUCH_KEY is not set" in capsys.readouterr().err
    assert main(["n8n", "account"]) == 2
    assert KEY not in repr(N8nApi("http://localhost", KEY))
