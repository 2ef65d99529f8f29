"""Writing the log: form, order, place, permissions, large values, one writer, and what happens when it fails."""

import errno
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import threading
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core import atomic_file, limits, lock
from rails.core.errors import LogError
from rails.core.events.base import UnknownEvent
from rails.core.events.record import DURABLE
from rails.log import blobs, event_codec
from rails.log.reader import read_lenient, read_strict, sessions, verify
from rails.log.writer import SessionLog
from tests.rows import walked


@pytest.fixture
def state(tmp_path):
    return tmp_path / ".rails"


def note(text="x", /, **details):
    return UnknownEvent("TOOL_STATUS", text, details)


def test_a_record_has_the_documented_fields_and_is_one_line(state):
    with SessionLog.create(state) as log:
        written = log.append(
            UnknownEvent("WORKFLOW_START", "Begin", {"task": "a\nb\u2028c", "n": 1}), "coder", "claude"
        )
        log.append(note())
    first, second = (json.loads(line) for line in log.path.read_bytes().split(b"\n")[:2])
    assert set(first) == {
        "v", "seq", "timestamp", "session_id", "agent_role", "llm_model_used", "event_type", "message", "details",
        "prev", "hash",
    }  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first["timestamp"])
    assert (first["v"], first["seq"], first["prev"], first["session_id"]) == (1, 1, "", log.session_id)
    assert (second["seq"], second["prev"]) == (2, first["hash"])
    assert read_strict(log.path)[0] == written


def test_the_hash_can_be_checked_from_the_bytes_alone(state):
    with SessionLog.create(state) as log:
        log.append(note('tricky ,"details": in the message', details='{"details":{}}', hash='","hash":"'))
    line = log.path.read_bytes()[:-1]
    head, rest = line.split(b',"details":', 1)
    body = rest[:-75]
    given = rest[-66:-2].decode()
    assert hashlib.sha256(head + b"\n" + hashlib.sha256(body).hexdigest().encode()).hexdigest() == given


def test_no_character_breaks_a_line_or_reaches_a_screen_raw(state):
    nasty = "a\u2028b\u2029c\x85d\x7f\x00\x1b[31m\u202e\ud800\ufeff é 漢字 🎉\r\n"
    with SessionLog.create(state) as log:
        log.append(note("m", text=nasty, **{nasty: 1}))
    data = log.path.read_bytes()
    assert data.count(b"\n") == 1
    assert len(data.decode().splitlines()) == 1
    assert "漢字 🎉" in data.decode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\ufeff]", data.decode())
    assert read_strict(log.path)[0].details == {"text": nasty, nasty: 1}


def test_session_ids_sort_by_time_and_never_collide(state):
    made = []
    for _ in range(30):
        with SessionLog.create(state) as log:
            made.append(log.session_id)
    assert len(set(made)) == 30
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", name) for name in made)
    assert made == sorted(made), "also within one second"
    assert [item.session_id for item in sessions(state)] == made


def test_a_log_is_new_until_something_is_written(state):
    with SessionLog.create(state, session_id="s") as log:
        assert log.is_new
        log.append(note())
        assert not log.is_new
    with SessionLog.reopen(state, "s") as again:
        assert not again.is_new


def test_a_long_message_is_cut_at_its_bound(state):
    with SessionLog.create(state) as log:
        for length in (1_000, 1_001):
            log.append(note("x" * length))
    first, second = (record.message for record in read_strict(log.path))
    assert first == "x" * 1_000
    assert second.startswith("x" * 900)
    assert second != "x" * 1_001
    assert second.count("x") <= 1_000


def test_names_of_sessions_hold_the_time_down_to_a_fraction_of_the_second(state, monkeypatch):
    class Clock(datetime):
        micro = 0

        @classmethod
        def now(cls, zone=None):
            return datetime(2026, 1, 2, 3, 4, 5, cls.micro, zone)

    monkeypatch.setattr("rails.log.writer.datetime", Clock)
    names = []
    for Clock.micro in (0, 500_000, 999_999):
        with SessionLog.create(state) as log:
            names.append(log.session_id)
            assert log.append(note()).timestamp == f"2026-01-02T03:04:05.{Clock.micro:06}Z"
    assert names == ["20260102-030405-0000", "20260102-030405-8000", "20260102-030405-ffff"]


