"""Doubles for tests of AI-Rails and of what people build on it. The project's own suite uses nothing else.

:class:`ScriptedModel` plays a model inside the process. :class:`StubServer` plays a model's server over
real HTTP on loopback, and misbehaves on command:

    from rails.models.anthropic import AnthropicModel
    from rails.testing import StubServer, call, says

    replies = [says("Hello"), says(status=529, retry_after=2), call("write_file", '{"file_path": "a.py"')]
    with StubServer(replies) as stub:
        model = AnthropicModel("claude-test", api_key="test", base_url=stub.url)
        *pieces, answer = model.stream(system="Be brief.", messages=[...], tools=[])
        assert stub.requests[0].body["model"] == "claude-test"

:class:`ScriptedHuman` answers between turns. :class:`RecordingDisk` notes what is done to the disk, and fails on
command.
"""

from __future__ import annotations

from rails.testing.disk import Operation, RecordingDisk
from rails.testing.human import ScriptedHuman
from rails.testing.model import Asked, ScriptedModel
from rails.testing.server import Reply, StubServer, call, says
from rails.testing.wire import anthropic_events, gemini_events, openai_events, responses_events

__all__ = [
    "Asked",
    "Operation",
    "RecordingDisk",
    "Reply",
    "ScriptedHuman",
    "ScriptedModel",
    "StubServer",
    "anthropic_events",
    "call",
    "gemini_events",
    "openai_events",
    "responses_events",
    "says",
]
