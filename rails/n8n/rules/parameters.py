"""Parameters: required, unknown, hidden, of a wrong shape, outside the list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from rails.core.tool_request import Json
from rails.core.verdict import Severity
from rails.n8n.model import (
    SETTINGS_OF_NODES,
    Issue,
    JsonPath,
    Names,
    Node,
    is_expression,
    issue,
    json_kind,
    listed,
    parameter_issue,
    shown_value,
)
from rails.n8n.nodes.catalogue import Description
from rails.n8n.nodes.given import Spot, each_given
from rails.n8n.nodes.parameters import Context, Level, Malformed, Property, choices, context_of, filled, levels
from rails.n8n.rules import json_texts
from rails.n8n.rules.required import Lack, lacks
from rails.n8n.values import UNDEFINED, at_parts

#: Parameters that the editor writes by itself, or that n8n adds to declarative nodes when it loads them.
_OF_THE_EDITOR: Final = frozenset({"", "requestOptions", "notice", "descriptionType", "toolDescription"})
_EDITOR_ENDINGS: Final = ("notice", "warning", "callout", "hint", "banner")
#: Values that n8n no longer lists but still runs, by node type and parameter.
_STILL_RUN: Final = frozenset(
    {
        ("n8n-nodes-base.code", "language"),
        ("@n8n/n8n-nodes-langchain.toolCode", "language"),
        ("n8n-nodes-base.form", "fieldType"),  # the type of an HTML input
        ("n8n-nodes-base.formTrigger", "fieldType"),
    }
)


def check(node: Node, description: Description) -> tuple[dict[str, Any] | None, list[Issue]]:
    """Return the parameters as n8n holds them (``None``: it cannot) and, if enabled, their issues."""
    level = levels(description)
    context = context_of(description, node.version)
    try:
        values = filled(level, node.parameters, context)
    except Malformed as fault:
        return None, [_malformed(node, fault)]
    except RecursionError:
        return None, []
    if node.disabled:
        return values, []
    walker = _Walker(node, context, level)
    issues = [_lack(node, lack) for lack in lacks(level, values, context)]
    issues += walker.issues(node.parameters, values)
    return values, issues


def _malformed(node: Node, fault: Malformed) -> Issue:
    path = (*node.path, "parameters", *fault.path)
    return issue("N8N055", path, node=node)


def _lack(node: Node, lack: Lack) -> Issue:
    rule = "N8N050" if lack.kind == "required" else "N8N056"
    name = ".".join(str(part) for part in lack.path if isinstance(part, str))
    message = f"{node.title}: parameter `{name}`: {lack.said}"
    remedy = f"Give `{lack.path[-1]}` a value." if lack.kind == "required" else f"Correct `{lack.path[-1]}`."
    remedy = f"{remedy} {lack.hint}".rstrip()
    return Issue(rule, (*node.path, "parameters", *lack.path), message, remedy)


def is_of_the_editor(name: str) -> bool:
    """Return whether only the editor sets this parameter."""
    return name in _OF_THE_EDITOR or name.lower().endswith(_EDITOR_ENDINGS)


class _Walker:
    def __init__(self, node: Node, context: Context, level: Level) -> None:
        self._node = node
        self._level = level
        self._choices: Mapping[str, frozenset[str]] | None = None
        self._context = context

    def issues(self, given: Any, kept: Mapping[str, Any]) -> Iterator[Issue]:  # noqa: ANN401
        for spot, name, item in each_given(Spot(self._level, given, kept), self._context):
            found = spot.level.by_name.get(name)
            value = spot.given[name]
            if found is None:
                yield from self._unknown(spot.level, name, value, spot.kept, spot.path)
            elif item is None:
                yield from self._hidden(found, name, value, spot.path)
            else:
                yield from self._value(item, found, value, (*spot.path, name))

    def _unknown(
        self, level: Level, name: str, value: Json, kept: Mapping[str, Any], path: JsonPath
    ) -> Iterator[Issue]:
        if is_of_the_editor(name) or (not path and name in SETTINGS_OF_NODES):
            return
        where = f" in `{path[-1]}`" if path and isinstance(path[-1], str) else ""
        names = [item.name for item in level.properties if item.type not in {"notice", "callout"}]
        visible = [known for known in dict.fromkeys(names) if known in kept] or names
        remedy = Names(dict.fromkeys([*visible, *names])).hint(name, "parameters here") if names else "Remove it."
        severity: Severity = "warning" if value in (None, "", [], {}) else "error"
        words = {"version": self._context.version, "name": name, "where": where, "remedy": remedy}
        yield parameter_issue(self._node, "N8N051", (*path, name), severity=severity, on_key=True, **words)

    def _hidden(self, found: list[Property], name: str, value: Json, path: JsonPath) -> Iterator[Issue]:
        if found[0].type in {"notice", "callout", "hidden"} or value in ("", [], {}, None) or value == found[0].default:
            return
        applies = self._applies(found)
        yield parameter_issue(self._node, "N8N052", (*path, name), on_key=True, name=name, applies=applies)

    def _applies(self, found: list[Property]) -> str:
        rule = found[0].raw.get("display") or {}
        parts = [f"{key} is {_one_of(values)}" for key, values in (rule.get("show") or {}).items()]
        parts += [f"{key} is not {_one_of(values)}" for key, values in (rule.get("hide") or {}).items()]
        return f"It applies where {' and '.join(parts)}." if parts else "Remove it."

    def _value(self, item: Property, found: list[Property], value: Json, path: JsonPath) -> Iterator[Issue]:
        if item.type == "collection" and item.multiple is not True and item.children is not None:
            if not isinstance(value, dict):
                yield from self._shape(item, value, path)
        elif item.type == "fixedCollection":
            yield from self._fixed(item, value, path)
        elif item.type in {"options", "multiOptions"}:
            for issue in self._options(item, found, value, path):
                # One wrong choice among several is most often skipped; what the node knows elsewhere may well run.
                mild = item.type == "multiOptions" or (len(path) > 1 and self._known_elsewhere(item.name, value))
                yield replace(issue, severity="warning") if mild else issue
        elif item.type in {"number", "boolean"}:
            yield from self._scalar(item, value, path)
        elif item.type == "json" and item.name not in json_texts.NAMES:
            why = json_texts.json_fault(value) if isinstance(value, str) and value.strip() and value[0] != "=" else ""
            if why:
                yield parameter_issue(self._node, "N8N075", path, severity="warning", parameter=item.name, why=why)

    def _shape(self, item: Property, value: Json, path: JsonPath) -> Iterator[Issue]:
        if value in (None, "", [], False) or is_expression(value):
            return
        example = f'"{item.name}": {{…}}'
        if item.groups:
            example = f'"{item.name}": {{"{next(iter(item.groups))}": {"[{…}]" if item.multiple else "{…}"}}}'
        words = {"item": item, "kind": json_kind(value), "example": example}
        yield parameter_issue(self._node, "N8N055h", path, **words)

    def _fixed(self, item: Property, value: Json, path: JsonPath) -> Iterator[Issue]:
        if not isinstance(value, dict):
            yield from self._shape(item, value, path)
            return
        for name, entry in value.items():
            if name not in item.groups:
                yield from self._unknown_group(item, name, entry, path)
            elif item.multiple is not True and isinstance(entry, list) and entry:
                yield parameter_issue(self._node, "N8N055i", (*path, name), name=name)

    def _unknown_group(self, item: Property, name: str, entry: Json, path: JsonPath) -> Iterator[Issue]:
        if entry in (None, "", [], {}):
            return
        remedy = Names(item.groups).hint(name, f"groups of `{item.name}`")
        yield parameter_issue(self._node, "N8N053", (*path, name), on_key=True, item=item, name=name, remedy=remedy)

    def _options(self, item: Property, found: list[Property], value: Json, path: JsonPath) -> Iterator[Issue]:
        same = [one for one in found if one.type == item.type]
        if any(one.raw.get("dynamic") or one.raw.get("free") or "values" not in one.raw for one in same):
            return
        if (self._node.type, item.name) in _STILL_RUN or value in (None, "", "__CUSTOM_API_CALL__"):
            return
        allowed = item.raw["values"]
        chosen = value if item.type == "multiOptions" and isinstance(value, list) else [value]
        for one in chosen:
            if is_expression(one) or one in allowed:
                continue
            value = shown_value(one if isinstance(one, str) else json.dumps(one))
            texts = [choice if isinstance(choice, str) else json.dumps(choice) for choice in allowed]
            remedy = Names(texts).nearest(one) if isinstance(one, str) else None
            meant = f"Did you mean {shown_value(remedy)}? " if remedy else ""
            words = {"item": item, "value": value, "meant": meant, "allowed": listed(texts, 20)}
            yield parameter_issue(self._node, "N8N054", path, **words)

    def _known_elsewhere(self, name: str, value: Json) -> bool:
        if self._choices is None:
            self._choices = choices(self._level)
        return isinstance(value, str) and value in self._choices.get(name, ())

    def _scalar(self, item: Property, value: Json, path: JsonPath) -> Iterator[Issue]:
        if value is None or item.multiple or (isinstance(value, str) and (value.startswith("=") or not value.strip())):
            return
        if json_kind(value) != item.type:
            yield parameter_issue(self._node, "N8N058", path, item=item, value=value, kind=json_kind(value))


def _one_of(values: Any) -> str:  # noqa: ANN401
    single = (value for value in values if type(value) is not dict)
    plain = [shown_value(value) if isinstance(value, str) else json.dumps(value) for value in single]
    return " or ".join(plain[:6]) or "in a certain range"


def is_kept(values: Mapping[str, Any] | None, path: JsonPath) -> bool:
    """Return whether n8n keeps what is at ``path`` (from the parameters)."""
    return at_parts(values, map(str, path)) is not UNDEFINED
