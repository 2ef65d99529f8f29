"""A session in other formats: complete, the same every time, and harmless whatever a model wrote."""

import re

import pytest
from msgspec.structs import replace

from rails.core.conversation import (
    Message,
    ModelAnswer,
    NativeCall,
    NativeResult,
    Opaque,
    TextPart,
    Usage,
    answer_to_json,
    message_to_json,
)
from rails.core.events.base import UnknownEvent
from rails.log.reader import read_strict
from rails.log.writer import SessionLog
from rails.models.providers import open_model
from rails.render.markdown import fenced_block, inline
from rails.review.export.answers import answer_files
from rails.review.export.formats import FORMATS, to_recording
from tests.rows import walked

HOSTILE = "`` ` ```</details><script>alert(1)</script> | [x](javascript:y) @octocat #1 \x1b[31m\u202e ```\n# big\n| a |"


def answer(*parts, stop="end_turn", **more):
    return ModelAnswer(Message("assistant", parts), stop, Usage(100, 20, 50, 5), "claude-test", **more)


def said(given, role="coder"):
    details = {"text": given.message.text, "prose": "", **answer_to_json(given)}
    return (UnknownEvent("LLM_RESPONSE", "answered", details), role, "claude-test")


def told(*parts):
    reply = Message("user", parts)
    return (
        UnknownEvent("FEEDBACK_SENT", "results", {"text": "the feedback", "reply": message_to_json(reply)}),
        "coder",
    )


@pytest.fixture
def records(tmp_path):
    finding = {"path": "a.py", "line": 3, "column": 1, "rule": "F821", "message": f"Undefined {HOSTILE}", "new": True}
    request = {"id": "t1.1", "tool_name": "write_file", "parameters": {"file_path": "a.py"}, "explanation": HOSTILE}
    events = [
        UnknownEvent("WORKFLOW_START", "add a flag", {"task": HOSTILE, "project": "/p"}),
        (
            UnknownEvent(
                "AGENT_ENGAGE", "coder: x", {"first_message": "Please add a flag.", "system": "You are a coder."}
            ),
            "coder",
        ),
        (UnknownEvent("LLM_CALL", "Asking", {"messages": 1}), "coder"),
        said(
            answer(
                Opaque("anthropic", "{}"),
                TextPart(HOSTILE),
                NativeCall("c1", "write_file", '{"file_path": "a.py"}'),
                stop="tool_use",
            )
        ),
        (
            UnknownEvent(
                "MCP_REQUEST_FORMULATED", "write_file", {**request, "dialect": "native", "repairs": [{"name": "comma"}]}
            ),
            "coder",
        ),
        UnknownEvent(
            "TOOL_REQUEST_VALIDATION_FAILED",
            "no such field",
            {"id": "t1.9", "refusals": [{"message": "m", "hint": "h"}]},
        ),
        (
            UnknownEvent(
                "GATE_VERDICT",
                "gate: fail",
                {
                    "status": "fail",
                    "ids": ["t1.1"],
                    "findings": [finding],
                    "fixed": [{"rule": "E1"}],
                    "not_checked": [{"path": "b.js", "check": "eslint", "reason": "missing"}],
                },
            ),
            "coder",
        ),
        told(NativeResult("c1", "refused", True), TextPart("Correct it.")),
        (UnknownEvent("LLM_CALL", "Asking", {"messages": 3}), "coder"),
        said(
            answer(
                TextPart("again"),
                NativeCall("c2", "write_file", '{"broken": '),
                stop="max_tokens",
                note="the answer was cut",
            )
        ),
        (UnknownEvent("APPROVAL_REQUESTED", "write_file by coder", {"diff": f"--- a\n+++ b\n+{HOSTILE}"}), "coder"),
        (UnknownEvent("HUMAN_DECISION", f"deny by human: {HOSTILE}", {"answer": "deny", "by": "human"}), "coder"),
        (UnknownEvent("HUMAN_DECISION", "approve by human", {"answer": "approve", "by": "human"}), "coder"),
        (
            UnknownEvent(
                "TOOL_EXECUTION_RESULT", "Created a.py", {"ids": ["t1.1"], "ok": True, "text": "Created a.py"}
            ),
            "coder",
        ),
        (UnknownEvent("LLM_ERROR", "overloaded", {"error": "overloaded"}), "coder"),
        told(TextPart("done")),
        (UnknownEvent("LLM_CALL", "Asking", {"messages": 1}), "reviewer"),
        said(answer(TextPart("x" * 30_000)), role="reviewer"),
        UnknownEvent("WORKFLOW_END", "Done.", {"outcome": "done"}),
    ]
    with SessionLog.create(tmp_path / ".rails", session_id="s") as log:
        for event in events:
            log.append(*(event if isinstance(event, tuple) else (event,)))
    return read_strict(log.path)


