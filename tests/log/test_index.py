"""Search, cards and windows: the same answers with an index, after deleting it, and without one."""

import os
import sqlite3
import threading
import time

import pytest

from rails.core import limits, lock
from rails.core.conversation import NativeCall
from rails.core.errors import UsageError
from rails.core.events.base import UnknownEvent
from rails.core.events.record import Record
from rails.core.json_text import json_object
from rails.log.index import feed
from rails.log.index import index as index_module
from rails.log.index.index import Index
from rails.log.index.terms import folded_text, folded_words, searchable_words
from rails.log.reader import session_ids
from rails.log.writer import SessionLog

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


def from_logs(state, line, **more):
    """Search with an index that has taken nothing in: everything is read from the logs."""
    with Index(state / "none") as index:
        index.state = state
        assert not index.complete
        return index.search(line, refresh_s=0, **more).hits


@pytest.mark.parametrize(("line", "count"), QUERIES.items())
def test_a_search_finds_the_same_with_the_index_and_without(state, line, count):
    by_scan = places(from_logs(state, line))
    with Index(state) as index:
        index.refresh()
        assert index.has_words
        by_index = places(index.search(line, refresh_s=0).hits)
    with Index(state, words=False) as index:
        without_words = places(index.search(line).hits)
    assert by_index == by_scan == without_words
    assert len(by_index) == count
    assert by_index == sorted(by_index, key=lambda p: (p.rpartition(":")[0], int(p.rpartition(":")[2])), reverse=True)


@pytest.mark.parametrize("line", ["", "is:failed", "edit*", "-gate"])
def test_pages_join_to_the_whole(state, line):
    for words in (True, False):
        with Index(state, words=words) as index:
            whole = places(index.search(line, limit=100).hits)
            pages, before = [], ""
            while True:
                found = index.search(line, limit=3, before=before)
                pages += places(found.hits)
                if not found.next:
                    break
                before = found.next
        assert pages == whole


def test_a_hit_is_the_record_of_the_log(state):
    with Index(state) as index:
        (hit,) = index.search("disk").hits
    assert (hit.session_id, hit.record.event_type, hit.record.details) == (
        "20261121-110000-bbbb",
        "ERROR",
        {"path": "a/b"},
    )
    log = state / "sessions" / hit.session_id / "log.jsonl"
    assert log.read_bytes()[hit.offset : hit.offset + hit.length].startswith(b'{"v":1,')


def test_what_is_new_is_found_at_once_and_only_it_is_read(state, monkeypatch):
    with Index(state) as index:
        index.refresh()
        read = []
        monkeypatch.setattr(
            feed,
            "searchable_words",
            lambda record, load, real=feed.searchable_words: read.append(record) or real(record, load),
        )
        with SessionLog.create(state, session_id="20261121-120000-cccc") as log:
            log.append(UnknownEvent("ERROR", "zebra one"))
            assert len(index.search("zebra").hits) == 1
            log.append(UnknownEvent("ERROR", "zebra two"))
            assert len(index.search("zebra").hits) == 2
        assert [record.message for record in read] == ["zebra one", "zebra two"]


def test_deleting_the_index_changes_only_speed(state):
    def answers():
        with Index(state) as index:
            index.refresh()
            return [places(index.search(line).hits) for line in QUERIES], index.cards()

    before = answers()
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (state / name).unlink(missing_ok=True)
    assert answers() == before


@pytest.mark.parametrize("harm", ["garbage", "empty", "other version", "torn", "no table"])
def test_an_index_that_is_wrong_is_built_again(state, harm):
    with Index(state) as index:
        index.refresh()
    path = state / "index.db"
    if harm == "garbage":
        path.write_bytes(b"not a database" * 500)
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "torn":
        path.write_bytes(path.read_bytes()[: 4096 * 3] + b"\0" * 8192)
    else:
        db = sqlite3.connect(path)
        db.executescript("PRAGMA user_version = 999" if harm == "other version" else "DROP TABLE records")
        db.close()
    with Index(state) as index:
        assert len(index.search("is:failed").hits) == 5
        assert len(index.cards()) == 2


@pytest.mark.parametrize("change", ["removed", "replaced", "shortened"])
def test_a_log_that_is_not_the_same_any_more_is_indexed_again(state, change):
    with Index(state) as index:
        index.refresh()
        log = state / "sessions" / "20261121-110000-bbbb" / "log.jsonl"
        content = log.read_bytes()
        if change == "removed":
            log.unlink()
        elif change == "replaced":
            log.rename(log.with_suffix(".old"))
            log.write_bytes(content)
        else:
            log.write_bytes(content[: content.index(b"\n") + 1])
        assert len(index.search("disk").hits) == (1 if change == "replaced" else 0)


