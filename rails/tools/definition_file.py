"""One definition file's value: its mistakes, or the :class:`~rails.tools.registry.Definition`.

Beyond ``definition.schema.json``: what a JSON Schema cannot say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from rails.core import limits
from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.core.text import one_line, printable
from rails.core.tool_request import Effect, Json
from rails.data_formats.positions import JsonPlace
from rails.json_schema import quick_check
from rails.json_schema.allowed import did_you_mean, kind_in_words, quoted_json
from rails.json_schema.metaschema import SchemaProblem, as_problem, check_meaning, metaschema
from rails.tools.aliases import split_alias
from rails.tools.registry import ANY_ROLE, Access, Builtin, Definition, Transport, property_at, role_slug
from rails.tools.transports import filled_texts, placeholders, read_transport, secret_texts

#: Fields that have several spellings, our own first.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "tool_name": ("tool_name", "name", "mcp_name"),
    "request_schema": ("request_schema", "inputSchema", "input_schema", "parameters"),
    "response_format": ("response_format", "outputSchema", "output_schema", "response_schema"),
    "examples": ("examples", "input_examples"),
}
_LEVELS: Final[Mapping[Json, Access]] = {
    "free_access": "free",
    True: "free",
    "permissioned_access": "ask",
    "no_access": "none",
    False: "none",
}
_TEXT_CHARS: Final = 20_000
#: Fields that are lists of names.
_NAMES: Final = ("tool_aliases", "secrets", "mistaken_names", "hidden_parameters")

_Problems = Iterator[SchemaProblem]


def definition_of(value: Json, source: str, text: str, roles: Collection[str]) -> Definition | list[SchemaProblem]:
    """Return the definition, or every mistake. ``text``: the file's; ``roles``: slugs."""
    if not isinstance(value, dict):
        message = f"a definition must be one object, not {kind_in_words(value)}"
        return [SchemaProblem((), message, "Put one tool in each file.")]
    problems = [*_form(value), *_unreadable(value, ())]
    if problems:
        return problems
    definition = make_definition(value, source, text)
    return [problem for check in _CHECKS for problem in check(value, definition, roles)] or definition


def make_definition(value: Mapping[str, Any], source: str, text: str) -> Definition:
    """Return a schema-valid value's definition."""
    annotations = value.get("annotations", {})
    transport = read_transport(value, str(value[spelling(value, "tool_name")]))
    names: dict[str, Any] = {name: tuple(value.get(name, ())) for name in _NAMES}
    return Definition(
        tool_name=value[spelling(value, "tool_name")],
        title=value.get("title") or str(annotations.get("title", "")),
        description=value["description"],
        request_schema=value[spelling(value, "request_schema")],
        response_format=value.get(spelling(value, "response_format"), ""),
        transport=transport,
        effect=_effect(value, transport),
        access={role_slug(role): _LEVELS[level] for role, level in value.get("access_control", {}).items()},
        guidance={role_slug(role): advice for role, advice in value.get("agent_specific_guidance", {}).items()},
        aliases=value.get("parameter_aliases", {}),
        timeout_s=float(value.get("timeout_s", limits.COMMAND_SECONDS)),
        examples=tuple(value.get(spelling(value, "examples"), ())),
        source=source,
        text=text,
        # An annotation can only tighten.
        always_asks=value.get("approval") == "ask" or annotations.get("destructiveHint") is True,
        drops_unknown=value.get("unknown_parameters") == "drop",
        annotations=annotations,
        **names,
    )


def spelling(value: Mapping[str, Json], field: str) -> str:
    """Return the name under which a definition has a field."""
    return next((name for name in ALIASES[field] if name in value), field)


def _effect(value: Mapping[str, Json], transport: Transport) -> Effect:
    if isinstance(transport, Builtin):
        tool = BUILTIN_TOOLS.get(transport.name)
        return tool.effect if tool else "run"
    return "read" if value.get("effect") == "read" else "run"


# -- mistakes -------------------------------------------------------------------------------------


@cache
def definition_schema() -> dict[str, Any]:
    """Return the JSON Schema of a definition file, nested ones included."""
    schema: dict[str, Any] = json.loads(Path(__file__).with_name("definition.schema.json").read_text("utf-8"))
    return {**schema, "$defs": {**schema["$defs"], **metaschema()["$defs"]}}


def _form(value: dict[str, Json]) -> _Problems:
    from rails.json_schema.validator import schema_faults, validator_for

    for field, spellings in ALIASES.items():
        given = [name for name in spellings if name in value]
        if len(given) > 1:
            yield SchemaProblem((given[1],), f"{given[0]!r} and {given[1]!r} mean the same", f"Keep {given[0]!r} only.")
        if not given and field in ("tool_name", "request_schema"):
            yield SchemaProblem((), f"the field {field!r} is missing", f'Add "{field}".')
    schema = {key: part for key, part in definition_schema().items() if key != "allOf"}
    yield from map(as_problem, schema_faults(validator_for(schema), value))


