"""Test doubles for AI-Rails and what builds on it.

:class:`ScriptedModel` is a model in the process, :class:`StubServer` a model's server on loopback that fails on
command:

    from rails.models.anthropic import AnthropicModel
    from rails.testing import StubServer, call, says

    replies = [says("Hello"), says(status=529, retry_after=2), call("write_file", '{"file_path": "a.py"')]
    with StubServer(replies) as stub:
        model = AnthropicModel("claude-test", api_key="test", base_url=stub.url)
        *pieces, answer = model.stream(system="Be brief.", messages=[...], tools=[])

:class:`ScriptedHuman` answers questions, :class:`RecordingDisk` records writes and fails on command.
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
