"""Every path that git or the disk holds stands in the files once: chosen, gone, or missed with its reason."""

import os
import shutil
import subprocess

import pytest

from rails.core.errors import UsageError
from rails.core.verdict import NotChecked
from rails.gate import changed_files
from rails.gate.changed_files import read_changed_files as read
from rails.git import blobs

LINK = "it is a link; links are not followed"
PIPE = "it is a pipe, a socket or a device"
OWN = "it is a repository of its own"
IGNORED = "it is ignored; name the file itself to have it checked"
#: A name with a line break: no tool is given it.
NAME = "its name is refused: it has control or invisible characters."


@pytest.fixture
def put(project):
    def put(name, text="x\n"):
        place = project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    return put


@pytest.fixture
def git(project):
    def git(*words, at=None):
        settings = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *settings, *words], cwd=at or project, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    return git


def commit(git, *words):
    git("init", "-q", *words)
    git("add", "-A")
    git("commit", "-qm", "base")


def told(files):
    missed = {(one.path, one.check, one.reason): one.required for one in files.missed}
    return [str(path) for path in files.chosen], [str(path) for path in files.deleted], missed


def odd_things(project, put):
    """One of each kind, and where it leads."""
    put("a.py")
    os.mkfifo(project / "pipe")
    (project.parent / "out.py").write_text("x\n")
    (project / "away").symlink_to(project.parent / "out.py")
    (project / "near").symlink_to("a.py")
    (project / "git").symlink_to(".git/config")
    put("own/.git/HEAD")
    put("own/b.py")
    put("bad\nname.py")
    put("bad\nname")
    put(".hidden/c.py")
    put(".rails/state")


def test_without_git_what_is_hidden_stays_so_and_nothing_odd_is_required_but_a_name_that_has_checks(project, put):
    odd_things(project, put)
    chosen, deleted, missed = told(read(project, ()))
    assert (chosen, deleted) == (["a.py"], [])
    assert missed == {
        ("pipe", "read", PIPE): False,
        ("away", "read", LINK): False,
        ("near", "read", LINK): False,
        ("git", "read", LINK): False,
        ("own", "read", OWN): False,
        (r"bad\x0aname.py", "path", NAME): True,
        (r"bad\x0aname", "path", NAME): False,
    }
    with pytest.raises(UsageError, match="is not in a git repository, so there is nothing to compare with"):
        read(project, (), base="HEAD")


def test_against_a_base_what_came_and_cannot_be_read_is_required(project, put, git):
    put("first.py")
    commit(git)
    odd_things(project, put)
    chosen, deleted, missed = told(read(project, (), base="HEAD"))
    assert (chosen, deleted) == ([".hidden/c.py", "a.py", "own/b.py"], []), "a folder that git takes for none"
    assert missed == {
        ("away", "read", LINK): True,
        ("near", "read", LINK): False,
        ("git", "read", LINK): True,
        (r"bad\x0aname.py", "path", NAME): True,
        (r"bad\x0aname", "path", NAME): True,
    }


@pytest.mark.parametrize("words", [(), ("--object-format=sha256",)])
def test_what_the_base_has_the_same_is_left_out_whatever_its_kind(project, put, git, words, monkeypatch):
    monkeypatch.setattr(blobs, "_CHUNK", 1)
    odd_things(project, put)
    os.unlink(project / "pipe")
    for name in ("bad\nname.py", "own/.git/HEAD"):
        os.unlink(project / name)
    (project / "own/.git").rmdir()
    put("crlf.py", "a\nb\n")
    put("large.bin", b"x\n" * 100)
    commit(git, *words)
    put("crlf.py", "a\r\nb\r\n")
    assert told(read(project, (), base="HEAD")) == ([], [], {})
    put("crlf.py", "a\r\nc\r\n")
    put("large.bin", b"x\n" * 99 + b"y\n")
    put("a.py", "y\n").chmod(0o755)
    (project / "near").unlink()
    (project / "near").symlink_to("crlf.py")
    (project / "bad\nname").unlink()
    (project / ".hidden/c.py").unlink()
    chosen, deleted, missed = told(read(project, (), base="HEAD"))
    assert (chosen, deleted) == (["a.py", "crlf.py", "large.bin"], [".hidden/c.py"])
    assert missed == {
        ("near", "read", LINK): False,
        (r"bad\x0aname", "path", "it is gone, and its name is refused"): False,
    }


