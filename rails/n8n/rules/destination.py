"""Requirements of a workflow's destination, which decide what blocks.

``import``   the editor's or command line's import: structure only.
``api``      n8n's public API: closed lists of keys, required ``name`` and ``settings``. Anchor: n8n's
             ``public-api/v1/handlers/workflows/spec/schemas`` (workflow.yml, node.yml, workflowSettings.yml).
``publish``  import, then activate: a real trigger, no webhook twice.
``strict``   publish, and every warning blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Final

from msgspec.structs import replace

from rails.core.tool_request import Json
from rails.core.verdict import Severity
from rails.n8n.facts import FACTS
from rails.n8n.model import ON_ERROR, Issue, JsonPath, Names, issue, json_kind, listed, shown_value

PROFILES: Final = ("import", "api", "publish", "strict")

_NAME_CHARS: Final = 128

_WORKFLOW_KEYS: Final = frozenset(FACTS["api_workflow_keys"])
_NODE_KEYS: Final = frozenset(FACTS["api_node_keys"])
_SETTINGS: Final[Mapping[str, str]] = FACTS["api_settings"]
_SETTING_VALUES: Final[Mapping[str, list[str]]] = FACTS["api_setting_values"]
#: Rules whose fault stops activation, not import.
_STOPS_PUBLISHING: Final = frozenset({"N8N081", "N8N084", "N8N092"})


def weigh(issues: Iterable[Issue], profiles: Set[str]) -> Iterator[Issue]:
    """Give each issue its severity at the strictest of ``profiles``."""
    for one in issues:
        raised = "strict" in profiles or ("publish" in profiles and one.rule in _STOPS_PUBLISHING)
        yield replace(one, severity="error") if raised and one.severity == "warning" else one


def check(workflow: Mapping[str, Json], profiles: Set[str]) -> Iterator[Issue]:
    """Yield what is missing or forbidden around nodes and connections."""
    yield from _name(workflow, "error" if "api" in profiles else "info")
    yield from _around(workflow)
    if "api" not in profiles:
        return
    yield from _unknown(workflow, (), _WORKFLOW_KEYS, "the workflow")
    nodes = workflow.get("nodes")
    for index, node in enumerate(nodes if isinstance(nodes, list) else ()):
        if isinstance(node, dict):
            yield from _unknown(node, ("nodes", index), _NODE_KEYS, "a node")
    yield from _settings(workflow)


def _name(workflow: Mapping[str, Json], severity: Severity) -> Iterator[Issue]:
    remedy = f'Write "name": "What the workflow does", 1 to {_NAME_CHARS} characters.'
    name = workflow.get("name")
    if name is None:
        yield issue("N8N100", ("name",), severity=severity, remedy=remedy)
    elif not isinstance(name, str) or not 1 <= len(name) <= _NAME_CHARS:
        found = f"{len(name)} characters long" if isinstance(name, str) else json_kind(name)
        message = (
            f"The workflow's `name` must be a text of 1 to {_NAME_CHARS} characters; it is {found}: n8n cannot save it"
        )
        yield Issue("N8N100", ("name",), message, remedy)


def _around(workflow: Mapping[str, Json]) -> Iterator[Issue]:
    nodes = workflow.get("nodes")
    objects = {n: node for n, node in enumerate(nodes) if isinstance(node, dict)} if isinstance(nodes, list) else {}
    for index, node in objects.items():
        chosen = node.get("onError")
        if chosen is not None and chosen not in ON_ERROR:
            remedy = f"Use one of {listed(ON_ERROR)}."
            yield issue("N8N046", ("nodes", index, "onError"), get=node.get("name"), chosen=chosen, remedy=remedy)


def _unknown(owner: Mapping[str, Json], path: JsonPath, known: Collection[str], what: str) -> Iterator[Issue]:
    names: Names | None = None
    for key in owner:
        if key not in known:
            names = names or Names(sorted(known))
            nearest = names.nearest(key)
            remedy = f"Did you mean {shown_value(nearest)}?" if nearest else f"Remove {shown_value(key)}."
            yield issue("N8N102", (*path, key), severity="error", on_key=True, key=key, what=what, remedy=remedy)


def _settings(workflow: Mapping[str, Json]) -> Iterator[Issue]:
    settings = workflow.get("settings")
    if not isinstance(settings, dict):
        yield issue("N8N101", ("settings",), severity="error")
        return
    yield from _unknown(settings, ("settings",), _SETTINGS, "the settings")
    for key, value in settings.items():
        wanted = _SETTINGS.get(key)
        allowed = _SETTING_VALUES.get(key)
        if wanted is not None and json_kind(value) != wanted:
            yield issue(
                "N8N103", ("settings", key), severity="error", key=key, wanted=wanted, json_kind=json_kind(value)
            )
        elif allowed is not None and value not in allowed:
            yield issue("N8N103b", ("settings", key), severity="error", key=key, value=value, allowed=allowed)
