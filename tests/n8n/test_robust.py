"""No JSON makes the check raise, and size costs time in proportion."""

import itertools
import json
import re
from pathlib import Path

import n8n_nodes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from n8n_workflows import chain, findings, node

from rails.n8n import formatting
from rails.n8n.check import check_workflow
from rails.n8n.facts import RULES
from rails.n8n.nodes.build import compact
from rails.n8n.nodes.catalogue import catalogue_from_json
from rails.n8n.nodes.packages import Package
from rails.n8n.recognise import looks_like_workflow
from rails.n8n.rules import structure
from rails.n8n.rules.destination import PROFILES

HUGE = st.sampled_from([10**30, -(10**290), 1e308, 10**299])
LEAF = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | HUGE
LEAF |= st.text(max_size=8)
WORD = st.sampled_from(
    ["nodes", "connections", "name", "type", "id", "main", "ai_tool", "node", "index", "parameters", "position",
     "typeVersion", "disabled", "settings", "Start", "A", "n8n-nodes-base.set", "n8n-nodes-base.webhook", "0",
     "credentials", "path", "httpMethod", "__proto__", ""]
)  # fmt: skip
ANY = st.recursive(
    LEAF | WORD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD | st.text(max_size=4), inner, max_size=5),
    max_leaves=30,
)


@given(ANY, st.sampled_from(PROFILES))
def test_any_json_gives_findings_and_never_an_exception(value, profile):
    looks_like_workflow(value)
    for found in check_workflow(json.dumps(value).encode(), "x.json", profile):
        assert found.rule in RULES
        assert found.line >= 1