def test_a_file_that_became_a_link_and_a_link_that_became_a_file_are_told(project, put, git):
    put("a.py", "b.py")
    (project / "b.py").symlink_to("a.py")
    commit(git)
    (project / "a.py").unlink()
    (project / "a.py").symlink_to("b.py")
    (project / "b.py").unlink()
    put("b.py", "x = 1")
    chosen, _, missed = told(read(project, (), base="HEAD"))
    assert (chosen, missed) == (["b.py"], {("a.py", "read", LINK): False})


def test_staged_is_what_the_index_has_in_place_of_the_base(project, put, git):
    for name in ("same.py", "gone.py", "changed.py", "mode.py", "only_index.py"):
        put(name)
    put("kept.py")
    commit(git)
    put("changed.py", "y\n")
    (project / "mode.py").chmod(0o755)
    (project / "gone.py").unlink()
    put("new/n.py")
    (project / "link").symlink_to("same.py")
    (project / "away").symlink_to(project.parent / "elsewhere")
    put("own/b.py")
    commit(lambda *words: git(*words, at=project / "own"))
    git("add", "-A")
    git("rm", "-q", "--cached", "only_index.py")
    put("same.py", "not staged\n")
    chosen, deleted, missed = told(read(project, (), base="HEAD", staged=True))
    assert (chosen, deleted) == (["changed.py", "mode.py", "new/n.py"], ["gone.py", "only_index.py"])
    assert missed == {
        ("away", "read", "it is a link; links are not followed"): True,
        ("link", "read", "it is a link; links are not followed"): False,
        ("own", "read", f"{OWN}, recorded by its commit"): False,
    }
    chosen, deleted, missed = told(read(project, ("new", "gone.py"), base="HEAD", staged=True))
    assert (chosen, deleted, missed) == (["new/n.py"], ["gone.py"], {})


def test_a_repository_that_is_recorded_is_left_out_while_its_commit_is_the_recorded_one(project, put, git):
    put("own/b.py")
    commit(lambda *words: git(*words, at=project / "own"))
    put("a.py")
    commit(git)
    assert told(read(project, (), base="HEAD")) == ([], [], {})
    (project / "own").rename(project.parent / "moved")
    assert told(read(project, (), base="HEAD")) == ([], [], {}), "it need not be there"
    (project.parent / "moved").rename(project / "own")
    put("own/b.py", "y\n")
    git("commit", "-qam", "next", at=project / "own")
    git("add", "own")
    recorded = ("own", "read", f"{OWN}, recorded by its commit")
    assert told(read(project, (), base="HEAD"))[2] == {recorded: False}
    assert told(read(project, ()))[2] == {recorded: False}
    git("rm", "-qf", "--cached", "own")
    assert told(read(project, (), base="HEAD"))[2] == {("own", "read", OWN): True}


def test_a_file_that_became_a_repository_is_told_as_one_that_nobody_recorded(project, put, git):
    put("thing").write_text("x\n")
    commit(git)
    (project / "thing").unlink()
    put("thing/evil.py")
    commit(lambda *words: git(*words, at=project / "thing"))
    assert told(read(project, (), base="HEAD")) == ([], [], {("thing", "read", OWN): True})
    shutil.rmtree(project / "thing/.git")
    assert told(read(project, (), base="HEAD")) == (["thing/evil.py"], ["thing"], {}), "a folder is none"
    assert told(read(project, ())) == (["thing/evil.py"], [], {})


