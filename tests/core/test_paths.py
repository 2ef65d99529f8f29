"""From a model's string to a path inside the project: every trick is refused, every protected row is known."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core import limits, paths
from rails.core.errors import Refusal
from rails.core.paths import WorkspacePath, forbidden, parse_path, protected


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a.py", "a.py"),
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src\\a.py", "src/a.py"),
        ("src/./a b.py", "src/a b.py"),
        (".editorconfig", ".editorconfig"),
        ("ünï/名.txt", "ünï/名.txt"),
        ("a" * 255, "a" * 255),
        ("/".join("a" * limits.PATH_DEPTH), "/".join("a" * limits.PATH_DEPTH)),
        ("$HOME/x", "$HOME/x"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("constant.py", "constant.py"),
        ("git~x", "git~x"),
    ],
)
def test_an_ordinary_name_becomes_a_path(raw, text):
    assert parse_path(raw) == WorkspacePath(text)


REFUSED = {
    "traversal": ["..", "../a", "a/../../b", "a/..", "..\\a", "a\\..\\..\\b", "./../a", "a/../b"],
    "absolute": [
        "/etc/passwd",
        "\\etc",
        "//server/share/a",
        "\\\\server\\share",
        "\\\\?\\C:\\a",
        "/",
        "~",
        "~/a",
        "~root/a",
        "./~",
        ".\\~/a",
    ],
    "drive": ["C:\\a", "c:/a", "C:a", "z:"],
    "stream or scheme": ["a:stream", "a/b:$DATA", "a::$INDEX_ALLOCATION", "file:///a", "http://a/b"],
    "control": ["a\0b", "a\nb", "a\tb", "a\x1bb", "a\x7fb", "a\rb", "\x85a"],
    "invisible": ["a\u200bb", ".g\u200cit/config", "a\u202eb", "a\ufeffb", "a\u00adb", "a\U000e0041b", "a\u2028b"],
    "lone surrogate": ["a\ud800b"],
    "device": [
        "CON",
        "con.txt",
        "a/NUL",
        "nul.tar.gz",
        "aux.py",
        "COM1",
        "com9.log",
        "LPT1",
        "COM¹",
        "prn",
        "CONIN$",
        "ＣＯＮ",
    ],
    "ending": ["a.", "a ", " a", "a/b.", "a /b", "a./b", "...", "a/.../b"],
    "wildcard": ["a*", "a?", "a|b", "a<b", "a>b", 'a"b'],
    "option": ["-rf", "a/-x", "--output=x"],
    "folder": [".", "./", "a/", "a/b/", "\\"],
    "look-alikes of dots and slashes": ["\u2025/a", "\u2024\u2024/a", "．．/a", "a／b", "a＼b", "a：b"],
    "empty": ["", " ", "\t"],
    "too long": ["a" * 256, "ü" * 128, "a/" * 600 + "a", "a" * 2000],
    "too deep": ["/".join("a" * (limits.PATH_DEPTH + 1))],
    "not text": [None, 1, True, ["a"], {"a": 1}, b"a"],
}


@pytest.mark.parametrize("raw", [raw for rows in REFUSED.values() for raw in rows], ids=repr)
def test_c3_14_every_trick_is_refused_with_a_reason_and_a_hint(raw):
    refusal = parse_path(raw)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "path"
    assert "Invalid file path" in refusal.message
    assert refusal.hint
    assert refusal.message.isprintable()


@given(st.text(max_size=60) | st.text(alphabet="./\\~:-ab \u2025．", max_size=20))
def test_whatever_is_accepted_stays_inside(raw):
    path = parse_path(raw)
    if isinstance(path, WorkspacePath):
        assert parse_path(str(path)) == path, "a path is its own normal form"
        assert not path.text.startswith(("/", "~"))
        assert all(part not in ("", ".", "..") for part in path.parts)
        assert "\\" not in path.text
        assert path.text.isprintable()


@pytest.mark.parametrize("name", paths.PROTECTED_DIRECTORIES)
def test_every_protected_folder_protects_what_is_in_it(name):
    for spelled in (name, name.upper(), name.title()):
        assert protected(WorkspacePath(f"{spelled}/x")) == paths.PROTECTED_DIRECTORIES[name]
        assert protected(WorkspacePath(f"deep/down/{spelled}/x/y.txt")) == paths.PROTECTED_DIRECTORIES[name]
    assert protected(WorkspacePath(name)), "a file in its place would be as bad"
    assert name == paths.casefolded_name(name)


@pytest.mark.parametrize("name", paths.PROTECTED_FILES)
def test_every_protected_file_is_protected_at_any_depth_in_any_case(name):
    for spelled in (name, name.upper(), f"sub/{name}", f"sub/deep/{name.title()}"):
        assert protected(WorkspacePath(spelled)) == paths.PROTECTED_FILES[name]
    assert name == paths.casefolded_name(name)


PATTERN_ROWS = {
    "secrets": [".env", ".env.local", ".ENV", "sub/.env.production"],
    "keys": ["server.pem", "a/id_rsa", "id_ed25519", "tls.key", "x.p12"],
    "gate configuration that executes": [
        ".eslintrc",
        ".eslintrc.js",
        "eslint.config.mjs",
        ".eslintrc.json",
        ".prettierrc",
        "prettier.config.ts",
        ".prettierrc.json5",
        ".stylelintrc",
        "stylelint.config.cjs",
    ],
    "build configuration that executes": [
        "vite.config.ts",
        "webpack.config.js",
        "jest.config.mjs",
        ".babelrc",
        ".babelrc.js",
    ],
    "gate configuration": ["mypy.ini", ".mypy.ini", "pytest.ini", ".pylintrc.toml"],
    "executed at every Python start": ["x.pth", "a/evil.PTH"],
}


@pytest.mark.parametrize(
    ("reason", "name"), [(reason, name) for reason, names in PATTERN_ROWS.items() for name in names]
)
def test_every_protected_pattern_has_its_rows(reason, name):
    assert protected(WorkspacePath(name)) == reason


def test_every_pattern_is_shown_to_match_something():
    names = [paths.casefolded_name(name.rpartition("/")[2]) for names in PATTERN_ROWS.values() for name in names]
    for pattern, _ in paths.PROTECTED_PATTERNS:
        assert any(re.fullmatch(pattern, name) for name in names), pattern


@pytest.mark.parametrize(
    "text",
    [
        "src/app.py",
        "README.md",
        "environment.py",
        "my.env.py",
        "gitignore",
        "git/config",
        "env.txt",
        "config.js",
        "key.py",
    ],
)
def test_an_ordinary_file_is_neither_protected_nor_forbidden(text):
    assert protected(WorkspacePath(text)) is None
    assert forbidden(WorkspacePath(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        ".git",
        ".git/config",
        "a/.git/hooks/x",
        ".GIT/x",
        ".rails/lock",
        "a/.RAILS/x",
        "GIT~1/x",
        "rails~1/x",
        "．git/x",
        ".git./x",
    ],
)
def test_version_control_and_our_own_state_are_forbidden_in_any_spelling(text):
    assert forbidden(WorkspacePath(text))


@pytest.mark.parametrize(
    ("text", "name", "suffix"),
    [
        ("a/b.PY", "b.PY", ".py"),
        ("a/.env", ".env", ""),
        ("x", "x", ""),
        ("a.tar.gz", "a.tar.gz", ".gz"),
        ("a.b/c", "c", ""),
    ],
)
def test_name_and_suffix(text, name, suffix):
    path = WorkspacePath(text)
    assert (path.name, path.suffix, str(path)) == (name, suffix, text)
    assert "/".join(path.parts) == text