def test_a_holder_that_left_no_word_is_another_process(state, monkeypatch):
    monkeypatch.setattr(limits, "LOCK_SECONDS", 0.01)
    with SessionLog.create(state, session_id="s") as log:
        (holder,) = (file for file in log.path.parent.iterdir() if file != log.path)
        for forget in (lambda: holder.write_bytes(b""), holder.unlink):
            forget()
            with pytest.raises(LogError, match=r"The session s is being written by another process\."):
                SessionLog.reopen(state, "s")
    holder.write_text("process 1")
    with SessionLog.reopen(state, "s"), pytest.raises(LogError, match=f"being written by process {os.getpid()}\\."):
        SessionLog.reopen(state, "s")


def test_every_folder_of_a_log_is_the_users_alone(state):
    for chosen in (None, "s"):
        with SessionLog.create(state, session_id=chosen) as log:
            folders = (log.path.parent, log.path.parent.parent, state)
            assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 3
            assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_a_chosen_session_id_is_taken_once_and_checked(state):
    SessionLog.create(state, session_id="mine").close()
    with pytest.raises(LogError, match="There is a session mine already"):
        SessionLog.create(state, session_id="mine")
    for wrong in ("../x", "", "a/b", ".", ".hidden", "x" * 65, "a\n"):
        with pytest.raises(LogError):
            SessionLog.create(state, session_id=wrong)
        with pytest.raises(LogError, match="is not the name of a session"):
            SessionLog.reopen(state, wrong)


