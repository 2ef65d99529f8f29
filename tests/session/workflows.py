"""Workflows of the smallest kind, for sessions that write them."""

from itertools import pairwise


def node(number, name, kind):
    """A node without parameters, to the right of the one before."""
    return {
        "id": str(number),
        "name": name,
        "type": f"n8n-nodes-base.{kind}",
        "typeVersion": 1,
        "position": [200 * (number - 1), 0],
        "parameters": {},
    }


def workflow(name, *nodes):
    """A workflow whose nodes follow each other."""
    wired = {
        one["name"]: {"main": [[{"node": other["name"], "type": "main", "index": 0}]]} for one, other in pairwise(nodes)
    }
    return {"name": name, "nodes": list(nodes), "connections": wired, "settings": {}}
