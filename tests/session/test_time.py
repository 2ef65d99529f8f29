"""The bounds of time cut through whatever hangs: a stream that only keeps the line open, a tool, a check."""

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from rails.core.conversation import Message, TextDelta, TextPart
from rails.core.errors import CheckError, ModelRetryable
from rails.gate.kinds import markdown
from rails.models.anthropic import AnthropicModel
from rails.models.in_time import in_time
from rails.models.openai import OpenAIModel
from rails.sandbox.probe import label
from rails.testing.model import ScriptedModel

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
PINGS = {
    "comments": b": keep alive\n\n",
    "ping events": b'event: ping\ndata: {"type": "ping"}\n\n',
    "empty chunks": b'data: {"choices": []}\n\n',
    "single bytes": b" ",
    "nothing": b"",
}


def request(tool, **parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


@contextmanager
def pinging(ping):
    """A server whose answer never begins and never ends: it sends ``ping`` again and again."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve():
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection):
        with connection:
            connection.recv(1 << 20)
            try:
                connection.sendall(HEAD)
                while not over.wait(0.02):
                    connection.sendall(ping)
            except OSError:
                pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.close()


def models(url, silence_s):
    yield OpenAIModel("m", "", f"{url}/v1", silence_s=silence_s)
    yield AnthropicModel("m", "k", url, silence_s=silence_s)


@pytest.mark.parametrize("ping", PINGS.values(), ids=PINGS)
@pytest.mark.parametrize("which", [0, 1], ids=["openai", "anthropic"])
def test_a_stream_that_only_pings_is_silent(work, ping, which):
    with pinging(ping) as url:
        model = [*models(url, 0.4)][which]
        started = time.monotonic()
        stream = model.stream(system="", messages=[Message("user", (TextPart("hello"),))], tools=())
        with pytest.raises(ModelRetryable):
            list(in_time(stream, model.silence_s, lambda: float("inf")))
        assert time.monotonic() - started < 40


@pytest.mark.parametrize("which", [0, 1], ids=["openai", "anthropic"])
def test_the_time_of_a_session_cuts_through_a_stream_that_only_pings(work, monkeypatch, which):
    with pinging(PINGS["comments"]) as url:
        model = [*models(url, 60.0)][which]
        monkeypatch.setattr(ScriptedModel, "stream", lambda _, **words: model.stream(**words))
        started = time.monotonic()
        done = work("never", max_seconds=0.5)
        assert time.monotonic() - started < 40
    assert done.ending.outcome == "gave_up"
    assert "seconds is used up" in done.ending.message


def test_no_wait_for_a_busy_model_is_longer_than_the_time_of_the_session(work):
    waited = []
    busy = ModelRetryable("The server is busy.", 3600.0)
    done = work(busy, "Done.", max_seconds=1_000, wait=waited.append)
    assert (done.ending.outcome, waited) == ("gave_up", [])
    assert "The session's time ends before the next try" in done.ending.message
    done = work(busy, "Nothing to do.", max_seconds=4_000, wait=waited.append)
    assert (done.ending.outcome, waited) == ("unchanged", [3600.0])


def test_a_contained_command_takes_no_longer_than_the_time_of_the_session_whatever_it_asks_for(work, monkeypatch):
    given = []

    def run(*_words, limits, **_more):
        given.append(limits.seconds)
        raise CheckError("not here")

    label()  # else the tries that find out what contains commands here would be made with it
    monkeypatch.setattr("rails.sandbox.run.run", run)
    work(request("run_command", command="sleep 600", timeout=600), "Done.", approvals=["approve"], max_seconds=50)
    assert len(given) == 1
    assert 40 < given[0] <= 50


def hanging_tool():
    return {
        "tool_name": "hang",
        "description": "Never ends.",
        "request_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "transport": {"type": "command", "command": ["sh", "-c", "sleep 60"]},
        "access_control": {"coder": "permissioned_access"},
    }


def test_the_time_of_a_session_cuts_through_a_tool_that_hangs(work):
    (work.project / "mcp_definitions").mkdir()
    (work.project / "mcp_definitions" / "hang.json").write_text(json.dumps(hanging_tool()), "utf-8")
    results = []
    seconds = 1.0
    while not results and seconds < 40:  # a busy machine may not come to the tool in time
        started = time.monotonic()
        done = work(request("hang"), "Done.", approvals=["approve"], max_seconds=seconds)
        assert time.monotonic() - started < 50
        assert done.ending.outcome == "gave_up"
        results = done.events("TOOL_EXECUTION_RESULT")
        seconds *= 3
    assert "time limit" in results[0]["text"]


def test_the_time_of_a_session_cuts_through_a_check_that_hangs(work, monkeypatch):
    held = threading.Event()
    real = markdown.run_check

    def hanging(*words):
        held.wait(60)
        return real(*words)

    monkeypatch.setattr("rails.gate.kinds.markdown.run_check", hanging)
    started = time.monotonic()
    done = work(request("write_file", file_path="b.md", content="# B\n"), "Done.", approvals=["approve"], max_seconds=1)
    spent = time.monotonic() - started
    held.set()
    assert spent < 20
    assert done.ending.outcome == "gave_up"
    assert not (work.project / "b.md").exists()
    assert done.events("APPROVAL_REQUESTED") == []


def test_a_model_that_thinks_without_a_word_of_text_is_not_silent():
    silence = 0.5

    def thinking():
        for _ in range(6):
            time.sleep(silence / 5)
            yield TextDelta("")
        yield TextDelta("Done.")

    def thought():
        return [one.text for one in in_time(thinking(), silence, lambda: float("inf"))]

    while silence < 50:  # a busy machine may hold the thread back for longer
        with suppress(ModelRetryable):
            assert thought()[-1] == "Done."
            return
        silence *= 5
    assert thought()[-1] == "Done."