def test_files_are_private_and_git_does_not_see_them(state):
    os.umask(0o022)
    with SessionLog.create(state) as log:
        log.append(note(big="x" * 20_000))
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [state, *state.rglob("*")]}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert (state / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("place", ["", "sessions", "sessions/s", "sessions/s/log.jsonl", "blobs"])
def test_a_link_in_our_place_is_never_followed(state, tmp_path, place):
    SessionLog.create(state, session_id="s").close()
    (state / "blobs").mkdir()
    target = state / place
    moved = tmp_path / "elsewhere"
    target.rename(moved)
    target.symlink_to(moved)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(LogError), SessionLog.reopen(state, "s") as log:
        log.append(note(big="x" * 20_000))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_pipe_in_the_logs_place_is_refused_and_does_not_hang(state):
    SessionLog.create(state, session_id="s").close()
    path = state / "sessions" / "s" / "log.jsonl"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(LogError, match=r"ordinary file|cannot be opened"):
        SessionLog.reopen(state, "s")


@walked(
    "details",
    [
        {"text": "é" * 50_000},
        {"a": {"b": [{"text": "x" * 5_000}, "y" * 9_000, "short"]}, "n": 5},
        {"many": ["word"] * 5_000, "few": [1, 2]},
        {f"k{n}": "v" * 40 for n in range(500)},
        {f"k{n}": {"v": "w" * 600} for n in range(500)},
        {"p": {"blob": "0" * 64, "bytes": 3, "head": "abc"}},
        {"p": {"blob": "0" * 64, "bytes": 3, "head": "abc"}, "big": ["word"] * 5_000},
        {"deep": [{"p": {"blob": "0" * 64, "bytes": 3, "head": "abc", "json": True}}] * 200},
        {"blob": "0" * 64, "bytes": 3, "head": "abc"},
        {"lone": "\ud800" * 9_000},
        {},
    ],
)
def test_a_large_payload_is_kept_outside_and_read_back_as_it_was(state, details):
    with SessionLog.create(state) as log:
        written = log.append(note("m", **details))
    assert all(len(line) <= limits.INLINE_BYTES + 1_000 for line in log.path.read_bytes().split(b"\n"))
    assert read_strict(log.path)[0].details == details
    assert read_strict(log.path, whole=False) == (written,)


def test_the_record_shows_the_head_and_size_of_what_is_outside(state):
    with SessionLog.create(state) as log:
        pointer = log.append(note("m", text="Grüße " + "x" * 9_000)).details["text"]
    data = ("Grüße " + "x" * 9_000).encode()
    assert pointer["head"].startswith("Grüße xxx")
    assert (pointer["blob"], pointer["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
    assert blobs.load_blob(state, pointer["blob"]) == data


def test_equal_blobs_are_kept_once_and_a_changed_one_is_noticed(state):
    with SessionLog.create(state) as log:
        name = log.blob(b"content")
        assert log.blob(b"content") == name
        log.append(note("m", text="y" * 9_000))
    assert len([path for path in (state / "blobs").rglob("*") if path.is_file()]) == 2
    for path in (state / "blobs").rglob("*/*"):
        path.write_bytes(b"other")
    with pytest.raises(LogError, match="changed after it was stored"):
        blobs.load_blob(state, name)
    with pytest.raises(LogError, match="changed after it was stored"):
        read_strict(log.path)
    with pytest.raises(LogError, match="not the name of a blob"):
        blobs.load_blob(state, "../../etc/passwd")


def test_what_is_not_json_is_refused_before_anything_is_written(state):
    with SessionLog.create(state) as log:
        for wrong in (float("nan"), float("inf"), {1, 2}, object()):
            with pytest.raises((ValueError, TypeError)):
                log.append(note("m", x=wrong))
        log.append(note("good"))
    assert [record.message for record in read_strict(log.path)] == ["good"]


def test_the_chain_goes_on_after_reopening(state):
    with SessionLog.create(state, session_id="s") as log:
        log.append(note("one"))
    for text in ("two", "three"):
        with SessionLog.reopen(state, "s") as log:
            log.append(note(text))
    assert [record.message for record in read_strict(log.path)] == ["one", "two", "three"]
    assert verify(log.path).ok


def test_a_second_writer_is_told_who_holds_the_log(state, monkeypatch):
    monkeypatch.setattr(limits, "LOCK_SECONDS", 0.05)
    with SessionLog.create(state, session_id="s") as log:
        log.append(note("one"))
        with pytest.raises(LogError, match=rf"is being written by process {os.getpid()}"):
            SessionLog.reopen(state, "s")
        code = (
            "import sys; from pathlib import Path; from rails.log.writer import SessionLog\n"
            "SessionLog.reopen(Path(sys.argv[1]), 's')"
        )
        command = [sys.executable, "-c", code, str(state)]
        other = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert other.returncode != 0
        assert f"is being written by process {os.getpid()}" in other.stderr
        log.append(note("two"))
    SessionLog.reopen(state, "s").close()
    assert len(read_strict(log.path)) == 2


def test_of_many_that_want_to_write_at_once_one_may(state, monkeypatch):
    monkeypatch.setattr(limits, "LOCK_SECONDS", 0.0)
    SessionLog.create(state, session_id="s").close()
    opened = []
    refused = []
    ready = threading.Barrier(12)

    def start():
        ready.wait()
        try:
            opened.append(SessionLog.reopen(state, "s"))
        except LogError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(opened), len(refused)) == (1, 11)
    opened[0].append(note("mine"))
    opened[0].close()
    assert len(read_strict(opened[0].path)) == 1


def test_a_file_system_without_hard_links_will_do(state, monkeypatch):
    def no_links(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with SessionLog.create(state) as log:
        assert log.blob(b"x" * 10) == log.blob(b"x" * 10)
        log.append(note("m", text="y" * 9_000))
    assert read_strict(log.path)[0].details == {"text": "y" * 9_000}
    assert not [path for path in state.rglob(".*.*") if path.name != ".gitignore"]


def test_bytes_of_a_stranger_stop_the_writer(state):
    log = SessionLog.create(state)
    log.append(note("one"))
    with log.path.open("ab") as file:
        file.write(b"forged\n")
    for _ in range(2):
        with pytest.raises(LogError, match=r"changed by another program|no longer be written"):
            log.append(note("two"))
    log.close()
    assert log.path.read_bytes().endswith(b"forged\n")


class Disk:
    """Stands between the log and the disk: fails on command, counts what was synced.

    ``room`` is how many bytes of a record it still takes before it is full.
    """

    def __init__(self, monkeypatch):
        self.room = None
        self.fail_sync = False
        self.synced = 0
        self._write = os.write
        self._sync = os.fdatasync
        monkeypatch.setattr(os, "write", self.write)
        monkeypatch.setattr(os, "fdatasync", self.sync)

    def write(self, descriptor, data):
        if self.room is None:
            return self._write(descriptor, data)
        if self.room == 0:
            raise OSError(28, "No space left on device")
        taken = self._write(descriptor, bytes(data)[: self.room])
        self.room = 0
        return taken

    def sync(self, descriptor):
        if self.fail_sync:
            raise OSError(5, "Input/output error")
        self.synced += 1
        self._sync(descriptor)


@pytest.mark.parametrize("taken", [0, 1, 40])
def test_a_full_disk_stops_the_log_and_loses_nothing_before(state, monkeypatch, taken):
    log = SessionLog.create(state, session_id="s")
    log.append(note("one"))
    disk = Disk(monkeypatch)
    disk.room = taken
    with pytest.raises(LogError, match=r"No space left on device\. No tool runs without it"):
        log.append(note("two"))
    disk.room = None
    with pytest.raises(LogError, match="can no longer be written"):
        log.append(note("three"))
    log.close()
    with SessionLog.reopen(state, "s") as log:
        log.append(note("four"))
    assert [record.message for record in read_strict(log.path) if record.event_type != "LOG_RECOVERED"] == [
        "one",
        "four",
    ]
    assert verify(log.path).ok


def test_a_failing_sync_stops_the_log(state, monkeypatch):
    log = SessionLog.create(state)
    disk = Disk(monkeypatch)
    disk.fail_sync = True
    with pytest.raises(LogError, match="Input/output error"):
        log.append(UnknownEvent("EXECUTION_STARTED", "x"))
    disk.fail_sync = False
    with pytest.raises(LogError, match="can no longer be written"):
        log.append(note())
    log.close()


def test_a_disk_that_gives_no_words_for_its_error_is_still_told(state, monkeypatch):
    def odd(*_):
        raise OSError("odd")

    log = SessionLog.create(state)
    monkeypatch.setattr(os, "fdatasync", odd)
    with pytest.raises(LogError, match=r"cannot be written: odd\. No tool runs without it"):
        log.append(UnknownEvent("EXECUTION_STARTED", "x"))
    log.close()


def test_what_an_env_file_of_the_project_calls_secret_is_not_written(state):
    (state.parent / ".env").write_text("SERVICE_PASSWORD=correct-horse-battery\n")
    with SessionLog.create(state) as log:
        log.append(note("it is correct-horse-battery", text="correct-horse-battery"))
    assert b"correct-horse" not in log.path.read_bytes()


def test_a_short_write_is_completed(state, monkeypatch):
    log = SessionLog.create(state)
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:7]))
    log.append(note("a whole record"))
    log.close()
    assert read_strict(log.path)[0].message == "a whole record"


