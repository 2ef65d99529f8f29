"""Pending answers beside a log: one answer for each asking, genuine or nothing, and only while the run is alive."""

import hashlib
import hmac
import json
import multiprocessing
import os

import pytest

from rails.approval import pending
from rails.approval.pending import PendingAnswers, answer_key, is_being_written
from rails.core import limits, lock
from rails.core.errors import LogError
from rails.core.events.base import UnknownEvent
from rails.log.writer import SessionLog
from tests.rows import walked

KEY = b"k" * 32
YES = {"do": "approve", "digest": "d" * 64}


@pytest.fixture
def log(tmp_path):
    with SessionLog.create(tmp_path / ".rails") as log:
        log.append(UnknownEvent("WORKFLOW_START", "x"))
        yield log


@pytest.fixture
def box(log):
    box = PendingAnswers(log.state, log.session_id, KEY)
    box.listen()
    return box


def file_of(log, number=7):
    return log.path.parent / "answers" / f"{number}.json"


def test_an_answer_is_read_as_it_was_left_and_only_for_its_own_question(box, log):
    assert box.read(7) is None
    assert not box.waiting(7)
    assert box.place(7, YES)
    assert box.waiting(7)
    assert box.read(7) == YES
    assert box.read(8) is None
    letter = json.loads(file_of(log).read_text())
    signed = hmac.new(KEY, f"{log.session_id}\n7\n{letter['answer']}".encode(), hashlib.sha256)
    assert letter["code"] == signed.hexdigest(), "the key is what signs"


def test_the_first_answer_stays(box):
    assert box.place(7, YES)
    assert not box.place(7, {"do": "deny"})
    assert box.read(7) == YES
    box.discard(7)
    assert box.place(7, {"do": "deny"})


def _place(state, session_id, number, won):
    if PendingAnswers(state, session_id, KEY).place(7, {"do": "deny", "reason": str(number)}):
        won.put(number)


