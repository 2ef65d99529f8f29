"""A definition file's fields: finding them, and noting every mistake while reading goes on."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, printable
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import SchemaProblem, did_you_mean, kind_in_words, quoted_json

#: Every field with the spellings that are read, our own first.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "tool_name": ("tool_name", "name", "mcp_name"),
    "request_schema": ("request_schema", "inputSchema", "input_schema", "parameters"),
    "response_format": ("response_format", "outputSchema", "output_schema", "response_schema"),
    "examples": ("examples", "input_examples"),
}
_PLAIN: Final = (
    "title",
    "description",
    "version",
    "transport",
    "api_endpoint",
    "effect",
    "access_control",
    "agent_specific_guidance",
    "parameter_aliases",
    "tool_aliases",
    "mistaken_names",
    "hidden_parameters",
    "unknown_parameters",
    "timeout_s",
    "secrets",
    "approval",
    "annotations",
    "_meta",
    "$schema",
    "$comment",
    "icons",
    "execution",
    "capabilities",
)
#: Every key that a definition file may have.
KNOWN_KEYS: Final = frozenset(_PLAIN) | frozenset(name for names in ALIASES.values() for name in names)

#: Names of tools: model providers allow no others.
NAME: Final = lazy(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
#: Names of environment variables.
VARIABLE: Final = lazy(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_TEXT_CHARS: Final = 20_000


class Fields:
    """The fields of one definition. ``problems`` collects what is wrong, in the order it was found."""

    def __init__(self, value: Json, roles: Collection[str] = ()) -> None:
        self.problems: list[SchemaProblem] = []
        self.roles = roles
        self.raw: dict[str, Json] = {}
        if isinstance(value, dict):
            self.raw = value
        else:
            self.problem(
                (), f"a definition must be one object, not {kind_in_words(value)}", "Put one tool in each file."
            )

    def problem(self, place: JsonPlace, message: str, fix: str) -> None:
        """Note one mistake."""
        self.problems.append(SchemaProblem(place, message, fix))

    def keys(self) -> None:
        """Note unknown keys, a field that is given in two spellings, and what every tool needs."""
        for key in self.raw:
            if key not in KNOWN_KEYS:
                fix = did_you_mean(key, KNOWN_KEYS, 'Remove it, or keep it under "_meta".')
                self.problem((key,), f"the field {one_line(key)!r} is not known", fix)
        for field, spellings in ALIASES.items():
            given = [name for name in spellings if name in self.raw]
            if len(given) > 1:
                self.problem((given[1],), f"{given[0]!r} and {given[1]!r} mean the same", f"Keep {given[0]!r} only.")
            if not given and field in ("tool_name", "request_schema"):
                self.problem((), f"the field {field!r} is missing", f'Add "{field}".')

    def key_of(self, field: str) -> str:
        """Return the spelling of ``field`` that the file uses."""
        return next((name for name in ALIASES.get(field, (field,)) if name in self.raw), field)

    def get(self, field: str) -> Json:
        """Return the field's value as it stands, or ``None``."""
        return self.raw.get(self.key_of(field))

    def object(self, field: str) -> dict[str, Json]:
        """Return an object, or an empty one with a note."""
        value = self.get(field)
        if value is None and self.key_of(field) not in self.raw:
            return {}
        if not isinstance(value, dict):
            self.problem((self.key_of(field),), f"must be an object, not {kind_in_words(value)}", "Write { … }.")
            return {}
        return value

    def text(self, field: str) -> str:
        """Return a text that a person can read in full, or an empty one."""
        value = self.get(field)
        if value is None and self.key_of(field) not in self.raw:
            return ""
        if not isinstance(value, str):
            self.problem((self.key_of(field),), f"must be a string, not {kind_in_words(value)}", 'Write "…".')
            return ""
        self.readable(value, (self.key_of(field),))
        return value

    def readable(self, text: str, place: JsonPlace) -> None:
        """Refuse text in which a person would not see everything that a model reads."""
        if text != printable(text, keep="\n\t"):
            message = "has control or invisible characters, which a person would not see"
            self.problem(place, message, f"Remove them: {one_line(text, 80)}")
        if len(text) > _TEXT_CHARS:
            self.problem(place, f"has more than {_TEXT_CHARS} characters", "Shorten it.")

    def choice(self, field: str, allowed: tuple[str, ...]) -> str:
        """Return one of the allowed words; the first is the default."""
        value = self.raw.get(field, allowed[0])
        if not isinstance(value, str) or value not in allowed:
            fix = did_you_mean(str(value), allowed, f"Allowed: {', '.join(allowed)}.")
            self.problem((field,), f"{quoted_json(value, 40)} is not allowed", fix)
            return allowed[0]
        return value

    def names(self, field: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Return a list of names that match ``pattern``."""
        value = self.raw.get(field, [])
        if not isinstance(value, list):
            self.problem((field,), f"must be a list of names, not {kind_in_words(value)}", 'Write ["…", "…"].')
            return ()
        found = [item for item in value if isinstance(item, str) and pattern.fullmatch(item)]
        for index, item in enumerate(value):
            if item not in found:
                self.problem((field, index), f"{quoted_json(item, 40)} is not a name", "Use letters, digits and _.")
        return tuple(found)
