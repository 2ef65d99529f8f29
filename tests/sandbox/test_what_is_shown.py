"""What a contained command may read: the project, the system, and a list that no repository has a say in."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rails.sandbox import places
from rails.sandbox.layer import Layer
from rails.sandbox.places import common_git, lacks_git, own_packages, own_program, roots
from rails.sandbox.run import layer_for, run
from rails.sandbox.view import SandboxView
from tests.sandbox.conftest import label_of

#: What a person's home holds here; no command may read any of it.
SECRET = (
    *(".local/share/opencode/auth.json", ".local/lib/python3.11/notes", ".local/bin/tool", ".aws/credentials"),
    *(".pyenv/version", ".pyenv/versions/3.11/etc/token", ".pyenv/versions/3.11/lib/token", ".virtualenvs/token"),
    *("other/node_modules/private/index.js", "dev/lib/python3.11/token", "dev/.env", ".env", "miniconda3/.condarc"),
    ".local/share/pnpm/token",
)
#: What is in one of the folders that are ours to show, and is shown where the project's environment needs it.
SHOWN = (".pyenv/versions/3.11/lib/python3.11/os.py", ".pyenv/versions/3.11/include/Python.h")
#: Places of a project at which a link means something, and where one may lead.
LINKS = (
    *(".venv", ".venv/bin/python", ".venv/bin", "venv", "venv/bin/python", "venv/lib", ".git", "tool"),
    *("node_modules", "node_modules/a", "node_modules/@b", "node_modules/@b/c", "node_modules/.bin/node"),
)
TARGETS = (
    *(".local", ".local/bin/python3.11", ".local/bin/tool", ".local/lib", ".aws", ".pyenv", ".pyenv/versions", "dev"),
    *(".pyenv/versions/3.11", ".pyenv/versions/3.11/bin/python3.11", ".virtualenvs", "dev/bin/python3.11", ""),
    *("other/node_modules", "other/node_modules/private", "miniconda3", ".local/share/pnpm", "nothing/bin/python3.11"),
)


def furnish(home, folder="src/p"):
    for name in (*SECRET, *SHOWN, "src/p/.rails/masking.key", "src/p/pkg/.rails/history.git/x"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("token\n")
    for name in (".local/bin/python3.11", "dev/bin/python3.11", ".pyenv/versions/3.11/bin/python3.11"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("#!/bin/sh\n")
        (home / name).chmod(0o755)
    (home / "dev/pyvenv.cfg").touch()
    (home / folder / "a.py").write_text("A = 1\n")
    return home / folder


def link(project, name, target):
    place = project / name
    if any(one.is_symlink() for one in (place, *place.parents)) or place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def readable(project, names, label, *, writes=True):
    """Return which of these files a command of the project can read."""
    line = 'for name in "$@"; do cat "$name" > /dev/null 2>&1 && echo "$name"; done; true'
    with layer_for(project, label) if writes else Layer(project) as layer:
        copies = [name.replace(str(project), str(layer.root)) for name in names if name.startswith(str(project))]
        argv = ("/bin/sh", "-c", line, "sh", *names, *copies)
        result = run(argv, SandboxView(project, layer), label=label, collect=False)
    assert result.ok, result
    return set(result.out.splitlines())


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("level", [3, 2, 1])
@pytest.mark.parametrize("writes", [True, False])
def test_whatever_links_a_project_has_its_commands_read_nothing_of_a_home(level, writes):
    label = label_of(level)

    @given(st.lists(st.tuples(st.sampled_from(LINKS), st.sampled_from(TARGETS), st.booleans()), max_size=5))
    @settings(max_examples=8, deadline=None, database=None)
    def holds(links):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            home = Path(folder).resolve() / "home"
            patch.setenv("HOME", str(home))
            project = furnish(home)
            for name, target, relative in links:
                up = "../" * (2 + name.count("/"))
                link(project, name, f"{up}{target}" if relative else home / target)
            secret = [str(home / name) for name in SECRET]
            secret += [str(project / name) for name in (".rails/masking.key", "pkg/.rails/history.git/x")]
            assert readable(project, [*secret, "a.py"], label, writes=writes) == {"a.py"}

    holds()


@pytest.mark.parametrize("level", [3, 1])
def test_of_an_interpreter_that_a_person_has_installed_its_library_is_shown_and_nothing_else(home, level):
    project = furnish(home)
    version = home / ".pyenv/versions/3.11"
    (version.parent / "3").symlink_to(version)  # as uv and pyenv name the latest of a line
    link(project, ".venv/bin/python", version.parent / "3/bin/python3.11")
    shown = [str(home / name) for name in SHOWN]
    shown += [str(version / "bin/python3.11"), str(version.parent / "3/bin/python3.11")]
    found = readable(project, [*shown, *(str(home / name) for name in SECRET)], label_of(level))
    assert found == set(shown)


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
    main, library = tmp_path / "main", tmp_path / "library"
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
    return tmp_path


@pytest.mark.parametrize("name", ["main", "tree", "main/sub", "main/pkg/deep", "tree/pkg/deep", "bare/inside"])
@pytest.mark.parametrize("level", [3, 2, 1])
def test_git_works_in_a_worktree_a_submodule_and_a_sub_folder_or_it_is_known_that_it_does_not(repository, name, level):
    project, label = repository / name, label_of(level)
    line = 'git log --oneline && ! echo > "$(git rev-parse --git-common-dir)/x"'
    with layer_for(project, label) as layer:
        result = run(("/bin/sh", "-c", line), SandboxView(project, layer), label=label)
    assert result.ok == (not lacks_git(project, level)), result
    works_nowhere, not_on_a_copy = name == "bare/inside", name not in ("main", "tree")
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
