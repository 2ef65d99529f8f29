"""What each profile asks for and blocks."""

import pytest
from n8n_workflows import chain, errors, findings, node, rules, the_one, to, workflow

from rails.core.errors import UsageError
from rails.gate.checks.n8n import check_workflow
from rails.n8n.rules.destination import PROFILES

PLAIN = {"nodes": [], "connections": {}}


def test_an_unknown_profile_is_the_operators_mistake():
    with pytest.raises(UsageError, match="import"):
        check_workflow(b"{}", "x.json", "deploy")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_sound_workflow_passes_every_profile(profile):
    value = chain("A")
    value["nodes"][0]["type"] = "n8n-nodes-base.errorTrigger"
    assert errors(value, profile) == []


def test_a_workflow_that_is_only_started_by_hand_cannot_be_published():
    assert errors(chain("A")) == []
    assert errors(chain("A"), "publish") == errors(chain("A"), "strict") == [("N8N082", "nodes[0]")]


def test_import_needs_neither_name_nor_settings():
    assert errors(PLAIN) == []


def test_the_api_needs_name_and_settings():
    assert errors(PLAIN, "api") == [("N8N100", "name"), ("N8N101", "settings")]


@pytest.mark.parametrize("name", ["", "x" * 129, 3])
def test_a_name_has_1_to_128_characters(name):
    assert errors(chain("A") | {"name": name}, "api") == [("N8N100", "name")]
    assert errors(chain("A") | {"name": name}) == [("N8N100", "name")]


def test_the_api_refuses_keys_that_it_does_not_know_and_names_the_nearest():
    value = chain("A", setings={})
    assert errors(value) == []
    found = the_one(value, "N8N102", "api")
    assert (found.json_path, found.remedy) == ("setings", 'Did you mean "settings"?')
    other = workflow(node("Start", "n8n-nodes-base.manualTrigger", color=1))
    assert errors(other, "api") == [("N8N102", "nodes[0].color")]


def test_the_api_tolerates_the_read_only_keys_of_an_export():
    value = chain("A", id="1", active=False, versionId="x", meta=None, tags=[], pinData={}, triggerCount=1)
    assert errors(value, "api") == []


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"saveDataErrorExecution": "some"}, "settings.saveDataErrorExecution"),
        ({"errorWorkflow": None}, "settings.errorWorkflow"),
        ({"executionTimeout": "60"}, "settings.executionTimeout"),
        ({"callerPolicy": "everyone"}, "settings.callerPolicy"),
    ],
)
def test_the_api_refuses_settings_that_it_does_not_know(settings, path):
    value = chain("A") | {"settings": settings}
    assert errors(value) == []
    assert errors(value, "api") == [("N8N103", path)]
    assert errors(chain("A") | {"settings": {"x": 1}}, "api") == [("N8N102", "settings.x")]


def test_strict_blocks_every_warning():
    value = workflow(node("A"))
    assert errors(value) == []
    assert errors(value, "publish") == errors(value, "strict") == [("N8N080", "nodes")]


def test_pinned_data_of_no_node_and_unknown_error_handling_are_warnings():
    value = chain("A", pinData={"A": [], "Gone": []})
    assert the_one(value, "N8N104").json_path == "pinData.Gone"
    value = chain("A")
    value["nodes"][1]["onError"] = "ignore"
    found = the_one(value, "N8N046")
    assert (found.severity, found.json_path) == ("warning", "nodes[1].onError")
    value["nodes"][1]["onError"] = "continueRegularOutput"
    assert "N8N046" not in rules(value)


def test_a_manual_trigger_before_a_node_with_a_webhook_is_a_warning_at_publish():
    value = chain("Hold")
    value["nodes"][1]["type"] = "n8n-nodes-base.wait"
    assert the_one(value, "N8N082", "publish").severity == "warning"
    assert the_one(chain("A"), "N8N082", "publish").severity == "error"


def test_profiles_are_joined_and_the_strictest_decides():
    value = chain("A") | {"extra": 1}
    api, publish, both = (set(errors(value, profile)) for profile in ("api", "publish", "api,publish"))
    assert both == api | publish
    assert api != publish
    found = [(one.rule, one.json_path, one.message) for one in findings(value, "api,publish")]
    assert len(found) == len(set(found))


def test_an_unknown_profile_among_several_is_named():
    with pytest.raises(UsageError, match="'deploy'"):
        findings(chain("A"), "api,deploy")


def test_what_nothing_starts_cannot_be_published_unless_a_node_has_a_webhook():
    bare = workflow(node("A"), node("B"), connections={"A": {"main": [[to("B")]]}})
    waits = workflow(node("A"), node("W", "n8n-nodes-base.wait"), connections={"A": {"main": [[to("W")]]}})
    for value, severity in ((bare, "error"), (waits, "warning")):
        assert the_one(value, "N8N080").severity == "warning"
        assert the_one(value, "N8N080", "publish").severity == severity
