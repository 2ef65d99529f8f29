"""Runs of a tool: several alike are one question, and a human may change the parameters of one."""

import io
import json

import pytest

from rails.approval.policy.grants import Grants
from rails.approval.terminal.approver import Choices, TerminalApprover
from rails.commands.common import revalidated
from rails.core.app_dirs import builtin_folder
from rails.tools.loader import load_definitions

ECHO = {
    "tool_name": "note",
    "description": "Write a line into notes.txt.",
    "request_schema": {
        "type": "object",
        "properties": {"line": {"type": "string", "maxLength": 20}},
        "required": ["line"],
        "additionalProperties": False,
    },
    "transport": {"type": "command", "command": ["sh", "-c", 'echo "$0" >> notes.txt', "{line}"]},
    "access_control": {"coder": "permissioned_access"},
}


@pytest.fixture
def noting(work):
    folder = work.own
    folder.mkdir()
    (folder / "note.json").write_text(json.dumps(ECHO), "utf-8")
    return work


def notes(*lines):
    return "".join(f"```json\n{json.dumps({'tool': 'note', 'line': line})}\n```\n" for line in lines)


def human(typed, **choices):
    out = io.StringIO()
    return TerminalApprover(io.StringIO(typed), out, accept_pipe=True, width=100, choices=Choices(**choices)), out


def written(done):
    file = done.project / "notes.txt"
    return file.read_text("utf-8").split() if file.exists() else []


def test_after_one_that_failed_the_others_are_not_run(noting, monkeypatch):
    definition = noting.own / "note.json"
    definition.write_text(definition.read_text("utf-8").replace("notes.txt", "notes.txt; false"), "utf-8")
    approver, _ = human("approve\n")
    done = noting(notes("one", "two"), "I see.", approver=approver)
    assert written(done) == ["one"]


def edit_to(text):
    return lambda paths: [path.write_text(text, "utf-8") for path in paths]


def editing(noting, typed, text):
    registry = load_definitions([builtin_folder("mcp_definitions"), noting.own], trusted_folders=[noting.own])
    return human(
        typed,
        grants=Grants(),
        editor=edit_to(text),
        revalidate=lambda request, words: revalidated(request, words, registry),
    )


def test_the_human_may_change_the_parameters_and_the_agent_is_told_exactly_what(noting):
    approver, out = editing(noting, "e\napprove\n", '{"line": "mine"}')
    done = noting(notes("yours"), "I see.", approver=approver)
    assert written(done) == ["mine"]
    assert "edited by the human" in out.getvalue()
    assert "The human changed your proposal" in done.told[0]
    assert '-  "line": "yours"' in done.told[0]
    assert '+  "line": "mine"' in done.told[0]
    assert '+  "line": "mine"' in done.events("HUMAN_DECISION")[0]["account"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"line": "far too long for what the definition allows"}', "maxLength"),
        ('{"lines": "x"}', "Did you mean `line`?"),
        ("[1]", "JSON object"),
        ("{line: 1}", "is not JSON"),
        ('{"line": "yours"}', "Nothing was changed."),
    ],
)
def test_parameters_that_the_definition_does_not_allow_are_not_taken(noting, text, said):
    approver, out = editing(noting, "e\nd no\n", text)
    done = noting(notes("yours"), "I see.", approver=approver)
    assert written(done) == []
    shown = out.getvalue()
    assert said in shown or (said == "maxLength" and "at most 20" in shown), shown[-600:]
