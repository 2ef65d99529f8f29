"""Rules for values by their shape, which need no catalogue: filters, assignments, JSON texts, schedules, settings.

Anchors: n8n-workflow 2.41, ``executeFilter`` and ``getNodeParameters`` (which fills ``options`` and ``combinator`` of
a filter since 2.x; before, a run failed or took the false branch); the nodes' own code for JSON and workflow ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.tool_request import Json
from rails.core.verdict import Severity
from rails.n8n.facts import FACTS
from rails.n8n.model import SETTINGS_OF_NODES, Issue, JsonPath, Names, Node, json_kind, listed, shown_value
from rails.n8n.nodes.operators import FILTER_OPERATIONS, filters_in
from rails.n8n.rules.parameters import is_kept

#: Parameters that are filters, and the first version of which they are.
_FILTERS: Final = {"n8n-nodes-base.if": 2.0, "n8n-nodes-base.filter": 2.0}
#: Groups of conditions before there were filters (If and Filter, version 1).
_OLD_FILTER: Final = ("string", "number", "boolean", "dateTime")
_OPERATOR: Final = '"operator": {"type": "string", "operation": "equals"}'
#: Parameters that n8n parses as JSON, by the node's name: which, and the value of another that makes it count.
_JSON_TEXTS: Final[Mapping[str, list[tuple[str, str, Json]]]] = FACTS["json_texts"]
#: Nodes that name a workflow, and the first version that reads the ``value`` of a locator.
_WORKFLOW_LOCATORS: Final[Mapping[str, float]] = FACTS["workflow_locators"]
#: What a text of a type looks like in an assignment. n8n repairs a text that is nearly JSON.
_TYPES: Final = {
    "number": re.compile(r"[+-]?(\d++(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?|0[xob][\da-fA-F]+").fullmatch,
    "boolean": re.compile(r"(?i)true|false|[01]").fullmatch,
    "array": re.compile(r"(?s)\[.*\]").fullmatch,
    "object": re.compile(r"(?s)\{.*\}").fullmatch,
}
#: Intervals of a schedule: by the field, the parameter and its largest value; the least is 1.
_INTERVALS: Final = {"seconds": 59, "minutes": 59, "hours": 23, "days": 31}
#: Fields of a schedule: name, lowest and highest value. Names of months and days may stand in each.
_CRON: Final[list[tuple[str, int, int]]] = FACTS["cron_fields"]
_NAMED: Final[Mapping[str, int]] = FACTS["cron_names"]
_EXPRESSION: Final = re.compile(r"(:\s*|)\{\{(?:(?!\{\{).)*?\}\}", re.DOTALL)
_PRESETS: Final = frozenset(FACTS["cron_presets"])
_PIECE: Final = re.compile(r"(?:(?P<any>\*)|(?P<low>\w+)(?:-(?P<high>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)


def check(node: Node, kept: Mapping[str, Any] | None) -> Iterator[Issue]:
    """Yield the issues of one node's values. ``kept`` are the parameters that n8n keeps, where that is known."""
    if node.disabled:
        return
    for path, value in _filters(node):
        if kept is None or is_kept(kept, path):
            yield from _Filter(node, path).issues(value)
    yield from _assignments(node)
    yield from _json_texts(node, {**node.parameters, **(kept or {})})
    yield from _workflow_id(node)
    yield from _schedules(node)
    for name in SETTINGS_OF_NODES:
        if name in node.parameters and not (name == "executeOnce" and "executeCommand" in node.type):
            said = f"`{name}` is a setting of the node, not a parameter: n8n drops it"
            yield _issue(node, "N8N059", (name,), (said, f"Put `{name}` beside `parameters`."))


def _issue(node: Node, rule: str, path: JsonPath, words: tuple[str, str], severity: Severity = "error") -> Issue:
    """Return the issue of a value; ``words`` are what is wrong and the remedy."""
    place = (*node.path, "parameters", *path)
    on_key = rule == "N8N059"
    return Issue(rule, place, f"{node.title}: {words[0]}", words[1], severity, on_key=on_key)


def _is_expression(value: Json) -> bool:
    return isinstance(value, str) and value.startswith("=")


