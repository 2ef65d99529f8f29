"""Anthropic's own service is asked through its SDK: the key in its header, no retries, failures in words."""

import pytest

from rails.core.conversation import Message, ModelAnswer, TextPart
from rails.core.errors import ModelError, ModelRetryable
from rails.models.anthropic import AnthropicModel, _Reading
from rails.models.anthropic_sdk import SdkServer
from rails.testing import Reply, StubServer, says
from tests.rows import walked

MODEL = AnthropicModel("claude-test", "sk-test-key")
BODY = MODEL._request("Be brief.", [Message("user", (TextPart("Hello."),))], ())


def asked(url):
    server = SdkServer(url, MODEL.headers(), 5.0)
    reading = _Reading(MODEL.sender, MODEL.name)
    return list(server.answer(MODEL.PATH, BODY, MODEL.ANSWER, reading))


def test_the_service_is_asked_with_the_key_in_its_header_and_its_answer_is_read_as_it_comes():
    with StubServer([says("Hello back.")]) as stub:
        *_, answer = asked(stub.url)
    assert isinstance(answer, ModelAnswer)
    assert answer.message.text == "Hello back."
    (request,) = stub.requests
    assert "sk-test-key" in {request.headers.get("x-api-key"), request.headers["authorization"][len("Bearer ") :]}
    assert "anthropic-version" in request.headers
    assert request.headers["user-agent"].startswith("Anthropic/Python")
    assert request.body["messages"][0]["role"] == "user"
    assert "tools" not in request.body


@walked(("status", "kind"), [(401, ModelError), (429, ModelRetryable), (500, ModelRetryable), (529, ModelRetryable)])
def test_a_refusal_is_told_once_and_not_asked_again_by_the_sdk(status, kind):
    with StubServer([Reply(status=status, message="no"), says("never sent")]) as stub:
        with pytest.raises(kind, match=str(stub.url)):
            asked(stub.url)
        assert len(stub.requests) == 1


def test_a_service_that_is_not_there_is_named():
    with StubServer([]) as stub:
        url = stub.url
    with pytest.raises(ModelError, match="could not be reached"):
        asked(url)


def test_every_server_of_this_interface_is_asked_through_the_sdk():
    assert isinstance(MODEL.server(), SdkServer)
    assert isinstance(AnthropicModel("m", "", "http://127.0.0.1:9").server(), SdkServer)
