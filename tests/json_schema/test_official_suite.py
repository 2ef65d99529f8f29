"""The official JSON Schema suite (2020-12): what is allowed means what it says, the rest is refused by name.

The data are the required tests of the suite, one group on a line, as jsonschema's source distribution has them.
"""

import json
from collections import Counter
from pathlib import Path

from rails.json_schema.metaschema import check_schema
from rails.json_schema.validator import answer_faults

_LINES = (Path(__file__).parents[1] / "cases/json_schema_suite/draft2020-12.jsonl").read_text("utf-8").splitlines()
GROUPS = [json.loads(line) for line in _LINES]
#: Files of the suite of which no group may be refused: every keyword in them is one that we allow.
WHOLE = frozenset(
    {
        "allOf",
        "anyOf",
        "boolean_schema",
        "const",
        "contains",
        "default",
        "dependentRequired",
        "dependentSchemas",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "if-then-else",
        "infinite-loop-detection",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "prefixItems",
        "propertyNames",
        "required",
        "type",
        "uniqueItems",
    }
)
#: What a schema must not use, with the number of the suite's tests that need it.
REFUSED = {
    "$id": 100,
    "$ref": 41,
    "unevaluatedItems": 64,
    "patternProperties": 66,
    "format": 63,
    "minContains": 23,
    "maxContains": 17,
    "contentSchema": 8,
    "$dynamicRef": 2,
    "$schema": 2,
    "$anchor": 2,
}


def _refused_for(schema):
    """Return the keyword for which a schema is refused, or "" for one that may be used."""
    return next((str(problem.place[-1]) for problem in check_schema(schema)), "")


def _allowed():
    return [group for group in GROUPS if not _refused_for(group["schema"])]


def _told(group):
    """Return what we say of the tests of a group; of formats, which 2020-12 leaves open, only of what is no text."""
    schema = {"allOf": [group["schema"]]} if isinstance(group["schema"], bool) else group["schema"]
    is_open = group["file"] == "format"
    return [
        [about, data, right if is_open and isinstance(data, str) else not answer_faults(schema, data)]
        for about, data, right in group["tests"]
    ]


def test_every_schema_that_may_be_used_decides_as_the_official_suite_says():
    assert not [(group["file"], group["group"]) for group in _allowed() if _told(group) != group["tests"]]


def test_a_format_that_may_be_used_is_checked_and_not_only_noted():
    # A reference may be nearly any text: ours may hold no blank and no control character.
    formats = [g for g in _allowed() if g["file"] == "format" and g["schema"]["format"] != "uri-reference"]
    for group in formats:
        (invalid,) = [data for about, data, _ in group["tests"] if about.startswith("invalid")]
        assert answer_faults(group["schema"], invalid), group["group"]
    assert len(formats) >= 9


def test_what_the_suite_needs_beyond_the_allowed_keywords_is_refused_by_name_and_counted():
    refused = Counter()
    for group in GROUPS:
        if keyword := _refused_for(group["schema"]):
            assert group["file"] not in WHOLE, (group["file"], group["group"], keyword)
            refused[keyword] += len(group["tests"])
    assert dict(refused) == REFUSED


def test_the_suite_is_there_in_full():
    assert len(GROUPS) == 368
    assert sum(len(group["tests"]) for group in GROUPS) == 1257
