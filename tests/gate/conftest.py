"""One project folder with real files, and one gate with real tools."""

import subprocess
from pathlib import Path

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
from rails.gate.support.warm_processes import PythonPool

from ..shipped import styled


class World:
    """A project folder and a gate for it. Texts are given as str or bytes."""

    def __init__(self, project: Path, gate: Gate) -> None:
        self.project = project
        self.gate = gate

    def put(self, name, text):
        place = self.project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_bytes(text))
        return place

    def judge(self, *files, **options):
        """Judge (path, after) or (path, before, after) tuples; the old text is on disk, as in real life."""
        changes = []
        for path, *texts in files:
            before, after = (None, *texts) if len(texts) == 1 else texts
            if before is not None:
                self.put(path, before)
            changes.append(FileChange(WorkspacePath(path), _bytes(before), _bytes(after)))
        return self.gate.judge(ChangeSet(tuple(changes)))

    def check(self, *paths, **options):
        return self.gate.check_files([WorkspacePath(path) for path in paths], **options)

    def git(self, *arguments):
        settings = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *settings, *arguments], cwd=self.project, check=True, capture_output=True)


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


@pytest.fixture(autouse=True)
def own_config(tmp_path, monkeypatch):
    """The user's configuration folder: empty, and not the one of whoever runs the tests."""
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture(scope="session")
def pool():
    """Python workers that all tests share, because starting them is what costs time."""
    made = PythonPool()
    yield made
    made.close()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def style(project):
    """The project asks for ruff, black and flake8."""
    return styled(project)


@pytest.fixture
def world(project, pool):
    with Gate(project, pool=pool) as gate:
        yield World(project, gate)


@pytest.fixture
def strict(project, pool):
    with Gate(project, strict=True, pool=pool) as gate:
        yield World(project, gate)
