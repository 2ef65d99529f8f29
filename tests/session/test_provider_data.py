"""What a provider sent beside its answer goes through the log: to the same provider, and to no other."""

import json

import pytest

from rails.cli import main
from rails.testing import Reply, StubServer, says

CALL = {
    "index": 0,
    "id": "c1",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"file_path": "a.py"}'},
}
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "OPAQUE+sig/="}}}
THOUGHTS = [{"reasoning_content": "Look "}, {"reasoning_content": "first."}, {"tool_calls": [SIGNED]}]
BUSY = Reply(status=400, message="no such thing")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


def ask(stub, *words):
    return main([*words, "--model", "openai:m", "--base-url", f"{stub.url}/v1", "--approve", "policy"])


def history(stub, number):
    return stub.requests[number].body["messages"]


def test_a_resumed_session_sends_what_came_before_as_it_came(folder, capsys):
    with StubServer([says(*THOUGHTS), BUSY, says("Done.")]) as stub:
        ask(stub, "run", "Look at a.py.")
        ask(stub, "run", "--resume")
    assert len(stub.requests) >= 3, capsys.readouterr()
    before = history(stub, 1)
    after = history(stub, 2)
    assert after[: len(before)] == before
    (answer,) = [one for one in after if one["role"] == "assistant"]
    assert answer["reasoning_content"] == "Look first."
    assert answer["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]


def test_another_server_gets_the_conversation_without_it(folder, capsys):
    with StubServer([says(*THOUGHTS), BUSY]) as first, StubServer([says("Done.")]) as second:
        ask(first, "run", "Look at a.py.")
        ask(second, "run", "--resume")
    (answer,) = [one for one in history(second, 0) if one["role"] == "assistant"]
    assert answer["tool_calls"][0]["function"]["name"] == "read_file"
    assert "OPAQUE" not in json.dumps(second.requests[0].body)
    assert "reasoning_content" not in answer


def test_a_call_that_the_server_could_not_read_is_no_end(folder, capsys):
    body = {
        "error": {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "<read>"}
    }
    refused = Reply(status=400, raw=json.dumps(body).encode())
    with StubServer([refused, says({"tool_calls": [CALL]}), says("x is 1 already.")]) as stub:
        assert ask(stub, "run", "Say what x is.") == 0
    told = history(stub, 1)[-1]["content"]
    assert "could not read the call that it wrote" in told
    assert "It wrote: <read>" in told
    assert "Send the call again, with one JSON object as its arguments." in told


@pytest.mark.parametrize(
    "words",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "messages[2]: assistant message with tool_calls must include reasoning_content.",
        "preserved thinking requires reasoning_content on every assistant message",
    ],
)
def test_a_server_that_wants_thoughts_gets_a_blank_where_there_are_none(folder, words):
    without = says({"reasoning_content": ""}, {"tool_calls": [CALL]})
    with StubServer([says(*THOUGHTS), without, Reply(status=400, message=words), says("x is 1 already.")]) as stub:
        assert ask(stub, "run", "Look at a.py.") == 0
    thoughts = [one.get("reasoning_content") for one in history(stub, 3) if one["role"] == "assistant"]
    assert thoughts == ["Look first.", " "]