@walked("kind", sorted(DURABLE))
def test_a_durable_record_is_on_the_disk_when_append_returns(state, monkeypatch, kind):
    log = SessionLog.create(state)
    log.group_s = 3600
    disk = Disk(monkeypatch)
    log.append(note())
    assert disk.synced == 0
    log.append(UnknownEvent(kind, "x"))
    assert disk.synced == 1
    log.close()


def test_records_that_keep_coming_are_synced_in_groups(state, monkeypatch):
    log = SessionLog.create(state)
    log.group_s = 0.0
    disk = Disk(monkeypatch)
    log.append(note())
    assert disk.synced == 1
    log.group_s = 3600
    for _ in range(50):
        log.append(note())
    assert disk.synced == 1
    log.sync()
    assert disk.synced == 2
    log.close()


@pytest.mark.parametrize("moment", ["before the write", "after the write"])
def test_an_interrupt_in_the_middle_of_an_append_leaves_a_whole_log(state, monkeypatch, moment):
    log = SessionLog.create(state)
    log.append(note("one"))
    real = atomic_file.write_all

    def interrupted(descriptor, data):
        if moment == "after the write":
            real(descriptor, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_file, "write_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.append(note("two"))
    monkeypatch.setattr(atomic_file, "write_all", real)
    log.append(note("three"))
    log.close()
    expected = ["one", "two", "three"] if moment == "after the write" else ["one", "three"]
    assert [record.message for record in read_strict(log.path)] == expected


def test_threads_may_share_a_log(state):
    with SessionLog.create(state) as log:
        threads = [
            threading.Thread(target=lambda n=n: [log.append(note(f"{n}.{m}")) for m in range(50)]) for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    records = read_strict(log.path)
    assert [record.seq for record in records] == list(range(1, 301))
    assert {record.message for record in records} == {f"{n}.{m}" for n in range(6) for m in range(50)}


def test_a_closed_log_says_so(state):
    log = SessionLog.create(state)
    log.close()
    log.close()
    with pytest.raises(LogError, match="it is closed"):
        log.append(note())


def test_a_state_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match="cannot be created"):
        SessionLog.create(tmp_path / "file" / ".rails")
    with pytest.raises(LogError, match="cannot be opened"):
        SessionLog.reopen(tmp_path / ".rails", "s")


def test_a_line_that_was_written_is_decoded_to_the_same_record():
    line, record = event_codec.encode_record(
        1,
        "t",
        "s",
        agent_role="a",
        llm_model_used="m",
        event_type="E",
        message="m\u2028",
        details={"x": [1.5]},
        prev="",
    )
    assert event_codec.decode_record(line[:-1]) == (record, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(
    details=st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), max_size=5), message=st.text(max_size=30)
)
def test_whatever_is_appended_is_read_back(tmp_path_factory, details, message):
    with SessionLog.create(tmp_path_factory.mktemp("any") / ".rails") as log:
        written = [log.append(note(message, **{"any": value})) for value in details]
    assert read_strict(log.path) == tuple(written)
    assert [record.details["any"] for record in written] == details
    assert verify(log.path)


