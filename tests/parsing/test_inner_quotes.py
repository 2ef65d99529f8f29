"""Unescaped quotation marks inside strings: read where one reading alone is a call, refused otherwise."""

from rails.parsing.parse import parse
from tests.rows import walked

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


@walked("text", READ)
def test_c4_05_inner_quotes_are_read_where_one_reading_alone_is_a_call(text):
    for block in blocks(text):
        found = parse(f"{F}json\n{block}\n{F}\n", SHAPES)
        assert [request.parameters for request in found.requests] == [{"path": "a.md", "content": text}], block
        assert "inner_quotes" in [note.name for note in found.requests[0].repairs]


@walked("text", REFUSED)
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


EDIT = {"path": TEXT, "old_string": TEXT, "new_string": TEXT}
EDITS = {
    "edit_file": {
        "type": "object",
        "properties": EDIT,
        "required": list(EDIT),
        "additionalProperties": False,
    },
    "multi_edit": {
        "type": "object",
        "properties": {"edits": {"type": "array", "items": {"type": "object", "properties": EDIT,
                                                            "required": list(EDIT), "additionalProperties": False}}},
        "required": ["edits"],
        "additionalProperties": False,
    },
}  # fmt: skip
#: Name of a file, a fragment as it stands in the block, and what it is read as; None where it has no one reading.
FRAGMENTS = [
    ("a.py", r'__all__ = [\"A"]\n', '__all__ = ["A"]\n'),
    ("a.py", r'f("a\"b")', r'f("a\"b")'),
    ("a.py", r'    x = rb"a\\" + "b"', r'    x = rb"a\\" + "b"'),
    ("a.py", "s = \"a\"\nprint(f'{s}\\d')  # all", "s = \"a\"\nprint(f'{s}\\d')  # all"),
    ("a.js", r'const a = require(\"./a");\nconst b = 1;', 'const a = require("./a");\nconst b = 1;'),
    ("a.ts", r'x: { type: "integer\", least: 0 },', 'x: { type: "integer", least: 0 },'),
    ("a.json", r'  \"type\": "git",\n  "url\": \"x\"', '  "type": "git",\n  "url": "x"'),
    ("a.toml", r'  a = [\"b", "c\"]\n', '  a = ["b", "c"]\n'),
    ("a.py", r'x = "a', None),  # a mark is missing, or one too many
    ("a.py", r'x = \"a\""', None),
    ("a.py", r'    ""\n    Docs.', None),  # a third mark may be missing
    ("a.py", r'x = ""a""', None),
    ("a.py", r'y = \"a\" + "b', None),
    ("a.py", r'# say \"hi" there', None),  # in a comment no mark needs a partner
    ("a.js", r'const r = /\"a"/;', None),
    ("a.js", r'`say \"hi"`', None),
    ("a.md", r'say \"hi" there', None),  # no language judges
    ("a.py", "y = \"a\"\\nx = b'\\n'", None),  # a line end between apostrophes is none of the layout
]


@walked(("path", "raw", "text"), FRAGMENTS)
def test_marks_of_a_fragment_are_read_where_each_of_its_lines_pairs_them_up_in_one_way(path, raw, text):
    for key in ("old_string", "new_string"):
        other = "new_string" if key == "old_string" else "old_string"
        for members in (f'"{key}": "{raw}", "{other}": "z"', f'"{other}": "z", "{key}": "{raw}"'):
            block = f'{{"tool": "edit_file", "path": "{path}", {members}}}'
            found = parse(f"~~~json\n{block}\n~~~\n", EDITS)
            assert [one.parameters[key] for one in found.requests] == ([text] if text is not None else []), block
            assert found.requests or found.refusals


def test_the_next_edits_of_a_list_are_no_part_of_a_text():
    item = '{{"path": "{0}.js", "old_string": "let {0} = "x";", "new_string": "let {0} = "y";"}}'
    block = f'{{"tool": "multi_edit", "edits": [{item.format("a")}, {item.format("b")}, {item.format("c")}]}}'
    (request,) = parse(f"~~~json\n{block}\n~~~\n", EDITS).requests
    assert [one["new_string"] for one in request.parameters["edits"]] == [f'let {one} = "y";' for one in "abc"]
