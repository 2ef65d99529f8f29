"""C2: which blocks are calls, which are errors, which are nothing of ours."""

import json
import re

from rails.parsing.parse import parse
from tests.rows import walked

F = "```"


def fenced(body):
    return f"{F}json\n{body if isinstance(body, str) else json.dumps(body)}\n{F}\n"


def test_c2_01_valid_json_with_a_known_tool_is_a_call(tools):
    (request,) = parse(fenced({"tool": "run_code", "arguments": {"code": "1"}}), tools).requests
    assert (request.tool_name, dict(request.parameters), request.dialect) == ("run_code", {"code": "1"}, "s1")
    assert request.repairs == ()


@walked("value", [{"result": 42}, [1, 2], "text", 5, None, True, {}, [], {"tools": ["x"]}])
def test_c2_02_valid_json_without_a_tool_is_ignored(tools, value):
    found = parse(fenced(value), tools)
    assert (found.requests, found.refusals) == ((), ())
    assert len(found.ignored) == 1


@walked(
    "body",
    [
        '{"tool": "run_code", "arguments": {"code": oops}}',
        "{'tool': 'run_code', 'arguments': {'code': oops}}",
        '{"tool": "run_code", "arguments": }',
        '{"tool": run_code, "arguments": {"code": "x"}}',
        '{tool: "run_code", arguments: (1)}',
        '{"tool": "unheard_of", "x": }',
    ],
)
def test_c2_03_broken_json_with_a_tool_key_is_an_error(tools, body):
    found = parse(fenced(body), tools)
    assert not found.requests
    assert len(found.refusals) == 1


@walked(
    "body",
    [
        '{"result": 42, "note": "this is an example"}}',
        '{"result": 42',
        "{a: b c}",
        "not json at all",
        '{"x": [1, 2,,]}',
        "{...}",
    ],
)
def test_c2_04_broken_json_without_a_tool_key_is_ignored(tools, body):
    found = parse(fenced(body), tools)
    assert (found.requests, found.refusals) == ((), ())


def test_c2_05_good_calls_and_errors_stand_side_by_side(tools):
    good = fenced({"tool": "run_code", "arguments": {"code": "1"}})
    bad = fenced('{"tool": "run_code", "arguments": {"code": oops}}')
    for text, counts in ((good, (1, 0)), (bad, (0, 1)), (fenced({"data": 1}), (0, 0))):
        alone = parse(text, tools)
        assert (len(alone.requests), len(alone.refusals)) == counts
    found = parse(good + "text\n" + bad + fenced({"data": 1}) + good, tools)
    assert [r.id for r in found.requests] == ["r1", "r3"]
    assert [r.request_id for r in found.refusals] == ["r2"]
    assert len(found.ignored) == 1


@walked(
    "value",
    [
        {"tool": "hammer", "price": 3},
        {"tool": "hammer"},
        {"tool": ["a", "b"], "n": 1},
        {"tool": None},
        {"tool": {"name": "x"}, "vendor": "y"},
        {"name": "tool"},
    ],
)
def test_c2_07_an_unknown_tool_without_the_shape_of_a_call_is_data(tools, value):
    found = parse(fenced(value), tools)
    assert (found.requests, found.refusals) == ((), ())
    assert found.ignored[0].reason


@walked(
    "value",
    [
        {"tool": "create_file", "path": "a.py", "content": "x"},
        {"tool": "hammer", "arguments": {}},
        {"type": "tool_request", "tool_name": "NoSuchMCP", "parameters": {}},
    ],
)
def test_c2_07_an_unknown_tool_with_the_shape_of_a_call_is_passed_on_to_be_refused_by_name(tools, value):
    (request,) = parse(fenced(value), tools).requests
    assert request.tool_name in ("create_file", "hammer", "NoSuchMCP")


@walked(
    "body",
    [
        '{"kind": "tool", "n": 1,, }}',
        '{"a": "tool" "b"',
        '{"note": "use \\"tool\\": x", "b": oops}',
        '{"a": ["tool", oops]}',
    ],
)
def test_c2_08_broken_json_with_tool_as_a_value_is_not_an_error(tools, body):
    found = parse(fenced(body), tools)
    assert (found.requests, found.refusals) == ((), ())


@walked(
    ("value", "said"),
    [
        ({"tool": 5, "arguments": {}}, "integer"),
        ({"tool": "run_code", "arguments": [1]}, "Tool call 'arguments' must be an object/dict, got array"),
        ({"tool": "run_code", "arguments": None}, "null"),
        ({"tool": "run_code", "arguments": "ls -l"}, "string"),
        ({"type": "tool_request", "tool_name": 5, "parameters": {}}, "integer"),
        ({"type": "tool_request", "tool_name": "run_code", "parameters": []}, "array"),
        ({"type": "tool_request", "parameters": {}}, "tool_name"),
    ],
)
def test_c2_09_a_wrong_type_is_an_error_that_names_the_type(tools, value, said):
    found = parse(fenced(value), tools)
    assert not found.requests
    assert said in found.refusals[0].message


