"""A request satisfies its tool's definition, or every reason why not is reported at once."""

import pytest

from rails.core.app_dirs import builtin_folder
from rails.core.tool_request import RawRequest, ToolRequest
from rails.tools.loader import load_definitions, read_definition
from rails.tools.registry import Registry
from rails.tools.validate import examine, validate
from tests.rows import walked


@pytest.fixture(scope="module")
def registry():
    return load_definitions([builtin_folder("mcp_definitions")])


def ask(registry, tool, parameters, role="coder"):
    return validate(RawRequest("t1.r1", tool, parameters, "because", start=3, end=9), registry, role)


def define(**fields):
    import json

    base = {
        "tool_name": "probe",
        "description": "A tool for a test.",
        "request_schema": {"type": "object", "properties": {}},
        "transport": {"type": "command", "command": ["true"]},
        "access_control": {"*": True},
    }
    definition, mistakes = read_definition(json.dumps({**base, **fields}), "probe.json")
    assert not mistakes, [str(mistake) for mistake in mistakes]
    return definition


def properties(**schemas):
    return {"type": "object", "properties": schemas}


def test_a_valid_request_becomes_a_tool_request_bound_to_its_definition(registry):
    request = ask(registry, "write_file", {"file_path": "a.py", "content": ""})
    assert isinstance(request, ToolRequest)
    assert request.parameters == {"file_path": "a.py", "content": ""}
    assert (request.id, request.agent, request.effect, request.asks) == ("t1.r1", "coder", "edit", True)
    assert request.definition_digest == registry.get("write_file").digest


@walked(
    ("tool", "parameters", "expected"),
    [
        ("write_file", {"path": "a", "content": "x"}, {"file_path": "a", "content": "x"}),
        ("pilotwrite", {"path": "a", "content": ""}, {"file_path": "a", "content": ""}),
        (
            "create",
            {"path": "a", "content": "", "create_only": False},
            {"file_path": "a", "content": "", "create_only": False},
        ),
        ("Write", {"file_path": "a", "content": ""}, {"file_path": "a", "content": ""}),
        ("create", {"path": "a", "file_text": "x"}, {"file_path": "a", "content": "x", "create_only": True}),
        ("pilotdelete", {"path": "a"}, {"file_path": "a"}),
        (
            "edit_file",
            {"path": "a", "search_replace": {"old_string": "x", "new_string": ""}},
            {"file_path": "a", "old_string": "x", "new_string": ""},
        ),
        (
            "str_replace",
            {"path": "a", "old_str": "x", "new_str": "y"},
            {"file_path": "a", "old_string": "x", "new_string": "y"},
        ),
        (
            "fast_editor",
            {"edits": [{"path": "a", "oldString": "x", "newString": "$&"}]},
            {"edits": [{"file_path": "a", "old_string": "x", "new_string": "$&"}]},
        ),
        (
            "fast_editor",
            {"edits": '```json\n[{"path": "a", "oldString": "x", "newString": "y"}]\n```'},
            {"edits": [{"file_path": "a", "old_string": "x", "new_string": "y"}]},
        ),
        (
            "multi_replace_string_in_file",
            {"replacements": '[{"filePath": "a", "oldString": "x", "newString": "y"}]'},
            {"edits": [{"file_path": "a", "old_string": "x", "new_string": "y"}]},
        ),
        (
            "insert_edit_into_file",
            {"filePath": "a", "startLine": 2, "endLine": "3", "code": "x"},
            {"file_path": "a", "line": 2, "end_line": 3, "text": "x"},
        ),
        ("Read", {"file_path": "a", "offset": 3}, {"file_path": "a", "offset": 3}),
    ],
)
def test_other_names_of_tools_and_parameters_mean_the_same(registry, tool, parameters, expected):
    before = repr(parameters)
    request = ask(registry, tool, parameters)
    assert isinstance(request, ToolRequest), [str(refusal) for refusal in request]
    assert request.parameters == expected
    assert repr(parameters) == before


def test_a_parameter_under_two_names_with_different_values_is_refused(registry):
    (refusal,) = ask(registry, "write_file", {"path": "a", "file_path": "b", "content": ""})
    assert "`path` and `file_path` mean the same and have different values" in refusal.message


def test_a_parameter_under_two_names_with_the_same_value_is_fine(registry):
    request = ask(registry, "write_file", {"path": "a", "file_path": "a", "content": ""})
    assert request.parameters == {"file_path": "a", "content": ""}


def test_true_and_1_under_two_names_are_different_values(registry):
    refusals = ask(
        registry,
        "edit_file",
        {"file_path": "a", "old_string": "x", "new_string": "y", "replaceAll": 1, "replace_all": True},
    )
    assert "different values" in refusals[0].message


