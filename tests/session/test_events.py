"""A run as a stream of events for another program (SPEC C5)."""

import io
import json
from importlib import resources

import jsonschema
import pytest

from rails.commands.live import ProgressScreen
from rails.core.errors import ModelError
from rails.core.events.changes import ChangeRefused
from rails.core.events.session import ErrorEvent
from rails.core.messages import say
from rails.log import live_text
from rails.log.writer import SessionLog
from rails.projections.event_stream import EventStream

WRITE = '```json\n{"tool": "write_file", "path": "a.txt", "content": "one\\n"}\n```\n'
AGAIN = WRITE.replace("one", "two")
BROKEN = '```json\n{"tool": "write_file", "path": "a.txt", "content": }\n```\n'


def stream_of(work, *answers, form="jsonl", **options):
    out = io.StringIO()
    stream = EventStream(out, form)
    work(*answers, watch=stream, **options)
    stream.close()
    return out.getvalue()


@pytest.fixture
def events(work):
    text = stream_of(work, f"Two.\n{WRITE}", BROKEN, AGAIN, "Done.", approvals=["approve", "approve"])
    return [json.loads(line) for line in text.splitlines()]


def of(events, kind):
    return [event for event in events if event["type"] == kind]


def test_c5_01_the_status_comes_before_the_block_and_has_every_field(events):
    first = of(events, "json-tool-status")[0]
    assert {
        "status": "buffering",
        "toolType": "write_file",
        "path": "a.txt",
        "statusMessage": "Creating...",
    }.items() <= first.items()
    assert {"toolId", "timestamp"} <= first.keys()
    assert events.index(first) < events.index(of(events, "json-tool-block")[0])


def test_c5_02_each_block_comes_exactly_once_and_in_order(events):
    blocks = of(events, "json-tool-block")
    assert [block["verdict"] for block in blocks] == ["passed", "failed", "passed"]
    assert [block["content"].strip() for block in blocks] == [WRITE.strip(), BROKEN.strip(), AGAIN.strip()]
    assert len({block["toolId"] for block in blocks}) == 3


def test_c5_05_states_follow_one_another(events):
    first = of(events, "json-tool-status")[0]["toolId"]
    assert [event["status"] for event in of(events, "json-tool-status") if event["toolId"] == first] == [
        *("buffering", "checked", "approved", "executing", "completed")
    ]
    calls = dict.fromkeys(event["toolId"] for event in events if "toolId" in event)
    states = [list(dict.fromkeys(event["state"] for event in events if event.get("toolId") == call)) for call in calls]
    done = ["detected", "processing", "executing", "completed"]
    refused = ["detected", "processing", "failed"]
    assert states == [done, refused, done]


def test_c5_05_a_call_that_is_denied_or_fails_ends_as_failed(work):
    read = '```json\n{"tool": "read_file", "path": "none.txt"}\n```\n'
    text = stream_of(work, WRITE, read, "Then not.", approvals=["deny: no"])
    events = [json.loads(line) for line in text.splitlines()]
    ends = {event["toolId"]: event["state"] for event in events if "toolId" in event}
    assert list(ends.values()) == ["failed", "failed"]
    assert "executing" not in [event["state"] for event in events if event.get("toolId") == next(iter(ends))]


def test_c5_04_the_success_line_names_the_file(events):
    done = next(event for event in of(events, "json-tool-status") if event["status"] == "completed")
    assert done["statusMessage"] == "Created a.txt"


@pytest.mark.parametrize(
    ("call", "word"),
    [
        ({"tool": "write_file", "path": "a.txt", "content": "x"}, "Creating..."),
        ({"tool": "pilotwrite", "path": "a.txt", "content": "x"}, "Creating..."),
        ({"tool": "delete_file", "path": "b.txt"}, "Deleting..."),
        (
            {"tool": "edit_file", "path": "b.txt", "search_replace": {"old_string": "a", "new_string": "b"}},
            "Editing...",
        ),
        ({"tool": "move_file", "arguments": {"file_path": "b.txt", "new_path": "c.txt"}}, "Processing..."),
    ],
)
def test_c5_04_each_kind_of_call_has_its_word(work, call, word):
    (work.project / "b.txt").write_text("a\n")
    text = stream_of(work, f"```json\n{json.dumps(call)}\n```\n", "Done.", approvals=["approve"])
    states = of([json.loads(line) for line in text.splitlines()], "json-tool-status")
    assert states[0]["statusMessage"] == word
    assert states[-1]["status"] == "completed"


def test_c5_10_the_terminal_shows_the_same_states(work):
    shown = work(WRITE, BROKEN, "Done.", approvals=["approve"]).shown
    assert "Creating" in shown
    assert "Created a.txt" in shown
    assert shown.index("Creating") < shown.index("Created a.txt") < shown.index("refused")


