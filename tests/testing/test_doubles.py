"""The doubles that are shipped for users' tests do what their docstrings promise."""

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from rails.core.conversation import Message, ModelAnswer, NativeCall, TextPart, ToolSpec
from rails.core.errors import ModelError, ModelRetryable
from rails.testing import ScriptedModel, StubServer, call, says

USER = Message("user", (TextPart("?"),))


def test_a_scripted_model_gives_its_answers_in_order_and_remembers_the_questions():
    whole = ModelAnswer(Message("assistant", (TextPart("x"),)), "refusal")
    model = ScriptedModel(["Hello there", NativeCall("c", "t", "{"), ["a", NativeCall("d", "t", "{}")], whole])
    answers = [list(model.stream(system="s", messages=[USER], tools=[ToolSpec("t", "", "{}")]))[-1] for _ in range(4)]
    assert [answer.stop_reason for answer in answers] == ["end_turn", "tool_use", "tool_use", "refusal"]
    assert model.asked[0].messages == (USER,)
    assert model.asked[3].tools[0].name == "t"
    with pytest.raises(ModelError, match="answer 5"):
        model.stream(system="", messages=[], tools=[])


def test_a_scripted_model_raises_the_errors_of_its_script():
    model = ScriptedModel([ModelRetryable("busy", 1.0), "then this"])
    with pytest.raises(ModelRetryable, match="busy"):
        list(model.stream(system="", messages=[USER], tools=[]))
    *pieces, answer = model.stream(system="", messages=[USER], tools=[])
    assert "".join(piece.text for piece in pieces) == answer.message.text == "then this"


def post(url, body=None):
    request = urllib.request.Request(url, json.dumps(body or {"model": "m"}).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def test_the_stub_records_requests_and_streams_both_wire_formats():
    replies = [call("write_file", '{"a": ', chunk_chars=3), says("Hi", NativeCall("c", "t", "{]"), chunk_chars=1)]
    with StubServer(replies) as stub:
        anthropic = post(f"{stub.url}/v1/messages", {"model": "m", "messages": []})
        openai = post(f"{stub.url}/v1/chat/completions")
    assert [request.path for request in stub.requests] == ["/v1/messages", "/v1/chat/completions"]
    assert stub.requests[0].body == {"model": "m", "messages": []}
    kinds = [line[7:] for line in anthropic.splitlines() if line.startswith("event: ")]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert '"partial_json": "{\\"a"' in anthropic
    assert openai.endswith("data: [DONE]\n\n")


def test_the_stub_says_when_its_replies_are_used_up():
    with StubServer() as stub, pytest.raises(urllib.error.HTTPError, match="400") as caught:
        post(f"{stub.url}/v1/messages")
    assert b"the stub has 0 replies" in caught.value.read()
    caught.value.close()


def test_leaving_the_stub_ends_a_hanging_answer():
    start = time.monotonic()
    with StubServer([says("late", hang_s=60)]) as stub:
        thread = threading.Thread(target=lambda: post(f"{stub.url}/v1/messages"), daemon=True)
        thread.start()
        while not stub.requests:
            time.sleep(0.005)
    thread.join(60)
    assert not thread.is_alive()
    assert time.monotonic() - start < 40


def test_the_doubles_load_no_provider_sdk():
    code = (
        "import sys, rails.testing, rails.models.model; print([m for m in ('anthropic', 'httpx2') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
