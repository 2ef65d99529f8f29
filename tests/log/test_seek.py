"""Places in a log that are found without reading all of it, however its lines are."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rails.core.events.base import UnknownEvent
from rails.log import seek
from rails.log.reader import LogRow, Position, Tail
from rails.log.writer import SessionLog


def rows(path, at):
    return [item.record.seq for item in Tail(path, at).read() if isinstance(item, LogRow)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(0, 9_000), min_size=1, max_size=60), bad=st.sets(st.integers(0, 59), max_size=5))
def test_every_record_is_found_by_its_number_whatever_stands_between(tmp_path_factory, lengths, bad):
    log = SessionLog.create(tmp_path_factory.mktemp("log") / ".rails")
    for length in lengths:
        log.append(UnknownEvent("X", "x" * length, {}))
    log.close()
    lines = log.path.read_bytes().splitlines()
    log.path.write_bytes(b"".join((b"torn" if n in bad else line) + b"\n" for n, line in enumerate(lines)))
    there = rows(log.path, Position())
    for number in there:
        found = rows(log.path, seek.before_record(log.path, number, Position()))
        assert [seq for seq in found if seq >= number] == [seq for seq in there if seq >= number]
    assert seek.end_of(log.path).seq == (there[-1] if there else 0)


def test_the_newest_of_a_type_is_a_record_and_no_text_that_looks_like_one(tmp_path):
    log = SessionLog.create(tmp_path / ".rails")
    log.append(UnknownEvent("ASKED", "x", {}))
    log.append(UnknownEvent("OTHER", '"event_type":"ASKED"', {"deep": {"event_type": "ASKED"}}))
    log.close()
    assert seek.newest_of(log.path, "ASKED") == 1
    assert seek.newest_of(log.path, "NEVER") is None
    (tmp_path / "empty").touch()
    assert seek.newest_of(tmp_path / "empty", "ASKED") is None
    assert seek.end_of(tmp_path / "empty") == Position()


@pytest.mark.parametrize("tail", [b'{"v":1,"seq":9', b"\0\0\0\n", b""])
def test_the_end_is_behind_the_last_record(tmp_path, tail):
    log = SessionLog.create(tmp_path / ".rails")
    log.append(UnknownEvent("X", "x", {}))
    log.close()
    size = log.path.stat().st_size
    log.path.write_bytes(log.path.read_bytes() + tail)
    assert seek.end_of(log.path).offset == size
