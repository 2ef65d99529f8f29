"""Connections are bounded: none costs a thread, none stays for ever, and a flood of them locks nobody out."""

import contextlib
import http.client
import resource
import select
import socket
import subprocess
import sys
import threading
import time

import pytest
from anyio.to_thread import run_sync

from rails.core import limits
from rails.review.web import http as http_server
from rails.review.web import stream
from rails.review.web.http import _Config, _Server, most_connections
from tests.rows import walked

TRICKLING = 60
ANSWER_S = 15.0
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1"


@contextlib.contextmanager
def trickling(port, count, sent=HALF):
    """Hold connections that have sent a part of a request."""
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(count):
            held.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)))
            held[-1].sendall(sent)
        yield held


def shell(port):
    """Return status and seconds of the request that opens the page."""
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, time.monotonic() - started


def test_sixty_trickling_connections_do_not_lock_the_user_out(served):
    before = threading.active_count()
    with trickling(served.port, TRICKLING) as held:
        status, took = shell(served.port)
        assert (status, took < ANSWER_S) == (200, True)
        assert threading.active_count() - before <= 2, "only the request that was answered may have had a thread"
        for connection in held:
            connection.sendall(b"\r\n")
        assert shell(served.port)[0] == 200


@walked("sent", [b"", HALF, b"POST /api/decide HTTP/1.1\r\nContent-Length: 9\r\nHost: x\r\n"])
def test_a_request_that_does_not_come_is_not_waited_for(served, monkeypatch, sent):
    monkeypatch.setattr(limits, "PAGE_REQUEST_SECONDS", 0.05)
    with trickling(served.port, 1, sent) as [connection], contextlib.suppress(ConnectionResetError):
        assert connection.recv(100) == b""
    assert served.ask("/")[0] == 200


def test_a_request_that_comes_in_pieces_is_answered_and_half_of_a_next_one_is_not_waited_for(served, monkeypatch):
    pieces = [HALF, f":{served.port}\r\n".encode(), b"\r\n"]
    with trickling(served.port, 1, pieces[0]) as [connection]:
        for piece in pieces[1:]:
            time.sleep(0.05)  # so that each is read alone
            connection.sendall(piece)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert (answer.status, answer.headers.get_all("Server")) == (200, ["ai-rails"])
        answer.read()
        monkeypatch.setattr(limits, "PAGE_REQUEST_SECONDS", 0.05)
        connection.sendall(HALF)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100) == b""


