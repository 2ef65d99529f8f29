"""Reading a log that time, crashes or people were unkind to: nothing is lost, nothing is hidden."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core import limits
from rails.core.errors import LogError
from rails.core.events.base import UnknownEvent
from rails.log import event_codec
from rails.log.reader import Damage, LogRow, Position, Tail, read_lenient, read_strict, sessions, verify
from rails.log.writer import SessionLog
from tests.rows import walked


@pytest.fixture
def state(tmp_path):
    return tmp_path / ".rails"


def write(state, count=5, session_id="s"):
    with SessionLog.create(state, session_id=session_id) as log:
        for number in range(1, count + 1):
            log.append(UnknownEvent("TOOL_STATUS", f"event {number}", {"n": number, "text": "Grüße\u2028"}))
    return log.path


def messages(records):
    return [record.message for record in records if record.event_type != "LOG_RECOVERED"]


def damaged(path, edit):
    lines = path.read_bytes().split(b"\n")[:-1]
    path.write_bytes(b"".join(line + b"\n" for line in edit(lines)))


def test_every_prefix_of_a_log_is_readable_and_can_be_gone_on_with(state, tmp_path):
    """Cut the log after every byte of its last two records; read it, reopen it, append, read it again."""
    path = write(state)
    whole = path.read_bytes()
    start = len(b"\n".join(whole.split(b"\n")[:3])) + 1
    for cut in range(start, len(whole) + 1):
        path.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n")
        assert messages(read_strict(path)) == [f"event {n}" for n in range(1, complete + 1)]
        assert read_lenient(path)[1] == ()
        with SessionLog.reopen(state, "s") as log:
            log.append(UnknownEvent("TOOL_STATUS", "after"))
        kept = complete + (cut + 1 < len(whole) + 1 and whole[cut : cut + 1] == b"\n")
        records = read_strict(path)
        assert messages(records) == [*(f"event {n}" for n in range(1, kept + 1)), "after"]
        assert path.read_bytes().startswith(whole[:cut]), "nothing is truncated"
        torn = whole[:cut].rsplit(b"\n", 1)[1]
        marks = [record.details for record in records if record.event_type == "LOG_RECOVERED"]
        if torn and kept == complete:
            place = {"offset": cut - len(torn), "bytes": len(torn), "sha256": hashlib.sha256(torn).hexdigest()}
            assert marks == [place]
        else:
            assert marks == []
        assert verify(path).ok


def test_a_crash_during_recovery_is_recovered_from(state):
    path = write(state, 3)
    path.write_bytes(path.read_bytes()[:-9] + b"\n")
    with pytest.raises(LogError, match="line 3"):
        read_strict(path)
    with SessionLog.reopen(state, "s") as log:
        log.append(UnknownEvent("TOOL_STATUS", "after"))
    assert messages(read_strict(path)) == ["event 1", "event 2", "after"]
    assert len(verify(path).recovered) == 1


def test_a_run_of_nul_bytes_at_the_end_is_kept_and_marked(state):
    path = write(state, 3)
    path.write_bytes(path.read_bytes() + b"\0" * 5_000)
    assert messages(read_strict(path)) == ["event 1", "event 2", "event 3"]
    with SessionLog.reopen(state, "s") as log:
        log.append(UnknownEvent("TOOL_STATUS", "after"))
    assert messages(read_strict(path)) == ["event 1", "event 2", "event 3", "after"]
    assert "5000 NUL bytes" in verify(path).recovered[0].reason


DAMAGE = {
    "a run of NUL bytes": (lambda lines: [*lines[:2], b"\0" * len(lines[2]), *lines[3:]], "NUL bytes", 4),
    "NUL bytes inside a record": (
        lambda lines: [*lines[:2], lines[2][:9] + b"\0\0" + lines[2][11:], *lines[3:]],
        "NUL",
        4,
    ),
    "two records on one line": (lambda lines: [lines[0], lines[1][:40] + lines[2], *lines[3:]], "complete JSON", 3),
    "an empty line": (lambda lines: [*lines[:2], b"", *lines[2:]], "complete JSON", 5),
    "not UTF-8": (lambda lines: [*lines[:2], lines[2].replace(b"\xc3", b"\xff"), *lines[3:]], "not UTF-8", 4),
    "a line of another program": (lambda lines: [*lines[:2], b'{"hello": "world"}', *lines[2:]], "not a record", 5),
    "no object": (lambda lines: [*lines[:2], b"[1, 2]", *lines[2:]], "not a JSON object", 5),
    "wrong types": (
        lambda lines: [*lines[:2], lines[2].replace(b'"seq":3', b'"seq":"3"'), *lines[3:]],
        "not a record",
        4,
    ),
    "a bomb of brackets": (lambda lines: [*lines[:2], b"[" * 200_000, *lines[2:]], "complete JSON", 5),
    "a lost record": (lambda lines: [*lines[:2], *lines[3:]], "1 records before record 4 are missing", 4),
    "a repeated record": (lambda lines: [*lines[:3], lines[1], *lines[3:]], "repeats record 2", 5),
    "two records swapped": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "missing", 4),
    "a changed message": (
        lambda lines: [*lines[:2], lines[2].replace(b"event 3", b"event 8"), *lines[3:]],
        "was changed",
        5,
    ),
    "a changed payload": (
        lambda lines: [*lines[:2], lines[2].replace(b'"n":3', b'"n":8'), *lines[3:]],
        "was changed",
        5,
    ),
    "a changed hash": (lambda lines: [*lines[:2], lines[2][:-5] + b'000"}', *lines[3:]], "was changed", 5),
    "a newer version": (
        lambda lines: [*lines[:2], lines[2].replace(b'"v":1', b'"v":2'), *lines[3:]],
        "newer version",
        4,
    ),
}


@walked(("edit", "reason", "readable"), DAMAGE.values())
def test_a_damaged_middle_is_shown_by_lenient_and_refused_by_strict_reading(state, edit, reason, readable):
    path = write(state, session_id=None)
    damaged(path, edit)
    records, damage = read_lenient(path)
    assert reason in damage[0].reason
    assert len(records) == readable
    assert records[-1].message == "event 5"
    assert not verify(path).ok
    with pytest.raises(LogError, match=rf"line {damage[0].line} .*Nothing was changed"):
        read_strict(path)
    before = path.read_bytes()
    with pytest.raises(LogError, match="start a new session"):
        SessionLog.reopen(state, path.parent.name)
    assert path.read_bytes() == before


def test_a_forged_record_with_its_own_right_hash_breaks_the_chain(state):
    path = write(state)
    other = write(state, 3, "other")
    forged = other.read_bytes().split(b"\n")[2]
    damaged(path, lambda lines: [*lines[:2], forged, *lines[3:]])
    reasons = [item.reason for item in read_lenient(path)[1]]
    assert reasons == [
        "record 3 does not follow record 2: the chain is broken",
        "record 4 does not follow record 3: the chain is broken",
    ]


def test_the_quick_test_of_a_line_takes_only_the_very_next_record_of_this_chain(state):
    path = write(state, 3)
    lines = path.read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    for at, line in enumerate(lines):
        seq = records[at]["seq"]
        prev = records[at]["prev"]
        own = records[at]["hash"]
        assert event_codec.follows(line, seq, prev) == own
        for other in (seq - 1, seq + 1, seq * 10):
            assert event_codec.follows(line, other, prev) is None
        assert event_codec.follows(line, seq, own) is None, "a right record of another chain"
        assert event_codec.follows(line, seq, f"{prev[:-1]}x") is None
        for byte in range(len(line)):
            flipped = line[:byte] + bytes([line[byte] ^ 1]) + line[byte + 1 :]
            assert event_codec.follows(flipped, seq, prev) is None, byte
        assert event_codec.follows(line + b" ", seq, prev) is None
        assert event_codec.follows(b" " + line, seq, prev) is None
    assert event_codec.follows(b"", 1, "") is None
    assert event_codec.follows(b'{"v":1,"seq":1,"', 1, "") is None


@walked("text", ["plain", "a\x7fb", "é\x7f\x9f", "\u200b\u202e\u2066\ufeff", "a\u2028b", "\ud800"])
def test_characters_that_deceive_a_screen_are_written_as_escapes_and_read_back(text):
    line = event_codec.dumps({"t": text})
    assert json.loads(line) == {"t": text}
    assert not event_codec._ESCAPED.search(line)
    assert event_codec.escape(event_codec.unescaped({"t": text})) == line


def test_a_recovery_mark_and_another_format_are_always_looked_at_closely():
    def line(kind="TOOL_STATUS", **more):
        facts = {"agent_role": "", "llm_model_used": "", "event_type": kind, "message": "m", "details": {}, "prev": ""}
        return event_codec.encode_record(1, "t", "s", **facts | more)[0][:-1]

    assert event_codec.follows(line(), 1, "")
    assert event_codec.follows(line(details={"x": "LOG_RECOVERED"}), 1, "")
    assert event_codec.follows(line("LOG_RECOVERED"), 1, "") is None
    newer = line().replace(b'{"v":1,', b'{"v":2,')
    assert event_codec.follows(newer, 1, "") is None
    assert event_codec.decode_record(newer) == f"it was {event_codec.NEWER} (format 2)"


@walked(
    ("line", "why"),
    [
        (b'{"v":1,\0\0', "it holds 2 NUL bytes, as a power cut leaves them"),
        (b'"\xff"', "it is not UTF-8"),
        (b'{"v":1', "it is not complete JSON"),
        (b"[" * 100_000, "it is not complete JSON"),
        (b"[1]", "it is not a JSON object"),
        (b"{}", "it is not a record of this log"),
    ],
)
def test_what_is_no_record_is_told_by_its_reason(line, why):
    assert event_codec.decode_record(line) == why


def test_a_record_has_every_field_in_its_type(state):
    whole = json.loads(write(state).read_bytes().splitlines()[0])
    for name in ("seq", "details", "hash", "timestamp", "session_id", "message", "prev", "event_type"):
        others = [{**whole, name: value} for value in (None, True, [])]
        for record in (*others, {key: value for key, value in whole.items() if key != name}):
            assert event_codec.decode_record(json.dumps(record).encode()) == "it is not a record of this log", record


def test_a_record_whose_bytes_do_not_prove_it_is_read_and_not_believed(state):
    line = write(state).read_bytes().splitlines()[0]
    assert event_codec.decode_record(line)[1] is True
    record, proved = event_codec.decode_record(json.dumps(json.loads(line)).encode())
    assert (record.seq, proved) == (1, False), "the same facts in other bytes"
    assert event_codec.decode_record(line.replace(b"event 1", b"evenT 1"))[1] is False
    assert event_codec.decode_record(line.replace(b',"details":', b', "details":'))[1] is False
    facts = json.loads(line)
    head, _, rest = line.partition(b',"details":')
    body = rest[: rest.rindex(b',"hash":')]
    assert line == b'%s,"details":%s,"hash":"%s"}' % (head, body, event_codec._hash(head, body).encode())
    forged = event_codec._hash(head, body + b",")
    other = b'%s,"details":%s,"hash":"%s" }' % (head, body, forged.encode())
    assert (json.loads(other), event_codec.decode_record(other)[1]) == (facts | {"hash": forged}, False)


def test_a_chain_of_two_logs_is_not_verified_at_the_place_where_they_meet(state):
    path = write(state, 5)
    other = write(state, 5, "other")
    lines = [*path.read_bytes().splitlines(True)[:3], *other.read_bytes().splitlines(True)[3:]]
    path.write_bytes(b"".join(lines))
    found = verify(path)
    assert not found.ok
    assert [(item.line, item.reason) for item in found.damage] == [
        (4, "record 4 does not follow record 3: the chain is broken")
    ]


def test_a_mark_explains_only_the_bytes_that_it_names(state):
    path = write(state, 3)
    path.write_bytes(path.read_bytes()[:-9])
    with SessionLog.reopen(state, "s"):
        pass
    assert verify(path).ok
    torn = path.read_bytes().split(b"\n")[2]
    path.write_bytes(path.read_bytes().replace(torn, torn.replace(b"event 3", b"event 9")))
    with pytest.raises(LogError, match="line 3"):
        read_strict(path)


def test_a_line_longer_than_any_record_is_not_held_in_memory(state, monkeypatch):
    monkeypatch.setattr(limits, "LOG_LINE_BYTES", 1_000)
    path = write(state)
    long = b"x" * 300_000
    damaged(path, lambda lines: [*lines[:2], long, *lines[2:]])
    records, damage = read_lenient(path)
    assert len(records) == 5
    assert [(item.line, item.length, item.sha256) for item in damage] == [
        (3, 300_000, hashlib.sha256(long).hexdigest())
    ]
    path.write_bytes(path.read_bytes() + long)
    assert len(read_lenient(path)[0]) == 5


@given(data=st.data())
def test_a_fuzzed_log_still_gives_every_line_that_was_not_touched(tmp_path_factory, data):
    path = write(tmp_path_factory.mktemp("fuzz") / ".rails", 8)
    lines = path.read_bytes().split(b"\n")[:-1]
    hit = data.draw(st.sets(st.integers(0, 7), max_size=4))
    for number in hit:
        at = data.draw(st.integers(0, len(lines[number]) - 1))
        junk = data.draw(st.binary(min_size=1, max_size=12)).replace(b"\n", b"\0")
        lines[number] = lines[number][:at] + junk + lines[number][at + len(junk) :]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    records, damage = read_lenient(path)
    untouched = {f"event {number + 1}" for number in range(8) if number not in hit}
    repeated = {item.reason for item in damage if "repeats" in item.reason}
    assert repeated or untouched <= {record.message for record in records}


def test_a_follower_gets_what_has_come_and_waits_for_a_line_in_flight(state):
    with SessionLog.create(state) as log:
        tail = Tail(log.path)
        assert list(tail.read()) == []
        log.append(UnknownEvent("TOOL_STATUS", "one"))
        log.append(UnknownEvent("TOOL_STATUS", "two"))
        (first,) = tail.read(limit=1)
        assert (first.offset, first.record.message) == (0, "one")
        assert [row.record.message for row in tail.read()] == ["two"]
        assert list(tail.read()) == []
        resumed = Tail(log.path, tail.position)
        log.append(UnknownEvent("TOOL_STATUS", "three"))
        (row,) = resumed.read()
        with log.path.open("rb") as file:
            file.seek(row.offset)
            assert json.loads(file.read(row.length))["message"] == "three"
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + b'{"v":1,')
    assert list(resumed.read()) == []
    assert verify(log.path).in_flight == 7


def test_a_follower_reports_damage_with_its_place(state):
    path = write(state)
    damaged(path, lambda lines: [*lines[:2], b"junk", *lines[2:]])
    items = list(Tail(path).read())
    assert [type(item) for item in items] == [LogRow, LogRow, Damage, LogRow, LogRow, LogRow]
    assert (items[2].line, items[2].length) == (3, 4)
    assert str(items[2]) == f"line 3 (byte {items[2].offset}, 4 bytes): it is not complete JSON"


def test_the_head_of_the_chain_shows_that_records_were_cut_off(state):
    path = write(state)
    noted = verify(path).end
    assert noted == Position(len(path.read_bytes()), 5, 5, read_strict(path)[-1].hash)
    damaged(path, lambda lines: lines[:3])
    assert verify(path).ok
    assert verify(path).end.hash != noted.hash


def test_a_verification_is_true_only_for_a_whole_log_and_says_what_is_wrong(state):
    path = write(state, 3)
    assert verify(path)
    assert str(verify(path)).startswith("whole: 3 records, the last has the hash ")
    path.write_bytes(path.read_bytes() + b"torn")
    assert "4 bytes after the last record" in str(verify(path))
    SessionLog.reopen(state, "s").close()
    assert verify(path)
    assert "torn by a crash and marked as such: line 4" in str(verify(path))
    damaged(path, lambda lines: lines[1:])
    assert not verify(path)
    assert str(verify(path)).startswith("DAMAGED: 3 records")


def test_the_list_of_sessions_reads_only_the_ends(state):
    write(state, 2, "a")
    with SessionLog.create(state, session_id="b") as log:
        log.append(UnknownEvent("WORKFLOW_START", "Start", {"task": "add a flag"}))
        log.append(UnknownEvent("WORKFLOW_END", "done: 1 file changed"))
    (state / "sessions" / "empty").mkdir()
    (state / "sessions" / "file").write_text("")
    (state / "sessions" / "link").symlink_to(state / "sessions" / "a")
    (state / "sessions" / "junk").mkdir()
    (state / "sessions" / "junk" / "log.jsonl").write_bytes(b"\0\0\0\n")
    first, second, junk = sessions(state)
    assert (first.session_id, first.task, first.outcome, first.records) == ("a", "event 1", "", 2)
    assert (second.task, second.outcome, second.size) == ("add a flag", "done: 1 file changed", log.path.stat().st_size)
    assert second.started <= second.last
    assert (junk.session_id, junk.records) == ("junk", 0)
    assert sessions(state / "nowhere") == ()


def test_an_unreadable_log_is_a_clear_error(tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(LogError, match="cannot be read"):
            read_lenient(path)
