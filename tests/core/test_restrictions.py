"""An .agent-restrictions file means what the same lines mean to git."""

import os
import random
import subprocess

import pytest

from rails.core.restrictions import Restrictions
from tests.rows import walked

NAMES = ["a", "b", "ab", "x.txt", "y.py", "[z]", "c d", "foo", "bar.d", "!k", "#h"]
PATTERNS = [
    *("a", "*.txt", "/a", "a/", "a/b", "**/b", "a/**", "a/**/b", "!x.txt", "!a/x.txt", "foo/*", "/foo/*", "!foo/bar.d"),
    *("b*", "?", "[ab]", "[!a]", "[a-y].py", r"\!k", r"\#h", "*", "!*/", "!a/", "**", "foo/**/x.txt", "a*/b", "/**/b"),
    *("ab ", r"c\ d", r"\[z\]", "[[]z]", "**/a/", "x.*", "a**b", "[]-]", "!**/*.py", "# a", ""),
    *("***/b", "*a*", "*/*a*/*", "**/*a*/**/*b"),
]


@pytest.mark.parametrize("seed", range(15))
def test_the_patterns_are_those_of_gitignore(seed, tmp_path):
    rng = random.Random(seed)
    lines = "\n".join(rng.sample(PATTERNS, rng.randint(1, 5))) + "\n"
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text(lines)
    made = []
    for _ in range(25):
        path = "/".join(rng.choices(NAMES, k=rng.randint(1, 4)))
        try:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).touch()
        except OSError:
            continue
        made.append(path)
    files = [path for path in dict.fromkeys(made) if (tmp_path / path).is_file()]
    ask = ["git", "-C", tmp_path, "check-ignore", "--stdin", "-z", "--no-index"]
    said = subprocess.run(ask, input="\0".join(files), capture_output=True, text=True, check=False).stdout.split("\0")
    ours = Restrictions.parsed(lines.encode())
    assert {path: bool(ours.reason(path)) for path in files} == {path: path in said for path in files}, lines


def test_no_pattern_is_slow():
    name = "a" * 240
    hostile = "*a*a*a*a*a*a*b\n**/*a*/**/*a*/**/*a*/**/*a*b\n*?*?*?*?*?*?b\n"
    assert Restrictions.parsed(hostile.encode()).reason(f"{name}/{name}/{name}/{name}") == ""


@walked(
    "line", ["[z-a]", "[!]", "[]", "[[:alpha:]]", "[[:vowel:]]", r"[\]z]", r"a[x\\]", "[ab", "a[/]b", "!", "/", "x\\"]
)
def test_a_line_that_cannot_be_read_restricts_everything(line):
    assert Restrictions.parsed(f"{line}\n".encode()).reason("b").startswith(".agent-restrictions cannot be read (")


def test_case_hides_nothing():
    assert Restrictions.parsed(b"Secrets/\n").reason("sECRETS/Key.txt") == ".agent-restrictions has Secrets/"


@pytest.mark.parametrize("broken", ["link", "folder", "pipe", "bytes", "size"])
def test_a_file_that_cannot_be_read_restricts_everything(tmp_path, broken):
    place = tmp_path / ".agent-restrictions"
    match broken:
        case "pipe":
            os.mkfifo(place)
        case "link":
            place.symlink_to("/dev/null")
        case "folder":
            place.mkdir()
        case "bytes":
            place.write_bytes(b"a\xff")
        case "size":
            place.write_bytes(b"a\n" * 200_000)
    assert ".agent-restrictions" in Restrictions.of(tmp_path).reason("anything.py")


def test_without_a_file_nothing_is_restricted(tmp_path):
    assert Restrictions.of(tmp_path).reason("a") == ""


ROWS = [
    ("a", "a", True), ("a", "x/a", True), ("a", "ab", False), ("a", "a/b", True), ("/a", "x/a", False),
    ("a/b", "x/a/b", False), ("a/b", "a/b/c", True), ("a/", "a", False), ("a/", "a/b", True), ("a/", "x/a/b", True),
    ("./a", "x/a", True), ("!a", "a", False), ("a\n!a", "a", False), ("!a\na", "a", True), ("a/\n!a/b", "a/b", True),
    ("*.t", "x/b.t", True), ("*.t", "b.tt", False), ("a*b", "a/b", False), ("?", "a", True), ("?", "ab", False),
    ("a?b", "a/b", False), ("**/b", "b", True), ("**/b", "x/y/b", True), ("a/**", "a", False), ("a/**", "a/b", True),
    ("a/**/b", "a/b", True), ("a/**/b", "a/x/y/b", True), ("a/**/b", "ab", False), ("**", "x/y", True),
    ("**/**/b", "x/b", True), ("[ab]c", "bc", True), ("[ab]c", "cc", False),
    ("[!a]c", "bc", True), ("[!a]c", "ac", False),
    ("[^a]c", "ac", False), ("[a-c]", "b", True), ("[]x]", "]", True),
    ("[!]x]", "]", False), ("[!]x]", "y", True),
    (r"\*", "*", True),
    (r"\*", "a", False), (r"\#a", "#a", True), ("#a", "#a", False), (r"\!a", "!a", True), ("a ", "a", True),
    (r"a\ ", "a ", True), ("a\r", "a", True), ("", "a", False),
    ("[[]", "[", True),
    ("a**b", "axb", True), ("a***b", "ab", True),
    ("a" + "*" * 40 + "b", "a" * 60, False),
    ("x[ab]y*", "xbyz", True), ("[ab][cd]", "ad", True),
    ("[&&a]", "&", True), ("[a||b~~c]", "|", True), ("[[x]", "[", True), ("[--0]", ".", True), ("[--0]", "1", False),
    ("[--^]", "a", True),
]  # fmt: skip


