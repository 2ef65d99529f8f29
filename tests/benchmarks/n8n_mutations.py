# ruff: noqa: RET503, E501 - a mutation that applies returns nothing; rows read better whole
"""Changes to workflows for the benchmark: faults one at a time, and variants that n8n does not mind.

Each changes a workflow in place and returns False where it does not apply.
"""

import copy
import re

FAULTS = {}
HARMLESS = {}


def fault(function):
    FAULTS[function.__name__] = function
    return function


def harmless(function):
    HARMLESS[function.__name__] = function
    return function


#: Faults that stop publishing, not import; the bases have all credentials that they need.
AT_PUBLISH = {}


def at_publish(function):
    AT_PUBLISH[function.__name__] = function
    return function


def pick(rng, items):
    items = list(items)
    return rng.choice(items) if items else None


def active(flow):
    return [n for n in flow["nodes"] if not n.get("disabled") and not n["type"].endswith(".stickyNote")]


def wires(flow, kind=None):
    for source, outputs in flow["connections"].items():
        for name, buckets in outputs.items():
            for index, bucket in enumerate(buckets):
                for wire in bucket or []:
                    if kind is None or name == kind:
                        yield source, name, index, wire


def by_name(flow):
    return {n["name"]: n for n in flow["nodes"]}


def misspelt(rng, word):
    place = rng.randrange(1, max(len(word) - 1, 2))
    return word[:place] + word[place + 1 :] if len(word) > 4 else word + "x"


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from leaves(child, (*path, index))
    else:
        yield path, value


def put(value, path, new):
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new


@fault
def duplicate_name(flow, rng):
    if len(flow["nodes"]) < 2:
        return False
    a, b = rng.sample(flow["nodes"], 2)
    a["name"] = b["name"]


@fault
def duplicate_id(flow, rng):
    nodes = [n for n in flow["nodes"] if n.get("id")]
    if len(nodes) < 2:
        return False
    a, b = rng.sample(nodes, 2)
    a["id"] = b["id"]


@fault
def no_type(flow, rng):
    del pick(rng, flow["nodes"])["type"]


@fault
def position_object(flow, rng):
    pick(rng, flow["nodes"])["position"] = {"x": 1, "y": 2}


@fault
def version_text(flow, rng):
    node = pick(rng, flow["nodes"])
    node["typeVersion"] = str(node.get("typeVersion", 1))


@fault
def parameters_list(flow, rng):
    pick(rng, flow["nodes"])["parameters"] = []


@fault
def dangling_target(flow, rng):
    wire = pick(rng, wires(flow))
    if not wire:
        return False
    wire[3]["node"] = misspelt(rng, wire[3]["node"])


@fault
def dangling_source(flow, rng):
    source = pick(rng, flow["connections"])
    if not source:
        return False
    flow["connections"][source + " old"] = flow["connections"].pop(source)


@fault
def source_by_id(flow, rng):
    source = pick(rng, [s for s in flow["connections"] if by_name(flow).get(s, {}).get("id")])
    if not source:
        return False
    flow["connections"][by_name(flow)[source]["id"]] = flow["connections"].pop(source)


@fault
def flat_bucket(flow, rng):
    source = pick(rng, [s for s, o in flow["connections"].items() if any(b for b in o.get("main", []))])
    if not source:
        return False
    flow["connections"][source]["main"] = [w for b in flow["connections"][source]["main"] for w in b or []]


@fault
def index_missing(flow, rng):
    wire = pick(rng, wires(flow))
    if not wire:
        return False
    wire[3].pop("index", None)


@fault
def index_text(flow, rng):
    wire = pick(rng, wires(flow))
    if not wire:
        return False
    wire[3]["index"] = str(wire[3]["index"])


@fault
def source_null(flow, rng):
    source = pick(rng, flow["connections"])
    if not source:
        return False
    flow["connections"][source] = None


