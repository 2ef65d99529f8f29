"""Is JSON an n8n workflow, even broken?"""

from __future__ import annotations

import re
from typing import Final

#: Keys that n8n's exports have and other graph files don't.
_TELLTALE_KEYS: Final = ("pinData", "staticData", "versionId", "settings")
_NODE_KEYS: Final = frozenset({"type", "typeVersion", "parameters", "position"})
#: Nodes that are looked at before saying that a file is no workflow.
_NODES_LOOKED_AT: Final = 20
#: A path with one of these words in it is where a workflow is expected.
_FLOW_PATH: Final = re.compile(r"(?<![a-z0-9])(?:n8n|(?:work)?flows?)(?![a-z0-9])", re.IGNORECASE)
#: How other programs' graph files name their wires.
_OTHER_WIRES: Final = ("edges", "links")


def looks_like_workflow(value: object, path: str = "") -> bool:
    """Return whether a JSON value is a workflow or a list of them, sound or broken.

    One sign is enough: ``nodes`` with ``connections`` and a key of n8n's; a node type of its packages; empty ``nodes``
    if ``path`` names a flow.
    """
    if isinstance(value, list):
        return any(looks_like_workflow(item, path) for item in value[:_NODES_LOOKED_AT] if isinstance(item, dict))
    if not isinstance(value, dict) or not ("nodes" in value or "connections" in value):
        return False
    nodes = value.get("nodes")
    has_both = "nodes" in value and "connections" in value
    is_empty = "nodes" in value and not nodes and not any(key in value for key in _OTHER_WIRES)
    if is_empty and ((has_both and not value["connections"]) or _FLOW_PATH.search(path)):
        return True
    listed = [*nodes.values()] if isinstance(nodes, dict) else nodes if isinstance(nodes, list) else []
    objects = [node for node in listed[:_NODES_LOOKED_AT] if isinstance(node, dict)]
    if any("n8n" in str(node.get("type")).partition(".")[0] for node in objects):
        return True
    is_alike = any(key in value for key in _TELLTALE_KEYS) or any(len(_NODE_KEYS & node.keys()) > 2 for node in objects)
    return has_both and is_alike