@walked(("lines", "path", "restricted"), ROWS)
def test_what_each_kind_of_pattern_matches(lines, path, restricted):
    assert bool(Restrictions.parsed(lines.encode()).reason(path)) is restricted


def test_there_are_restrictions_where_a_pattern_or_a_fault_is_and_a_pattern_of_nothing_is_none():
    some = [Restrictions.parsed(data) for data in (b"a\n", b"!a\n", b"\xff")]
    none = [Restrictions.parsed(data) for data in (b"", b"# a\n\n  \n")]
    assert ([bool(one) for one in some], [bool(one) for one in none]) == ([True] * 3, [False] * 2)
    assert [one.reason("folder/") for one in none] == [""] * 2


def test_the_reason_names_the_pattern_that_decided():
    found = Restrictions.parsed(b"a\n*.txt\n!b.txt\n/c/\n")
    assert found.reason("x.txt") == ".agent-restrictions has *.txt"
    assert found.reason("a/b.txt") == ".agent-restrictions has a"
    assert found.reason("c/b.txt") == ".agent-restrictions has /c/"
    assert found.reason("b.txt") == ""


def test_the_bounds_of_a_file_and_what_is_said_of_a_broken_one(tmp_path):
    large = ".agent-restrictions is too large"
    for data, why in (
        (b"a\n" * 2_000, ""), (b"a\n" * 2_001, large), (b"a" * 1_000, ""), (b"a" * 1_001, large),
        ((b"#" * 999 + b"\n") * 200, ""), ((b"#" * 999 + b"\n") * 200 + b"#", large),
    ):  # fmt: skip
        assert Restrictions.parsed(data).reason("x") == why
        (tmp_path / ".agent-restrictions").write_bytes(data)
        assert Restrictions.of(tmp_path).reason("x") == why
    assert Restrictions.parsed(b"\xef\xbb\xbfx\n").reason("x") == ".agent-restrictions has x"
    assert "cannot be read ('utf-8'" in Restrictions.parsed(b"a\xff").reason("x")
    (tmp_path / ".agent-restrictions").unlink()
    (tmp_path / ".agent-restrictions").symlink_to("nowhere")
    assert Restrictions.of(tmp_path).reason("x") == ".agent-restrictions cannot be read (it is a link)"
    (tmp_path / ".agent-restrictions").unlink()
    (tmp_path / ".agent-restrictions").mkdir()
    assert Restrictions.of(tmp_path).reason("x") == ".agent-restrictions cannot be read (Is a directory)"


LISTS = """# Agent Access Restrictions

RESTRICTED_FOLDERS:
  - /inputs-to-outputs/redis-integration-actual
  - inputs-to-outputs/*-hidden

# Files
RESTRICTED_FILES:
  - /secrets.env   # a comment
  - '/.env.production'
RESTRICTED_PATTERNS:
  - "**/blind-test-*"
"""


@walked(
    ("path", "restricted"),
    [
        ("inputs-to-outputs/redis-integration-actual/a.py", True),
        ("inputs-to-outputs/x-hidden/deep/a.py", True),
        ("secrets.env", True),
        (".env.production", True),
        ("deep/down/blind-test-one.py", True),
        ("blind-test-one.py", True),
        ("inputs-to-outputs/redis-integration-actuality/a.py", False),
        ("src/secrets.env", False),
        ("src/a.py", False),
    ],
)
def test_c14_11_the_lists_of_the_original_file_mean_what_they_say(path, restricted):
    assert bool(Restrictions.parsed(LISTS.encode()).reason(path)) is restricted


@walked(
    "text",
    [
        "RESTRICTED_FOLDERS=secret\n",
        "RESTRICTED_FILES: [a, b]\n",
        "RESTRICTED_FOLDERS:\n  secret\n",
        "a\nRESTRICTED_FILES:\n- b\n",
    ],
)
def test_c14_11_a_list_in_another_form_restricts_everything_and_names_its_line(text):
    restrictions = Restrictions.parsed(text.encode())
    assert "is neither the name of a list nor an item" in restrictions.reason("any/thing.py")


@walked(
    ("line", "closed", "free"),
    [
        ("[b-d].py", "bcdBCD", "aexz1"),
        ("[B-D].py", "bcdBCD", "aexz1"),
        ("[+-f].py", "05abfzAZ", "{~"),
        ("[0-9].py", "059", "az"),
        ("[!b-d].py", "aez1", "bcd"),
    ],
)
def test_a_range_is_as_wide_as_it_is_written_in_either_case(line, closed, free):
    ours = Restrictions.parsed(f"{line}\n".encode())
    assert {char: bool(ours.reason(f"{char}.py")) for char in closed + free} == {
        **dict.fromkeys(closed, True),
        **dict.fromkeys(free, False),
    }


def test_what_the_repository_restricts_holds_in_every_folder_of_it(tmp_path):
    project = tmp_path / "repository/pkg/deep"
    project.mkdir(parents=True)
    (tmp_path / ".agent-restrictions").write_text("*\n")
    (tmp_path / "repository/.agent-restrictions").write_text("secrets/\n/pkg/deep/own.txt\n")
    (tmp_path / "repository/pkg/.agent-restrictions").write_text("!secrets/\n")
    assert not Restrictions.of(project), "there is no repository"
    (tmp_path / "repository/.git").mkdir()
    found = Restrictions.of(project)
    assert found.reason("secrets/k.txt") == ".agent-restrictions has secrets/"
    assert found.reason("own.txt")
    assert not found.reason("a.txt")
    (project / ".agent-restrictions").write_bytes(b"\xff")
    assert "cannot be read" in Restrictions.of(project).reason("a.txt")