@fault
def output_key_number(flow, rng):
    source = pick(rng, [s for s, o in flow["connections"].items() if any(o.get("main") or [])])
    if not source:
        return False
    outputs = flow["connections"][source]
    outputs["0"] = outputs.pop("main")


@fault
def target_type_zero(flow, rng):
    wire = pick(rng, wires(flow))
    if not wire:
        return False
    wire[3]["type"] = "0"


@fault
def output_beyond(flow, rng):
    source = pick(rng, [s for s, o in flow["connections"].items() if any(o.get("main") or [])])
    if not source:
        return False
    main = flow["connections"][source]["main"]
    main += [[]] * 30 + [copy.deepcopy(next(b for b in main if b))]


@fault
def input_beyond(flow, rng):
    wire = pick(rng, wires(flow, "main"))
    if not wire:
        return False
    wire[3]["index"] = 25


@fault
def into_trigger(flow, rng):
    trigger = pick(rng, [n for n in active(flow) if n["type"].endswith(("Trigger", ".webhook"))])
    wire = pick(rng, wires(flow, "main"))
    if not trigger or not wire:
        return False
    wire[3]["node"] = trigger["name"]


@fault
def sub_node_on_main(flow, rng):
    wire = pick(rng, [w for w in wires(flow) if w[1].startswith("ai_")])
    if not wire:
        return False
    outputs = flow["connections"][wire[0]]
    outputs["main"] = outputs.pop(wire[1])
    for bucket in outputs["main"]:
        for one in bucket or []:
            one["type"] = "main"


@fault
def sub_node_backwards(flow, rng):
    wire = pick(rng, [w for w in wires(flow) if w[1].startswith("ai_")])
    if not wire:
        return False
    source, kind, _, target = wire
    del flow["connections"][source]
    back = flow["connections"].setdefault(target["node"], {})
    back[kind] = [[{"node": source, "type": kind, "index": 0}]]


@fault
def model_removed(flow, rng):
    wire = pick(rng, wires(flow, "ai_languageModel"))
    if not wire:
        return False
    name = wire[0]
    flow["nodes"] = [n for n in flow["nodes"] if n["name"] != name]
    flow["connections"].pop(name)


@fault
def type_misspelt(flow, rng):
    node = pick(rng, [n for n in active(flow) if n["type"].startswith("n8n-nodes-base.")])
    if not node:
        return False
    node["type"] = "n8n-nodes-base." + misspelt(rng, node["type"].removeprefix("n8n-nodes-base."))


@fault
def type_without_prefix(flow, rng):
    node = pick(rng, [n for n in active(flow) if n["type"].startswith("n8n-nodes-base.")])
    if not node:
        return False
    node["type"] = node["type"].removeprefix(rng.choice(["n8n-", "n8n-nodes-base."]))


@fault
def version_unknown(flow, rng):
    node = pick(rng, [n for n in active(flow) if n["type"].startswith("n8n-nodes-base.")])
    if not node:
        return False
    node["typeVersion"] = rng.choice([0.5, 1.55, 9, 99])


@fault
def parameter_misspelt(flow, rng):
    node = pick(
        rng, [n for n in active(flow) if n["type"].startswith(("n8n-nodes-base.", "@n8n/")) and n.get("parameters")]
    )
    if not node:
        return False
    name = pick(rng, [k for k, v in node["parameters"].items() if len(k) > 3 and v not in ("", {}, [], None)])
    if not name:
        return False
    node["parameters"][misspelt(rng, name)] = node["parameters"].pop(name)


@fault
def required_emptied(flow, rng):
    names = {"url", "path", "fieldToSplitOut", "to", "sendTo", "chatId", "channelId", "documentId", "sheetName", "text"}
    found = [(n, k) for n in active(flow) for k in names & (n.get("parameters") or {}).keys()]
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen[0]["parameters"].pop(chosen[1])


