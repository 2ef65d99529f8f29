"""A tool, and a session's set of tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.core.conversation import ToolSpec
from rails.core.text import sha256
from rails.core.tool_request import Effect, Json, ToolResult
from rails.data_formats.json_document import parse_document
from rails.json_schema.quick_check import properties, required
from rails.tools.aliases import split_alias

#: Whether an agent may use a tool without asking, only after a human agreed, or not at all.
Access = Literal["free", "ask", "none"]

#: What runs a built-in tool: its parameters and the project folder in, a result out, for failures too.
BuiltinRunner = Callable[[Mapping[str, Json], Path], ToolResult]

#: The roles of the shipped templates; a template of the user's adds its own.
ROLES: Final = str.split(
    "planning coder unit-tester debugger documentation code-review refactor n8n-flow-creator overseer sample"
)
#: The key of an access or guidance table that stands for every role it does not name.
ANY_ROLE: Final = "*"


@cache
def role_slug(name: str) -> str:
    """Return a role's slug: "Unit Tester Agent" gives "unit-tester"."""
    words = "".join(char if char.isalnum() else " " for char in name.casefold()).split()
    if len(words) > 1 and words[-1] == "agent":
        words.pop()
    return "-".join(words) if name != ANY_ROLE else ANY_ROLE


class Builtin(Struct, frozen=True):
    """A tool that AI-Rails does itself, by its own name."""

    name: str


class Command(Struct, frozen=True):
    """A program and its arguments; parameters replace ``{name}``.

    ``contained``: in the sandbox, reaching only the hosts of ``network``.
    """

    command: tuple[str, ...]
    stdin: Literal["none", "json"] = "none"
    env: Mapping[str, str] = field(default_factory=dict)
    contained: bool = False
    network: tuple[str, ...] = ()


class Http(Struct, frozen=True):
    """A plain HTTP service."""

    endpoint: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    endpoint_env: str = ""
    idempotent: bool = False
    allow_private: bool = False


class Mcp(Struct, frozen=True):
    """A Model Context Protocol server: HTTP if ``endpoint`` is set, else stdio, ``contained`` like :class:`Command`."""

    endpoint: str = ""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    tool: str = ""
    allow_private: bool = False
    contained: bool = False
    network: tuple[str, ...] = ()


Transport = Builtin | Command | Http | Mcp


class Definition(Struct, frozen=True, eq=False):
    """One tool; the same if the digest is.

    ``access`` and ``guidance`` are by role slug, ``"*"`` for all others. ``aliases``: dotted path (``[]``: items of a
    list) to parameter. ``mistaken_names`` are refused with this tool's name. ``hidden_parameters`` are accepted at any
    depth; models hear of them only in refusals. ``text`` is the file's.
    """

    tool_name: str
    title: str
    description: str
    request_schema: Mapping[str, Json]
    response_format: Json
    transport: Transport
    effect: Effect
    access: Mapping[str, Access]
    guidance: Mapping[str, str]
    aliases: Mapping[str, str]
    tool_aliases: tuple[str, ...]
    timeout_s: float
    examples: tuple[Mapping[str, Json], ...]
    source: str
    text: str
    secrets: tuple[str, ...] = ()
    always_asks: bool = False
    drops_unknown: bool = False
    mistaken_names: tuple[str, ...] = ()
    hidden_parameters: tuple[str, ...] = ()
    trusted: bool = True
    annotations: Mapping[str, Json] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file's canonical JSON."""
        return _digest(self.text)

    def access_of(self, role: str) -> Access:
        """Return what ``role`` may do: nothing if unnamed. Untrusted definitions always ask."""
        level = self.access.get(role_slug(role), self.access.get(ANY_ROLE, "none"))
        asks = self.always_asks or not self.trusted or self.effect == "edit"
        return "ask" if level == "free" and asks else level

    def guidance_for(self, role: str) -> str:
        """Return the advice for ``role``, or ""."""
        return self.guidance.get(role_slug(role), self.guidance.get(ANY_ROLE, ""))

    @property
    def like(self) -> str:
        """The tool to name instead, or ""."""
        known = BUILTIN_TOOLS.get(self.transport.name) if isinstance(self.transport, Builtin) else None
        return known.like if known else ""

    @property
    def shown_schema(self) -> Mapping[str, Json]:
        """The schema that a model gets: no hidden parameters, no limits of built-ins (against abuse)."""
        limits = _LIMITS if isinstance(self.transport, Builtin) else ()
        return cast("dict[str, Json]", _shown(dict(self.request_schema), self.hidden_parameters, limits))

    def spec(self) -> ToolSpec:
        """Return the tool in native form."""
        schema = json.dumps(self.shown_schema, ensure_ascii=False, separators=(",", ":"))
        return ToolSpec(self.tool_name, self.description, schema)

    def signature(self) -> str:
        """Return the call in one line: ``edit_file(file_path, old_string, replace_all=false)``."""
        return f"{self.tool_name}({_arguments(self.shown_schema)})"


#: Keywords that bound a value's size.
_LIMITS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")


def _shown(schema: Json, hidden: Collection[str], limits: Collection[str]) -> Json:
    if isinstance(schema, list):
        return [_shown(item, hidden, limits) for item in schema]
    if not isinstance(schema, dict):
        return schema
    shown = {name: _shown(value, hidden, limits) for name, value in schema.items() if name not in limits}
    if named := properties(shown):
        shown["properties"] = {name: value for name, value in named.items() if name not in hidden}
    return shown


