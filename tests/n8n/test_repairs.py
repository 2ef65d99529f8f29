"""What n8n would drop is repaired where exactly one form is valid; everything else stays as it is."""

import copy
import json

import pytest
from n8n_workflows import chain, errors, node, to, workflow

from rails.n8n import formatting
from rails.n8n.nodes.catalogue import current
from rails.n8n.repair.repairs import repaired
from tests.rows import walked

OLD_IF = {
    "conditions": {
        "string": [{"value1": "={{ $json.a }}", "operation": "equal", "value2": "x"}, {"value1": "y"}],
        "number": [{"value1": 1, "operation": "largerEqual", "value2": 2}],
    },
    "combineOperation": "any",
}


def one(kind, version, parameters):
    start = node("Start", "n8n-nodes-base.manualTrigger")
    it = node("It", f"n8n-nodes-base.{kind}", version, parameters=parameters)
    return workflow(start, it, connections={"Start": {"main": [[to("It")]]}})


def parameters(value):
    made, done = repaired(value)
    return made["nodes"][1]["parameters"], [repair.what for repair in done]


def test_conditions_of_version_1_become_those_of_version_2():
    made, done = parameters(one("if", 2.2, OLD_IF))
    conditions = made["conditions"]["conditions"]
    assert done == ["conditions in the shape of version 2"]
    assert made["conditions"]["combinator"] == "or"
    assert "combineOperation" not in made
    assert [(c["leftValue"], c["operator"]["operation"], c["rightValue"]) for c in conditions] == [
        ("={{ $json.a }}", "equals", "x"),
        ("y", "equals", ""),
        (1, "gte", 2),
    ]
    assert errors(repaired(one("if", 2.2, OLD_IF))[0]) == []


def test_fields_of_set_become_assignments():
    values = {"string": [{"name": "a", "value": "={{ 1 }}"}], "number": [{"name": "n", "value": 3}]}
    made, done = parameters(one("set", 3.4, {"values": values, "keepOnlySet": True}))
    assert done == ["fields as assignments"]
    assert [(a["name"], a["type"], a["value"]) for a in made["assignments"]["assignments"]] == [
        ("a", "string", "={{ 1 }}"),
        ("n", "number", 3),
    ]
    assert "includeOtherFields" not in made
    assert parameters(one("set", 3.4, {"values": values}))[0]["includeOtherFields"] is True


@walked(
    ("kind", "version", "given"),
    [
        ("if", 1, OLD_IF),
        ("if", 2, {"conditions": {"string": [{"value1": 1, "operation": "explode"}]}}),
        ("if", 2, {"conditions": {"string": [{"value1": 1, "extra": 1}]}}),
        ("if", 2, {"conditions": {"string": "x"}}),
        ("if", 2, {"conditions": {}}),
        ("if", 2, {"conditions": {"text": []}}),
        ("if", 2, OLD_IF | {"combineOperation": "={{ 1 }}"}),
        ("set", 2, {"values": {"string": [{"name": "a"}]}}),
        ("set", 3.4, {"values": {"string": [{"name": "a"}]}, "assignments": {}}),
        ("set", 3.4, {"values": {"string": [{"value": "a"}]}}),
        ("set", 3.4, {"values": {"object": [{"name": "a"}]}}),
        ("switch", 3, OLD_IF),
        ("noOp", 1, {"conditions": [1]}),
    ],
)
def test_what_is_sound_or_has_two_readings_is_left_alone(kind, version, given):
    before = one(kind, version, given)
    assert repaired(copy.deepcopy(before)) == (before, [])


def test_a_repair_is_told_and_repairing_twice_changes_nothing():
    data = json.dumps(one("if", 2.2, OLD_IF)).encode()
    made, fixed = formatting.tidied(data, "flow.json")
    assert ("conditions in the shape of version 2 in It", 1) in [(one.rule, one.count) for one in fixed]
    assert formatting.tidied(made, "flow.json") == (made, ())


