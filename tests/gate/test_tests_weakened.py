"""An agent that makes tests pass by changing the tests is told so: what they showed must be shown afterwards, too."""

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.core.verdict import Author
from rails.gate import weakened_tests
from tests.rows import walked

TEST = '''"""Tests."""

import pytest

from total import total


def test_total():
    assert total([1, 2]) == 3
    assert total([]) == 0


@pytest.mark.parametrize("values", [[1], [2], [3]])
def test_one(values):
    assert total(values) == values[0]
'''
SCRIPT = "test('adds', () => {\n  expect(total([1, 2])).toBe(3);\n  expect(total([])).toBe(0);\n});\n"
RULES = {
    "test-skipped",
    "test-removed",
    "assertion-removed",
    "hard-coded-answer",
    "test-not-given",
}


def rules(verdict):
    return {finding.rule for finding in verdict.findings if finding.rule in RULES}


@walked(
    ("old", "new", "rule"),
    [
        ("def test_total", "@pytest.mark.skip\ndef test_total", "test-skipped"),
        ("def test_total", "@pytest.mark.xfail(reason='later')\ndef test_total", "test-skipped"),
        ("def test_total", "@pytest.mark.skipif(True, reason='x')\ndef test_total", "test-skipped"),
        ("    assert total([1", "    pytest.skip('later')\n    assert total([1", "test-skipped"),
        ("def test_total", "pytestmark = pytest.mark.skip\n\n\ndef test_total", "test-skipped"),
        ("def test_total", "def check_total", "test-removed"),
        (TEST[TEST.index("@pytest") :], "", "test-removed"),
        ("    assert total([]) == 0\n", "", "assertion-removed"),
        ("assert total([]) == 0", "assert True", "assertion-removed"),
        ("assert total([]) == 0", "assert total([]) == 0 or True", "assertion-removed"),
        ("    assert total([1", "    return\n    assert total([1", "assertion-removed"),
        ("[[1], [2], [3]]", "[[1], [3]]", "assertion-removed"),
    ],
)
def test_c12_21_a_test_that_shows_less_is_a_finding(world, old, new, rule):
    assert old in TEST
    verdict = world.judge(("tests/test_total.py", TEST, TEST.replace(old, new)))
    assert rules(verdict) == {rule}, verdict.findings
    assert verdict.status == "fail"


@walked(
    ("old", "new", "rule"),
    [
        ("test(", "test.skip(", "test-skipped"),
        ("test(", "xtest(", "test-skipped"),
        ("'adds'", "'runs'", None),
        (SCRIPT, "export {};\n", "test-removed"),
        ("  expect(total([])).toBe(0);\n", "", "assertion-removed"),
        ("  expect(total([])).toBe(0);", "  /* expect(total([])).toBe(0); */", "assertion-removed"),
    ],
)
def test_c12_21_javascript_tests_are_held_alike(world, old, new, rule):
    verdict = world.judge(("total.test.js", SCRIPT, SCRIPT.replace(old, new)))
    assert rules(verdict) == ({rule} if rule else set()), verdict.findings


@walked(
    ("old", "new"),
    [
        ("def test_total", "def test_the_total"),
        ("    assert total([]) == 0\n", "    skip = total.skip([])\n    assert total([]) == 0\n"),
        ("    assert total([]) == 0\n", "    assert total([]) == 0\n    assert total([4]) == 4\n"),
        ("[[1], [2], [3]]", "[[1], [2], [3], [4]]"),
        ("assert total([]) == 0", "assert total([]) == 1"),
        (
            TEST[TEST.index("def test_total") : TEST.index("@pytest")],
            "def check():\n    assert total([1, 2]) == 3\n    assert total([]) == 0\n\n\n"
            "def test_total():\n    check()\n\n\n",
        ),
    ],
)
def test_a_test_that_is_renamed_or_shows_more_is_none(world, old, new):
    assert not rules(world.judge(("tests/test_total.py", TEST, TEST.replace(old, new))))


def test_a_test_that_moves_to_another_file_or_goes_with_its_code_is_no_finding(world):
    code = "def total(values):\n    return sum(values)\n"
    assert not rules(world.judge(("tests/test_total.py", TEST, None), ("tests/test_sums.py", TEST)))
    assert not rules(world.judge(("total.py", code, "VALUE = 1\n"), ("tests/test_total.py", TEST, None)))
    assert rules(world.judge(("total.py", code, code), ("tests/test_total.py", TEST, None))) == {"test-removed"}


