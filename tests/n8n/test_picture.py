"""A workflow as a picture: everything is in it, nothing in it is dangerous, and it stays small."""

import json
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from n8n_workflows import chain, node, to, workflow

from rails.n8n.comparison import compare_workflows
from rails.n8n.draw import picture, scene
from tests.rows import walked

SVG = "{http://www.w3.org/2000/svg}"


def draw(after, before=None, **more):
    return picture.svg(scene.drawing(compare_workflows(before, after)), **more)


def parts(svg, tag):
    return list(ET.fromstring(svg).iter(SVG + tag))


def texts(svg):
    return ["".join(one.itertext()) for one in parts(svg, "text")]


def titles(svg):
    return [one.text for one in parts(svg, "title")]


AGENT = workflow(
    node("Hook", "n8n-nodes-base.webhook"),
    node("Agent", "@n8n/n8n-nodes-langchain.agent", position=[300, 0]),
    node("Model", "@n8n/n8n-nodes-langchain.lmChatOpenAi", position=[250, 250]),
    node("Is it so", "n8n-nodes-base.if", position=[600, 0], disabled=True),
    node("Note", "n8n-nodes-base.stickyNote", parameters={"content": "## Read me\nfirst"}),
    connections={
        "Hook": {"main": [[to("Agent")]]},
        "Agent": {"main": [[to("Is it so")]]},
        "Model": {"ai_languageModel": [[to("Agent", "ai_languageModel")]]},
        "Is it so": {"main": [[], [to("Agent")]]},
    },
)


def test_nodes_wires_and_what_is_switched_off_are_in_the_picture():
    svg = draw(AGENT)
    assert {"Hook", "webhook", "Agent", "Model", "Is it so", "if · off", "false"} <= set(texts(svg))
    assert "## Read me" not in svg, "a note is no part of the flow"
    wires = [one.get("class") for one in parts(svg, "path") if "flow-wire" in one.get("class", "")]
    assert sorted(wires) == ["flow-wire", "flow-wire", "flow-wire", "flow-wire flow-sub"]
    assert "Is it so\nn8n-nodes-base.if\ndisabled" in titles(svg)
    assert "flow-off" in svg


@pytest.mark.parametrize(
    ("version", "labels"), [(2, ["loop", "done"]), (3, ["done", "loop"]), (None, ["done", "loop"])]
)
def test_outputs_are_called_as_the_nodes_version_calls_them(version, labels):
    value = workflow(
        node("Loop", "n8n-nodes-base.splitInBatches", version),
        node("A", position=[300, 0]),
        node("B", position=[300, 300]),
        connections={"Loop": {"main": [[to("A")], [to("B")]]}},
    )
    assert [text for text in texts(draw(value)) if text in labels] == labels


def test_what_is_added_removed_changed_and_renamed_is_marked():
    new = json.loads(json.dumps(AGENT))
    new["nodes"][0] |= {"parameters": {"path": "x"}}
    new["nodes"][3]["name"] = "Is it"
    new["nodes"] = [*new["nodes"][:2], *new["nodes"][3:], node("Extra", position=[900, 0])]
    new["connections"]["Is it"] = {"main": [[to("Extra")]]}
    new["connections"]["Agent"]["main"][0][0]["node"] = "Is it"
    svg = draw(new, AGENT)
    assert "Extra\nn8n-nodes-base.noOp\nadd" in titles(svg)
    assert "Model\n@n8n/n8n-nodes-langchain.lmChatOpenAi\nremove" in titles(svg)
    assert "Hook\nn8n-nodes-base.webhook\nchange" in titles(svg)
    assert "Is it\nwas: Is it so\nn8n-nodes-base.if\ndisabled\nchange" in titles(svg)
    assert "+ added   ~ changed   \u2212 removed" in texts(svg)
    assert 'class="flow-wire flow-is-add"' in svg
    assert 'class="flow-wire flow-sub flow-is-remove"' in svg


def test_a_single_workflow_is_not_coloured_as_news():
    assert "flow-is-add" not in draw(AGENT)