@fault
def choice_wrong(flow, rng):
    names = {"resource", "operation", "mode", "method", "httpMethod", "authentication", "promptType"}
    found = [
        (n, k)
        for n in active(flow)
        for k in names & (n.get("parameters") or {}).keys()
        if isinstance(n["parameters"][k], str) and not n["parameters"][k].startswith("=")
        and n["type"].startswith(("n8n-nodes-base.", "@n8n/"))
    ]  # fmt: skip
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen[0]["parameters"][chosen[1]] += "X"


@fault
def option_key_misspelt(flow, rng):
    found = [(n, k) for n in active(flow) for k in (n.get("parameters") or {}).get("options") or {}
             if n["type"].startswith(("n8n-nodes-base.", "@n8n/")) and isinstance(n["parameters"]["options"], dict)]  # fmt: skip
    chosen = pick(rng, found)
    if not chosen:
        return False
    options = chosen[0]["parameters"]["options"]
    options[chosen[1] + "s_"] = options.pop(chosen[1])


@fault
def group_key_wrong(flow, rng):
    found = [(p, k, g) for n in active(flow) if n["type"].startswith(("n8n-nodes-base.", "@n8n/"))
             for p in [n.get("parameters") or {}] for k, v in p.items() if isinstance(v, dict) and len(v) == 1
             for g, rows in v.items() if isinstance(rows, list) and rows and isinstance(rows[0], dict)
             and k not in ("conditions", "assignments", "columns")]  # fmt: skip
    chosen = pick(rng, found)
    if not chosen:
        return False
    parameters, name, group = chosen
    parameters[name] = {group + "List": parameters[name][group]}


@fault
def rows_as_object(flow, rng):
    found = [(v, g) for n in active(flow) if n["type"].startswith(("n8n-nodes-base.", "@n8n/"))
             for k, v in (n.get("parameters") or {}).items() if isinstance(v, dict) and len(v) == 1
             for g, rows in v.items() if isinstance(rows, list) and rows and isinstance(rows[0], dict)
             and k not in ("conditions", "assignments", "columns")]  # fmt: skip
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen[0][chosen[1]] = chosen[0][chosen[1]][0]


def expressions(flow):
    for node in active(flow):
        for path, value in leaves(node.get("parameters") or {}):
            if (
                isinstance(value, str)
                and value.startswith("=")
                and "}}" in value
                and path[-1] not in ("jsCode", "pythonCode")
            ):
                yield node, path, value


@fault
def expression_broken(flow, rng):
    chosen = pick(rng, expressions(flow))
    if not chosen:
        return False
    node, path, value = chosen
    broken = rng.choice([" + }}", ") }}", ". }}", " 'x }}", " ? 1 }}", " b c }}"])
    put(node["parameters"], path, value.replace("}}", broken, 1))


@fault
def reference_missing(flow, rng):
    chosen = pick(rng, [e for e in expressions(flow) if re.search(r"\$\('[^']+'\)", e[2])])
    if not chosen:
        return False
    node, path, value = chosen
    put(node["parameters"], path, re.sub(r"\$\('([^']+)'\)", r"$('\1 (old)')", value, count=1))


def scripts(flow):
    for node in active(flow):
        code = (node.get("parameters") or {}).get("jsCode")
        if node["type"] == "n8n-nodes-base.code" and isinstance(code, str) and len(code) > 40:
            yield node, code


@fault
def javascript_broken(flow, rng):
    chosen = pick(rng, scripts(flow))
    if not chosen:
        return False
    node, code = chosen
    cut = [code[: code.rindex("}")] if "}" in code else code + "}", code.replace("(", "((", 1), code + "\nconst = 1;",
           code.replace("return", "retrun [", 1) if "return" in code else code + ")", "return [{{ $json.a }}];"]  # fmt: skip
    node["parameters"]["jsCode"] = rng.choice(cut)


@harmless
def ids_removed(flow, rng):
    for node in flow["nodes"]:
        node.pop("id", None)


