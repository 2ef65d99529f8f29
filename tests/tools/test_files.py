"""The built-in read tools show the project, and nothing else."""

import os

import pytest

from rails.core.app_dirs import builtin_folder
from rails.core.tool_request import ToolRequest
from rails.tools.loader import load_definitions
from rails.tools.runners import dispatch
from rails.tools.runners.files import glob_matches


@pytest.fixture(scope="module")
def registry():
    return load_definitions([builtin_folder("mcp_definitions")])


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    for path, text in {
        "src/app.py": "import os\n\n\ndef main():\n    return 0\n",
        "src/util/text.py": "def shout(x):\n    return x.upper()\n",
        "README.md": "# App\r\nUse main.\r\n",
        ".env": "KEY=secret-value\n",
        ".env.example": "KEY=\n",
        ".git/config": "[core]\n",
        ".rails/log": "{}\n",
        "node_modules/x/index.js": "main\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    (root / "logo.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "outside.txt").write_text("outside\n")
    return root


def use(registry, project, tool, **parameters):
    definition = registry.get(tool)
    request = ToolRequest("r1", tool, parameters, "", definition.effect, False, definition.digest, "coder")
    return dispatch.run_request(request, definition, project)


def test_a_file_is_shown_with_line_numbers(registry, project):
    result = use(registry, project, "read_file", file_path="src/app.py")
    assert result.ok
    assert result.text.splitlines() == [
        "src/app.py: 5 lines",
        "     1\timport os",
        "     2\t",
        "     3\t",
        "     4\tdef main():",
        "     5\t    return 0",
    ]


def test_a_part_of_a_file_says_how_to_go_on(registry, project):
    result = use(registry, project, "read_file", file_path="src/app.py", offset=2, limit=2)
    assert result.text.splitlines() == ["src/app.py: lines 2 to 3 of 5; go on with offset 4", "     2\t", "     3\t"]


def test_a_long_file_is_cut_and_the_rest_can_be_read(registry, project):
    (project / "long.txt").write_text("".join(f"{'x' * 90} {number}\n" for number in range(1, 3_001)))
    seen, offset = [], 1
    while offset:
        result = use(registry, project, "read_file", file_path="long.txt", offset=offset)
        assert len(result.text) < 21_000
        head, *lines = result.text.splitlines()
        seen += lines
        offset = int(head.rpartition(" ")[2]) if "go on" in head else 0
    assert len(seen) == 3_000


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("missing.py", "does not exist"),
        ("src", "not an ordinary file"),
        ("../outside.txt", "leaves the project"),
        ("/etc/passwd", "not relative"),
        (".env", "may hold secrets"),
        (".git/config", "not shown to agents"),
        (".GIT/config", "not shown to agents"),
        (".rails/log", "not shown to agents"),
        ("logo.png", "not a text file"),
        ("link.txt", "links are not followed"),
        ("linked/outside.txt", "links are not followed"),
        ("pipe", "not an ordinary file"),
    ],
)
def test_what_cannot_be_shown_is_said_and_does_not_leak(registry, project, path, said):
    (project / "link.txt").symlink_to(project.parent / "outside.txt")
    (project / "linked").symlink_to(project.parent)
    os.mkfifo(project / "pipe")
    result = use(registry, project, "read_file", file_path=path)
    assert not result.ok
    assert said in result.text
    assert "secret-value" not in result.text


def test_an_example_of_an_env_file_may_be_read(registry, project):
    assert use(registry, project, "read_file", file_path=".env.example").ok


def test_an_empty_file_is_called_empty(registry, project):
    (project / "empty").write_text("")
    assert use(registry, project, "read_file", file_path="empty").text == "empty: empty file"


def test_files_are_listed_in_order_without_hidden_and_installed_ones(registry, project):
    (project / "link.txt").symlink_to(project.parent / "outside.txt")
    result = use(registry, project, "list_files")
    assert [line.split("  ")[0] for line in result.text.splitlines()] == [
        "6 files".replace("6", "5"),
        ".env.example",
        "README.md",
        "logo.png",
        "src/app.py",
        "src/util/text.py",
        "(1 link not followed)",
    ]


@pytest.mark.parametrize(
    ("parameters", "files"),
    [
        ({"path": "src"}, ["src/app.py", "src/util/text.py"]),
        ({"path": "src/"}, ["src/app.py", "src/util/text.py"]),
        ({"path": ".", "pattern": "*.py"}, ["src/app.py", "src/util/text.py"]),
        ({"pattern": "src/*.py"}, ["src/app.py"]),
        ({"pattern": "**/*.md"}, ["README.md"]),
        ({"path": "src/app.py"}, ["src/app.py"]),
    ],
)
def test_a_list_can_be_narrowed(registry, project, parameters, files):
    result = use(registry, project, "list_files", **parameters)
    assert [line.split("  ")[0] for line in result.text.splitlines()[1:]] == files


@pytest.mark.parametrize("tool", ["list_files", "search_files"])
def test_a_path_that_does_not_exist_is_said(registry, project, tool):
    more = {"pattern": "x"} if tool == "search_files" else {}
    result = use(registry, project, tool, path="missing", **more)
    assert not result.ok
    assert "missing does not exist" in result.text


def test_a_search_gives_path_line_and_text(registry, project):
    result = use(registry, project, "search_files", pattern="^def \\w+\\(")
    assert result.text.splitlines() == [
        "2 matching lines",
        "src/app.py:4: def main():",
        "src/util/text.py:1: def shout(x):",
        "(1 binary, large or unreadable left out)",
    ]


def test_a_search_can_be_narrowed_and_plain_text_is_taken_as_it_is(registry, project):
    assert (
        use(registry, project, "search_files", pattern="main", glob="*.md").text
        == "1 matching line\nREADME.md:2: Use main."
    )


def test_a_search_never_shows_secrets_or_state(registry, project):
    assert use(registry, project, "search_files", pattern="KEY|core").text.splitlines()[1:2] == [".env.example:1: KEY="]


def test_a_wrong_pattern_is_explained(registry, project):
    result = use(registry, project, "search_files", pattern="main(")
    assert not result.ok
    assert "not closed" in result.text


def test_an_edit_tool_is_not_run_here(registry, project):
    assert "planned, checked and approved first" in use(registry, project, "delete_file", file_path="README.md").text
    assert (project / "README.md").exists()


def test_a_request_that_another_definition_validated_is_not_run(registry, project):
    definition = registry.get("read_file")
    request = ToolRequest("r1", "read_file", {"file_path": "README.md"}, "", "read", False, "0" * 64, "coder")
    assert "changed after" in dispatch.run_request(request, definition, project).text


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**", "a/b", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/*", "a/x/y", False),
        ("**/*.py", "x.py", True),
        ("*.py", "a/x.py", True),
        ("src/*.[ch]", "src/a.h", True),
        ("a/**/**/**/**/z", "a/" + "b/" * 30 + "y", False),
    ],
)
def test_globs(pattern, path, expected):
    assert glob_matches(pattern, path) is expected
