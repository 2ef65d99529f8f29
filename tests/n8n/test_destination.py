"""What each profile asks for and blocks."""

import json

import pytest
from n8n_workflows import chain, errors, findings, node, the_one, to, workflow

from rails.core.errors import UsageError
from rails.n8n.model import Issue
from rails.n8n.rules.destination import PROFILES, check, weigh
from tests.rows import walked

PLAIN = {"nodes": [], "connections": {}}


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


def test_strict_blocks_every_warning():
    value = workflow(node("A"))
    assert errors(value) == []
    assert errors(value, "publish") == errors(value, "strict") == [("N8N080", "nodes")]


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


# -- lists of our own: the product's could lose an entry unseen -----------------------------------------

OF_A_WORKFLOW = """
name nodes connections settings staticData pinData nodeGroups description externalId shared meta tags id active
createdAt updatedAt isArchived versionId triggerCount activeVersion
"""
OF_A_NODE = """
id name type typeVersion position parameters credentials disabled notes notesInFlow webhookId executeOnce
alwaysOutputData retryOnFail maxTries waitBetweenTries continueOnFail onError customTelemetryTags createdAt updatedAt
"""
SETTINGS = {
    "saveExecutionProgress": True, "saveManualExecutions": False, "saveDataErrorExecution": "all",
    "saveDataSuccessExecution": "none", "executionTimeout": 60, "errorWorkflow": "x", "timezone": "UTC",
    "executionOrder": "v1", "callerPolicy": "any", "callerIds": "1", "timeSavedPerExecution": 1,
    "timeSavedMode": "fixed", "redactionPolicy": "none", "availableInMCP": True, "customTelemetryTags": [],
    "workerPoolOverrideProduction": "x",
    "workerPoolOverrideManual": "x", "workerPoolOverrideEvaluation": "x", "binaryMode": "x",
    "credentialResolverId": "x",
}  # fmt: skip
VALUES = {
    "saveDataErrorExecution": ["all", "none"],
    "saveDataSuccessExecution": ["all", "none"],
    "callerPolicy": ["any", "none", "workflowsFromAList", "workflowsFromSameOwner"],
    "redactionPolicy": ["none", "non-manual", "manual-only", "all"],
    "timeSavedMode": ["fixed", "dynamic"],
}


def told(value, rule, profile="api"):
    return [(f.severity, f.json_path, f.message, f.remedy) for f in findings(value, profile) if f.rule == rule]


def test_the_api_takes_every_key_that_it_has():
    value = chain("A")
    for key in OF_A_WORKFLOW.split():
        assert told({key: None, **value}, "N8N102") == [], key
    for key in OF_A_NODE.split():
        nodes = [value["nodes"][0], {key: None, **value["nodes"][1]}]
        assert told(value | {"nodes": nodes}, "N8N102") == [], key
    assert told(value | {"settings": SETTINGS}, "N8N102") == told(value | {"settings": SETTINGS}, "N8N103") == []


@walked("key", SETTINGS)
def test_a_setting_has_its_type_and_its_values(key):
    kind = {bool: "boolean", str: "string", int: "number", list: "array"}[type(SETTINGS[key])]
    assert told(chain("A") | {"settings": {key: {}}}, "N8N103") == [
        (
            "error",
            f"settings.{key}",
            f"Setting `{key}` must be a {kind}, not object",
            f"Write a {kind}, or remove the setting.",
        )
    ]
    for word in VALUES.get(key, ()):
        assert told(chain("A") | {"settings": {key: word}}, "N8N103") == []
    if key in VALUES:
        ((_, path, message, remedy),) = told(chain("A") | {"settings": {key: "odd"}}, "N8N103")
        assert (path, message) == (f"settings.{key}", f'Setting `{key}` cannot be "odd"')
        assert all(f'"{word}"' in remedy for word in VALUES[key])


def test_what_the_api_misses_or_does_not_know_is_told_in_words_at_its_place():
    words = "The public API does not know the key %s of %s and refuses the workflow"
    value = chain("A", zzzzz=1) | {"settings": {"qqqqq": 1}}
    value["nodes"][1]["xxxxx"] = 1
    assert sorted(told(value, "N8N102")) == [
        ("error", "nodes[1].xxxxx", words % ('"xxxxx"', "a node"), 'Remove "xxxxx".'),
        ("error", "settings.qqqqq", words % ('"qqqqq"', "the settings"), 'Remove "qqqqq".'),
        ("error", "zzzzz", words % ('"zzzzz"', "the workflow"), 'Remove "zzzzz".'),
    ]
    lines = json.dumps(value, indent=2).splitlines()
    marked = [f for f in findings(value, "api") if f.rule == "N8N102"]
    assert sorted(lines[f.line - 1][f.column - 1 : f.end_column - 1] for f in marked) == [
        '"qqqqq"',
        '"xxxxx"',
        '"zzzzz"',
    ]
    none = {key: item for key, item in chain("A").items() if key not in ("settings", "name")}
    assert told(none, "N8N101") == [
        ("error", "settings", "The public API needs `settings`, an object", 'Add "settings": {}.')
    ]
    missing = "The workflow has no `name`: n8n's command line and API refuse it"
    remedy = 'Write "name": "What the workflow does", 1 to 128 characters.'
    assert told(none, "N8N100") == [("error", "name", missing, remedy)]
    assert told(none, "N8N100", "import") == [("info", "name", missing, remedy)]
    for name, found in (("", "0 characters long"), ("x" * 129, "129 characters long"), (3, "number")):
        said = f"The workflow's `name` must be a text of 1 to 128 characters; it is {found}: n8n cannot save it"
        assert told(chain("A") | {"name": name}, "N8N100") == [("error", "name", said, remedy)]
    for name in ("x", "x" * 128):
        assert told(chain("A") | {"name": name}, "N8N100") == []


def test_every_way_to_handle_an_error_is_known_and_another_is_told_with_them():
    value = chain("A")
    for way in ("stopWorkflow", "continueRegularOutput", "continueErrorOutput", None):
        value["nodes"][1]["onError"] = way
        assert told(value, "N8N046", "import") == [], way
    value["nodes"][1]["onError"] = "ignore"
    ((severity, path, message, remedy),) = told(value, "N8N046", "import")
    assert (severity, path, message) == ("warning", "nodes[1].onError", 'Node "A": n8n has no `onError` "ignore"')
    assert remedy == 'Use one of "stopWorkflow", "continueRegularOutput", "continueErrorOutput".'


def test_a_profile_raises_the_warnings_that_stop_it_and_no_others():
    issues = [
        Issue(rule, ("x",), "m", "r", severity)
        for rule in ("N8N081", "N8N092", "N8N090")
        for severity in ("warning", "info")
    ]
    weighed = {profile: [issue.severity for issue in weigh(issues, {profile})] for profile in PROFILES}
    assert weighed["import"] == weighed["api"] == ["warning", "info"] * 3
    assert weighed["publish"] == ["error", "info", "error", "info", "warning", "info"]
    assert weighed["strict"] == ["error", "info"] * 3


@walked("nodes", [None, 5, True, "x", {}, [None, 3]])
@walked("profile", PROFILES)
def test_what_is_no_list_of_nodes_is_said_once_and_looked_at_no_further(nodes, profile):
    value = {"name": "x", "nodes": nodes, "connections": {}, "settings": {}, "onError": 1}
    assert [one.path for one in check(value, {profile})] == ([("onError",)] if profile == "api" else [])
