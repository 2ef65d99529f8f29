"""A thousand connections that send a byte now and then do not keep the user from the page."""

import contextlib
import http.client
import resource
import socket
import threading
import time

import pytest

from rails.review.web.server import ReviewServer

SLOW = 1_000
ASKED = 50
ANSWER_S = 2.0
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@pytest.fixture
def files():
    """Let this process, which holds both ends of every connection, open as many files as that takes."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 3 * SLOW:
        pytest.skip("the system lets this process open too few files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 3 * SLOW), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def asked(port):
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/app.js")
    answer = connection.getresponse()
    assert answer.status == 200
    answer.read()
    connection.close()
    return time.monotonic() - started


@pytest.mark.timeout(300)
def test_a_thousand_slow_connections_lock_nobody_out(files, tmp_path):
    (tmp_path / ".rails").mkdir()
    done = threading.Event()
    with ReviewServer(tmp_path / ".rails") as server, contextlib.ExitStack() as stack:

        def opened():
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            connection.sendall(HEAD)
            return connection

        slow = [opened() for _ in range(SLOW)]

        def trickle():
            while not done.is_set():
                for at, connection in enumerate(slow):
                    try:
                        connection.sendall(b"x")
                    except OSError:  # it was ended, so it comes again, as whoever does this would
                        connection.close()
                        slow[at] = opened()
                done.wait(0.5)

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            threads = threading.active_count()
            took = [asked(server.port) for _ in range(ASKED)]
            assert threading.active_count() - threads <= 2
        finally:
            done.set()
            thread.join()
        print(f"{SLOW} slow connections: {ASKED} requests, the slowest {max(took):.3f} s")
        assert max(took) < ANSWER_S
