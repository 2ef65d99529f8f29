"""Rules for parameters: required, unknown, hidden, of a wrong shape, or with a value outside the list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.dataclass import replace
from rails.core.tool_request import Json
from rails.n8n.model import Issue, JsonPath, Names, Node, json_kind, listed, shown_value
from rails.n8n.nodes.catalogue import Description
from rails.n8n.nodes.operators import FILTER_OPERATIONS
from rails.n8n.nodes.parameters import Context, Level, Malformed, Property, choices, filled, levels
from rails.n8n.rules.required import Lack, lacks
from rails.n8n.values import UNDEFINED

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

#: Groups of conditions before there were filters (If and Filter, version 1).
_OLD_FILTER: Final = ("string", "number", "boolean", "dateTime")


def check(node: Node, description: Description) -> tuple[dict[str, Any] | None, list[Issue]]:
    """Return a node's parameters as n8n holds them (``None``: it cannot) and the issues of its parameters.

    Disabled nodes are filled but not judged, as in n8n.
    """
    level = levels(description)
    version = node.version if node.version is not None else max(description.versions)
    context = Context(version, node.type.endswith("Tool"))
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
    issues += walker.level(level, node.parameters, values, ())
    return values, issues


def _malformed(node: Node, fault: Malformed) -> Issue:
    path = (*node.path, "parameters", *fault.path)
    message = f"{node.title}: `{fault.path[-1]}` must be a list: n8n cannot open the workflow (is not iterable)"
    return Issue("N8N055", path, message, f'Write a list of objects: "{fault.path[-1]}": [{{…}}].')


def _lack(node: Node, lack: Lack) -> Issue:
    rule = "N8N050" if lack.kind == "required" else "N8N056"
    name = ".".join(str(part) for part in lack.path if isinstance(part, str))
    message = f"{node.title}: parameter `{name}`: {lack.said}"
    remedy = f"Give `{lack.path[-1]}` a value." if lack.kind == "required" else f"Correct `{lack.path[-1]}`."
    remedy = f"{remedy} {lack.hint}".rstrip()
    return Issue(rule, (*node.path, "parameters", *lack.path), message, remedy)


def is_of_the_editor(name: str) -> bool:
    """Whether a parameter is none that a person sets, so that nobody minds when n8n drops it."""
    return name in _OF_THE_EDITOR or name.lower().endswith(_EDITOR_ENDINGS)


class _Walker:
    """Compares what the file gives with what n8n keeps."""

    def __init__(self, node: Node, context: Context, level: Level) -> None:
        self._node = node
        self._level = level
        self._choices: Mapping[str, frozenset[str]] | None = None
        self._context = context
        self._root: Mapping[str, Any] = {}

    def level(self, level: Level, given: Any, kept: Any, path: JsonPath) -> Iterator[Issue]:  # noqa: ANN401
        if not isinstance(given, dict) or not isinstance(kept, dict):
            return
        if not path:
            self._root = kept
        for name, value in given.items():
            found = level.by_name.get(name)
            if found is None:
                yield from self._unknown(level, name, value, kept, path)
            elif name not in kept:
                yield from self._hidden(found, name, value, path)
            else:
                item = self._visible(found, kept)
                yield from self._value(item, found, kept, value, (*path, name))

    def _visible(self, found: list[Property], kept: Mapping[str, Any]) -> Property:
        """Return the one of several properties of one name that shows."""
        for item in found:
            context = self._context
            if item.display is None or item.display.visible(kept, self._root, context.version, context.is_tool):
                return item
        return found[0]

    def _place(self, path: JsonPath) -> JsonPath:
        return (*self._node.path, "parameters", *path)

    def _unknown(
        self, level: Level, name: str, value: Json, kept: Mapping[str, Any], path: JsonPath
    ) -> Iterator[Issue]:
        if is_of_the_editor(name):
            return
        of = f"{self._node.type} version {self._context.version:g}"
        where = f" in `{path[-1]}`" if path and isinstance(path[-1], str) else ""
        message = f"{self._node.title}: {of} has no parameter `{name}`{where}: n8n drops it"
        names = [item.name for item in level.properties if item.type not in {"notice", "callout"}]
        visible = [known for known in dict.fromkeys(names) if known in kept] or names
        remedy = Names(dict.fromkeys([*visible, *names])).hint(name, "parameters here") if names else "Remove it."
        nothing = value in (None, "", [], {})
        yield Issue(
            "N8N051", self._place((*path, name)), message, remedy, "warning" if nothing else "error", on_key=True
        )

    def _hidden(self, found: list[Property], name: str, value: Json, path: JsonPath) -> Iterator[Issue]:
        if found[0].type in {"notice", "callout", "hidden"} or value in ("", [], {}, None) or value == found[0].default:
            return
        message = f"{self._node.title}: parameter `{name}` does not apply with the other settings: n8n drops it"
        yield Issue("N8N052", self._place((*path, name)), message, self._applies(found), "warning", on_key=True)

    def _applies(self, found: list[Property]) -> str:
        rule = found[0].raw.get("display") or {}
        parts = [f"{key} is {_one_of(values)}" for key, values in (rule.get("show") or {}).items()]
        parts += [f"{key} is not {_one_of(values)}" for key, values in (rule.get("hide") or {}).items()]
        return f"It applies where {' and '.join(parts)}." if parts else "Remove it."

    def _value(
        self, item: Property, found: list[Property], kept: Mapping[str, Any], value: Json, path: JsonPath
    ) -> Iterator[Issue]:
        if item.type == "collection" and item.multiple is not True and item.children is not None:
            if not isinstance(value, dict):
                yield from self._shape(item, value, "object", path)
            yield from self.level(item.children, value, kept[item.name], path)
        elif item.type == "fixedCollection":
            yield from self._fixed(item, value, kept[item.name], path)
        elif item.type in {"options", "multiOptions"}:
            for issue in self._options(item, found, value, path):
                # One wrong choice among several is most often skipped; what the node knows elsewhere may well run.
                mild = item.type == "multiOptions" or (len(path) > 1 and self._known_elsewhere(item.name, value))
                yield replace(issue, severity="warning") if mild else issue
        elif item.type == "filter":
            yield from self._filter(item, value, path)
        elif item.type in {"number", "boolean"}:
            yield from self._scalar(item, value, path)

    def _shape(self, item: Property, value: Json, wanted: str, path: JsonPath) -> Iterator[Issue]:
        if value in (None, "", [], False) or (isinstance(value, str) and value.startswith("=")):
            return
        message = (
            f"{self._node.title}: `{item.name}` must be an {wanted}, not {json_kind(value)}: n8n drops its content"
        )
        example = f'"{item.name}": {{…}}'
        if item.groups:
            example = f'"{item.name}": {{"{next(iter(item.groups))}": {"[{…}]" if item.multiple else "{…}"}}}'
        yield Issue("N8N055", self._place(path), message, f"Write {example}.")

    def _fixed(self, item: Property, value: Json, kept: Any, path: JsonPath) -> Iterator[Issue]:  # noqa: ANN401
        if not isinstance(value, dict):
            yield from self._shape(item, value, "object", path)
            return
        for name, entry in value.items():
            level = item.groups.get(name)
            if level is None:
                yield from self._unknown_group(item, name, entry, path)
            elif item.multiple is True:
                rows = kept.get(name) if isinstance(kept, dict) else None
                for index, one in enumerate(entry if isinstance(entry, list) else ()):
                    row = rows[index] if isinstance(rows, list) and index < len(rows) else None
                    yield from self.level(level, one, row, (*path, name, index))
            elif isinstance(entry, list):
                if entry:
                    message = f"{self._node.title}: `{name}` takes one object, not a list: n8n drops it"
                    yield Issue("N8N055", self._place((*path, name)), message, f'Write "{name}": {{…}}.')
            else:
                yield from self.level(level, entry, kept.get(name) if isinstance(kept, dict) else None, (*path, name))

    def _unknown_group(self, item: Property, name: str, entry: Json, path: JsonPath) -> Iterator[Issue]:
        if entry in (None, "", [], {}):
            return
        message = f"{self._node.title}: `{item.name}` has no group `{name}`: n8n drops it"
        remedy = Names(item.groups).hint(name, f"groups of `{item.name}`")
        yield Issue("N8N053", self._place((*path, name)), message, remedy, on_key=True)

    def _options(self, item: Property, found: list[Property], value: Json, path: JsonPath) -> Iterator[Issue]:
        same = [one for one in found if one.type == item.type]
        if any(one.raw.get("dynamic") or one.raw.get("free") or "values" not in one.raw for one in same):
            return
        if (self._node.type, item.name) in _STILL_RUN or value in (None, "", "__CUSTOM_API_CALL__"):
            return
        allowed = [choice for one in (same if len(same) < 2 else [item]) for choice in one.raw["values"]]
        chosen = value if item.type == "multiOptions" and isinstance(value, list) else [value]
        for one in chosen:
            if (isinstance(one, str) and one.startswith("=")) or one in allowed:
                continue
            value = shown_value(one if isinstance(one, str) else json.dumps(one))
            message = f"{self._node.title}: `{item.name}` cannot be {value}"
            texts = [choice if isinstance(choice, str) else json.dumps(choice) for choice in allowed]
            remedy = Names(texts).nearest(one) if isinstance(one, str) else None
            said = f"Did you mean {shown_value(remedy)}? " if remedy else ""
            yield Issue("N8N054", self._place(path), message, f"{said}Allowed here: {listed(texts, 20)}.")

    def _known_elsewhere(self, name: str, value: Json) -> bool:
        """Whether another list of choices of this name, anywhere in the node, has the value."""
        if self._choices is None:
            self._choices = choices(self._level)
        return isinstance(value, str) and value in self._choices.get(name, ())

    def _filter(self, item: Property, value: Json, path: JsonPath) -> Iterator[Issue]:
        if not isinstance(value, dict):
            yield from self._shape(item, value, "object", path)
            return
        conditions = value.get("conditions")
        old = [name for name in _OLD_FILTER if isinstance(value.get(name), list)]
        if conditions is None and old:
            message = (
                f"{self._node.title}: `{item.name}.{old[0]}` is the form of version 1: n8n finds no condition in it"
            )
            example = '"conditions": [{"leftValue": …, "rightValue": …, "operator": {"type": …, "operation": …}}]'
            remedy = f'Write "{item.name}": {{{example}, "combinator": "and"}}.'
            yield Issue("N8N055", self._place((*path, old[0])), message, remedy, on_key=True)
        for index, condition in enumerate(conditions if isinstance(conditions, list) else ()):
            operator = condition.get("operator") if isinstance(condition, dict) else None
            place = self._place((*path, "conditions", index, "operator"))
            if not isinstance(operator, dict):
                message = f"{self._node.title}: condition {index} has no `operator` object: it cannot be evaluated"
                remedy = 'Write "operator": {"type": "string", "operation": "equals"}.'
                yield Issue("N8N057", place, message, remedy)
                continue
            yield from self._operator(operator, place)

    def _operator(self, operator: Mapping[str, Json], place: JsonPath) -> Iterator[Issue]:
        of_type, operation = operator.get("type"), operator.get("operation")
        if not isinstance(of_type, str) or of_type not in FILTER_OPERATIONS:
            message = f"{self._node.title}: n8n compares no type {shown_value(of_type)}"
            yield Issue("N8N057", (*place, "type"), message, f"The types are {listed(FILTER_OPERATIONS)}.")
        elif operation not in FILTER_OPERATIONS[of_type]:
            names = f"type {shown_value(of_type)} has no operation {shown_value(operation)}"
            message = f"{self._node.title}: {names}: it is never true"
            remedy = Names(FILTER_OPERATIONS[of_type]).hint(str(operation), f"operations of {of_type}")
            yield Issue("N8N057", (*place, "operation"), message, remedy)

    def _scalar(self, item: Property, value: Json, path: JsonPath) -> Iterator[Issue]:
        if value is None or item.multiple or (isinstance(value, str) and (value.startswith("=") or not value.strip())):
            return
        if json_kind(value) != item.type:
            message = (
                f"{self._node.title}: `{item.name}` is a {item.type}, and {shown_value(value)} is a {json_kind(value)}"
            )
            yield Issue("N8N058", self._place(path), message, f"Write a {item.type} without quotes.", "warning")


def _one_of(values: Any) -> str:  # noqa: ANN401
    plain = [
        shown_value(value) if isinstance(value, str) else json.dumps(value)
        for value in values
        if type(value) is not dict
    ]
    return " or ".join(plain[:6]) or "in a certain range"


def is_kept(values: Mapping[str, Any] | None, path: JsonPath) -> bool:
    """Say whether n8n keeps the value at ``path`` (from the node's parameters on)."""
    here: Any = values
    for part in path:
        if isinstance(here, dict):
            here = here.get(part, UNDEFINED)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            return here is not UNDEFINED
    return here is not UNDEFINED
