"""The built-in read tools show the project, and nothing else."""

import os

import pytest

from rails.core import limits
from rails.core.app_dirs import builtin_folder
from rails.core.tool_request import ToolRequest
from rails.tools.loader import load_definitions
from rails.tools.runners import dispatch, files
from rails.tools.runners.files import glob_matches
from rails.tools.runners.secrets import Secrets
from tests.rows import walked


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


def test_a_name_with_a_backslash_is_never_another_file(registry, project):
    """What is listed is read by the same name: no file in a folder, which may be kept back, is shown in its place."""
    (project / r"src\util\own.py").write_text("mine = 1\n")
    (project / r"src\app.py").write_text("found = 1\n")
    assert use(registry, project, "read_file", file_path=r"src\util\own.py").text.endswith("mine = 1")
    assert "def main" in use(registry, project, "read_file", file_path=r"src\app.py").text
    found = use(registry, project, "search_files", pattern="main|found|mine", glob="src*").text
    assert sorted(line.partition(":")[0] for line in found.splitlines()[1:]) == [r"src\app.py", r"src\util\own.py"]


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
    seen = []
    offset = 1
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


@walked(
    ("parameters", "named"),
    [
        ({"path": "src"}, ["src/app.py", "src/util/text.py"]),
        ({"path": "src/"}, ["src/app.py", "src/util/text.py"]),
        ({"path": ".", "pattern": "*.py"}, ["src/app.py", "src/util/text.py"]),
        ({"pattern": "src/*.py"}, ["src/app.py"]),
        ({"pattern": "**/*.md"}, ["README.md"]),
        ({"path": "src/app.py"}, ["src/app.py"]),
    ],
)
def test_a_list_can_be_narrowed(registry, project, parameters, named):
    result = use(registry, project, "list_files", **parameters)
    assert [line.split("  ")[0] for line in result.text.splitlines()[1:]] == named


@walked("tool", ["list_files", "search_files"])
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
    assert "missing )" in result.text


def test_an_edit_tool_is_not_run_here(registry, project):
    assert "planned, checked and approved first" in use(registry, project, "delete_file", file_path="README.md").text
    assert (project / "README.md").exists()


def test_a_request_that_another_definition_validated_is_not_run(registry, project):
    definition = registry.get("read_file")
    request = ToolRequest("r1", "read_file", {"file_path": "README.md"}, "", "read", False, "0" * 64, "coder")
    assert "changed after" in dispatch.run_request(request, definition, project).text