def test_of_many_processes_exactly_one_answers(box, log):
    context = multiprocessing.get_context("fork")
    won = context.Queue()
    racers = [context.Process(target=_place, args=(log.state, log.session_id, n, won)) for n in range(6)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert box.read(7)["reason"] == str(won.get(timeout=60))
    assert won.empty()


FORGED = [
    b"",
    b"{",
    b"[]",
    b'{"answer": {}, "code": ""}',
    b'{"answer": "{}"}',
    b'{"code": ""}',
    b'"{}"',
    b"7",
    b"null",
    b'{"answer": "\\ud800", "code": "\\ud800"}',
    json.dumps({"answer": json.dumps(YES), "code": "0" * 64}).encode(),
    json.dumps({"answer": 7, "code": None}).encode(),
    b"\xff" * 10,
    b"[" * 100_000,
]


@walked("data", FORGED)
def test_what_is_not_genuine_is_nothing(box, log, data):
    file_of(log).write_bytes(data)
    assert box.read(7) == {}


@walked("body", ["[]", "7", "null", '"x"', "{", "[" * 100_000])
def test_what_carries_the_right_code_and_is_no_answer_is_nothing(box, log, body):
    code = box._code(7, body)
    file_of(log).write_text(json.dumps({"answer": body, "code": code}))
    assert box.read(7) == {}


def test_one_that_only_asks_is_no_writer_to_another_that_asks(log):
    log.close()
    with log.path.open("rb") as other:
        assert lock.acquire(other.fileno(), shared=True)
        assert not is_being_written(log.state, log.session_id)


def test_an_answer_of_another_key_question_or_session_is_not_genuine(box, log):
    PendingAnswers(log.state, log.session_id, b"x" * 32).place(7, YES)
    assert box.read(7) == {}
    box.discard(7)
    box.place(8, YES)
    file_of(log, 8).rename(file_of(log, 7))
    assert box.read(7) == {}


def test_a_link_is_not_followed(box, log, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("{}")
    file_of(log).symlink_to(outside)
    assert box.read(7) == {}
    assert not box.place(7, YES)
    assert outside.read_text() == "{}"


def test_answers_are_taken_while_the_run_is_alive(box, log):
    assert is_being_written(log.state, log.session_id)
    assert box.listening
    log.close()
    assert not box.listening
    assert is_being_written(log.state, "no-such-session") is False


def test_a_run_without_a_box_takes_none(log):
    box = PendingAnswers(log.state, log.session_id, KEY)
    assert not box.listening
    with pytest.raises(LogError, match="cannot be left"):
        box.place(7, YES)


def test_the_key_is_made_once_for_the_user_alone(tmp_path, monkeypatch):
    folder = tmp_path / "home" / "config"
    key = answer_key(folder)
    assert len(key) == 32
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "answers.key").stat().st_mode & 0o077 == 0
    with monkeypatch.context() as full_disk:
        full_disk.delattr("rails.approval.pending.atomic_file.create")
        assert answer_key(folder) == key, "what is there is read and not written again"
    (folder / "answers.key").write_bytes(b"short")
    with pytest.raises(LogError, match="not a key"):
        answer_key(folder)


def test_a_key_that_cannot_be_kept_is_said(tmp_path):
    (tmp_path / "config").write_text("a file where the folder would be")
    with pytest.raises(LogError, match=r"The key for answers cannot be kept in .*config: File exists$"):
        answer_key(tmp_path / "config")


@walked("name", ["", "..", "a/b", "../x", "x" * 200])
def test_what_is_no_session_has_no_answers(tmp_path, name):
    with pytest.raises(LogError) as told:
        PendingAnswers(tmp_path, name, KEY)
    assert str(told.value) == f"{name[:80]!r} is not the name of a session"
    assert list(tmp_path.iterdir()) == []


def test_an_answer_is_read_up_to_its_bound(box, log, monkeypatch):
    box.place(7, YES)
    size = file_of(log).stat().st_size
    spare = -size % 3
    file_of(log).write_bytes(file_of(log).read_bytes() + b" " * spare)
    monkeypatch.setattr(limits, "PAGE_BODY_BYTES", (size + spare) // 3)
    assert box.read(7) == YES
    file_of(log).write_bytes(file_of(log).read_bytes() + b" ")
    assert box.read(7) == {}


def test_what_the_disk_refuses_is_told_in_its_words(log, tmp_path, monkeypatch):
    box = PendingAnswers(log.state, log.session_id, KEY)
    (log.path.parent / "answers").write_text("a file where the box would be")
    not_left = r"The answer cannot be left in .*answers: Not a directory\. Nothing was done\.$"
    for call, words in (
        (box.listen, r"Answers cannot be taken in .*answers: Not a directory$"),
        (lambda: box.place(7, YES), not_left),
    ):
        with pytest.raises(LogError, match=words):
            call()
    assert not box.listening
    assert box.read(7) == {}
    box.discard(7)


def test_asking_whether_a_run_is_alive_and_making_the_key_leave_no_descriptor_open(box, log, tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc here")

    def work():
        is_being_written(log.state, log.session_id)
        answer_key(tmp_path / "config")
        box.place(7, YES)
        box.read(7)
        box.discard(7)

    work()
    before = len(os.listdir("/proc/self/fd"))
    work()
    assert len(os.listdir("/proc/self/fd")) == before
    assert not box.waiting(7)


def test_words_are_heard_once_and_only_those_of_now(box, monkeypatch):
    assert box.heard(0.0) == ""
    monkeypatch.setattr("rails.approval.pending.time.time", lambda: 50.0)
    assert box.say("first")
    assert not box.say("second"), "the first were not heard yet"
    assert (box.heard(49.9), box.heard(49.9)) == ("first", "")
    assert box.say("late")
    assert (box.heard(50.0), box.heard(49.9)) == ("", ""), "what is older was said already, and is gone"


@pytest.mark.parametrize("letter", [{}, {"words": "x"}, {"words": "x", "at": "9"}, {"words": 1, "at": 9.0}])
def test_words_of_another_form_are_none(box, letter):
    assert box.place(pending._WORDS, letter)
    assert box.heard(1.0) == ""


def test_the_run_says_when_it_hears(box, log):
    assert not box.hearing
    box.hear(on=True)
    assert box.hearing
    box.hear(on=False)
    box.hear(on=False)
    assert not box.hearing
    with pytest.raises(LogError, match=r"Messages cannot be taken in .*answers: No such file or directory$"):
        PendingAnswers(log.state, "none", KEY).hear(on=True)


def test_an_error_without_words_of_its_own_is_still_told(box, tmp_path, monkeypatch):
    def odd(*_, **__):
        raise OSError("odd")

    monkeypatch.setattr("rails.approval.pending.files.folder", odd)
    for call, words in (
        (box.listen, r"Answers cannot be taken in .*: odd$"),
        (lambda: box.place(7, YES), r"cannot be left in .*: odd\. Nothing was done\.$"),
    ):
        with pytest.raises(LogError, match=words):
            call()
    monkeypatch.setattr("pathlib.Path.touch", odd)
    with pytest.raises(LogError, match=r"Messages cannot be taken in .*: odd$"):
        box.hear(on=True)
    monkeypatch.setattr("rails.approval.pending.atomic_file.create", odd)
    with pytest.raises(LogError, match=r"The key for answers cannot be kept in .*: odd$"):
        answer_key(tmp_path / "other")


def test_nobody_is_heard_by_a_run_that_has_ended_or_whose_log_cannot_be_asked(box, log, monkeypatch):
    box.hear(on=True)
    with monkeypatch.context() as broken:

        def failing(*_, **__):
            raise OSError("odd")

        broken.setattr("rails.approval.pending.lock.acquire", failing)
        assert (box.listening, box.hearing) == (False, False)
        assert is_being_written(log.state, log.session_id) is False
    assert (box.listening, box.hearing) == (True, True)
    log.close()
    assert (box.listening, box.hearing) == (False, False)
