"""``[run]`` of the settings files: what a run takes where the command line says nothing, and what no project says."""

import json

import pytest

from rails.config.run_defaults import run_defaults
from rails.core.errors import UsageError
from rails.testing import StubServer, says

from ..golden.running import rails


def answer(text):
    return json.dumps({"role": "assistant", "content": text, "stop_reason": "end_turn"}) + "\n"


@pytest.fixture
def folders(tmp_path, monkeypatch):
    own = tmp_path / "config"
    project = tmp_path / "project"
    own.mkdir()
    project.mkdir()
    for name in ("AI_RAILS_MODEL", "AI_RAILS_STRONGER_MODEL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(own))
    (tmp_path / "answers.jsonl").write_text(answer("There is nothing to do."))
    return own, project


def said(own, project, config="", rails_toml=""):
    (own / "config.toml").write_text(config)
    (project / ".rails.toml").write_text(rails_toml)
    return run_defaults(project, own)


def test_without_files_nothing_is_said(folders):
    assert run_defaults(folders[1], folders[0]).values == {}


def test_the_user_s_file_may_say_every_option(folders):
    found = said(*folders, '[run]\nmodel = "openai:m@http://127.0.0.1:1/v1"\napprove = "policy"\nmax_turns = 4\n')
    assert found.values == {"model": "openai:m@http://127.0.0.1:1/v1", "approve": "policy", "max_turns": 4}
    assert set(found.sources.values()) == {"config.toml"}


@pytest.mark.parametrize(
    ("user", "project", "counts", "source"),
    [
        ("max_cost = 2.0", "max_cost = 5.0", 2.0, "config.toml"),
        ("max_cost = 5.0", "max_cost = 2.0", 2.0, ".rails.toml"),
        ("", "max_cost = 2.0", 2.0, ".rails.toml"),
        ("max_cost = 2.0", "", 2.0, "config.toml"),
    ],
)
def test_of_two_bounds_the_tighter_one_counts(folders, user, project, counts, source):
    found = said(*folders, f"[run]\n{user}\n", f"[run]\n{project}\n")
    assert (found.values["max_cost"], found.sources["max_cost"]) == (counts, source)


def test_the_agent_is_the_user_s_before_the_project_s(folders):
    assert said(*folders, '[run]\nagent = "mine"\n', '[run]\nagent = "theirs"\n').values["agent"] == "mine"
    assert said(*folders, "", '[run]\nagent = "theirs"\n').values["agent"] == "theirs"


@pytest.mark.parametrize(
    "line",
    [
        'model = "openai:m@http://evil.example/v1"',
        'approve = "policy"',
        'stronger_model = "x"',
        'overseer_model = "x"',
        "max_turns = 1000",
        "max_attempts = 99",
        'handoff = "go"',
        'escalate = "model"',
        "answer_within = 1",
    ],
)
def test_a_project_chooses_neither_who_approves_nor_the_server_nor_more_turns(folders, line):
    with pytest.raises(UsageError) as refused:
        said(*folders, "", f"[run]\n{line}\n")
    assert f"`{line.split()[0]}` is not known" in str(refused.value)
    assert "Nothing was started" in str(refused.value)


def test_a_mistake_has_its_place_and_the_nearest_name(folders):
    with pytest.raises(UsageError, match=r"config.toml:2:1: run: `aprove` is not known. .*`approve`"):
        said(*folders, '[run]\naprove = "ask"\n')


def run_with(folders, *words, code=0):
    _, project = folders
    result = rails("run", "Look around.", *words, "--project", project)
    assert code is None or result.code == code, result
    logs = sorted((project / ".rails/sessions").glob("*/log.jsonl"))
    start = [json.loads(line) for line in logs[-1].read_text().splitlines()] if logs else []
    return result, start


def test_a_run_takes_model_agent_and_bounds_from_the_files_and_says_so(folders, tmp_path):
    own, project = folders
    (own / "config.toml").write_text(
        f'[run]\nmodel = "recorded:{tmp_path}/answers.jsonl"\nagent = "reviewer"\nmax_tokens = 900000\n'
    )
    (project / ".rails.toml").write_text("[run]\nmax_tokens = 70000\n")
    result, start = run_with(folders, code=None)  # a reviewer has more to hand over than that
    assert "as configured: --agent reviewer (config.toml), --max-tokens 70000 (.rails.toml)" in result.out
    assert '"agent_role": "code-review"' in json.dumps(start), start
    assert '"max_tokens": 70000' in json.dumps(start)


def test_the_command_line_and_the_environment_come_before_the_files(folders, tmp_path, monkeypatch):
    own, _ = folders
    (own / "config.toml").write_text('[run]\nmodel = "recorded:/nowhere.jsonl"\nagent = "planner"\n')
    monkeypatch.setenv("AI_RAILS_MODEL", f"recorded:{tmp_path}/answers.jsonl")
    result, start = run_with(folders, "--agent", "coder")
    assert "--agent" not in result.out
    assert '"coder"' in json.dumps(start)


def test_a_session_that_goes_on_keeps_the_bounds_it_began_with(folders, tmp_path):
    own, project = folders
    (own / "config.toml").write_text("[run]\nmax_turns = 1\n")
    (tmp_path / "answers.jsonl").write_text(answer('```json\n{"tool": "list_directory", "path": "."}\n```\n') * 9)
    spec = f"recorded:{tmp_path}/answers.jsonl"
    run_with(folders, "--model", spec, "--max-turns", "2", code=1)
    result = rails("run", "--resume", "--model", spec, "--project", project)
    assert "--max-turns" not in result.out


@pytest.mark.parametrize(
    ("table", "sent"),
    [
        ("", (0.0, False)),
        ('protocol = "json"\n[run.temperature]\n"openai:m" = 0.7\n', (0.7, True)),
        ('protocol = "whole"\n[run.temperature]\n"openai:other" = 0.7\n', (0.0, False)),
    ],
)
def test_protocol_and_temperature_of_a_model_are_settings(folders, table, sent):
    own, _ = folders
    with StubServer([says("There is nothing to do.")]) as stub:
        (own / "config.toml").write_text(f'[run]\nmodel = "openai:m@{stub.url}/v1"\ntests = "off"\n{table}')
        run_with(folders)
        asked = stub.requests[0].body
    assert (asked["temperature"], "tool_name" in asked["messages"][0]["content"]) == sent


@pytest.mark.parametrize("table", ['protocol = "text"', 'tests = "yes"', '[run.temperature]\n"openai:m" = 3'])
def test_values_that_are_none_are_refused(folders, table):
    with pytest.raises(UsageError, match="Nothing was started"):
        said(*folders, f"[run]\n{table}\n")