def removed(path):
    path.unlink()


def folder_removed(path):
    path.parent.rename(path.parent.with_name("gone"))


def replaced_by_the_same(path):
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def replaced_by_a_link(path):
    moved = path.with_name("moved")
    path.rename(moved)
    path.symlink_to(moved)


@pytest.mark.parametrize("happens", [removed, folder_removed, replaced_by_the_same, replaced_by_a_link])
def test_a_log_that_is_gone_or_replaced_takes_nothing_more(state, happens):
    with SessionLog.create(state, session_id="s") as log:
        log.append(note())
        happens(state / "sessions" / "s" / "log.jsonl")
        for _ in range(2):
            with pytest.raises(LogError, match="removed or replaced"):
                log.append(note())


@walked(("at", "end"), [(0, b""), (1, b'{"v":2,"torn'), (2, b""), (2, b'{"v":2,"torn')])
def test_a_log_of_a_newer_format_is_read_and_never_written(state, at, end):
    with SessionLog.create(state) as log:
        for _ in range(3):
            log.append(note())
    path = log.path
    lines = path.read_bytes().splitlines(keepends=True)
    lines[at] = lines[at].replace(b'"v":1', b'"v":2')
    path.write_bytes(b"".join(lines) + end)
    before = path.read_bytes()
    with pytest.raises(LogError, match=r"only read.*newer version"):
        SessionLog.reopen(state, log.session_id)
    assert path.read_bytes() == before
    assert len(read_lenient(path)[0]) == 2


def test_closing_puts_what_was_written_on_the_disk(state, monkeypatch):
    synced = []
    log = SessionLog.create(state, session_id="s")
    log.group_s = 1e9
    log.append(note())
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, synced.append)
    log.close()
    assert synced


@pytest.mark.parametrize("length", [80, 81])
def test_what_stands_in_a_message_is_cut_at_eighty_characters(state, length, monkeypatch):
    monkeypatch.setattr(limits, "LOCK_SECONDS", 0.01)
    name = "!" * length
    shown = repr(name[:80])
    with pytest.raises(LogError, match=f"^{re.escape(shown)} cannot name a session: use letters, digits, dots and"):
        SessionLog.create(state, session_id=name)
    with pytest.raises(LogError, match=f"^{re.escape(shown)} is not the name of a session$"):
        SessionLog.reopen(state, name)
    with SessionLog.create(state, session_id="s") as log:
        (log.path.parent / "writer").write_bytes(b"w" * length)
        with pytest.raises(LogError) as told:
            SessionLog.reopen(state, "s")
    holder = "w" * length if length <= 80 else f"{'w' * 80}… (+{length - 80} characters)"
    assert str(told.value) == f"The session s is being written by {holder}."


