"""Search, stats and windows: a scan finds what judging each record finds, and stats are kept in a file that can go."""

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rails.core.conversation import NativeCall
from rails.core.errors import LogError, UsageError
from rails.core.events.base import UnknownEvent
from rails.core.events.record import Record
from rails.core.json_text import json_object
from rails.log.query import parse_query, since_time
from rails.log.reader import full, read_lenient, session_ids
from rails.log.scan import next_failure, records_from, search
from rails.log.session_stats import SessionStats
from rails.log.summaries import SUMMARY_NAME, Summaries
from rails.log.terms import facets_of, folded_text, folded_words, searchable_words
from rails.log.writer import SessionLog
from tests.rows import walked

FINDING = {"path": "src/todo.py", "line": 3, "rule": "E501", "message": "line too long (130 > 120)", "new": True}


def fill(state, session_id, *, extra=()):
    """Write a session that has something for every field of the search line."""
    with SessionLog.create(state, session_id=session_id) as log:
        log.append(UnknownEvent("WORKFLOW_START", "add a flag", {"task": "add a --json flag", "project": "/p"}))
        usage = {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 5}
        calls = json_object({"calls": [NativeCall("c1", "edit_file", "{}")]})["calls"]
        answer = {"text": "I will edit the WorkspacePath in Café 漢字のテスト.", "usage": usage, "calls": calls}
        log.append(UnknownEvent("LLM_RESPONSE", "claude answered", answer), "coder", "claude-sonnet-5-5")
        request = {"tool_name": "edit_file", "parameters": {"file_path": "src/todo.py"}, "repairs": [{"name": "comma"}]}
        log.append(UnknownEvent("MCP_REQUEST_FORMULATED", "edit_file: say why", request), "coder", "claude-sonnet-5-5")
        log.append(
            UnknownEvent("TOOL_REQUEST_VALIDATION_FAILED", "no such field", {"refusals": [{"code": "schema"}]}), "coder"
        )
        verdict = {"status": "fail", "findings": [FINDING] * 2 + [{**FINDING, "rule": "W291", "new": False}]}
        log.append(UnknownEvent("GATE_VERDICT", "gate: fail", verdict), "coder")
        log.append(UnknownEvent("GATE_VERDICT", "gate: pass", {"status": "pass", "findings": []}), "coder")
        log.append(
            UnknownEvent("HUMAN_DECISION", "deny by human: no", {"answer": "deny", "by": "human", "reason": "no"})
        )
        log.append(UnknownEvent("HUMAN_DECISION", "approve by human", {"answer": "approve", "by": "policy: rule 3"}))
        log.append(UnknownEvent("CHECKPOINT", "step 1", {"step": 1, "paths": ["src/todo.py", "README.md"]}))
        log.append(UnknownEvent("LLM_RESPONSE", "long", {"text": "needle_in_the_blob " + "straw " * 3_000}), "reviewer")
        for event in extra:
            log.append(*event)
        log.append(UnknownEvent("WORKFLOW_END", "done: 2 files", {"outcome": "done"}))
    return log


@pytest.fixture
def state(tmp_path):
    state = tmp_path / ".rails"
    fill(state, "20261121-100000-aaaa")
    fill(state, "20261121-110000-bbbb", extra=[(UnknownEvent("ERROR", "the disk is full", {"path": "a/b"}), "coder")])
    return state


QUERIES = {
    "workspace": 2,
    "WorkspacePath": 2,
    "edit": 4,
    "edit_file": 4,
    '"edit file"': 4,
    '"file edit"': 0,
    '"say why"': 2,
    '"why say"': 0,
    "cafe": 2,
    "CAFÉ": 2,
    "テスト": 2,
    "漢字": 2,
    "disk full": 1,
    '"disk full"': 0,
    '"disk is full': 1,
    "dis*": 1,
    '"dis*"': 0,
    "gate -pass": 2,
    "-gate": 19,
    "tool:edit_file": 2,
    "tool:edit*": 2,
    "tool:EDIT_FILE": 2,
    "path:src/todo.py": 6,
    "path:src/*": 6,
    "path:readme.md": 2,
    "rule:E501": 2,
    "rule:E501 is:failed": 2,
    "rule:w291 -is:failed": 0,
    "is:failed": 5,
    "is:denied": 2,
    "is:approved": 2,
    "is:repaired": 2,
    "is:passed": 2,
    "code:schema": 2,
    'by:"policy: rule 3"': 2,
    "role:coder type:GATE_VERDICT": 4,
    "model:claude*": 4,
    "session:20261121-110000-bbbb": 12,
    "session:20261121-110000-bbbb is:failed": 3,
    "-session:20261121-110000-bbbb": 11,
    "session:nobody": 0,
    "after:2026-01-01": 23,
    "before:2026-01-01": 0,
    "after:2099-01 gate": 0,
    "before:2099-01-01T10:00 gate": 4,
    "needle_in_the_blob": 2,
    "needle": 2,
    "straw": 2,
    "nobody": 0,
    "note:well": 0,
    "flag": 2,
    "e501": 2,
    'OR AND NOT ( ) * " : ^': 0,
    "": 23,
    "   -": 23,
}


