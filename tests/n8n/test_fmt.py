"""n8n's form of a workflow file, and what is filled in on request."""

import json

from hypothesis import given
from hypothesis import strategies as st
from n8n_workflows import chain, errors, node, to, workflow

from rails.n8n import formatting, model
from rails.n8n.edit import layout


def test_keys_come_in_the_order_in_which_n8n_writes_them():
    value = {"connections": {}, "extra": 1, "nodes": [node("A")], "name": "x"}
    made = json.loads(formatting.canonical(json.dumps(value).encode()))
    assert list(made) == ["name", "nodes", "connections", "extra"]
    assert list(made["nodes"][0]) == ["parameters", "type", "typeVersion", "position", "id", "name"]


def test_the_order_inside_parameters_and_their_values_stay():
    parameters = {"z": 1.50, "a": {"y": [1, None, "é\u2028"], "b": True}, "big": 12345678901234567890}
    data = json.dumps(chain("A") | {"nodes": [node("A", parameters=parameters)]}).encode()
    made = json.loads(formatting.canonical(data))["nodes"][0]["parameters"]
    assert made == parameters
    assert list(made) == ["z", "a", "big"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(
    st.dictionaries(st.sampled_from(["name", "nodes", "connections", "id", "x"]), JSON), st.booleans(), st.booleans()
)
def test_formatting_changes_no_value_and_twice_is_as_good_as_once(value, bom, newline):
    data = (b"\xef\xbb\xbf" if bom else b"") + json.dumps(value).encode() + (b"\n" if newline else b"")
    made = formatting.canonical(data)
    assert json.loads(made.decode("utf-8-sig")) == value
    assert formatting.canonical(made) == made
    assert made.endswith(b"\n") == newline
    assert made.startswith(b"\xef\xbb\xbf") == bom


def test_what_is_no_single_json_object_stays_as_it_is():
    for data in (b"{", b"[1]", b'{"a": 1, "a": 2}', b"\xff"):
        assert formatting.canonical(data) == data
        assert formatting.complete(data, "x.json") == (data, ())


def test_ids_positions_and_settings_are_filled_in_and_counted():
    value = chain("A", "B")
    for one in value["nodes"]:
        del one["id"], one["position"]
    value["nodes"].append(
        {"name": "Hook", "type": "n8n-nodes-base.webhook", "typeVersion": 2, "parameters": {"path": "a"}}
    )
    del value["settings"]
    data, fixed = formatting.complete(json.dumps(value).encode(), "flow.json")
    made = json.loads(data)
    assert {(f.rule, f.count) for f in fixed} == {
        ("missing id", 4), ("missing position", 4), ("missing webhookId", 1), ("missing settings", 1)
    }  # fmt: skip
    assert len({n["id"] for n in made["nodes"]}) == 4
    assert len({tuple(n["position"]) for n in made["nodes"]}) == 4
    assert errors(made) == []
    assert formatting.complete(data, "flow.json") == (data, ())


def test_the_same_file_always_gets_the_same_ids():
    data = json.dumps({"nodes": [{"name": "A", "type": "n8n-nodes-base.noOp"}], "connections": {}}).encode()
    assert formatting.complete(data, "a.json")[0] == formatting.complete(data, "a.json")[0]


def test_what_is_there_is_never_changed_even_when_it_is_wrong():
    value = chain("A")
    value["nodes"][0] |= {"id": 7, "position": "left"}
    data, fixed = formatting.complete(json.dumps(value).encode(), "x.json")
    assert fixed == ()
    assert json.loads(data) == value


def test_the_flow_is_laid_out_from_left_to_right_with_sub_nodes_below():
    value = workflow(
        node("Start", "n8n-nodes-base.manualTrigger"), node("A"), node("B"), node("C"), node("Sub"),
        connections={
            "Start": {"main": [[to("A"), to("B")]]},
            "A": {"main": [[to("C")]]},
            "C": {"main": [[to("A")]]},
            "Sub": {"ai_tool": [[to("B", "ai_tool")]]},
        },
    )  # fmt: skip
    for one in value["nodes"]:
        del one["position"]
    places = layout.node_places(model.build(value))
    assert [places[n][0] for n in range(4)] == [0, 240, 240, 480]
    assert places[1] != places[2]
    assert places[4][1] > max(places[n][1] for n in range(4))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["main", "ai_tool"])), max_size=25))
def test_any_graph_gets_a_place_of_its_own_for_each_node(edges):
    connections = {}
    for a, b, kind in edges:
        connections.setdefault(str(a), {}).setdefault(kind, [[]])[0].append(to(str(b), kind))
    value = workflow(*(node(str(n)) for n in range(10)), connections=connections)
    for one in value["nodes"]:
        del one["position"]
    places = layout.node_places(model.build(value))
    assert len(set(places.values())) == len(places) == 10


def test_a_new_node_without_a_position_is_laid_beside_its_neighbour():
    value = chain("A", "B")
    for place, one in zip(([0, 0], [300, 40], [600, 40]), value["nodes"], strict=True):
        one["position"] = place
    value["nodes"] += [node("After B"), node("Tool"), node("Beside B"), node("Alone")]
    for one in value["nodes"][3:]:
        del one["position"]
    value["connections"]["B"] = {"main": [[to("After B"), to("Beside B")]]}
    value["connections"]["Tool"] = {"ai_tool": [[to("A", "ai_tool")]]}
    made = json.loads(formatting.complete(json.dumps(value).encode(), "x.json")[0])
    places = {one["name"]: one["position"] for one in made["nodes"]}
    assert places["After B"] == [840, 40]
    assert places["Beside B"] == [840, 240]
    assert places["Tool"] == [300, 240]
    assert places["Alone"] == [0, 440]
    assert [places[name] for name in ("Start", "A", "B")] == [[0, 0], [300, 40], [600, 40]]


def test_many_nodes_without_a_position_are_laid_out_in_time(cpu_seconds):
    def work(count):
        value = chain(*map(str, range(count)))
        for one in value["nodes"][1:]:
            del one["position"]
        value["connections"]["Start"] = {"main": [[to(str(n)) for n in range(count)]]}
        data = json.dumps(value).encode()
        return cpu_seconds(lambda: formatting.complete(data, "x.json"), rounds=2)

    assert work(5_000) < 40 * work(500) + 0.5


def test_a_list_of_workflows_and_windows_line_ends_keep_their_form():
    data = json.dumps([chain("A"), 7], indent=2).replace("\n", "\r\n").encode() + b"\r\n"
    made = formatting.canonical(data)
    assert json.loads(made) == json.loads(data)
    assert made.count(b"\n") == made.count(b"\r\n") > 20
    assert formatting.canonical(made) == made
    assert b'"parameters": {},\r\n        "type"' in made