def test_named_are_the_files_and_all_that_lies_in_the_folders(project, put, git):
    for name in ("a.py", "ab.py", "lib/b.py", "lib/deep/c.py", "library/d.py", "log/e.log", "lib/f.log", "x.log"):
        put(name)
    put(".gitignore", "*.log\n/log/\n")
    commit(git)
    assert told(read(project, ("a.py", "lib")))[0] == ["a.py", "lib/b.py", "lib/deep/c.py"]
    assert told(read(project, ("lib", "x.log"))) == (
        ["lib/b.py", "lib/deep/c.py", "x.log"],
        [],
        {("lib/f.log", "git", IGNORED): False},
    )
    assert told(read(project, ("log",))) == ([], [], {("log", "git", IGNORED): False}), "a folder"
    os.mkfifo(project / "log/p")
    (project / "l.log").symlink_to("a.py")
    odd = {("log/p", "read", PIPE): False, ("l.log", "read", LINK): False}
    assert told(read(project, ("log/p", "l.log", ""))) == (
        told(read(project, ()))[0],
        [],
        odd,
    )
    assert told(read(project, ("lib/f.log", "lib"))) == (
        ["lib/b.py", "lib/deep/c.py", "lib/f.log"],
        [],
        {},
    )
    everything = [".gitignore", "a.py", "ab.py", "lib/b.py", "lib/deep/c.py", "library/d.py"]
    assert told(read(project, ())) == (everything, [], {})
    assert told(read(project, ("",))) == (everything, [], {})
    assert told(read(project, ("nowhere.py",))) == ([], [], {})
    (project / "lib/b.py").unlink()
    put("a.py", "y\n")
    assert told(read(project, ("lib",), base="HEAD"))[:2] == ([], ["lib/b.py"])
    assert told(read(project, ("a.py", "ab.py"), base="HEAD"))[:2] == (["a.py"], []), "the same is left out"


def test_what_git_is_told_to_overlook_is_looked_at(project, put, git):
    for name in ("a.py", "b.py", "pkg/c.py", "pkg/d.py"):
        put(name)
    commit(git)
    git("update-index", "--assume-unchanged", "a.py")
    git("update-index", "--skip-worktree", "b.py")
    put("a.py", "y\n")
    put("b.py", "y\n")
    assert told(read(project, (), base="HEAD")) == (["a.py", "b.py"], [], {})
    (project / "b.py").unlink()
    assert told(read(project, (), base="HEAD")) == (["a.py"], [], {}), "a sparse checkout need not hold it"
    put("pkg/new.py")
    git("add", "pkg/new.py")
    put("pkg/.git", "")
    put("pkg/c.py", "y\n")
    chosen, deleted, missed = told(read(project, (), base="HEAD"))
    assert (chosen, deleted, missed) == (["a.py", "pkg/c.py", "pkg/new.py"], [], {})


def test_what_is_staged_before_the_first_commit_is_all_of_it_and_no_link_is_required(project, put, git):
    put("a.py")
    (project / "away").symlink_to(project.parent)
    git("init", "-q")
    git("add", "-A")
    text = "it is a link; links are not followed"
    assert told(read(project, (), staged=True)) == (["a.py"], [], {("away", "read", text): False})
    git("commit", "-qm", "base")
    (project / "away2").symlink_to(project.parent)
    git("add", "-A")
    assert told(read(project, (), base="HEAD", staged=True)) == ([], [], {("away2", "read", text): True})


def test_what_only_the_index_or_only_the_base_has_is_gone_or_nothing(project, put, git):
    for name in ("a.py", "b.py"):
        put(name)
    commit(git)
    put("c.py")
    git("add", "c.py")
    (project / "c.py").unlink()
    git("rm", "-q", "b.py")
    assert told(read(project, (), base="HEAD")) == ([], ["b.py"], {})
    assert told(read(project, (), base="HEAD", staged=True)) == (["c.py"], ["b.py"], {})
    assert told(read(project, ())) == (["a.py"], [], {})


def test_a_walk_ends_at_its_bound_and_says_so(project, put, monkeypatch):
    for number in range(5):
        put(f"{number}.py")
    monkeypatch.setattr(changed_files, "_MOST", 5)
    found = read(project, ())
    assert (len(found.chosen), found.missed) == (5, ())
    put("5.py")
    put("6.py")
    found = read(project, ())
    assert [str(path) for path in found.chosen] == [f"{number}.py" for number in range(6)]
    assert found.missed == (NotChecked(".", "walk", "there are more than 5 files; name folders", True),)


def test_a_project_within_a_repository_is_read_from_its_own_folder(project, put, git):
    put("sub/a.py")
    put("sub/x.log")
    put(".gitignore", "*.log\n")
    put("b.py")
    commit(git)
    put("sub/a.py", "y\n")
    put("b.py", "y\n")
    put("sub/evil.py")
    put("sub/deep/.gitignore", "*\n")
    assert told(read(project / "sub", (), base="HEAD"))[0] == ["a.py", "evil.py"]
    put("sub/.gitignore", "evil.py\n")
    assert told(read(project / "sub", ())) == ([".gitignore", "a.py"], [], {})
    assert told(read(project / "sub", ("x.log",)))[0] == ["x.log"]