def places(found):
    return [hit.place for hit in found]


def judged(state, line):
    """Return the places of all records that match, each looked at by itself."""
    query = parse_query(line)
    found = []
    for session_id in reversed(session_ids(state)):
        records, _ = read_lenient(state / "sessions" / session_id / "log.jsonl")
        for record in reversed(records):
            whole = full(record, state)
            holds = query.takes_session(session_id) and query.takes_time(record.timestamp)
            if holds and query.has_facets(facets_of(whole)) and query.has_phrases(searchable_words(whole)):
                found.append(f"{session_id}:{record.seq}")
    return found


@walked(("line", "count"), QUERIES.items())
def test_a_scan_finds_what_judging_each_record_finds(state, line, count):
    found = places(search(state, line).hits)
    assert found == judged(state, line)
    assert len(found) == count


TEXTS = st.text(st.sampled_from('aB_ é漢ﬁß\n"\\-.\u0301'), max_size=30)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=1, max_size=5), cut=st.integers(0, 20), path=TEXTS)
def test_no_word_of_a_text_is_missed_however_it_is_written(tmp_path_factory, texts, cut, path):
    state = tmp_path_factory.mktemp("log") / ".rails"
    with SessionLog.create(state) as log:
        for text in texts:
            log.append(UnknownEvent("X", "x", {"text": text, "path": path}))
    for line in (*(text[cut:].replace("-", " ") for text in texts), f"path:{path.partition(' ')[0]}"):
        assert places(search(state, line).hits) == judged(state, line), line


@walked("line", ["", "is:failed", "edit*", "-gate", "text:501", "session:20261121-110000-bbbb edit"])
def test_pages_join_to_the_whole(state, line):
    pages = []
    before = ""
    while True:
        found = search(state, line, limit=3, before=before)
        pages += places(found.hits)
        if not found.next:
            break
        before = found.next
    assert pages == places(search(state, line, limit=100).hits)


def test_a_hit_is_the_record_of_the_log(state):
    (hit,) = search(state, "disk").hits
    found = (hit.session_id, hit.record.event_type, hit.record.details)
    assert found == ("20261121-110000-bbbb", "ERROR", {"path": "a/b"})


def test_any_piece_of_text_is_found_also_inside_words_and_across_them(state):
    counts = {'text:"isk is fu"': 1, "text:のテ": 2, "text:501": 2, "text:e501": 0, 'text:"nothing like it"': 0}
    assert {line: len(search(state, line).hits) for line in counts} == counts
    first, second = search(state, "text:E501").hits
    assert places(search(state, "text:E501", before=first.place).hits) == [second.place]
    assert search(state, "text:501 type:nothing").hits == ()


def test_damage_is_counted_and_the_rest_stays_searchable(state):
    log = state / "sessions" / "20261121-100000-aaaa" / "log.jsonl"
    rows = log.read_bytes().split(b"\n")
    rows[4] = b"\0" * len(rows[4])
    log.write_bytes(b"\n".join([*rows[:3], b"x" * 40_000, *rows[3:]]) + b"in flight")
    assert len(search(state, "rule:E501").hits) == 1
    stats = Summaries(state).get("20261121-100000-aaaa")
    assert (stats.damage, stats.records) == (3, 11)


def test_the_stats_count_what_happened(state):
    newest, oldest = Summaries(state).newest(10)
    assert (newest.session_id, newest.errors, newest.records) == ("20261121-110000-bbbb", 1, 12)
    assert (oldest.task, oldest.outcome, oldest.message) == ("add a --json flag", "done", "done: 2 files")
    assert (oldest.turns, oldest.requests, oldest.refused, oldest.gate_failed) == (2, 1, 1, 1)
    assert (oldest.approved, oldest.denied, oldest.spark) == (1, 1, "fpda")
    assert (oldest.input_tokens, oldest.output_tokens, oldest.cached_tokens) == (100, 20, 5)
    assert oldest.rules == {"E501": 2}
    assert oldest.paths == ["src/todo.py", "README.md"]
    assert oldest.agents == ["coder", "reviewer"]
    assert oldest.started < oldest.last


