"""The real pre-commit with the hook of this repository: what it names is judged, in each of its ways."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = str(Path(sys.executable).parent)
PRE_COMMIT = shutil.which("pre-commit", path=os.pathsep.join((HERE, os.environ["PATH"])))
BAD = "print(undefined)\n"
WAYS = {
    "commit": [],
    "--all-files": ["--all-files"],
    "--files": ["--files", "bad.py"],
    "--from-ref": ["--from-ref", "HEAD~1", "--to-ref", "HEAD"],
}

pytestmark = pytest.mark.skipif(PRE_COMMIT is None, reason="pre-commit is not installed")


def git(folder, *words):
    who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path):
    """A project that names our hook by a repository on the disk; nothing is fetched, and nothing is installed."""
    hooks = tmp_path / "hooks"
    folder = tmp_path / "project"
    for place in (hooks, folder):
        place.mkdir()
        git(place, "init", "-q")
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    git(hooks, "add", "-A")
    git(hooks, "commit", "-qm", "one")
    hook = f"- repo: {hooks}\n  rev: {git(hooks, 'rev-parse', 'HEAD')}\n  hooks:\n  - id: ai-rails-gate\n"
    (folder / ".pre-commit-config.yaml").write_text(f"repos:\n{hook}    language: system\n")
    (folder / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    (folder / "a.py").write_text("x = 1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def run(project, *words):
    path = os.pathsep.join((HERE, os.environ["PATH"]))
    environment = {**os.environ, "PRE_COMMIT_HOME": str(project.parent / "cache"), "PATH": path}
    command = [PRE_COMMIT, "run", "--verbose", *words]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_mistake_in_what_it_names_fails_and_what_is_sound_passes(project, way):
    for text, code, says in ((BAD, 1, "F821"), ("y = 2\n", 0, "Pass: every required check ran")):
        (project / "bad.py").write_text(text)
        git(project, "add", "-A")
        if way != "commit":
            git(project, "commit", "-qnm", "next")
        failed, printed = run(project, *WAYS[way])
        assert (failed, says in printed) == (code, True), printed


def test_where_nothing_was_checked_it_is_said_and_with_require_it_fails(project):
    (project / "notes.xyz").write_text("whatever\n")
    git(project, "add", "-A")
    code, printed = run(project)
    assert (code, "Nothing was checked" in printed) == (0, True), printed
    config = project / ".pre-commit-config.yaml"
    config.write_text(f"{config.read_text()}    args: [--require]\n")
    code, printed = run(project, "--files", "notes.xyz")
    assert (code, "Nothing was checked" in printed) == (1, True), printed
