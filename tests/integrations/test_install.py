"""Putting hooks into a host's settings: the rest stays byte for byte, and uninstalling is the exact way back."""

import contextlib
import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails import __version__
from rails.cli import main
from rails.config.json_edit import with_last, without
from rails.core.errors import UsageError
from rails.integrations.hooks import install

SETTINGS = [
    '{\n    "model": "x",   "permissions": {"allow": []}\n}\n',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}',
    '{\n\t"hooks": {},\n\t"env": {"A": "\\u00e4"}\n}',
    '{"hooks": {"PreToolUse": [\n  {"matcher": "Bash", "hooks": []}\n]}, "z": 1}\n\n',
    '{\r\n  "model": "x",\r\n  "hooks": {\r\n    "Stop": [\r\n      {"hooks": []}\r\n    ]\r\n  }\r\n}\r\n',
    '{\r\n  "a": 1,\n  "b": {\n\t"c": []\r  }\n}\r\n',
]


@pytest.fixture
def user(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
@pytest.mark.parametrize("text", SETTINGS)
def test_installing_and_uninstalling_gives_the_same_bytes(host, text, user, capsys):
    file = install.settings_of(host, user, shared=False).file.place
    file.parent.mkdir()
    file.write_bytes(text.encode())
    assert main(["hook", "install", host]) == 0
    installed = file.read_bytes().decode()
    rest = iter(installed)
    assert all(letter in rest for letter in text if text != SETTINGS[2]), "nothing is removed or changed"
    if text.count("\n") == text.count("\r\n") > 0:
        assert "\n" not in installed.replace("\r\n", ""), "new lines end as the others do"
    assert main(["hook", "install", host]) == 0
    assert "there already" in capsys.readouterr().out
    assert file.read_bytes().decode() == installed
    hooks = json.loads(installed)["hooks"]
    assert set(install.host_table(host)["events"]) <= set(hooks)
    for key, value in json.loads(text).items():
        assert key == "hooks" or json.loads(installed)[key] == value
    assert main(["hook", "uninstall", host]) == 0
    if json.loads(text).get("hooks") != {}:  # nobody can tell an empty object of theirs from one of ours
        assert file.read_bytes().decode() == text


def test_a_host_whose_place_is_the_home_gets_its_own_form(user, capsys):
    host = "gemini"
    assert main(["hook", "install", host]) == 0
    file = user / f".{host}" / "settings.json"
    value = json.loads(file.read_text())
    assert value["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"] == 60_000
    assert "trusted there" in capsys.readouterr().out
    assert main(["hook", "status"]) == 0
    assert "hook gemini" in capsys.readouterr().out
    assert main(["hook", "test", host]) == 0
    assert main(["hook", "uninstall", host]) == 0
    assert not file.exists()


def test_a_dry_run_shows_the_change_and_writes_nothing(user, capsys):
    main(["hook", "install", "claude-code", "--project", "--dry-run"])
    assert '+    "SessionStart"' in capsys.readouterr().out
    assert not (user / "project/.claude").exists()


def test_a_plug_in_is_none_of_the_settings_and_has_no_dry_run(user):
    for plugin in ("made --dry-run", "made --project", "made --user", ""):
        with contextlib.suppress(SystemExit):
            assert main(["hook", "install", "codex", "--plugin", *plugin.split(" ")]) == 2
    assert not (user / "project/made").exists()


def test_strict_blocks_where_the_hook_itself_fails(user):
    main(["hook", "install", "claude-code", "--strict"])
    entry = json.loads((user / "claude/settings.json").read_text())["hooks"]["PreToolUse"][0]["hooks"][0]
    assert entry["onFailure"] == "block"
    assert entry["command"].endswith("hook claude-code --strict")
    assert 0 < entry["timeout"] < 600


def test_a_committed_setting_says_so_where_ai_rails_is_missing(user):
    main(["hook", "install", "claude-code", "--project"])
    entry = json.loads((user / "project/.claude/settings.json").read_text())["hooks"]["PreToolUse"][0]["hooks"][0]
    environment = {"PATH": str(user)}
    ran = subprocess.run(
        ["/bin/sh", "-c", entry["command"]], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0
    assert "NOT checked" in json.loads(ran.stdout)["systemMessage"]


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 1}', '{"hooks": {"Stop": 1}}', '{"a": 1, "a": 2}'])
def test_settings_that_cannot_be_read_are_left_alone_with_a_sentence(text, user):
    settings = user / "claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(text)
    with pytest.raises(UsageError, match="Nothing was changed"):
        install.installed(install.settings_of("claude-code", user, shared=False))
    assert settings.read_text() == text


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_the_hook_can_be_tried_without_a_host(host, user, capsys):
    assert main(["hook", "test", host]) == 0
    shown = capsys.readouterr().out
    assert "F821" in shown
    assert "The hook works here." in shown


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=4), values, min_size=1, max_size=4),
    values,
    st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_a_member_put_in_and_taken_out_leaves_every_byte(document, value, indent):
    text = json.dumps(document, indent=indent)
    if "new key" in document:
        return
    more = with_last(text, (), "new key", value)
    assert json.loads(more) == {**document, "new key": value}
    assert without(more, ("new key",)) == text


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_a_link_in_a_dotfiles_repository_stays_one_and_where_it_leads_is_said(host, user, capsys):
    link = install.settings_of(host, user, shared=False).file.place
    theirs = user / "dotfiles/settings.json"
    for folder in (link.parent, theirs.parent):
        folder.mkdir()
    theirs.write_text('{"model": "x"}\n')
    theirs.chmod(0o640)
    link.symlink_to(theirs)
    assert main(["hook", "install", host]) == 0
    assert str(theirs) in capsys.readouterr().out
    assert link.is_symlink()
    assert "ai-rails" in theirs.read_text()
    assert theirs.stat().st_mode & 0o777 == 0o640
    assert main(["hook", "uninstall", host]) == 0
    assert link.is_symlink()
    assert theirs.read_text() == '{"model": "x"}\n'


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_a_plug_in_has_the_hooks_that_an_installation_has_and_what_its_host_reads(host, tmp_path):
    command = install.write_plugin(host, str(tmp_path / "made here"), ["--strict"])
    assert f"'{tmp_path}/made here" in command
    hooks = json.loads((tmp_path / "made here/ai-rails/hooks/hooks.json").read_text())
    settings = install.settings_of(host, tmp_path, shared=True)
    assert hooks == json.loads(install.installed(settings, ["--strict"]))
    for file in (tmp_path / "made here").rglob("*.json"):
        assert json.loads(file.read_text()).get("version") in (None, __version__)
    with pytest.raises(UsageError, match="Name a new folder"):
        install.write_plugin(host, str(tmp_path / "made here"))
