"""Unescaped quotation marks inside strings: read where one reading alone is a call, refused otherwise."""

import pytest

from rails.parsing.parse import parse

F = "```"
TEXT = {"type": "string"}
SHAPES = {
    "write_file": {
        "type": "object",
        "properties": {"path": TEXT, "content": TEXT},
        "required": ["path", "content"],
        "additionalProperties": False,
    }
}
READ = [
    'print("hello")\n',
    '"""A module."""\n\nx = 1\n',
    'def f():\n    """Doc."""\n    return {"path": "a", "content": b}\n',
    '{"tool": "run_code", "code": "ls"}',
    '{"name": "demo", "scripts": {"test": "jest"}}\n',
    '@app.route("/", methods=["GET"])\ndef i(): return "ok"\n',
    '<a href="//cdn/x.js" style="#abc">\n',
    'f("}")\n',
    'f("{", "}")\n',
    '"use strict";\nlet a = "b";\n',
    'ends with a "quote"',
    'a 12" ruler',
    'x["a"]["b"] = "c"\n',
]
#: Each could have been meant otherwise: marks doubled, tripled or lost, a member swallowed, strings joined.
REFUSED = [
    'x = ""',
    'x = ""\ny = ""\n',
    '"quoted"',
    '""quoted""',
    'a "b',
    'b" a',
    '"12" ruler',
    '12" ruler"',
    'a" + "b',
    'a" "b',
    'a", "b',
    '", "path": "b.py',
    'x = {, "path": "b"',
    '"}',
]


def blocks(text):
    for raw in (text.replace("\n", "\\n"), text):
        yield f'{{"tool": "write_file", "path": "a.md", "content": "{raw}"}}'
        yield f'{{"tool": "write_file", "content": "{raw}", "path": "a.md"}}'
        yield f'{{\n  "tool": "write_file",\n  "arguments": {{"path": "a.md", "content": "{raw}"}}\n}}'


@pytest.mark.parametrize("text", READ)
def test_c4_05_inner_quotes_are_read_where_one_reading_alone_is_a_call(text):
    for block in blocks(text):
        found = parse(f"{F}json\n{block}\n{F}\n", SHAPES)
        assert [request.parameters for request in found.requests] == [{"path": "a.md", "content": text}], block
        assert "inner_quotes" in [note.name for note in found.requests[0].repairs]


@pytest.mark.parametrize("text", REFUSED)
def test_c4_05_inner_quotes_that_could_mean_something_else_are_refused(text):
    for block in blocks(text):
        found = parse(f"{F}json\n{block}\n{F}\n", SHAPES)
        assert not found.requests, block
        assert found.refusals


def test_a_member_that_may_be_missing_leaves_two_readings():
    shapes = {"write_file": {**SHAPES["write_file"], "required": ["content"]}}
    text = f'{F}json\n{{"tool": "write_file", "content": "say "hi"", "path": "a.md"}}\n{F}\n'
    (refusal,) = parse(text, shapes).refusals
    assert refusal.code == "ambiguous"
    assert parse(text, SHAPES).requests[0].parameters == {"content": 'say "hi"', "path": "a.md"}


def test_a_block_that_ends_at_either_of_two_fence_lines_is_refused_whole():
    answer = '```json\n{"tool": "write_file", "path": "a.md", "content": "5" pipe\nend "}\n\n```\nend "}\n\n```\n'
    found = parse(answer, SHAPES)
    assert not found.requests
    (refusal,) = found.refusals
    assert (refusal.code, refusal.start, refusal.end) == ("ambiguous", 0, len(answer) - 1)
    assert "a fence line where a string seems to be open, and it can be read in two ways" in refusal.message
