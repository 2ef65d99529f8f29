"""Blocks that two writers would have meant differently are refused; the only text that a language takes is read."""

from rails.parsing.parse import parse
from tests.rows import walked

from .conftest import SHAPES


def read(content, path="a.py", tool="write_file", key="content"):
    """Return what the value of ``key`` is read as, and the refusals; ``content`` stands in the block as it is."""
    block = f'{{"tool": "{tool}", "path": "{path}", "{key}": {content}}}'
    found = parse(f"~~~json\n{block}\n~~~\n", SHAPES)
    return [one.parameters.get(key) for one in found.requests], found.refusals


@walked(
    ("path", "content"),
    [
        ("a.py", r"""'# they''re here\nx = 1\n'"""),  # doubled, as in SQL
        ("a.js", r'''"// say ""hi"" twice\nlet x = 1;\n"'''),
        ("a.py", '""""""Doc."""\nx = 1\n"""'),  # three marks around a text that begins with three
        ("a.py", r'''""\"\"\"Doc.\"\"\"\nx = 1\n"'''),  # one mark too many
        ("a.js", r'''"let x = 1;\n// the end""'''),
        ("a.js", '"""/** Says more.\n *\n * ```js\n * f();\n * ```\n */\n\n"""'),  # nothing but a comment
        ("a.js", r'''"\"use strict\";\n" .. "// made by a program\n" .. "// do not edit\n"'''),
        ("a.js", r'''"\"use strict\";\n" & "// made by a program\n"'''),
        ("a.js", r'''"// with \`make\`\nlet x = 1;\n"'''),
        ("a.js", r'''"const x = /a\$/;\nlet y = 1;\n"'''),
        ("a.sh", r'''"echo \$HOME\n"'''),
        ("a.py", r'''"x = '\033[0m'\n"'''),
        ("a.js", r'''"const x = '\u{1f600}';\n"'''),
        ("a.py", '"a = 1  # one\\\\n\nb = 2\n"'),  # raw line ends beside a doubled escape
    ],
)
def test_two_readings_that_the_language_takes_are_refused(path, content):
    assert read(content, path)[0] == []
    assert read(content, path)[1]


@walked(
    ("path", "content", "text"),
    [
        ("a.js", r'''"const x = \`a\${b}\`;\n"''', "const x = `a${b}`;\n"),
        ("a.js", r'''"const x = `a\${b}\``;\n"''', "const x = `a\\${b}\\``;\n"),
        ("a.js", r'''"const a = `x`, r = /[\`]\d/;"''', r"const a = `x`, r = /[\`]\d/;"),
        ("a.js", "`const a = \\`b\\${c}\\`;\n`", "const a = `b${c}`;\n"),
        ("a.py", '"x = ("a", "b")\ny = f(" ")\n"', 'x = ("a", "b")\ny = f(" ")\n'),
        ("a.py", '"x = \'\'\nprint("")\n"', "x = ''\nprint(\"\")\n"),
    ],
)
def test_the_only_text_that_the_language_takes_is_read(path, content, text):
    assert read(content, path)[0] == [text]


def test_a_path_keeps_no_stray_quotation_mark_whatever_the_text_beside_it_is():
    block = r'{"tool": "write_file", "path": ""src/a.py", "content": "x = 1\n"}'
    assert not parse(f"```json\n{block}\n```\n", SHAPES).requests


@walked("between", [" .. ", " & ", " ~ ", " || ", " <> ", " \\\n", " . ", " + ", " ", "\n"])
def test_strings_that_an_expression_joins_are_never_one_string(between):
    for key in ("old_string", "new_string"):
        other = "new_string" if key == "old_string" else "old_string"
        block = f'{{"tool": "edit_file", "path": "a.md", "{key}": "one\\n"{between}"two\\n", "{other}": "x"}}'
        assert not parse(f"```json\n{block}\n```\n", SHAPES).requests


REMARKS = [
    *(
        "-- {end}",
        "<!-- {end} -->",
        "; {end}",
        "→ {x}",
        "* writes {x}\n* and [y]",
        "- [x] {y}",
        "1. first {x}",
        "**Done** {x}",
    ),
    *("Note: it's {important}.", "// end of {block}", "# {a} and [b]", "/* {done} */", "(see {x})"),
]


@walked("remark", REMARKS)
def test_a_remark_with_braces_behind_the_block_is_left_out(remark):
    block = '{"tool": "write_file", "path": "a.py", "content": "x = {1: 2}\\n"}'
    (request,) = parse(f"```json\n{block}\n{remark}\n```\n", SHAPES).requests
    assert request.parameters == {"path": "a.py", "content": "x = {1: 2}\n"}


@walked("rest", [', "path": "b"}', "{note: x}", '} "x": {', "{x}, [y", "= {x}", '"a" {x}'])
def test_what_may_be_more_of_the_block_is_no_remark(rest):
    block = '{"tool": "write_file", "path": "a.py", "content": "x = 1\\n"}'
    assert not parse(f"```json\n{block}\n{rest}\n```\n", SHAPES).requests


@walked(
    "block",
    [
        """{"tool': "write_file", "path": "a.py", "content": "x"}""",
        """{"tool”: "write_file", "path": "a.py", "content": "x"}""",
        """{"tool": "write_file", "path': "a.py", "content": "x"}""",
        """  "tool": "write_file",\n  "arguments": {"path": "a.py", "content": "x"}""",
    ],
)
def test_a_key_with_another_mark_at_its_end_and_an_indented_block_without_braces_are_read(block):
    (request,) = parse(f"```json\n{block}\n```\n", SHAPES).requests
    assert request.parameters == {"path": "a.py", "content": "x"}
