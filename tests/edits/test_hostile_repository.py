"""Nothing of a hostile project runs when its history is kept, and a user's repository stays as it is."""

import hashlib
import os
import subprocess

import pytest

from rails.core.changes import ChangeSet
from rails.edits import checkpoint_store
from rails.edits.apply import recover
from rails.edits.checkpoints import History

from .helpers import change, save, step


def git(project, *arguments):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(project.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    return subprocess.run(["git", *arguments], cwd=project, env=environment, check=True, capture_output=True).stdout


def canary(tmp_path, name):
    """A program that leaves a trace when it is run, and the trace."""
    trace = tmp_path / f"ran-{name}"
    program = tmp_path / f"program-{name}"
    program.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    program.chmod(0o755)
    return program


def hostile(tmp_path):
    """A repository in which every place that git runs something from holds a canary."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    save(project, "a.txt", "old\n")
    git(project, "add", "a.txt")
    git(project, "commit", "-q", "-m", "first")
    run = {
        name: canary(tmp_path, name)
        for name in ("fsmonitor", "clean", "smudge", "gpg", "hook", "ours", "diff", "pager", "editor", "ssh")
    }
    config = f"""
[core]
	fsmonitor = {run["fsmonitor"]}
	hooksPath = {project}/hooks
	pager = {run["pager"]}
	editor = {run["editor"]}
	sshCommand = {run["ssh"]}
[filter "evil"]
	clean = {run["clean"]}
	smudge = {run["smudge"]}
	required = true
[commit]
	gpgSign = true
[gpg]
	program = {run["gpg"]}
[diff "evil"]
	command = {run["diff"]}
	textconv = {run["diff"]}
[merge "evil"]
	driver = {run["ours"]}
"""
    attributes = "* filter=evil diff=evil merge=evil\n"
    with (project / ".git/config").open("a") as file:
        file.write(config)
    save(project, ".gitattributes", attributes)
    hooks = ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "pre-auto-gc", "post-checkout")
    nested = project / "nested"
    git(project, "init", "-q", "--bare", str(nested))
    for folder in (project / "hooks", project / ".git/hooks", nested / "hooks", project / ".rails/history.git/hooks"):
        for hook in hooks:
            save(folder, hook, run["hook"].read_bytes()).chmod(0o755)
    # The project even brings a state folder of its own along.
    save(project, ".rails/history.git/config", config + "[core]\n\tbare = true\n\trepositoryformatversion = 0\n")
    save(project, ".rails/history.git/HEAD", "ref: refs/heads/main\n")
    save(project, ".rails/history.git/info/attributes", attributes)
    (project / ".rails/history.git/objects").mkdir()
    (project / ".rails/history.git/refs").mkdir()
    save(project, ".rails/history.git/commondir", f"{project}/.git\n")
    return project


def session(project):
    """Everything that AI-Rails does with git: checkpoints, steps, undo with a merge, redo."""
    text = "".join(f"line {n}\n" for n in range(30)).encode()
    first = ChangeSet((change("a.txt", b"old\n", text), change("nested/b.txt", None, b"b")))
    second = ChangeSet((change("a.txt", text, text.replace(b"line 3\n", b"LINE 3\n")),))
    history = History(project)
    for changes in (first, second):
        step(project, *changes.changes)
    save(project, "a.txt", (project / "a.txt").read_bytes().replace(b"line 20\n", b"by hand\n"))
    history.steps()
    history.undo("s1", 2)
    history.redo("s1", 2)
    recover(project)


def traces(tmp_path):
    return sorted(path.name for path in tmp_path.glob("ran-*"))


def test_nothing_of_a_hostile_project_runs(tmp_path, monkeypatch):
    project = hostile(tmp_path)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(project / ".git"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(tmp_path / "program-fsmonitor"))
    monkeypatch.chdir(project)
    session(project)
    assert traces(tmp_path) == []


PLANTED = {
    "commondir": "{outside}\n",
    "config.worktree": "[core]\n\tfsmonitor = {program}\n",
    "objects/info/alternates": "{outside}/objects\n",
    "info/grafts": "{commit}\n",
    "shallow": "{commit}\n",
}


@pytest.mark.parametrize("when", ["before the first step", "between two steps"])
@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_in_the_history_is_taken_away_before_git_runs(tmp_path, monkeypatch, name, when):
    project = tmp_path / "project"
    outside = tmp_path / "outside"
    outside.mkdir()
    git(outside, "init", "-q", "--bare", ".")
    planted = project / ".rails/history.git" / name
    text = PLANTED[name].format(outside=outside, program=canary(tmp_path, "planted"), commit="1" * 40)
    seen = []
    real = checkpoint_store.run_git

    def looking(*arguments, **more):
        seen.append(planted.exists())
        return real(*arguments, **more)

    monkeypatch.setattr(checkpoint_store, "run_git", looking)
    number = 0
    if when == "between two steps":
        number = step(project_with(project), change("a.txt", None, b"0")).step
    save(project, f".rails/history.git/{name}", text)
    assert step(project, change("b.txt", None, b"1")).step == number + 1
    history = History(project)
    for use in (history.steps, lambda: history.undo("s1"), lambda: history.redo("s1")):
        save(project, f".rails/history.git/{name}", text)
        use()
    assert seen
    assert not any(seen), "git never saw it"
    assert not planted.exists()
    assert traces(tmp_path) == []
    assert (project / "b.txt").read_bytes() == b"1"


def project_with(project):
    project.mkdir(exist_ok=True)
    return project


@pytest.mark.parametrize("name", ["HEAD", "config"])
@pytest.mark.parametrize("form", ["other text", "a link", "nothing"])
def test_the_historys_own_files_are_ours_whatever_stands_there(tmp_path, name, form):
    step(tmp_path, change("a.txt", None, b"1"))
    file = tmp_path / ".rails/history.git" / name
    theirs = save(tmp_path, "theirs", "[core]\n\tbare = false\n")
    right = file.read_bytes()
    file.unlink()
    if form == "other text":
        file.write_bytes(theirs.read_bytes())
    elif form == "a link":
        file.symlink_to(theirs)
    assert step(tmp_path, change("a.txt", b"1", b"2")).step == 2
    assert (file.is_symlink(), file.read_bytes()) == (False, right)
    assert theirs.read_bytes() == b"[core]\n\tbare = false\n"


@pytest.mark.parametrize("name", ["", "/objects", "/refs", "/refs/rails"])
def test_a_history_that_leads_outside_by_a_link_is_refused(tmp_path, name):
    project = tmp_path / "project"
    outside = tmp_path / "outside"
    outside.mkdir()
    link = project / f".rails/history.git{name}"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    done = step(project, change("a.txt", None, b"1"))
    assert (done.step, "link" in done.unrecorded or "Links" in done.unrecorded) == (0, True)
    assert list(outside.iterdir()) == []


def test_the_canaries_do_sing_for_plain_git(tmp_path):
    """The test above would prove nothing if the traps were not armed."""
    project = hostile(tmp_path)
    git(project, "status")
    save(project, "a.txt", "new\n")  # git filters what it takes for changed only
    subprocess.run(["git", "add", "a.txt"], cwd=project, capture_output=True, check=False)
    subprocess.run(["git", "commit", "-m", "x"], cwd=project, capture_output=True, check=False)
    assert {"ran-fsmonitor", "ran-clean", "ran-hook"} <= set(traces(tmp_path))


def fingerprint(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_the_users_repository_is_byte_identical_before_and_after(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    save(project, "a.txt", "old\n")
    save(project, "b.txt", "b\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    save(project, "b.txt", "stashed\n")
    git(project, "stash", "-q")
    save(project, "b.txt", "staged\n")
    git(project, "add", "b.txt")
    save(project, "untracked.txt", "mine")
    save(project, ".git/index.lock", "another program holds the index")
    before = fingerprint(project / ".git")
    session(project)
    assert fingerprint(project / ".git") == before
    assert (project / "untracked.txt").read_text() == "mine"
    (project / ".git/index.lock").unlink()
    assert b".rails" not in git(project, "status", "--porcelain")


@pytest.mark.parametrize("state", ["no repository", "merge in progress", "broken"])
def test_the_state_of_the_users_repository_does_not_matter(tmp_path, state):
    save(tmp_path, "a.txt", "old\n")
    if state == "merge in progress":
        git(tmp_path, "init", "-q")
        save(tmp_path, ".git/MERGE_HEAD", "0" * 40)
    elif state == "broken":
        save(tmp_path, ".git", "gitdir: /nowhere\n")
    session(tmp_path)
    assert b"by hand" in (tmp_path / "a.txt").read_bytes()
