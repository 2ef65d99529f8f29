"""The server over real HTTP: read only, guarded, live, and safe with hostile text."""

import re
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import quote

import pytest

from rails.core.errors import UsageError
from rails.review.web.guard import OPEN_PATHS
from rails.review.web.pages import WINDOW
from rails.review.web.server import ReviewServer
from tests.rows import walked


def test_the_shell_is_the_same_for_everyone_and_holds_no_secret(served):
    for path in sorted(OPEN_PATHS):
        status, headers, content = served.ask(path, token=False)
        assert status == 200
        assert served.token.encode() not in content
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers
        assert "Set-Cookie" not in headers
    assert b"http:" not in served.ask("/")[2] + served.ask("/app.css")[2]


def test_everything_that_the_page_loads_is_given_before_it_has_its_token(served):
    """Scripts and styles load before the token is read from the address: each that one of them names is the shell's."""
    found = {"/"}
    waiting = ["/"]
    while waiting:
        text = served.ask(waiting.pop(), token=False)[2].decode()
        named = re.findall(r"""(?:src|href|from)[ =]"(?:\.?/)([\w-]+\.(?:js|css))\"""", text)
        new = {f"/{name}" for name in named} - found
        found |= new
        waiting += new
    assert found == OPEN_PATHS


def test_every_answer_has_the_policy_errors_too(served):
    asked = (("/api/sessions", "GET", 200), ("/nothing", "GET", 404), ("/", "POST", 403), ("/", "HEAD", 501))
    for path, method, expected in (*asked, ("/", "PUT", 501)):
        status, headers, _ = served.ask(path, method)
        assert status == expected, (path, method)
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], (path, method)
        assert headers["Cache-Control"] == "no-store"


def test_only_a_decision_is_posted(served):
    origin = f"http://127.0.0.1:{served.port}"
    length = "2"
    asked = {"Origin": origin, "Content-Type": "application/json", "Content-Length": length}
    assert served.ask("/api/sessions", "POST", b"{}", **asked)[0] == 404


def test_the_guard_stands_before_everything(served):
    assert served.ask("/api/sessions")[0] == 200
    assert served.ask("/api/sessions", token=False)[0] == 401
    assert served.ask("/api/sessions", Host="evil.example")[0] == 400
    assert served.ask("/", Host=None)[0] == 400
    assert served.ask("/", Host=[f"127.0.0.1:{served.port}"] * 2)[0] == 400
    assert served.ask("/", Sec_Fetch_Site="cross-site")[0] == 403
    assert served.ask("/api/sessions", Origin="http://evil.example")[0] == 403
    assert served.ask(f"/api/sessions?token={served.token}", token=False)[0] == 401


@walked(
    "target",
    [
        "/../../etc/passwd",
        "/static/shell.html",
        "/api/session/../../x",
        "/api/session/%2e%2e",
        "/api/session/a/b",
        "http://127.0.0.1/api/sessions",
        "//evil.example/",
        "/api/session/" + "a" * 5000,
        "*",
    ],
)
def test_odd_targets_find_nothing(served, target):
    assert served.ask(target)[0] in (400, 401, 404)


def test_what_is_no_http_does_no_harm(served):
    long_header = b"GET / HTTP/1.1\r\nHost" + b"a" * 70_000
    for raw in (b"\x16\x03\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", long_header):
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            received = connection.recv(65536)
            assert not received.startswith(b"HTTP/1.1 200")
    assert served.ask("/")[0] == 200


def test_many_idle_connections_do_not_take_all_threads(served):
    before = threading.active_count()
    idle = [socket.create_connection(("127.0.0.1", served.port), timeout=60) for _ in range(60)]
    time.sleep(0.3)
    assert threading.active_count() - before <= 33
    for connection in idle:
        connection.close()
    for _ in range(50):
        try:
            assert served.ask("/")[0] == 200
            break
        except OSError:
            time.sleep(0.1)
    else:
        pytest.fail("the server did not come back")


def test_sessions_are_listed_with_their_verdicts_and_rules(served, state, log):
    assert "No session yet" in served.json("/api/sessions")["html"]
    served.write(state, log.demo()).close()
    html = served.json("/api/sessions")["html"]
    for words in ("bump a", "done", "checks failed", 'href="#/f/is%3Adenied"', 'href="#/s/'):
        assert words in html, words