def test_nodes_of_one_name_and_unnamed_files_get_ids_of_their_own():
    twins = chain("A", "A")
    for one_node in twins["nodes"]:
        del one_node["id"]
    del twins["name"]
    data = json.dumps(twins).encode()
    ids = [
        one_node["id"]
        for path in ("a.json", "b.json")
        for one_node in json.loads(formatting.complete(data, path)[0])["nodes"]
    ]
    assert len(set(ids)) == 6


def post(given, *, version=2.1, kind="post"):
    """Return the parameters of a node of the tests' own package after its repair, and what was done."""
    before = one(kind, version, given)
    made, done = repaired(copy.deepcopy(before), current())
    assert {**made, "nodes": before["nodes"]} == before
    return made["nodes"][1]["parameters"], [repair.what for repair in done]


SAFE = [
    ({"To": "me", "stamp": "x"}, {"to": "me", "stamp": "x"}, "`To` as `to`"),
    (
        {"to": "me", "stamp": "x", "note": "n"},
        {"to": "me", "stamp": "x", "extras": {"note": "n"}},
        "`note` as `extras.note`",
    ),
    (
        {"to": "me", "extras": {"note": "n", "stamp": "x"}},
        {"to": "me", "stamp": "x", "extras": {"note": "n"}},
        "`extras.stamp` as `stamp`",
    ),
    (
        {"to": "me", "stamp": "x", "page": [{"title": "t"}]},
        {"to": "me", "stamp": "x", "pages": {"page": [{"title": "t"}]}},
        "`page` as `pages.page`",
    ),
    ({"pages": [{"title": "t"}]}, {"pages": {"page": [{"title": "t"}]}}, "`pages` under `page`"),
    ({"pages": {"title": "t"}}, {"pages": {"page": [{"title": "t"}]}}, "`pages` under `page`"),
    ({"pages": {"Pages": [{"title": "t"}]}}, {"pages": {"page": [{"title": "t"}]}}, "`pages.Pages` as `page`"),
    ({"pages": {"page": {"title": "t"}}}, {"pages": {"page": [{"title": "t"}]}}, "`pages.page` as a list"),
    (
        {"pages": {"page": {"0": {"title": "t"}, "1": {"title": "u"}}}},
        {"pages": {"page": [{"title": "t"}, {"title": "u"}]}},
        "`pages.page` as a list",
    ),
    ({"seal": {"wax": [{"motto": "m"}]}}, {"seal": {"wax": {"motto": "m"}}}, "`seal.wax` as an object"),
    ({"extras": [{"note": "n"}]}, {"extras": {"note": "n"}}, "`extras` as an object"),
    ({"extras": {"speed": "FAST"}}, {"extras": {"speed": "fast"}}, '`extras.speed` "fast" for "FAST"'),
    ({"kinds": "air"}, {"kinds": ["air"]}, "`kinds` as a list"),
]
LOCATORS = [
    ({"mode": "id", "value": "123"}, {"__rl": True, "mode": "id", "value": "123"}),
    ({"__rl": True, "mode": "ID", "value": "123"}, {"__rl": True, "mode": "id", "value": "123"}),
    ({"__rl": True, "mode": "id", "id": "123"}, {"__rl": True, "mode": "id", "value": "123"}),
    ({"value": "123"}, {"__rl": True, "mode": "id", "value": "123"}),
]


@walked(("given", "wanted", "what"), SAFE)
def test_what_n8n_would_drop_is_put_where_n8n_reads_it(catalogue, given, wanted, what):
    around = {"to": "me", "stamp": "x"}
    around = {name: value for name, value in around.items() if name.casefold() not in {"to"} or "To" not in given}
    if "stamp" in given.get("extras", {}):
        del around["stamp"]
    assert post({**around, **given}) == ({**around, **wanted}, [what])


