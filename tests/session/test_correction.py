"""Model correction (SPEC C4): one question, nothing taken on trust, every changed value named."""

import json

import pytest

from rails.core.errors import ModelError
from rails.session.correction import _invented

BROKEN = '```json\n{"tool": "write_file", "path": "a.txt", "content": }\n```\n'
UNKNOWN = '```json\n{"tool": "create_file", "path": "a.txt", "content": "hello\\n"}\n```\n'


def block(tool="write_file", path="a.txt", content="hello\n"):
    return f"```json\n{json.dumps({'tool': tool, 'path': path, 'content': content})}\n```\n"


def test_c4_08_correction_is_off_unless_it_is_asked_for(work):
    done = work(BROKEN, "I give up.")
    assert done.events("CORRECTION") == []
    assert len(done.model.asked) == 2


def test_c4_01_the_question_holds_the_block_the_errors_and_the_expected_form(work):
    done = work(UNKNOWN, block(), "Done.", approvals=["approve"], correction="model")
    asked = done.model.asked[1].messages[0].text
    assert '"create_file"' in asked
    assert "write_file" in asked
    assert "ONLY the corrected JSON code block" in asked
    assert "VALIDATION ERRORS FOUND:\n- Error: Requested tool 'create_file' is not defined" in asked
    assert "EXPECTED FORMAT:" in asked
    assert "RULES:\n- Keep the tool, the path and every value exactly as they are" in asked


def test_c4_02_a_correct_answer_is_validated_and_used(work):
    done = work(UNKNOWN, block(), "Done.", approvals=["approve"], correction="model")
    assert (done.project / "a.txt").read_text("utf-8") == "hello\n"
    (facts,) = done.events("TOOL_BLOCK")
    assert (facts["verdict"], facts["validationPassed"], facts["corrected"]) == ("corrected", False, True)
    assert done.events("CORRECTION")[0]["drift"] == ["tool = 'write_file'"], "c4_07: a change is reported"
    assert any("tool = 'write_file'" in note for note in done.events("APPROVAL_REQUESTED")[0]["notes"])


def test_c4_03_an_answer_that_is_still_invalid_is_never_executed(work):
    done = work(UNKNOWN, UNKNOWN, "I give up.", correction="model")
    assert not (done.project / "a.txt").exists()
    assert done.events("CORRECTION")[0]["taken"] is False
    assert "create_file" in done.told[0]
    assert done.events("TOOL_BLOCK")[0]["verdict"] == "failed"


def test_c4_04_the_syntax_is_repaired_first_and_no_model_is_asked_for_it(work):
    trailing = '```json\n{"tool": "write_file", "path": "a.txt", "content": "x",}\n```\n'
    done = work(trailing, "Done.", approvals=["approve"], correction="model")
    assert (done.project / "a.txt").read_text("utf-8") == "x"
    assert done.events("CORRECTION") == []
    assert len(done.model.asked) == 2


def test_c4_09_the_guides_examples_end_as_the_guide_says_and_a_missing_content_is_asked_for(work):
    (work.project / "App.tsx").write_text("hello\n", "utf-8")
    broken = '```json\n{"tool": "write_file", "path": "test.txt", "content": "Line 1\nLine 2"}\n```\n'
    edit = '```json\n{"tool": "edit_file", "path": "App.tsx", "old": "hello", "new": "world"}\n```\n'
    bare = '```json\n{"tool": "write_file", "path": "bare.txt"}\n```\n'
    fixed = "```json\n" + '{"tool": "edit_file", "path": "App.tsx", "old_string": "hello", "new_string": "world"}\n```'
    answers = (broken, edit, fixed, "x", bare, bare)
    done = work(*answers, approvals=["approve"] * 3, correction="model", max_turns=3)
    assert (done.project / "test.txt").read_text("utf-8") == "Line 1\nLine 2"
    assert (done.project / "App.tsx").read_text("utf-8") == "world\n"
    assert not (done.project / "bare.txt").exists()


def test_c4_07_another_file_is_not_a_correction(work):
    done = work(BROKEN, block(path="b.txt"), "I give up.", correction="model")
    assert list(done.project.glob("*.txt")) == []
    assert "b.txt" in done.events("CORRECTION")[0]["why"]


