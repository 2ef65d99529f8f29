# ruff: noqa: RET503, E501 - a mutation that applies returns nothing; rows read better whole
"""n8n workflows: false alarms, recall and time, judged by n8n's own code.

    npm pack n8n-nodes-base @n8n/n8n-nodes-langchain n8n-mcp      # unpack each into PACKAGES
    npm install --ignore-scripts n8n-workflow                     # gives MODULES (a node_modules folder)
    python tests/benchmarks/n8n.py PACKAGES --modules MODULES [--names-only] [--bases 300]

Workflows are the templates that the package n8n-mcp carries (``data/nodes.db``), or ``--workflows FOLDER``.
Faults are put in by the mutations below, one at a time; ``n8n_oracle.js`` asks n8n's code what it finds
before and after. Nothing of these packages is part of AI-Rails.
"""

import argparse
import base64
import collections
import copy
import gzip
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

# -- mutations: each changes a workflow in place and returns False where it does not apply ---------------

FAULTS = {}
HARMLESS = {}


def fault(function):
    FAULTS[function.__name__] = function
    return function


def harmless(function):
    HARMLESS[function.__name__] = function
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
                          "parameters": {"a": "={{ $('Gone') + }}"}, "disabled": True})  # fmt: skip


@harmless
def note_added(flow, rng):
    flow["nodes"].append({"name": "Note 77", "type": "n8n-nodes-base.stickyNote", "typeVersion": 1, "position": [0, 0],
                          "parameters": {"content": "={{ $('Gone') + "}})  # fmt: skip


# -- measuring -----------------------------------------------------------------------------------------


def templates(packages):
    database = next(packages.rglob("data/nodes.db"))
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    for plain, packed in connection.execute(
        "select workflow_json, workflow_json_compressed from templates order by id"
    ):
        yield json.loads(plain or gzip.decompress(base64.b64decode(packed)))


def oracle(flows, options):
    command = ["node", str(HERE / "n8n_oracle.js"), str(options.modules), str(options.packages)]
    made = subprocess.run(command, input=json.dumps(flows), capture_output=True, text=True, check=True)
    answer = json.loads(made.stdout)
    return [{tuple(one) for one in verdict} for verdict in answer["verdicts"]], answer["ms"]


def ours(flows):
    from rails.gate.checks.n8n import check

    found, times = [], []
    for flow in flows:
        data = json.dumps(flow, indent=2).encode()
        started = time.perf_counter()
        found.append(list(check(data, "flow.json")))
        times.append((time.perf_counter() - started) * 1e3)
    return found, sorted(times)


def errors(findings):
    return {(f.rule, f.json_path, f.message) for f in findings if f.severity == "error"}


def peer(flows, options):
    command = ["node", str(HERE / "n8n_peer.js"), str(options.peer)]
    made = subprocess.run(command, input=json.dumps(flows), capture_output=True, text=True, check=True)
    answer = json.loads(made.stdout)
    return [set(one) for one in answer["verdicts"]], sorted(answer["ms"])


def share(part, whole):
    return f"{part:5d} / {whole:5d} = {100 * part / whole if whole else 0:5.1f} %"


def mutants(bases, kinds, per_kind, rng):
    for name, mutate in kinds.items():
        left = per_kind
        for index in rng.sample(range(len(bases)), len(bases)):
            flow = copy.deepcopy(bases[index])
            if left and mutate(flow, rng) is not False:
                left -= 1
                yield name, index, flow