def _filters(node: Node) -> Iterator[tuple[JsonPath, Json]]:
    since = _FILTERS.get(node.type)
    is_filter = since is not None and (node.version or since) >= since
    if is_filter and "conditions" in node.parameters:
        yield ("conditions",), node.parameters["conditions"]
    for path, value in filters_in(dict(node.parameters)):
        if path and not (is_filter and path == ("conditions",)):
            yield path, value


class _Filter:
    """The rules on one filter."""

    def __init__(self, node: Node, path: JsonPath) -> None:
        self._node, self._path = node, path

    def _issue(self, path: JsonPath, said: str, remedy: str, rule: str = "N8N057") -> Issue:
        severity: Severity = "error" if path or rule == "N8N055" else "warning"
        return _issue(self._node, rule, (*self._path, *path), (said, remedy), severity)

    def issues(self, value: Json) -> Iterator[Issue]:
        name = self._path[-1]
        if not isinstance(value, dict):
            if value is not None and value != "" and not _is_expression(value):
                said = f"`{name}` must be an object, not {json_kind(value)}: n8n finds no condition in it"
                yield self._issue(
                    (), said, f'Write "{name}": {{"conditions": […], "combinator": "and"}}.', rule="N8N055"
                )
            return
        old = [kind for kind in _OLD_FILTER if isinstance(value.get(kind), list)]
        if value.get("conditions") is None and old:
            said = f"`{name}.{old[0]}` is the form of version 1: n8n finds no condition in it"
            remedy = f'Write "{name}": {{"conditions": [{{"leftValue": …, "rightValue": …, {_OPERATOR}}}]}}.'
            yield self._issue((old[0],), said, remedy, "N8N055")
        elif "conditions" in value:
            yield from self._conditions(value["conditions"])
            yield from self._around(value)
        elif self._node.type in _FILTERS:
            yield self._issue((), f"`{name}` holds no `conditions`: the run fails", 'Write "conditions": [{…}] in it.')

    def _conditions(self, conditions: Json) -> Iterator[Issue]:
        if not isinstance(conditions, list):
            if not _is_expression(conditions):
                said = f"`conditions` must be a list, not {json_kind(conditions)}: the run fails"
                yield self._issue(("conditions",), said, 'Write "conditions": [{…}].', "N8N055")
            return
        for index, condition in enumerate(conditions):
            place = ("conditions", index)
            if not isinstance(condition, dict):
                said = f"condition {index} must be an object, not {json_kind(condition)}"
                yield self._issue(place, said, f'Write {{"leftValue": …, "rightValue": …, {_OPERATOR}}}.')
            elif isinstance(condition.get("operator"), dict):
                if "leftValue" not in condition:
                    words = (
                        f"condition {index} has no `leftValue`: there is nothing to compare",
                        'Write "leftValue": ….',
                    )
                    yield _issue(self._node, "N8N057", (*self._path, *place), words, "warning")
                yield from self._operator(condition["operator"], (*place, "operator"))
            else:
                said = f"condition {index} has no `operator` object: it cannot be evaluated"
                yield self._issue((*place, "operator"), said, f"Write {_OPERATOR}.")

    def _operator(self, operator: Any, path: JsonPath) -> Iterator[Issue]:  # noqa: ANN401 - any JSON object
        of_type, operation = operator.get("type"), operator.get("operation")
        if not isinstance(of_type, str) or of_type not in FILTER_OPERATIONS:
            remedy = f"The types are {listed(FILTER_OPERATIONS)}."
            yield self._issue((*path, "type"), f"n8n compares no type {shown_value(of_type)}", remedy)
        elif operation not in FILTER_OPERATIONS[of_type]:
            said = f"type {shown_value(of_type)} has no operation {shown_value(operation)}: it is never true"
            remedy = Names(FILTER_OPERATIONS[of_type]).hint(str(operation), f"operations of {of_type}")
            yield self._issue((*path, "operation"), said, remedy)

    def _around(self, value: Mapping[str, Json]) -> Iterator[Issue]:
        """What stands beside the conditions: how they are combined, and the options of the comparison."""
        combinator = value.get("combinator")
        if combinator is not None and combinator not in ("and", "or") and not _is_expression(combinator):
            said = f"`combinator` is {shown_value(combinator)}, and n8n knows only and, or: nothing is ever true"
            yield self._issue(("combinator",), said, 'Write "combinator": "and", or "or".')
        missing = [name for name in ("combinator", "options") if value.get(name) is None]
        if missing:
            said = f"the filter has no {' and no '.join(f'`{name}`' for name in missing)}: older n8n fails on it"
            options = '{"caseSensitive": true, "leftValue": "", "typeValidation": "strict", "version": 2}'
            example = f'"options": {options}' if "options" in missing else '"combinator": "and"'
            yield self._issue((), said, f"Write {example} beside `conditions`.")