def test_c4_07_another_tool_is_not_a_correction(work):
    done = work(BROKEN, '```json\n{"tool": "delete_file", "path": "a.txt"}\n```', "I give up.", correction="model")
    assert "delete_file" in done.events("CORRECTION")[0]["why"]


EDIT = '```json\n{"tool": "edit_file", "path": "a.txt", "old": "one", %s}\n```\n'


@pytest.mark.parametrize(
    ("broken", "corrected"),
    [
        ('"nwe": 1', {"old_string": "one", "new_string": ""}),
        ('"new": "two",,', {"old_string": "one", "new_string": "three"}),
        ('"new": "two",,', {"old_string": "one", "new_string": "two", "replace_all": True}),
        ('"new": "two",,', {"old_string": "one\n", "new_string": "two", "expected_count": 7}),
        ('"n": " "', {"old_string": "one", "new_string": "\n"}),
        ('"nwe": 1', {"old_string": "one", "new_string": "one"}),
        ('"nwe": 1', {"old_string": "one", "new_string": "a.txt"}),
        ('"new": "f(1, True)",,', {"old_string": "one", "new_string": "f(1, True)", "replace_all": True}),
        ('"new": "true",,', {"old_string": "one", "new_string": "true", "replace_all": True}),
    ],
)
def test_a_value_that_the_block_did_not_hold_is_refused_and_asked_for(work, broken, corrected):
    """Also the empty text: a missing new_string that becomes "" deletes a line."""
    (work.project / "a.txt").write_text("one\n", "utf-8")
    text = json.dumps({"tool": "edit_file", "path": "a.txt", **corrected})
    done = work(EDIT % broken, f"```json\n{text}\n```\n", "I give up.", approvals=["approve"], correction="model")
    assert (done.project / "a.txt").read_text("utf-8") == "one\n"
    assert "it invented" in done.events("CORRECTION")[0]["why"]
    assert done.told


def test_a_value_that_the_block_holds_may_move_and_be_quoted_again(work):
    (work.project / "a.txt").write_text("one\n", "utf-8")
    broken = EDIT % "'new': '', \"all\": True"
    text = json.dumps(
        {"tool": "edit_file", "path": "a.txt", "old_string": "one", "new_string": "", "replace_all": True}
    )
    done = work(broken, f"```json\n{text}\n```\n", "Done.", approvals=["approve"], correction="model")
    assert (done.project / "a.txt").read_text("utf-8") == "\n"


def test_c4_10_a_failure_of_the_model_leaves_the_block_failed(work):
    done = work(BROKEN, ModelError("no service"), "I give up.", correction="model")
    assert "no service" in done.events("CORRECTION")[0]["why"]
    assert not (done.project / "a.txt").exists()


def test_c4_08_off_means_that_not_even_the_syntax_is_repaired(work):
    trailing = '```json\n{"tool": "write_file", "path": "a.txt", "content": "x",}\n```\n'
    done = work(trailing, "I give up.", correction="off")
    assert "nothing is repaired here" in done.told[0]
    assert not (done.project / "a.txt").exists()


#: Values, and a text that each of them is only a part of.
PARTS = (
    ([], "x"),
    ({}, "x"),
    (None, "nullable"),
    (1, "v1.5"),
    (True, "truest"),
    ("tot", "total"),
    ("src/a", "src/a.py"),
    ("one\n", "one\ntwo\n"),
    ("say", 'say "hi" now'),
    ("a:\n    b", "a:\n  b"),
    ("hi", '", "explanation": "hi"'),
    ("", 'name = \\"\\"'),
    ("", "d = {'k': ''}"),
)


def test_what_holds_nothing_and_what_is_a_part_of_something_else_is_invented_too():
    for value, text in PARTS:
        assert _invented({"a": value}, f'"a": "{text}"'), value
        assert not _invented({"a": value}, f'"a": {json.dumps(value)},'), value
        assert _invented({"a": value, "b": value}, f'"a": {json.dumps(value)},'), value
