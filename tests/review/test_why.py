"""A line is traced to the edit, the request and the decision that made it, and doubt is said."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rails.core.changes import unified_diff
from rails.core.text import sha256
from rails.projections.session import session_view
from rails.review.reports.line_history import line_history, line_history_as_text
from tests.rows import walked


def edit(log, turn, before, after, path="app.py", *, reason=""):
    """The events of a turn that turned ``before`` into ``after``."""
    sides = [None if text is None else text.encode() for text in (before, after)]
    hashes = [None if side is None else sha256(side) for side in sides]
    change = {"path": path, "kind": "modify", "before_sha256": hashes[0], "after_sha256": hashes[1]}
    asked = log.asked()
    decided = log.decided(reason=reason)
    written = log.written()
    asked[1]["diff"] = "\n".join(unified_diff(*sides, path))
    written[1]["changes"] = [change]
    request = log.formulated(f"t{turn}.1")
    request[1]["parameters"] = {"file_path": path}
    return [log.call(turn), log.answer(), request, asked, decided, written, ("CHECKPOINT", {"step": turn})]


def sessions_of(log, *versions, extra=()):
    events = []
    for turn, (before, after) in enumerate(pairwise(versions), start=1):
        events += edit(log, turn, before, after)
    return [session_view(log.records(*events, *extra))]


FIRST = None
SECOND = "a\nb\nc\n"
THIRD = "a\nnew\nb\nc\n"


def test_a_line_leads_to_its_turn_request_and_decision(log):
    views = sessions_of(log, FIRST, SECOND, THIRD)
    story = line_history(views, "app.py", 2, sha256(THIRD.encode()))
    assert story.certain
    assert (story.origin.turn.number, story.origin.line) == (2, 2)
    assert line_history_as_text(story).splitlines() == [
        "app.py:2 was written in session 20261121-230000-abcd, turn 2, as line 2.",
        "  agent     coder (recorded:demo), 2026-11-21 23:00:08 UTC",
        "  request   edit_file: bump a",
        "  decision  approve by human after 4.5 s",
    ]


def test_a_line_that_moved_is_followed_to_where_it_was_written(log):
    story = line_history(sessions_of(log, FIRST, SECOND, THIRD), "app.py", 4)
    assert (story.origin.turn.number, story.origin.line) == (1, 3)


def test_a_line_that_was_there_before_has_no_origin(log):
    story = line_history(sessions_of(log, SECOND, THIRD), "app.py", 3)
    assert (story.origin, story.certain) == (None, True)
    assert "no session wrote this line." in line_history_as_text(story)
    assert line_history([], "app.py", 1).origin is None
    assert line_history(sessions_of(log, SECOND, THIRD), "other.py", 2).origin is None


def test_a_change_outside_of_the_sessions_is_said(log):
    views = sessions_of(log, FIRST, SECOND, THIRD)
    assert "may be another line" in line_history_as_text(line_history(views, "app.py", 2, sha256(b"edited by hand")))
    by_hand = f"{SECOND}by hand\n"
    gap = [*sessions_of(log, FIRST, SECOND), *sessions_of(log, by_hand, f"first\n{by_hand}")]
    story = line_history(gap, "app.py", 5)
    assert (story.origin, story.certain) == (None, False)


def test_undone_steps_do_not_count(log):
    views = sessions_of(log, FIRST, SECOND, THIRD, extra=[("UNDO", {"step": 2})])
    story = line_history(views, "app.py", 2, sha256(SECOND.encode()))
    assert (story.origin.turn.number, story.certain) == (1, True)


def test_a_log_without_the_diff_is_no_ground_for_a_claim(log):
    events = edit(log, 1, FIRST, SECOND)
    events[3][1]["diff"] = ""
    story = line_history([session_view(log.records(*events))], "app.py", 1)
    assert (story.origin, story.certain) == (None, False)


VERSION = st.lists(st.integers(0, 9), max_size=14)


@given(st.lists(VERSION, min_size=2, max_size=4))
def test_every_line_of_every_history_is_found(log, versions):
    """The truth is known: each version's lines are numbered by the version that wrote them first."""
    texts = [None, *("".join(f"{line}\n" for line in version) for version in versions)]
    changed = [texts[0]] + [text for text, last in zip(texts[1:], texts, strict=False) if text != last]
    views = sessions_of(log, *changed)
    lines = (changed[-1] or "").splitlines()
    for number, line in enumerate(lines, start=1):
        origin = line_history(views, "app.py", number, sha256(changed[-1].encode())).origin
        written = changed[origin.turn.number].splitlines()
        assert written[origin.line - 1] == line
        before = (changed[origin.turn.number - 1] or "").splitlines()
        diff = unified_diff("\n".join([*before, ""]).encode(), changed[origin.turn.number].encode(), "app.py")
        assert f"+{line}" in diff


@walked("line", [0, -1, 99])
def test_a_line_that_does_not_exist_has_no_origin(log, line):
    assert line_history(sessions_of(log, FIRST, SECOND), "app.py", line).origin is None
