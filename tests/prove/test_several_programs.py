"""Programs that race in one project, as real processes: no lost bytes, no log with a hole, no deadlock.

The suite takes what happens while a question is open (tests/commands/test_several_programs.py); here they race.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rails.edits.checkpoints import History
from rails.log.reader import verify
from rails.testing import StubServer, says
from tests.golden.running import committed

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "rails"]
ALLOW = '[[rule]]\ndecision = "allow"\npath = "**"\nkind = ["create", "modify", "delete"]\n'
COUNT = 5


def git(project, *words):
    own = ["-c", "user.email=a@example.org", "-c", "user.name=a", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *own, *words], cwd=project, check=True, capture_output=True, timeout=60)


@pytest.fixture
def project(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.toml").write_text(ALLOW)
    (project / "counter.txt").write_text("".join(f"line {n}\n" for n in range(40)))
    return committed(project)


@pytest.fixture
def environment(tmp_path):
    ours = {"AI_RAILS_CONFIG_DIR": str(tmp_path / "config"), "AI_RAILS_LANG": "en", "HOME": str(tmp_path)}
    ours["XDG_RUNTIME_DIR"] = str(tmp_path)
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb", "PYTHONPATH": str(ROOT), **ours}


def started(project, environment, words, text=""):
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=project, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    process.stdin.write(text)
    process.stdin.close()
    return process


def ended(process):
    """Return the exit code and all that was said; nothing may wait for ever, and nothing of ours may break."""
    said = process.stdout.read()
    code = process.wait(120)
    assert code in (0, 1, 2, 3), said
    assert "Traceback" not in said, said
    assert "AI-Rails itself failed" not in said, said
    return code, said


def block(file, old, new):
    return f"{file}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def apply(project, environment, text):
    return started(project, environment, ["apply", "--approve", "policy"], text)


def sound(project):
    """Every log is whole, nothing is left over, and the history undoes everything to the beginning."""
    logs = list((project / ".rails/sessions").glob("*/log.jsonl"))
    assert logs
    assert [problem for log in logs for problem in verify(log).damage] == []
    assert [path.name for path in (project / ".rails/journal").iterdir()] == ["lock"]
    assert not list(project.rglob(".ai-rails-*"))


def test_many_apply_at_once_in_files_of_their_own_are_all_written_and_undone(project, environment):
    new = [f"`new{n}.txt`\n\n```\ntext {n}\n```\n" for n in range(COUNT)]
    lines = [block("counter.txt", f"line {n * 9}", f"LINE {n}") for n in range(COUNT)]
    processes = [apply(project, environment, file + line) for file, line in zip(new, lines, strict=True)]
    codes = [ended(process)[0] for process in processes]
    written = [n for n, code in enumerate(codes) if code == 0]
    assert written
    lines = (project / "counter.txt").read_text().splitlines()
    for n in range(COUNT):
        assert (project / f"new{n}.txt").exists() == (n in written)
        assert lines[n * 9] == (f"LINE {n}" if n in written else f"line {n * 9}")
    sound(project)
    history = History(project)
    for _ in written:
        history.undo()
    assert (project / "counter.txt").read_text() == "".join(f"line {n}\n" for n in range(40))


def test_undo_and_redo_while_others_apply(project, environment):
    assert ended(apply(project, environment, "`base.txt`\n\n```\nbase\n```\n"))[0] == 0
    processes = []
    for n in range(COUNT):
        processes.append(apply(project, environment, f"`new{n}.txt`\n\n```\ntext {n}\n```\n"))
        processes.append(started(project, environment, ["undo"] if n % 2 else ["redo"]))
    for process in processes:
        ended(process)
    sound(project)
    steps = [step for step in History(project).steps() if step.kind == "change"]
    there = {str(file) for step in steps if not step.undone for file in step.files}
    assert there == {path.name for path in project.glob("*.txt")} - {"counter.txt"}


def test_a_run_beside_apply_and_hook_calls(project, environment):
    call = {"tool": "write_file", "parameters": {"file_path": "ran.txt", "content": "by the run\n"}}
    answers = [says(f"```json\n{json.dumps(call)}\n```\n", chunk_chars=8, pause_s=0.1), says("Done.")]
    hook = {
        "session_id": "s", "cwd": str(project), "hook_event_name": "PostToolUse", "tool_name": "Write",
        "tool_input": {"file_path": str(project / "host.py"), "content": "x = 1\n"}, "tool_response": {},
    }  # fmt: skip
    with StubServer(answers) as stub:
        words = ["run", "write", "--model", "openai:m", "--base-url", f"{stub.url}/v1", "--approve", "policy"]
        process = started(project, {**environment, "OPENAI_API_KEY": "k"}, words)
        end = time.monotonic() + 60
        while not stub.requests and time.monotonic() < end:
            time.sleep(0.05)
        (project / "host.py").write_text("x = 1\n")
        beside = [apply(project, environment, f"`new{n}.txt`\n\n```\ntext\n```\n") for n in range(2)]
        beside += [started(project, environment, ["hook", "claude-code"], json.dumps(hook)) for _ in range(2)]
        beside.append(started(project, environment, ["gate", "host.py"]))
        assert [ended(one)[0] for one in beside] == [0] * 5
        assert ended(process)[0] == 0
    names = {path.name for path in project.glob("*.*")}
    assert {"ran.txt", "new0.txt", "new1.txt", "host.py"} <= names
    sound(project)


@pytest.mark.parametrize(
    "words",
    [("checkout", "-q", "other"), ("stash", "-u"), ("rebase", "-q", "other"), ("gc", "-q", "--prune=now")],
    ids=lambda words: words[0],
)
def test_git_works_while_changes_are_written(project, environment, words):
    git(project, "checkout", "-qb", "other")
    (project / "theirs.txt").write_text("theirs\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "theirs")
    git(project, "checkout", "-q", "main")
    (project / "mine.txt").write_text("a person's\n")
    processes = [apply(project, environment, f"`new{n}.txt`\n\n```\ntext\n```\n") for n in range(2)]
    timer = threading.Timer(0.4, git, [project, *words])
    timer.start()
    codes = [ended(process)[0] for process in processes]
    timer.join()
    if words[0] == "stash":
        git(project, "stash", "pop")
    assert (project / "mine.txt").read_text() == "a person's\n"
    assert [(project / f"new{n}.txt").exists() for n in range(2)] == [code == 0 for code in codes]
    assert (project / "theirs.txt").exists() == (words[0] in ("checkout", "rebase"))
    sound(project)


@pytest.mark.parametrize("kind", ["worktree", "submodule"])
def test_a_worktree_and_a_submodule_are_projects_of_their_own(tmp_path, project, environment, kind):
    if kind == "worktree":
        other = tmp_path / "tree"
        git(project, "worktree", "add", "-q", str(other), "-b", "side")
    else:
        git(tmp_path, "clone", "-q", str(project), "library")
        git(project, "submodule", "add", "-q", str(tmp_path / "library"), "sub")
        git(project, "commit", "-qm", "a submodule")
        other = project / "sub"
    processes = [
        apply(place, environment, block("counter.txt", "line 3", f"in {place.name}")) for place in (project, other)
    ]
    assert [ended(process)[0] for process in processes] == [0, 0]
    for place in (project, other):
        assert (place / "counter.txt").read_text().splitlines()[3] == f"in {place.name}"
        sound(place)
        assert ended(started(place, environment, ["undo"]))[0] == 0
        assert (place / "counter.txt").read_text().splitlines()[3] == "line 3"
    status = subprocess.run(["git", "status", "--short"], cwd=other, capture_output=True, text=True, check=True)
    assert status.stdout == ""