@harmless
def moved(flow, rng):
    for node in flow["nodes"]:
        node["position"] = [rng.uniform(-900, 900), rng.uniform(-900, 900)]


@harmless
def shuffled(flow, rng):
    rng.shuffle(flow["nodes"])
    flow["connections"] = dict(rng.sample(sorted(flow["connections"].items()), len(flow["connections"])))


@harmless
def notes_and_keys_added(flow, rng):
    for node in flow["nodes"]:
        node |= {"notes": "{{ note }}", "notesInFlow": True, "color": 3, "retryOnFail": True}
    flow |= {"meta": {"x": 1}, "pinData": {}, "versionId": "x", "tags": [], "active": False}


@harmless
def settings_removed(flow, rng):
    for key in ("settings", "pinData", "meta", "tags", "id"):
        flow.pop(key, None)


@harmless
def empty_slots(flow, rng):
    for outputs in flow["connections"].values():
        for name in outputs:
            outputs[name] = [None if bucket == [] else bucket for bucket in outputs[name]]
    flow["connections"].setdefault(flow["nodes"][0]["name"], {}).setdefault("main", [])


@harmless
def disabled_nonsense(flow, rng):
    flow["nodes"].append({"name": "Off 77", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [0, 0],
                          "parameters": {"options": {}, "duplicateItem": "={{ $('Gone') + }}"}, "disabled": True})  # fmt: skip


@harmless
def note_added(flow, rng):
    flow["nodes"].append({"name": "Note 77", "type": "n8n-nodes-base.stickyNote", "typeVersion": 1, "position": [0, 0],
                          "parameters": {"content": "={{ $('Gone') + "}})  # fmt: skip


# -- faults, continued: shapes, AI wiring, parameters, expressions ---------------------------------------


@fault
def nodes_object(flow, rng):
    flow["nodes"] = {n["name"]: n for n in flow["nodes"]}


@fault
def connections_list(flow, rng):
    flow["connections"] = [{"from": s, "to": w["node"]} for s, _, _, w in wires(flow)]


@fault
def node_null(flow, rng):
    flow["nodes"].append(None)


@fault
def name_empty(flow, rng):
    node = pick(rng, [n for n in flow["nodes"] if n["name"] not in flow["connections"]])
    if not node:
        return False
    node["name"] = ""


@fault
def id_number(flow, rng):
    pick(rng, flow["nodes"])["id"] = 7


@fault
def disabled_text(flow, rng):
    pick(rng, flow["nodes"])["disabled"] = "false"


@fault
def position_one(flow, rng):
    pick(rng, flow["nodes"])["position"] = [250]


@fault
def target_text(flow, rng):
    wire = pick(rng, wires(flow))
    if not wire:
        return False
    source, kind, index, target = wire
    flow["connections"][source][kind][index] = [target["node"]]


@fault
def target_type_missing(flow, rng):
    wire = pick(rng, wires(flow))
    if not wire:
        return False
    wire[3].pop("type", None)


@fault
def index_negative(flow, rng):
    wire = pick(rng, wires(flow))
    if not wire:
        return False
    wire[3]["index"] = -1


@fault
def note_connected(flow, rng):
    wire = pick(rng, wires(flow, "main"))
    if not wire:
        return False
    flow["nodes"].append(
        {"name": "Note 9", "type": "n8n-nodes-base.stickyNote", "typeVersion": 1, "position": [0, 0], "parameters": {}}
    )
    wire[3]["node"] = "Note 9"


@fault
def renamed_alone(flow, rng):
    source = pick(rng, flow["connections"])
    if not source or source not in by_name(flow):
        return False
    by_name(flow)[source]["name"] = source + " v2"


@fault
def ai_port_wrong(flow, rng):
    wire = pick(rng, [w for w in wires(flow) if w[1] in ("ai_languageModel", "ai_memory", "ai_embedding")])
    if not wire:
        return False
    outputs = flow["connections"][wire[0]]
    wrong = "ai_document" if wire[1] != "ai_document" else "ai_memory"
    outputs[wrong] = outputs.pop(wire[1])
    for bucket in outputs[wrong]:
        for one in bucket or []:
            one["type"] = wrong