def test_c3_11_all_errors_of_a_request_come_back_at_once_with_their_places(registry):
    refusals = ask(registry, "edit_file", {"file_path": 3, "old_string": "", "newstring": "x", "occurrence": 0})
    assert {refusal.path for refusal in refusals} == {
        "file_path",
        "old_string",
        "newstring",
        "new_string",
        "occurrence",
    }
    assert all(refusal.code == "schema" and (refusal.start, refusal.end) == (3, 9) for refusal in refusals)


def test_c3_11_a_blank_path_is_told_with_all_other_errors(registry):
    refusals = ask(registry, "write_file", {"path": " \t", "content": 4})
    assert {refusal.path for refusal in refusals} == {"file_path", "content"}
    assert "`file_path` is blank" in refusals[0].message


def test_c6_10_an_error_has_its_code_its_place_what_was_expected_and_what_came(registry):
    (refusal,) = ask(registry, "write_file", {"file_path": "a", "content": 5})
    assert (refusal.code, refusal.path, refusal.expected, refusal.received) == (
        *("schema", "content", "string", "an integer"),
    )
    assert "`content` is an integer (5); it must be a string" in refusal.message
    issues = ask(registry, "edit_file", {"file_path": "a", "old_string": "", "occurence": 0})
    assert {(issue.path, issue.expected, issue.received) for issue in issues} == {
        ("old_string", "minLength 1", "a string"),
        ("new_string", "string", "nothing"),
        ("occurence", "nothing", "a value"),
    }


def test_feedback_has_the_wording_of_the_original(registry):
    (refusal,) = ask(registry, "write_file", {"file_path": "a"})
    assert refusal.message == (
        "Error: Tool request for 'write_file' failed schema validation. Details: `content` is missing. "
        "Please correct your JSON parameters."
    )
    assert refusal.hint.startswith("Add `content` (string: The whole file")


def test_an_unknown_parameter_is_refused_with_the_nearest_known_one(registry):
    (refusal,) = ask(registry, "write_file", {"file_path": "a", "content": "", "contnet": "x"})
    assert (refusal.path, "Did you mean `content`?" in refusal.hint) == ("contnet", True)


def test_what_is_left_in_an_alias_container_is_named(registry):
    refusals = ask(registry, "edit_file", {"path": "a", "search_replace": {"old_string": "x", "newstring": "y"}})
    assert {refusal.path for refusal in refusals} == {"search_replace.newstring", "new_string"}


def test_delete_file_ignores_further_parameters_and_says_so(registry):
    request = ask(registry, "delete_file", {"path": "a", "reason": "old"})
    assert request.parameters == {"file_path": "a"}
    assert request.coerced == ("reason: not a parameter, ignored",)


@walked(
    ("name", "near"),
    [("create_file", "write_file"), ("writeFile", "write_file"), ("write-file", "write_file"), ("rm", "delete_file")],
)
def test_an_unknown_tool_is_answered_with_the_nearest_one(registry, name, near):
    (refusal,) = ask(registry, name, {})
    assert refusal.code == "unknown_tool"
    assert refusal.message == f"Error: Requested tool '{name}' is not defined or accessible."
    assert refusal.hint.startswith(f'Did you mean "{near}"?')


def test_a_tool_of_another_role_is_a_different_refusal(registry):
    (refusal,) = ask(registry, "write_file", {"file_path": "a", "content": ""}, role="overseer")
    assert refusal.code == "forbidden_tool"
    assert "may not use it" in refusal.message
    assert "write_file" not in refusal.hint


@walked(
    ("level", "asks"),
    [("free_access", False), (True, False), ("permissioned_access", True), (False, None), (None, None)],
)
def test_access_levels_decide_who_may_run_and_who_is_asked(level, asks):
    definition = define(access_control={} if level is None else {"Coder Agent": level}, effect="read")
    result = ask(Registry({"probe": definition}), "probe", {})
    if asks is None:
        assert result[0].code == "forbidden_tool"
    else:
        assert result.asks is asks


def test_a_definition_that_nobody_trusted_always_asks(tmp_path):
    (tmp_path / "probe.json").write_text(
        '{"tool_name": "probe", "description": "x", "request_schema": {"type": "object"}, "effect": "read",'
        ' "transport": {"type": "command", "command": ["true"]}, "access_control": {"*": "free_access"}}'
    )
    digest = load_definitions([tmp_path]).get("probe").digest
    assert ask(load_definitions([tmp_path]), "probe", {}).asks is True
    assert ask(load_definitions([tmp_path], trusted=[digest]), "probe", {}).asks is False


