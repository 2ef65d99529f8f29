"""`ai-rails gate` in a repository: what is staged, what is gone, the first commit, and the hook's own words."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
RUFF = "[tool.ruff.lint]\nselect = ['F', 'E', 'W']\n[tool.ruff.format]\nquote-style = 'double'\n"


def gate(project, *words):
    command = [sys.executable, "-m", "rails", "gate", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=project)


@pytest.fixture
def repository(world):
    world.put("pyproject.toml", RUFF)
    world.put(".gitignore", ".rails/\n")
    world.git("init", "-q")
    return world


def commit(world):
    world.git("add", "-A")
    world.git("commit", "-qm", "one")


def test_configuration_that_is_deleted_is_a_finding(repository):
    repository.put(".flake8", "[flake8]\nmax-line-length = 88\n")
    repository.put("a.py", "x = 1\n")
    commit(repository)
    (repository.project / ".flake8").unlink()
    done = gate(repository.project, "--diff", "HEAD")
    assert (done.returncode, "gate-config-changed" in done.stdout) == (1, True), done.stdout
    repository.git("rm", "-q", "--cached", ".flake8")
    assert gate(repository.project, "--staged").returncode == 1


def test_the_hook_that_pre_commit_runs_finds_what_is_new(repository):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    words = [*shlex.split(hook["entry"]), *hook["args"]]
    assert words[:2] == ["ai-rails", "gate"]
    repository.put("old.py", "print(undefined)\n")
    commit(repository)
    repository.put("old.py", "print(undefined)\nx = 1\n")
    repository.put("-new/new.py", "import os\n")
    repository.git("add", "-A")
    done = gate(repository.project, *words[2:], "old.py", "-new/new.py")
    assert (done.returncode, "F401" in done.stdout, "F821" in done.stdout) == (1, True, False), done.stdout


def test_the_workflow_example_runs_a_command_that_exists(repository):
    workflow = yaml.safe_load((ROOT / "workspace" / "ci" / "ai-rails-gate.yml").read_text())
    (job,) = workflow["jobs"].values()
    (command,) = [step["run"] for step in job["steps"] if "ai-rails gate" in step.get("run", "")]
    repository.put("a.py", "x = 1\n")
    commit(repository)
    repository.put("a.py", "x = 1\nprint(undefined)\n")
    words = shlex.split(command.strip().replace('"origin/$BASE"', "HEAD"))
    done = gate(repository.project, *words[2:])
    assert done.returncode == 1
    assert done.stdout.startswith("::error title=F821,file=a.py,line=2"), done.stdout


def test_programs_get_nothing_but_their_format(repository):
    repository.put("a.py", "import os\n")
    for form in ("json", "sarif"):
        json.loads(gate(repository.project, "--format", form, "--explain", "a.py").stdout)
