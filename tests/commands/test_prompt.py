"""``ai-rails prompt``: a chat that follows the page is read."""

import json

import pytest

import rails
from rails.cli import main
from rails.core.builtin_tools import EDIT_FILE, WRITE_FILE
from rails.parsing.parse import parse
from rails.session.project import registry_of


def test_the_page_s_own_examples_are_read_as_it_says(capsys, tmp_path):
    assert main(["prompt"]) == 0
    page = capsys.readouterr().out
    shapes = registry_of(tmp_path).shapes()
    found = parse(page, shapes, report_unread_calls=True)
    assert [(one.tool_name, one.parameters["file_path"]) for one in found.requests] == [
        (EDIT_FILE.name, "src/app.py"),
        (WRITE_FILE.name, "src/new.py"),
    ]


def test_the_tools_of_an_agent_are_its_own_system_prompt(capsys, tmp_path):
    assert main(["prompt", "--tools", "--agent", "coder", "--project", str(tmp_path)]) == 0
    assert '"tool_name": "read_file"' in capsys.readouterr().out


def test_what_an_agent_is_sent_is_printed_in_each_protocol_with_its_tokens(capsys, tmp_path):
    for protocol in ("native", "json", "edits", "whole"):
        assert main(["prompt", "--agent", "coder", "--protocol", protocol, "--project", str(tmp_path)]) == 0
        printed = capsys.readouterr()
        assert printed.out.startswith("You are the Coder Agent.")
        assert ('"additionalProperties":false' in printed.out) is (protocol == "native")
        assert " tokens" in printed.err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_an_answer_that_an_editor_of_windows_saved_is_read(capsys, tmp_path, encoding):
    (tmp_path / "answer.md").write_text("### src/new.py\n\n```python\nx = 'é'\n```\n", encoding)
    assert main(["parse", str(tmp_path / "answer.md"), "--json", "--project", str(tmp_path)]) == 0
    (request,) = json.loads(capsys.readouterr().out)["requests"]
    assert request["parameters"] == {"file_path": "src/new.py", "content": "x = 'é'\n"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "The answer is empty."),
        ("See:\n\n```python\nx = 1\n```\n", "Line 3: the fence names no file."),
        ("```\na\n```\n\n```py\nb\n```\n\n```sh\nls\n```\n", "Lines 1, 5: these fences name no file."),
        ("Nothing to do.", "No valid JSON code block found. What is read"),
    ],
)
def test_who_pastes_what_holds_nothing_is_told_what_was_passed_over(tmp_path, answer, told):
    done = rails.apply(answer, tmp_path, approve=lambda _: True)
    assert done.status == "refused"
    assert told in done.previous_tool_output


def test_where_nobody_can_be_asked_the_model_is_not_to_blame(capsys, tmp_path):
    (tmp_path / "answer.md").write_text("src/new.py\n```python\nx = 1\n```\n")
    assert main(["apply", str(tmp_path / "answer.md"), "--project", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "Nobody is here to approve this" in shown
    assert "Nothing was written." in shown
    assert "Give this back" not in shown
