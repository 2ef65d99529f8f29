"""Where a project's own tools and roles are found."""

import json

import pytest

from rails.session.project import agents_of, registry_of

TOOL = {
    "tool_name": "count_lines",
    "description": "Count the lines of a file.",
    "request_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    "transport": {"type": "command", "command": ["wc", "-l"]},
    "access_control": {"coder": "permissioned_access"},
}
ROLE = "---\nname: poet\ndescription: Writes poems.\n---\n\nYou write poems.\n"


@pytest.fixture(autouse=True)
def nobodys_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))


@pytest.mark.parametrize("place", [".ai-rails", "."])
def test_c9_03_a_projects_definitions_are_found_and_override(tmp_path, place):
    project = tmp_path / "project"
    tools = project / place / "mcp_definitions"
    roles = project / place / "agent_templates"
    tools.mkdir(parents=True)
    roles.mkdir(parents=True)
    (tools / "count.json").write_text(json.dumps(TOOL))
    (roles / "poet.md").write_text(ROLE)
    found = registry_of(project).get("count_lines")
    assert found is not None
    assert not found.trusted, "nobody has read it"
    assert agents_of(project)["poet"].origin == "project"


def test_of_both_folders_the_plain_one_comes_last(tmp_path):
    for place, words in ((".ai-rails", "First."), (".", "Last.")):
        folder = tmp_path / place / "mcp_definitions"
        folder.mkdir(parents=True)
        (folder / "count.json").write_text(json.dumps({**TOOL, "description": words}))
    assert registry_of(tmp_path).get("count_lines").description == "Last."
