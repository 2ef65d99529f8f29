import http.client
import json
from urllib.parse import urlsplit

import pytest

from rails.core.events import Event
from rails.log.writer import SessionLog
from rails.review.web.server import ReviewServer


def write(state, records, session_id=None):
    """Write records' events into a real session log."""
    log = SessionLog.create(state, session_id=session_id)
    append(log, records)
    return log


def append(log, records):
    for record in records:
        log.append(Event(record.event_type, record.message, dict(record.details), record.agent_role, "m"))


class Client:
    """Speaks HTTP to a server exactly as told."""

    def __init__(self, server):
        self.port = server.port
        self.token = urlsplit(server.url).fragment.removeprefix("token=")

    def ask(self, path, method="GET", body=None, token=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        given = {"Host": f"127.0.0.1:{self.port}", **({"X-AI-Rails-Token": self.token} if token else {})}
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


@pytest.fixture
def state(tmp_path):
    return tmp_path / ".rails"


@pytest.fixture
def served(state):
    """A client of a server over ``state``; what is written there later is seen."""
    state.mkdir(exist_ok=True)
    with ReviewServer(state, patience_s=5) as server:
        client = Client(server)
        client.server, client.write, client.append = server, write, append
        yield client
