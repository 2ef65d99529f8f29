# ruff: noqa: E501 - rows read better whole
"""n8n workflows: no document makes the check raise.

    python tests/prove/n8n_fuzz.py [--count 100000] [--workflows FOLDER] [--seed 1]

Takes sound workflows (our own, or a folder's), damages each in one to six places of its JSON, now and then
in its bytes, then checks it beside the ones before, compares, draws, repairs and formats it: by the user's catalogue of
nodes, where there is one. Prints how many were checked, how many exceptions there were, and the times.
"""

import argparse
import copy
import json
import random
import statistics
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

LEAVES = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    10**30,
    "",
    "x",
    "=",
    "={{",
    "={{ }}",
    "={{ $('A') }}",
    "main",
    "0",
    [],
    {},
]
LEAVES += [
    [None],
    [[]],
    {"": None},
    {"__rl": True},
    "__proto__",
    "\ud800",
    "=" * 300,
    ["="],
    {"node": {}},
    "n8n-nodes-base.set",
]


def node(name, type, version, **parameters):
    place = {"id": name, "name": name, "type": type, "typeVersion": version, "position": [0, 0]}
    return place | {"parameters": parameters}


def to(name, kind="main"):
    return {"node": name, "type": kind, "index": 0}


def own():
    base = "n8n-nodes-base."
    ai = "@n8n/n8n-nodes-langchain."
    nodes = [
        node("Hook", base + "webhook", 2, path="a", httpMethod="POST", responseMode="responseNode"),
        node(
            "Set", base + "set", 3.4, assignments={"assignments": [{"id": "1", "name": "a", "value": "={{ $json.b }}"}]}
        ),
        node(
            "If", base + "if", 2.2, conditions={"conditions": [{"operator": {"type": "string", "operation": "equals"}}]}
        ),
        node("Switch", base + "switch", 3.2, rules={"values": [{"outputKey": "x"}, {}]}),
        node("Code", base + "code", 2, jsCode="return $('Set').all();"),
        node("Py", base + "code", 2, language="pythonNative", pythonCode="return _items"),
        node("Agent", ai + "agent", 2, promptType="define", text="={{ $json.chat }}", options={}),
        node("Model", ai + "lmChatOpenAi", 1.2, model={"__rl": True, "mode": "list", "value": "gpt"}),
        node(
            "HTTP",
            base + "httpRequest",
            4.2,
            url="=https://a/{{ $json.id }}",
            headerParameters={"parameters": [{"name": "a"}]},
        ),
        node("Store", ai + "vectorStoreInMemory", 1, mode="insert"),
        node("Merge", base + "merge", 3, numberInputs=3),
        node("Note", base + "stickyNote", 1, content="A note"),
        node("Answer", base + "respondToWebhook", 1.1),
        node("Off", base + "set", 3.4)
        | {"disabled": True, "onError": "stopWorkflow", "credentials": {"x": {"id": "1"}}},
    ]
    wires = {"Hook": ["Set"], "Set": ["If"], "If": ["Switch"], "Switch": ["Code"], "Code": ["Py"], "Py": ["Agent"]}
    wires |= {"Agent": ["HTTP"], "HTTP": ["Store", "Merge"]}
    connections = {a: {"main": [[to(b) for b in targets]]} for a, targets in wires.items()}
    connections["Model"] = {"ai_languageModel": [[to("Agent", "ai_languageModel")]]}
    yield {
        "name": "Own",
        "nodes": nodes,
        "connections": connections,
        "settings": {},
        "pinData": {"Set": [{"json": {}}]},
    }


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield value, key
        yield from places(child, (*path, key))


def damage(flow, rng):
    for _ in range(rng.randrange(1, 7)):
        holder, key = rng.choice(list(places(flow)) or [(flow, "nodes")])
        kind = rng.randrange(5)
        if kind == 0 and isinstance(holder, dict):
            holder.pop(key, None)
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice([key, "0", "main", "x", ""])] = holder.pop(key, None)
        elif kind == 2:
            holder[key] = [holder[key]] if isinstance(holder, list) else {"a": holder.get(key)}
        else:
            holder[key] = copy.deepcopy(rng.choice(LEAVES))


def document(flow, rng):
    data = bytearray(json.dumps(flow).encode("utf-8", "surrogatepass"))
    for _ in range(rng.randrange(1, 5) if rng.random() < 0.15 else 0):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(3)] = rng.choice([b"", b'"', b"{", b"]", b"\\", b"\xff", b"9" * 500, b","])
    return bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--workflows", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    from rails.n8n import formatting, summary
    from rails.n8n.check import check_workflow
    from rails.n8n.draw import picture
    from rails.n8n.nodes import catalogue
    from rails.n8n.recognise import looks_like_workflow
    from rails.n8n.rules.destination import PROFILES

    rng = random.Random(options.seed)
    files = sorted(options.workflows.glob("*.json")) if options.workflows else []
    bases = [json.loads(file.read_bytes()) for file in files] or list(own())
    failures = 0
    times = []
    for _ in range(options.count):
        base = rng.choice(bases)
        flow = copy.deepcopy(base)
        damage(flow, rng)
        data = document(flow, rng)
        started = time.process_time()
        try:
            looks_like_workflow(flow)
            list(check_workflow(data, "flow.json", rng.choice(PROFILES)))
            told = summary.workflow_summary(json.dumps(base).encode("utf-8", "surrogatepass"), data, "flow.json")
            picture.svg(told.drawing if told else None)
            formatting.tidied(data, "flow.json", catalogue.current())
        except Exception:
            failures += 1
            if failures < 5:
                print(data.decode(errors="replace")[:2_000])
                traceback.print_exc()
        times.append((time.process_time() - started) * 1e3)
    times.sort()
    print(
        f"{options.count} documents, {failures} exceptions; median {statistics.median(times):.2f} ms, worst {times[-1]:.1f} ms"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