@fault
def ai_port_misspelt(flow, rng):
    wire = pick(rng, [w for w in wires(flow) if w[1].startswith("ai_")])
    if not wire:
        return False
    outputs = flow["connections"][wire[0]]
    wrong = wire[1].replace("ai_", "ai")
    outputs[wrong] = outputs.pop(wire[1])
    for bucket in outputs[wrong]:
        for one in bucket or []:
            one["type"] = wrong


@fault
def plain_node_as_tool(flow, rng):
    agent = pick(rng, [n for n in active(flow) if n["type"].endswith(".agent")])
    if not agent:
        return False
    flow["nodes"].append(
        {
            "name": "Lone 9",
            "type": "n8n-nodes-base.splitOut",
            "typeVersion": 1,
            "position": [0, 0],
            "parameters": {"fieldToSplitOut": "a"},
        }
    )
    flow["connections"]["Lone 9"] = {"ai_tool": [[{"node": agent["name"], "type": "ai_tool", "index": 0}]]}


@fault
def embedding_removed(flow, rng):
    wire = pick(rng, wires(flow, "ai_embedding"))
    if not wire:
        return False
    flow["nodes"] = [n for n in flow["nodes"] if n["name"] != wire[0]]
    flow["connections"].pop(wire[0])


@fault
def type_of_other_package(flow, rng):
    node = pick(rng, [n for n in active(flow) if n["type"].startswith("@n8n/n8n-nodes-langchain.")])
    if not node:
        return False
    node["type"] = node["type"].replace("@n8n/n8n-nodes-langchain.", "n8n-nodes-langchain.")


@fault
def type_case(flow, rng):
    node = pick(rng, [n for n in active(flow) if re.search(r"^n8n-nodes-base\..*[A-Z]", n["type"])])
    if not node:
        return False
    node["type"] = node["type"].lower()


@fault
def parameter_invented(flow, rng):
    node = pick(rng, [n for n in active(flow) if n["type"].startswith("n8n-nodes-base.")])
    if not node:
        return False
    node.setdefault("parameters", {})["retryPolicy"] = {"attempts": 3}


@fault
def set_of_older_version(flow, rng):
    node = pick(rng, [n for n in active(flow) if n["type"] == "n8n-nodes-base.set" and n.get("typeVersion", 1) >= 3.3])
    if not node:
        return False
    node["parameters"] = {"values": {"string": [{"name": "a", "value": "b"}]}, "options": {}}


@fault
def locator_emptied(flow, rng):
    found = [
        v
        for n in active(flow)
        for v in (n.get("parameters") or {}).values()
        if isinstance(v, dict) and v.get("__rl") and v.get("value")
    ]
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen["value"] = ""


@fault
def locator_of_wrong_form(flow, rng):
    found = [
        v
        for n in active(flow)
        for v in (n.get("parameters") or {}).values()
        if isinstance(v, dict) and v.get("__rl") and v.get("mode") == "id"
    ]
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen["value"] = "not an id at all"


@fault
def operator_wrong(flow, rng):
    found = [c["operator"] for n in active(flow) for p in [n.get("parameters") or {}] if isinstance(p.get("conditions"), dict)
             for c in p["conditions"].get("conditions") or [] if isinstance(c, dict) and isinstance(c.get("operator"), dict)]  # fmt: skip
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen["operation"] = rng.choice(["eq", "isEqual", "equal", "is_empty"])


@fault
def conditions_of_older_version(flow, rng):
    node = pick(rng, [n for n in active(flow) if n["type"] == "n8n-nodes-base.if" and n.get("typeVersion", 1) >= 2])
    if not node:
        return False
    node["parameters"] = {"conditions": {"string": [{"value1": "={{ $json.a }}", "operation": "equal", "value2": "b"}]}}


