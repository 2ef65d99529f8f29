"""Named hosts and no others: the proxy on a socket in the namespace, with real connections on the loopback."""

import contextlib
import http.server
import socket
import sys
import tempfile
import threading

import pytest

from rails.core.errors import UsageError
from rails.sandbox import proxy
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import SandboxLimits, SandboxView
from tests.sandbox.conftest import label_of

ASK = """
import os, socket, sys, urllib.request, urllib.error
def fetch(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return f"{answer.status} {answer.read().decode()}"
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode().strip()}"
    except OSError as error:
        return f"no {error}"
for url in sys.argv[1:]:
    print(fetch(url))
"""


class Answer(http.server.BaseHTTPRequestHandler):
    """Says which path was asked for, and which headers came."""

    def do_GET(self):
        body = f"{self.path} {self.headers.get('Proxy-Connection')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one.server_address[1]
        one.shutdown()


@pytest.fixture(params=[3, 2], ids=lambda level: f"level{level}")
def ask(request, project):
    label = label_of(request.param)

    def go(hosts, *urls, code=ASK):
        with layer_for(project, label=label) as layer:
            argv = (sys.executable, "-I", "-c", code, *urls)
            ran = run(argv, SandboxView(project, layer), hosts, SandboxLimits(seconds=60), label=label, together=True)
        return ran.out.splitlines()

    return go


def test_a_named_host_is_reached_and_another_one_is_refused(ask, server):
    found = ask(
        (f"localhost:{server}",),
        f"http://localhost:{server}/a",
        f"http://localhost:{server + 1}/",
        "http://example.org/",
    )
    assert found[0] == "200 /a None"
    assert found[1].startswith("403 ")
    assert "not on the list" in found[1]
    assert found[2].startswith("403 ")


def test_without_the_proxy_nothing_is_reached(ask, server):
    code = f"import socket\nsocket.create_connection(('127.0.0.1', {server}), timeout=5)\n"
    assert "refused" in ask((f"localhost:{server}",), code=code)[-1]


def test_a_second_request_on_a_connection_is_not_passed_on(ask, server):
    code = (
        "import socket\n"
        "one = socket.create_connection(('127.0.0.1', 3128), timeout=20)\n"
        f"line = b'GET http://localhost:{server}/%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'\n"
        "one.sendall(line % b'first' + (line % b'second').replace(b'localhost', b'example.org'))\n"
        "data = b''\n"
        "while chunk := one.recv(4096): data += chunk\n"
        "print(data.count(b'HTTP/1.0 200'), b'/first' in data, b'/second' in data and b'example' in data)\n"
    )
    assert ask((f"localhost:{server}",), code=code)[-1].split()[1:] == ["True", "False"]


def test_a_tunnel_is_made_to_named_hosts_only(ask, server):
    code = (
        "import socket\n"
        "for host in (b'localhost:%d', b'127.0.0.1:%d', b'[::1]:%d', b'example.org:%d'):\n"
        "    one = socket.create_connection(('127.0.0.1', 3128), timeout=20)\n"
        f"    one.sendall(b'CONNECT ' + host % {server} + b' HTTP/1.1\\r\\n\\r\\n')\n"
        "    print(one.recv(4096).split()[1].decode())\n"
    )
    assert ask((f"localhost:{server}",), code=code) == ["200", "403", "400", "403"]


@pytest.mark.parametrize(
    "head", [b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 40_000, b"CONNECT :1 HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_request_is_answered_or_dropped_and_the_next_one_is_served(head, server):
    with proxy.serve_hosts((f"localhost:{server}",)) as place:
        for data in (head, f"GET http://localhost:{server}/x HTTP/1.1\r\n\r\n".encode()):
            answer = b""
            with socket.socket(socket.AF_UNIX) as one, contextlib.suppress(ConnectionError):
                one.settimeout(30)
                one.connect(str(place))
                one.sendall(data)
                while chunk := one.recv(4096):
                    answer += chunk
        assert b"200" in answer
    assert not place.exists()


@pytest.mark.parametrize(
    ("name", "port", "hosts", "allowed"),
    [
        ("example.org", 443, ("example.org",), True),
        ("example.org", 8443, ("example.org",), False),
        ("example.org", 8443, ("example.org:8443",), True),
        ("example.org", 443, ("example.org:8443",), False),
        ("a.example.org", 443, ("example.org",), False),
        ("a.example.org", 443, ("*.example.org",), True),
        ("example.org", 443, ("*.example.org",), False),
        ("notexample.org", 443, ("*.example.org",), False),
        ("example.org.evil.net", 443, ("example.org",), False),
        ("localhost", 443, ("example.org",), False),
    ],
)
def test_the_list_names_hosts_and_ports_exactly(monkeypatch, name, port, hosts, allowed):
    public = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("93.184.215.14", port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: public)
    assert bool(proxy.allowed_address(name, port, hosts)) is allowed


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "0.0.0.0", "100.64.0.1"]
)
def test_a_named_host_that_leads_to_a_private_address_is_refused(monkeypatch, address):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert proxy.allowed_address("example.org", 443, ("example.org",)) == ""


def test_what_is_no_host_is_a_usage_error():
    for host in ["", "http://example.org", "example.org/x", "a b", "*", "*.", "example.org:", "-x"]:
        with pytest.raises(UsageError, match="not a host"), proxy.serve_hosts((host,)):
            pass


def test_a_folder_for_temporary_files_with_a_long_name_is_no_obstacle(server, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("a name" * 20)))
    (tmp_path / ("a name" * 20)).mkdir()
    with proxy.serve_hosts((f"localhost:{server}",)) as place, socket.socket(socket.AF_UNIX) as one:
        one.settimeout(30)
        one.connect(str(place))
        one.sendall(f"GET http://localhost:{server}/x HTTP/1.1\r\n\r\n".encode())
        assert b"200" in one.recv(4096)
    assert tempfile.tempdir == str(tmp_path / ("a name" * 20))
