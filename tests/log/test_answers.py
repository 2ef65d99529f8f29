"""Pending answers beside a log: one answer for each asking, genuine or nothing, and only while the run is alive."""

import json
import multiprocessing

import pytest

from rails.approval.pending import PendingAnswers, answer_key, is_being_written
from rails.core.errors import LogError
from rails.core.events.base import UnknownEvent
from rails.log.writer import SessionLog

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


def test_an_answer_is_read_as_it_was_left_and_only_for_its_own_question(box):
    assert box.read(7) is None
    assert not box.waiting(7)
    assert box.place(7, YES)
    assert box.waiting(7)
    assert box.read(7) == YES
    assert box.read(8) is None


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
        racer.join(20)
    assert box.read(7)["reason"] == str(won.get(timeout=5))
    assert won.empty()


FORGED = [
    b"",
    b"{",
    b"[]",
    b'{"answer": {}, "code": ""}',
    json.dumps({"answer": json.dumps(YES), "code": "0" * 64}).encode(),
    json.dumps({"answer": 7, "code": None}).encode(),
    b"\xff" * 10,
    b"[" * 100_000,
]


@pytest.mark.parametrize("data", FORGED, ids=range(len(FORGED)))
def test_what_is_not_genuine_is_nothing(box, log, data):
    file_of(log).write_bytes(data)
    assert box.read(7) == {}


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
    assert not is_being_written(log.state, "no-such-session")


def test_a_run_without_a_box_takes_none(log):
    box = PendingAnswers(log.state, log.session_id, KEY)
    assert not box.listening
    with pytest.raises(LogError, match="cannot be left"):
        box.place(7, YES)


def test_the_key_is_made_once_for_the_user_alone(tmp_path):
    key = answer_key(tmp_path / "config")
    assert len(key) == 32
    assert answer_key(tmp_path / "config") == key
    assert (tmp_path / "config" / "answers.key").stat().st_mode & 0o077 == 0
    (tmp_path / "config" / "answers.key").write_bytes(b"short")
    with pytest.raises(LogError, match="not a key"):
        answer_key(tmp_path / "config")


def test_a_key_that_cannot_be_kept_is_said(tmp_path):
    (tmp_path / "config").write_text("a file where the folder would be")
    with pytest.raises(LogError, match="cannot be kept"):
        answer_key(tmp_path / "config")
