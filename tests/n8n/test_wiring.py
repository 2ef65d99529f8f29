"""Connections against the ports that nodes have."""

import pytest
from n8n_workflows import errors, findings, node, rules, to, workflow

from tests.rows import walked

with_catalogue = pytest.mark.usefixtures("catalogue")

START = node("Start", "n8n-nodes-base.manualTrigger")
SET = node("Set", "n8n-nodes-base.set")
ASKER = node("Asker", "n8n-nodes-base.asker")
BRAIN = node("Brain", "n8n-nodes-base.brain")
THINKING = {"Brain": {"ai_languageModel": [[to("Asker", "ai_languageModel")]]}}


def wired(*nodes, **connections):
    return workflow(START, *nodes, connections={"Start": {"main": [[to(nodes[0]["name"])]]}, **connections})


@with_catalogue
def test_a_sound_agent_has_no_findings():
    assert rules(wired(ASKER, BRAIN, **THINKING)) == []


@with_catalogue
def test_an_error_output_is_one_more():
    value = wired(
        SET | {"onError": "continueErrorOutput"}, node("B", "n8n-nodes-base.set"), Set={"main": [[], [to("B")]]}
    )
    assert errors(value) == []


@with_catalogue
def test_nothing_leads_into_a_trigger():
    value = wired(SET, Set={"main": [[to("Start")]]})
    assert errors(value) == [("N8N033", "connections.Set.main[0][0].node")]


@with_catalogue
def test_a_plain_node_is_no_tool():
    value = wired(ASKER, BRAIN, SET, **THINKING, Set={"ai_tool": [[to("Asker", "ai_tool")]]})
    assert errors(value) == [("N8N032", "connections.Set.ai_tool")]


def switch(**parameters):
    return node("Switch", "n8n-nodes-base.switch", 3, parameters=parameters)


@with_catalogue
@pytest.mark.parametrize(
    ("parameters", "output", "sound"),
    [
        ({"rules": {"values": [{}, {}]}}, 1, True),
        ({"rules": {"values": [{}, {}]}}, 2, False),
        ({"rules": {"values": [{}, {}]}, "options": {"fallbackOutput": "extra"}}, 2, True),
        ({"mode": "expression"}, 3, True),
        ({"mode": "expression", "numberOutputs": 2}, 2, False),
        ({"mode": "expression", "numberOutputs": "={{ 9 }}"}, 8, True),
    ],
)
def test_computed_outputs_follow_the_parameters(parameters, output, sound):
    value = wired(switch(**parameters), SET, Switch={"main": [*([[]] * output), [to("Set")]]})
    assert (errors(value) == []) == sound


@pytest.mark.parametrize(
    ("parameters", "index", "sound"), [({}, 1, True), ({}, 2, False), ({"numberInputs": 3}, 2, True)]
)
def test_computed_inputs_follow_the_parameters(parameters, index, sound):
    merge = node("Merge", "n8n-nodes-base.merge", 3, parameters=parameters)
    value = workflow(START, merge, connections={"Start": {"main": [[to("Merge", index=index)]]}})
    assert (errors(value) == []) == sound


@with_catalogue
def test_ports_that_are_not_known_are_not_judged():
    odd = node("Odd", "n8n-nodes-base.odd")
    mine = node("Mine", "n8n-nodes-mine.thing")
    assert errors(wired(odd, mine, Odd={"main": [[], [to("Mine", index=4)]]})) == []


AGENT = node("Asker", "@n8n/n8n-nodes-langchain.agent", 2)
MODEL = node("Brain", "@n8n/n8n-nodes-langchain.lmChatOpenAi", 1.2)


def real(type, version, **parameters):
    return node("Node", type, version, parameters=parameters)


def test_without_a_catalogue_ports_are_known_from_the_list_that_ships():
    assert errors(wired(AGENT, MODEL, **THINKING)) == []
    assert [rule for rule, _ in errors(wired(AGENT))] == ["N8N039"]
    assert {rule for rule, _ in errors(wired(AGENT, MODEL, Brain={"main": [[to("Asker")]]}))} == {"N8N032", "N8N039"}
    into_trigger = wired(SET | {"typeVersion": 3.4}, Set={"main": [[to("Start")]]})
    assert errors(into_trigger) == [("N8N033", "connections.Set.main[0][0].node")]


