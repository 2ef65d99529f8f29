"""Every record of real logs gives one event that says the same, and no details, however odd, stop a reader."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rails.core.events.base import UnknownEvent
from rails.core.events.record import BY_TYPE, event_of
from rails.core.events.values import StoredText
from rails.core.text import one_line
from rails.log import event_codec
from rails.log.reader import full, read_lenient
from tests.rows import walked

TESTS = Path(__file__).parent.parent
MESSAGE_CHARS = 1_000

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_there_is_one_class_for_each_type():
    assert len(BY_TYPE) == 38


@walked("event_type", sorted(BY_TYPE))
def test_an_event_without_any_details_is_empty_and_has_a_message(event_type):
    event = event_of(event_type, "words", {})
    assert isinstance(event.message, str)
    json.dumps(event.to_json())


def members(event_type):
    """JSON objects, mostly with the keys of the event."""
    keys = list(event_of(event_type, "", {}).to_json())
    name = st.sampled_from(keys) | st.text(max_size=4)
    pointer = st.fixed_dictionaries({"blob": st.text(), "bytes": json_values, "head": json_values})
    return st.dictionaries(name, json_values | pointer, max_size=8)


@given(st.sampled_from(sorted(BY_TYPE)).flatmap(lambda kind: st.tuples(st.just(kind), st.text(), members(kind))))
def test_no_details_stop_a_reader(record):
    event = event_of(*record)
    assert isinstance(event.message, str)
    assert event_of(event.type, record[1], event.to_json()) == event, "what was read is written and read alike"


@given(st.text(), json_values, st.text())
def test_an_unknown_type_is_kept_as_it_is(name, value, message):
    event = event_of(f"NEW_{name}", message, {"key": value})
    assert (event.type, event.message, event.to_json()) == (f"NEW_{name}", message, {"key": value})


def test_a_text_that_is_stored_elsewhere_is_read_as_its_beginning_and_written_as_its_pointer():
    pointer = {"blob": "ab" * 32, "bytes": 9_000, "head": "It begins"}
    event = event_of("FEEDBACK_SENT", "results", {"text": pointer})
    assert event.text == "It begins\n[… 9000 bytes, stored as abababababab …]"
    assert isinstance(event.text, StoredText)
    assert event.to_json()["text"] == pointer


def test_an_unknown_status_of_a_verdict_is_no_pass():
    event = event_of("GATE_VERDICT", "gate: fine", {"status": "fine"})
    assert event.verdict.status == "error"


def test_a_damaged_finding_keeps_what_can_be_read():
    findings = [
        {"path": "a.py", "line": "3", "rule": 7, "message": "no", "new": "yes", "severity": "mild"},
        "no finding",
    ]
    event = event_of("GATE_VERDICT", "", {"status": "fail", "findings": findings})
    (finding,) = event.verdict.findings
    assert (finding.path, finding.line, finding.rule, finding.message) == ("a.py", 0, "", "no")
    assert (finding.new, finding.severity) == (True, "error")


GOLDEN = sorted((TESTS / "golden" / "logs").glob("*/state/sessions/*/log.jsonl"))


@walked("log", GOLDEN)
def test_every_record_of_a_log_of_the_release_before_is_read_back_as_it_was_written(log):
    records, _ = read_lenient(log)
    known = [record for record in records if record.event_type in BY_TYPE]
    for record in (*known, *(full(record, log.parents[2]) for record in known)):
        made = record.event.to_json()
        kept = {name: value for name, value in record.details.items() if name in made}
        assert event_codec.dumps(made) == event_codec.dumps(kept), "what a later version added is left out, no more"
        assert one_line(record.event.message, MESSAGE_CHARS) == record.message
    for record in records:
        if record not in known:
            assert record.event == UnknownEvent(record.event_type, record.message, record.details)
            assert record.event.to_json() == record.details


def test_the_logs_of_the_release_before_are_read():
    read = [read_lenient(log) for log in GOLDEN]
    assert len(read) == 3
    assert not any(isinstance(record.event, UnknownEvent) for records, _ in read for record in records)