@walked(
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


@pytest.mark.parametrize(
    ("tool", "bounds", "parameters", "lines"),
    [
        (
            "list_files",
            {"_LISTED": 2},
            {},
            ["5 files, the first 2 shown", ".env.example  (5 bytes)", "README.md  (18 bytes)"],
        ),
        ("list_files", {"_LISTED": 5}, {}, None),
        ("list_files", {"_VISITED": 7}, {"path": "src"}, None),
        (
            "list_files",
            {"_VISITED": 5},
            {},
            [
                "2 files",
                *(".env.example  (5 bytes)", "README.md  (18 bytes)"),
                "(stopped after 5 entries; name a path)",
            ],
        ),
        (
            "search_files",
            {"_MATCHES": 1},
            {"pattern": "def|return"},
            [
                "4 matching lines, the first 1 shown",
                "src/app.py:4: def main():",
                "(1 binary, large or unreadable left out)",
            ],
        ),
        (
            "search_files",
            {"_MATCHES": 2},
            {"pattern": "def "},
            [
                *("2 matching lines", "src/app.py:4: def main():", "src/util/text.py:1: def shout(x):"),
                "(1 binary, large or unreadable left out)",
            ],
        ),
        (
            "search_files",
            {"_SEARCHED_BYTES": 5 + 18},
            {"pattern": "main|KEY"},
            [
                *("2 matching lines", ".env.example:1: KEY=", "README.md:2: Use main."),
                "(stopped after 0 MB; name a path or a glob)",
            ],
        ),
        (
            "outline",
            {"_SEARCHED_BYTES": 40},
            {},
            ["1 file with symbols; lines first-last", "src/app.py", "     4-5      def main():"],
        ),
    ],
)
def test_an_answer_that_reaches_its_bound_says_so_and_one_that_just_fits_does_not(
    registry, project, monkeypatch, tool, bounds, parameters, lines
):
    whole = use(registry, project, tool, **parameters).text
    for name, bound in bounds.items():
        monkeypatch.setattr(files, name, bound)
    result = use(registry, project, tool, **parameters)
    assert result.ok
    assert result.text == ("\n".join(lines) if lines else whole)


@walked(
    ("parameters", "head"),
    [
        ({"offset": 5}, "src/app.py: lines 5 to 5 of 5"),
        ({"offset": 1, "limit": 5}, "src/app.py: 5 lines"),
        ({"limit": 4}, "src/app.py: lines 1 to 4 of 5; go on with offset 5"),
        ({"offset": 6}, "Error: src/app.py has 5 lines; line 6 is after its end."),
    ],
)
def test_the_last_line_is_the_last_that_can_be_asked_for(registry, project, parameters, head):
    result = use(registry, project, "read_file", file_path="src/app.py", **parameters)
    assert result.text.splitlines()[0] == head
    assert result.ok == (not head.startswith("Error"))


def test_a_file_that_is_too_large_is_named_with_what_is_allowed(registry, project, monkeypatch):
    monkeypatch.setattr(limits, "FILE_BYTES", 42)
    assert use(registry, project, "read_file", file_path="src/app.py").ok
    (project / "src/app.py").write_text("x" * 43)
    result = use(registry, project, "read_file", file_path="src/app.py")
    assert result.text == "Error: src/app.py has 43 bytes; 42 are allowed."


def test_a_secret_is_that_of_the_project_first_then_the_general_one_and_fills_only_its_reference(monkeypatch, tmp_path):
    project = tmp_path / "my-app.2"
    for name, value in {"MY_APP_2__KEY": "project-key", "KEY": "general", "TOKEN": "tok", "EMPTY": ""}.items():
        monkeypatch.setenv(name, value)
    found = Secrets.find(["KEY", "TOKEN", "EMPTY", "NONE"], project)
    assert found.values == {"KEY": "project-key", "TOKEN": "tok"}
    assert found.facts() == {"source": {"KEY": "MY_APP_2__KEY", "TOKEN": "TOKEN"}}
    assert found.missing == ("MY_APP_2__EMPTY or EMPTY", "MY_APP_2__NONE or NONE")
    assert "MY_APP_2__EMPTY or EMPTY; MY_APP_2__NONE or NONE. With AI_RAILS_KEYRING=1" in found.complaint()
    assert found.fill({"a": "x ${KEY}${TOKEN} $KEY"}) == {"a": "x project-keytok $KEY"}
    monkeypatch.setenv("AI_RAILS_PROJECT_NAME", "Örg")
    monkeypatch.setenv("_RG__KEY", "named")
    assert Secrets.find(["KEY"], project).values == {"KEY": "named"}
    assert Secrets({}, {}).facts() == {}


def test_the_longest_secret_is_masked_first_and_none_that_would_blot_out_ordinary_text():
    secrets = Secrets({"SHORT": "abcde", "LEAST": "abcdef", "LONG": "abcdef-and-more"}, {})
    assert secrets.mask("abcde abcdef abcdef-and-more.") == "abcde [secret LEAST] [secret LONG]."


def test_no_file_or_folder_stays_open_behind_an_answer(registry, project):
    os.mkfifo(project / "pipe")
    (project / "linked").symlink_to(project)
    before = len(os.listdir("/proc/self/fd"))
    for path in ("src/app.py", "pipe", "src", "linked/README.md", "none/x", "src/none"):
        use(registry, project, "read_file", file_path=path)
        use(registry, project, "search_files", pattern="main", path=path)
    for tool in ("list_files", "outline"):
        use(registry, project, tool)
    assert len(os.listdir("/proc/self/fd")) == before


UNSEEN = [
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    0x2060,
    0x2066,
    0x2069,
    0xFEFF,
    0xAD,
    0xE0041,
    0xE0101,
    0x3164,
]


@walked("point", UNSEEN)
def test_what_nobody_sees_is_shown_as_an_escape_and_said(registry, project, point):
    (project / "a.md").write_text(f"safe{chr(point)}text {chr(point) * 2}\n", encoding="utf-8")
    shown = use(registry, project, "read_file", file_path="a.md").text
    assert chr(point) not in shown
    assert "3 invisible characters" in shown
    assert f"{point:02x}text" in shown


@walked("text", ["\U0001f468\u200d\U0001f469", "\u0645\u06cc\u200c\u062e\u0648", "\u0915\u094d\u200d\u0937"])
def test_a_joiner_within_a_word_or_a_picture_stays(registry, project, text):
    (project / "a.md").write_text(text, encoding="utf-8")
    shown = use(registry, project, "read_file", file_path="a.md").text
    assert text in shown
    assert "invisible" not in shown
