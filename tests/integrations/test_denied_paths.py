"""A rule of the policy that denies a path holds before any content is computed, in every host and tool."""

import pytest

from tests.integrations.conftest import git

POLICY = '[[rule]]\ndecision = "deny"\npath = [".env*", "secret/**"]\n'
BEGIN = "*** Begin Patch\n"
END = "*** End Patch\n"


def claude(tool, path, **given):
    return ("claude-code", "PreToolUse", tool, {"file_path": path, **given})


def gemini(tool, path, **given):
    return ("gemini", "BeforeTool", tool, {"file_path": path, **given})


def codex(patch, tool="apply_patch", around="{}"):
    return ("codex", "PreToolUse", tool, {"command": around.replace("{}", f"{BEGIN}{patch}{END}")})


UPDATE = "*** Update File: {}\n@@\n-A=1\n+A=2\n"
ADD = "*** Add File: {}\n+A=2\n"
DELETE = "*** Delete File: {}\n"
LARGE = "x" * 10_000_001
PATHS = (".env", "alias.txt", "sub/../.env", "linked/x", "secret/x", "{project}/.env", "{outside}/way", ".ENV")
PATHS = (
    *PATHS,
    "~/project/.env",
    " .env",
    ".env/",
    "SECRET/new",
    "secret/ lead",
    "secret/a::b.py",
    "linked/../linked/y",
    "./secret//z",
    "up/up/.env",
)
#: Ways into a folder, apart by a line that a shell would not have.
WAYS = r"""
cd secret &&
cd 'secret' ;
cd "my dir" &&
cd my\ dir&&
cd -- secret &&
cd -P "sec"ret ||
(cd secret;
set -e; cd secret &&
cd sub && cd ../secret &&
(cd sub); cd secret &&
cd . && (cd sub); cd secret &&
cd ~/project/secret &&
cd $'secret';
pushd secret >/dev/null &&
env -C secret
env --chdir=secret
bash -lc 'cd secret &&
cd {project}/secret; builtin cd .;
"""
WAYS = (*WAYS.strip().splitlines(), "cd secret\n", "cd \\\n secret\n", f"apply_patch '{BEGIN}{END}'; cd secret; ")
#: What is denied: a host, its event, its tool and its input.
DENIED = [
    *(claude("Write", path, content="A=2\n") for path in PATHS),
    *(gemini("write_file", path, content="A=2\n") for path in PATHS),
    *(codex(UPDATE.format(path)) for path in PATHS),
    claude("Edit", ".env", old_string="not there", new_string="x"),
    claude("Edit", ".env", old_string="A=1", new_string="A=2"),
    claude("Write", ".env", content=LARGE),
    claude("Write", ".env.new", content="A=2\n"),
    claude("Edit", "binary.env/../.env", old_string="", new_string=""),
    ("claude-code", "PreToolUse", "NotebookEdit", {"notebook_path": "secret/n.ipynb", "new_source": "x"}),
    gemini("replace", ".env", old_string="not there", new_string="x"),
    gemini("write_file", ".env", content=LARGE),
    codex(UPDATE.format(".env") + UPDATE.format(".env")),
    codex(DELETE.format(".env") + ADD.format(".env")),
    codex(ADD.format(".env") + UPDATE.format(".env")),
    codex(DELETE.format(".env")),
    codex(ADD.format(".env.new")),
    codex("*** Update File: .env\n@@\n-not there\n+x\n"),
    codex("*** Update File: a.py\n*** Move to: .env.new\n@@\n-a = 1\n+a = 2\n"),
    codex("*** Update File: .env\n*** Move to: b.txt\n@@\n-A=1\n+A=2\n"),
    codex("*** Update File: a.py\n@@\n-a = 1\n+a = 2\n" + UPDATE.format("alias.txt")),
    codex("nonsense\n" + UPDATE.format(".env")),
    codex(f"*** Add File: .env\n+{LARGE}\n"),
    codex(UPDATE.format(".env"), tool="Bash", around="apply_patch <<'EOF'\n{}\nEOF"),
    *(codex(UPDATE.format("x"), tool="Bash", around=way + " apply_patch <<'EOF'\n{}\nEOF") for way in WAYS),
    codex("*** Update File: a.py\n*** Move to: linked/new\n@@\n-a = 1\n+a = 2\n"),
    ("codex", "PreToolUse", "apply_patch", {"command": BEGIN + UPDATE.format(".env")}),
]


