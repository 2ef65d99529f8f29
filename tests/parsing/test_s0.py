"""C3: the S0 validator's interface and words."""

import json

from rails.parsing.call_formats.s0 import validate_json_tool_block
from tests.rows import walked

F = "```"


def check(block):
    return validate_json_tool_block(f"{F}json\n{block if isinstance(block, str) else json.dumps(block)}\n{F}")


WRITE = {"tool": "write_file", "path": "a", "content": "x"}


@walked(
    "block",
    [
        WRITE,
        {**WRITE, "content": ""},
        {"tool": "delete_file", "path": "a", "reason": "x"},
        {"tool": "edit_file", "path": "a", "search_replace": {"old_string": "x", "new_string": ""}},
    ],
)
def test_c3_16_a_good_block_is_valid(block):
    assert check(block) == {"isValid": True, "errors": [], "parsedJson": block}


@walked(
    ("block", "errors"),
    [
        ("", ["Empty JSON content"]),
        ({}, ['Missing "tool" field', 'Missing or invalid "path" field (must be string)']),
        (
            {"tool": "create_file", "path": "a"},
            ["Invalid tool type: create_file. Must be write_file, delete_file, or edit_file"],
        ),
        ({"tool": "write_file", "path": "a"}, ['write_file tool requires "content" field']),
        ({**WRITE, "content": 5}, ['write_file tool requires "content" field']),
        ({**WRITE, "path": "   "}, ['Missing or invalid "path" field (must be string)']),
        ({**WRITE, "path": 5}, ['Missing or invalid "path" field (must be string)']),
        ({"tool": "edit_file", "path": "a"}, ['edit_file tool requires "search_replace" field']),
        ({"tool": "edit_file", "path": "a", "search_replace": "x"}, ['edit_file tool requires "search_replace" field']),
        (
            {"tool": "edit_file", "path": "a", "search_replace": {"old_string": "", "new_string": "x"}},
            ['edit_file tool requires "search_replace" field'],
        ),
        ("null", ['Missing "tool" field', 'Missing or invalid "path" field (must be string)']),
        (
            {"tool": "write_file"},
            ['Missing or invalid "path" field (must be string)', 'write_file tool requires "content" field'],
        ),
    ],
)
def test_c3_12_all_errors_come_together_in_the_original_words(block, errors):
    assert check(block)["errors"] == errors
    assert check(block)["isValid"] is False


EDIT = {"tool": "edit_file", "path": "a", "search_replace": {"old_string": "x", "new_string": "y"}}
BY_LINE = {
    "c3_03 no tool": ({"path": "a"}, 'Missing "tool" field'),
    "c3_04 the known tools are listed": ({**WRITE, "tool": "rm"}, "Must be write_file, delete_file, or edit_file"),
    "c3_05 a blank path": ({**WRITE, "path": " "}, 'Missing or invalid "path" field'),
    "c3_05 an empty path": ({**WRITE, "path": ""}, 'Missing or invalid "path" field'),
    "c3_05 a path of another type": ({**WRITE, "path": ["a"]}, 'Missing or invalid "path" field'),
    "c3_06 no content": ({"tool": "write_file", "path": "a"}, 'write_file tool requires "content" field'),
    "c3_06 content of a wrong type": ({**WRITE, "content": None}, 'write_file tool requires "content" field'),
    "c3_07 further fields": ({"tool": "delete_file", "path": "a", "reason": "x"}, ""),
    "c3_08 a text for the pair": ({**EDIT, "search_replace": "x"}, 'edit_file tool requires "search_replace" field'),
    "c3_08 a number for a text": ({**EDIT, "search_replace": {"old_string": "x", "new_string": 5}}, "search_replace"),
    "c3_09 empty content": ({**WRITE, "content": ""}, ""),
    "c3_10 nothing instead": ({**EDIT, "search_replace": {"old_string": "x", "new_string": ""}}, ""),
    "c3_10 instead of nothing": ({**EDIT, "search_replace": {"old_string": "", "new_string": "y"}}, "search_replace"),
    "c3_13 no old_string": ({**EDIT, "search_replace": {"new_string": "y"}}, "search_replace"),
}


@walked("line", BY_LINE)
def test_each_line_of_the_validators_table(line):
    block, said = BY_LINE[line]
    found = check(block)
    assert found["isValid"] is (not said)
    assert [error for error in found["errors"] if said in error] == found["errors"]


def test_c3_01_without_a_fence_there_is_no_block():
    assert validate_json_tool_block(json.dumps(WRITE))["errors"] == ["No valid JSON code block found"]


def test_c3_02_a_syntax_error_is_told():
    found = check('{"tool": }')
    assert found["errors"][0].startswith("JSON parsing error: ")
    assert "line 1, column 10" in found["errors"][0]
    assert found["parsedJson"] is None


def test_c1_01_a_fence_closed_on_its_line_is_found():
    assert validate_json_tool_block(f"{F}json\n{json.dumps(WRITE)}{F}")["isValid"]


def test_c3_18_a_typical_block_takes_under_a_millisecond(cpu_seconds):
    content = "x = 1\n" * 150
    block = f"{F}json\n{json.dumps({**WRITE, 'content': content})}\n{F}"
    assert cpu_seconds(lambda: validate_json_tool_block(block), rounds=20) < 0.001
