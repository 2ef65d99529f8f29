"""Every form of comment by which a tool is switched off is known: read from the tools that are installed."""

import json
import os
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.gate.languages.javascript import node_worker
from rails.gate.support import suppressions
from rails.gate.support.suppressions import excuses_whole_file, new_ones, uncovered
from rails.gate.verdicts import with_weight
from rails.processes import programs
from tests.rows import walked

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules"
LEADS = ["", "ruff: ", "ruff:", "RUFF: ", "flake8: ", "flake8=", "ruff = ", "isort: ", "isort:", "fmt: ", "yapf: "]
WORDS = ["noqa", "NoQA", "noqa: F401", "noqa:F401", "noqa:F401,E501", "noqa F401", "noqa : F401", "disable[F401]"]
WORDS += [
    "ignore[F401]",
    "file-ignore[F401]",
    "ignore",
    "disable",
    "skip",
    "off",
    "skip_file",
    "skip-file",
    "disable=F401",
]
FORMS = [f"{blank}{lead}{word}" for blank, lead, word in product([" ", ""], LEADS, WORDS)]


SORTING = ["skip", "skip_file", "off", "split", "dont-add-imports"]
UNSORTED = "import sys\nimport os\n"


def known(path, text):
    return bool(new_ones(path, b"", text.encode()))


def test_what_silences_ruff_is_known(tmp_path):
    texts = [text for form in FORMS for text in (f"import os  #{form}\n", f"#{form}\nimport os\n")]
    for number, text in enumerate(texts):
        (tmp_path / f"f{number}.py").write_text(text)
    words = ["check", "--isolated", "--no-cache", "--preview", "--select=F401", "--output-format=json", str(tmp_path)]
    ran = programs.run_tool([*programs.find_ruff().argv, *words])
    loud = {Path(item["filename"]).name for item in json.loads(ran.out)}
    silent = [text for number, text in enumerate(texts) if f"f{number}.py" not in loud]
    assert len(silent) > 10
    assert [text for text in silent if not known("a.py", text)] == []


def test_what_silences_the_formatters_and_the_sorting_of_imports_is_known(tmp_path):
    black = pytest.importorskip("black")
    words = ["fmt: off", "fmt:off", "fmt: skip", "fmt:skip", "fmt : skip", "yapf: disable", "black: off", "@generated"]
    words += [
        f"{lead}isort:{blank}{word}" for lead in ("", "ruff: ", "ruff:") for blank in ("", " ") for word in SORTING
    ]
    comments = [
        f"{lead}{word}" for lead in ("# ", "#", "# why # ", "# why; ", "# why, ", "#! ", "#: ") for word in words
    ]
    texts = [
        text
        for one in comments
        for text in (f"{UNSORTED}x = {{ 'a':1 }}  {one}\n", f"{one}\n{UNSORTED}x = {{ 'a':1 }}\n")
    ]
    texts += [f"import sys  {one}\nimport os\nx = {{ 'a':1 }}\n" for one in comments]
    for number, text in enumerate(texts):
        (tmp_path / f"f{number}.py").write_text(text)
    ruff = programs.find_ruff().argv
    common = ["--isolated", "--no-cache", str(tmp_path)]
    found = json.loads(programs.run_tool([*ruff, "check", "--select=I001", "--output-format=json", *common]).out)
    sorted_ones = {Path(item["filename"]).name for item in found}
    programs.run_tool([*ruff, "format", *common])
    silent = [text for number, text in enumerate(texts) if f"f{number}.py" not in sorted_ones]
    silent += [text for number, text in enumerate(texts) if "{ 'a':1 }" in (tmp_path / f"f{number}.py").read_text()]
    for_black = [text for text in texts if "isort" not in text]
    silent += [text for text in for_black if "{ 'a':1 }" in black.format_str(text, mode=black.Mode())]
    assert len(silent) > 40
    assert [text for text in silent if not known("a.py", text)] == []


def test_what_silences_flake8_is_known():
    defaults = pytest.importorskip("flake8.defaults")
    patterns = [pattern for pattern in vars(defaults).values() if isinstance(pattern, re.Pattern)]
    silent = [form for form in FORMS if any(p.search(f"import os  #{form}") or p.match(f"#{form}") for p in patterns)]
    assert silent
    assert [form for form in silent if not known("a.py", f"import os  #{form}\n")] == []