@walked(
    ("subject", "output", "sound"),
    [
        (real("n8n-nodes-base.if", 2.2), 1, True),
        (real("n8n-nodes-base.if", 2.2), 2, False),
        (real("n8n-nodes-base.switch", 1), 3, True),
        (real("n8n-nodes-base.switch", 1), 4, False),
        (real("n8n-nodes-base.switch", 3.2, rules={"values": [{}] * 5}), 4, True),
        (real("n8n-nodes-base.switch", 3.2, rules={"values": [{}] * 5}), 5, False),
        (real("n8n-nodes-base.switch", 3.2, mode="expression"), 3, True),
        (real("n8n-nodes-base.httpRequest", 4.2) | {"onError": "continueErrorOutput"}, 1, True),
        (real("n8n-nodes-community.odd", 1), 9, True),
    ],
)
def test_without_a_catalogue_outputs_follow_the_given_parameters(subject, output, sound):
    last = SET | {"typeVersion": 3.4}
    value = wired(subject, last, Node={"main": [*([[]] * output), [to("Set")]]})
    assert (errors(value) == []) == sound


SUB_NODES = [
    ("openAi", 1.8, {}, "ai_tool", True),
    ("openAi", 1.8, {"resource": "image"}, "ai_tool", False),
    ("openAi", 1.8, {"resource": "assistant", "operation": "message"}, "ai_memory", True),
    ("agent", 1.7, {"agent": "reActAgent"}, "ai_memory", False),
    ("agent", 1.7, {}, "ai_memory", True),
    ("agent", 1.7, {"agent": "sqlAgent"}, "ai_tool", False),
    ("agent", 2, {"hasOutputParser": False}, "ai_outputParser", False),
    ("agent", 2, {"hasOutputParser": True}, "ai_outputParser", True),
    ("chainSummarization", 2, {"operationMode": "documentLoader"}, "ai_document", True),
    ("chainSummarization", 2, {}, "ai_document", False),
    ("vectorStoreInMemory", 1, {"mode": "insert"}, "ai_document", True),
    ("vectorStoreInMemory", 1, {"mode": "load"}, "ai_document", False),
    ("documentDefaultDataLoader", 1, {}, "ai_textSplitter", True),
    ("documentDefaultDataLoader", 1.1, {}, "ai_textSplitter", False),
    ("outputParserStructured", 1.2, {"autoFix": True}, "ai_languageModel", True),
    ("outputParserStructured", 1.2, {}, "ai_languageModel", False),
    ("guardrails", 2, {"guardrails": {"nsfw": {}}}, "ai_languageModel", True),
    ("chatTrigger", 1.1, {"options": {"loadPreviousSession": "memory"}}, "ai_memory", True),
    ("chatTrigger", 1.1, {}, "ai_memory", False),
    ("agent", 2, {"hasOutputParser": "={{ $json.x }}"}, "ai_outputParser", True),
]


@walked(("short", "version", "parameters", "kind", "sound"), SUB_NODES)
def test_sub_node_inputs_follow_the_parameters(short, version, parameters, kind, sound):
    root = node("Root", f"@n8n/n8n-nodes-langchain.{short}", version, parameters=parameters)
    sub = node("Sub", "n8n-nodes-community.sub")
    value = workflow(START, root, sub, connections={"Sub": {kind: [[to("Root", kind)]]}})
    assert ("N8N033" not in rules(value)) == sound


def test_a_switch_whose_fallback_is_one_of_its_outputs_has_no_more(catalogue):
    from rails.n8n.nodes import ports
    from rails.n8n.nodes.catalogue import current

    description = current().describe("n8n-nodes-base.switch", 3)
    values = {"rules": {"values": [{}, {}]}, "options": {"fallbackOutput": 1}}
    assert len(ports.outputs(description, values, 3)) == 2
    assert len(ports.outputs(description, {**values, "options": {"fallbackOutput": "extra"}}, 3)) == 3


# -- what a finding says, and where ------------------------------------------------------------------


def told(value, rule):
    return [(f.severity, f.json_path, f.message, f.remedy) for f in findings(value) if f.rule == rule]


@with_catalogue
def test_an_output_that_is_not_there_is_told_with_those_that_are():
    value = wired({**SET}, node("B", "n8n-nodes-base.set"), Set={"main": [[], [to("B")], [to("B"), to("B")]]})
    only = 'Node "Set" has only the "main" output 0, so the connection from node "Set" to node "B" is dropped'
    error = 'For an error output set "onError": "continueErrorOutput"; else add the rule or case, or remove it.'
    other = "Add the rule, case or category that makes this output, or remove the connection."
    assert told(value, "N8N032") == [
        ("error", "connections.Set.main[1][0]", only, error),
        ("error", "connections.Set.main[2][0]", only, other),
        ("error", "connections.Set.main[2][1]", only, other),
    ]
    value["nodes"][1]["onError"] = "continueErrorOutput"
    two = only.replace("output 0", "outputs 0 to 1")
    assert [found[1:] for found in told(value, "N8N032")] == [
        ("connections.Set.main[2][0]", two, other),
        ("connections.Set.main[2][1]", two, other),
    ]


