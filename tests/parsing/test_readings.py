"""One reading of a damaged block is found; of two, the target's language chooses one, or the block is refused."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.source import language_of, parses
from rails.parsing.parse import parse
from tests.rows import walked

from .conftest import SHAPES

F = "```"


def read(block, tools=SHAPES):
    found = parse(f"{F}json\n{block}\n{F}\n", tools)
    return [dict(one.parameters) for one in found.requests], list(found.refusals)


def written(inside, path="a.py"):
    return f'{{"tool": "write_file", "path": "{path}", "content": "{inside}"}}'


TWO = {
    "a share": (r"\\srv\Share", "a.txt"),
    "a class": (r"\\d \d", "a.md"),
    "a share in Python": (r"p = r'\\srv\Share'\n", "a.py"),
    "raw lines beside an escape": ("one\ntwo\\nthree\n", "a.txt"),
    "raw lines beside an escape, both valid": ("x = '''\n\\n'''\n", "a.py"),
    "all in one comment, or lines": (r"# A\nM = re.compile(br'\r\n|\d')\n", "a.py"),
}
ONE = {
    "regex in Python": (r"import re\nP = re.compile(r'\d+')\n", "a.py", "import re\nP = re.compile(r'\\d+')\n"),
    "pasted Python": ("a = 1\nprint('x\\ny')\n", "a.py", "a = 1\nprint('x\\ny')\n"),
    "JSON with an escape of its own": ('{\n\\"a\\": \\"x\\ny\\"}\n', "a.json", '{\n"a": "x\\ny"}\n'),
    "TOML": ("[a]\nb = 'x'\nc = \\\"y\\nz\\\"\n", "a.toml", "[a]\nb = 'x'\nc = \"y\\nz\"\n"),
}


@walked("name", TWO)
def test_backslashes_with_two_readings_are_refused_with_the_remedy(name):
    requests, (refusal,) = read(written(*TWO[name]))
    assert not requests
    assert refusal.code == "mixed_escapes"
    assert ": the backslashes of a string" in refusal.message
    assert "Write every backslash of the text twice" in refusal.hint
    assert '<tool name="write_file">' in refusal.hint


@walked("name", ONE)
def test_the_reading_that_parses_in_the_targets_language_is_taken(name):
    inside, path, content = ONE[name]
    assert read(written(inside, path)) == ([{"path": path, "content": content}], [])


@walked(
    "tail",
    [
        *("\nThis writes {x}.", " // writes { and }", "\n[/TOOL_CALLS]", "<|im_end|>", "\n# a {b} c", "\n(see {docs})"),
        *("\n✅ Wrote {x}.", "\n=> {x}"),
    ],
)
def test_prose_and_tokens_behind_a_block_may_hold_braces(tail):
    assert read(written("x") + tail)[0] == [{"path": "a.py", "content": "x"}]


@walked("tail", ['\nfoo {y} bar"}', "\nit {x", '\n, "path": "b"', "\n... rest {x}"])
def test_what_could_be_the_rest_of_the_block_is_no_remark(tail):
    requests, refusals = read(written("x") + tail)
    assert not requests
    assert refusals


@walked(
    ("block", "content"),
    [
        ('{"tool": "write_file", "path": "a.py", "content": `print("x")\ny`}', 'print("x")\ny'),
        ('{"tool": "write_file", "path": "a.py", "content": """print("x")\ny"""}', 'print("x")\ny'),
        ("{'tool': 'write_file', 'path': 'a.py', 'content': '''print(\"x\")\ny'''}", 'print("x")\ny'),
        (F + "json\n" + written("x") + "\n" + F, "x"),
        ('{"tool" "write_file", "path": "a.py", "content": "x"}', "x"),
        ('{"tool" => "write_file", "path" => "a.py", "content" => "x"}', "x"),
        ('"tool": "write_file", "path": "a.py", "content": "x"', "x"),
        ('"tool": "write_file"\n"path": "a.py"\n"content": "x"', "x"),
        ('{"tool": "write_file", path": "a.py", "content": "x"}', "x"),
        ('{"tool": "write_file", "path: "a.py", "content": "x"}', "x"),
        (
            r'{"tool": "write_file", "path": "a.py", "content": "print(\"a\")\nprint("b")\n"}',
            'print("a")\nprint("b")\n',
        ),
    ],
)
def test_faults_with_one_reading_are_repaired(block, content):
    assert read(block) == ([{"path": "a.py", "content": content}], [])


def test_two_strings_in_a_row_are_never_one():
    tools = {"note": {"type": "object", "properties": {}}}
    for block in ('{"tool": "note", "r":"A""ans":"Y"}', '{"tool": "note", "r": "A" "ans": "Y"}'):
        requests, refusals = read(block, tools)
        assert not [one for one in requests if "ans" not in one]
        assert requests or refusals


def test_a_path_on_a_line_of_its_own_loses_the_layout_around_it():
    text = '<tool name="write_file">\n  <path>\n    a.py\n  </path>\n  <content>\n    x\n  </content>\n</tool>\n'
    (request,) = parse(text, SHAPES).requests
    assert request.parameters == {"path": "a.py", "content": "    x"}


def test_every_refusal_names_place_and_remedy():
    _, (refusal,) = read('{"tool": "write_file", "path": "a.py", "content": "say "hi", "path": ok"}')
    assert 'line 2, column 57: a " inside the string is not escaped' in refusal.message
    assert 'Write \\" for every quotation mark' in refusal.hint


@walked(
    ("path", "good", "bad"),
    [
        ("a.py", "x = 1\n", "x = = 1"),
        ("a.json", '{"a": 1}', "{a: 1}"),
        ("a.toml", "a = 1", "a = "),
        ("a.yaml", "a: 1", "a: [1"),
    ],
)
def test_a_text_parses_in_its_language_or_not(path, good, bad):
    assert parses(good, language_of(path)) is True
    assert parses(bad, language_of(path)) is False
    assert parses(good, language_of("a.md")) is None


@given(st.text(alphabet="ab \\\"'\n{}[]:,dn`$", max_size=40))
def test_any_content_is_read_as_it_was_or_refused(content):
    """Raw line ends and escaped quotation marks only: backslashes are escaped properly."""
    inside = json.dumps(content, ensure_ascii=False)[1:-1].replace("\\n", "\n") if "\\" not in content else ""
    requests, refusals = read(written(inside, "a.txt"))
    assert refusals or requests == [{"path": "a.txt", "content": content if inside else ""}]


FOUND = [
    ('{"tool": "write_file", "path": "a.py", "content": """x = 1"""}', "x = 1"),
    ("{'tool': 'write_file', 'path': 'a.py', 'content': '''x = \"1\"'''}", 'x = "1"'),
    ('{"tool" "write_file" "path": "a.py", "content": "x"}', "x"),
    ('tool: "write_file", path: "a.py", content: "x"', "x"),
    ('"path": "a.py", "tool": "write_file", "content": "x"', "x"),
    ('"tool": "write_file", "arguments": {"path": "a.py", "content": "x"}', "x"),
    ('{tool": "write_file", "path: "a.py", "content": "x"}', "x"),
    ("{'tool': 'write_file', 'path: 'a.py', content': 'x'}", "x"),
]


@walked(("block", "content"), FOUND)
def test_further_faults_with_one_reading_are_repaired(block, content):
    assert read(block) == ([{"path": "a.py", "content": content}], [])


def test_a_string_that_should_be_json_may_hold_unescaped_quotation_marks():
    tools = {
        "put": {
            "type": "object",
            "properties": {"config": {"type": "object"}, "path": {}},
            "required": ["config", "path"],
        }
    }
    for inner in ('{"a": 1}', '{"a": {"b": "c"}, "d": []}'):
        (request,), _ = read(f'{{"tool": "put", "config": "{inner}", "path": "a"}}', tools)
        assert request == {"config": json.loads(inner), "path": "a"}


@walked(
    "block",
    [
        '{“tool”: “write_file”, “path”: “a.json”, “content”: “{"a": "b", "c": 1}”}',
        '{"tool": "write_file", "path": "a.md", "content": """x = 1"""}',
        "tool: write_file\npath: a.py\ncontent: x",
        '{"tool" == "write_file", "path" = "a.py", "content" = "x"}',
    ],
)
def test_two_readings_stay_refused(block):
    requests, refusals = read(block)
    assert not requests
    assert refusals


QUOTED = {
    "a docstring alone": ("a.py", '"""A "module" of this.\n\nAnd more.\n"""\n'),
    "a docstring that begins on the next line": ("a.py", '"""\nA "module" of this.\n"""\nx = 1\n'),
    "a comment of stars behind tabs": ("a.js", 'class A {\n\t/**\n\t * Says "a".\n\t */\n\tb() {}\n}\n'),
    "comments alone": ("a.js", '/** Says "a". */\n/** And "b". */\n'),
    "a text behind tabs": ("a.js", 'f("a");\nlet x = `\n\ty\n`;\n'),
    "a list of marks": ("a.js", 'const A = [\n  "[",\n  "\\\\",\n  "]"\n];\n'),
    "a line that ends with an address": ("a.py", '"""About "a".\n\nhttps://example.org/\n"""\n\n# "b"\nx = 1\n'),
    "tabs in a comment of stars": ("a.js", '/**\n * Says "a",\n * \t\tand "b".\n */\nf();\n'),
    "a file with a sentence between apostrophes": ("a.md", "f('Reading...');\nA \"word\".\n"),
    "strings that are joined": ("a.py", 'A = "a"+"b"\nB = "c"+"d"\n'),
    "an object's keys": ("a.json", '{\n  "a": ["b", "c"],\n  "d": {"e": 1}\n}\n'),
}


#: Their line ends may be escapes of a string, or their marks ends of the block's own.
MAY_BE_REFUSED = (
    "a text behind tabs",
    "a list of marks",
    "an object's keys",
    "a line that ends with an address",
    "tabs in a comment of stars",
)


@walked("name", QUOTED)
@walked("how", ["escaped lines", "raw lines", "the first pair only"])
def test_unescaped_marks_in_a_text_of_a_language_are_read_or_refused(name, how):
    path, text = QUOTED[name]
    inside = text if "\\" in text or how == "raw lines" else text.replace("\n", "\\n").replace("\t", "\\t")
    if how == "the first pair only":
        inside = json.dumps(text)[1:-1].replace('\\"', '"', 2)
    requests, refusals = read(written(inside, path))
    assert [one["content"] for one in requests] == [text] or (refusals and not requests)
    assert requests or how == "the first pair only" or name in MAY_BE_REFUSED