def test_c5_07_server_sent_events_end_with_done(work):
    text = stream_of(work, WRITE, "Nothing to do.", form="sse", approvals=["approve"])
    assert text.count('"type": "json-tool-block"') == 1
    assert text.index('"json-tool-block"') < text.index("[DONE]")
    assert text.startswith("data: {")
    assert text.endswith("data: [DONE]\n\n")
    for part in text.strip().split("\n\n")[:-1]:
        json.loads(part.removeprefix("data: "))


def test_c5_08_the_bounds_are_the_originals():
    assert (live_text.PARTIAL_CHARS, live_text.PARTIAL_S) == (50, 0.15)


def test_c5_08_a_block_that_grows_is_told_once_and_not_at_every_piece(work):
    text = stream_of(work, WRITE.replace("one", "line\\n" * 2_000), "Done.", approvals=["approve"])
    events = [json.loads(line) for line in text.splitlines()]
    states = [event["status"] for event in of(events, "json-tool-status")]
    assert len(of(events, "json-tool-block")[0]["content"]) > 12_000
    assert states == ["buffering", "checked", "approved", "executing", "completed"]


def test_c5_08_an_answer_that_streams_is_told_in_parts_at_most_every_so_many_characters(tmp_path, monkeypatch):
    monkeypatch.setattr(live_text, "PARTIAL_S", 0.0)
    out = io.StringIO()
    key = "sk-ant-api03-" + "a1B2" * 20
    text = f"The key is {key} and " + "more words " * 40
    stream = EventStream(out, "jsonl")
    with SessionLog.create(tmp_path) as log, live_text.LiveText(log, partly=stream.partly) as live:
        for piece in text:
            live.hear(piece)
    parts = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {part["type"] for part in parts} == {"text-partial"}
    assert 5 <= len(parts) <= len(text) / live_text.PARTIAL_CHARS
    told = "".join(part["delta"] for part in parts)
    assert text.replace(key, "").startswith(told[:11])
    assert told.count("more") > 30
    assert "a1B2a1B2" not in told


def test_c5_08_no_sooner_than_so_many_milliseconds_after_the_last_part(tmp_path, monkeypatch):
    monkeypatch.setattr(live_text, "PARTIAL_S", 3_600.0)
    told = []
    with SessionLog.create(tmp_path) as log, live_text.LiveText(log, partly=told.append) as live:
        for _ in range(1_000):
            live.hear("a word ")
    assert len(told) == 1


def test_c5_09_a_stream_that_breaks_off_is_closed_by_an_error(work):
    text = stream_of(work, WRITE, ModelError("The connection was lost."), approvals=["approve"])
    events = [json.loads(line) for line in text.splitlines()]
    assert [event["type"] for event in events[-3:]] == ["error", "end", "done"]
    assert "The connection was lost." in events[-3]["message"]


def test_c8_06_debug_lines_are_shown_only_when_asked_for_and_without_secrets(work):
    key = "sk-ant-api03-" + "a1B2" * 20
    shown = {}
    for debug in (False, True):
        out = io.StringIO()
        work(
            BROKEN.replace('"content": ', f'"content": "{key}", oops '),
            "Done.",
            watch=ProgressScreen(out, debug=debug),
        )
        shown[debug] = out.getvalue()
    assert "Invalid JSON" not in shown[False]
    assert "Invalid JSON" in shown[True]
    assert key not in shown[False] + shown[True]


def test_a_status_whose_paths_are_inside_the_edits_names_the_first_and_counts_the_others(work):
    for name in ("a.txt", "b.txt"):
        (work.project / name).write_text("one\n", "utf-8")
    edits = [{"file_path": name, "old_string": "one", "new_string": "two"} for name in ("a.txt", "b.txt")]
    block = f"```json\n{json.dumps({'tool': 'multi_edit', 'edits': edits})}\n```\n"
    done = work(block, "Done.", approvals=["approve"])
    statuses = done.events("TOOL_STATUS")
    assert [(facts["path"], facts["statusMessage"]) for facts in statuses] == [
        ("", "Editing..."),
        ("a.txt", "Editing..."),
    ]
    assert len({facts["id"] for facts in statuses}) == 1
    assert done.events("TOOL_BLOCK")[0]["path"] == "a.txt"
    assert done.shown.count("🔧") == 1
    assert "🔧 Editing... a.txt and 1 more\n" in done.shown


SEARCH = '```json\n{"tool": "search_files", "arguments": {"pattern": "one", "path": "."}}\n```\n'
RUN = '```json\n{"tool": "run_command", "arguments": {"command": "false"}}\n```\n'


