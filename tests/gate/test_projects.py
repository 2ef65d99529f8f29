"""`ai-rails gate` where projects really lie: monorepos, work trees, submodules, and what pre-commit hands over."""

import io
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rails.cli import main
from rails.core.restrictions import Restrictions


class Repository:
    """A folder, git in it, and `ai-rails gate` from any of its folders."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder = folder
        self.patch = monkeypatch
        self.printed = capsys
        folder.mkdir(exist_ok=True)

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

    def given(self, data):
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    def gate(self, *words, at="."):
        self.patch.chdir(self.folder / at)
        code = main(["gate", *words])
        return code, "".join(self.printed.readouterr())


@pytest.fixture
def repository(tmp_path, monkeypatch, capsys):
    return Repository(tmp_path / "repository", monkeypatch, capsys)


LAYOUTS = tomllib.loads((Path(__file__).parent / "layouts.toml").read_text())
TEXTS = LAYOUTS.pop("texts")


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_project_is_judged_as_it_lies(repository, layout):
    """The nearest project above counts, its nearest settings decide, and all that is staged or differs is judged."""
    [rows] = layout
    for name, text in rows["files"].items():
        repository.write(name, TEXTS.get(text, text))
    for name, target in rows.get("links", {}).items():
        repository.folder.joinpath(name).symlink_to(target)
    for words in rows.get("git", ()):
        repository.git(*words.split())
    for name, text in rows.get("later", {}).items():
        repository.write(name, TEXTS.get(text, text))
    for at, words, code, says in rows["runs"]:
        result, printed = repository.gate(*words.split(), at=at)
        assert result == code, printed
        assert (says.removeprefix("!") in printed) != says.startswith("!"), printed


def test_a_project_below_a_folder_whose_name_is_no_utf_8_is_compared_with_its_commit(repository):
    repository.git("init", "-q")
    odd = os.fsdecode(b"\xff")
    repository.write(f"{odd}/.rails.toml", "")
    repository.write(f"{odd}/a.json", "{}")
    repository.commit()
    repository.write(f"{odd}/a.json", "nope")
    code, said = repository.gate("--diff", "HEAD", at=odd)
    assert (code, "json-syntax" in said) == (1, True), said


def test_what_any_level_above_forbids_is_forbidden(repository):
    """The restrictions of each project above hold; a folder below adds to them and takes nothing away."""
    repository.git("init", "-q")
    repository.write(".agent-restrictions", "secret.txt\n")
    repository.write("packages/.agent-restrictions", "*.key\n")
    repository.write("packages/a/.agent-restrictions", "!secret.txt\nown.txt\n")
    restrictions = Restrictions.of(repository.folder / "packages" / "a")
    forbidden = [name for name in ("secret.txt", "b.key", "own.txt", "m.py") if restrictions.reason(name)]
    assert forbidden == ["secret.txt", "b.key", "own.txt"]


def test_a_pointer_of_git_lfs_is_a_note(repository):
    """Its content is not here, whatever the file is called."""
    for name in ("a.py", "b.json"):
        repository.write(name, f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 8\n")
    code, said = repository.gate()
    assert (code, said.count("pointer of Git LFS")) == (0, 2), said
    assert repository.gate("--require")[0] == 3
    assert "Nothing was checked." in said
    repository.git("init", "-q")
    repository.commit()
    repository.write("b.json", "nope\n")
    assert repository.gate("--diff", "HEAD")[0] == 1, "what a pointer stood for was no broken file"


def test_a_large_file_that_has_no_check_is_a_note_and_one_that_has_is_required(repository):
    """The same exit code in every mode."""
    repository.git("init", "-q")
    repository.write("a.txt", "x\n")
    repository.commit()
    (repository.folder / "p.png").write_bytes(bytes(11_000_000))
    repository.git("add", "-A")
    assert [repository.gate(*words)[0] for words in ([], ["--diff", "HEAD"], ["--staged"])] == [0, 0, 0]
    large = b"#" * 11_000_000
    (repository.folder / "p.py").write_bytes(large)
    repository.git("add", "-A")
    assert [repository.gate(*words)[0] for words in (["p.py"], ["--staged"])] == [3, 3]
    for name, code in (("p.py", 3), ("p.png", 0)):
        repository.given(large)
        given_back = repository.gate("--fix", "--stdin-filename", name)
        assert (given_back[0], given_back[1].count("#")) == (code, len(large)), "the buffer of an editor is never cut"


def test_in_ci_it_is_no_pass_that_nothing_staged_or_named_was_there_to_check(repository, monkeypatch):
    """Names are of pre-commit, for a range of commits. That nothing differs from a revision is an answer."""
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD")
    repository.git("init", "-q")
    repository.write("m.py", "x = 1\n")
    repository.commit()
    for ci, code in (("true", 3), ("false", 0), ("", 0)):
        monkeypatch.setenv("CI", ci)
        ways = (["--staged"], ["--staged", "m.py"], ["--diff", "HEAD"])
        assert [repository.gate(*words)[0] for words in ways] == [code, code, 0], ci


def test_a_buffer_is_judged_as_the_file_would_be(repository):
    """Without --fix nothing is called fixed that nobody gets."""
    repository.write("pyproject.toml", "[tool.ruff.lint]\nselect = ['F', 'I']\n")
    repository.write("a.py", "import os\n")
    repository.given(b"import os\n")
    code, printed = repository.gate("--stdin-filename", "a.py")
    assert (code, "F401" in printed, "Fixed" in printed) == (1, True, False)
    assert repository.gate("a.py")[0] == 1
    repository.given(b"x = 1\n")
    assert repository.gate("--stdin-filename=-x.py")[0] == 0, "a name that a file may have"


def test_what_is_staged_in_part_is_not_repaired_and_the_person_is_told_what_to_do(repository):
    """A repair of the file would mix what is staged with what is not."""
    repository.git("init", "-q")
    repository.write("pyproject.toml", "[tool.ruff.lint]\nselect = ['F']\n")
    repository.write("a.py", "import os\n")
    repository.write("b.py", "import os\n")
    repository.git("add", "-A")
    repository.write("a.py", "import os\n\nx = 1\n")
    code, printed = repository.gate("--staged", "--fix")
    assert (code, "stage the rest with git add" in printed, "b.py: F401 (1)" in printed) == (1, True, True), printed
    assert [(repository.folder / name).read_text() for name in ("a.py", "b.py")] == ["import os\n\nx = 1\n", ""]
    repository.git("add", "-A")
    assert repository.gate("--staged", "--fix")[0] == 0


def test_a_name_that_is_not_utf_8_is_named_as_such(repository):
    """It can be given to no tool, and the rest is judged."""
    (repository.folder / os.fsdecode(b"b\xff.py")).write_text("x = 1\n")
    repository.write("a.py", "print(undefined)\n")
    code, printed = repository.gate()
    assert (code, "it is not UTF-8" in printed, "F821" in printed) == (1, True, True), printed


@pytest.mark.parametrize("name", ["chart/templates/a.yaml", "renovate.json5"])
def test_what_has_no_check_is_no_error(repository, name):
    """A template of YAML, a form of JSON that nothing reads: noted, and only --require fails."""
    repository.write(name, "a: {{ .b }}\n")
    code, printed = repository.gate(name)
    assert (code, "Nothing was checked" in printed) == (0, True), printed
    assert repository.gate("--require", name)[0] == 3