def _arguments(schema: Mapping[str, Json]) -> str:
    """Return the parameters in one line; optional ones with ``?`` or a default."""
    needed = required(schema)
    return ", ".join(_argument(name, inner, name in needed) for name, inner in properties(schema).items())


def _argument(name: str, schema: Json, needed: bool) -> str:
    about = schema if isinstance(schema, dict) else {}
    items = about.get("items")
    choices = about.get("enum")
    kind = ""
    if isinstance(items, dict) and properties(items):
        kind = f": [{{{_arguments(items)}}}]"
    elif isinstance(choices, list):
        kind = ": " + "|".join(map(json.dumps, choices))
    if needed:
        return name + kind
    default = about.get("default", False if about.get("type") == "boolean" else None)
    return f"{name}?{kind}" if default is None else f"{name}={json.dumps(default)}"


@lru_cache(1024)
def _digest(text: str) -> str:
    canonical = json.dumps(parse_document(text).value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(canonical.encode("utf-8", "surrogatepass"))


class Registry(Struct, frozen=True):
    """A session's tools. ``notes`` tell the user what was loaded or left out.

    ``runners``, by name, come from packages that this one may not import (:meth:`with_runners`).
    """

    definitions: Mapping[str, Definition]
    notes: tuple[str, ...] = ()
    runners: Mapping[str, BuiltinRunner] = field(default_factory=dict)

    def with_runners(self, runners: Mapping[str, BuiltinRunner]) -> Registry:
        """Return the tools with these runners."""
        return replace(self, runners=runners)

    def without(self, builtin: str) -> Registry:
        """Return the tools without a built-in."""
        kept = {name: one for name, one in self.definitions.items() if one.transport != Builtin(builtin)}
        return replace(self, definitions=kept)

    def names(self) -> tuple[str, ...]:
        """Return the sorted names."""
        return tuple(sorted(self.definitions))

    def get(self, name: str) -> Definition | None:
        """Return the tool of this name or alias."""
        found = self.definitions.get(name)
        if found is not None:
            return found
        return next((one for one in self.definitions.values() if name in one.tool_aliases), None)

    def for_role(self, role: str) -> tuple[Definition, ...]:
        """Return what ``role`` may use and knows, by name."""
        found = (self.definitions[name] for name in self.names())
        return tuple(one for one in found if one.access_of(role) != "none" and not one.like)

    def restricted(self, role: str, names: Collection[str]) -> Registry:
        """Return the tools with ``role`` kept from all but ``names`` (or aliases).

        Tools that are not built in and name the role in ``access_control`` stay, so adding one changes no template.
        """
        slug = role_slug(role)
        kept = {definition.tool_name for name in names if (definition := self.get(name)) is not None}

        def stays(one: Definition) -> bool:
            named = not isinstance(one.transport, Builtin) and one.access.get(slug, "none") != "none"
            return named or one.tool_name in kept or one.like in kept

        definitions = {
            name: one if stays(one) else replace(one, access={**one.access, slug: "none"})
            for name, one in self.definitions.items()
        }
        return replace(self, definitions=definitions)

    def shapes(self, role: str | None = None) -> Mapping[str, Mapping[str, Json]]:
        """Return the schemas that intake recognises requests by, by tool name and alias.

        Parameter aliases are properties. Without a role all tools are there: to be refused, a request must be found.
        """
        chosen = self.for_role(role) if role is not None else tuple(self.definitions.values())
        shapes: dict[str, Mapping[str, Json]] = {}
        for definition in chosen:
            names = (definition.tool_name, *definition.tool_aliases)
            shapes.update(dict.fromkeys(names, _with_aliases(definition)))
        return shapes


@lru_cache(1024)  # every turn asks for the shapes of the same definitions
def _with_aliases(definition: Definition) -> Mapping[str, Json]:
    """Return the schema with aliases as properties of their target's type, which satisfy ``required``."""
    shape: dict[str, Any] = json.loads(json.dumps(definition.request_schema))
    # A list's other name has the aliases of its items, too.
    for alias, target in sorted(definition.aliases.items(), key=lambda pair: "[]" not in pair[0]):
        holder, name = split_alias(alias)
        into, real = split_alias(target)
        schema = property_at(shape, target)
        if holder == into:
            level = shape["properties"][into[:-2]]["items"] if into else shape
            _add(level, name, real, schema)
        else:
            inner = shape["properties"].get(holder, {"type": "object", "properties": {}})
            inner["properties"][name] = schema
            _add(shape, holder, real, inner)
    return shape


def _add(level: dict[str, Any], alias: str, name: str, schema: Json) -> None:
    level["properties"][alias] = schema
    choices = level.setdefault("allOf", [])
    if name in level.get("required", ()):
        level["required"].remove(name)
        choices.append({"anyOf": [{"required": [name]}]})
    for choice in choices:
        options = choice.get("anyOf", [])
        if {"required": [name]} in options and {"required": [alias]} not in options:
            options.append({"required": [alias]})


def property_at(schema: Mapping[str, Json], dotted: str) -> Json:
    """Return a parameter's schema by path (``[]``: items), or None."""
    node: Json = dict(schema)
    for part in dotted.split("."):
        node = properties(node).get(part.removesuffix("[]"))
        if part.endswith("[]") and isinstance(node, dict):
            node = node.get("items")
    return node