def test_a_session_is_served_with_its_turns(served, state, log):
    with_id = served.write(state, log.demo())
    with_id.close()
    part = served.json(f"/api/session/{with_id.session_id}")
    assert (part["first"], part["last"], part["total"], part["running"]) == (1, len(log.demo()), len(log.demo()), False)
    assert [turn["number"] for turn in part["turns"]] == [1, 2, 3, 4, 5]
    assert "bump a" in part["head"]
    assert "use argparse" in part["turns"][2]["html"]
    assert served.ask("/api/session/unknown")[0] == 404
    assert served.ask(f"/api/session/{with_id.session_id}?first=abc")[0] == 200


def test_a_long_session_is_served_by_windows(served, state, log):
    events = [log.START]
    for number in range(1, 400):
        events += [log.call(number), log.answer(f"turn {number}"), log.formulated(f"t{number}.1"), log.told()]
    writer = served.write(state, log.records(*events))
    total = len(events)
    end = served.json(f"/api/session/{writer.session_id}")
    assert end["last"] == end["total"] == total
    assert WINDOW // 2 <= total - end["first"] + 1 <= WINDOW + 4
    assert "bump a" in end["head"]
    assert "<dt>turns</dt><dd>399</dd>" in end["head"], "the figures are of the whole session"
    start = served.json(f"/api/session/{writer.session_id}?first=1")
    assert start["first"] == 1
    assert start["last"] in range(WINDOW - 4, WINDOW + 1), "it ends with a whole turn"
    assert start["turns"][0]["number"] == 1
    following = served.json(f"/api/session/{writer.session_id}?first={start['last'] + 1}&part")
    assert following["turns"][0]["number"] == start["turns"][-1]["number"] + 1
    assert following["head"] == ""
    earlier = served.json(f"/api/session/{writer.session_id}?before={following['first']}&part")
    assert earlier["last"] == start["last"]
    assert earlier["turns"][-1] == start["turns"][-1]
    middle = served.json(f"/api/session/{writer.session_id}?first=1000")
    assert middle["first"] in range(997, 1001), "a window begins with a turn"
    assert 249 <= middle["turns"][0]["number"] <= 251
    assert 0 not in [turn["number"] for turn in (*end["turns"], *middle["turns"])]
    writer.close()


@pytest.mark.parametrize("length", [3, 19, 45, 130])
def test_a_window_in_the_middle_of_a_turn_begins_with_the_turn(served, state, log, length):
    """However many records the turn has, as long as they are no more than fit into a window."""
    events = [log.START]
    starts = []
    while len(events) < 700:
        starts.append(len(events) + 1)
        events += [log.call(len(starts)), log.answer(), *[log.formulated()] * (length - 2)]
    writer = served.write(state, log.records(*events))
    for wanted in (400, 500, 555):
        part = served.json(f"/api/session/{writer.session_id}?first={wanted}")
        assert part["first"] == max(start for start in starts if start <= wanted)
    writer.close()


def test_search_finds_the_newest_first_and_pages(served, state, log):
    writer = served.write(state, log.records(*[log.answer(f"needle {number}") for number in range(60)]))
    html = served.json("/api/search?q=needle")["html"]
    assert html.count('<li><a href="#/s/') == 50
    assert "data-before" in html
    assert "Nothing found" in served.json("/api/search?q=haystack")["html"]
    status, _, content = served.ask(f"/api/search?q={quote('after:never')}")
    assert (status, b"after" in content) == (400, True)
    writer.close()


def test_hostile_text_stays_text_in_every_answer(served, state, log):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e"
    records = [log.poisoned(record, evil) for record in log.demo()]
    writer = served.write(state, records)
    paths = ["/api/sessions", f"/api/session/{writer.session_id}", "/api/search?q=script"]
    for path in (*paths, f"/api/search?q={quote('<img')}"):
        content = served.ask(path)[2].decode()
        assert "<script" not in content, path
        assert "<img" not in content, path
        assert "\u202e" not in content, path
    writer.close()


def test_a_port_that_is_taken_is_said(served, state):
    with pytest.raises(UsageError, match="cannot be used"):
        ReviewServer(state, port=served.port)


def test_the_page_is_small():
    import zlib
    from importlib import resources

    web = resources.files("rails.review.web")
    review = resources.files("rails.review")
    own = [file for file in web.joinpath("static").iterdir() if file.name.endswith((".js", ".css"))]
    flow = resources.files("rails.n8n.draw").joinpath("picture.css")
    files = [*own, review.joinpath("session.css"), flow]
    assert len(files) >= 8
    assert sum(len(zlib.compress(file.read_bytes(), 9)) for file in files) < 31_000


def test_the_server_s_libraries_are_loaded_when_something_is_served():
    code = "import sys, rails.commands.serve; print({'starlette', 'uvicorn', 'h11', 'anyio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