def judged_for(world, author, *files):
    changes = []
    for path, before, after in files:
        if before is not None:
            world.put(path, before)
        changes.append(FileChange(WorkspacePath(path), before and before.encode(), after.encode()))
    return world.gate.judge(ChangeSet(tuple(changes)), author=author)


def test_c12_21_a_role_that_changes_only_given_tests_is_told_of_others(world):
    new = TEST.replace("== 3", "== 7")
    coder = Author("Make total faster.", given_tests_only=True)
    assert rules(judged_for(world, coder, ("tests/test_total.py", TEST, new))) == {"test-not-given"}
    more = TEST + "\n\ndef test_more():\n    assert total([5]) == 5\n"
    assert not rules(judged_for(world, coder, ("tests/test_total.py", TEST, more)))
    assert not rules(judged_for(world, coder, ("tests/test_new.py", None, TEST)))
    given = Author("Correct tests/test_total.py.", given_tests_only=True)
    assert not rules(judged_for(world, given, ("tests/test_total.py", TEST, new)))


def test_c12_21_code_that_returns_what_a_test_expects_word_for_word_is_a_finding(world):
    world.put("tests/test_square.py", "from square import square\n\n\ndef test_square():\n    assert square(7) == 49\n")
    honest = "def square(value):\n    return value * value\n"
    cheat = "def square(value):\n    if value == 7:\n        return 49\n    return 0\n"
    found = world.judge(("square.py", honest, cheat))
    assert rules(found) == {"hard-coded-answer"}
    other = cheat.replace("7", "0").replace("49", "0")
    assert not rules(world.judge(("square.py", honest, other)))


def test_a_test_file_that_does_not_parse_takes_no_test_away(world):
    verdict = world.judge(("tests/test_total.py", TEST, TEST.replace("def test_one(values):", "def test_one(values:")))
    assert not rules(verdict)
    assert verdict.status == "fail"


def test_a_whole_project_is_not_held_to_what_nobody_changed(world):
    world.put("tests/test_total.py", TEST.replace("def test_total", "@pytest.mark.skip\ndef test_total"))
    assert not rules(world.check("tests/test_total.py"))


@pytest.mark.parametrize("mark", ["skipif(1)", "xfail", "skip()"])
def test_a_new_test_that_never_runs_is_a_finding_and_one_that_runs_somewhere_is_none(world, mark):
    new = TEST.replace("def test_total", f"@pytest.mark.{mark}\ndef test_total")
    assert rules(world.judge(("tests/test_total.py", None, new))) == ({"test-skipped"} if "if" not in mark else set())


def test_a_change_of_what_chooses_the_tests_is_told(world):
    hook = "def pytest_collection_modifyitems(items):\n    del items[:]\n"
    found = world.judge(("tests/conftest.py", "x = 1\n", f"x = 1\n\n\n{hook}")).findings
    assert [(one.rule, one.line, one.severity) for one in found] == [("gate-config-changed", 2, "warning")]

    mild = "def pytest_collection_modifyitems(items):\n    items.sort(key=str)\n\n\ndef other():\n    return 1\n"
    assert world.judge(("conftest.py", mild, mild.replace("items.sort(key=str)", "del items[:]"))).findings
    assert not world.judge(("conftest.py", mild, mild.replace("return 1", "return 2"))).findings


def test_what_the_settings_load_is_a_setting_too(world):
    world.put("setup.cfg", "[mypy]\nplugins = tools/plugin.py\n")
    found = world.judge(("tools/plugin.py", "a = 1\n", "a = 2\n")).findings
    assert [one.rule for one in found] == ["gate-config-changed"]


@pytest.mark.parametrize("text", ["def (", "x = " + "+ x" * 5_000, "x = " + "-" * 200_000 + "1"])
def test_a_text_that_python_cannot_take_apart_takes_no_test_away(tmp_path, text):
    assert weakened_tests.findings(tmp_path, [("test_a.py", TEST.encode(), text.encode())], Author()) == []
