"""Data against JSON Schemas: the place in the file, local schemas only, and no silent pass."""

import json

import pytest

SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "How people call it."},
        "ports": {"type": "array", "items": {"type": "integer"}},
        "mode": {"enum": ["fast", "slow"]},
    },
    "additionalProperties": False,
}


def found(verdict):
    return [(f.rule, f.line, f.column, f.json_path) for f in verdict.findings]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "conf/a.json",
            '{\n  "$schema": "../schema.json",\n  "name": 1,\n  "ports": [1,\n    "x"]\n}\n',
            [("schema-type", 3, 3, "$.name"), ("schema-type", 5, 5, "$.ports[1]")],
        ),
        (
            "a.json",
            '{"$schema": "./schema.json", "nome": "x", "name": "y"}',
            [("schema-additionalProperties", 1, 30, "$.nome")],
        ),
        ("a.json", '{"$schema": "./schema.json"}', [("schema-required", 1, 1, "$")]),
        (
            "a.yaml",
            "# yaml-language-server: $schema=schema.json\nname: ok\nports:\n  - 1\n  - two\nmode: quick\n",
            [("schema-type", 5, 5, "$.ports[1]"), ("schema-enum", 6, 1, "$.mode")],
        ),
        ("a.toml", "#:schema ./schema.json\nports = [1]\nname = 3\n", [("schema-type", 3, 1, "$.name")]),
    ],
)
def test_a_file_is_compared_with_the_schema_it_names(world, path, text, expected):
    properties = {**SCHEMA["properties"], "$schema": {}}
    world.put("schema.json", json.dumps({**SCHEMA, "properties": properties}))
    verdict = world.judge((path, text))
    assert (verdict.status, sorted(found(verdict))) == ("fail", sorted(expected)), verdict


def test_the_settings_map_paths_to_schemas(world):
    world.put("schemas/conf.json", json.dumps(SCHEMA))
    world.put(".rails.toml", '[[gate.schema]]\npath = "conf/*"\nschema = "schemas/conf.json"\n')
    verdict = world.judge(("conf/a.toml", "[[x]]\n[name]\n"))
    assert sorted(found(verdict)) == [("schema-additionalProperties", 1, 3, "$.x"), ("schema-type", 2, 2, "$.name")]
    assert world.judge(("conf/a.yml", "name: x\n")).status == "pass"
    assert world.judge(("other/a.yml", "ports: x\n")).status == "pass"
    remedy = world.judge(("conf/a.json", '{"name": 1}')).findings[0].remedy
    assert remedy == "The schema says: How people call it."


def test_only_what_the_change_breaks_counts(world):
    world.put("schema.json", json.dumps(SCHEMA))
    world.put(".rails.toml", '[[gate.schema]]\npath = "a.json"\nschema = "schema.json"\n')
    old = '{\n  "name": 1\n}\n'
    assert world.judge(("a.json", old, '{\n  "name": 1,\n  "mode": "fast"\n}\n')).status == "pass"
    assert world.judge(("a.json", old, '{\n  "name": 1,\n  "mode": "odd"\n}\n')).status == "fail"


def test_a_schema_elsewhere_is_never_fetched_and_is_said(world):
    text = '{"$schema": "https://example.org/schema.json", "name": 1}'
    verdict = world.judge(("a.json", text))
    assert [(miss.check, miss.required) for miss in verdict.not_checked] == [("schema", False)]
    assert "never fetched" in verdict.not_checked[0].reason
    world.put("schema.json", json.dumps({"properties": {"name": {"type": "string"}}}))
    world.put(".rails.toml", '[[gate.schema]]\nurl = "https://example.org/schema.json"\nschema = "schema.json"\n')
    assert found(world.judge(("a.json", text))) == [("schema-type", 1, 48, "$.name")]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (None, "does not exist"),
        ("{", "not JSON"),
        ('{"type": "no such type"}', "not a JSON Schema"),
        ('{"$ref": "https://example.org/other.json"}', "nothing is fetched"),
        ('{"$ref": "../outside.json"}', "nothing is fetched"),
    ],
)
def test_a_schema_that_cannot_be_used_is_not_a_pass(world, schema, words):
    if schema is not None:
        world.put("schema.json", schema)
    verdict = world.judge(("a.json", '{"$schema": "schema.json"}'))
    assert verdict.status == "error"
    assert words in verdict.not_checked[0].reason


def test_schemas_of_the_project_may_refer_to_each_other(world):
    world.put("schemas/a.json", '{"properties": {"x": {"$ref": "b.json#/$defs/word"}}}')
    world.put("schemas/b.json", '{"$defs": {"word": {"type": "string"}}}')
    assert found(world.judge(("a.json", '{"$schema": "schemas/a.json", "x": 1}'))) == [("schema-type", 1, 31, "$.x")]


def test_a_schema_is_compared_with_the_schema_of_schemas(world):
    text = '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "strung"}'
    assert [f.json_path for f in world.judge(("a.json", text)).findings] == ["$.type"]
    assert world.judge(("b.json", text.replace("strung", "string"))).status == "pass"


def test_a_pattern_that_takes_for_ever_is_stopped(world, monkeypatch):
    from rails.core import limits

    world.put("schema.json", '{"properties": {"x": {"pattern": "^(a+)+$"}}}')
    assert world.judge(("a.json", '{"$schema": "schema.json", "x": "a"}')).status == "pass"
    monkeypatch.setattr(limits, "CHECK_SECONDS", 0.5)
    verdict = world.judge(("a.json", '{"$schema": "schema.json", "x": "' + "a" * 60 + '!"}'))
    assert verdict.status == "error"
