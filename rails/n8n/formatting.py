"""A workflow file's canonical text, and what can be filled in without guessing.

As n8n's editor downloads it: indentation of two, its order of a workflow's and a node's own keys, only necessary
escapes.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from rails.core.text import decode_text, one_line
from rails.core.tool_request import Json
from rails.core.verdict import Fixed
from rails.n8n import json_file, model
from rails.n8n.edit import layout
from rails.n8n.facts import FACTS
from rails.n8n.nodes.catalogue import Catalogue
from rails.n8n.repair import repairs

_WORKFLOW_ORDER: Final[list[str]] = FACTS["order_of_workflow_keys"]
_NODE_ORDER: Final[list[str]] = FACTS["order_of_node_keys"]
#: Types whose node n8n gives a webhook id of its own.
_WITH_WEBHOOK: Final = frozenset(FACTS["types_given_a_webhook_id"])
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def tidied(data: bytes, path: str, known: Catalogue | None = None) -> tuple[bytes, tuple[Fixed, ...]]:
    """Return a file repaired, completed, in n8n's form, and what was done.

    Only values that n8n would drop, with one valid form by ``known``, change.
    """
    sound, corrected = repaired_file(data, path, known)
    whole, filled = complete(sound, path)
    made, fixed = canonical(whole), (*corrected, *filled)
    if made == whole or fixed:
        return made, fixed
    return made, (Fixed(path, "format", "n8n"),)


def repaired_file(data: bytes, path: str, known: Catalogue | None = None) -> tuple[bytes, tuple[Fixed, ...]]:
    """Return the file with what n8n would drop in its valid form, and each repair."""
    value = _workflows_in(data)
    done: list[repairs.WorkflowRepair] = []

    def work(workflow: Mapping[str, Json]) -> dict[str, Json]:
        made, found = repairs.repaired(workflow, known)
        done.extend(found)
        return made

    sound = _each(value, work)
    made = _as_before(data, sound) if done else None
    return (data, ()) if made is None else (made, tuple(Fixed(path, _told(one), "n8n") for one in done))


def _told(repair: repairs.WorkflowRepair) -> str:
    return f"{one_line(repair.what, 160)} in {one_line(repair.node, 40)}"


def canonical(data: bytes) -> bytes:
    """Return workflows in n8n's form; ``data`` if it is none or repeats a key.

    Values, line ends, last line end and byte-order mark stay. Idempotent.
    """
    value = _workflows_in(data)
    made = _as_before(data, value) if value is not None else None
    return data if made is None else made


def complete(data: bytes, path: str) -> tuple[bytes, tuple[Fixed, ...]]:
    """Return the file with what is missing filled in, in n8n's form, and what was.

    Node and webhook ids (from path and names: stable, unique to the file), positions, ``settings``. Values stay, even
    wrong ones; of nodes with one id, which n8n refuses, all but the first get another.
    """
    counts = Counter[str]()
    number = itertools.count()
    whole = _each(_workflows_in(data), lambda workflow: _completed(workflow, counts, f"{path} {next(number)}"))
    fixed = tuple(Fixed(path, name, "n8n", count) for name, count in counts.items())
    made = _as_before(data, whole) if fixed else None
    return (data, ()) if made is None else (made, fixed)


def _workflows_in(data: bytes) -> Json:
    """Return the file's workflow or list; ``None`` if none or a key repeats."""
    read = json_file.read_workflow_file(data)
    if isinstance(read, json_file.Unreadable) or read.repeated_keys:
        return None
    items = read.value if isinstance(read.value, list) else [read.value]
    return read.value if any(isinstance(item, dict) for item in items) else None


def _each(value: Json, work: Callable[[Mapping[str, Json]], dict[str, Json]]) -> Json:
    if isinstance(value, list):
        return [work(item) if isinstance(item, dict) else item for item in value]
    return work(value) if isinstance(value, dict) else value


def _as_before(data: bytes, value: Json) -> bytes | None:
    """Return ``value`` in n8n's form with the mark and line ends of ``data``; ``None``: a number exceeds JSON."""
    decoded = decode_text(data)
    try:
        text = _dump(_each(value, _ordered_workflow))
    except ValueError:
        return None
    if decoded is None:
        return None
    whole = text + "\n" if decoded.text.endswith("\n") else text
    return decoded.encode(whole.replace("\n", decoded.eol) if decoded.eol == "\r\n" else whole)


def _completed(value: Mapping[str, Json], counts: Counter[str], path: str) -> dict[str, Json]:
    workflow = model.build(value)
    places = layout.node_places(workflow)
    taken = {one for node in workflow.nodes if isinstance(one := node.raw.get("id"), str)}
    seen = set[object]()
    nodes = value.get("nodes")
    made: dict[str, Json] = dict(value)
    whole = list(nodes) if isinstance(nodes, list) else []
    for node in workflow.nodes:
        raw = dict(node.raw)
        own = raw.get("id")
        if "id" not in raw or (isinstance(own, str) and own in seen):
            counts["id given twice" if "id" in raw else "missing id"] += 1
            own = raw["id"] = _free_id(taken, path, node.name)
        seen.update((own,) if isinstance(own, str) else ())
        if node.type in _WITH_WEBHOOK and "webhookId" not in raw:
            counts["missing webhookId"] += 1
            raw["webhookId"] = _free_id(taken, path, node.name, "webhook")
        if "position" not in raw:
            counts["missing position"] += 1
            raw["position"] = [*places[node.index]]
        whole[node.index] = raw
    if isinstance(nodes, list):
        made["nodes"] = whole
        if "settings" not in made:
            counts["missing settings"] += 1
            made["settings"] = {}
    return made


def _free_id(taken: set[str], *parts: str) -> str:
    number = 0
    while (made := model.own_id(json.dumps([*parts, number]))) in taken:
        number += 1
    taken.add(made)
    return made


def _ordered_workflow(value: Mapping[str, Json]) -> dict[str, Json]:
    made = _ordered(value, _WORKFLOW_ORDER)
    nodes = made.get("nodes")
    if isinstance(nodes, list):
        made["nodes"] = [_ordered(node, _NODE_ORDER) if isinstance(node, dict) else node for node in nodes]
    return made


def _ordered(value: Mapping[str, Json], order: list[str]) -> dict[str, Json]:
    known = [name for name in order if name in value]
    return {name: value[name] for name in [*known, *(name for name in value if name not in known)]}


def _dump(value: Json) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
