"""What an agent needs to read less: outlines, a file by symbol, and a map of the project."""

import errno
import io
import os

import pytest

from rails.core import limits
from rails.core.app_dirs import builtin_folder
from rails.core.tool_request import RawRequest
from rails.tools.loader import load_definitions
from rails.tools.runners.files import project_map, run_builtin_tool
from rails.tools.validate import validate

SOURCE = (
    "import os\n\n\ndef greet(name):\n    return name\n\n\nclass Greeter:\n    def greet(self):\n        return 1\n"
)


@pytest.fixture
def run(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/greet.py").write_text(SOURCE)
    (tmp_path / "notes.txt").write_text("notes\n")
    definitions = load_definitions([builtin_folder("mcp_definitions")])

    def go(tool, **parameters):
        found = validate(RawRequest("r", tool, parameters, "because"), definitions, "coder")
        return run_builtin_tool(found, definitions.get(tool), tmp_path)

    return go


def test_an_outline_has_every_symbol_with_its_lines(run):
    text = run("outline").text
    assert "pkg/greet.py" in text
    assert "     4-5      def greet(name):" in text
    assert "     9-10       def greet(self):" in text
    assert "notes.txt" not in text
    assert run("outline", path="pkg/greet.py").text.count("greet.py") == 1


def test_a_file_is_read_by_symbol(run):
    told = run("read_file", file_path="pkg/greet.py", symbol="Greeter.greet")
    assert told.text.splitlines()[0].startswith("pkg/greet.py: lines 9 to 10 of 10")
    assert "return 1" in told.text
    assert "import os" not in told.text
    assert "lines 4 to 5" in run("read_file", file_path="pkg/greet.py", symbol="greet").text


def test_a_symbol_that_is_not_there_names_the_nearest_and_one_that_is_twice_where_they_are(run, tmp_path):
    assert "do you mean Greeter?" in run("read_file", file_path="pkg/greet.py", symbol="Gretter").text
    (tmp_path / "two.py").write_text("class A:\n    def f(self): ...\n\n\nclass B:\n    def f(self): ...\n")
    told = run("read_file", file_path="two.py", symbol="f").text
    assert "A.f (line 2), B.f (line 6)" in told
    assert "use outline" in run("read_file", file_path="notes.txt", symbol="x").text


def test_the_map_has_the_files_by_folder_and_what_they_define(run, tmp_path):
    shown = project_map(tmp_path, limits.MAP_BYTES)
    assert shown.splitlines() == ["./: notes.txt", "pkg/: greet.py", "pkg/greet.py: greet, Greeter"]


@pytest.mark.parametrize("files", [1, 50, 1_500])
def test_the_map_of_any_project_stays_within_its_bound(run, tmp_path, files):
    for number in range(files):
        folder = tmp_path / f"src/part{number % 37}/deep{number % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module_with_a_long_name_{number}.py").write_text(f"def function_{number}(): ...\n" * 3)
    shown = project_map(tmp_path, limits.MAP_BYTES)
    assert len(shown.encode()) <= limits.MAP_BYTES
    assert "src" in shown


def test_a_map_counts_bytes_and_says_how_many_files_there_are_where_it_has_no_room_for_their_names(tmp_path):
    for number in range(100):
        (tmp_path / f"第{number}章的内容和说明.txt").touch()
    assert project_map(tmp_path, limits.MAP_BYTES) == "./: 100 files"
    assert project_map(tmp_path, 10_000).startswith("./: 第0章")


def test_what_is_kept_from_agents_is_not_on_the_map(run, tmp_path):
    (tmp_path / ".agent-restrictions").write_text("secret/**\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/plan.py").write_text("def hidden(): ...\n")
    (tmp_path / ".env").write_text("KEY=1\n")
    shown = project_map(tmp_path, limits.MAP_BYTES)
    assert "plan" not in shown
    assert "hidden" not in shown
    assert ".env" not in shown


def test_a_file_that_the_disk_does_not_give_is_left_out_and_said(run, tmp_path, monkeypatch):
    class Broken(io.BytesIO):
        def read(self, _size=-1):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("rails.tools.runners.files.os.fdopen", lambda file, _mode: os.close(file) or Broken())
    assert run("read_file", file_path="notes.txt").text == "Error: notes.txt cannot be read: Input/output error."
    assert "2 binary, large or unreadable" in run("search_files", pattern="notes").text
    assert project_map(tmp_path, limits.MAP_BYTES).splitlines() == ["./: notes.txt", "pkg/: greet.py"]
