"""Each settings file has one schema that editors, the reader and the messages share."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rails.config import tables
from rails.config.settings_file import SCHEMAS, SettingsError, SettingsFile, parse_settings, schema_text
from rails.json_schema.allowed import subschemas
from rails.json_schema.metaschema import check_schema
from rails.json_schema.validator import answer_faults

KINDS = {
    "rails": tables.ProjectTables,
    "gate": tables.UserGateTables,
    "config": tables.ConfigTables,
    "policy": tables.PolicyTables,
    "prices": tables.PriceTables,
}
RULE = {"decision": "deny", "tool": ["a", "b"], "path": "c", "kind": "run", "verdict": ["pass"], "agent": "d"}
RULE |= {"max_lines": 3, "clean": True, "model": "m", "interactive": False, "command": ["git status"]}
RULE |= {"name": "n", "reason": "r", "finding": "E*", "severity": ["error"], "max_bytes": 1, "adjusted": True}
RULE |= {"risk": ["secret", "hidden"]}
EXAMPLE = {"expect": "ask", "tool": "t", "path": "p", "kind": "modify", "verdict": "fail", "agent": "a", "lines": 1}
EXAMPLE |= {"bytes": 2, "finding": "f", "severity": "info", "adjusted": True, "model": "m", "interactive": True}
EXAMPLE |= {"command": "git status", "risk": "secret"}
COMMAND = {"name": "n", "run": ["a"], "reads": "sarif", "pattern": "p", "report": "r", "files": ".py"}
COMMAND |= {"ok_codes": [0, 1], "mode": "advisory", "timeout": 3, "environment": {"A": "b"}}
COMMAND |= {"function": "m.n:f"}
GATE = {
    "mode": [{"mode": "retry", "check": "output", "path": "p", "agent": ["a"], "rule": "r", "attempts": 2}],
    "schema": [{"path": ["p"], "url": "u", "schema": "s"}],
    "headings": [{"path": "p", "headings": ["h"]}],
    "command": [COMMAND],
    "fix": False,
}
POLICY = {"version": 1, "rule": [RULE], "example": [EXAMPLE]}
BOUNDS = {"agent": "coder", "max_tokens": 9, "max_minutes": 0.5, "max_cost": 2.5}
RUN = {
    **BOUNDS,
    "model": "m",
    "stronger_model": "s",
    "overseer_model": "o",
    "model_for": {"reviewer": "r"},
    "protocol": "whole",
    "tests": "on",
    "temperature": {"openai:m": 0.7},
    "approve": "policy",
}
RUN |= {"handoff": "go", "escalate": "squash", "correction": "off", "dialect": ["qwen"], "answer_within": 3}
RUN |= {"max_attempts": 2, "max_turns": 7, "backup": True}
FULL = {
    "rails": {"gate": GATE, "policy": POLICY, "run": BOUNDS},
    "config": {"run": RUN, "sessions": {"keep_days": 90}, "fetch": {"hosts": ["docs.python.org"]}},
    "gate": {"fix": False}
    | {key: [{**entry, "project": "/p"} for entry in all_] for key, all_ in GATE.items() if key != "fix"},
    "policy": POLICY,
    "prices": {
        "as_of": "2026",
        "currency": "USD",
        "models": {"m": {"input": 1, "output": 2.5, "cached": 0, "window": 9000}},
    },
}
ODD = st.sampled_from(
    [
        0,
        -1,
        1,
        3600,
        3601,
        10**6,
        0.5,
        True,
        False,
        "",
        "x",
        "deny",
        "run",
        "error",
        [],
        [""],
        ["x"],
        [1],
        {},
        "9",
    ]
)


def walk(schema, place=()):
    yield place, schema
    for inner, part in subschemas(schema):
        if isinstance(part, dict):
            yield from walk(part, place + inner)


def places(value, place=()):
    yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*place, key))


def changed(value, place, new):
    if not place:
        return new
    if isinstance(value, dict):
        return {**value, place[0]: changed(value.get(place[0]), place[1:], new)}
    return [changed(one, place[1:], new) if index == place[0] else one for index, one in enumerate(value)]


def converts(name, value):
    try:
        SettingsFile("x", "", value, name).tables(KINDS[name])
    except SettingsError:
        return False
    return True


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_that_editors_and_we_understand_and_explains_every_key(name):
    schema = json.loads(schema_text(name))
    Draft202012Validator.check_schema(schema)
    assert not list(check_schema(schema))
    for place, part in walk(schema):
        if place and place[-2:-1] == ("properties",):
            assert part.get("description", "").endswith((".", "--trust")), place
        if part.get("type") == "object" and "properties" in part:
            assert part["additionalProperties"] is False or place[-1:] == ("environment",), place


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_that_says_everything_fits_the_schema_and_is_read(name):
    schema = json.loads(schema_text(name))
    assert not answer_faults(schema, FULL[name]) or name == "rails"
    assert converts(name, FULL[name])
    named = {key for _, part in walk(schema) for key in part.get("properties", {})}
    said = {key for place in places(FULL[name]) for key in place if isinstance(key, str)}
    assert named - {"$schema"} <= said, "the test says less than the schema"


@pytest.mark.parametrize("name", SCHEMAS)
@given(data=st.data())
def test_the_schema_and_the_reader_agree_about_every_value(name, data):
    place = data.draw(st.sampled_from(list(places(FULL[name]))))
    wrong_key = data.draw(st.booleans()) and not (place and isinstance(place[-1], int))
    value = changed(FULL[name], (*place[:-1], "other") if wrong_key and place else place, data.draw(ODD))
    if not isinstance(value, dict):
        return
    told = answer_faults(json.loads(schema_text(name)), value)
    # The form of a time and a rule that a project must not have are decided, in better words, by the policy itself.
    if name in ("policy", "rails"):
        told = [one for one in told if one.keyword != "pattern" and 'is "allow"' not in one.detail]
    assert converts(name, value) is (not told)


def test_what_a_project_may_say_of_the_gate_and_of_policy_is_what_the_user_may_say():
    project, gate, policy = (json.loads(schema_text(name)) for name in ("rails", "gate", "policy"))
    for kind, entries in gate["properties"].items():
        if kind != "$schema":
            entries.get("items", {}).get("properties", {}).pop("project", None)
            assert project["properties"]["gate"]["properties"][kind] == entries
    mine = project["properties"]["policy"]["properties"]
    theirs = policy["properties"]
    assert mine["rule"]["items"]["properties"].pop("decision")["enum"] == ["deny", "ask"]
    assert theirs["rule"]["items"]["properties"].pop("decision")["enum"] == ["deny", "ask", "allow"]
    assert mine == {key: part for key, part in theirs.items() if key != "$schema"}
    bounds = project["properties"]["run"]["properties"]
    user = json.loads(schema_text("config"))["properties"]["run"]["properties"]
    assert bounds.items() <= user.items()
    assert set(bounds) == set(BOUNDS)


def test_every_mistake_is_told_with_its_place():
    text = (
        '"$schema" = "x"\n[gate]\n[[gate.mode]]\nmod = "retry"\nattempts = 5000\n[police]\n[[gate.mode]]\npath = [""]\n'
    )
    with pytest.raises(SettingsError) as error:
        parse_settings(text.encode(), ".rails.toml", "rails").tables(tables.ProjectTables)
    assert error.value.mistakes == (
        ".rails.toml:4:1: gate.mode 1: `mod` is not known. Did you mean `mode`? "
        "Allowed: `mode`, `check`, `path`, `agent`, `rule`, `attempts`.",
        ".rails.toml:5:1: gate.mode 1: `attempts` is 5000; it must be at most 3600. "
        "With retry: how often it goes back to the agent.",
        ".rails.toml:6:2: `police` is not known. Did you mean `policy`? Allowed: `gate`, `policy`, `run`.",
        ".rails.toml:8:1: gate.mode 2: `path 1` is empty. At least 1 character.",
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff", "x.toml:1: it is not valid TOML: byte 0xff is not UTF-8."),
        (b"a = 1\nb = \xff", "x.toml:2: it is not valid TOML: byte 0xff is not UTF-8."),
        (b"a = 1\na = 2\n", "x.toml:2:6: it is not valid TOML: Cannot overwrite a value."),
        (b"a = [", "x.toml: it is not valid TOML: Invalid value."),
    ],
)
def test_what_is_not_toml_is_said_with_its_place(data, said):
    with pytest.raises(SettingsError) as error:
        parse_settings(data, "x.toml", "rails")
    assert str(error.value) == said


def test_a_file_that_is_right_needs_no_schema():
    code = (
        "import sys\n"
        "from rails.config.settings_file import parse_settings\n"
        "from rails.config.tables import ProjectTables\n"
        "parse_settings(b'[[gate.mode]]\\npath = \"a\"\\n', 'x', 'rails').tables(ProjectTables)\n"
        "print([m for m in ('jsonschema', 'rails.json_schema.validator') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