@walked(
    ("schema", "sent", "meant"),
    [
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, 12.0, 12),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": ["integer", "null"]}, "-3", -3),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, '["1"]', [1]),
        ({"$ref": "#/$defs/count"}, "7", 7),
    ],
)
def test_text_is_converted_only_to_what_the_schema_wants_and_logged(schema, sent, meant):
    whole = {**properties(value=schema), "$defs": {"count": {"type": "integer"}}}
    examined = examine(define(request_schema=whole), {"value": sent})
    assert not examined.faults
    assert examined.parameters["value"] == meant
    assert type(examined.parameters["value"]) is type(meant)
    assert len(examined.coerced) >= 1


@walked(
    ("schema", "sent"),
    [
        ({"type": "string"}, "12"),
        ({"type": ["string", "integer"]}, "12"),
        ({}, "[1]"),
        ({"enum": ["1", 1]}, "1"),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "[1]"),
        ({"type": "number"}, 1.0),
    ],
)
def test_text_stays_text_where_the_schema_allows_text(schema, sent):
    examined = examine(define(request_schema=properties(value=schema)), {"value": sent})
    assert (examined.parameters["value"], examined.coerced, examined.faults) == (sent, (), ())


@walked(
    ("schema", "sent", "said"),
    [
        ({"type": "integer"}, True, "is a boolean (true); it must be an integer"),
        ({"type": "integer"}, 1.5, "is a number (1.5)"),
        ({"type": "integer"}, "1e3", "is a string"),
        ({"type": "integer"}, "٣", "is a string"),
        ({"type": "boolean"}, "yes", "is a string"),
        ({"type": "array"}, '[{"a": 1}', "is a text that should hold JSON"),
        ({"type": "array"}, '{"a": 1}', "is a string"),
        ({"type": "array"}, {"a": 1}, "it must be an array"),
        ({"enum": ["asc", "desc"]}, "acs", 'is "acs", which is not allowed'),
        ({"const": 3}, 4, "it must be 3"),
        ({"type": "string", "maxLength": 2}, "abc", "has 3 characters; at most 2 characters allowed"),
        ({"type": "array", "maxItems": 1}, [1, 2], "has 2 items; at most 1 item allowed"),
        ({"type": "integer", "minimum": 1}, 0, "it must be at least 1"),
        ({"type": "integer", "exclusiveMaximum": 5}, 5, "it must be less than 5"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "ab\n", "does not match ^[a-z]+$"),
        ({"type": "string", "format": "date"}, "2026-13-01", "is not a valid date"),
        ({"type": "string", "format": "date-time"}, "2026-01-02 25:00", "is not a valid date-time"),
        ({"type": "string", "format": "email"}, "nobody", "is not a valid email"),
        ({"type": "string", "format": "uri"}, "not a uri", "is not a valid uri"),
        ({"type": "array", "uniqueItems": True}, [{"a": 1}, {"a": 1}], "lists an item twice"),
        ({"type": "number", "multipleOf": 0.1}, 0.25, "is not a multiple of 0.1"),
        ({"oneOf": [{"type": "integer"}, {"type": "array"}]}, False, "fits none of the 2 allowed forms"),
        (False, 1, "is not allowed here"),
    ],
)
def test_each_fault_says_what_was_sent_and_what_is_allowed(schema, sent, said):
    examined = examine(define(request_schema=properties(value=schema)), {"value": sent})
    assert len(examined.faults) == 1
    assert said in examined.faults[0].detail


def test_an_enum_fault_names_the_nearest_value_and_all_allowed_ones():
    examined = examine(define(request_schema=properties(value={"enum": ["asc", "desc"]})), {"value": "acs"})
    assert examined.faults[0].hint == 'Did you mean "asc"? Allowed: ["asc", "desc"].'


def test_an_object_that_does_not_say_additional_properties_is_closed():
    schema = properties(inner=properties(name={"type": "string"}))
    examined = examine(define(request_schema=schema), {"inner": {"nmae": "x"}})
    assert [fault.place for fault in examined.faults] == [("inner", "nmae")]


def test_parameters_that_name_nothing_take_nothing():
    assert examine(define(request_schema={"type": "object"}), {"x": 1}).faults
    assert not examine(define(request_schema={"type": "object"}), {}).faults


def test_an_object_that_allows_additional_properties_stays_open():
    examined = examine(define(request_schema={"type": "object", "additionalProperties": True}), {"x": 1})
    assert not examined.faults


def test_parts_of_an_all_of_may_name_their_own_properties():
    schema = {"type": "object", "properties": {"a": {}}, "allOf": [{"properties": {"b": {"type": "integer"}}}]}
    assert not examine(define(request_schema=schema), {"a": 1, "b": 2}).faults


