"""The fourteen tools of the original AI-Rails load, are enforced, and can all be called."""

import json
from pathlib import Path

import pytest

from rails.core.tool_request import RawRequest, ToolRequest
from rails.tools.loader import check_folder, load_definitions
from rails.tools.runners import dispatch
from rails.tools.validate import validate
from tests.rows import walked

FOLDER = Path(__file__).parent / "original_definitions"
REGISTRY = load_definitions([FOLDER])

#: A request that satisfies each tool, and the path at which the service must see it.
REQUESTS = {
    "BraveSearchMCP": ({"search_query": "x"}, "/search"),
    "CodeExecutorMCP": ({"language": "python", "code": "print('\\n$1')", "test_cases": ["1"]}, "/execute"),
    "CodebaseSummaryMCP": ({"query": "x"}, "/summary"),
    "Context7": ({"query": "x", "source_filter": ["docs"]}, "/context"),
    "DockerMCP": ({"action": "list_containers", "tail_lines": "5"}, "/docker"),
    "FetchMCP": ({"url": "https://example.org/"}, "/fetch"),
    "GitHubMCP": ({"action": "search_code", "owner": "o", "repo": "r", "query": "q"}, "/github"),
    "GrafanaMCP": ({"action": "query_metric", "from": "now-1h"}, "/grafana"),
    "LangSmithTracingMCP": ({"action": "get_run_details", "run_id": "1"}, "/traces"),
    "MCP_Sequential_Thinking": ({"problem_statement": "x"}, "/think"),
    "n8n_automation": ({"workflow_name": "w", "data": {"any": 1}}, "/webhook"),
    "PostgreSQLMCP": ({"action": "get_schema_info", "table_name": "t"}, "/postgres"),
    "SecretsMCP": ({"secret_name": "K"}, "/get_secret"),
    "SentryMCP": (
        {"action": "get_latest_events", "organization_slug": "o/x", "project_slug": "p"},
        "/projects/o%2Fx/p/events",
    ),
}


def test_all_fourteen_load_and_three_have_no_access_and_no_address():
    assert len(REGISTRY.names()) == 14
    assert check_folder([FOLDER]) == ()
    without = {note.partition(":")[0] for note in REGISTRY.notes if "no access_control" in note}
    assert without == {"CodebaseSummaryMCP", "SecretsMCP", "n8n_automation"}
    assert not any(REGISTRY.get(name).access for name in without)


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_each_can_be_called(serving, tmp_path, monkeypatch, name):
    parameters, path = REQUESTS[name]
    definition = REGISTRY.get(name)
    role = next((role for role in definition.access), None)
    if role is None:
        from msgspec.structs import replace

        from rails.tools.registry import Registry

        registry = Registry({name: replace(definition, access={"*": "ask"})})
        role = "coder"
    else:
        registry = REGISTRY
    request = validate(RawRequest("r1", name, parameters), registry, role)
    assert isinstance(request, ToolRequest), [str(refusal) for refusal in request]
    with serving(lambda seen: (200, {}, {"status": "success"})) as server:
        own = definition.transport.endpoint.replace("http://localhost:8000", server.url) or f"{server.url}{path}"
        monkeypatch.setenv(definition.transport.endpoint_env, own)
        result = dispatch.run_request(request, registry.get(name), tmp_path)
    assert json.loads(result.text) == {"status": "success"}
    assert server.seen[0].path == path


@walked(
    ("role", "tool", "asks"),
    [
        ("Planning Agent", "GitHubMCP", True),
        ("Coder Agent", "GitHubMCP", True),
        ("Overseer Agent", "GitHubMCP", None),
        ("coder", "SecretsMCP", None),
        ("n8n Flow Creator Agent", "DockerMCP", True),
    ],
)
def test_access_is_enforced_and_untrusted_files_always_ask(role, tool, asks):
    result = validate(RawRequest("r1", tool, REQUESTS[tool][0]), REGISTRY, role)
    assert (result.asks if isinstance(result, ToolRequest) else None) is asks


def test_free_access_runs_without_asking_once_trusted():
    trusted = load_definitions([FOLDER], trusted=[REGISTRY.get("GitHubMCP").digest])
    assert validate(RawRequest("r1", "GitHubMCP", REQUESTS["GitHubMCP"][0]), trusted, "planning").asks is False
    assert validate(RawRequest("r1", "GitHubMCP", REQUESTS["GitHubMCP"][0]), trusted, "coder").asks is True


@walked(
    ("tool", "parameters", "said"),
    [
        ("DockerMCP", {"action": "stop"}, "not allowed"),
        ("DockerMCP", {"action": "stop_container", "containerid": "x"}, "not a parameter"),
        ("FetchMCP", {"url": "not an address"}, "is not a valid uri"),
        ("PostgreSQLMCP", {"query": "x"}, "`action` is missing"),
        ("BraveSearchMCP", {"search_query": "x", "num_results": "ten"}, "must be an integer"),
    ],
)
def test_what_the_original_let_through_is_refused(tool, parameters, said):
    role = next(iter(REGISTRY.get(tool).access))
    refusals = validate(RawRequest("r1", tool, parameters), REGISTRY, role)
    assert any(said in refusal.message for refusal in refusals)
