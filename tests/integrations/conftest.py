"""A project as a host's user has one, and a warm gate on it in this process."""

import json
import os
import subprocess

import pytest

from rails.integrations.daemon.warm import WarmGate

AUTHOR = {f"GIT_{who}_{what}": "x@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder, *words):
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **AUTHOR}
    ).stdout.strip()


class Hooks:
    """A host's calls to the warm gate of a project; an answer is its JSON, ``None`` for nothing."""

    def __init__(self, project, host):
        self.project = project
        self.host = host
        self.number = 0
        self.warm = WarmGate(project)
        self.head = {"host": host}
        self.raw = None

    def call(self, event, tool="", arguments=None, *, session="s1", **more):
        self.number += 1
        payload = {"session_id": session, "cwd": str(self.project), "hook_event_name": event, **more}
        if tool:
            payload |= {"tool_name": tool, "tool_input": arguments or {}, "tool_use_id": f"toolu_{self.number}"}
        self.raw = self.warm.answer(self.head, json.dumps(payload).encode())
        assert self.raw.code == 0
        return json.loads(self.raw.out) if self.raw.out else None

    def specific(self, *words, **more):
        return (self.call(*words, **more) or {}).get("hookSpecificOutput", {})


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "ruff.toml").write_text("line-length = 100\n")
    (folder / "a.py").write_text("a = 1\nb = 2\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def hooks_of(project):
    made = []

    def make(host):
        made.append(Hooks(project, host))
        return made[-1]

    yield make
    for one in made:
        one.warm.close()


@pytest.fixture
def claude(hooks_of):
    return hooks_of("claude-code")


@pytest.fixture
def codex(hooks_of):
    return hooks_of("codex")


@pytest.fixture
def gemini(hooks_of):
    return hooks_of("gemini")
