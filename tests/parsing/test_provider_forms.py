"""The forms that models were trained to write are calls without being named, whole or without their last brace."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.parsing.parse import parse
from tests.rows import walked

from .conftest import SHAPES

F = "```"
TOOLS = {**SHAPES, "run_tests": {"type": "object", "properties": {"arguments": {"type": "array"}}}}
ARGUMENTS = {
    "write_file": {"file_path": "a.py", "content": "x = 1\n"},
    "edit_file": {"file_path": "a.py", "old_string": "a", "new_string": "b", "replace_all": False},
    "delete_file": {"file_path": "a.py"},
    "run_code": {"code": "print({})", "timeout": 5},
    "run_tests": {},
}
FORMS = {
    "tool": lambda name, arguments: {"tool": name, "arguments": arguments},
    "name": lambda name, arguments: {"name": name, "arguments": arguments},
    "parameters": lambda name, arguments: {"name": name, "parameters": arguments},
    "function": lambda name, arguments: {"type": "function", "function": {"name": name, "arguments": arguments}},
    "text": lambda name, arguments: {"function": {"name": name, "arguments": json.dumps(arguments)}},
    "tool_use": lambda name, arguments: {"type": "tool_use", "id": "1", "name": name, "input": arguments},
    "tool_calls": lambda name, arguments: {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]},
}
BARE = sorted(set(FORMS) - {"tool"})


def read(text):
    found = parse(text, TOOLS)
    return [(one.tool_name, dict(one.parameters)) for one in found.requests], [one.code for one in found.refusals]


@given(
    st.sampled_from(sorted(ARGUMENTS)),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from([None, 2]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "I do it.\n\n"]),
)
def test_a_call_in_any_of_them_is_read_without_its_last_brace_and_with_words_of_python(
    tool, form, indent, whole, python, before
):
    arguments = ARGUMENTS[tool]
    body = json.dumps(FORMS[form](tool, arguments), indent=indent)
    body = body if whole else body[:-1]
    body = body.replace(": false", ": False") if python else body
    assert read(f"{before}{F}json\n{body}\n{F}\nDone.\n") == ([(tool, arguments)], [])
    if form in BARE:
        assert read(f"{before}{body}\n") == ([(tool, arguments)], [])


@walked(
    "text",
    [
        '{"name": "Ann", "arguments": {"a": 1}}',
        '{"name": "read_file", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}',
        '{"name": "read_file", "arguments": {"type": "object", "properties": {"path": {}}}}',
        '{"name": "read_file", "version": 1, "arguments": {"path": "a"}}',
        '{"name": "read_file"}',
    ],
)
def test_data_and_descriptions_of_tools_are_no_calls(text):
    assert read(f"{F}json\n{text}\n{F}\n") == ([], [])
    assert read(f"{text}\n") == ([], [])


@walked("wrap", ["x = {}\n", "`{}`\n", "> {}\n", "So {} it is.\n", F + "\n{}\n" + F + "\n"])
def test_such_json_behind_text_or_shown_is_no_call(wrap):
    assert read(wrap.format('{"name": "read_file", "arguments": {"path": "a"}}'))[0] == []


def test_a_broken_one_is_refused_with_its_cause():
    (refusal,) = parse(f'{F}json\n{{"name": "read_file", "arguments": {{"path": oops}}}}\n{F}\n', TOOLS).refusals
    assert refusal.code == "syntax"
    assert "column 45" in refusal.message
