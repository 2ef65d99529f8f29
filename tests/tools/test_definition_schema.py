"""The published JSON Schema of the definition format agrees with the loader."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rails.core.app_dirs import builtin_folder
from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.json_schema.formats import CHECKED
from rails.tools.definition_file import definition_schema
from rails.tools.describe import starter

SCHEMA = definition_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
HERE = Path(__file__).parent
GOOD = [*builtin_folder("mcp_definitions").glob("*.json"), *(HERE / "original_definitions").glob("*.json")]

#: Mistakes that a JSON Schema cannot see: they depend on two places of the file, or on the text inside a string.
BEYOND = {
    *("required_not_a_property", "circular_reference", "dangling_reference", "pattern_look_ahead", "pattern_unclosed"),
    *("limits_crossed", "too_deep", "too_large_written_out", "unknown_role", "unknown_placeholder", "no_such_builtin"),
    *("placeholder_in_host", "undeclared_secret", "wrong_example", "alias_to_nothing", "hidden_text", "edit_effect"),
}


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.stem)
def test_a_good_definition_satisfies_it(file):
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(file.read_text(encoding="utf-8")))] == []


def test_a_starter_satisfies_it():
    VALIDATOR.validate(json.loads(starter("my_tool")))


def broken():
    for file in sorted((HERE / "broken_definitions").glob("*.json")):
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            continue
        yield pytest.param(value, file.stem.partition("_")[2] in BEYOND, id=file.stem)


@pytest.mark.parametrize(("value", "beyond"), [case for case in broken() if "duplicate_key" not in case.id])
def test_a_broken_definition_does_not_unless_only_the_loader_can_tell(value, beyond):
    assert VALIDATOR.is_valid(value) is beyond


#: Formats that only inform: they widen or narrow a number, or say what a text is for.
INFORMING = {"int32", "int64", "uint32", "uint64", "uint8", "uint16", "float", "double", "byte", "binary", "password"}


def test_it_knows_the_same_formats_and_built_ins():
    assert set(SCHEMA["$defs"]["schema"]["properties"]["format"]["enum"]) == {*CHECKED, *INFORMING, "path"}
    assert set(SCHEMA["$defs"]["builtin"]["properties"]["name"]["enum"]) == set(BUILTIN_TOOLS)
