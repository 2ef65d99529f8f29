"""Every value that a model's correction changed is named, old and new; what only moved or was requoted is not."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.core.events.record import event_of
from rails.projections.corrections import correction_of
from rails.review.reports.turn import difference
from tests.rows import walked


def seen(details):
    return correction_of(event_of("CORRECTION", "", details))


def block(value, *, raw=None):
    return f"```json\n{raw if raw is not None else json.dumps(value)}\n```"


def changes(before, after, **more):
    found = seen({"id": "t1.1", "before": before, "after": after, "taken": True, "why": "", **more})
    return [(change.place, change.old, change.new) for change in found.changes]


FLAT = {"tool": "write_file", "path": "a.py", "content": "limit = 10\n"}
WRAPPED = {
    "type": "tool_request",
    "tool_name": "write_file",
    "parameters": {"file_path": "a.py", "content": "limit = 10\n"},
}


def test_the_same_request_in_another_form_is_no_change():
    assert changes(block(FLAT), block(WRAPPED)) == []
    torn = block(None, raw='{"tool": "write_file", "path": "a.py", "content": "limit = 10\\n",}')
    assert changes(torn, block(FLAT)) == []


@walked(
    ("after", "expected"),
    [
        ({**FLAT, "content": "limit = 100\n"}, [("content", '"limit = 10\\n"', '"limit = 100\\n"')]),
        ({**FLAT, "path": "b.py"}, [("path", '"a.py"', '"b.py"')]),
        ({**FLAT, "mode": "append"}, [("mode", None, '"append"')]),
        ({"tool": "write_file", "path": "a.py"}, [("content", '"limit = 10\\n"', None)]),
        ({**FLAT, "tool": "delete_file"}, [("tool", '"write_file"', '"delete_file"')]),
    ],
)
def test_a_changed_added_or_dropped_value_is_named_with_what_it_was(after, expected):
    assert changes(block(FLAT), block(after)) == expected


def test_a_number_that_became_text_is_a_change():
    assert changes(block({"tool": "t", "n": 1}), block({"tool": "t", "n": "1"})) == [("n", "1", '"1"')]
    assert changes(block({"tool": "t", "n": 1}), block({"tool": "t", "n": True})) == [("n", "1", "true")]


def test_values_inside_lists_have_a_place():
    before = {"tool": "multi_edit", "edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "d"}]}
    after = {"tool": "multi_edit", "edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "e"}]}
    assert changes(block(before), block(after)) == [("edits[1].new", '"d"', '"e"')]


def test_a_block_that_cannot_be_read_leaves_what_the_harness_named_with_the_old_value_where_it_stands():
    before = block(None, raw='{"tool": "write_file" "content": "limit = 10" ]]')
    found = changes(before, block({**FLAT, "content": "limit = 100"}), drift=["content = 'limit = 100'", "odd"])
    assert [(place, new) for place, _, new in found][-1] in [("content", "'limit = 100'"), ("content", '"limit = 100"')]


def test_no_answer_changes_nothing():
    assert changes(block(FLAT), "") == []


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.one_of(st.text(), st.integers(), st.booleans(), st.none())))
def test_a_request_corrected_to_itself_never_changed(value):
    assert changes(block(value), f"Here it is:\n{block(value)}") == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_anything_at_all_can_be_read(before, after):
    seen({"before": before, "after": after, "drift": [before, 3], "taken": "yes"})


def test_long_values_are_shown_around_their_first_difference():
    old, new = difference("x" * 500 + "10", "x" * 500 + "100")
    assert old.startswith("…x")
    assert old.endswith("10")
    assert new.endswith("100")
    assert difference(None, "1") == ("(none)", "1")