def test_a_refresh_with_a_budget_goes_on_next_time_and_searches_stay_whole(state):
    with Index(state) as index:
        assert not index.refresh(0.0)
        assert len(index.search("is:failed", refresh_s=0).hits) == 5
        assert index.refresh()
        assert index.complete


def test_two_processes_do_not_feed_one_index_at_once(state):
    with Index(state) as first, Index(state) as second:
        with first._only_one() as mine:
            assert mine
            assert second.refresh() is False
            assert len(second.search("disk").hits) == 1
        assert second.refresh() is True
        assert len(first.search("disk").hits) == 1


def test_threads_may_share_an_index(state):
    counts = []
    with Index(state) as index:

        def work():
            counts.extend(len(index.search("is:failed").hits) for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts == [5] * 80


def test_a_project_without_sessions_or_that_cannot_be_written_has_an_index_in_memory(tmp_path, state):
    with Index(tmp_path / "nowhere" / ".rails") as index:
        assert index.search("x").hits == ()
        assert index.cards() == ()
    assert not (tmp_path / "nowhere").exists()
    (state / "index.db").symlink_to(tmp_path / "elsewhere.db")
    with Index(state) as index:
        assert len(index.search("disk").hits) == 1
    assert not (tmp_path / "elsewhere.db").exists()


def test_where_another_process_does_not_come_to_an_end_with_the_index_there_is_one_in_memory(state, monkeypatch):
    monkeypatch.setattr(index_module, "_MAKING_SECONDS", 0.05)
    with lock.held(state / "index.making") as had, Index(state) as index:
        assert had
        assert len(index.search("disk").hits) == 1
    assert not (state / "index.db").exists()


def test_the_index_file_is_private(state):
    with Index(state) as index:
        index.refresh()
        for path in state.glob("index.*"):
            assert os.stat(path).st_mode & 0o077 == 0


def test_a_card_counts_what_happened(state):
    with Index(state) as index:
        index.refresh()
        newest, oldest = index.cards()
        assert index.card("20261121-100000-aaaa") == oldest
        assert index.card("nobody") is None
    assert (newest.session_id, newest.errors, newest.records) == ("20261121-110000-bbbb", 1, 12)
    assert (oldest.task, oldest.outcome, oldest.message) == ("add a --json flag", "done", "done: 2 files")
    assert (oldest.turns, oldest.requests, oldest.refused, oldest.gate_failed) == (2, 1, 1, 1)
    assert (oldest.approved, oldest.denied, oldest.spark) == (1, 1, "fpda")
    assert (oldest.input_tokens, oldest.output_tokens, oldest.cached_tokens) == (100, 20, 5)
    assert oldest.rules == {"E501": 2}
    assert oldest.paths == ["src/todo.py", "README.md"]
    assert oldest.agents == ["coder", "reviewer"]
    assert oldest.started < oldest.last


def test_a_window_and_the_next_failure_are_read_by_number(state):
    with Index(state) as index:
        index.refresh()
        window = index.window("20261121-100000-aaaa", 3, 4)
        assert [hit.record.seq for hit in window] == [3, 4, 5, 6]
        assert [hit.record.seq for hit in index.window("20261121-100000-aaaa", -5, 2)] == [1, 2]
        assert index.window("20261121-100000-aaaa", 12) == index.window("nobody", 1) == ()
        assert [index.next_failure("20261121-100000-aaaa", after) for after in (0, 4, 5)] == [4, 5, None]
        assert index.next_failure("nobody", 0) is None


def test_what_is_not_taken_in_yet_is_shown_from_the_log(state):
    with Index(state) as index:
        index.refresh()
        whole = [index.window("20261121-110000-bbbb", first, 5) for first in (1, 6, 11, 40)]
    (state / "index.db").unlink()
    with Index(state) as index:
        assert [index.window("20261121-110000-bbbb", first, 5) for first in (1, 6, 11, 40)] == whole
        newest, oldest = index.cards()
        assert (newest.session_id, newest.task, newest.records) == ("20261121-110000-bbbb", "add a --json flag", 12)
        assert (oldest.message, oldest.turns) == ("done: 2 files", 0)
        index.refresh()
        with SessionLog.reopen(state, "20261121-110000-bbbb") as log:
            log.append(UnknownEvent("SESSION_RESUMED", "again"))
        assert [hit.record.seq for hit in index.window("20261121-110000-bbbb", 11, 5)] == [11, 12, 13]
        assert index.window("../20261121-110000-bbbb", 1) == ()


def test_damage_is_counted_and_the_rest_stays_searchable(state):
    log = state / "sessions" / "20261121-100000-aaaa" / "log.jsonl"
    rows = log.read_bytes().split(b"\n")
    rows[4] = b"\0" * len(rows[4])
    log.write_bytes(b"\n".join(rows))
    with Index(state) as index:
        assert len(index.search("rule:E501").hits) == 1
        card = index.card("20261121-100000-aaaa")
        assert (card.damage, card.records) == (2, 11)


def test_any_piece_of_text_is_found_also_inside_words_and_across_them(state):
    def pieces(line, **more):
        with Index(state) as index:
            by_index = index.search(line, **more).hits
            assert index.complete
        assert by_index == from_logs(state, line, **more)
        return by_index

    assert len(pieces('text:"isk is fu"')) == 1
    assert len(pieces("text:のテ")) == 2
    assert len(pieces("text:501")) == 2
    assert pieces("text:e501") == ()
    assert pieces('text:"nothing like it"') == ()
    first, second = pieces("text:E501")
    assert [hit.place for hit in pieces("text:E501", before=first.place)] == [second.place]
    assert len(pieces("text:E501", limit=1)) == 1
    with Index(state) as index:
        assert [hit.place for hit in index.search("text:501").hits] == [first.place, second.place]
        both = f"text:501 type:{first.record.event_type}"
        assert first.place in [hit.place for hit in index.search(both).hits]
        assert index.search("text:501 type:nothing").hits == ()


def test_every_line_is_found_without_an_index_however_long_its_neighbours_are(state, monkeypatch):
    log = state / "sessions" / "20261121-100000-aaaa" / "log.jsonl"
    rows = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([*rows[:3], b"x" * 40_000, *rows[3:]]) + b"in flight")
    whole = [(hit.place, hit.offset) for hit in from_logs(state, "")]
    assert len(whole) == 23
    monkeypatch.setattr(limits, "LOG_LINE_BYTES", 20_000)
    assert [(hit.place, hit.offset) for hit in from_logs(state, "")] == whole
    for _, offset in whole[-11:]:
        assert log.read_bytes()[offset:].startswith(b'{"v":1,')