def test_a_body_that_does_not_come_is_not_waited_for(served, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_REQUEST_SECONDS", 0.05)
    head = (
        f"POST /api/decide HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: http://127.0.0.1:{served.port}\r\n"
        f"X-AI-Rails-Token: {served.token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    )
    with trickling(served.port, 1, head.encode()) as [connection], contextlib.suppress(ConnectionResetError):
        assert connection.recv(100) == b""
    assert served.ask("/")[0] == 200


@walked("length", ["100000", "-1", "99999999", None])
def test_who_sends_on_after_a_refusal_still_reads_why(served, length):
    stated = f"Content-Length: {length}\r\n" if length else ""
    head = f"POST /api/decide HTTP/1.1\r\nHost: evil.example\r\n{stated}\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(head.encode())
        assert select.select([connection], [], [], 20)[0], "the answer comes before the body"
        for _ in range(10):
            connection.sendall(b"x" * 10_000)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_who_waits_for_the_end_after_a_refusal_sees_it_at_once(served, monkeypatch):
    for name in ("PAGE_LINGER_SECONDS", "PAGE_REQUEST_SECONDS", "PAGE_IDLE_SECONDS"):
        monkeypatch.setattr(limits, name, 3_600)
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(b"POST /api/decide HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n")
        assert b"".join(iter(lambda: connection.recv(65_536), b"")).endswith(b"own name only.")


def test_who_never_ends_after_a_refusal_is_ended(served, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_LINGER_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(b"POST /api/decide HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n")
        until = time.monotonic() + 60
        while served.server._http._server.server_state.connections:
            assert time.monotonic() < until, "it is kept"
            time.sleep(0.01)


def test_an_answer_that_nobody_reads_is_not_kept(served, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_UNREAD_SECONDS", 0.05)
    request = f"GET /app.js HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    with connection:
        connection.settimeout(20)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(request * 1_000)  # one answer alone lies in the kernel and waits for nobody
        # Whoever does not read is not told, either: the kernel keeps the end behind what lies there.
        until = time.monotonic() + 60
        while served.server._http._server.server_state.connections:
            assert time.monotonic() < until, "it is kept"
            time.sleep(0.01)
    assert served.ask("/")[0] == 200


SERVER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from pathlib import Path
from rails.review.web.server import ReviewServer
with ReviewServer(Path(sys.argv[1])) as server:
    print(server.port, flush=True)
    sys.stdin.read()
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], flush=True)
"""


@contextlib.contextmanager
def server_with(state, soft, hard):
    """Run a server in a process that may open few files; yield its port and what it said at its end."""
    state.mkdir()
    code = SERVER.format(soft=soft, hard=hard)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = []
    with process:
        yield int(process.stdout.readline()), said
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        said.append(int(out))


NO_LIMIT = resource.RLIM_INFINITY
NEEDED = limits.PAGE_CONNECTIONS + 128


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "most"),
    [
        (256, NO_LIMIT, NEEDED, limits.PAGE_CONNECTIONS),
        (256, NEEDED + 1, NEEDED, limits.PAGE_CONNECTIONS),
        (256, 500, 500, 372),
        (150, 150, None, 32),
        (NEEDED, NEEDED + 1, None, limits.PAGE_CONNECTIONS),
        (NO_LIMIT, NO_LIMIT, None, limits.PAGE_CONNECTIONS),
    ],
)
def test_as_many_connections_as_the_limit_of_files_allows_when_it_is_raised(monkeypatch, soft, hard, raised, most):
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    assert most_connections() == most
    assert asked == ([(raised, hard)] if raised else [])


def test_a_limit_of_files_that_may_not_be_raised_is_kept_to(monkeypatch):
    def refuse(*_):
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4_096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert most_connections() == 128


def test_who_makes_room_is_the_one_that_waits_for_longest_and_is_told(state, served, log, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_CONNECTIONS", 0)  # so the fewest that there are
    writer = served.write(state, log.records(log.START))
    head = f"GET /api/session/{writer.session_id}/stream HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
    with served.other() as other, contextlib.ExitStack() as stack:
        sent = f"{head % other.port}X-AI-Rails-Token: {served.client(other).token}\r\n\r\n".encode()
        [following] = stack.enter_context(trickling(other.port, 1, sent))
        received = b""
        while b"event: record" not in received:
            received += following.recv(4_096)
        silent, second, *_ = stack.enter_context(trickling(other.port, 31, b""))
        assert shell(other.port)[0] == 200
        told = b"".join(iter(lambda: silent.recv(4_096), b""))
        assert told.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert told.endswith(b"\r\n\r\nToo many connections are open.")
        second.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{other.port}\r\n\r\n".encode())
        assert second.recv(100).startswith(b"HTTP/1.1 200")
        following.setblocking(False)
        with pytest.raises(BlockingIOError):  # who is being answered makes no room
            following.recv(4_096)
    writer.close()


def test_a_server_may_be_stopped_before_it_has_begun(served):
    server = _Server(_Config(None, 1), socket.socket())
    server.stop()
    assert server.should_exit
    server._listening.close()


@pytest.mark.parametrize(("soft", "hard", "raised"), [(64, 512, 512), (160, 160, 160)])
def test_more_connections_than_the_process_may_have_files_lock_nobody_out(tmp_path, soft, hard, raised):
    with server_with(tmp_path / ".rails", soft, hard) as (port, said):
        with trickling(port, 3 * hard // 2, b""):
            status, took = shell(port)
            assert (status, took < ANSWER_S) == (200, True)
        assert shell(port)[0] == 200
    assert said == [raised]


def test_the_limit_of_files_is_raised_no_further_than_the_page_needs(tmp_path):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with server_with(tmp_path / ".rails", 256, hard) as (port, said):
        assert shell(port)[0] == 200
    assert said[0] <= limits.PAGE_CONNECTIONS + 128


def test_a_server_is_stopped_while_somebody_follows_and_somebody_trickles(served, state, log, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_REQUEST_SECONDS", 3_600)
    monkeypatch.setattr(http_server, "_ENDING_S", 0.2)
    writer = served.write(state, log.records(log.START))
    with served.other() as other:
        client = served.client(other)
        head = f"GET /api/session/{writer.session_id}/stream HTTP/1.1\r\nHost: 127.0.0.1:{other.port}\r\n"
        sent = f"{head}X-AI-Rails-Token: {client.token}\r\n\r\n".encode()
        stack = contextlib.ExitStack()
        [following] = stack.enter_context(trickling(other.port, 1, sent))
        assert b"200 OK" in following.recv(4_096)
        stack.enter_context(trickling(other.port, 5))
        address = f"127.0.0.1:{other.port}"
        half = (
            f"POST /api/decide HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n"
            f"X-AI-Rails-Token: {client.token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        )
        stack.enter_context(trickling(other.port, 1, half.encode()))
        before = time.monotonic()
    assert time.monotonic() - before < 30
    assert not other._http._thread.is_alive(), "a stream that is followed keeps nothing running"
    stack.close()
    with pytest.raises(ConnectionRefusedError):
        shell(other.port)
    writer.close()


def test_streams_take_no_thread_each(served, state, log, monkeypatch):
    writer = served.write(state, log.records(log.START))
    ask = f"GET /api/session/{writer.session_id}/stream HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    opened, in_threads = [], []

    async def counted(call, *words):
        opened.append(call)
        in_threads.append(call)
        try:
            return await run_sync(call, *words)
        finally:
            in_threads.remove(call)

    monkeypatch.setattr(stream, "run_sync", counted)
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            sent = f"{ask}X-AI-Rails-Token: {served.token}\r\n\r\n".encode()
            [following] = stack.enter_context(trickling(served.port, 1, sent))
            received = b""
            while b"event: record" not in received:
                received += following.recv(4_096)
        assert opened
        until = time.monotonic() + 30
        while len(in_threads) >= 10:
            assert time.monotonic() < until, "all streams follow, and each holds a thread"
            time.sleep(0.01)
    writer.close()


def test_an_answer_does_not_wait_for_the_reader_s_acknowledgement(served):
    """Head and body are two pieces: held back by the kernel, the second one comes 40 ms later, every time."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    took = []
    for _ in range(30):
        started = time.monotonic()
        connection.request("GET", "/app.js")
        connection.getresponse().read()
        took.append(time.monotonic() - started)
    connection.close()
    assert min(took) < 0.03