@walked("alias", ["args", "params", "parameters", "arguments"])
def test_c2_10_aliases_of_arguments_are_accepted(tools, alias):
    (request,) = parse(fenced({"tool": "run_code", alias: {"code": "1"}, "explanation": "why"}), tools).requests
    assert dict(request.parameters) == {"code": "1"}
    assert request.explanation == "why"


def test_c2_10_two_of_them_or_a_stray_parameter_are_refused(tools):
    both = {"tool": "run_code", "args": {"code": "1"}, "arguments": {"code": "2"}}
    stray = {"tool": "run_code", "arguments": {"code": "1"}, "timeout": 5}
    for value in (both, stray):
        found = parse(fenced(value), tools)
        assert not found.requests
        assert found.refusals[0].code == "frame"


def test_c2_11_the_error_says_line_column_excerpt_and_balance_outside_strings(tools):
    body = '{\n  "tool": "run_code",\n  "arguments": {"code": "}}}}", "x": oops\n}'
    (refusal,) = parse(fenced(body), tools).refusals
    assert "line 4, column 38 of the answer" in refusal.message
    assert "oops" in refusal.message
    assert "1 closing } missing" in refusal.message
    assert fenced(body)[refusal.start :].startswith("oops")
    (lists,) = parse(fenced('{"tool": "run_code", "arguments": {"code": ["]]", oops}}'), tools).refusals
    assert "1 closing ] missing" in lists.message


def test_c2_11_the_error_hints_at_an_unterminated_string(tools):
    (refusal,) = parse(fenced('{"tool": "run_code", "arguments": {"code": "abc}}'), tools).refusals
    assert re.search(r"the string that starts at line 2, column \d+ is not closed", refusal.message)


def test_c2_12_the_s4_form_stands_beside_the_others(tools):
    value = {
        "type": "tool_request",
        "tool_name": "CodebaseSummaryMCP",
        "parameters": {"query": "q"},
        "explanation": "why",
    }
    (request,) = parse(fenced(value), tools).requests
    assert (request.tool_name, dict(request.parameters), request.explanation, request.dialect) == (
        "CodebaseSummaryMCP",
        {"query": "q"},
        "why",
        "s4",
    )


def test_s0_flat_parameters_are_all_keys_but_the_tool(tools):
    block = {"tool": "edit_file", "path": "a", "search_replace": {"old_string": "x", "new_string": ""}}
    (request,) = parse(fenced(block), tools).requests
    assert dict(request.parameters) == {"path": "a", "search_replace": {"old_string": "x", "new_string": ""}}
    assert request.dialect == "s0"


def test_s0_explanation_is_a_parameter_only_where_the_tool_has_one(tools):
    plain = parse(fenced({"tool": "write_file", "path": "a", "content": "", "explanation": "why"}), tools).requests[0]
    assert (dict(plain.parameters), plain.explanation) == ({"path": "a", "content": ""}, "why")
    own = parse(fenced({"tool": "multi_edit", "edits": [], "explanation": "why"}), tools).requests[0]
    assert (own.parameters["explanation"], own.explanation) == ("why", "")


@walked(
    "value",
    [
        {"type": "tool_use", "id": "x", "name": "run_code", "input": {"code": "1"}},
        {"type": "function", "function": {"name": "run_code", "arguments": '{"code": "1"}'}},
        {"id": "c", "type": "function", "function": {"name": "run_code", "arguments": {"code": "1"}}},
    ],
)
def test_provider_blocks_written_as_text_are_read(tools, value):
    assert dict(parse(fenced(value), tools).requests[0].parameters) == {"code": "1"}
    data = json.loads(json.dumps(value).replace("run_code", "Ann"))
    assert not parse(fenced(data), tools).requests


def test_double_encoded_arguments_are_decoded_and_reported(tools):
    (request,) = parse(fenced({"tool": "run_code", "arguments": '{"code": "a\\nb"}'}), tools).requests
    assert dict(request.parameters) == {"code": "a\nb"}
    assert [note.name for note in request.repairs] == ["double_encoded"]


def test_arguments_sent_as_a_python_text_are_decoded_if_they_fit(tools):
    (request,) = parse(fenced({"tool": "run_code", "arguments": "{'code': 'a', 'timeout': 5}"}), tools).requests
    assert dict(request.parameters) == {"code": "a", "timeout": 5}
    unfit = parse(fenced({"tool": "run_code", "arguments": "{'code': 'a', 'colour': 5}"}), tools)
    assert not unfit.requests
    assert unfit.refusals