@with_catalogue
def test_a_kind_of_output_that_a_node_has_not_is_told_once_at_its_key_with_what_to_do():
    value = wired(ASKER, BRAIN, **THINKING)
    value["connections"]["Brain"] = {"main": [[to("Asker"), to("Asker")]]}
    drops = 'n8n drops the connection from node "Brain" to node "Asker"'
    message = f'Node "Brain" (n8n-nodes-base.brain) has no "main" output: {drops}'
    assert told(value, "N8N032") == [
        ("error", "connections.Brain.main", message, 'Its outputs are "ai_languageModel".')
    ]
    value = wired(ASKER, BRAIN)
    value["connections"]["Asker"] = {"ai_languageModel": [[to("Brain", "ai_languageModel")]]}
    ((_, path, _, remedy),) = told(value, "N8N032")
    assert (path, remedy) == (
        "connections.Asker.ai_languageModel",
        'It is the wrong way round: connect "Brain" to "Asker".',
    )
    note = node("Note", "n8n-nodes-base.note")
    value = wired(SET, note, Note={"ai_tool": [[to("Set", "ai_tool")]]})
    assert told(value, "N8N032")[0][3] == 'Its outputs are "ai_memory".'


@with_catalogue
def test_an_input_that_is_not_there_is_told_with_those_that_are():
    value = wired(SET, Set={"main": [[to("Start"), to("Set", index=1)]]})
    assert told(value, "N8N033") == [
        (
            "error",
            "connections.Set.main[0][0].node",
            'Node "Start" (n8n-nodes-base.manualTrigger) has no "main" input: n8n drops the connection from node "Set"',
            "It has no inputs.",
        ),
        (
            "error",
            "connections.Set.main[0][1].index",
            'Node "Set" has only the "main" input 0, but node "Set" connects to 1',
            "Connect to an input that exists, or raise the node's number of inputs.",
        ),
    ]
    value = wired(ASKER, BRAIN, Brain={"ai_languageModel": [[to("Set", "ai_languageModel")]]})
    value["nodes"].append(SET)
    assert told(value, "N8N033")[0][3] == 'Its inputs are "main".'


@with_catalogue
def test_what_an_input_does_not_take_is_told_at_the_target():
    odd = node("Odd", "x.y")
    value = wired(ASKER, odd, Odd={"ai_languageModel": [[to("Asker", "ai_languageModel")]]})
    assert told(value, "N8N034") == [
        (
            "error",
            "connections.Odd.ai_languageModel[0][0].node",
            'Node "Asker" does not take "x.y" at its "ai_languageModel" input',
            "Use another node, such as a chat model.",
        )
    ]
    assert told(wired(ASKER, BRAIN, **THINKING), "N8N034") == []


@with_catalogue
def test_a_required_input_is_told_with_a_node_that_would_do_and_how_it_is_connected():
    ((severity, path, message, remedy),) = told(wired(ASKER), "N8N039")
    assert (severity, path) == ("error", "nodes[1]")
    assert message == 'Node "Asker" needs a node at its "ai_languageModel" input: it cannot run without'
    assert remedy == (
        "Add one, such as @n8n/n8n-nodes-langchain.lmChatOpenAi, and connect it: "
        '"connections": {"Its name": {"ai_languageModel": '
        '[[{"node": "Asker", "type": "ai_languageModel", "index": 0}]]}}.'
    )
    off = wired(ASKER, BRAIN | {"disabled": True}, **THINKING)
    assert len(told(off, "N8N039")) == 1, "a sub-node that is switched off does not count"


@pytest.mark.parametrize(
    ("kind", "short"),
    [
        ("ai_languageModel", "lmChatOpenAi"),
        ("ai_memory", "memoryBufferWindow"),
        ("ai_embedding", "embeddingsOpenAi"),
        ("ai_document", "documentDefaultDataLoader"),
        ("ai_textSplitter", "textSplitterRecursiveCharacterTextSplitter"),
        ("ai_vectorStore", "vectorStoreInMemory"),
        ("ai_retriever", "retrieverVectorStore"),
        ("ai_reranker", "rerankerCohere"),
    ],
)
def test_each_kind_of_required_input_has_an_example_that_has_such_an_output(kind, short):
    from rails.n8n.nodes import ports
    from rails.n8n.nodes.catalogue import current

    assert ports.USUAL_SUB_NODES[kind] == f"@n8n/n8n-nodes-langchain.{short}"
    description = current().describe(ports.USUAL_SUB_NODES[kind], None)
    if description is not None:
        found = ports.outputs(description, {"mode": "retrieve"}, max(description.versions))
        assert found is None or kind in [port.type for port in found]


@with_catalogue
def test_a_wire_that_changes_its_type_is_told_as_that_and_not_as_a_missing_port():
    value = wired(SET, node("B", "n8n-nodes-base.set"), Set={"main": [[to("B", "ai_tool")]]})
    assert not {"N8N032", "N8N033", "N8N034"} & set(rules(value))
    assert rules(value)