@fault
def merge_input_beyond(flow, rng):
    found = [
        w for w in wires(flow, "main") if by_name(flow).get(w[3]["node"], {}).get("type") == "n8n-nodes-base.merge"
    ]
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen[3]["index"] = 9


@fault
def switch_output_beyond(flow, rng):
    found = [s for s in flow["connections"] if by_name(flow).get(s, {}).get("type") == "n8n-nodes-base.switch"]
    source = pick(rng, [s for s in found if any(flow["connections"][s].get("main") or [])])
    if not source:
        return False
    main = flow["connections"][source]["main"]
    main += [[]] * 12 + [copy.deepcopy(next(b for b in main if b))]


def replace_expression(flow, rng, made):
    chosen = pick(rng, expressions(flow))
    if not chosen:
        return False
    put(chosen[0]["parameters"], chosen[1], made)


@fault
def expression_nested(flow, rng):
    return replace_expression(flow, rng, "={{ {{ $json.a }} }}")


@fault
def expression_statement(flow, rng):
    return replace_expression(flow, rng, "={{ const a = 1; a }}")


@fault
def expression_quote_open(flow, rng):
    return replace_expression(flow, rng, "=Hello {{ $json['a }} there")


@fault
def expression_operator(flow, rng):
    return replace_expression(flow, rng, "={{ $json.a and $json.b }}")


@fault
def reference_bracket(flow, rng):
    return replace_expression(flow, rng, '={{ $node["No such node"].json.a }}')


@fault
def reference_items(flow, rng):
    return replace_expression(flow, rng, "=A {{ $('No such node').first().json.a }} b")


@fault
def reference_in_code(flow, rng):
    chosen = pick(rng, scripts(flow))
    if not chosen:
        return False
    chosen[0]["parameters"]["jsCode"] = "const rows = $('No such node').all();\nreturn rows;"


@fault
def python_in_javascript(flow, rng):
    chosen = pick(rng, scripts(flow))
    if not chosen:
        return False
    chosen[0]["parameters"]["jsCode"] = "for item in items:\n    item.a = None\nreturn items"


# -- harmless, continued --------------------------------------------------------------------------------

_EXPRESSIONS = [
    "={{ $json.a?.b?.[0] ?? 'none' }}",
    "={{ $input.first().json.a }}",
    "={{ $input.all().map(i => i.json.a).filter(Boolean).join(', ') }}",
    "={{ $now.minus({ days: 7 }).toFormat('yyyy-MM-dd') }}",
    "={{ DateTime.fromISO($json.d).toLocal().diff(DateTime.now(), ['days']).days }}",
    "={{ $jmespath($json.list, '[?a > `3`].b') }}",
    "={{ `${$json.a} and ${$json.b.c}` }}",
    "={{ JSON.stringify({ a: { b: [1, 2] } }) }}",
    "={{ { a: 1, b: { c: 2 } } }}",
    "={{ ({ a: $json.x })['a'] }}",
    "={{ $json['odd key'].replace(/[{}]+/g, '') }}",
    "={{ $if($json.a > 1, 'x', 'y') }}",
    "={{ (() => { const a = 1; return a; })() }}",
    "={{ $json.a ? $json.b : $json.c }}",
    "={{ $execution.id }}-{{ $workflow.name }} and text",
    "={{ $('%s').item?.json?.a }}",
    "={{ $('%s').all().length }}",
    "={{ $('%s').isExecuted ? $('%s').first().json.a : '' }}",
    "={{ $node['%s'].json.a }}",
    "={{ /* $('Gone') */ $json.a }}",
    "={{ \"$('Gone')\" }}",
    "={{ $json.html.extractEmail().toLowerCase() }}",
    "={{ $json.a.isEmpty() }} {{ $itemIndex }} {{ $runIndex }}",
    "={{ typeof $json.a === 'string' && !!$json.a }}",
    "={{ $json.list.reduce((sum, { price = 0, ...rest }) => sum + price, 0) }}",
    "={{ new Date().toISOString() }}",
    "=no braces at all",
    "=",
    "={{ $vars.a }}{{ $env['B'] }}{{ $prevNode.name }}",
    "={{ $json.a\n  .trim() }}",
    "={{ Object.entries($json).map(([k, v]) => `${k}: ${v}`).join('\\n') }}",
    "={{ 10 ** 2 }}{{ 1_000 }}{{ a = 1 }}",
    "={{ $json.a.replaceAll('\"', \"'\") }}",
]


