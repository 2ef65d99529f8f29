"""`ai-rails gate` where projects really lie: monorepos, work trees, submodules, and what pre-commit hands over."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BAD = "print(undefined)\n"
LONG = 'x = "' + "a" * 100 + '"\n'
WIDE = "[tool.ruff]\nline-length = 120\n[tool.ruff.lint]\nselect = ['E', 'F']\n"


class Repository:
    """A folder, git in it, and `ai-rails gate` from any of its folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def put(self, **files):
        for name, text in files.items():
            self.write(name, text)

    def write(self, name, text):
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def git(self, *words, at="."):
        settings = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
        subprocess.run(["git", *settings, *words], cwd=self.folder / at, check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "one")

    def gate(self, *words, at="."):
        command = [sys.executable, "-m", "rails", "gate", *words]
        done = subprocess.run(command, cwd=self.folder / at, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository")
    made.git("init", "-q")
    return made


def three_packages(one):
    for name in "abc":
        one.write(f"packages/{name}/pyproject.toml", "[project]\nname = 'x'\n")
        one.write(f"packages/{name}/m.py", "x = 1\n")
    one.write("pyproject.toml", WIDE)


def own_settings(one):
    three_packages(one)
    one.write("packages/a/pyproject.toml", "[tool.ruff]\nextend = '../../pyproject.toml'\n")


def workspace(one):
    one.write("package.json", '{"workspaces": ["packages/*"]}')
    one.write("pnpm-workspace.yaml", "packages: ['packages/*']\n")
    three_packages(one)


def nx(one):
    one.write("nx.json", "{}")
    three_packages(one)


def flake8_at_the_root(one):
    three_packages(one)
    one.write(".flake8", "[flake8]\nmax-line-length = 120\n")


@pytest.mark.parametrize("lay_out", [three_packages, own_settings, workspace, nx, flake8_at_the_root])
def test_the_settings_of_the_root_count_in_a_folder_below(repository, lay_out):
    """From the package, the file is judged as from the root."""
    lay_out(repository)
    repository.write("packages/a/m.py", LONG)
    assert repository.gate("packages/a/m.py") == repository.gate("m.py", at="packages/a")
    assert repository.gate("m.py", at="packages/a")[0] == 0


def test_all_that_is_staged_is_judged_from_any_folder_and_here_is_less(repository):
    """A mistake that is staged in another package is no pass; without staging the folder is the filter."""
    three_packages(repository)
    repository.commit()
    repository.write("packages/b/m.py", BAD)
    repository.git("add", "-A")
    for words in (["--staged"], ["--diff", "HEAD"]):
        code, said = repository.gate(*words, at="packages/a")
        assert (code, "F821" in said, "--here" in said) == (1, True, True)
        assert repository.gate(*words, "--here", at="packages/a")[0] == 0
    assert repository.gate(at="packages/a")[0] == 0
    assert repository.gate(at="packages/b")[0] == 1


@pytest.mark.parametrize("kind", ["worktree", "submodule", "inner", "none", "rails"])
def test_the_nearest_project_above_counts(repository, tmp_path, kind):
    """A work tree, a submodule, a repository inside another; no repository; a folder with settings of its own."""
    repository.write("pyproject.toml", WIDE)
    repository.write("src/m.py", "x = 1\n")
    repository.commit()
    place = {"worktree": "../tree", "submodule": "sub", "inner": "inner", "none": "../plain", "rails": "src"}[kind]
    other = Repository(repository.folder / place)
    if kind == "worktree":
        repository.git("worktree", "add", "-q", place)
    elif kind == "submodule":
        repository.git("clone", "-q", ".", "../origin")
        other.folder.rmdir()
        repository.git("submodule", "add", "-q", "../origin", "sub")
    elif kind == "inner":
        other.git("init", "-q")
    elif kind == "rails":
        other.write(".rails.toml", "")
    if kind in ("inner", "none", "rails"):
        other.write("pyproject.toml", "[tool.ruff]\nline-length = 80\n[tool.ruff.lint]\nselect = ['E']\n")
    other.write("deep/m.py", LONG)
    code, said = other.gate("m.py", at="deep")
    # Without a repository the folder is a project of its own, which has no settings and so no style.
    is_wide = kind in ("worktree", "submodule", "none")
    assert (code, "E501" in said) == ((0, False) if is_wide else (1, True)), said


def test_the_nearest_settings_decide_the_formatter(repository):
    """Below a root with ruff, a package that names black is formatted by black with its own line length."""
    repository.write("pyproject.toml", "[tool.ruff]\nline-length = 60\n[tool.ruff.format]\n")
    repository.write("packages/b/pyproject.toml", "[tool.black]\nline-length = 120\n")
    text = f'value = call("{"p" * 30}", "{"q" * 20}")\n\n\ndef call(*a):\n    return a\n'
    repository.write("packages/b/m.py", text)
    code, said = repository.gate("--fix", "packages/b/m.py")
    assert ("format" in said, (repository.folder / "packages/b/m.py").read_text()) == (False, text), (code, said)


PRE_COMMIT = shutil.which("pre-commit", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))