@pytest.mark.parametrize(("given", "wanted"), LOCATORS)
def test_a_locator_gets_the_form_that_n8n_reads(catalogue, given, wanted):
    made, done = post({"resource": "parcel", "operation": "weigh", "weight": "1", "office": given})
    assert made["office"] == wanted
    assert done == ["`office` in the form of a locator"]


@walked(
    "given",
    [
        {"to": "me", "stamp": "x", "title": "t"},  # only rows have a title, and there is none
        {"to": "me", "stamp": "x", "colour": {"a": 1}},  # the colour of the seal is a text
        {"to": "me", "stamp": "x", "pages": {"Pages": [{"headline": "t"}]}},  # no such field in the rows
        {"to": "me", "stamp": "x", "pages": [{"title": {"a": 1}}]},  # a title is a text
        {"to": "me", "stamp": "x", "To": "you"},  # both are given
        {"to": "me", "stamp": "x", "seal": {"wax": [{"motto": "m"}, {"motto": "n"}]}},  # two for one
        {"to": "me", "stamp": "x", "office": {"mode": "id", "value": "1"}},  # hidden: n8n does not read it
        {"to": "me", "stamp": "x", "unknown": "x"},
    ],
)
def test_what_has_no_one_place_is_left_as_it_is(catalogue, given):
    assert post(given) == (given, [])


def test_a_repair_that_leaves_more_errors_than_before_is_not_made(catalogue):
    given = {"to": "me", "stamp": "x", "pages": {"Pages": [{"body": "b"}, {"body": "c"}]}}  # rows need a title
    assert post(given) == (given, [])


@walked(
    ("operator", "wanted"),
    [
        ({"type": "number", "operation": "greaterThan"}, {"type": "number", "operation": "gt"}),
        ({"type": "String", "operation": "not_equals"}, {"type": "string", "operation": "notEquals"}),
        ({"type": "bool", "operation": "isTrue"}, {"type": "boolean", "operation": "true", "singleValue": True}),
        ("startsWith", None),
        ({"type": "string", "operation": "=="}, {"type": "string", "operation": "equals"}),
        ({"type": "string", "operation": "larger"}, None),
        ("equals", None),
        ({"type": "colour", "operation": "equals"}, None),
    ],
)
def test_an_operator_has_the_name_that_n8n_knows_or_stays(operator, wanted):
    row = {"leftValue": "a", "operator": operator, "rightValue": "b"}
    given = {"rules": {"values": [{"conditions": {"conditions": [row], "combinator": "AND"}}]}}
    made, _ = parameters(one("switch", 3, given))
    told = made["rules"]["values"][0]["conditions"]
    assert told["combinator"] == "and"
    assert told["conditions"][0]["operator"] == (wanted or operator)


def test_what_http_request_called_otherwise():
    assert parameters(one("httpRequest", 4.2, {"requestMethod": "POST"}))[0] == {"method": "POST"}
    assert parameters(one("httpRequest", 1, {"method": "POST"}))[0] == {"requestMethod": "POST"}


def test_an_id_that_two_nodes_have_stays_with_the_first(tmp_path):
    flow = chain("A", "B")
    flow["nodes"][1]["id"] = flow["nodes"][0]["id"]
    made, fixed = formatting.complete(json.dumps(flow).encode(), "flow.json")
    nodes = json.loads(made)["nodes"]
    assert nodes[0]["id"] == flow["nodes"][0]["id"] != nodes[1]["id"]
    assert ("id given twice", 1) in [(one.rule, one.count) for one in fixed]


def test_a_new_id_is_none_that_the_file_has():
    flow = chain("A", "B")
    del flow["nodes"][1]["id"]
    once = json.loads(formatting.complete(json.dumps(flow).encode(), "flow.json")[0])
    taken = once["nodes"][1]["id"]
    flow["nodes"][0]["id"] = taken
    assert json.loads(formatting.complete(json.dumps(flow).encode(), "flow.json")[0])["nodes"][1]["id"] != taken
