"""C4: deterministic repairs, their names, and what is never repaired."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.core import limits
from rails.data_formats.strict_json import JsonFault, ParsedJson, parse_strict
from rails.parsing import readings
from rails.parsing.lenient_tokens import CONFIDENCE
from rails.parsing.parse import parse
from rails.parsing.repairs import repair
from tests.rows import walked

F = "```"


def fenced(body):
    return f"{F}json\n{body}\n{F}\n"


def repaired(text, **options):
    found = repair(text, **options)
    assert isinstance(found, ParsedJson), found
    return found.value, [note.name for note in found.repairs]


@walked(
    ("text", "value", "names"),
    [
        ('{"a": 1,}', {"a": 1}, ["trailing_comma"]),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, ["trailing_comma", "trailing_comma"]),
        ('{"a": "x\ny"}', {"a": "x\ny"}, ["raw_control"]),
        ('{"a": "x\ty\r\nz"}', {"a": "x\ty\r\nz"}, ["raw_control"]),
        ("{'a': 'b'}", {"a": "b"}, ["quote_style"]),
        ("{'a': 'it\\'s \"x\"'}", {"a": 'it\'s "x"'}, ["quote_style"]),
        ("{“a”: “b”}", {"a": "b"}, ["quote_style"]),
        ('{"a": True, "b": None}', {"a": True, "b": None}, ["python_literal", "python_literal"]),
        ('{"a": 1 /* x */, // y\n "b": 2 # z\n}', {"a": 1, "b": 2}, ["comment", "comment", "comment"]),
        ("{a: 1, $b-c: 2}", {"a": 1, "$b-c": 2}, ["bare_key", "bare_key"]),
        ('{"a": 1}}', {"a": 1}, ["extra_closers"]),
        ('{"a": {"b": 1}}]}\n}', {"a": {"b": 1}}, ["extra_closers"]),
        ('{"a": 1}\nThis does it.', {"a": 1}, ["trailing_text"]),
        ('{"a": 1};', {"a": 1}, ["trailing_text"]),
        ('{"a": 1}\n5 files', {"a": 1}, ["trailing_text"]),
        ('json\n{"a": 1}', {"a": 1}, ["leading_text"]),
        ('Here it is:\n{"a": 1}', {"a": 1}, ["leading_text"]),
        ('\ufeff{"a": 1}', {"a": 1}, ["byte_order_mark"]),
        ('{\u00a0"a":\u200b1}', {"a": 1}, ["odd_space", "odd_space"]),
        ('{\\n  "a": 1,\\n  "b": "x\\ny"\\n}', {"a": 1, "b": "x\ny"}, ["literal_newline"] * 3),
        ('{"a": 1\n "b": 2}', {"a": 1, "b": 2}, ["missing_comma"]),
        ('{"a": {"x": 1} "b": 2}', {"a": {"x": 1}, "b": 2}, ["missing_comma"]),
        ('{"a": [{"x": 1}\n{"x": 2}]}', {"a": [{"x": 1}, {"x": 2}]}, ["missing_comma"]),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, ["extra_comma"]),
        ('{"a": "\\d+\\.\\w"}', {"a": "\\d+\\.\\w"}, ["unknown_escape"]),
        ('{"a": "C:\\Projects\\App"}', {"a": "C:\\Projects\\App"}, ["unknown_escape"]),
        ('{"a": "it\\\'s"}', {"a": "it's"}, []),
        ('{\\"a\\": \\"x\\\\ny\\"}', {"a": "x\ny"}, ["double_encoded"]),
        (json.dumps('{"a": "x\\ny"}'), {"a": "x\ny"}, ["double_encoded"]),
        ('{"a": "\\ud83d\\ude00",}', {"a": "😀"}, ["trailing_comma"]),
    ],
)
def test_c4_04_each_repair_is_named_and_gives_the_value(text, value, names):
    assert repaired(text) == (value, names)


def test_c4_06_every_repair_has_a_confidence_and_its_place():
    found = repair('{"a": 1, // x\n "b": \'y\',}')
    assert all(note.confidence == CONFIDENCE[note.name] for note in found.repairs)
    assert [note.offset for note in found.repairs] == [9, 20, 23]
    assert all(0 < value <= 1 for value in CONFIDENCE.values())


@walked(
    ("text", "code"),
    [
        ('{"a": ...}', "elision"),
        ('{"a": 1, ...}', "syntax"),
        ('{"a": [1, // ... and so on\n]}', "elision"),
        ('{"a": 1 /* rest of the file */}', "elision"),
        ('{"a": <content>}', "syntax"),
        ('{"a": b}', "syntax"),
        ('{"a": "x" + "y"}', "inner_quotes"),
        ('{"a": "x" "y"}', "inner_quotes"),
        ('{"a": """x"""}', "inner_quotes"),
        ("{\"a\": '''x'''}", "inner_quotes"),
        ('{"a": `x ${y}`}', "syntax"),
        ('{"a"： ＂b，c"}', "inner_quotes"),
        ('{"a": `x\\d`}', "mixed_escapes"),
        ('{"a": "x"# y"\n}', "inner_quotes"),
        ('{"a": }', "syntax"),
        ('{"a": 1, "a": 2,}', "duplicate_key"),
        ('{"a": NaN,}', "not_a_number"),
        ('{"a": 1e999,}', "number"),
        ('{"a": 007,}', "syntax"),
        ('{"a": "C:\\new\\Data",}', "mixed_escapes"),
        ('{"a": "C:\\Data\\temp",}', "mixed_escapes"),
        ('{"a": "\\u12",}', "ambiguous_escape"),
        (r"{\n'a': 'b\\n'}", "mixed_escaping"),  # escaped once more, but for marks that need no escaping
        ('{"a": "x\\\ny",}', "ambiguous_escape"),
        ('{"a": "\\ud800",}', "surrogate"),
        ('{"a": "x', "unclosed_string"),
        ("{'a': 'x", "unclosed_string"),
        ('{"a": 1', "cut"),
        ('{"a": [1, 2,,]}', "syntax"),
        ('{"a": 1} {"b": 2}', "extra_data"),
        ('{"a": 1}\n5', "extra_data"),
        ('{"a": 1} true null', "extra_data"),
        ('{"a": 1}, "b": 2}', "extra_data"),
        ('{"a": 1}}, "b": 2}', "extra_data"),
        ('return {"a": 1,}', "syntax"),
        ('x = {"a": 1,}', "syntax"),
        ("[" * 100, "depth"),
        ('{\\"a\\": "b"}', "mixed_escaping"),
        ("", "syntax"),
        ("no json", "syntax"),
    ],
)
def test_c4_05_what_has_no_single_reading_is_refused_with_a_code(text, code):
    found = repair(text)
    assert isinstance(found, JsonFault), found
    assert found.code == code
    assert 0 <= found.offset <= len(text)


@walked(
    ("text", "value"),
    [
        ('{"a": {"b": 1}', {"a": {"b": 1}}),
        ('{"a": [1, {"b": "x"', {"a": [1, {"b": "x"}]}),
        ('{"a": [{"b": 1], "c": 2}', {"a": [{"b": 1}], "c": 2}),
        ('{"a": [1, 2}', {"a": [1, 2]}),
        ('{"a": true\n', {"a": True}),
    ],
)
def test_closers_are_added_only_when_nothing_was_cut(text, value):
    assert repaired(text, closers=True)[0] == value
    assert isinstance(repair(text), JsonFault)


@walked("text", ['{"a": "x', '{"a": 12', '{"a": tru', '{"a": 1,', '{"a":', '{"a"', "{", '{"a": [1, 2}, "b": 3}'])
def test_cut_off_text_is_never_closed(text):
    found = repair(text, closers=True)
    assert isinstance(found, JsonFault) or text in ("{",) or text.endswith(",")


def test_a_comma_at_the_end_is_a_cut():
    assert isinstance(repair('{"a": 1,', closers=True), JsonFault)
    assert isinstance(repair("{", closers=True), JsonFault)


def test_closers_that_fit_in_two_places_are_refused(tools):
    body = '{"tool": "CodebaseSummaryMCP", "arguments": {"query": "q", "path": "p"}'
    assert parse(fenced(body), tools).requests[0].parameters == {"query": "q", "path": "p"}
    nested = {
        "t": {
            "type": "object",
            "properties": {"a": {"type": "object"}, "b": {"type": "string"}},
            "additionalProperties": False,
        }
    }
    found = parse(fenced('{"tool": "t", "a": {"x": 1, "b": "y"}'), nested)
    assert not found.requests
    assert found.refusals[0].code == "ambiguous"


def test_missing_closers_wait_for_the_stop_reason(tools):
    text = fenced('{"tool": "run_code", "arguments": {"code": "1"}')
    assert len(parse(text, tools, finish="end_turn").requests) == 1
    found = parse(text, tools, finish="max_tokens")
    assert not found.requests
    assert found.refusals[0].code == "unterminated"


@walked(
    "body",
    [
        '{"tool": "write_file", "path": "a", }',
        '{"tool": "write_file", "path": "a", "content": 5,}',
        '{"tool": "write_file", "path": "a", "content": "x", "mode": 1,}',
        '{"tool": "no_such_tool", "path": "a", "content": "x",}',
    ],
)
def test_c4_05_a_repaired_value_must_fit_the_tool(tools, body):
    found = parse(fenced(body), tools)
    assert not found.requests
    assert found.refusals[0].code == "syntax"


def test_c4_09_a_missing_content_is_never_set(tools):
    found = parse(fenced('{"tool": "write_file", "path": "a"}'), tools)
    assert dict(found.requests[0].parameters) == {"path": "a"}
    assert not parse(fenced("{'tool': 'write_file', 'path': 'a'}"), tools).requests


@walked(
    ("inner", "exact"),
    [
        ('print("hello")', True),
        ('x = {"a": "b"}', True),
        ('say "hi" and "bye", ok', True),
        ('5" pipe', True),
        ('a = "1"\nb = "2"', True),
        ('"a" + "b', False),
        ('a" "b', False),
        ('say ""hi"" now', False),
        ('"" + x', False),
        ('one \\" and "two"', False),
        ('""x""', False),
        ('x"，"timeout"："y', False),
    ],
)
def test_inner_quotes_are_settled_by_the_schema_or_refused(tools, inner, exact):
    found = parse(fenced(f'{{"tool": "run_code", "arguments": {{"code": "{inner}", "timeout": 5}}}}'), tools)
    if exact:
        assert found.requests[0].parameters == {"code": inner, "timeout": 5}
        assert found.requests[0].repairs[0].name == "inner_quotes"
        assert found.requests[0].repairs[0].confidence < 0.9
    else:
        assert not found.requests
        assert found.refusals


@walked("wanted", [{"x": 1}, [{"path": "a", "oldString": "b", "newString": "c"}]])
def test_text_becomes_an_array_only_where_the_schema_asks_for_one(tools, wanted):
    call = json.dumps({"tool": "multi_edit", "edits": json.dumps(wanted)})
    (request,) = parse(fenced(call), tools).requests
    assert request.parameters["edits"] == (wanted if isinstance(wanted, list) else json.dumps(wanted))
    text = json.dumps({"tool": "write_file", "path": "a", "content": json.dumps(wanted)})
    assert parse(fenced(text), tools).requests[0].parameters["content"] == json.dumps(wanted)


@walked(
    ("name", "given", "wanted"),
    [
        ("limit", "5", 5),
        ("limit", "-3", -3),
        ("limit", "5.0", "5.0"),
        ("limit", "007", "007"),
        ("limit", " 5", " 5"),
        ("limit", "1e3", "1e3"),
        ("limit", "five", "five"),
        ("ratio", "0.5", 0.5),
        ("ratio", "1e3", 1000.0),
        ("path", "5", "5"),
        ("path", "true", "true"),
        ("path", "null", "null"),
        ("path", "[1]", "[1]"),
    ],
)
def test_c6_06_numbers_are_read_only_where_the_schema_says_so_and_completely(tools, name, given, wanted):
    (request,) = parse(fenced(json.dumps({"tool": "read_file", name: given})), tools).requests
    assert request.parameters[name] == wanted
    assert type(request.parameters[name]) is type(wanted)


def test_c6_06_booleans_are_read_only_where_the_schema_says_so(tools):
    block = {"tool": "edit_file", "path": "a", "old_string": "true", "new_string": "b", "replace_all": "true"}
    (request,) = parse(fenced(json.dumps(block)), tools).requests
    assert request.parameters["replace_all"] is True
    assert request.parameters["old_string"] == "true"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), json_values, max_size=4), st.booleans())
def test_valid_json_is_read_as_the_standard_library_reads_it(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    parsed = parse_strict(text)
    assert isinstance(parsed, ParsedJson)
    assert parsed.value == json.loads(text)
    assert repair(text) == parsed


@given(st.dictionaries(st.text(max_size=6), json_values, max_size=4))
def test_a_python_repr_is_read_as_the_value_it_shows(value):
    found = repair(repr(value))
    if isinstance(found, ParsedJson):
        assert found.value == value
    else:
        assert found.code in ("ambiguous_escape", "mixed_escapes", "number", "syntax", "surrogate")


@given(st.text(alphabet="{}[]\",:\\'ntu0 1aé“”/*#\n.-+eT", max_size=40))
def test_nothing_escapes_as_an_exception(text):
    assert isinstance(repair(text, closers=True), ParsedJson | JsonFault)
    assert isinstance(parse_strict(text), ParsedJson | JsonFault)


def test_a_block_beyond_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "BLOCK_CHARS", 50)
    assert parse_strict('"' + "x" * 60 + '"').code == "too_long"
    assert repair("{'" + "x" * 60 + "'}").code == "too_long"


def test_c4_06_a_block_whose_repairs_leave_too_much_doubt_is_refused(tools, monkeypatch):
    block = '{"tool": "write_file"\n "path": "a", "content": "\\d",}\nThis does it.'
    found = readings.read_repaired(block, known=frozenset, closers=False)
    assert readings.LEAST_CONFIDENCE == 0.5 < readings.confidence(found.repairs) < 0.85
    assert parse(fenced(block), tools).requests
    monkeypatch.setattr(readings, "LEAST_CONFIDENCE", 0.85)
    doubted = readings.read_repaired(block, known=frozenset, closers=False)
    assert doubted.code == "uncertain"
    assert "missing_comma" in doubted.message
    assert not parse(fenced(block), tools).requests


@walked(
    ("body", "wanted"),
    [
        ('{\n "tool": "create_file",\n "path": "test.txt",\n "content": "hello"\n}', ("create_file", None)),
        ('{\n "tool": "write_file",\n "path": "test.txt"\n}', ("write_file", {"path": "test.txt"})),
        (
            '{\n "tool": "write_file",\n "path": "test.txt",\n "content": "Line 1\nLine 2"\n}',
            ("write_file", {"path": "test.txt", "content": "Line 1\nLine 2"}),
        ),
        (
            '{\n "tool": "edit_file",\n "path": "App.tsx",\n "old": "hello",\n "new": "world"\n}',
            ("edit_file", {"path": "App.tsx", "old": "hello", "new": "world"}),
        ),
    ],
)
def test_c4_09_the_four_examples_of_the_guide_are_read_without_an_invented_value(tools, body, wanted):
    (request,) = parse(fenced(body), tools).requests
    assert request.tool_name == wanted[0]
    assert wanted[1] is None or dict(request.parameters) == wanted[1]
