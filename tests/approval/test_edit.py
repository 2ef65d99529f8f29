"""A human may change the proposal; what comes out is checked again, shown again, and told to the agent."""

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rails.approval.decision import Decision, sign_changes, still_valid
from rails.approval.edit import (
    HumanEditError,
    edit_summary,
    edited,
    edited_run,
    hunks,
    in_editor,
    parameters_in_editor,
    run_editor,
    without_hunks,
)
from rails.core import limits
from rails.core.changes import ChangeSet
from rails.core.errors import StaleError
from rails.core.paths import WorkspacePath
from tests.rows import walked

APP = WorkspacePath("src/app.py")


@pytest.fixture
def judge(make):
    def judge(changes):
        judge.judged.append(changes)
        return make.verdict(
            *changes.changes, status="fail" if any(b"bad" in (c.after or b"") for c in changes.changes) else "pass"
        )

    judge.judged = []
    return judge


def test_an_edited_proposal_is_judged_again_and_has_its_own_digest(make, judge):
    request = make.ask(make.change(proposed=b"a=2\n"))
    again = edited(request, {APP: b"a = 3\n"}, judge)
    assert judge.judged[0].get(APP).after == b"a = 3\n"
    assert judge.judged[0].get(APP).proposed is None
    assert again.digest != request.digest
    assert again.notes[0] == "edited by the human"
    assert again.requests == request.requests
    doubtful = replace(request, doubts=("a doubt",), model="m")
    again = edited(doubtful, {APP: b"a = 3\n"}, judge, from_project=("edit_file",))
    assert (again.doubts, again.model, again.id, again.agent) == (("a doubt",), "m", request.id, request.agent)
    assert any("comes from the project" in risk for risk in again.risks)


def test_the_gates_verdict_on_the_edit_is_what_is_asked_about(make, judge):
    again = edited(make.ask(), {APP: b"bad\n"}, judge)
    assert again.verdict.status == "fail"
    assert again.risks


def test_only_the_edited_request_can_be_signed_with_an_edited_approval(make, judge):
    request = make.ask()
    again = edited(request, {APP: b"a = 3\n"}, judge)
    yes = Decision("approve", "", "human", edited=again)
    with pytest.raises(StaleError, match="edited proposal"):
        sign_changes(request, yes)
    approved = sign_changes(again, yes)
    assert approved.value.get(APP).after == b"a = 3\n"
    assert still_valid(approved, again)
    assert not still_valid(approved, request)


def test_an_edit_that_changes_nothing_or_leaves_nothing_is_no_edit(make, judge):
    with pytest.raises(HumanEditError, match="Nothing was changed"):
        edited(make.ask(), {APP: b"a = 2\n"}, judge)
    for content in (b"a = 1\n", None):
        with pytest.raises(HumanEditError, match="Nothing of the proposal is left"):
            edited(make.ask(), {APP: content}, judge)
    assert judge.judged == []


def test_a_file_that_is_put_back_drops_out(make, judge):
    other = make.change("b.py", None, b"b\n")
    again = edited(make.ask(make.change(), other), {APP: b"a = 1\n"}, judge)
    assert [str(c.path) for c in again.changes.changes] == ["b.py"]


def test_the_agent_is_told_exactly_what_the_human_changed(make, judge):
    request = make.ask(make.change(), make.change("b.py", None, b"b\n"))
    again = edited(request, {APP: b"a = 3\n", WorkspacePath("b.py"): None}, judge)
    assert edit_summary(request, again).splitlines() == [
        "The human changed your proposal before approving it (- your line, + the human's):",
        "b.py: left out; the file stays as it was.",
        "--- src/app.py (yours)",
        "+++ src/app.py (approved)",
        "@@ -1 +1 @@",
        "-a = 2",
        "+a = 3",
    ]
    assert edit_summary(request, request) == ""
    assert edit_summary(request, make.ask(*request.changes.changes, make.change("c.py"))) == "", (
        "what is more is no edit"
    )
    long = make.ask(make.change(after=b"x" * limits.FEEDBACK_CHARS))
    told = edit_summary(request, long).partition("\n")[2]
    assert limits.FEEDBACK_CHARS // 2 * 0.9 < len(told) < limits.FEEDBACK_CHARS // 2 * 1.1
    for mine, other in ((b"\0", b"x\n"), (b"x\n", b"\0")):
        sides = (make.ask(make.change(after=one)) for one in (mine, other))
        assert edit_summary(*sides).splitlines()[1:] == ["src/app.py: replaced by other content that is not text."]


def test_a_run_is_asked_about_with_the_parameters_of_the_human_and_the_agent_is_told_them(make):
    request = replace(make.ask_tool(path="t\xe9sts", fast=True), model="m")

    def edits(places):
        (place,) = places
        assert place.read_text("utf-8") == '{\n  "path": "t\xe9sts",\n  "fast": true\n}\n'
        place.write_bytes(b'{"path": "x\xff"}')

    assert parameters_in_editor(request, edits) == '{"path": "x\ufffd"}'
    other = replace(request.tool_request, parameters={"path": "src", "fast": True})
    again = edited_run(
        request, "typed", lambda asked, text: other if (asked, text) == (request.tool_request, "typed") else ""
    )
    assert (again.tool_request, again.notes, again.model, again.agent) == (
        other,
        ("edited by the human",),
        "m",
        "coder",
    )
    assert edit_summary(request, again).splitlines()[1:] == [
        "--- parameters (yours)",
        "+++ parameters (approved)",
        "@@ -1,4 +1,4 @@",
        " {",
        '-  "path": "t\xe9sts",',
        '+  "path": "src",',
        '   "fast": true',
        " }",
    ]
    for asked, found, words in (
        (make.ask(), other, "There are no parameters to edit."),
        (request, "fast has to be true.", "fast has to be true."),
        (request, request.tool_request, "Nothing was changed."),
    ):
        with pytest.raises(HumanEditError) as told:
            edited_run(asked, "", lambda *_, found=found: found)
        assert str(told.value) == words