@pytest.mark.skipif(PRE_COMMIT is None, reason="pre-commit is not installed")
@pytest.mark.parametrize("way", ["commit", "--all-files", "--files", "--from-ref"])
def test_what_pre_commit_names_is_judged(repository, way):
    """Staged at a commit; whatever is there for --all-files and --files; what is new since --from-ref."""
    hook = f"entry: {sys.executable} -m rails gate --staged\n    language: system\n    types: [text]"
    repository.write(
        ".pre-commit-config.yaml", f"repos:\n- repo: local\n  hooks:\n  - id: gate\n    name: gate\n    {hook}\n"
    )
    repository.write("pyproject.toml", WIDE)
    repository.write("a.py", "x = 1\n")
    repository.commit()
    repository.write("bad.py", BAD)
    repository.git("add", "-A")
    words = {
        "commit": [],
        "--all-files": [way],
        "--files": [way, "bad.py"],
        "--from-ref": [way, "HEAD~1", "--to-ref", "HEAD"],
    }
    if way != "commit":
        repository.git("commit", "-qnm", "bad")
    command = [PRE_COMMIT, "run", *words[way]]
    environment = {**os.environ, "PRE_COMMIT_HOME": str(repository.folder.parent / "cache")}
    done = subprocess.run(command, cwd=repository.folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "F821" in done.stdout) == (1, True), done.stdout


def test_a_pointer_of_git_lfs_is_a_note(repository):
    """Its content is not here, whatever the file is called."""
    for name in ("a.py", "b.json"):
        repository.write(name, f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 8\n")
    code, said = repository.gate()
    assert (code, said.count("pointer of Git LFS")) == (0, 2), said
    assert repository.gate("--require")[0] == 3
    assert "Nothing was checked." in said


def test_a_large_file_that_has_no_check_is_a_note_and_one_that_has_is_required(repository):
    """The same exit code in every mode."""
    repository.write("a.txt", "x\n")
    repository.commit()
    (repository.folder / "p.png").write_bytes(bytes(11_000_000))
    repository.git("add", "-A")
    assert [repository.gate(*words)[0] for words in ([], ["--diff", "HEAD"], ["--staged"])] == [0, 0, 0]
    (repository.folder / "p.py").write_bytes(b"#" * 11_000_000)
    assert repository.gate("p.py")[0] == 3


def test_a_buffer_is_judged_as_the_file_would_be(repository):
    """Without --fix nothing is called fixed that nobody gets."""
    repository.write("pyproject.toml", "[tool.ruff.lint]\nselect = ['F', 'I']\n")
    repository.write("a.py", "import os\n")
    command = [sys.executable, "-m", "rails", "gate", "--stdin-filename", "a.py"]
    buffer = subprocess.run(
        command, cwd=repository.folder, input="import os\n", capture_output=True, text=True, check=False
    )
    assert (buffer.returncode, "F401" in buffer.stdout, "Fixed" in buffer.stdout) == (1, True, False)
    assert repository.gate("a.py")[0] == 1