def _assignments(node: Node) -> Iterator[Issue]:
    """The fields of Set (Edit Fields) from version 3.3 on."""
    given = node.parameters.get("assignments")
    if node.type != "n8n-nodes-base.set" or (node.version or 3.3) < 3.3 or given is None or _is_expression(given):
        return
    remedy = 'Write "assignments": {"assignments": [{"name": "a", "type": "string", "value": "b"}]}.'
    rows = given.get("assignments") if isinstance(given, dict) else given
    more = node.parameters.get("options")
    options = more if isinstance(more, dict) else {}
    if not isinstance(given, dict) or not isinstance(rows, list | None) or (given and "assignments" not in given):
        said = f"`assignments` must be an object with a list, not {json_kind(rows)}: the run fails"
        yield _issue(node, "N8N055", ("assignments",), (said, remedy))
        return
    for index, row in enumerate(rows or ()):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            said = f"assignment {index} must be an object with a name, not {json_kind(row)}"
            yield _issue(node, "N8N055", ("assignments", "assignments", index), (said, remedy))
        elif _is_of_other_type(row) and not options.get("ignoreConversionErrors"):
            said = f"assignment {index} is {shown_value(row['value'])}, and its type is {row['type']}: the run fails"
            place = ("assignments", "assignments", index, "value")
            yield _issue(node, "N8N055", place, (said, "Write a value of this type, or another type."))


def _is_of_other_type(row: Mapping[str, Json]) -> bool:
    """Return whether a text is none of the type that it is given, as n8n reads it (``validateFieldType``)."""
    value, fits = row.get("value"), _TYPES.get(str(row.get("type")))
    if fits is None or not isinstance(value, str) or not value.strip() or value.startswith("="):
        return False
    return fits(value.strip()) is None


def _json_texts(node: Node, values: Mapping[str, Any]) -> Iterator[Issue]:
    """Texts that n8n parses as JSON. Set repairs a text that is nearly JSON, since 2.x."""
    name = node.type.rpartition(".")[2].removesuffix("Tool")
    for parameter, controller, wanted in _JSON_TEXTS.get(name, ()):
        text = node.parameters.get(parameter)
        counts = not controller or values.get(controller) == wanted
        if not counts or not isinstance(text, str) or not text.strip():
            continue
        is_made = text.startswith("=")
        fault = _made_fault(text[1:]) if is_made else _json_fault(text)
        severity: Severity = "warning" if is_made or (fault and name == "set") else "error"
        if not fault and name == "set" and not is_made and not text.strip().startswith("{"):
            fault = "n8n wants an object here"
        if fault:
            remedy = "Write JSON: names and texts in double quotes, no comma before a closing bracket, no comments."
            yield _issue(node, "N8N075", (parameter,), (f"`{parameter}` is no JSON: {fault}", remedy), severity)


def _json_fault(text: str) -> str:
    try:
        json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return ""


def _made_fault(text: str) -> str:
    """Return why a text with expressions in it can be no JSON, whatever they give; empty where it may be."""
    if not _EXPRESSION.search(text) or not text.lstrip().startswith(("{", "[")) or text.lstrip().startswith("{{"):
        return ""
    # Behind a colon an expression gives a value; elsewhere a value, members, or nothing.
    faults = [
        _json_fault(_EXPRESSION.sub(lambda found: f"{found[1]}0" if found[1] else value, text))  # noqa: B023
        for value in ("0", "", '"a": 0')
    ]
    return faults[0] if all(faults) else ""


def _no_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def has_bare_workflow(node: Node, parameters: Mapping[str, Json]) -> bool:
    """Say whether a node names the workflow that it calls by a text where its version reads an object."""
    value = parameters.get("workflowId")
    return _reads_locator(node, parameters) and isinstance(value, str) and bool(value) and not value.startswith("=")


