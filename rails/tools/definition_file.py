"""One definition file's value, read into a :class:`~rails.tools.registry.Definition`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from rails.core import limits
from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line
from rails.core.tool_request import Effect, Json
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import check_parameters, check_schema, did_you_mean, kind_in_words, quoted_json
from rails.tools import aliases
from rails.tools.definition_fields import NAME, VARIABLE, Fields
from rails.tools.registry import ANY_ROLE, Access, Builtin, Definition, Transport, role_slug
from rails.tools.transports import TransportReader, filled_texts, placeholders, secret_texts

_LEVELS: Final[Mapping[Json, Access]] = {
    "free_access": "free",
    "permissioned_access": "ask",
    "no_access": "none",
}
_ANY_NAME: Final = lazy(r"[\x21-\x7e]{1,64}")
_MAX_TIMEOUT: Final = 3_600.0


class DefinitionReader(Fields):
    """Reads one definition: :meth:`definition` once, then ``problems``."""

    #: Whether its schemas are looked into. Those that come with AI-Rails are by its tests, not at every start.
    checks_schemas = True

    def definition(self, source: str, text: str) -> Definition | None:
        """Return the definition, or ``None`` when a mistake makes it impossible; ``text`` is the file's."""
        if self.problems:
            return None
        self.keys()
        name = self._tool_name()
        schema = self._request_schema()
        transport = TransportReader(self, name).read()
        self._placeholders_exist(transport, schema)
        self._secrets_declared(transport)
        definition = Definition(
            tool_name=name,
            title=self.text("title") or self._annotation_title(),
            description=self._description(),
            request_schema=schema,
            response_format=self._response_format(),
            transport=transport,
            effect=self._effect(transport),
            access=self._access(),
            guidance=self._guidance(),
            aliases=self._aliases(schema),
            tool_aliases=self.names("tool_aliases", NAME),
            timeout_s=self._timeout(),
            examples=self._examples(),
            source=source,
            text=text,
            secrets=self.names("secrets", VARIABLE),
            always_asks=self.choice("approval", ("by_role", "ask")) == "ask" or self._is_destructive(),
            drops_unknown=self.choice("unknown_parameters", ("refuse", "drop")) == "drop",
            mistaken_names=self.names("mistaken_names", _ANY_NAME),
            hidden_parameters=self.names("hidden_parameters", _ANY_NAME),
            annotations=self.object("annotations"),
        )
        return None if self.problems else definition

    def _tool_name(self) -> str:
        key, value = self.key_of("tool_name"), self.get("tool_name")
        if key in self.raw and not (isinstance(value, str) and NAME.fullmatch(value)):
            fix = "Use 1 to 64 letters, digits, _ or -, starting with a letter; model providers allow no others."
            self.problem((key,), f"{quoted_json(value, 60)} is not a tool name", fix)
        return value if isinstance(value, str) else ""

    def _description(self) -> str:
        text = self.text("description")
        if not text.strip() and not any(problem.place == ("description",) for problem in self.problems):
            place: JsonPlace = ("description",) if "description" in self.raw else ()
            self.problem(place, "the field 'description' is missing or empty", "Say in a sentence what the tool does.")
        return text

    def _annotation_title(self) -> str:
        title = self.object("annotations").get("title")
        return title if isinstance(title, str) else ""

    def _is_destructive(self) -> bool:
        """An annotation can only tighten: an explicit "destructive" makes every use ask."""
        return self.object("annotations").get("destructiveHint") is True

    def _request_schema(self) -> Mapping[str, Json]:
        key = self.key_of("request_schema")
        if key not in self.raw:
            return {}
        schema = self.raw[key]
        self._schema(key, schema, parameters=True)
        return schema if isinstance(schema, dict) else {}

    def _schema(self, key: str, schema: Json, *, parameters: bool) -> None:
        if not self.checks_schemas:
            return
        check = check_parameters if parameters else check_schema
        for problem in check(schema):
            self.problem((key, *problem.place), problem.message, problem.fix)
        self._readable_schema(schema, (key,), 0)

    def _readable_schema(self, value: Json, place: JsonPlace, depth: int) -> None:
        """Names and texts inside a schema or an example are read by the model too."""
        if depth > limits.JSON_DEPTH:
            return
        if isinstance(value, str):
            self.readable(value, place)
        elif isinstance(value, dict):
            for name, item in value.items():
                self.readable(name, (*place, name))
                self._readable_schema(item, (*place, name), depth + 1)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._readable_schema(item, (*place, index), depth + 1)

    def _response_format(self) -> Json:
        key = self.key_of("response_format")
        value = self.raw.get(key, "")
        if isinstance(value, str):
            self.readable(value, (key,))
        elif isinstance(value, dict):
            self._schema(key, value, parameters=False)
        else:
            self.problem(
                (key,), f"must be a text or a JSON Schema, not {kind_in_words(value)}", "Describe what comes back."
            )
        return value

    def _effect(self, transport: Transport) -> Effect:
        effects = get_args(Effect)
        if isinstance(transport, Builtin):
            tool = BUILTIN_TOOLS.get(transport.name)
            own = tool.effect if tool else "run"
            if self.raw.get("effect", own) != own:
                self.problem(
                    ("effect",), f"the built-in {transport.name!r} has the effect {own!r}", "Remove the field."
                )
            return own
        value = self.raw.get("effect", "run")
        if value == "edit":
            fix = 'Use "run" for a tool that changes something elsewhere.'
            self.problem(("effect",), "only built-in tools can edit files of the project", fix)
        elif value not in effects:
            fix = did_you_mean(str(value), effects, 'Allowed: "read" or "run".')
            self.problem(("effect",), f"{quoted_json(value, 40)} is not an effect", fix)
        return "read" if value == "read" else "run"

    def _access(self) -> Mapping[str, Access]:
        found: dict[str, Access] = {}
        for role, level in self.object("access_control").items():
            slug = self._role("access_control", role)
            if isinstance(level, bool):
                found[slug] = "free" if level else "none"
            elif isinstance(level, str) and level in _LEVELS:
                found[slug] = _LEVELS[level]
            else:
                allowed = ("free_access", "permissioned_access")
                fix = did_you_mean(str(level), allowed, "Use free_access, permissioned_access, true or false.")
                self.problem(("access_control", role), f"{quoted_json(level, 40)} is not an access level", fix)
        return found

    def _guidance(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for role, text in self.object("agent_specific_guidance").items():
            slug = self._role("agent_specific_guidance", role)
            if isinstance(text, str):
                self.readable(text, ("agent_specific_guidance", role))
                found[slug] = text
            else:
                self.problem(
                    ("agent_specific_guidance", role), f"must be a string, not {kind_in_words(text)}", "Write text."
                )
        return found

    def _role(self, field: str, name: str) -> str:
        slug = role_slug(name)
        if slug != ANY_ROLE and slug not in self.roles:
            otherwise = f'Known roles: {", ".join(sorted(self.roles))}, or "*" for all. A new role needs a template.'
            self.problem(
                (field, name), f"the role {one_line(name)!r} is not known", did_you_mean(slug, self.roles, otherwise)
            )
        return slug

    def _aliases(self, schema: Mapping[str, Json]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        known = parameter_paths(dict(schema))
        for alias, target in self.object("parameter_aliases").items():
            place = ("parameter_aliases", alias)
            if not isinstance(target, str) or target not in known:
                fix = did_you_mean(str(target), known, f"Known: {', '.join(sorted(known)) or 'none'}.")
                self.problem(place, f"{quoted_json(target, 60)} is not a parameter", fix)
            elif alias in known:
                self.problem(place, "an alias cannot have the name of a parameter", "Remove it.")
            elif alias.count(".") >= aliases.PARTS:
                self.problem(place, f"an alias has at most {aliases.PARTS} parts", "Use a shorter path.")
            elif alias.count("[]") != target.count("[]"):
                self.problem(place, "an alias and its parameter need the same number of []", "Correct one of them.")
            else:
                found[alias] = target
        return found

    def _examples(self) -> tuple[Mapping[str, Json], ...]:
        key = self.key_of("examples")
        value = self.raw.get(key, [])
        if not isinstance(value, list):
            self.problem((key,), f"must be a list of parameter objects, not {kind_in_words(value)}", "Write [{ … }].")
            return ()
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                self.problem(
                    (key, index), f"must be an object, not {kind_in_words(item)}", "Write the parameters only."
                )
        self._readable_schema(value, (key,), 0)
        return tuple(item for item in value if isinstance(item, dict))

    def _timeout(self) -> float:
        value = self.raw.get("timeout_s", limits.COMMAND_SECONDS)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MAX_TIMEOUT:
            fix = f"Use a number above 0, at most {_MAX_TIMEOUT:.0f}."
            self.problem(("timeout_s",), f"{quoted_json(value, 40)} is not a number of seconds", fix)
            return limits.COMMAND_SECONDS
        return float(value)

    def _placeholders_exist(self, transport: Transport, schema: Mapping[str, Json]) -> None:
        """Every placeholder must be a parameter, or a misspelt one would be sent as it stands."""
        properties = schema.get("properties")
        known = list(properties) if isinstance(properties, dict) else []
        for place, text in filled_texts(transport, self):
            for name in placeholders(text):
                if name not in known:
                    otherwise = f"Parameters: {', '.join(known) or 'none'}. Write {{{{ for a brace."
                    message = f"the placeholder {{{one_line(name)}}} is not a parameter"
                    self.problem(place, message, did_you_mean(name, known, otherwise))

    def _secrets_declared(self, transport: Transport) -> None:
        """Only declared secrets are filled in, so that a file cannot quietly send out the environment."""
        declared = self.raw.get("secrets")
        known = [name for name in declared if isinstance(name, str)] if isinstance(declared, list) else []
        for place, text in secret_texts(transport):
            from rails.tools.runners.secrets import secret_references  # what ships has no secrets

            for name in secret_references(text):
                if name not in known:
                    fix = did_you_mean(name, known, f'Add "secrets": ["{one_line(name)}"].')
                    self.problem(place, f"the secret ${{{one_line(name)}}} is not declared", fix)


def parameter_paths(schema: Json, prefix: str = "", depth: int = 0) -> set[str]:
    """Return the dotted paths of a schema's parameters, with ``[]`` for the items of a list."""
    found: set[str] = set()
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or depth > limits.SCHEMA_DEPTH:
        return found
    for name, inner in properties.items():
        path = f"{prefix}{name}"
        found.add(path)
        found |= parameter_paths(inner, f"{path}.", depth + 1)
        items = inner.get("items") if isinstance(inner, dict) else None
        if isinstance(items, dict):
            found.add(f"{path}[]")
            found |= parameter_paths(items, f"{path}[].", depth + 1)
    return found
