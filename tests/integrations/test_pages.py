"""What the pages about integrations show works as they show it: every command runs, every setting can be read."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests.integrations.conftest import git

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("docs/hooks-*.md")), *(ROOT / f"docs/{name}.md" for name in ("mcp", "acp", "ci"))]
BLOCKS = [
    (page.name, kind, text)
    for page in PAGES
    for kind, text in re.findall(r"^```(\w*)\n(.*?)\n^```$", page.read_text("utf-8"), re.M | re.S)
]
COMMANDS = [
    (page, re.split(r"  +", line)[0])
    for page, kind, text in BLOCKS
    if not kind
    for line in text.splitlines()
    if line.startswith("ai-rails")
]


@pytest.fixture
def environment(tmp_path, project):
    home = tmp_path / "home"
    home.mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    kept = {name: os.environ[name] for name in ("TMPDIR", "AI_RAILS_JAVASCRIPT") if name in os.environ}
    return {**kept, "PATH": path, "HOME": str(home), "XDG_RUNTIME_DIR": str(tmp_path), "ANTHROPIC_API_KEY": "x"}


def test_every_page_has_commands():
    assert {page for page, _ in COMMANDS} == {page.name for page in PAGES}


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=lambda value: value)
def test_a_command_of_a_page_runs(page, line, environment, project):
    words = shlex.split(line)
    if "--http" in words:
        return served(words, environment, project)
    if words[1] in ("mcp", "acp"):
        pytest.importorskip(words[1], reason=f"the extra {words[1]} is not installed")
    if "uninstall" in words:
        install = ["install" if word == "uninstall" else word for word in words]
        subprocess.run(install, env=environment, cwd=project, check=True, capture_output=True, timeout=100)
    ran = subprocess.run(
        words, env=environment, cwd=project, capture_output=True, text=True, timeout=100, input="", check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return None


def served(words, environment, project):
    """Start the server on a free port, see that it answers, and end it."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    words = ["0" if word.isdigit() else word for word in words]
    process = subprocess.Popen(words, env=environment, cwd=project, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        address, until, code = process.stdout.readline().decode().strip(), time.monotonic() + 60, 0
        while not code and time.monotonic() < until:
            try:
                urllib.request.urlopen(address, timeout=5)
            except urllib.error.HTTPError as refused:
                code = refused.code
                refused.close()
            except OSError:
                time.sleep(0.05)
        assert code == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_setting_of_a_page_can_be_read():
    for _page, kind, text in [one for one in BLOCKS if one[1] in ("json", "yaml")]:
        assert json.loads(text) if kind == "json" else yaml.safe_load(text)


@pytest.mark.parametrize("pushed", ["on", "first", "shallow"])
def test_the_action_installs_what_was_checked_out_and_gates_against_a_base(environment, project, pushed):
    action = yaml.safe_load((ROOT / ".github/actions/gate/action.yml").read_text("utf-8"))
    steps = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert "GITHUB_ACTION_PATH" in steps[0]
    base = {"on": "HEAD", "first": "0" * 40, "shallow": git(project, "rev-parse", "HEAD")}[pushed]
    origin = project.parent / "origin"
    default = git(project, "branch", "--show-current")
    git(project, "clone", "-q", "--bare", ".", str(origin))
    git(project, "remote", "add", "origin", origin.as_uri())
    git(project, "fetch", "-q", "origin")
    if pushed != "on":
        git(project, "commit", "-q", "--allow-empty", "-m", "second")
        git(project, "push", "-q", "origin", "HEAD:refs/heads/new")
    if pushed == "shallow":
        git(project.parent, "clone", "-q", "--depth", "1", "-b", "new", origin.as_uri(), "work")
        project = project.parent / "work"
    (project / "b.py").write_text("y = undefined\n")
    given = {"BASE": base, "ARGS": "", "SARIF": str(project / "found.sarif"), "DEFAULT": default}
    ran = subprocess.run(
        ["bash", "-e", "-c", steps[1]],
        env={**environment, **given},
        cwd=project,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 1
    assert "::error title=F821,file=b.py,line=1" in ran.stdout
    assert json.loads((project / "found.sarif").read_text())["version"] == "2.1.0"
