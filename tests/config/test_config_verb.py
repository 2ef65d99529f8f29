"""``ai-rails config`` shows each value and where it comes from; a schema goes to editors as it is."""

import json
import os
import re

import pytest

from rails.cli import main
from rails.commands import user_env
from rails.config.settings_file import SCHEMAS, schema_text


@pytest.fixture
def own(tmp_path, monkeypatch):
    folder = tmp_path / "config"
    folder.mkdir()
    for name in ("AI_RAILS_MODEL", "ANTHROPIC_BASE_URL", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def config(project, capsys, *words):
    code = main(["config", *words, "--project", str(project)])
    out, err = capsys.readouterr()
    return code, out, err


def rows(out):
    """Return name, value and source of each line."""
    return [tuple(re.split(r"\s{2,}\(?", line.strip(" )"))) for line in out.splitlines() if line.startswith("  ")]


def test_without_a_file_everything_is_the_default(own, project, capsys):
    code, out, err = config(project, capsys)
    assert (code, err) == (0, "")
    assert (
        "command line, environment, your .env, your file, the project's file (which may only tighten), default" in out
    )
    assert {source for _, _, source in rows(out) if source != "environment"} == {"default"}
    assert ("AI_RAILS_MODEL", "none", "default") in rows(out)


def test_each_value_has_its_file_and_line_and_what_is_left_out_its_default(own, project, capsys, monkeypatch):
    monkeypatch.setenv("AI_RAILS_MODEL", "claude-x")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://me:secret@localhost:1/")
    (own / "policy.toml").write_text('[[rule]]\ndecision = "ask"\n\ntool = ["a", "b"]\n')
    (own / "prices.toml").write_text("[models.m]\ninput = 3\noutput = 15.5\n")
    (project / ".rails.toml").write_text('# x\n[[gate.mode]]\nmode = "retry"\npath = "a/**"\n')
    _, out, _ = config(project, capsys)
    assert {
        ("AI_RAILS_MODEL", '"claude-x"', "environment"),
        ("ANTHROPIC_BASE_URL", '"http://localhost:1/"', "environment"),
        ("gate.mode 1.mode", '"retry"', ".rails.toml:3"),
        ("gate.mode 1.path", '"a/**"', ".rails.toml:4"),
        ("gate.mode 1.attempts", "2", "default"),
        ("policy.rule 1.tool", '["a", "b"]', "policy.toml:4"),
        ("policy.rule 1.clean", "false", "default"),
        ("prices.models.m.output", "15.5", "prices.toml:3"),
    } <= set(rows(out))
    assert "secret" not in out


def test_as_json_every_source_is_a_whole_path(own, project, capsys):
    (project / ".rails.toml").write_text('[[policy.rule]]\ndecision = "deny"\n')
    _, out, _ = config(project, capsys, "--json")
    told = json.loads(out)
    wanted = {
        "name": "policy.rule 1.decision",
        "value": "deny",
        "source": str(project / ".rails.toml"),
        "line": 2,
    }
    assert wanted in told["settings"]
    assert told["mistakes"] == []


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("policy.toml", "[[rules]]\n", "policy.toml:1:3: `rules` is not known. Did you mean `rule`?"),
        ("gate.toml", "[[mode]]\n", "gate.toml:1:3: mode 1: name a path, agent or rule"),
        ("prices.toml", "[models.m]\ninput = 1\n", "prices.toml:1:2: models.m: `output` is missing."),
        (
            "../project/.rails.toml",
            "[job]\n",
            ".rails.toml:1:2: `job` is not known. Allowed: `gate`, `policy`, `run`.",
        ),
        (
            "../project/.rails.toml",
            '[[policy.rule]]\ndecision = "allow"\ntool = "*"\n',
            "allows; a project can only deny or ask",
        ),
    ],
)
def test_what_is_wrong_is_said_and_what_is_right_is_still_shown(own, project, capsys, place, text, said):
    (own / place).write_text(text)
    code, out, err = config(project, capsys)
    assert code == 2
    assert "AI_RAILS_MODEL" in out
    assert said in err


@pytest.mark.parametrize("name", [*SCHEMAS, *SCHEMAS.values()])
def test_a_schema_is_printed_as_it_is(own, project, capsys, name):
    code, out, _ = config(project, capsys, "schema", name)
    assert code == 0
    assert out == schema_text(next(key for key, file in SCHEMAS.items() if name in (key, file)))


def test_an_unknown_schema_names_those_that_are_there(own, project, capsys):
    code, _, err = config(project, capsys, "schema", "polcy")
    assert code == 2
    assert "There are rails, config, gate, policy, prices." in err


def test_c14_08_the_users_own_env_file_counts_after_the_environment_and_a_projects_sets_nothing(
    own, project, capsys, monkeypatch
):
    monkeypatch.setattr("os.environ", dict(os.environ))
    monkeypatch.setattr(user_env, "TAKEN", set())
    monkeypatch.setenv("AI_RAILS_LANG", "en")
    (project / ".env").write_text("ANTHROPIC_BASE_URL=http://localhost:9/\n")
    (own / ".env").write_text("# mine\nexport AI_RAILS_MODEL='claude-y'\nAI_RAILS_LANG=ja\n")
    (own / ".env").chmod(0o600)
    _, out, _ = config(project, capsys)
    assert {("AI_RAILS_MODEL", '"claude-y"', str(own / ".env")), ("AI_RAILS_LANG", '"en"', "environment")} <= set(
        rows(out)
    )
    assert "localhost:9" not in out
    (own / ".env").chmod(0o666)
    code, _, err = config(project, capsys)
    assert code == 2
    assert "Others can write" in err