@harmless
def expressions_added(flow, rng):
    first = next(iter(flow["connections"]), None)
    if first is None or "'" in first or "\\" in first or first not in by_name(flow):
        return False
    rows = [
        {"id": str(n), "name": f"v{n}", "type": "string", "value": text.replace("%s", first)}
        for n, text in enumerate(_EXPRESSIONS)
    ]
    flow["nodes"].append({"name": "Set 77", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [0, 0],
                          "parameters": {"assignments": {"assignments": rows}, "options": {}}})  # fmt: skip
    slots = flow["connections"][first].setdefault("main", [])
    slots[:1] = [[*((slots and slots[0]) or []), {"node": "Set 77", "type": "main", "index": 0}]]


@harmless
def keys_turned(flow, rng):
    for index, node in enumerate(flow["nodes"]):
        flow["nodes"][index] = dict(reversed(node.items()))
    turned = dict(reversed(flow.items()))
    flow.clear()
    flow.update(turned)


@harmless
def community_node_added(flow, rng):
    flow["nodes"].append({"name": "Other 77", "type": "n8n-nodes-evolution-api.evolutionApi", "typeVersion": 1, "position": [0, 0],
                          "parameters": {"anything": {"goes": [1]}}, "credentials": {"evolutionApi": {"id": "1", "name": "x"}}})  # fmt: skip


@harmless
def pinned(flow, rng):
    flow["pinData"] = {n["name"]: [{"json": {"a": "={{ $('Gone') + }}"}}] for n in flow["nodes"][:3]}
    flow["staticData"] = {"node:x": {"lastId": 3}}


@harmless
def code_added(flow, rng):
    flow["nodes"] += [
        {"name": f"Code {n}", "type": "n8n-nodes-base.code", "typeVersion": 2, "position": [0, 0], "parameters": parameters}
        for n, parameters in enumerate((
            {"jsCode": "const { DateTime } = require('luxon');\nfor await (const x of f()) { a.b ??= 1; }\nreturn [{ json: { a: `{{ ${1} }}` } }];"},
            {"jsCode": "// $('Gone')\nlet s = \"$('Gone')\";\nreturn await Promise.all($input.all().map(async (i) => ({ json: { ...i.json, n: 1n.toString() } })));"},
            {"mode": "runOnceForEachItem", "jsCode": "label: for (;;) { break label }\nclass A { #x = 1; static { } get x() { return this.#x } }\nreturn { json: $json };"},
            {"language": "pythonNative", "pythonCode": "return [{'json': {**item['json'], 'a': [x for x in range(3) if (y := x)]}} for item in _items]"},
        ))
    ]  # fmt: skip


@harmless
def error_outputs(flow, rng):
    for node in active(flow)[:4]:
        node["onError"] = "continueErrorOutput"


@harmless
def retry_settings(flow, rng):
    for node in flow["nodes"]:
        node |= {
            "retryOnFail": True,
            "maxTries": 3,
            "waitBetweenTries": 1000,
            "alwaysOutputData": True,
            "executeOnce": False,
        }
    flow["settings"] = {"executionOrder": "v1", "timezone": "Europe/Berlin", "newSetting": True}