def test_positions_are_those_of_the_canvas_and_missing_ones_are_made():
    value = json.loads(json.dumps(AGENT))
    del value["nodes"][1]["position"], value["nodes"][2]["position"]
    places = [one["at"] for one in scene.drawing(compare_workflows(None, value))["nodes"]]
    assert places[3] == [600, 0]
    assert len({tuple(one) for one in places[:4]}) == 4


HOSTILE = [
    "<script>x</script>",
    '"><img src=x onerror=y>',
    "</svg><svg onload=x>",
    "]]>",
    "&lt;",
    "\x00\x1b\u202e\ud800",
]


@walked("evil", HOSTILE)
@walked("alone", [True, False])
def test_no_text_becomes_markup(evil, alone):
    value = workflow(
        node(f"A{evil}", f"n8n-nodes-base.{evil}"),
        node("B", "n8n-nodes-base.switch", parameters={"rules": {"values": [{"outputKey": evil}]}}),
        node("N", "n8n-nodes-base.stickyNote", parameters={"content": f"# {evil}\n{evil}"}),
        connections={f"A{evil}": {evil: [[to("B", evil)]]}, "B": {"main": [[to(f"A{evil}")]]}},
    )
    svg = draw(value, AGENT, label=evil, alone=alone)
    found = {one.tag.removeprefix(SVG) for one in ET.fromstring(svg).iter()}
    assert found <= {"svg", "style", "title", "rect", "g", "path", "circle", "text"}
    assert (found & {"style"} != set()) == alone
    names = {name for one in ET.fromstring(svg).iter() for name in one.attrib}
    assert not [name for name in names if name.startswith("on") or name in {"href", "style", "id"}]


def test_nothing_comes_from_elsewhere():
    svg = draw(AGENT, alone=True).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not any(word in svg for word in ("http", "url(", "@import", "<script", "href"))


def test_every_class_has_a_look():
    import re

    svg = draw(AGENT, chain("A"), alone=False)
    used = {name for found in re.findall(r'class="([^"]*)"', svg) for name in found.split()}
    assert {name for name in used if f".{name}" not in picture.stylesheet()} == set()


def test_thousands_of_nodes_are_bounded_and_counted(cpu_seconds):
    value = chain(*(f"Node number {n}" for n in range(5_000)))
    svg = draw(value)
    assert len(svg) < 2_000_000
    assert any("of 5,001 nodes are drawn" in text for text in texts(svg))
    assert cpu_seconds(lambda: draw(value), rounds=1) < 10


def test_where_too_much_is_there_the_changes_are_drawn_first():
    old = chain(*map(str, range(2_000)))
    new = chain(*map(str, range(2_001)))
    assert "2000\nn8n-nodes-base.noOp\nadd" in titles(draw(new, old))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**12) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(
            st.sampled_from(["nodes", "wires", "at", "name", "type", "kind", "total", "compared"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(JUNK, st.lists(JUNK, max_size=4))
def test_a_damaged_drawing_is_drawn_as_far_as_it_goes(value, wires):
    drawing = {
        "nodes": [{"name": "A", "at": value}, value, {"at": [1, 2]}],
        "compared": 1,
    }
    for one in (
        value,
        drawing,
        drawing | {"wires": [*wires, [0, "main", 3, 1, value, "add", ""], [0, "ai_x", 0, 1, 0, "", ""]]},
    ):
        svg = picture.svg(one)
        assert not svg or ET.fromstring(svg).tag == f"{SVG}svg"


def test_a_picture_of_its_own_needs_no_custom_properties():
    drawn = picture.svg(scene.drawing(compare_workflows(None, chain("A"))), alone=True)
    sheet = drawn[drawn.index("<style>") : drawn.index("</style>")]
    light, dark = sheet.split("@media screen and (prefers-color-scheme: dark)")
    assert "var(" not in sheet
    assert ".flow-box { fill: #ffffff" in light
    assert ".flow-box { fill: #23282f" in dark


def test_error_branches_are_seen():
    ask = node("Ask", onError="continueErrorOutput")
    value = workflow(ask, node("Do"), node("Tell"), connections={"Ask": {"main": [[to("Do")], [to("Tell")]]}})
    assert draw(value).count('class="flow-wire flow-error"') == 1
