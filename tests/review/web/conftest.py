import http.client
import json
import os
import time
from urllib.parse import urlsplit

import pytest

from rails.core.events.base import UnknownEvent
from rails.log.writer import SessionLog
from rails.review.web.server import ReviewServer

from ..running import KEY, tool


def write(state, records, session_id=None):
    """Write records' events into a real session log."""
    log = SessionLog.create(state, session_id=session_id)
    append(log, records)
    return log


def append(log, records):
    for record in records:
        log.append(UnknownEvent(record.event_type, record.message, dict(record.details)), record.agent_role, "m")


class Client:
    """Speaks HTTP to a server exactly as told; with the token that decides, unless told otherwise."""

    def __init__(self, server):
        self.port = server.port
        self.token = urlsplit(server.url_for("decide")).fragment.removeprefix("token=")
        self.reading = urlsplit(server.url).fragment.removeprefix("token=")

    def ask(self, path, method="GET", body=None, token=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        token = self.token if token is True else token
        given = {"Host": f"127.0.0.1:{self.port}", **({"X-AI-Rails-Token": token} if token else {})}
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        for name, value in given.items():
            for one in value if isinstance(value, list) else [value]:
                if one is not None:
                    connection.putheader(name, one)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content

    def json(self, path):
        status, _, content = self.ask(path)
        assert status == 200, content
        return json.loads(content)

    def decide(self, body, token=True, **headers):
        """POST a decision as the page does; return status and outcome."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "Origin": f"http://127.0.0.1:{self.port}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
        }
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        status, _, content = self.ask("/api/decide", "POST", data, token, **given)
        return status, (json.loads(content) if content.startswith(b"{") else content.decode())

    def question(self, session_id, patience=60):
        """Wait until something waits in a session, and return it."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            found = self.json(f"/api/session/{session_id}/question")
            if found["question"]:
                return found
            time.sleep(0.02)
        raise AssertionError("nothing was asked")

    def stream(self, session_id, seen=0, until="end", patience=60):
        """Return the (id, kind, data) of a session's stream, up to the first of kind ``until``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        connection.request(
            "GET",
            f"/api/session/{session_id}/stream",
            headers={"X-AI-Rails-Token": self.token, "Last-Event-ID": str(seen)},
        )
        answer = connection.getresponse()
        events = []
        event = {}
        assert answer.status == 200, answer.read()
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "" and event.get("event"):
                events.append((int(event["id"]), event["event"], json.loads(event["data"])))
                event = {}
                if events[-1][1] == until:
                    break
            elif name:
                event[name] = value
        connection.close()
        return events


@pytest.fixture
def state(tmp_path):
    return tmp_path / ".rails"


@pytest.fixture
def served(state):
    """A client of a server over ``state``."""
    state.mkdir(exist_ok=True)
    with ReviewServer(state, key=KEY) as server:
        client = Client(server)
        client.other = lambda **more: ReviewServer(state, key=KEY, **more)
        client.client = Client
        client.tool = tool
        client.server = server
        client.write = write
        client.append = append
        yield client


CHROMIUM = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    # A name that an attacker owns and lets point here: DNS rebinding.
    "--host-resolver-rules=MAP rebound.example 127.0.0.1",
]


# While it is open, an event loop runs in this thread, which other tests need for themselves.
@pytest.fixture(scope="module")
def chromium(chromium_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM, timeout=120_000)
        yield browser
        browser.close()


#: Answers that come late and out of their order: every fetch waits up to so many milliseconds before and after.
LATE = """{
    const real = window.fetch, wait = () => new Promise((done) => setTimeout(done, Math.random() * %d));
    window.fetch = async (...asked) => {
        await wait();
        const answer = await real(...asked);
        await wait();
        return answer;
    };
}"""


def late(context):
    """Delay every answer in a browser's context where the environment says so: AI_RAILS_LATE_MS."""
    if most := os.environ.get("AI_RAILS_LATE_MS"):
        context.add_init_script(LATE % int(most))
    return context


@pytest.fixture
def page(chromium, served):
    context = late(chromium.new_context(viewport={"width": 1000, "height": 800}))
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.problems = []
    page.asked = []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    context.close()
    assert [url for url in page.asked if not url.startswith("http://127.0.0.1:")] == []