def test_why_a_log_cannot_be_made_or_opened_is_said_in_words(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for error, words in ((OSError("odd"), "odd"), (OSError(errno.EIO, "Input/output error"), "Input/output error")):

        def failing(*_, error=error, **__):
            raise error

        with monkeypatch.context() as broken:
            broken.setattr("rails.log.writer.files.folder", failing)
            with pytest.raises(LogError) as told:
                SessionLog.create(tmp_path)
            assert str(told.value) == f"The session log cannot be created in {tmp_path}: {words}"
            with pytest.raises(LogError) as told:
                SessionLog.reopen(tmp_path, "s")
            where = tmp_path / "sessions" / "s"
            assert str(told.value) == f"The session log in {where} cannot be opened: {words}"


@walked("at", [0, 1, 2])
def test_a_whole_record_that_was_changed_is_damage_and_not_a_torn_line_also_the_last(state, at):
    with SessionLog.create(state) as log:
        for words in ("one", "two", "three"):
            log.append(note(words))
    words = (b"one", b"two", b"three")[at]
    changed = log.path.read_bytes().replace(words, b"X" * len(words))
    log.path.write_bytes(changed)
    with pytest.raises(LogError, match=rf"is damaged at line {at + 1} .*Nothing was changed\. Review it"):
        SessionLog.reopen(state, log.session_id)
    assert log.path.read_bytes() == changed


def test_what_an_agent_may_read_of_a_text_is_without_what_is_certainly_a_secret(state):
    secret = "registered-value-9f8e7d6c5b"
    with SessionLog.create(state, secrets=[secret]) as log:
        text = f"a {secret} b; Authorization: Bearer abcdef1234567890; Authorization: Bearer my_token_name"
        shown = log.masked(text)
        kept = log.as_kept(text)
        assert shown.startswith("a «secret:registered:")
        assert "abcdef1234567890" not in shown
        assert shown.endswith("; Authorization: Bearer my_token_name")
        assert "my_token_name" not in kept
        assert log.as_kept("\ud800 x") == "? x"
        key = log.blob(secret.encode())
        assert secret.encode() not in blobs.load_blob(state, key)


def test_a_log_begins_when_no_session_is_being_deleted(state, monkeypatch):
    monkeypatch.setattr(limits, "COLLECTING_SECONDS", 0.01)
    SessionLog.create(state, session_id="a").close()
    left = state / "collecting.lock"
    left.write_bytes(b"")
    SessionLog.create(state, session_id="b").close()
    with lock.held(left, 1) as held:
        assert held
        for call in (lambda: SessionLog.create(state, session_id="c"), lambda: SessionLog.reopen(state, "a")):
            with pytest.raises(LogError) as told:
                call()
            assert str(told.value) == f"Sessions are being deleted in {state}. Try again when that is done."
    SessionLog.reopen(state, "a").close()


def test_a_group_ends_exactly_when_its_time_is_over(state, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("rails.log.writer.time.monotonic", lambda: clock[0])
    log = SessionLog.create(state)
    log.group_s = 2.0
    disk = Disk(monkeypatch)
    for now, synced in ((101.0, 0), (101.9, 0), (102.0, 1), (103.9, 1), (104.0, 2), (104.5, 2)):
        clock[0] = now
        log.append(note())
        assert disk.synced == synced
    log.close()
    assert disk.synced == 3


def test_what_was_written_before_is_on_the_disk_before_a_log_goes_on(state, monkeypatch):
    with SessionLog.create(state, session_id="s") as log:
        log.append(note())
    synced = []
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    with SessionLog.reopen(state, "s") as again:
        assert synced.count(again.path.stat().st_ino) == 1


def test_each_of_several_torn_lines_is_kept_and_explained(state):
    with SessionLog.create(state, session_id="s") as log:
        log.append(note("one"))
    with log.path.open("ab") as file:
        file.write(b'{"v":2,"torn\nhalf\n{"v":2')
    with SessionLog.reopen(state, "s") as log:
        log.append(note("two"))
    records = read_strict(log.path)
    assert [record.event_type for record in records if record.event_type == "LOG_RECOVERED"] == ["LOG_RECOVERED"] * 3
    assert [record.message for record in records if record.event_type != "LOG_RECOVERED"] == ["one", "two"]
    assert b'{"v":2,"torn\nhalf\n{"v":2\n' in log.path.read_bytes()
