"""Damaged blocks over real sources are read as they were meant, or refused: never as something else."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

from rails.data_formats.source import within_strings
from rails.parsing.parse import parse
from tests.rows import walked

from .conftest import SHAPES

_SPEC = importlib.util.spec_from_file_location(
    "parsing_damage", Path(__file__).parent.parent / "benchmarks" / "parsing_damage.py"
)
damage = importlib.util.module_from_spec(_SPEC)
sys.modules["parsing_damage"] = damage
_SPEC.loader.exec_module(damage)


@pytest.fixture(scope="module")
def results():
    return [(row, damage.knowable(row), damage.ours(row)) for row in damage.rows(28, seed=11)]


def test_no_damaged_block_is_silently_wrong_but_where_it_is_valid_as_sent(results):
    wrong = [(row.operator, row.block) for row, group, got in results if got == "WRONG" and group != "unknowable"]
    assert not wrong


def test_no_damaged_block_is_lost_without_a_word(results):
    assert not [row.block for row, _, got in results if got == "SILENT"]


def test_what_has_one_reading_is_read(results):
    counts = Counter((row.kind, got) for row, group, got in results if group == "one reading")
    assert counts["structure", "exact"] >= 99 * counts["structure", "refused"] > -1
    assert counts["quote", "exact"] >= 6 * counts["quote", "refused"]


def written(content, path="a.py"):
    return parse(f'~~~json\n{{"tool": "write_file", "path": "{path}", "content": "{content}"}}\n~~~\n', SHAPES)


@walked(
    ("content", "path", "wanted"),
    [
        (r'print(\"a\")\nprint("b")\n', "a.py", 'print("a")\nprint("b")\n'),
        (r'if x == \"y":\n    pass\n', "a.py", 'if x == "y":\n    pass\n'),
        (r'print("say \"hi\"")\n', "a.py", 'print("say \\"hi\\"")\n'),
        (r"x = '\d'\n", "a.py", "x = '\\d'\n"),
    ],
)
def test_the_targets_language_settles_quotation_marks_and_backslashes(content, path, wanted):
    (request,) = written(content, path).requests
    assert request.parameters["content"] == wanted


@walked(
    ("content", "wanted"),
    [
        (r'const a = \"x\";\nlet b = "c";\n', 'const a = "x";\nlet b = "c";\n'),
        (r'type A = { b: "c\" };\n', 'type A = { b: "c" };\n'),
        ("const a = /\\d+/;\ntype B = 'x\\n';\n", "const a = /\\d+/;\ntype B = 'x\\n';\n"),
    ],
)
def test_typescript_settles_them_too(content, wanted):
    pytest.importorskip("tree_sitter_typescript")
    (request,) = written(content, "src/a.ts").requests
    assert request.parameters["content"] == wanted


@walked(
    ("content", "path"),
    [
        (r'print(\"a\")\nprint("b")\n', "a.md"),
        (r"x = 'it\'s'\n", "a.md"),
        (r"\"\"\"a\nb\"\"\"\np = '\d'", "a.py"),
        (r"x = '\b\d'\n", "a.py"),
        ("x = '''\n\\\\d'''\n", "a.py"),
    ],
)
def test_what_its_language_accepts_in_two_ways_is_refused(content, path):
    found = written(content, path)
    assert not found.requests
    assert found.refusals


def test_a_line_end_inside_a_string_is_told_from_the_layout_of_a_long_string():
    text = 'def f():\n    """One.\n\n    Two\nthree."""\n'
    ends = [at for at, char in enumerate(text) if char == "\n"]
    assert [within_strings(text, "python", [at], layout=True) for at in ends] == [False, False, False, True, False]
    assert [within_strings(text, "python", [at]) for at in ends] == [False, True, True, True, False]
    assert within_strings(text, "css", ends[:1])


def test_a_line_end_before_the_end_of_a_quoted_string_is_no_layout_of_the_comment_around():
    """``f("1;\n")`` in a comment whose escapes were lost: the next line would begin with a string's end."""
    for text, language in (
        ('/**\n * Says f("1;\n") and more\n */\nlet a = 1;\n', "typescript"),
        ('"""\nSays f("1;\n") and more.\n"""\n', "python"),
    ):
        assert within_strings(text, language, [text.index(";\n") + 1], layout=True)
