"""Literal secrets are warned about; expressions and placeholders are not."""

import json

import pytest
from n8n_workflows import findings, node, rules, the_one, workflow

from tests.rows import walked

START = node("Start", "n8n-nodes-base.manualTrigger")


def with_parameters(parameters):
    return workflow(START | {"parameters": parameters})


# One case for each form: its name, and the value in two parts.
FORMS = [
    ("bearer token", "Bearer ", "a1b2c3d4~+/-._zz"),
    ("bearer token", "bearer ", "zzzzzzzzzzzzzzz1"),
    ("basic authorization", "Basic ", "dXNlcjpwYXNz+/1k=="),
    ("basic authorization", "basic ", "dXNlcjpwYXNz1234"),
    ("Anthropic key", "sk-ant-", "qW3_-" * 4),
    ("OpenAI key", "sk-proj-", "qW3_-" * 4),
    ("OpenAI key", "sk-svcacct-", "qW3_-" * 4),
    ("OpenAI key", "sk-", "qW3zk" * 4),
    ("Stripe key", "sk_live_", "qW34" * 4),
    ("Stripe key", "rk_live_", "qW34" * 4),
    *(("GitHub token", f"gh{letter}_", "qW3zk" * 6) for letter in "pousr"),
    ("GitHub token", "github_pat_", "qW3_k" * 6),
    ("GitLab token", "glpat-", "qW3_-" * 4),
    *(("Slack token", f"xox{letter}-", "13579-qwzk") for letter in "abeoprs"),
    ("Google API key", "AIza", "qW3_-" * 7),
    ("AWS access key", "AKIA", "QW34" * 4),
    ("AWS access key", "ASIA", "QW34" * 4),
    ("SendGrid key", "SG.", "qW3_-zk1" * 2 + "." + "qW3_-zk1" * 2),
    ("Telegram bot token", "13579246:", "AA" + "qW3_-zkjhgf" * 3),
    ("private key", "-----BEGIN ", "PRIVATE KEY-----"),
    ("private key", "-----BEGIN EC ", "PRIVATE KEY-----"),
    ("JSON web token", "eyJqwzk_-1357.", "eyJqwzk_-1357.qwzk_-1357"),
]


@walked(("what", "start", "rest"), FORMS)
def test_every_form_of_a_secret_is_named_at_its_place(what, start, rest):
    value = with_parameters({"text": f"say {start}{rest} twice"})
    found = the_one(value, "N8N090")
    assert f'Node "Start" holds what looks like a literal secret ({what})' in found.message
    line = json.dumps(value, indent=2).splitlines()[found.line - 1]
    assert line[found.column - 1 : found.end_column - 1] == f"{start}{rest}"
    assert "N8N090" not in rules(with_parameters({"text": f"say {start}{rest[: len(rest) // 2]}!"}))


@walked(
    "name",
    ["apiKey", "X-API-Key", "api key", "access_token", "auth-token", "Client Secret", "password", "db-Authorization"],
)
def test_a_long_literal_value_of_a_name_that_says_secret_is_one_in_all_shapes(name):
    value = "zk35feed8badf00d8bad"
    for parameters in ({name: value}, {"h": [{"name": name, "value": value}]}, {"a": {"b": [{"c": {name: value}}]}}):
        found = the_one(with_parameters(parameters), "N8N090")
        assert f"(value of '{name}')" in found.message
        line = json.dumps(with_parameters(parameters), indent=2).splitlines()[found.line - 1]
        assert line[found.column - 1 : found.end_column - 1] == value
    for other in (value[1:], "zkfeedbadfoodbadcafezz", "13579246801357924680", f"={{{{ {value} }}}}", value + " x"):
        assert "N8N090" not in rules(with_parameters({name: other})), other


def test_a_name_that_only_sounds_like_one_makes_no_secret():
    for name in ["keyboard", "secretary", "nopassword", "password_hint", "value"]:
        assert "N8N090" not in rules(with_parameters({name: "zk35feed8badf00d8bad"})), name


@pytest.mark.parametrize("name", [5, None, ["password"], {"a": 1}])
def test_a_name_that_is_no_text_makes_no_secret_and_stops_nothing(name):
    assert "N8N090" not in rules(with_parameters({"h": [{"name": name, "value": "zk35feed8badf00d8bad"}]}))
    assert "N8N090" in rules(with_parameters({"h": [{"name": name, "value": "AKIA" + "QW34" * 4}]}))


def test_every_secret_of_a_node_and_one_only_for_each_text_is_told():
    ghp = "ghp_" + "qW3zk" * 6
    aws = "AKIA" + "QW34" * 4
    two = with_parameters({"a": ghp, "b": [{"c": aws}, "x", 3, None], "d": f"{ghp} {aws}"})
    found = [f.json_path for f in findings(two) if f.rule == "N8N090"]
    assert sorted(found) == [f"nodes[0].parameters.{place}" for place in ("a", "b[0].c", "d")]


def test_expressions_placeholders_and_prose_are_not():
    for value in [
        "=Bearer {{ $json.token }}",
        "={{ $env.API_KEY }}",
        "Bearer YOUR_API_KEY_1_GOES_HERE",
        "Bearer <token 1>",
        "sk-your-key-goes-here-123",
        "The bearer of good news arrived at 10",
        "Basic understanding required",
        "",
    ]:
        assert "N8N090" not in rules(with_parameters({"apiKey": value, "text": value})), value