def _reads_locator(node: Node, parameters: Mapping[str, Json]) -> bool:
    since = _WORKFLOW_LOCATORS.get(node.type)
    return since is not None and (node.version or since) >= since and parameters.get("source", "database") == "database"


def _workflow_id(node: Node) -> Iterator[Issue]:
    value = node.parameters.get("workflowId")
    if _reads_locator(node, node.parameters) and value and not isinstance(value, dict):
        said = (
            f"`workflowId` is {json_kind(value)}, and this version reads the `value` of an object: it calls no workflow"
        )
        example = f'{{"__rl": true, "mode": "id", "value": {shown_value(value)}}}'
        severity: Severity = "warning" if _is_expression(value) else "error"
        yield _issue(node, "N8N056", ("workflowId",), (said, f'Write "workflowId": {example}.'), severity)


def _schedules(node: Node) -> Iterator[Issue]:
    """Cron expressions of triggers, which n8n refuses when it activates the workflow."""
    for path, row in _schedule_rows(node):
        field = row.get("field", "days")
        most, every = _INTERVALS.get(str(field)), row.get(f"{field}Interval")
        if most and isinstance(every, int) and not 1 <= every <= most:
            words = (f"the schedule cannot be every {every} {field}", f"Write 1 to {most}.")
            yield _issue(node, "N8N084", (*path, f"{field}Interval"), words, "warning")
    for path, text in _cron_texts(node):
        fault = cron_fault(text)
        if fault:
            said = f"the schedule {shown_value(text)} cannot be: {fault}"
            remedy = 'Write minute, hour, day, month and day of the week: "0 9 * * 1" is Monday at nine.'
            yield _issue(node, "N8N084", path, (said, remedy), "warning")


def _schedule_rows(node: Node) -> Iterator[tuple[JsonPath, Mapping[str, Json]]]:
    rule = node.parameters.get("rule")
    rows = rule.get("interval") if isinstance(rule, dict) else None
    if node.type != "n8n-nodes-base.scheduleTrigger" or (node.version or 1.3) < 1.3 or not isinstance(rows, list):
        return  # older versions take any interval
    for index, row in enumerate(rows):
        if isinstance(row, dict):
            yield ("rule", "interval", index), row


def _cron_texts(node: Node) -> Iterator[tuple[JsonPath, str]]:
    places = {
        "n8n-nodes-base.scheduleTrigger": ("rule", "interval", "field", "cronExpression", "expression"),
        "n8n-nodes-base.cron": ("triggerTimes", "item", "mode", "custom", "cronExpression"),
    }
    outer, group, chooser, chosen, name = places.get(node.type, ("",) * 5)
    rows = node.parameters.get(outer)
    entries = rows.get(group) if isinstance(rows, dict) else None
    for index, row in enumerate(entries if isinstance(entries, list) else ()):
        text = row.get(name) if isinstance(row, dict) and row.get(chooser) == chosen else None
        if isinstance(text, str) and not text.startswith("="):
            yield (outer, group, index, name), text


def cron_fault(text: str) -> str:
    """Return why a schedule cannot be, as the package ``cron`` has it that n8n uses; empty for one that can."""
    fields = text.split()
    if text.strip().lower() in _PRESETS:
        return ""
    if len(fields) not in (5, 6):
        return f"it has {len(fields)} fields, not 5 or 6"
    for field, (name, lowest, highest) in zip(fields, _CRON[6 - len(fields) :], strict=True):
        if not all(_can_be(piece, lowest, highest) for piece in field.lower().split(",")):
            return f"the {name} cannot be {shown_value(field)}"
    return ""


def _can_be(piece: str, lowest: int, highest: int) -> bool:
    """Whether a part of a field is ``*``, a number, a name or a range of them, each with a step if wanted."""
    found = _PIECE.fullmatch(piece)
    if found is None or found["step"] == "0":
        return False
    if found["any"]:
        return True
    ends = [_NAMED.get(end, int(end) if end.isdigit() else -1) for end in (found["low"], found["high"]) if end]
    return all(lowest <= end <= highest for end in ends) and ends == sorted(ends)