@walked("name", FORMATS)
def test_an_export_is_the_same_every_time_and_takes_any_records(name, records):
    assert FORMATS[name](records) == FORMATS[name](records)
    FORMATS[name]([])
    for size in range(len(records)):
        FORMATS[name](records[size:])
        FORMATS[name](records[: size + 1])


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_takes_records_whose_details_have_any_form(name, tmp_path):
    odd = [None, 5, "x", [], {}, [None, 5, {"path": 5}], {"content": 5}]
    keys = (
        "text",
        "reply",
        "content",
        "findings",
        "refusals",
        "ids",
        "id",
        "usage",
        "parameters",
        "fixed",
        "repairs",
        "status",
    )
    with SessionLog.create(tmp_path / ".rails") as log:
        for kind in (
            "LLM_RESPONSE",
            "MCP_REQUEST_FORMULATED",
            "FEEDBACK_SENT",
            "GATE_VERDICT",
            "CHANGE_REFUSED",
            "AGENT_ENGAGE",
        ):
            for value in odd:
                log.append(UnknownEvent(kind, "m", dict.fromkeys(keys, value)))
    FORMATS[name](read_strict(log.path))


def test_the_recording_replays_what_the_models_said(records, tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_text(to_recording(records), encoding="utf-8")
    coder = open_model(f"recorded:{path}").for_agent("coder")
    user = Message("user", (TextPart("?"),))
    *_, first = coder.stream(system="", messages=[user], tools=[])
    *_, second = coder.stream(system="", messages=[user, first.message, user], tools=[])
    assert first.message.parts[2] == NativeCall("c1", "write_file", '{"file_path": "a.py"}')
    assert (second.stop_reason, second.note) == ("max_tokens", "the answer was cut")
    assert second.message.calls[0].arguments == '{"broken": '
    *_, review = open_model(f"recorded:{path}").for_agent("reviewer").stream(system="", messages=[user], tools=[])
    assert len(review.message.text) == 30_000


def test_c14_04_each_answer_is_a_file_by_role_and_time_and_none_overwrites_another(records):
    said = [record for record in records if record.event_type == "LLM_RESPONSE"]
    same = [replace(record, timestamp="2026-01-02T03:04:05.678Z") for record in said]
    files = answer_files(same)
    coder = [name for name in files if name.startswith("coder_output_")]
    assert coder == ["coder_output_20260102_030405.md", "coder_output_20260102_030405_2.md"]
    assert len(files) == len(said)
    assert [*files.values()] == [record.event.text for record in said]


def test_markdown_tells_the_story(records):
    text = FORMATS["markdown"](records)
    for words in (
        "Changed: `Done.`",
        "1 approved, 1 denied",
        " tokens in, ",
        " from the cache, 60 tokens out",
        "## Turn 2, `coder`",
        "- Adjusted: `JSON repaired: comma",
        "- Gate: `fail`",
        "- Auto-fixed: `",
        "| `a.py` | 3 | `F821` |",
        "- Not checked: `b.js by eslint: missing`",
        "- ⛔ Decision: `",
        "- ✅ Decision: `approve by human`",
        "the answer was cut`",
    ):
        assert words in text, words


def outside_code(text):
    """Return what is left of Markdown without fenced blocks and code spans (CommonMark's rules for both)."""
    kept = []
    fence = ""
    for line in text.split("\n"):
        ticks = re.match("`{3,}", line)
        if fence:
            fence = "" if ticks and len(ticks[0]) >= len(fence) and line.strip("`") == "" else fence
        elif ticks and "`" not in line[len(ticks[0]) :]:
            fence = ticks[0]
        else:
            kept.append(re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", line))
    assert not fence
    return "\n".join(kept)


def test_nothing_that_a_model_wrote_becomes_markdown_or_reaches_a_screen_raw(records):
    text = FORMATS["markdown"](records)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    ours = outside_code(text)
    for harm in ("<script", "javascript:", "@octocat", "# big", "[x]", "alert"):
        assert harm not in ours, harm
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({row.count("|") for row in table.strip().split("\n")}) == 1


@walked("text", ["", "a", "`", "``", "a`", "`a", "a``b", "```", "x|y", HOSTILE, "\n", "   "])
def test_inline_text_is_one_code_span_and_a_block_one_fence(text):
    assert outside_code(inline(text)) == ""
    assert "\n" not in inline(text)
    assert outside_code("\n".join(fenced_block(text))) == ""
