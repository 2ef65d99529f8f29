"""An .agent-restrictions file means what the same lines mean to git."""

import random
import subprocess

import pytest

from rails.core.restrictions import Restrictions

NAMES = ["a", "b", "ab", "x.txt", "y.py", "[z]", "c d", "foo", "bar.d", "!k", "#h"]
PATTERNS = [
    *("a", "*.txt", "/a", "a/", "a/b", "**/b", "a/**", "a/**/b", "!x.txt", "!a/x.txt", "foo/*", "/foo/*", "!foo/bar.d"),
    *("b*", "?", "[ab]", "[!a]", "[a-y].py", r"\!k", r"\#h", "*", "!*/", "!a/", "**", "foo/**/x.txt", "a*/b", "/**/b"),
    *("ab ", r"c\ d", r"\[z\]", "[[]z]", "**/a/", "x.*", "a**b", "[]-]", "!**/*.py", "# a", ""),
]


@pytest.mark.parametrize("seed", range(30))
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


def test_case_hides_nothing():
    assert Restrictions.parsed(b"Secrets/\n").reason("sECRETS/Key.txt") == ".agent-restrictions has Secrets/"


@pytest.mark.parametrize("broken", ["link", "folder", "bytes", "size"])
def test_a_file_that_cannot_be_read_restricts_everything(tmp_path, broken):
    place = tmp_path / ".agent-restrictions"
    match broken:
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