@pytest.mark.parametrize("fed", range(0, 23, 4))
@pytest.mark.parametrize("line", ["", "is:failed", "edit*", "-gate", "text:501", "session:20261121-110000-bbbb edit"])
def test_a_half_fed_index_and_the_logs_together_give_every_page_once(state, monkeypatch, fed, line):
    with Index(state) as index:
        whole = places(index.search(line, limit=100).hits)
    (state / "index.db").unlink()
    monkeypatch.setattr(feed, "_BATCH", max(1, fed))
    clock = iter([0.0, 0.0, *[9e9] * 100])
    with Index(state) as index:
        monkeypatch.setattr(feed.time, "monotonic", lambda: next(clock))
        assert not index.refresh(1.0)
        monkeypatch.undo()
        pages, before = [], ""
        while True:
            found = index.search(line, limit=3, before=before, refresh_s=0)
            pages += places(found.hits)
            if not found.next:
                break
            before = found.next
    assert pages == whole


def test_where_the_disk_refuses_while_the_index_is_fed_it_lives_in_memory(state, monkeypatch):
    real, opened = feed.feed, []

    def refuse(db, where, deadline):
        if db.execute("PRAGMA database_list").fetchone()[2]:
            raise sqlite3.OperationalError("database or disk is full")
        opened.append(db)
        return real(db, where, deadline)

    monkeypatch.setattr(feed, "feed", refuse)
    with Index(state) as index:
        assert len(index.search("is:failed").hits) == 5
        assert index.complete
        assert len(opened) == 1


def test_hostile_search_lines_are_words_and_never_commands(state):
    with Index(state) as index:
        for line in (
            '") OR 1=1 --',
            "body:x",
            "{facets} : x",
            "NEAR(a b)",
            "a" * 900,
            '"' * 900,
            "-" * 900,
            "\x00 \ud800",
        ):
            index.search(line)
        with pytest.raises(UsageError, match="characters"):
            index.search("x" * 1_001)
        with pytest.raises(UsageError, match="is not a time"):
            index.search("after:yesterday")


@pytest.mark.parametrize(
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


def test_many_open_a_new_index_at_once_and_all_can_use_it(state):
    with SessionLog.create(state) as log:
        log.append(UnknownEvent("ERROR", "needle", {}))
    gate, found, wrong = threading.Barrier(8), [], []

    def open_and_look():
        try:
            gate.wait()
            with Index(state) as index:
                index.refresh()
                found.append(len(index.cards()))
        except Exception as error:
            wrong.append(repr(error))

    for _ in range(5):
        for name in ("index.db", "index.db-wal", "index.db-shm"):
            (state / name).unlink(missing_ok=True)
        threads = [threading.Thread(target=open_and_look) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert found == [len(session_ids(state))] * 40
