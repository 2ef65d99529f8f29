"""Literal secrets are warned about; expressions and placeholders are not."""

import pytest
from n8n_workflows import node, rules, the_one, workflow

START = node("Start", "n8n-nodes-base.manualTrigger")


def with_parameters(parameters):
    return workflow(START | {"parameters": parameters})


@pytest.mark.parametrize(
    "value",
    [
        "Bearer " + "a1b2c3d4e5f6g7h8i9",
        "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0",
        "AKIA" + "IOSFODNN7QWERTYU",
        "xoxb-" + "1357924680-kqzWXY",
        "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6",
        "-----BEGIN RSA PRIVATE KEY-----",
        "=Bearer " + "a1b2c3d4e5f6g7h8i9",
    ],
)
def test_a_literal_secret_is_a_warning_at_its_characters(value):
    found = the_one(with_parameters({"headers": [{"name": "x", "value": value}]}), "N8N090")
    assert (found.severity, found.json_path) == ("warning", "nodes[0].parameters.headers[0].value")
    assert value not in found.message


def test_an_opaque_value_in_a_header_named_like_a_secret_is_a_warning():
    assert "N8N090" in rules(with_parameters({"h": [{"name": "X-API-Key", "value": "f00dfeed8badf00d8badcafe"}]}))
    assert "N8N090" not in rules(with_parameters({"h": [{"name": "Accept", "value": "f00dfeed8badf00d8badcafe"}]}))


@pytest.mark.parametrize(
    "value",
    [
        "=Bearer {{ $json.token }}",
        "={{ $env.API_KEY }}",
        "Bearer YOUR_API_KEY_1_GOES_HERE",
        "Bearer <token 1>",
        "sk-your-key-goes-here-123",
        "The bearer of good news arrived at 10",
        "Basic understanding required",
        "",
    ],
)
def test_expressions_placeholders_and_prose_are_not(value):
    assert "N8N090" not in rules(with_parameters({"apiKey": value, "text": value}))