OURS = catalogue_from_json(compact([Package("n8n-nodes-base", "1", n8n_nodes.NODES)], "here"))
NAMES = sorted({p["name"] for n in n8n_nodes.NODES for p in n["properties"]} | {"page", "wax", "conditions", "values"})
PARAMETERS = st.recursive(
    LEAF | st.sampled_from(["letter", "send", "=x", "={{ $('A') }}", "={{", "pythonNative", "expression"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
TYPES = [f"n8n-nodes-base.{n['name']}" for n in n8n_nodes.NODES] + [
    f"@n8n/n8n-nodes-langchain.{name}"
    for name in ("agent", "openAi", "guardrails", "code", "chatTrigger", "vectorStoreX")
]


@given(
    st.lists(st.tuples(st.sampled_from(TYPES), st.sampled_from([None, 1, 2, 3]), PARAMETERS), min_size=1, max_size=4),
    st.booleans(),
)
def test_any_parameters_give_findings_and_never_an_exception(nodes, full):
    made = [
        {"name": str(n), "type": type, "typeVersion": version, "position": [0, 0], "parameters": parameters}
        for n, (type, version, parameters) in enumerate(nodes)
    ]
    value = {"nodes": made, "connections": {"0": {"main": [[{"node": "0", "type": "main", "index": 1}]]}}}
    for found in check_workflow(json.dumps(value).encode(), "x.json", "strict", known=OURS if full else None):
        assert found.rule in RULES
        assert found.line == 1


@st.composite
def damaged_workflows(draw):
    value = chain("A", "B", "C", pinData={"A": [{"json": {}}]}, meta={})
    value["nodes"] += [node("Note", "n8n-nodes-base.stickyNote"), node("Hook", "n8n-nodes-base.webhook")]
    for _ in range(draw(st.integers(1, 4))):
        here = value
        for _ in range(draw(st.integers(1, 6))):
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if not isinstance(here[key], dict | list) or draw(st.integers(0, 3)) == 0:
                here[key] = draw(ANY)
                break
            here = here[key]
    return value


@given(damaged_workflows())
def test_a_damaged_workflow_gives_findings_with_places(value):
    text = json.dumps(value, indent=1)
    lines = text.splitlines()
    for found in check_workflow(text.encode(), "x.json", "strict"):
        assert 1 <= found.line <= len(lines)
        assert found.remedy


FIELDS = ["id", "name", "type", "typeVersion", "position", "parameters", "disabled", "onError", "credentials"]


@pytest.mark.parametrize("type", ["stickyNote", "webhook", "code", "respondToWebhook", "merge"])
def test_a_field_of_any_node_may_hold_anything(type):
    for field, value in itertools.product(FIELDS, [{}, [], [[]], {"a": {}}, None, True, 1e300, ""]):
        made = chain("A")
        made["nodes"].append(node("X", f"n8n-nodes-base.{type}") | {field: value})
        for profile in PROFILES:
            for found in check_workflow(json.dumps(made).encode(), "x.json", profile):
                assert found.rule in RULES, (field, value)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:0123eE+-.\\u ', max_size=60).map(str.encode))
def test_any_bytes_give_findings(data):
    assert list(check_workflow(data, "x.json")) is not None


@pytest.mark.parametrize("opener", ["[", '{"a":', '{"nodes":[{"parameters":'])
def test_deep_nesting_is_a_finding(opener):
    closer = {"[": "]"}.get(opener, "}" if opener.startswith('{"a') else "}]}")
    (found,) = findings((opener * 50_000 + "1" + closer * 50_000).encode())
    assert found.rule == "N8N001"


NUMBERS = ['"typeVersion": 1', '"index": 0', '"numberInputs": 3', "[0, 0]"]


@pytest.mark.parametrize("written", ["9" * 299, "9" * 310, "1e999", "-1e999", "9" * 5_000])
@pytest.mark.parametrize("place", NUMBERS)
def test_numbers_beyond_every_range_are_read(place, written):
    value = chain("A")
    value["nodes"][1] |= {"type": "n8n-nodes-base.merge", "typeVersion": 3, "parameters": {"numberInputs": 3}}
    data = json.dumps(value).replace(place, place[:-1] + written if place[0] == '"' else f"[0, {written}]").encode()
    assert list(check_workflow(data, "x.json", "strict")) is not None
    assert formatting.canonical(data).count(b"Infinity") == 0
    assert formatting.complete(data, "x.json")[0].count(b"Infinity") == 0


def dangling(count):
    value = chain(*(f"Node number {n}" for n in range(count)))
    for outputs in value["connections"].values():
        outputs["main"][0][0]["node"] += "x"
    return value


def loop(count):
    value = chain(*(f"Node {n}" for n in range(count)))
    value["connections"][f"Node {count - 1}"] = {"main": [[{"node": "Node 0", "type": "main", "index": 0}]]}
    return value


@pytest.mark.parametrize(
    "make", [lambda n: chain(*map(str, range(n))), dangling, loop], ids=["sound", "dangling", "loop"]
)
def test_five_thousand_nodes_take_time_in_proportion(make, cpu_seconds):
    fewer, more = (json.dumps(make(count)).encode() for count in (500, 5_000))
    bound = min(60, 40 * cpu_seconds(lambda: list(check_workflow(fewer, "x.json"))) + 0.5)
    assert cpu_seconds(lambda: list(check_workflow(more, "x.json")), rounds=2, enough=bound) < bound


def test_a_workflow_is_recognised_sound_or_broken():
    for value, is_one in [
        (chain("A"), True),
        ({"nodes": [], "connections": {}}, True),
        ({"nodes": [{"type": "n8n-nodes-base.set"}]}, True),
        ({"nodes": {"a": {"type": "@n8n/n8n-nodes-langchain.agent"}}, "connections": None}, True),
        ([chain("A"), chain("B")], True),
        ({"nodes": [], "connections": {"a": 1}, "settings": {}}, True),
        ({"nodes": [{"id": 1}], "edges": []}, False),
        ({"nodes": [1, 2], "connections": []}, False),
        ({"name": "package", "version": "1.0.0"}, False),
        ([], False),
        (None, False),
        ("nodes connections", False),
        ({"nodes": None, "connections": {}}, True),
        ({"nodes": {}, "connections": None}, True),
        ({"nodes": {}}, False),
        ({"name": "x", "nodes": []}, False),
    ]:
        assert looks_like_workflow(value) is is_one, value


def test_nodes_without_any_node_are_a_workflow_in_a_file_that_says_so():
    for value, path, is_one in [
        ({"nodes": {}}, "flow.json", True),
        ({"name": "x", "nodes": []}, "flows/digest.json", True),
        ({"name": "x", "nodes": None}, "n8n/Digest.json", True),
        ([{"nodes": {}}], "my-workflow.json", True),
        ({"nodes": [], "edges": []}, "flows/graph.json", False),
        ({"nodes": [{"id": 1}]}, "flows/graph.json", False),
        ({"nodes": {}}, "overflow.json", False),
        ({"name": "x"}, "flow.json", False),
    ]:
        assert looks_like_workflow(value, path) is is_one, value


def test_the_table_lists_exactly_the_rules_that_the_code_uses():
    package = Path(structure.__file__).parents[1]
    files = [*package.rglob("*.py"), package / "facts.json"]
    used = {rule for file in files for rule in re.findall('"(N8N[0-9]{3})"', file.read_text("utf-8"))}
    assert used == RULES.keys()


def test_every_rule_has_a_reason_and_an_example():
    table = [(rule.id, rule.severity, rule.reason, rule.example) for rule in RULES.values()]
    assert [row[0] for row in table] == sorted({row[0] for row in table})
    assert all(all(row) for row in table)


@pytest.mark.parametrize(
    "value",
    [
        {"nodes": [], "connections": {"Start": None}},
        {"nodes": ["Start", 5, None], "connections": {}},
        {"nodes": [{"name": "A", "type": "x", "position": [0, 0]}], "connections": {"A": {"main": [["B"]]}}},
    ],
)
def test_c13_05_an_odd_shape_is_an_issue(value):
    found = check_workflow(json.dumps(value).encode(), "x.json", "import")
    assert [one.severity for one in found].count("error") >= 1