def measure(options):
    rng = random.Random(options.seed)
    source = (
        [json.loads(p.read_bytes()) for p in sorted(options.workflows.glob("*.json"))] if options.workflows else None
    )
    flows = source or list(templates(options.packages))
    verdicts, oracle_ms = oracle(flows, options)
    found, times = ours(flows)
    hard = [{fault for fault in verdict if fault[0] != "dropped"} for verdict in verdicts]
    clean = [i for i, faults in enumerate(hard) if not faults]
    print(f"{len(flows)} workflows; n8n's code finds nothing wrong in {len(clean)}")
    print("errors on those (false alarms):", share(sum(bool(errors(found[i])) for i in clean), len(clean)))
    broken = [i for i in range(len(flows)) if hard[i]]
    print("errors on the others (found):  ", share(sum(bool(errors(found[i])) for i in broken), len(broken)))
    print(
        f"time: median {statistics.median(times):.1f} ms, p95 {times[int(0.95 * len(times))]:.1f} ms; n8n {oracle_ms:.1f} ms"
    )

    if options.peer:
        told, peer_times = peer(flows, options)
        print("n8n-mcp, false alarms:", share(sum(bool(told[i]) for i in clean), len(clean)))
        print("n8n-mcp, found:       ", share(sum(bool(told[i]) for i in broken), len(broken)))
        print(f"n8n-mcp, time: median {statistics.median(peer_times):.1f} ms, p95 {at(peer_times, 0.95):.1f} ms")
    chosen = rng.sample(clean, min(options.bases, len(clean)))
    compare([flows[i] for i in chosen if len(flows[i]["nodes"]) > 2], options, rng)


def at(times, part):
    return times[int(part * len(times))]


def compare(bases, options, rng):
    noise = [errors(findings) for findings in ours(bases)[0]]
    base_verdicts, _ = oracle(bases, options)
    peer_noise = peer(bases, options)[0] if options.peer else []
    made = list(mutants(bases, FAULTS, options.per_kind, rng))
    flows = [flow for _, _, flow in made]
    labels, judged = oracle(flows, options)[0], ours(flows)[0]
    told = peer(flows, options)[0] if options.peer else [set()] * len(made)
    rows = collections.defaultdict(collections.Counter)
    for (kind, index, _), label, findings, errs in zip(made, labels, judged, told, strict=True):
        row, new = rows[kind], errors(findings) - noise[index]
        bad = bool(label - base_verdicts[index])
        row["made"] += 1
        row["n8n"] += bad
        row["ours"] += bool(new)
        row["both"] += bool(new and bad)
        row["peer"] += bool(options.peer and errs - peer_noise[index] and bad)
    print(f"\n{'fault':24} made  n8n says  we say  of n8n's   n8n-mcp, of n8n's")
    for kind, row in rows.items():
        of, peers = (100 * row[name] / max(row["n8n"], 1) for name in ("both", "peer"))
        print(f"{kind:24} {row['made']:4d} {row['n8n']:9d} {row['ours']:7d} {of:7.1f} % {peers:10.1f} %")
    total = sum(rows.values(), collections.Counter())
    print("recall of what n8n refuses, flags, drops or fails on:", share(total["both"], total["n8n"]))
    if options.peer:
        print("n8n-mcp:                                             ", share(total["peer"], total["n8n"]))
    made = list(mutants(bases, HARMLESS, options.per_kind, rng))
    judged = ours([flow for _, _, flow in made])[0]
    alarms = collections.Counter(
        kind
        for (kind, index, _), findings in zip(made, judged, strict=True)
        if len(errors(findings)) > len(noise[index])
    )
    print("errors on harmless variants:", share(sum(alarms.values()), len(made)), dict(alarms))
    if options.peer:
        told = peer([flow for _, _, flow in made], options)[0]
        count = sum(len(errs) > len(peer_noise[index]) for (_, index, _), errs in zip(made, told, strict=True))
        print("n8n-mcp:                    ", share(count, len(made)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--workflows", type=Path)
    parser.add_argument("--peer", type=Path, help="a node_modules folder with n8n-mcp, to compare with")
    parser.add_argument("--names-only", action="store_true", help="without the full catalogue")
    parser.add_argument("--bases", type=int, default=400)
    parser.add_argument("--per-kind", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AI_RAILS_N8N_CATALOGUE"] = str(Path(folder) / "catalogue.json.gz")
        from rails.gate.checks.n8n import build_catalogue

        if not options.names_only:
            print(build_catalogue(options.packages))
        measure(options)


if __name__ == "__main__":
    main()