@pytest.fixture
def denying(project, monkeypatch, tmp_path):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "configuration"))
    (tmp_path / "configuration").mkdir()
    (tmp_path / "configuration/policy.toml").write_text(POLICY)
    for folder in ("secret", "sub", "binary.env"):
        (project / folder).mkdir()
    (project / ".env").write_text("A=1\n")
    (project / "secret/x").write_text("A=1\n")
    (project / "alias.txt").symlink_to(".env")
    (project / "linked").symlink_to("secret")
    (project / "my dir").symlink_to("secret")
    (project / "up").symlink_to("../project")
    (project / "loop").symlink_to("loop")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/way").symlink_to(project / ".env")
    git(project, "add", ".")
    git(project, "commit", "-qm", "second")
    return project


def filled(value, project):
    if isinstance(value, dict):
        return {key: filled(one, project) for key, one in value.items()}
    if not isinstance(value, str) or len(value) > 10_000:
        return value
    return value.replace("{project}", str(project)).replace("{outside}", str(project.parent / "outside"))


def decision(hooks, said):
    specific = (said or {}).get("hookSpecificOutput", {})
    return (said or {}).get("decision") or specific.get("permissionDecision")


def test_what_a_rule_denies_by_path_is_denied_whatever_would_be_written(denying, hooks_of):
    hosts = {name: hooks_of(name) for name in ("claude-code", "codex", "gemini")}
    through = []
    for name, event, tool, given in DENIED:
        said = hosts[name].call(event, tool, filled(given, denying))
        if decision(hosts[name], said) != "deny":
            through.append((name, tool, str(given)[:200], said))
    assert not through
    assert len(DENIED) >= 40


def test_a_policy_that_cannot_be_read_denies_every_edit_and_says_where_and_why(denying, hooks_of, tmp_path):
    hooks = hooks_of("codex")
    for place in (tmp_path / "configuration/policy.toml", denying / ".rails.toml"):
        rule = "[[policy.rule]]" if place.name == ".rails.toml" else "[[rule]]"
        removed = f'{rule}\ndecision = "deny"\nfrom_nth = 2\n'
        for text, why in [
            (removed, "from_nth"),
            ("[[", "not valid TOML"),
            ("\xff", ""),
            ("a = " + "[" * 9_000, "recursion"),
        ]:
            place.write_bytes(text.encode("latin-1"))
            words = hooks.specific("PreToolUse", "apply_patch", {"command": BEGIN + UPDATE.format("a.py") + END})
            said = words.get("permissionDecisionReason", "")
            assert (str(place) in said or why == "recursion", why in said) == (True, True), words
        place.write_text("")


@pytest.mark.parametrize("path", ["a.py", "sub/.env.py/../ok.py", "{outside}/new.py", "loop/new.py"])
def test_what_no_rule_names_goes_on(denying, hooks_of, path):
    hooks = hooks_of("claude-code")
    said = hooks.call("PreToolUse", "Write", filled({"file_path": path, "content": "a = 1\nb = 2\n"}, denying))
    assert decision(hooks, said) is None


def test_a_denied_file_that_a_command_has_changed_is_told_at_once_and_once_at_the_end(denying, hooks_of):
    hooks = hooks_of("claude-code")
    for session in ("s1", "s2"):
        hooks.call("SessionStart", session=session)
    (denying / ".env").write_text("A=2\n")
    said = hooks.call("PostToolUse", "Bash", {"command": "sed -i s/1/2/ .env"})
    assert (said["decision"], "changed anyway" in said["reason"]) == ("block", True)
    assert "changed anyway" in hooks.call("Stop", stop_hook_active=False)["reason"]
    assert hooks.call("Stop", stop_hook_active=True) is None
    same = hooks.call("PostToolUse", "Bash", {"command": "sed -i s/1/2/ .env"}, session="s2")
    assert "changed anyway" in same["reason"], "another session has told it, and this one has not"


def test_what_an_earlier_session_wrote_into_a_denied_file_excuses_no_later_one(denying, hooks_of):
    """A session that was never closed wrote the same, before this one began, and it was taken back."""
    hooks = hooks_of("claude-code")
    for session in ("over", "new"):
        hooks.call("SessionStart", session=session)
        (denying / ".env").write_text("A=2\n")
        for event, more in (("PostToolUse", ("Bash", {"command": "x"})), ("Stop", ())):
            assert "changed anyway" in hooks.call(event, *more, session=session)["reason"], (session, event)
        (denying / ".env").write_text("A=1\n")