def _unreadable(value: Json, place: JsonPlace) -> _Problems:
    """Refuse text of which a model reads more than a person sees."""
    if isinstance(value, str) and value != printable(value, keep="\n\t"):
        message = "has control or invisible characters, which a person would not see"
        yield SchemaProblem(place, message, f"Remove them: {one_line(value, 80)}")
    elif isinstance(value, str) and len(value) > _TEXT_CHARS:
        yield SchemaProblem(place, f"has more than {_TEXT_CHARS} characters", "Shorten it.")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _unreadable(name, (*place, name))
            if (*place, name) != ("_meta",):
                yield from _unreadable(item, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unreadable(item, (*place, index))


def _schemas(value: Mapping[str, Json], definition: Definition, _roles: Collection[str]) -> _Problems:
    for field, schema in (
        ("request_schema", definition.request_schema),
        ("response_format", definition.response_format),
    ):
        key = spelling(value, field)
        for problem in check_meaning(dict(schema)) if isinstance(schema, Mapping) else ():
            yield SchemaProblem((key, *problem.place), problem.message, problem.fix)


def _roles(value: Mapping[str, Any], _definition: Definition, roles: Collection[str]) -> _Problems:
    otherwise = f'Known roles: {", ".join(sorted(roles))}, or "*" for all. A new role needs a template.'
    for field in ("access_control", "agent_specific_guidance"):
        for name in value.get(field, {}):
            slug = role_slug(name)
            if slug != ANY_ROLE and slug not in roles:
                fix = did_you_mean(slug, roles, otherwise)
                yield SchemaProblem((field, name), f"the role {one_line(name)!r} is not known", fix)


def _aliases(_value: Mapping[str, Json], definition: Definition, _roles: Collection[str]) -> _Problems:
    schema = definition.request_schema
    for alias, target in definition.aliases.items():
        place = ("parameter_aliases", alias)
        if property_at(schema, target) is None:
            known = quick_check.properties(schema)
            fix = did_you_mean(target, known, f"Known: {', '.join(known) or 'none'}.")
            yield SchemaProblem(place, f"{quoted_json(target, 60)} is not a parameter", fix)
        elif property_at(schema, alias) is not None:
            yield SchemaProblem(place, "an alias cannot have the name of a parameter", "Remove it.")
        elif not _may_stand_for(split_alias(alias)[0], split_alias(target)[0]):
            fix = "Write a name beside the parameter's, or object.name for a parameter at the top."
            yield SchemaProblem(place, f"an alias cannot stand there for {quoted_json(target, 60)}", fix)


def _may_stand_for(holder: str, into: str) -> bool:
    is_deep = "." in holder or "[]" in holder[:-2]
    is_same = holder == into and into[-2:] in ("", "[]")
    return not is_deep and (is_same or not (into or holder.endswith("[]")))


def _transport(value: Mapping[str, Any], definition: Definition, _roles: Collection[str]) -> _Problems:
    transport = definition.transport
    if isinstance(transport, Builtin):
        own = definition.effect
        if transport.name not in BUILTIN_TOOLS:
            message = f"there is no built-in tool {quoted_json(transport.name, 60)}"
            fix = f"Built-in tools: {', '.join(sorted(BUILTIN_TOOLS))}. For a program use a command transport."
            yield SchemaProblem(("transport",), message, fix)
        elif value.get("effect", own) != own:
            message = f"the built-in {transport.name!r} has the effect {own!r}"
            yield SchemaProblem(("effect",), message, "Remove the field.")
    elif value.get("effect") == "edit":
        fix = 'Use "run" for a tool that changes something elsewhere.'
        yield SchemaProblem(("effect",), "only built-in tools can edit files of the project", fix)
    raw = value.get("transport", {})
    if "url" in raw and value.get("api_endpoint"):
        message = "'api_endpoint' and the transport's 'url' mean the same"
        yield SchemaProblem(("transport", "url"), message, "Keep one of them.")
    elif raw.get("type") == "mcp-http" and not raw.get("url", value.get("api_endpoint")):
        yield SchemaProblem(("transport",), "an mcp-http transport needs the server's address", 'Add "url".')


def _filled_in(value: Mapping[str, Any], definition: Definition, _roles: Collection[str]) -> _Problems:
    """Refuse a placeholder without parameter: it would be sent literally."""
    properties: Any = definition.request_schema.get("properties", {})
    known: list[str] = list(properties)
    for place, text, fixed in filled_texts(definition.transport, value):
        if "{" in fixed:
            fix = "Use placeholders after the host only."
            yield SchemaProblem(place, "a placeholder cannot choose the host", fix)
        for name in placeholders(text):
            if name not in known:
                otherwise = f"Parameters: {', '.join(known) or 'none'}. Write {{{{ for a brace."
                message = f"the placeholder {{{one_line(name)}}} is not a parameter"
                yield SchemaProblem(place, message, did_you_mean(name, known, otherwise))
    # Only declared secrets are filled in, so that a file cannot quietly send out the environment.
    for place, text in secret_texts(definition.transport):
        from rails.tools.runners.secrets import secret_references  # what ships has no secrets

        for name in secret_references(text):
            if name not in definition.secrets:
                fix = did_you_mean(name, definition.secrets, f'Add "secrets": ["{one_line(name)}"].')
                yield SchemaProblem(place, f"the secret ${{{one_line(name)}}} is not declared", fix)


_Check = Callable[[Mapping[str, Any], Definition, Collection[str]], _Problems]
_CHECKS: Final[tuple[_Check, ...]] = (_schemas, _roles, _aliases, _transport, _filled_in)
