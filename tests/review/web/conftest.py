import http.client
import json
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rails.agents import load_agents
from rails.approval.grants import Grants
from rails.approval.policy import Policy, PolicyApprover
from rails.approval.queue import Queue
from rails.core.events import Event
from rails.core.shipped import builtin_folder
from rails.gate.gate import Gate
from rails.log.answers import Answers
from rails.log.reader import read_strict
from rails.log.writer import SessionLog
from rails.review.web.server import ReviewServer
from rails.session import Job, Session, start, where
from rails.testing import ScriptedModel
from rails.tools.definitions import load

KEY = b"k" * 32


def write(state, records, session_id=None):
    """Write records' events into a real session log."""
    log = SessionLog.create(state, session_id=session_id)
    append(log, records)
    return log


def append(log, records):
    for record in records:
        log.append(Event(record.event_type, record.message, dict(record.details), record.agent_role, "m"))


class Client:
    """Speaks HTTP to a server exactly as told; with the token that decides, unless told otherwise."""

    def __init__(self, server):
        self.port = server.port
        self.token = urlsplit(server.url_for("decide")).fragment.removeprefix("token=")
        self.reading = urlsplit(server.url).fragment.removeprefix("token=")

    def ask(self, path, method="GET", body=None, token=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
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
        return answer.status, dict(answer.getheaders()), content

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

    def question(self, session_id, patience=10):
        """Wait until something waits in a session, and return it."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            found = self.json(f"/api/session/{session_id}/question")
            if found["question"]:
                return found
            time.sleep(0.02)
        raise AssertionError("nothing was asked")

    def stream(self, session_id, seen=0, until="end", patience=10):
        """Return the (id, kind, data) of a session's stream, up to the first of kind ``until``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        connection.request(
            "GET",
            f"/api/session/{session_id}/stream",
            headers={"X-AI-Rails-Token": self.token, "Last-Event-ID": str(seen)},
        )
        answer, events, event = connection.getresponse(), [], {}
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


def tool(name, **parameters):
    """A model's answer that asks for one tool."""
    block = json.dumps({"tool": name, "parameters": parameters, "explanation": parameters.pop("why", "because")})
    return f"I do it.\n\n```json\n{block}\n```\n"


class Run:
    """A session in a thread: a scripted model, the real gate, log and files, and the queue that asks."""

    def __init__(self, project, *answers, here=None, page=True, patience_s=None, session=None):
        self.project, self.state = project, project / ".rails"
        self.grants = Grants()
        gate = Gate(project)
        self.queue = Queue(judge=gate.judge, grants=self.grants, page_waits=page, patience_s=patience_s)
        if here is not None:
            self.queue.here = here(self.queue.answered_elsewhere)
        registry = load([builtin_folder("mcp_definitions"), *filter(Path.is_dir, [project / "mcp_definitions"])])
        agents = dict(load_agents([builtin_folder("agent_templates")]))
        model = ScriptedModel([*answers, "Done."])
        job = Job(project, (("coder", "the task"),))
        if session is None:
            self.log, self.resumed = SessionLog.create(self.state), None
            start(job, self.log, model.name)
        else:
            self.log = SessionLog.reopen(self.state, session)
            self.resumed = where(project, self.log)
        self.id = self.log.session_id
        approver = PolicyApprover(Policy(), self.queue, self.grants)
        self.session = Session(job, self.log, registry, agents, model.for_agent, approver, gate=gate)
        self.ending = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        box = Answers(self.state, self.id, KEY)
        box.listen()
        self.queue.open(box, self.session.record)
        with self.log:
            self.ending = self.session.run(self.resumed)

    def begin(self):
        self.thread.start()
        return self

    def end(self, patience=20):
        self.thread.join(patience)
        assert not self.thread.is_alive(), "the run did not end"
        return self.ending

    def events(self, kind):
        return [record.details for record in read_strict(self.log.path) if record.event_type == kind]


@pytest.fixture
def runs(tmp_path):
    """Begin runs over one project: ``runs(answer, …)``; what still waits in the end is stopped."""
    project = tmp_path
    begun = []

    def begin(*answers, **more):
        begun.append(Run(project, *answers, **more).begin())
        return begun[-1]

    begin.project = project
    yield begin
    for run in begun:
        box = Answers(run.state, run.id, KEY)
        for _ in range(200):
            asked = run.queue._asked
            if not run.thread.is_alive():
                break
            if asked is not None:
                box.place(asked.number, {"do": "abort", "digest": asked.request.digest})
            run.thread.join(0.05)


@pytest.fixture
def state(tmp_path):
    return tmp_path / ".rails"


@pytest.fixture
def served(state):
    """A client of a server over ``state``; what is written there later is seen."""
    state.mkdir(exist_ok=True)
    with ReviewServer(state, key=KEY) as server:
        client = Client(server)
        client.other = lambda **more: ReviewServer(state, key=KEY, **more)
        client.client, client.tool = Client, tool
        client.server, client.write, client.append = server, write, append
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
        browser = playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, served):
    context = chromium.new_context(viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.problems, page.asked = [], []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    context.close()
    assert [url for url in page.asked if not url.startswith("http://127.0.0.1:")] == []
