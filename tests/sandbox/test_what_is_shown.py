"""What a contained command may read: the project, the system, and a list that no repository has a say in."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rails.core.errors import CheckError
from rails.sandbox import layer, places
from rails.sandbox.layer import Layer, hidden_in
from rails.sandbox.places import common_git, hidden_places, lacks_git, own_packages, own_program, roots
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import SandboxView
from tests.sandbox.conftest import label_of
from tests.sandbox.link_trees import LINKS, SECRET, SHOWN, furnish, leaks, link, read_inside


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("level", [3, 2, 1])
def test_whatever_links_a_project_has_its_commands_read_nothing_of_a_home(level):
    """A sample: ``tests/prove/test_link_trees.py`` tries hundreds at each level."""
    label = label_of(level)

    @given(LINKS, st.booleans())
    @settings(max_examples=6, deadline=None, database=None)
    def holds(links, writes):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            home = Path(folder).resolve() / "home"
            patch.setenv("HOME", str(home))
            assert leaks(home, links, label, writes=writes) == set()

    holds()


@pytest.mark.parametrize("level", [3, 1])
def test_of_an_interpreter_that_a_person_has_installed_its_library_is_shown_and_nothing_else(home, level):
    project = furnish(home)
    version = home / ".pyenv/versions/3.11"
    (version.parent / "3").symlink_to(version)  # as uv and pyenv name the latest of a line
    link(project, ".venv/bin/python", version.parent / "3/bin/python3.11")
    found = read_inside(project, [str(home / name) for name in (*SECRET, *SHOWN)], label_of(level))
    assert found == {"OWN", *(f"PROGRAM {name}" for name in SHOWN[:2])}


def test_a_folder_that_the_user_has_named_is_shown(home, monkeypatch):
    project = furnish(home)
    monkeypatch.setenv(places.USERS, "~/dev:relative:")
    assert home / "dev" in roots(SandboxView(project))
    assert project.parent / "relative" not in roots(SandboxView(project))


def test_what_a_check_names_in_the_project_is_followed_nowhere(home):
    project = furnish(home)
    link(project, ".venv/bin/mypy", home / ".local/bin/tool")
    link(project, "node_modules", home / "other/node_modules")
    assert own_program(project / ".venv/bin/mypy", project) == ()
    assert own_packages(project / "node_modules") == ()
    assert own_packages(home / "other/node_modules") == (home / "other/node_modules",)


def test_in_a_project_that_is_shown_beside_its_copy_the_state_of_others_is_hidden(tmp_path):
    state = tmp_path / "home/packages/a/.rails"
    state.mkdir(parents=True)
    (tmp_path / "copy").mkdir()
    with Layer(tmp_path / "copy") as layer:
        assert hidden_places(SandboxView(tmp_path / "copy", layer, (tmp_path / "home",))) == [(state, True)]


def test_the_state_of_projects_is_found_at_any_depth(tmp_path):
    states = [tmp_path / place / ".rails" for place in (".", "a", "a/b/c/d/e", "z")]
    for state in (*states, tmp_path / "a/leaf", tmp_path / "node_modules/.rails"):
        state.mkdir(parents=True)
    assert sorted(hidden_in(tmp_path)) == [(state, True) for state in sorted(states)]


def test_a_project_that_is_too_large_is_refused_and_its_state_is_not_shown(tmp_path, monkeypatch):
    for place in ("a/b/.rails", "c/d/.rails"):
        (tmp_path / place).mkdir(parents=True)
    monkeypatch.setattr(layer, "_MOST_LOOKED_AT", 6)
    assert len(list(hidden_in(tmp_path))) == 2
    for name, bound in (("_MOST_LOOKED_AT", 5), ("_LOOK_SECONDS", -1.0)):
        monkeypatch.setattr(layer, name, bound)
        with pytest.raises(CheckError, match=r"What commands may not see in .* was not found within .* Nothing was"):
            list(hidden_in(tmp_path))


# -- git where a project is not a repository of its own ------------------------------------------------


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=d", "-c", "user.email=d@e", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path):
    main = tmp_path / "main"
    library = tmp_path / "library"
    for folder in (library, main):
        (folder / "pkg/deep").mkdir(parents=True)
        (folder / "pkg/deep/f").write_text("1\n")
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
    git(main, "submodule", "add", "-q", "../library", "sub")
    git(main, "commit", "-qm", "second")
    git(main, "worktree", "add", "-q", "../tree", "-b", "tree")
    git(tmp_path, "clone", "-q", "--bare", "main", "bare")
    git(tmp_path / "bare", "worktree", "add", "-q", "inside")
    git(tmp_path, "clone", "-q", "--shared", "main", "shared")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["main", "tree", "main/sub", "main/pkg/deep", "tree/pkg/deep", "bare/inside", "shared"]
)
@pytest.mark.parametrize("level", [3, 2, 1])
def test_git_works_in_a_worktree_a_submodule_and_a_sub_folder_or_it_is_known_that_it_does_not(repository, name, level):
    project = repository / name
    label = label_of(level)
    line = 'git log --oneline && ! echo > "$(git rev-parse --git-common-dir)/x"'
    with layer_for(project, label) as layer:
        result = run(("/bin/sh", "-c", line), SandboxView(project, layer), label=label)
    assert result.ok == (not lacks_git(project, level)), result
    works_nowhere = name in ("bare/inside", "shared")
    not_on_a_copy = name not in ("main", "tree")
    assert lacks_git(project, level) == (works_nowhere or (level == 1 and not_on_a_copy))


def test_a_git_file_that_names_a_directory_which_does_not_name_the_project_is_not_followed(repository):
    project = repository / "downloaded"
    project.mkdir()
    for target in ("main/.git", "main/.git/worktrees/tree", "main/.git/modules/sub", "nothing"):
        (project / ".git").write_text(f"gitdir: {repository / target}\n")
        assert common_git(project) == ()
        assert lacks_git(project, 3)


def test_the_repository_of_a_home_is_not_shown_to_its_sub_folders(home):
    project = furnish(home)
    git(home, "init", "-q")
    assert common_git(project) == ()
    shutil.rmtree(home / ".git")
    assert not lacks_git(project, 3)