def test_a_need_that_depends_on_another_value_is_enforced():
    schema = {
        **properties(action={"enum": ["list", "stop"]}, container_id={"type": "string"}),
        "if": {"properties": {"action": {"const": "stop"}}, "required": ["action"]},
        "then": {"required": ["container_id"]},
    }
    definition = define(request_schema=schema)
    assert not examine(definition, {"action": "list"}).faults
    assert [fault.detail for fault in examine(definition, {"action": "stop"}).faults] == ["`container_id` is missing"]


def test_defaults_are_filled_in_after_validation_and_named():
    examined = examine(define(request_schema=properties(limit={"type": "integer", "default": 10})), {})
    assert (examined.parameters, examined.coerced) == ({"limit": 10}, ("limit: default 10",))


@walked(
    ("value", "said"),
    [
        (float("nan"), "not a JSON number"),
        ({"\udfff": 1}, "half of a surrogate pair"),
    ],
)
def test_values_out_of_bounds_are_refused_before_the_schema_sees_them(value, said):
    examined = examine(define(request_schema={"type": "object", "additionalProperties": True}), {"value": value})
    assert [(said in fault.detail, fault.place) for fault in examined.faults] == [(True, ("value",))]


@walked(("depth", "said"), [(100, "nested more than 64 deep"), (5_000, "nested too deep")])
def test_a_deep_value_is_refused_and_not_an_overflow(depth, said):
    value = []
    for _ in range(depth):
        value = [value]
    examined = examine(define(request_schema={"type": "object", "additionalProperties": True}), {"value": value})
    assert said in examined.faults[0].detail


def test_many_faults_are_counted_not_listed(registry):
    edits = [{"file_path": "a", "old_string": "", "new_string": 1}] * 40
    refusals = ask(registry, "multi_edit", {"edits": edits})
    assert len(refusals) == 21
    assert "60 further errors" in refusals[-1].message


def test_c6_08_no_more_than_fifty_edits_and_ten_thousand_characters_each(registry):
    edit = {"file_path": "a", "old_string": "x" * 10_001, "new_string": "y"}
    (long,) = ask(registry, "multi_edit", {"edits": [edit]})
    assert "`edits[0].old_string` has 10,001 characters; at most 10,000" in long.message
    (many,) = ask(registry, "multi_edit", {"edits": [{**edit, "old_string": "x"}] * 51})
    assert "`edits` has 51 items; at most 50 items allowed" in many.message


def test_c6_08_no_more_than_ten_addresses_at_once(registry):
    sent = [f"https://localhost/{number}" for number in range(11)]
    (many,) = ask(registry, "fetch_webpage", {"urls": sent})
    assert "`urls` has 11 items; at most 10 items allowed" in many.message


@pytest.mark.parametrize(
    ("operation", "missing"),
    [
        ({"op": "rename_node", "name": "A"}, ["operations[0].new_name"]),
        ({"op": "connect"}, ["operations[0].source", "operations[0].target"]),
        ({"op": "set_workflow", "values": {}}, []),
    ],
)
def test_c9_16_what_an_operation_needs_is_in_the_schema_of_a_shipped_tool(registry, operation, missing):
    found = ask(registry, "edit_workflow", {"file_path": "a.json", "operations": [operation]}, "n8n-flow-creator")
    assert sorted(refusal.path for refusal in (found if isinstance(found, tuple) else ())) == missing


def test_a_template_that_lists_fewer_tools_is_enforced(registry):
    limited = registry.restricted("coder", ["Read", "edit_file"])
    assert [definition.tool_name for definition in limited.for_role("coder")] == ["edit_file", "read_file"]
    (refusal,) = ask(limited, "write_file", {"file_path": "a", "content": ""})
    assert refusal.code == "forbidden_tool"
    assert isinstance(ask(limited, "write_file", {"file_path": "a", "content": ""}, role="refactor"), ToolRequest)


def test_c3_17_shapes_have_every_name_and_every_alias_of_a_parameter(registry):
    shapes = registry.shapes()
    assert {"write_file", "pilotwrite", "fast_editor", "Read"} <= set(shapes)
    assert {"path", "file_path", "content"} <= set(shapes["write_file"]["properties"])
    assert set(shapes["edit_file"]["properties"]["search_replace"]["properties"]) >= {"old_string", "new_string"}
    assert "oldString" in shapes["fast_editor"]["properties"]["edits"]["items"]["properties"]
    assert "write_file" not in registry.shapes("overseer")
    assert registry.shapes()["write_file"] is shapes["write_file"]  # made once, asked for at every turn


def test_c3_17_a_definition_of_ones_own_has_the_aliases_that_it_lists():
    definition = define(
        request_schema=properties(file_path={"type": "string"}),
        tool_aliases=["pilotprobe"],
        parameter_aliases={"where": "file_path"},
        effect="read",
    )
    found = ask(Registry({"probe": definition}), "pilotprobe", {"where": "a"})
    assert (found.tool_name, found.parameters) == ("probe", {"file_path": "a"})
