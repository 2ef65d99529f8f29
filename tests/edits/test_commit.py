"""One clean commit on the user's branch, or a refusal that changes nothing."""

import pytest

from rails.core.errors import WorkspaceError
from rails.edits.checkpoints import History
from rails.edits.commit import backup_branch, commit_session

from .helpers import change, save, step
from .test_hostile_repository import fingerprint, git, hostile, traces


@pytest.fixture
def project(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    for name in ("a.txt", "b.txt", "gone.txt"):
        save(project, name, "old\n")
    save(project, ".gitignore", "*.log\n.rails/\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    return project


def status(project):
    return git(project, "status", "--porcelain").decode()


def test_the_session_becomes_one_commit_and_nothing_else_does(project):
    save(project, "b.txt", "mine, not committed\n")
    save(project, "mine.txt", "untracked")
    step(project, change("a.txt", b"old\n", b"new\n"), change("gone.txt", b"old\n", None))
    step(project, change("a.txt", b"new\n", b"newer\n"), change("sub/run.sh", None, b"#!/bin/sh\n", 0o755))
    made = commit_session(project, "s1", "Do the thing")
    assert git(project, "log", "--format=%H %s").decode().split("\n")[0] == f"{made.commit} Do the thing"
    assert b"AI-Rails-Session: s1" in git(project, "log", "-1", "--format=%B")
    assert git(project, "show", "--name-status", "--format=", "HEAD").decode().split("\n")[:-1] == [
        "M\ta.txt",
        "D\tgone.txt",
        "A\tsub/run.sh",
    ]
    assert git(project, "ls-files", "-s", "sub/run.sh").startswith(b"100755")
    assert status(project) == " M b.txt\n?? mine.txt\n"
    assert git(project, "symbolic-ref", "HEAD") == b"refs/heads/main\n"


@pytest.mark.parametrize(
    ("title", "subject"),
    [("\n Fix it \r\nand that", "Fix it"), (" \n ", "Changes by AI-Rails"), ("a\tb\x1b[2J", "a\\x09b\\x1b[2J")],
)
def test_the_first_line_of_a_task_is_the_subject(project, title, subject):
    step(project, change("a.txt", b"old\n", b"new\n"))
    commit_session(project, "s1", title)
    assert git(project, "log", "-1", "--format=%B").decode() == f"{subject}\n\nAI-Rails-Session: s1\n\n"


def test_ignored_files_are_left_out(project):
    step(project, change("x.log", None, b"noise"), change("a.txt", b"old\n", b"new\n"))
    made = commit_session(project, "s1", "t")
    assert (made.files, made.ignored) == (("a.txt",), ("x.log",))


@pytest.mark.parametrize("names", ["sha1", "sha256"])
def test_the_first_commit_of_a_repository_and_the_next(tmp_path, names):
    git(tmp_path, "init", "-q", "-b", "main", f"--object-format={names}")
    step(tmp_path, change("a.txt", None, b"1\n"))
    made = commit_session(tmp_path, "s1", "t")
    assert git(tmp_path, "show", f"{made.commit}:a.txt") == b"1\n"
    step(tmp_path, change("a.txt", b"1\n", None), change("b.txt", None, b"2\n"), session="s2")
    commit_session(tmp_path, "s2", "t")
    assert git(tmp_path, "ls-tree", "--name-only", "HEAD") == b"b.txt\n"
    assert git(tmp_path, "log", "--format=%s", backup_branch(tmp_path)) == b"t\nt\n"


def test_a_project_below_the_top_of_its_repository(project):
    inner = project / "inner"
    inner.mkdir()
    step(inner, change("c.txt", None, b"c\n"))
    assert commit_session(inner, "s1", "t").files == ("inner/c.txt",)


def test_a_folder_on_the_way_may_have_any_name(project):
    """A name that is no UTF-8 was a fault of ours."""
    inner = project / "\udcff"
    inner.mkdir()
    save(project, ".gitattributes", "*.bin -filter\n")
    step(inner, change("c.txt", None, b"c\n"), change("x.log", None, b"noise"), change("d.bin", None, b"d\n"))
    made = commit_session(inner, "s1", "t")
    assert (made.files, made.ignored) == (("\udcff/c.txt", "\udcff/d.bin"), ("\udcff/x.log",))
    assert git(project, "show", "--name-only", "--format=", "-z", "HEAD") == b"\xff/c.txt\0\xff/d.bin\0"
    assert status(project) == "?? .gitattributes\n"


def test_a_work_tree_of_its_own_gets_the_commit_on_its_branch_and_the_first_one_stays(project):
    other = project.parent / "other"
    git(project, "worktree", "add", "-q", "-b", "side", str(other))
    step(other, change("a.txt", b"old\n", b"new\n"))
    made = commit_session(other, "s1", "t")
    assert git(other, "rev-parse", "side").decode().strip() == made.commit
    assert git(project, "show", "main:a.txt") == b"old\n"
    assert (status(project), status(other)) == ("", "")


@pytest.mark.parametrize(
    ("environment", "configured", "author"),
    [
        ({}, "", "AI-Rails <ai-rails@localhost>"),
        ({}, "[user]\nname = Ada\nemail = ada@example.org\n", "Ada <ada@example.org>"),
        ({}, "[user]\nname = Ada\n", "Ada <ai-rails@localhost>"),
        ({}, "[user] name = Ada <x>\n", "Ada x <ai-rails@localhost>"),
        ({}, "[user] name = 007\n", "007 <ai-rails@localhost>"),
        ({}, "[user]\nname =\n", "AI-Rails <ai-rails@localhost>"),
        ({}, '[includeIf "gitdir:**/project/"]\npath = own\n', "Own <own@example.org>"),
        ({"GIT_AUTHOR_NAME": "Eve"}, "[user]\nname = Ada\nemail = ada@example.org\n", "Eve <ada@example.org>"),
        ({"GIT_AUTHOR_NAME": "Eve", "GIT_AUTHOR_EMAIL": "eve@example.org"}, "", "Eve <eve@example.org>"),
    ],
)
def test_author_and_committer_are_as_the_user_is_configured(project, monkeypatch, environment, configured, author):
    for name in ("NAME", "EMAIL"):
        monkeypatch.delenv(f"GIT_AUTHOR_{name}", raising=False)
    for name, value in {**environment, "HOME": str(project.parent)}.items():
        monkeypatch.setenv(name, value)
    save(project.parent, ".gitconfig", configured)
    save(project.parent, "own", "[user]\nname = Own\nemail = own@example.org\n")
    step(project, change("a.txt", b"old\n", b"new\n"))
    commit_session(project, "s1", " ")
    said = git(project, "log", "-1", "--format=%an <%ae>%n%cn <%ce>%n%B").decode()
    assert said == f"{author}\n{author}\nChanges by AI-Rails\n\nAI-Rails-Session: s1\n\n"


def test_a_file_that_a_session_made_and_took_away_again_or_put_back_is_not_in_the_commit(project):
    step(project, change("x.txt", None, b"x"), change("a.txt", b"old\n", b"new\n"), change("b.txt", b"old\n", b"b\n"))
    step(project, change("x.txt", b"x", None), change("a.txt", b"new\n", b"old\n"))
    assert commit_session(project, "s1", "t").files == ("b.txt",)


def test_line_ends_stay_as_the_repository_keeps_them(project):
    git(project, "config", "core.autocrlf", "true")
    (project / "a.txt").unlink()
    git(project, "checkout", "-q", "a.txt")
    assert (project / "a.txt").read_bytes() == b"old\r\n"
    step(project, change("a.txt", b"old\r\n", b"new\r\n"))
    commit_session(project, "s1", "t")
    assert git(project, "cat-file", "blob", "HEAD:a.txt") == b"new\n"
    assert status(project) == ""


def changed_since(project):
    step(project, change("a.txt", b"old\n", b"new\n"))
    save(project, "a.txt", "by hand\n")


def dirty_before(project):
    save(project, "a.txt", "mine\n")
    step(project, change("a.txt", b"mine\n", b"new\n"))


def staged_otherwise(project):
    save(project, "a.txt", "mine\n")
    git(project, "add", "a.txt")
    step(project, change("a.txt", b"mine\n", b"new\n"))


def ignored_alone(project):
    step(project, change("x.log", None, b"noise"))


def before_the_session(project):
    """An untracked file is the user's own, all of it."""
    save(project, "mine.txt", "mine\n")
    step(project, change("mine.txt", b"mine\n", b"new\n"))


def all_undone(project):
    step(project, change("a.txt", b"old\n", b"new\n"))
    History(project).undo("s1")


def filtered(project):
    save(project, ".gitattributes", "*.bin filter=lfs\n")
    step(project, change("x.bin", None, b"large"))


@pytest.mark.parametrize(
    "make",
    [changed_since, dirty_before, staged_otherwise, all_undone, filtered, ignored_alone, before_the_session],
)
def test_what_would_take_in_more_than_the_session_is_refused(project, make):
    make(project)
    before = fingerprint(project / ".git")
    with pytest.raises(WorkspaceError, match="Nothing was committed"):
        commit_session(project, "s1", "t")
    after = fingerprint(project / ".git")
    assert {name: digest for name, digest in after.items() if not name.startswith("objects/")} == {
        name: digest for name, digest in before.items() if not name.startswith("objects/")
    }


@pytest.mark.parametrize(
    "name", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "index.lock"]
)
def test_what_is_going_on_in_a_repository_is_named(project, name):
    step(project, change("a.txt", b"old\n", b"new\n"))
    save(project, f".git/{name}", "")
    with pytest.raises(WorkspaceError, match=rf"The repository is busy \({name} exists\)\. Nothing was committed"):
        commit_session(project, "s1", "t")


@pytest.mark.parametrize("make", [all_undone, ignored_alone])
def test_a_session_of_which_nothing_would_be_kept_says_so(project, make):
    make(project)
    with pytest.raises(WorkspaceError, match="Session s1 has no changes in effect that git would keep"):
        commit_session(project, "s1", "t")


def test_without_a_repository_there_is_no_commit(tmp_path):
    step(tmp_path, change("a.txt", None, b"1"))
    with pytest.raises(WorkspaceError, match="not in a git repository"):
        commit_session(tmp_path, "s1", "t")


def test_nothing_of_a_hostile_repository_runs_for_a_commit(tmp_path):
    project = hostile(tmp_path)
    step(project, change("a.txt", b"old\n", b"new\n"))
    commit_session(project, "s1", "t")
    assert traces(tmp_path) == []
    assert git(project, "log", "-1", "--format=%s") == b"t\n"


def test_c7_12_a_backup_branch_keeps_the_work_tree_and_touches_nothing(project):
    save(project, "a.txt", "changed\n")
    (project / "gone.txt").unlink()
    save(project, "new.sh", "#!/bin/sh\n").chmod(0o755)
    save(project, "noise.log", "ignored")
    save(project, ".env", "KEY=secret")
    save(project, "id_rsa", "secret")
    git(project, "add", "b.txt")
    before = (status(project), (project / ".git/index").read_bytes(), git(project, "rev-parse", "HEAD"))
    name = backup_branch(project)
    assert before == (status(project), (project / ".git/index").read_bytes(), git(project, "rev-parse", "HEAD"))
    assert git(project, "ls-tree", "-r", "--name-only", name).decode().split() == [
        *(".gitignore", "a.txt", "b.txt", "new.sh")
    ]
    assert git(project, "show", f"{name}:a.txt") == b"changed\n"
    assert git(project, "ls-tree", name, "new.sh").startswith(b"100755")
    assert git(project, "symbolic-ref", "HEAD") == b"refs/heads/main\n"


def test_c7_12_on_a_clean_tree_it_is_the_last_commit_and_a_second_one_has_another_name(project):
    names = {backup_branch(project) for _ in range(3)}
    assert len(names) == 3
    for name in names:
        assert git(project, "rev-parse", name) == git(project, "rev-parse", "HEAD")


def test_c7_12_no_filter_and_no_hook_of_the_repository_runs_for_it(project, tmp_path):
    mark = tmp_path / "ran"
    git(project, "config", "filter.x.clean", f"touch {mark}; cat")
    save(project, ".gitattributes", "*.txt filter=x\n")
    save(project, ".git/hooks/reference-transaction", f"#!/bin/sh\ntouch {mark}\n").chmod(0o755)
    save(project, "a.txt", "changed\n")
    assert git(project, "show", f"{backup_branch(project)}:a.txt") == b"changed\n"
    mark.unlink(missing_ok=True)  # what git itself ran for the test
    backup_branch(project)
    assert not mark.exists()


def test_c7_12_before_the_first_commit_a_backup_branch_is_the_first(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    save(tmp_path, "a.txt", "1\n")
    name = backup_branch(tmp_path)
    assert git(tmp_path, "rev-list", "--parents", name).count(b" ") == 0
    assert git(tmp_path, "ls-tree", "-r", "--name-only", name) == b"a.txt\n"
    assert git(tmp_path, "for-each-ref", "--format=%(refname:short)").decode().split() == [name]