def test_a_session_has_its_summary_when_it_ends_and_it_is_counted_on_from_there(state):
    file = state / "sessions" / "20261121-100000-aaaa" / SUMMARY_NAME
    assert json.loads(file.read_text())[-1]["records"] == 11
    before = Summaries(state).get("20261121-100000-aaaa")
    with SessionLog.reopen(state, "20261121-100000-aaaa") as log:
        log.append(UnknownEvent("SESSION_RESUMED", "again"))
    after = Summaries(state).get("20261121-100000-aaaa")
    assert (before.records, before.outcome) == (11, "done")
    assert (after.records, after.outcome, after.turns) == (12, "", 2)


@walked("harm", [b"", b"{", b"[0]", b"[99, [1, 2, 3], 2, 3, 4, 5, {}]", b"[1, 0, 9, 3, 4, 5, {}]", None])
def test_a_summary_that_is_wrong_or_gone_is_counted_again(state, harm):
    file = state / "sessions" / "20261121-100000-aaaa" / SUMMARY_NAME
    right = Summaries(state).get("20261121-100000-aaaa")
    file.unlink()
    if harm is not None:
        file.write_bytes(harm)
    assert Summaries(state).get("20261121-100000-aaaa") == right


def test_a_log_that_was_replaced_is_counted_again(state):
    summaries = Summaries(state)
    summaries.get("20261121-100000-aaaa")
    log = state / "sessions" / "20261121-100000-aaaa" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.unlink()
    log.write_bytes(b"".join(lines[:4]))
    assert summaries.get("20261121-100000-aaaa").records == 4


def test_a_session_that_is_none_has_no_stats_and_a_log_that_cannot_be_read_is_listed_all_the_same(state):
    for name in ("nobody", "../20261121-100000-aaaa"):
        with pytest.raises(LogError):
            Summaries(state).get(name)
    log = state / "sessions" / "20261121-110000-bbbb" / "log.jsonl"
    summaries = Summaries(state)
    log.with_name(SUMMARY_NAME).unlink()
    log.unlink()
    log.symlink_to(state / "sessions" / "20261121-100000-aaaa" / "log.jsonl")
    assert summaries.newest(1) == [SessionStats("20261121-110000-bbbb", damage=1)]


def test_a_window_and_the_next_failure_are_read_by_number(state):
    name = "20261121-100000-aaaa"
    assert [record.seq for record in records_from(state, name, 3, 4)] == [3, 4, 5, 6]
    assert [record.seq for record in records_from(state, name, -5, 2)] == [1, 2]
    assert records_from(state, name, 12) == []
    assert [next_failure(state, name, after) for after in (0, 4, 5)] == [4, 5, None]
    assert [next_failure(state, name, after, back=True) for after in (4, 5, 12)] == [None, 4, 5]
    assert next_failure(state, "nobody", 0) is None


def test_hostile_search_lines_are_words_and_never_commands(state):
    for line in ('") OR 1=1 --', "body:x", "{facets} : x", "a" * 900, '"' * 900, "-" * 900, "\x00 \ud800"):
        search(state, line)
    for line, words in (("x" * 1_001, "characters"), ("after:yesterday", "is not a time"), ("since:soon", "yesterday")):
        with pytest.raises(UsageError, match=words):
            search(state, line)


def test_since_is_a_day_here_or_so_long_ago():
    from datetime import datetime, timedelta

    now = datetime(2026, 11, 26, 15, 30).astimezone()
    midnight = datetime(2026, 11, 25).astimezone()
    stamps = {"yesterday": midnight, "today": midnight + timedelta(days=1), "8h": now - timedelta(hours=8)}
    for words, moment in {**stamps, "2w": now - timedelta(days=14)}.items():
        assert datetime.fromisoformat(f"{since_time(words, now)}+00:00") == moment
    assert since_time("2026-11-21T10:00Z") == "2026-11-21T10:00"


@walked(
    ("text", "words"),
    [
        ("Hello, World", ["hello", "world"]),
        ("Ünïcode ﬁle Straße", ["unicode", "file", "strasse"]),
        ("日本語ab", ["日", "本", "語", "ab"]),
        ("a_b c-d", ["a_b", "c", "d"]),
        ("x" * 49 + " y", ["y"]),
    ],
)
def test_words_are_folded_as_people_search(text, words):
    assert folded_words(text) == words
    assert folded_text(folded_text(text)) == folded_text(text) or "日" in text


def test_a_record_of_one_endless_word_is_taken_in_quickly(state):
    start = time.process_time()
    for text in ("a" * 500_000, "aB" * 250_000, "a_" * 250_000, "漢" * 200_000, "a\u0301" * 100_000):
        searchable_words(Record(1, "", "s", "", "", "X", "", {"text": text}, "", ""))
    assert time.process_time() - start < 5