def test_the_directives_of_eslint_are_known():
    folder = tools()
    source = "".join(
        place.read_text() for place in folder.glob("eslint/lib/**/*.js") if "directive" in place.read_text()
    )
    found = re.findall(r"case \"(eslint[\w-]*|exported|globals?)\"", source)
    assert {"eslint-disable", "exported", "global"} <= set(found)
    for word in {*found} - {"eslint-enable"}:
        assert known("a.js", f"/* {word} no-undef: 0 */\nfoo();\n"), word
        if word.startswith("eslint-disable-"):
            assert known("a.js", f"foo(); // {word} no-undef\n"), word


def test_the_comments_of_prettier_are_known():
    folder = tools()
    source = (folder / "prettier/index.mjs").read_text()
    source += "".join(place.read_text() for place in folder.glob("prettier/plugins/*.mjs"))
    words = {word for word in re.findall(r"prettier-ignore[a-z-]*", source) if not word.endswith("-")}
    assert "prettier-ignore" in words
    for word in words - {"prettier-ignore-end"}:
        for path, text in {
            "a.ts": f"// {word}\nlet a  = 1\n",
            "a.md": f"<!-- {word} -->\n",
            "a.yaml": f"# {word}\na:  1\n",
            "a.css": f"/* {word} */\na  {{}}\n",
            "a.html": f"<!-- {word} -->\n<a  />\n",
        }.items():
            assert known(path, text), (word, path)


PYTHON = """
ruff: noqa|flake8: noqa|noqa|NOQA|noqa: E501|type: ignore|ty: ignore|mypy: ignore|mypy: disable-error-code
pyright: ignore|pyright: basic|pyright: off|pyre-ignore|pyre-fixme|pylint: disable=all|pylint: skip-file
fmt: off|fmt: skip|yapf: disable|isort: skip|isort: off|isort: split|isort: dont-add|autopep8: off
pyrefly: ignore|pytype: disable|pytype: skip-file|nosec|bandit: skip|pragma: no cover|pragma: no branch
ruff: disable[F401]|ruff: ignore|ruff: file-ignore|flake8=noqa|ruff: enable
"""
SCRIPT = """
eslint-disable|eslint-disable-line|eslint-disable-next-line|eslint-env browser|@ts-ignore|@ts-nocheck|@ts-expect-error
prettier-ignore|biome-ignore lint|biome-ignore-all lint|oxlint-disable
tslint:disable|deno-lint-ignore no-var|$FlowFixMe[x]
jshint ignore:line|istanbul ignore next
"""


def each(table):
    return table.strip().replace("\n", "|").split("|")


@walked("path", ["a.py", "a.pyi", "a.pyw", "A.PY", "x/script"])
def test_a_comment_of_python_is_told_at_its_place_once(path):
    start = "#!/usr/bin/env python3\n" if path == "x/script" else "\n"
    for comment in each(PYTHON):
        (found,) = new_ones(path, b"", f"{start}x = 1  # {comment}\ns = '# {comment}'\n".encode())
        assert (found.path, found.rule, found.line, found.column) == (path, "new-suppression", 2, 8)
        assert (found.end_line, found.end_column) == (2, 8 + len(f"# {comment}"))
        assert found.message == f"This comment switches a check off: # {comment}"


def test_a_comment_in_a_cell_of_a_notebook_is_one_of_python():
    cell = b'{"cells": [{"cell_type": "code", "source": ["import os  # noqa: F401"]}]}\n'
    for written in (b"# noqa", rb"\u0023 noqa", rb"# no\u0071a", rb"\\\u0023 noqa"):
        there = cell.replace(b"# noqa", written)
        assert [found.rule for found in new_ones("a.ipynb", b"", there)] == ["new-suppression"]
        assert uncovered("a.ipynb", there).excused
        assert new_ones("a.json", b"", there) == []
    assert new_ones("a.ipynb", b"", cell.replace(b"# noqa", rb"\\u0023 noqa")) == [], "no escape: one of a back-slash"


