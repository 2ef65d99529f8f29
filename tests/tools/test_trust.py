"""A project's definition runs without asking only after a human accepted exactly that text."""

import json
import stat

import pytest

from rails.core.app_dirs import builtin_folder
from rails.core.errors import UsageError
from rails.tools.describe import accept_definition, pending_definitions
from rails.tools.loader import load_definitions
from rails.trust.record import TrustRecord


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project" / "mcp_definitions"
    folder.mkdir(parents=True)
    return folder.parent


def write(project, **fields):
    definition = {
        "tool_name": "count",
        "description": "Count.",
        "request_schema": {"type": "object", "properties": {}},
        "transport": {"type": "command", "command": ["wc"]},
        "access_control": {"*": "free_access"},
        **fields,
    }
    (project / "mcp_definitions" / "count.json").write_text(json.dumps(definition, indent=1))


def open_registry(project, trust):
    return load_definitions([builtin_folder("mcp_definitions"), project / "mcp_definitions"], trusted=trust.digests())


def test_a_new_definition_waits_and_runs_freely_once_accepted(tmp_path, project):
    write(project)
    trust = TrustRecord(tmp_path / "config", project)
    registry = open_registry(project, trust)
    assert registry.get("count").access_of("coder") == "ask"
    (pending,) = pending_definitions(registry, trust)
    assert 'runs ["wc"]' in pending.question()
    assert '"tool_name": "count"' in pending.question()
    accept_definition(pending.definition, trust)
    registry = open_registry(project, trust)
    assert pending_definitions(registry, trust) == ()
    assert registry.get("count").access_of("coder") == "free"


def test_a_changed_definition_waits_again_and_the_change_is_shown(tmp_path, project):
    write(project)
    trust = TrustRecord(tmp_path / "config", project)
    accept_definition(open_registry(project, trust).get("count"), trust)
    write(project, transport={"type": "command", "command": ["rm", "-rf", "."]})
    registry = open_registry(project, trust)
    (pending,) = pending_definitions(registry, trust)
    assert registry.get("count").access_of("coder") == "ask"
    assert '+   "rm",' in pending.question()
    assert '-   "wc"' in pending.question()


def test_layout_alone_is_not_a_change(tmp_path, project):
    write(project)
    trust = TrustRecord(tmp_path / "config", project)
    accept_definition(open_registry(project, trust).get("count"), trust)
    file = project / "mcp_definitions" / "count.json"
    file.write_text(json.dumps(json.loads(file.read_text())))
    assert pending_definitions(open_registry(project, trust), trust) == ()


def test_acceptance_is_for_one_project_and_can_be_taken_back(tmp_path, project):
    write(project)
    trust = TrustRecord(tmp_path / "config", project)
    accept_definition(open_registry(project, trust).get("count"), trust)
    assert TrustRecord(tmp_path / "config", tmp_path / "other").digests() == frozenset()
    assert trust.forget("count") is True
    assert trust.forget("count") is False
    assert trust.digests() == frozenset()


def test_the_record_is_private_and_whole(tmp_path, project):
    write(project)
    trust = TrustRecord(tmp_path / "config", project)
    accept_definition(open_registry(project, trust).get("count"), trust)
    files = list((tmp_path / "config").iterdir())
    assert [file.name for file in files] == ["trust.json"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["{", '{"v": 9}', "[]"])
def test_a_damaged_record_is_an_error_and_not_an_acceptance(tmp_path, project, text):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "trust.json").write_text(text)
    with pytest.raises(UsageError, match=r"trust\.json"):
        TrustRecord(tmp_path / "config", project).digests()


def test_the_users_own_folder_is_trusted_as_a_whole(tmp_path, project):
    write(project)
    folder = project / "mcp_definitions"
    assert load_definitions([folder], trusted_folders=[folder]).get("count").access_of("coder") == "free"
