"""Repositories, jobs and a model's server that answers by what it is asked, for any number of jobs at once."""

import json
import subprocess
from contextlib import contextmanager

import pytest

from rails.batch.job_spec import JobSpec
from rails.core.conversation import NativeCall
from rails.testing import Reply, StubServer, says

PYTHON = '"""Sums."""\n\n\ndef add(a, b):\n    """Return the sum."""\n    return a - b\n'
HIDDEN = {"test_sums.py": "import sums\n\nassert sums.add(1, 2) == 3\n"}
SCORE = "python test_sums.py"
RIGHT = {"file_path": "sums.py", "old_string": "a - b", "new_string": "a + b"}
UNKNOWN = {"file_path": "sums.py", "old_string": "a - b", "new_string": "a + c"}


class TaskServer(StubServer):
    """Answers by the task and by how many answers the conversation has: ``scripts`` are edits and words by task."""

    def __init__(self, scripts):
        super().__init__()
        self.scripts = scripts

    def next_reply(self, request):
        messages = request.body["messages"]
        text = json.dumps(messages)
        task = max((name for name in self.scripts if name in text), key=len, default=None)
        with self._lock:
            self.requests.append(request)
        if task is None:
            return Reply(status=400, message="no such task")
        script = self.scripts[task]
        done = sum(message["role"] == "assistant" for message in messages)
        return script[done] if done < len(script) else says("Done.")


def edit(parameters, tool="edit_file", **options):
    return says(NativeCall("c1", tool, json.dumps(parameters)), **options)


def make_repository(folder, files):
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return (
        subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True)
        .stdout.decode()
        .strip()
    )


@pytest.fixture
def repository(tmp_path):
    """Return a repository of one module with a mistake in it."""
    folder = tmp_path / "sums"
    make_repository(folder, {"sums.py": PYTHON, "LICENSE": "MIT\n\nPermission is hereby granted, free of charge, to\n"})
    return folder


@pytest.fixture
def model():
    """Return what serves scripts by task: each is a list of replies."""

    @contextmanager
    def serve(**scripts):
        with TaskServer(scripts) as server:
            yield server

    return serve


@pytest.fixture
def job(repository, tmp_path):
    """Return what makes a job of the repository for a server."""

    def make(server, task="fix", **more):
        facts = {"checks": [SCORE], "hidden": HIDDEN, "policy": "edits", "folder": str(tmp_path / "runs"), **more}
        facts = {"repo": str(repository), "commit": "HEAD", "model": f"openai:m@{server.url}/v1", **facts}
        return JobSpec(task=task, **facts)

    return make