def test_what_a_tool_did_is_said_in_the_words_of_its_call(work):
    shown = work(WRITE, SEARCH, RUN, "Done.", approvals=["approve"] * 3).shown
    assert '  ✅ search "one" in .: 1 line\n' in shown
    assert "  🔧 $ false\n  ❌ $ false\n" in shown
    assert "_command finished" not in shown
    assert "Processing" not in shown


def test_the_plain_view_has_words_instead_of_signs(work):
    out = io.StringIO()
    work(WRITE, "Done.", approvals=["approve"], watch=ProgressScreen(out, plain=True))
    shown = out.getvalue()
    assert "  Creating... a.txt\n" in shown
    assert "  done: Created a.txt\n" in shown
    assert not any(sign in shown for sign in "🔧✅❌─│→\x1b")


def test_the_name_above_a_file_is_no_prose_of_the_answer(work):
    out = io.StringIO()
    work("Here it is.\n\na.txt\n```\none\n```\n", approvals=["approve"], protocol="edits", watch=ProgressScreen(out))
    assert "Here it is." in out.getvalue()
    assert "\n  a.txt\n" not in out.getvalue()


def test_only_debug_shows_the_system_text(work):
    out = io.StringIO()
    assert "You are the Coder Agent." in work("Nothing to do.", watch=ProgressScreen(out)).shown
    assert "You are the Coder Agent." not in out.getvalue()


def test_a_reason_is_said_in_any_alphabet_and_a_refusal_without_one_by_its_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_LANG", "ja")
    screen = ProgressScreen(io.StringIO())
    with SessionLog.create(tmp_path) as log:
        screen(log.append(ErrorEvent("Failed while “ü.txt” was written.", "the disk is full")))
        screen(log.append(ErrorEvent(say("gave_up"), "3 failed attempts", limit=3)))
        screen(log.append(ChangeRefused((), ())))
    shown = screen.out.getvalue()
    assert "“ü.txt” was written. The disk is full.\n" in shown
    assert "3 failed" not in shown
    assert "  refused: without a reason\n" in shown


def test_every_event_is_as_the_shipped_schema_has_it(work):
    schema = json.loads(resources.files("rails.projections").joinpath("event.schema.json").read_text("utf-8"))
    check = jsonschema.Draft202012Validator(schema)
    bad = '```json\n{"tool": "write_file", "path": "a.py", "content": "print(nothing_here)\\n",}\n```\n'
    text = stream_of(
        work,
        f"Two.\n{WRITE}",
        BROKEN,
        bad,
        AGAIN,
        "Done.",
        approvals=["approve", "approve", "deny: no"],
        correction="model",
    )
    events = [json.loads(line) for line in text.splitlines()]
    assert [error.message for event in events for error in check.iter_errors(event)] == []
    assert {"agent", "turn", "text-delta", "cost", "gate", "approval", "attempt", "end", "done"} <= {
        event["type"] for event in events
    }
    for wrong in ({"v": 2}, {"type": "other"}, {"state": "broken"}, {"outcome": "fine"}):
        assert any(not check.is_valid({**event, **wrong}) for event in events if event.keys() >= wrong.keys())


def test_c5_03_a_repaired_block_did_not_pass_and_is_shown_as_it_will_run_and_as_it_was_sent(work):
    sent = WRITE.replace("}\n```", ",}\n```")
    text = stream_of(work, sent, "Done.", approvals=["approve"])
    block = of([json.loads(line) for line in text.splitlines()], "json-tool-block")[0]
    assert (block["validationPassed"], block["corrected"], block["verdict"]) == (False, True, "corrected")
    assert block["original"].strip() == sent.strip()
    assert json.loads(block["content"]) == {"tool": "write_file", "parameters": {"path": "a.txt", "content": "one\n"}}


def test_a_corrected_block_has_the_tool_and_the_content_that_will_be_executed(work):
    sent = WRITE.replace("write_file", "create_it")
    text = stream_of(work, sent, f"Here it is:\n{WRITE}", "Done.", approvals=["approve"], correction="model")
    events = [json.loads(line) for line in text.splitlines()]
    block = of(events, "json-tool-block")[0]
    assert (block["toolType"], block["original"].strip()) == ("write_file", sent.strip())
    assert json.loads(block["content"]) == {"tool": "write_file", "parameters": {"path": "a.txt", "content": "one\n"}}
    assert of(events, "json-tool-status")[-1]["toolType"] == "write_file"


def test_what_a_models_server_says_of_a_key_is_masked_where_a_run_ends(work):
    done = work(ModelError("bad key sk-ant-api03-" + "A" * 50))
    assert done.ending.message.startswith("bad key «secret:")


def test_a_run_that_was_stopped_has_an_end_too():
    out = io.StringIO()
    EventStream(out, "jsonl").close()
    end, done = map(json.loads, out.getvalue().splitlines())
    assert (end["type"], end["outcome"], done["type"]) == ("end", "stopped", "done")