def test_what_a_formatter_did_to_an_unedited_file_is_no_edit(make):
    request = make.ask()
    assert edit_summary(request, replace(request, changes=ChangeSet((make.change(proposed=b"a=2\n"),)))) == ""


# -- parts ---------------------------------------------------------------------------------------

BEFORE = b"1\n2\n3\n4\n5\n6\n7\n8\n"
AFTER = b"one\n2\n3\nnew\n4\n5\n6\n7\n"


def test_parts_can_be_left_out(make):
    change = make.change(before=BEFORE, after=AFTER)
    assert hunks(change) == [(["1\n"], ["one\n"]), ([], ["new\n"]), (["8\n"], [])]
    assert without_hunks(change, {1}) == b"one\n2\n3\n4\n5\n6\n7\n"
    assert without_hunks(change, {0, 2}) == b"1\n2\n3\nnew\n4\n5\n6\n7\n8\n"
    assert without_hunks(change, set()) == AFTER
    assert without_hunks(change, {0, 1, 2}) is None


def test_byte_order_mark_line_ends_and_a_missing_last_newline_survive(make):
    change = make.change(before=b"\xef\xbb\xbfa\r\nb\r\nc", after=b"\xef\xbb\xbfA\r\nb\r\nC")
    assert without_hunks(change, {0}) == b"\xef\xbb\xbfa\r\nb\r\nC"
    assert without_hunks(change, {1}) == b"\xef\xbb\xbfA\r\nb\r\nc"


def test_a_new_or_deleted_file_is_one_part(make):
    assert without_hunks(make.change(before=None, after=b"x\ny\n"), {0}) is None
    assert without_hunks(make.change(before=b"x\ny\n", after=None), {0}) is None


def test_what_is_not_text_cannot_be_taken_in_part(make):
    binary = make.change(before=b"\0", after=b"\0\1")
    assert hunks(binary) == []
    with pytest.raises(HumanEditError, match="not text"):
        without_hunks(binary, {0})
    recoded = make.change(before="\u4e16\nb\nc\n".encode(), after="\xe9\nb\nd\n".encode("latin-1"))
    with pytest.raises(HumanEditError, match=r"src/app\.py changes its encoding; it cannot be taken in part\."):
        without_hunks(recoded, {0})


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d\r"]), max_size=10).map(lambda x: "\n".join(x).encode())


def size(change):
    """How many lines a change takes out and puts in."""
    return sum(len(old) + len(new) for old, new in hunks(change))


@given(LINES, LINES)
def test_leaving_out_parts_one_by_one_leads_back(make, before, after):
    change = make.change(before=before, after=after)
    count = len(hunks(change))
    assert without_hunks(change, set()) == after or not count
    for number in range(count):
        part = without_hunks(change, {number})
        if part is not None:
            # What is left may fall into more parts than before, but less of it differs.
            assert size(replace(change, after=part)) < size(change)
    if count:
        assert without_hunks(change, set(range(count))) is None


# -- the editor ----------------------------------------------------------------------------------


def script(tmp_path, code):
    path = tmp_path / "editor.py"
    path.write_text(f"import os, sys\n{code}\n")
    return f"{sys.executable} {path} --wait"


def test_the_editor_gets_copies_with_their_names_and_gives_back_what_changed(make, monkeypatch, tmp_path):
    code = """
for path in sys.argv[2:]:
    assert os.stat(os.path.dirname(path)).st_uid == os.getuid()
    if path.endswith("app.py"):
        open(path, "a").write("added" + chr(10))
"""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", script(tmp_path, code))
    request = make.ask(make.change(), make.change("b.py", None, b"b\n"), make.change("gone.py", b"x\n", None))
    assert in_editor(request) == {APP: b"a = 2\nadded\n"}


def test_without_an_editor_or_with_one_that_fails_nothing_is_edited(make, monkeypatch, tmp_path):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    with pytest.raises(HumanEditError, match="Set EDITOR"):
        in_editor(make.ask())
    monkeypatch.setenv("EDITOR", str(tmp_path / "missing"))
    with pytest.raises(HumanEditError, match="could not be started"):
        in_editor(make.ask())
    monkeypatch.setenv("EDITOR", script(tmp_path, "sys.exit(3)"))
    with pytest.raises(HumanEditError, match="ended with code 3"):
        run_editor([tmp_path])


def test_the_editor_is_not_started_through_a_shell(make, monkeypatch, tmp_path):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"true ; touch {tmp_path}/owned")
    in_editor(make.ask())
    assert not (tmp_path / "owned").exists()


@walked("what", ["link", "folder", "nothing", "pipe"])
def test_what_does_not_come_back_as_a_file_is_not_read(make, tmp_path, what):
    def editor(paths):
        paths[0].unlink()
        if what == "link":
            paths[0].symlink_to("/etc/passwd")
        elif what == "folder":
            paths[0].mkdir()
        elif what == "pipe":
            os.mkfifo(paths[0])

    with pytest.raises(HumanEditError, match="did not come back"):
        in_editor(make.ask(), editor)


def test_a_proposal_that_only_deletes_cannot_be_edited(make):
    with pytest.raises(HumanEditError, match="only deletes"):
        in_editor(make.ask(make.change(after=None)), lambda paths: None)
