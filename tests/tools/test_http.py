"""HTTP tools: encoded, bounded, never redirected, tried again only where that is safe."""

import json
import socket
import time

import pytest

from rails.core.tool_request import ToolRequest
from rails.tools.loader import read_definition
from rails.tools.runners import dispatch, exchange, http
from tests.rows import walked


def define(url, *, transport=None, **fields):
    definition, mistakes = read_definition(
        json.dumps(
            {
                "tool_name": "probe",
                "description": "A test.",
                "request_schema": {"type": "object", "properties": {"a": {}, "b": {}}},
                "transport": {"type": "http", "url": url, **(transport or {})},
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


def ok(_seen):
    return 200, {}, {"status": "ok"}


def test_parameters_go_as_json_and_the_answer_comes_back_as_it_is(serving, tmp_path):
    with serving(ok) as server:
        result = use(define(f"{server.url}/x"), tmp_path, a="é", b=[1])
    assert (result.ok, json.loads(result.text)) == (True, {"status": "ok"})
    (seen,) = server.seen
    assert (seen.method, seen.path, seen.json()) == ("POST", "/x", {"a": "é", "b": [1]})
    assert seen.headers["content-type"].startswith("application/json")


@walked(
    ("value", "path"),
    [
        ("x/../../admin", "/p/x%2F..%2F..%2Fadmin/e"),
        ("..", "/p/%2E%2E/e"),
        ("a?b#c&d", "/p/a%3Fb%23c%26d/e"),
        ("é ", "/p/%C3%A9%20/e"),
        ("a\r\nX: y", "/p/a%0D%0AX%3A%20y/e"),
        (7, "/p/7/e"),
    ],
)
def test_a_placeholder_is_percent_encoded_whole_and_leaves_the_body(serving, tmp_path, value, path):
    with serving(ok) as server:
        assert use(define(f"{server.url}/p/{{a}}/e"), tmp_path, a=value, b=1).ok
    assert (server.seen[0].path, server.seen[0].json()) == (path, {"b": 1})


def test_doubled_braces_in_an_address_are_braces(serving, tmp_path):
    with serving(ok) as server:
        assert use(define(f"{server.url}/x?filter=%7B{{{{a}}}}"), tmp_path).ok
    assert server.seen[0].path == "/x?filter=%7B{a}"


def test_get_puts_the_parameters_into_the_query(serving, tmp_path):
    with serving(ok) as server:
        use(define(f"{server.url}/s?v=1", transport={"method": "GET"}), tmp_path, a=["x y", "&"], b=None)
    assert (server.seen[0].method, server.seen[0].path, server.seen[0].body) == ("GET", "/s?v=1&a=x+y&a=%26", b"")


def test_a_placeholder_without_a_value_sends_nothing(serving, tmp_path):
    with serving(ok) as server:
        result = use(define(f"{server.url}/{{a}}"), tmp_path)
    assert not result.ok
    assert server.seen == []


@walked("status", [400, 404, 500, 503])
def test_a_refusal_of_the_service_comes_back_as_status_message_details(serving, tmp_path, status):
    with serving(lambda seen: (status, {}, {"error": "no"})) as server:
        result = use(define(server.url, transport={"idempotent": True}), tmp_path)
    assert len(server.seen) == 1
    assert json.loads(result.text) == {
        "status": "error",
        "message": f"the service answered with status {status}",
        "details": {"error": "no"},
    }
    assert (result.ok, result.facts["status"]) == (False, status)


def test_redirects_are_not_followed(serving, tmp_path):
    with serving(lambda seen: (302, {"Location": "http://127.0.0.1:1/secret"}, b"")) as server:
        result = use(define(server.url), tmp_path)
    assert "redirects to 'http://127.0.0.1:1/secret'; redirects are not followed" in result.text


@walked(("idempotent", "tries"), [(True, 3), (False, 1)])
def test_only_idempotent_tools_are_tried_again_when_the_network_fails(
    serving, tmp_path, monkeypatch, idempotent, tries
):
    monkeypatch.setattr(http, "_PAUSES", (0.01, 0.01))
    with serving(lambda seen: None) as server:
        result = use(define(server.url, transport={"idempotent": idempotent}), tmp_path)
    assert (result.ok, len(server.seen)) == (False, tries)
    assert "failed" in result.text


def test_a_second_try_can_succeed(serving, tmp_path, monkeypatch):
    monkeypatch.setattr(http, "_PAUSES", (0.01, 0.01))
    with serving(lambda seen: None if len(server.seen) < 2 else ok(seen)) as server:
        assert use(define(server.url, transport={"method": "GET"}), tmp_path).ok
    assert len(server.seen) == 2


def test_a_slow_drip_does_not_outlive_the_time_limit(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        import threading

        def drip():
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                for _ in range(2_000):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return
                    time.sleep(0.05)

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        started = time.monotonic()
        result = use(define(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_s=0.5), tmp_path)
        assert time.monotonic() - started < 30
        thread.join(10)
    assert "no complete answer within" in result.text


def test_an_answer_without_end_is_cut(serving, tmp_path):
    with serving(lambda seen: (200, {}, b"x" * 2_000_000)) as server:
        assert "more than 1000000 bytes" in use(define(server.url), tmp_path).text


def test_an_answer_that_breaks_off_is_a_failure(serving, tmp_path):
    with serving(lambda seen: (200, {"Content-Length": "100"}, b"{}")) as server:
        result = use(define(server.url, timeout_s=2), tmp_path)
    assert not result.ok


def test_the_answer_is_checked_against_its_schema(serving, tmp_path):
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    answers = [{"count": "many"}, {"count": 1, "more": 2}, b"not json"]
    with serving(lambda seen: (200, {}, answers[len(server.seen) - 1])) as server:
        wrong, good, broken = (use(define(server.url, response_format=schema), tmp_path) for _ in answers)
    assert not wrong.ok
    assert "must be an integer" in wrong.text
    assert good.ok
    assert "is not JSON" in broken.text


def test_secrets_go_into_headers_and_nowhere_else(serving, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "canary-4711")
    answers = [(200, {}, {"echo": "canary-4711"}), (500, {}, b"canary-4711"), (302, {"Location": "/canary-4711"}, b"")]
    with serving(lambda seen: answers[len(server.seen) - 1]) as server:
        definition = define(server.url, transport={"headers": {"X-API-Key": "${SERVICE_KEY}"}}, secrets=["SERVICE_KEY"])
        results = [use(definition, tmp_path) for _ in answers]
    assert all(seen.headers["x-api-key"] == "canary-4711" for seen in server.seen)
    assert not any("canary" in f"{result.text}{result.facts}" for result in results)
    assert "canary" not in f"{definition}"


def test_an_address_can_come_from_the_environment(serving, tmp_path, monkeypatch):
    with serving(ok) as server:
        monkeypatch.setenv("PROBE_URL", f"{server.url}/other")
        assert use(define("http://127.0.0.1:1/x"), tmp_path).ok
    assert server.seen[0].path == "/other"


def test_proxies_of_the_environment_are_not_used(serving, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(ok) as server:
        assert use(define(server.url), tmp_path).ok


@walked(
    ("addresses", "host", "private", "said"),
    [
        (["10.0.0.5"], "intranet.example", False, "a private address"),
        (["127.0.0.1"], "rebind.example", False, "a private address"),
        (["93.184.216.34", "10.0.0.5"], "mixed.example", False, "a private address"),
        (["::ffff:127.0.0.1"], "mapped.example", False, "a private address"),
        (["169.254.169.254"], "169.254.169.254", True, "link-local"),
        (["fe80::1%eth0"], "fe80.example", True, "link-local"),
        (["0.0.0.0"], "zero.example", True, "link-local"),
    ],
)
def test_names_that_lead_to_private_addresses_are_refused(tmp_path, monkeypatch, addresses, host, private, said):
    entries = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in addresses]
    monkeypatch.setattr(exchange.socket, "getaddrinfo", lambda *a, **k: entries)
    result = use(define(f"http://{host}/x", transport={"allow_private": private}), tmp_path)
    assert not result.ok
    assert said in result.text


def test_a_private_address_can_be_allowed_by_name(serving, tmp_path, monkeypatch):
    with serving(ok) as server:
        port = int(server.url.rpartition(":")[2])
        entries = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(exchange.socket, "getaddrinfo", lambda *a, **k: entries)
        definition = define(f"http://intranet.example:{port}/x", transport={"allow_private": True})
        assert use(definition, tmp_path).ok
    assert server.seen[0].headers["host"] == f"intranet.example:{port}"


def test_nobody_listening_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "the connection to 127.0.0.1 failed" in use(define(f"http://127.0.0.1:{port}"), tmp_path).text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost that no one has signed, and its key, in one file."""
    x509 = pytest.importorskip("cryptography.x509")
    import datetime

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    plain = serialization.NoEncryption()
    file.write_bytes(key.private_bytes(pem, form, plain) + built.public_bytes(pem))
    return file


@pytest.fixture
def secure_port(certificate):
    """A server that answers one request over TLS at a time."""
    import ssl
    import threading

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def answer(listener):
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    # All of the request is read first: closing on unread bytes resets the connection.
                    request = connection.makefile("rb")
                    headers = iter(request.readline, b"\r\n")
                    sizes = [int(line.split(b":")[1]) for line in headers if line.lower().startswith(b"content-length")]
                    request.read(sum(sizes))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            except OSError:
                plain.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def test_a_certificate_that_nobody_signed_is_refused(tmp_path, secure_port):
    result = use(define(f"https://localhost:{secure_port}/x"), tmp_path)
    assert not result.ok
    assert "certificate verify failed" in result.text


def test_a_certificate_that_the_user_trusts_is_accepted_for_its_own_name_only(
    tmp_path, secure_port, certificate, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert use(define(f"https://localhost:{secure_port}/x"), tmp_path).ok
    assert "certificate verify failed" in use(define(f"https://127.0.0.1:{secure_port}/x"), tmp_path).text
