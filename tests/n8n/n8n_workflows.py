"""Workflows for the tests, and a short way to look at findings."""

import json

from rails.n8n.check import check_workflow


def node(name, type="n8n-nodes-base.noOp", version=1, **more):
    return {
        "id": f"id-{name}",
        "name": name,
        "type": type,
        "typeVersion": version,
        "position": [0, 0],
        "parameters": {},
        **more,
    }


def to(name, type="main", index=0):
    return {"node": name, "type": type, "index": index}


def workflow(*nodes, connections=None, **more):
    return {"name": "Test", "nodes": list(nodes), "connections": connections or {}, "settings": {}, **more}


def chain(*names, **more):
    """A manual trigger called Start and plain nodes after it."""
    nodes = [node("Start", "n8n-nodes-base.manualTrigger"), *(node(name) for name in names)]
    steps = zip(["Start", *names], names, strict=False)
    return workflow(*nodes, connections={a: {"main": [[to(b)]]} for a, b in steps}, **more)


def findings(value, profile="import"):
    data = value if isinstance(value, bytes) else json.dumps(value, indent=2).encode()
    return list(check_workflow(data, "flow.json", profile))


def errors(value, profile="import"):
    return [(f.rule, f.json_path) for f in findings(value, profile) if f.severity == "error"]


def rules(value, profile="import"):
    return [f.rule for f in findings(value, profile)]


def the_one(value, rule, profile="import"):
    """The only finding of a rule."""
    (found,) = [f for f in findings(value, profile) if f.rule == rule]
    return found
