"""A definition file that is damaged at random is reported, never a crash; what still loads still works."""

import copy
import json
import random
from pathlib import Path

from rails.core.app_dirs import builtin_folder
from rails.tools.describe import describe
from rails.tools.loader import read_definition
from rails.tools.registry import Registry
from rails.tools.validate import examine
from tests.rows import walked

FILES = [
    *builtin_folder("mcp_definitions").glob("*.json"),
    *(Path(__file__).parent / "original_definitions").glob("*.json"),
]
SEEDS = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(FILES)]
KEYS, JUNK = json.loads(
    r"""[["type", "properties", "items", "required", "$ref", "anyOf", "if", "pattern", "transport", "command", "url",
    "headers", "env", "args", "tool", "default", "enum", "prefixItems", "$defs", "secrets", "examples", "name",
    "inputSchema"], [null, true, false, 0, -1, 1.5, "", "x", "{a}", "${B}", "#/", "#/$defs/x", "array", "http://[::1",
    "\ud800", "*", "a[].b", [], [1], {}, {"type": "string"}, {"$ref": "#"}, {"$ref": "#/properties/file_path"},
    ["string", "null"]]]"""
)


def places(value, place=()):
    yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*place, key))


def damage(definition, chance):
    place = chance.choice(list(places(definition))[1:] or [("tool_name",)])
    holder = definition
    for key in place[:-1]:
        holder = holder[key]
    kind = chance.choice(["replace", "replace", "add", "remove"])
    inner = holder.get(place[-1]) if isinstance(holder, dict) else holder[place[-1]]
    if kind == "add" and isinstance(inner, dict):
        inner[chance.choice(KEYS)] = copy.deepcopy(chance.choice(JUNK))
    elif kind == "remove" and inner is not None:
        del holder[place[-1]]
    else:
        holder[place[-1]] = copy.deepcopy(chance.choice(JUNK))


@walked("seed", range(8))
def test_a_damaged_definition_is_told_about_or_works(seed):
    chance = random.Random(seed)
    for _ in range(60):
        value = copy.deepcopy(chance.choice(SEEDS))
        for _ in range(chance.randint(1, 4)):
            damage(value, chance)
        definition, mistakes = read_definition(json.dumps(value), "x.json")
        assert (definition is None) == bool(mistakes), value
        assert all(str(mistake) for mistake in mistakes)
        if definition is not None:
            describe(definition)
            definition.spec()
            Registry({definition.tool_name: definition}).shapes()
            for parameters in ({}, {"file_path": "a", "edits": [{"path": 1}], "search_replace": {"old_string": 1}}):
                examine(definition, parameters)
