"""S2's file_editor in all its modes: read in every form of a call, checked, shown and approved like any other edit."""

import json

import pytest

from tests.edits.helpers import save

from ..shipped import styled

BLOCK = "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> updated\n"
DIFF = "--- a/greet.py\n+++ b/greet.py\n@@ -1,2 +1,2 @@\n def greet():\n-    return 1\n+    return 2\n"


def xml(mode, path="greet.py", **fields):
    inner = "".join(f"<{name}>\n{value}</{name}>\n" for name, value in fields.items())
    return f"<file_editor>\n<path>{path}</path>\n<mode>{mode}</mode>\n{inner}</file_editor>\n"


def fence(**call):
    return f"```json\n{json.dumps(call)}\n```\n"


def told(worked):
    return "\n".join(worked.told)


@pytest.fixture
def greet(work):
    return save(work.project, "greet.py", "def greet():\n    return 1\n")


@pytest.mark.parametrize(
    "answer",
    [
        xml("edit", diff=BLOCK.format("    return 1", "    return 2")),
        xml("edit", kodu_diff=BLOCK.format("    return 1", "    return 2"), commit_message="two"),
        xml("edit", diff=DIFF),
        xml("edit", diff=f"```diff\n{DIFF}```\n"),
        f'<tool name="file_editor"><path>greet.py</path><mode>edit</mode><diff>{DIFF}</diff></tool>',
        fence(tool="file_editor", path="greet.py", mode="edit", diff=BLOCK.format("    return 1", "    return 2")),
        fence(
            tool="file_editor",
            params={"path": "greet.py", "mode": "whole_write", "content": "def greet():\n    return 2\n"},
        ),
        xml("whole_write", content="def greet():\n    return 2\n"),
        fence(
            type="tool_request",
            tool_name="file_editor",
            explanation="e",
            parameters={"path": "greet.py", "mode": "edit", "diff": DIFF},
        ),
    ],
)
def test_an_edit_and_a_whole_write_are_approved_and_written_in_every_form(work, greet, answer):
    styled(work.project)
    worked = work(answer, "Done.", approvals=["approve"])
    assert greet.read_text() == "def greet():\n    return 2\n", told(worked)


def test_several_blocks_are_one_change_and_a_block_that_does_not_fit_stops_them_all(work, greet):
    two = BLOCK.format("def greet():", "def hello():") + BLOCK.format("    return 1", "    return 3")
    worked = work(
        xml("edit", diff=two + BLOCK.format("gone", "x")), xml("edit", diff=two), "Done.", approvals=["approve"]
    )
    assert "of 3 edits were made" in told(worked)
    assert greet.read_text() == "def hello():\n    return 3\n"


def test_a_rollback_is_the_file_before_the_last_change_and_a_human_is_asked(work, greet):
    work(xml("edit", diff=DIFF), xml("rollback"), "Done.", approvals=["approve", "approve"])
    assert greet.read_text() == "def greet():\n    return 1\n"


def test_a_rollback_that_is_denied_changes_nothing(work, greet):
    worked = work(xml("edit", diff=DIFF), xml("rollback"), "Done.", approvals=["approve", "deny: keep it"])
    assert greet.read_text() == "def greet():\n    return 2\n"
    assert "keep it" in told(worked)


def test_a_rollback_of_a_file_that_was_made_here_takes_it_away(work):
    work(
        xml("whole_write", path="new.txt", content="one\n"),
        xml("rollback", path="new.txt"),
        "Done.",
        approvals=["approve"] * 2,
    )
    assert not (work.project / "new.txt").exists()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (xml("rollback"), "Nothing that this project did to greet.py is left to undo."),
        (xml("rollback", path=".git/config"), "Not allowed"),
        (xml("rollback", path="../x"), "x"),
        (xml("edit"), "`diff`"),
        (xml("whole_write"), "`content`"),
        (xml("delete"), '"edit", "whole_write"'),
        (xml("edit", diff="no marks\n"), "the diff has no <<<<<<< HEAD block and no @@ hunk"),
        (xml("edit", diff="<<<<<<< HEAD\nx\n"), "no >>>>>>> REPLACE"),
        (xml("edit", diff=DIFF.replace("greet.py", "other.py")), "another file"),
        (xml("edit", diff="--- a/greet.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-def greet():\n"), "another file"),
        (xml("whole_write", content="# ... rest of the code unchanged ...\n"), "greet.py"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_the_reason_and_nothing_changes(work, greet, answer, words):
    worked = work(answer, "Then not.", approvals=[])
    assert words in told(worked)
    assert greet.read_text() == "def greet():\n    return 1\n"


def test_it_is_for_who_may_edit_and_nobody_is_told_of_it(work, greet):
    worked = work(xml("edit", diff=DIFF), "Then not.", tasks=(("debugger", "the task"),))
    assert "may not use it" in told(worked)
    assert "file_editor" not in worked.model.asked[0].system