ELSEWHERE = [
    ("a.css", "/* stylelint-disable */"),
    ("a.md", "<!-- markdownlint-disable-next-line MD001 -->"),
    ("a.yaml", "# yamllint disable rule:x"),
    ("a.sh", "# shellcheck disable=SC2086"),
    ("a.jsonc", "// biome-ignore format: x"),
    ("a.sql", "select 1 -- noqa"),
    ("a.c", "int a; // NOLINT"),
    ("a.go", "package a //nolint:x"),
    ("Dockerfile", "# hadolint ignore=DL3006"),
    ("a.toml", "# taplo: ignore"),
]


def test_a_comment_for_a_linter_of_another_language_is_told():
    for path, text in ELSEWHERE:
        (found,) = new_ones(path, b"", f"x\n{text}\n".encode())
        assert (found.line, found.rule) == (2, "new-suppression"), text
        assert new_ones(path, b"", re.sub(r"<!--|/\*|//|--|#", "", text).encode()) == [], "no comment"


@walked("ending", ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"])
def test_a_comment_of_a_script_is_told_at_its_place(ending):
    for comment in each(SCRIPT):
        (found,) = new_ones(f"a.{ending}", b"", f"x\n  /* {comment} */\n".encode())
        assert (found.line, found.column, found.end_column) == (2, 6, 6 + len(comment))
        assert found.message == f"This comment switches a check off: {comment}"
        in_css = new_ones("a.css", b"", f"/* {comment} */\n".encode())
        assert in_css == [] or re.match("prettier|biome|.*lint", comment)


@walked("end", ["\n", "\r\n", "\r"])
@walked(
    ("path", "lines", "message"),
    [
        ("a.js", ["x", "  /*", "eslint a: 0,", "b: 0 */ y"], "/*\\x0aeslint a: 0,\\x0ab: 0"),
        ("a.ts", ["x", "  /* globals", "foo */"], "/* globals\\x0afoo"),
        ("a.css", ["x", "  /*", " prettier-ignore", "*/"], "/*\\x0a prettier-ignore"),
        ("a.hbs", ["x", "  {{!", " prettier-ignore }}"], "{{!\\x0a prettier-ignore }}"),
    ],
)
def test_a_comment_of_several_lines_is_told_at_its_first_and_read_to_its_end(end, path, lines, message):
    text = end.join(lines).encode()
    (found,) = new_ones(path, b"", text)
    assert (found.line, found.column) == (2, 3)
    if end == "\n":
        assert found.message.startswith(f"This comment switches a check off: {message}")
    assert new_ones(path, text, text) == []
    assert bool(new_ones(path, text, text.replace(b"b: 0", b"c: 0"))) == (b"b: 0" in text)


def test_a_comment_of_several_lines_can_be_taken_off_and_every_line_stays():
    seen = uncovered("a.js", b"/* eslint-disable-next-line a,\n b */\nx\n")
    assert seen.text == b"/* xxxxxx-xxxxxxx-xxxx-xxxx x,\n b */\nx\n"
    assert [*seen.excused] == [3]


def test_what_only_sounds_like_one_is_none():
    for text in ("# notype: x", "# a comment", "# noqaX", "# types: ignored", "x = 'noqa'", '"""# noqa"""'):
        assert new_ones("a.py", b"", f"{text}\n".encode()) == [], text
    assert new_ones("a.js", b"", b"// eslint is fun, globals too\n") == []
    assert new_ones("a.bin", b"", b"\xff\x00# noqa") == []
    assert new_ones("a.py", b"", b"def f(:\n") == []


@walked("end", ["'''", "(", "  x\n y", "\\", "if x:\n"])
def test_what_stands_before_the_place_where_a_text_breaks_is_still_told(end):
    found = new_ones("a.py", b"", f"x = 1  # noqa\n{end}".encode())
    assert [one.line for one in found] == [1]


def test_as_many_as_were_there_may_stay_and_move_and_each_more_is_told():
    old = b"a = 1  # noqa\nb = 2  # noqa: E501\n"
    moved = b"b = 3  #noqa:  E501\nc = 1\na = 1  # NOQA\n"
    assert new_ones("a.py", old, moved) == []
    other = new_ones("a.py", old, old.replace(b"E501", b"F401"))
    assert [(found.line, found.message[-12:]) for found in other] == [(2, "# noqa: F401")], "one for another"
    more = new_ones("a.py", old, moved + b"d = 1  # noqa\ne = 1  # noqa: E501\n")
    assert [found.line for found in more] == [4, 5]
    assert [found.line for found in new_ones("a.py", None, old)] == [1, 2]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_text_can_be_seen_without_what_excuses_a_line_and_is_else_the_same(end):
    lines = ["import os  # noqa: F401 why", "# ruff: noqa: E501", "x = 1  # NOQA", "# flake8: noqa", ""]
    seen = uncovered("a.py", end.join(lines).encode())
    shown = ["import os  # xxxx: xxxx xxx", lines[1], "x = 1  # xxxx", *lines[3:]]
    assert seen.text == end.join(shown).encode()
    assert seen.excused == {1: "#noqa:f401why", 3: "#noqa"}
    lines = [
        "a // eslint-disable-line no-x",
        "// eslint-disable-next-line b",
        "x",
        "/* biome-ignore lint: y */",
        "y",
        "",
    ]
    seen = uncovered("a.ts", end.join(lines).encode())
    shown = [
        "a // xxxxxx-xxxxxxx-xxxx xx-x",
        "// xxxxxx-xxxxxxx-xxxx-xxxx x",
        "x",
        "/* xxxxx-xxxxxx xxxx: x */",
        "y",
        "",
    ]
    assert seen.text == end.join(shown).encode()
    assert seen.excused == {1: "eslint-disable-lineno-x", 3: "eslint-disable-next-lineb", 5: "biome-ignorelint:y"}
    whole = end.join(["/* eslint-disable */", "// biome-ignore-all lint: x", "/* eslint a: 0 */", "// @ts-nocheck"])
    assert uncovered("a.js", whole.encode()) == (whole.encode(), {})
    assert uncovered("a.js", b"\xff\x00") == (b"", {})


@pytest.mark.parametrize("comment", ["/* global $ */", "/*globals $:readonly, _ */"])
def test_a_name_that_a_comment_says_is_there_is_a_finding_of_its_own(comment):
    found = [with_weight(one) for one in new_ones("a.js", b"", f"{comment}\n$();\n".encode())]
    assert [(one.rule, one.weight) for one in found] == [("declared-global", "style")]


@pytest.mark.parametrize("gone", [1, 2])
def test_where_a_check_is_not_switched_on_again_what_follows_is_hidden(gone):
    off = b"/* eslint-disable */\n"
    on = b"/* eslint-enable */\n"
    (found,) = new_ones("a.js", off + on * gone, off + b"x\n")
    assert (found.path, found.line, found.column, found.rule, found.end_line) == ("a.js", 1, 1, "new-suppression", 1)
    assert found.message == f"Comments that switch a check on again are gone ({gone}); what follows is hidden"
    assert found.remedy == "Put them back, or remove what switches the check off."
    assert new_ones("a.js", off + on * gone, b"x\n") == [], "nothing is off"
    assert new_ones("a.js", off + on, off + b"x\n" + on) == []


WHOLE = [
        ("# ruff: noqa\n", True), ("# flake8: noqa\n", True), ("# FLAKE8=NOQA # why\n", True),
        ("# ruff: noqa: F401\n", False), ("x = 1  # noqa\n", False),
        ("s = '# ruff: noqa'\n", False),
        ("x = 1\n\n#ruff:noqa\n", True), ("", False),
        ("x = 1  # noqa\ny = 1  # noqa: E501\n# ruff: noqa\n", True),
]  # fmt: skip


def test_a_whole_file_is_excused_by_a_comment_of_its_own_only():
    for text, expected in WHOLE:
        assert excuses_whole_file(text.encode()) == expected, text


def tools():
    if not (REAL / "eslint").is_dir():
        pytest.skip("ESLint and Prettier are not installed")
    return REAL


@walked("pattern", [*suppressions._SIGNS])
def test_whatever_is_a_comment_that_switches_a_check_off_has_a_sign_of_it(pattern):
    @given(st.from_regex(re.compile(pattern, re.I)))
    def has_a_sign(text):
        assert any(sign in text.casefold() for sign in suppressions._SIGNS[pattern].split())

    has_a_sign()