@harmless
def tool_with_from_ai(flow, rng):
    agent = pick(rng, [n for n in active(flow) if n["type"].endswith(".agent") and n.get("typeVersion", 1) >= 1.7])
    if not agent:
        return False
    flow["nodes"].append({"name": "Ask 77", "type": "n8n-nodes-base.httpRequestTool", "typeVersion": 4.2, "position": [0, 0],
                          "parameters": {"url": "={{ $fromAI('url', `the page to read`, 'string') }}", "options": {}}})  # fmt: skip
    flow["connections"]["Ask 77"] = {"ai_tool": [[{"node": agent["name"], "type": "ai_tool", "index": 0}]]}


@harmless
def parameters_gone(flow, rng):
    flow["nodes"].append({"name": "Bare 77", "type": "n8n-nodes-base.noOp", "position": [10.5, -3.25]})


@harmless
def locator_as_text(flow, rng):
    found = [(n["parameters"], k) for n in active(flow) for k, v in (n.get("parameters") or {}).items()
             if isinstance(v, dict) and v.get("__rl") and isinstance(v.get("value"), str) and v["value"]]  # fmt: skip
    chosen = pick(rng, found)
    if not chosen:
        return False
    chosen[0][chosen[1]] = chosen[0][chosen[1]]["value"]


# -- at publish ------------------------------------------------------------------------------------------------


def credentials(flow):
    return [
        (n["credentials"], k)
        for n in active(flow)
        for k in n.get("credentials") or {}
        if isinstance(n["credentials"], dict)
    ]


def credential_made(change):
    def mutate(flow, rng):
        found = pick(rng, credentials(flow))
        if not found:
            return False
        change(*found)
        return None

    return mutate


def of_another_type(given, kind):
    given["someOtherApi"] = given.pop(kind)


for name, change in {
    "credential_removed": lambda given, kind: given.pop(kind),
    "credential_null": lambda given, kind: given.update({kind: None}),
    "credential_id_empty": lambda given, kind: given.update({kind: {"id": "", "name": "x"}}),
    "credential_id_null": lambda given, kind: given.update({kind: {"id": None, "name": "x"}}),
    "credential_id_missing": lambda given, kind: given.update({kind: {"name": "x"}}),
    "credential_as_text": lambda given, kind: given.update({kind: "My account"}),
    "credential_of_another_type": of_another_type,
}.items():
    AT_PUBLISH[name] = credential_made(change)


@at_publish
def all_credentials_removed(flow, rng):
    node = pick(rng, [n for n in active(flow) if n.get("credentials")])
    if not node:
        return False
    del node["credentials"]


@at_publish
def authentication_changed(flow, rng):
    node = pick(rng, [n for n in active(flow) if isinstance((n.get("parameters") or {}).get("authentication"), str)])
    if not node:
        return False
    others = {
        "oAuth2": "accessToken",
        "accessToken": "oAuth2",
        "serviceAccount": "oAuth2",
        "predefinedCredentialType": "none",
    }
    node["parameters"]["authentication"] = others.get(node["parameters"]["authentication"], "oAuth2")


def is_start(node):
    return node["type"].lower().endswith(("trigger", ".webhook", ".cron", ".interval"))


@at_publish
def started_by_hand_only(flow, rng):
    for node in flow["nodes"]:
        if is_start(node):
            node |= {"type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "parameters": {}}


@at_publish
def triggers_disabled(flow, rng):
    for node in flow["nodes"]:
        if is_start(node):
            node["disabled"] = True


@at_publish
def webhook_twice(flow, rng):
    for number, path in enumerate(("x-77", "/x-77/")):
        flow["nodes"].append({"id": f"77-{number}", "name": f"Hook 77 {number}", "type": "n8n-nodes-base.webhook", "typeVersion": 2,
                              "position": [0, 0], "parameters": {"path": path, "httpMethod": "POST"}})  # fmt: skip


for name in ("required_emptied", "locator_emptied", "type_misspelt", "version_unknown", "duplicate_id"):
    AT_PUBLISH[name] = FAULTS[name]
