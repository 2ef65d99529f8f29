"""An agent that makes tests pass by changing the tests is told so: what they showed must be shown afterwards, too."""

import os

import pytest

from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.core.verdict import Author
from rails.gate import weakened_tests

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
    "expected-value-copied",
    "hard-coded-answer",
    "test-not-given",
}


def rules(verdict):
    return {finding.rule for finding in verdict.findings if finding.rule in RULES}


@pytest.mark.parametrize(
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
        ("assert total([]) == 0", "assert total([]) is not None", "assertion-removed"),
        ("    assert total([1", "    return\n    assert total([1", "assertion-removed"),
        ("[[1], [2], [3]]", "[[1], [3]]", "assertion-removed"),
        (
            "    assert total([]) == 0\n",
            "    try:\n        assert total([]) == 0\n    except AssertionError:\n        pass\n",
            "assertion-removed",
        ),
    ],
)
def test_c12_21_a_test_that_shows_less_is_a_finding(world, old, new, rule):
    assert old in TEST
    verdict = world.judge(("tests/test_total.py", TEST, TEST.replace(old, new)))
    assert rules(verdict) == {rule}, verdict.findings
    assert verdict.status == "fail"


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("test(", "test.skip(", "test-skipped"),
        ("test(", "xtest(", "test-skipped"),
        ("'adds'", "'runs'", None),
        (SCRIPT, "export {};\n", "test-removed"),
        ("  expect(total([])).toBe(0);\n", "", "assertion-removed"),
        ("toBe(0)", "toBeDefined()", "assertion-removed"),
        ("toBe(0)", "toEqual(expect.anything())", "assertion-removed"),
        ("  expect(total([])).toBe(0);", "  /* expect(total([])).toBe(0); */", "assertion-removed"),
    ],
)
def test_c12_21_javascript_tests_are_held_alike(world, old, new, rule):
    verdict = world.judge(("total.test.js", SCRIPT, SCRIPT.replace(old, new)))
    assert rules(verdict) == ({rule} if rule else set()), verdict.findings


@pytest.mark.parametrize(
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


def test_c12_21_an_expectation_copied_from_the_failing_run_is_a_finding(world):
    run = "E       assert 7 == 3\nE        +  where 7 = total([1, 2])"
    new = TEST.replace("== 3", "== 7")
    found = judged_for(world, Author(outputs=(run,)), ("tests/test_total.py", TEST, new))
    assert rules(found) == {"expected-value-copied"}
    assert "expects 7 now" in found.findings[0].message
    assert not rules(judged_for(world, Author(outputs=("12 passed",)), ("tests/test_total.py", TEST, new)))
    jest = "Expected: 3\nReceived: 7\n"
    found = judged_for(world, Author(outputs=(jest,)), ("total.test.js", SCRIPT, SCRIPT.replace("(3)", "(7)")))
    assert rules(found) == {"expected-value-copied"}


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


# -- what stands beside it: each way to skip or to show less, with its line and its words ---------------------

ASSERTS = "    assert f(1) == 2\n    assert f(3) == 4\n"
CLASS = f"class TestA:\n    def test_a(self):\n    {ASSERTS.replace(chr(10), chr(10) + '    ').rstrip()}\n"
LONG = "test_" + "a" * 80
CUT = LONG[:80] + "… (+5 characters)"


def told(folder, *files, author=None):
    """Return place, rule and words of what is found: path, before, after."""
    sides = [(path, before and before.encode(), after and after.encode()) for path, before, after in files]
    found = weakened_tests.findings(folder, sides, author or Author())
    assert all((one.column, one.tool, one.end_line, one.remedy != "") == (1, "gate", one.line, True) for one in found)
    return [(one.path, one.line, one.rule, one.message) for one in found]


def told_of(folder, before, after, path="test_a.py", author=None):
    found = told(folder, (path, before, after), author=author)
    assert {one[0] for one in found} <= {path}
    return [one[1:] for one in found]


MARKS = """
@pytest.mark.skip @pytest.mark.skip() @pytest.mark.skipif(1) @pytest.mark.xfail @mark.skip @unittest.skip('x')
@unittest.skipIf(1,'x') @unittest.skipUnless(0,'x') @unittest.expectedFailure @expectedFailure @skip('x') @skipIf(1)
"""
CALLS = """
pytest.skip('x') self.skipTest('x') pytest.xfail() pytest.importorskip('x') unittest.SkipTest('x') SkipTest('x')
skip('x') xfail('x') importorskip('x')
"""
UNDONE = "del test_a|test_a = None|test_a.__test__ = False|test_a: object = helper(test_a)"
SKIPS = [
    *((f"{mark}\ndef test_a():\n{ASSERTS}", 2, "test_a") for mark in MARKS.split()),
    *((f"def test_a():\n    {call}\n{ASSERTS}", 1, "test_a") for call in CALLS.split()),
    (f"def test_a():\n    raise unittest.SkipTest('x')\n{ASSERTS}", 1, "test_a"),
    (f"pytestmark = pytest.mark.skip\ndef test_a():\n{ASSERTS}", 2, "test_a"),
    (f"pytest.importorskip('x')\ndef test_a():\n{ASSERTS}", 2, "test_a"),
    (f"@unittest.skip('x')\n{CLASS}", 3, "TestA.test_a"),
    (CLASS.replace(":\n", ":\n    pytestmark = pytest.mark.skipif(1)\n", 1), 3, "TestA.test_a"),
    (f"@mark.xfail\nasync def test_a():\n{ASSERTS}", 2, "test_a"),
    (f"__test__ = False\ndef test_a():\n{ASSERTS}", 2, "test_a"),
    (f"sys.exit(0)\ndef test_a():\n{ASSERTS}", 2, "test_a"),
    *((f"def test_a():\n{ASSERTS}{more}\n", 1, "test_a") for more in UNDONE.split("|")),
    (f"{CLASS}    __test__ = False\n", 2, "TestA.test_a"),
    (f"{CLASS}    test_a.__test__ = False\n", 2, "TestA.test_a"),
    (f"{CLASS}del TestA\n", 2, "TestA.test_a"),
]


@pytest.mark.parametrize(("after", "line", "name"), SKIPS)
def test_every_way_to_skip_a_test_is_told_at_the_test(tmp_path, after, line, name):
    plain = CLASS if "." in name else f"{'async ' if 'async' in after else ''}def test_a():\n{ASSERTS}"
    found = told_of(tmp_path, plain, after)
    assert found[0] == (line, "test-skipped", f"{name} is skipped now.")
    assert [one[1] for one in found[1:]] in ([], ["assertion-removed"]), "nothing behind a raise is shown"
    assert told_of(tmp_path, after, after) == [], "it was skipped before"
    always = not any(word in after for word in ("skipif", "skipIf", "skipUnless", "importorskip"))
    new = [(line, "test-skipped", f"The new test {name} is skipped.")] if always else []
    assert told_of(tmp_path, None, after) == new
    if "class" in plain:
        nested = "@mark.skip\nclass Outer:\n    class TestA:\n        def test_a(self):\n            assert f(1) == 2\n"
        found = told_of(tmp_path, nested.partition("\n")[2], nested)
        assert found == [(4, "test-skipped", "Outer.TestA.test_a is skipped now.")]


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (ASSERTS, "    assert f(1) == 2\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    assert True\n", 1),
        (ASSERTS, "    assert f(1) == f(1)\n    assert f(3) is f(3)\n", 2),
        (ASSERTS, "    assert f(1) == 2 or 1\n    assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    self.assertTrue(1)\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    assert_(True)\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    if 0:\n        assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    return\n    assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    raise ValueError\n    assert f(3) == 4\n", 1),
        (ASSERTS, f"    try:\n    {ASSERTS.replace(chr(10) + ' ', chr(10) + '     ')}    except: pass\n", 2),
        (ASSERTS, "    assert f(1) == 2\n    try:\n        assert f(3) == 4\n    except BaseException: pass\n", 1),
        (
            ASSERTS,
            "    assert f(1) == 2\n    try:\n        assert f(3) == 4\n"
            "    except ValueError: pass\n    except AssertionError: pass\n",
            1,
        ),
        (
            "    with a:\n        assert f(1) == 2\n        assert f(3) == 4\n",
            "    with a:\n        assert f(1) == 2\n",
            1,
        ),
        (
            ASSERTS,
            "    assert f(1) == 2\n    try:\n        assert f(3) == 4\n    except Exception:\n        x = 1\n",
            1,
        ),
        (ASSERTS, "    assert f(1) == 2\n    assert 'f(3) == 4'\n", 1),
        ("    assert f() < f()\n    assert 0\n", "    g()\n", 2),
        ("    with raises(E):\n        f()\n    g.fail()\n", "    f()\n", 2),
        (ASSERTS, "    assert f(1) == 2\n    sys.exit(0)\n    assert f(3) == 4\n", 1),
        (ASSERTS, "    if x:\n        os._exit(0)\n        assert f(1) == 2\n    assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    for _ in ():\n        assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    for _ in x:\n        continue\n        assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    while 0:\n        assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    if typing.TYPE_CHECKING:\n        assert f(3) == 4\n", 1),
        (ASSERTS, "    assert f(1) == 2\n    with contextlib.suppress(Exception):\n        assert f(3) == 4\n", 1),
        (ASSERTS, "    with a, suppress(KeyError, AssertionError):\n        assert f(3) == 4\n", 2),
        (ASSERTS, "    assert f(1) == 2\n    def inner():\n        assert f(3) == 4\n", 1),
        (ASSERTS, "    with a:\n        try:\n            assert f(3) == 4\n        except: pass\n", 2),
        ("    with pytest.warns(E):\n        f()\n    self.assertIs(f(), 2)\n", "    self.assertIs(f(), 2)\n", 1),
    ],
)
def test_every_way_to_assert_less_is_counted(tmp_path, before, after, gone):
    was = len([word for word in ("assert", "raises", "warns", ".fail") for _ in range(before.count(word))])
    found = told_of(tmp_path, f"def test_a():\n{before}", f"\ndef test_a():\n{after}")
    assert found == [(2, "assertion-removed", f"test_a asserts less than before: {gone} of {was} gone.")]


@pytest.mark.parametrize(
    "after",
    [
        "    assert f(1) == 2\n    assert f(3) == 4 == f(5)\n",
        "    assert f(1) == 2\n    assert 4 == 4 == f(3)\n",
        "    if 1:\n        assert f(1) == 2\n        assert f(3) == 4\n",
        "    try:\n        assert f(1) == 2\n        assert f(3) == 4\n    except AssertionError:\n        raise\n",
        "    try:\n        assert f(1) == 2\n        assert f(3) == 4\n    except KeyError:\n        pass\n",
        "    assert f(1) == 2 and 1\n    self.assertTrue(f(3) == 4)\n",
        "    try:\n        assert f(1) == 2\n        assert f(3) == 4\n    except Exception:\n        x = g()\n",
        "    assert f(1) == 2\n    self.assertTrue()\n    assert f(3) == 4\n",
        "    skip = f\n    assert f(1) == 2\n    assert f(3) == 4\n    f.skip()\n",
        "    assert f(1) == 2\n    more()\n\ndef more():\n    assert f(3) == 4\n",
        "    assert f(1) == 2\n    def inner():\n        assert f(3) == 4\n    inner()\n",
        "    assert f(1) == 2\n    @case\n    def inner():\n        assert f(3) == 4\n",
        "    assert f(1) == 2\n    for _ in (1,):\n        assert f(3) == 4\n        continue\n",
        "    assert f(1) == 2\n    with suppress(KeyError):\n        assert f(3) == 4\n",
        "    if a:\n        return\n    assert f(1) == 2\n    assert f(3) == 4\n",
        "    assert f(1) == 2\n    assert f(3) == 4\n\nif __name__ == '__main__':\n    sys.exit(pytest.main())\n",
    ],
)
def test_what_still_shows_as_much_is_none(tmp_path, after):
    before = f"from unittest import skip\nimport pytest\ndef test_a():\n{ASSERTS}"
    assert told_of(tmp_path, before, f"from unittest import skip\nimport pytest\ndef test_a():\n{after}") == []


def test_a_test_that_goes_is_named_up_to_a_bound_and_so_is_one_that_shows_less(tmp_path):
    both = f"def {LONG}():\n{ASSERTS}\ndef test_b():\n    assert g()\n"
    assert told_of(tmp_path, both, both.partition("\n\n")[2]) == [(1, "test-removed", f"The test {CUT} is taken away.")]
    assert told_of(tmp_path, both, both.replace("    assert f(3) == 4\n", "")) == [
        (1, "assertion-removed", f"{CUT} asserts less than before: 1 of 2 gone.")
    ]
    assert told_of(tmp_path, both, both.replace("f(3) == 4", "f(3)")) == [
        (1, "assertion-removed", f"{CUT} compares less exactly than before.")
    ]
    assert told_of(tmp_path, both, both.replace("== 4", "is None")) != []
    assert told_of(tmp_path, both, both.replace("f(3) == 4", "f(3) == None")) != []
    script = "it('adds', () => { expect(f(1)).toBe(2) })\n\n xit('skips', () => {\n  // expect(1)\n})\n"
    assert told_of(tmp_path, None, script, "a.test.js") == [(3, "test-skipped", "The new test skips is skipped.")]
    assert told_of(tmp_path, script, None, "a.test.js") == [
        (1, "test-removed", f"The test {name} is taken away.") for name in ("the file", "adds", "skips")
    ]
    helped = "def help():\n    assert f() == 1\n    assert g() == 2\n\ndef test_x():\n    help()\n\n"
    helped += "def test_y():\n    help()\n"
    assert told_of(tmp_path, helped, helped.replace("    assert g() == 2\n", "")) == [
        (line, "assertion-removed", f"test_{name} asserts less than before: 1 of 2 gone.")
        for line, name in ((4, "x"), (7, "y"))
    ]
    two = CLASS + CLASS.partition("\n")[2].replace("_a", "_b")
    assert told_of(tmp_path, two, "class TestA: pass\n") == [
        (1, "test-removed", f"The test TestA.test_{name} is taken away.") for name in "ab"
    ]
    given = Author("Work on test_c.py.", given_tests_only=True)
    words = "This role changes only tests that its task names, and this file is none of them."
    assert told_of(tmp_path, both, both.replace("== 4", "== 5"), author=given) == [(1, "test-not-given", words)]
    skipped = both.replace("def test_b", "@mark.skip\ndef test_b")
    assert told_of(tmp_path, both, skipped, author=given)[-1] == (1, "test-not-given", words)
    assert told_of(tmp_path, both, both.replace("== 4", "== 5"), "test_c.py", author=given) == []


@pytest.mark.parametrize(
    ("output", "copied"),
    [
        ("5\n4", True),
        ("4\n5", True),
        ("5\n\n\n\n\n4", True),
        ("5\n\n\n\n\n\n4", False),
        ("4\n\n\n\n5", True),
        ("4\n\n\n\n\n5", False),
        ("5.0 4", False),
        ("45", False),
        ("got '5', not \"4\"", True),
        ("4", False),
    ],
)
def test_a_value_was_printed_beside_the_expected_one_within_some_lines(tmp_path, output, copied):
    before = f"def test_a():\n{ASSERTS}"
    author = Author(outputs=("nothing", output))
    words = "test_a expects 5 now, which is what the failing run printed."
    found = told_of(tmp_path, before, before.replace("== 4", "== 5"), author=author)
    assert found == ([(1, "expected-value-copied", words)] if copied else [])
    for quote in "'\"`":
        before = f"test('a', () => {{ expect(f(3)).toBe({quote}4{quote}) }})"
        found = told_of(tmp_path, before, before.replace("4", "5"), "a.test.js", author)
        assert [one[1] for one in found] == (["expected-value-copied"] if copied else [])


@pytest.mark.parametrize("beyond", ["def (", "x = " + "+ x" * 5_000, "x = " + "-" * 200_000 + "1"])
def test_a_text_that_python_cannot_take_apart_takes_no_test_away(tmp_path, beyond):
    """What it is is a finding of the syntax check; here it is neither a fault of ours nor a test that has gone."""
    assert told(tmp_path, ("test_a.py", TEST, f"{beyond}\n")) == []
    assert told(tmp_path, ("test_a.py", f"{beyond}\n", TEST)) == []


def test_the_answer_that_a_test_expects_is_looked_for_in_so_many_plain_files(tmp_path, monkeypatch):
    cheat = "def f(x):\n    if x == 3:\n        return 4\n    return 0\n"
    words = "f returns 4 for 3, as a test expects it, word for word."
    found = [("code.py", 2, "hard-coded-answer", words)]
    test = tmp_path / "tests" / "test_f.py"
    test.parent.mkdir()
    os.mkfifo(test.parent / "test_a_pipe.py")
    text = "def test_f():\n    assert f(3) == 4\n#"
    for size, expected in ((999_999, found), (1_000_000, []), (len(text), found)):
        test.write_text(text + "x" * (size - len(text)))
        assert told(tmp_path, ("code.py", "", cheat)) == expected
    assert told(tmp_path, ("code.py", cheat, cheat)) == [], "it was there before"
    assert told(tmp_path, ("code.js", "", cheat)) == []
    for other in (cheat.replace("3", "5"), cheat.replace("4", "5"), cheat.replace("def f", "def g")):
        assert told(tmp_path, ("code.py", "", other)) == [], "a test expects nothing of it"
    (test.parent / "test_b.py").write_text("def test_b():\n    assert g() == 1\n")
    assert told(tmp_path, ("code.py", "", cheat)) == found
    assert told(tmp_path, ("code.py", "", cheat.replace("return 0", "return (")), ("b.py", "", cheat)) == [
        ("b.py", *found[0][1:])
    ], "what cannot be read says nothing"
    assert told(tmp_path, ("code.py", "", cheat), ("tests/test_f.py", text, "def test_f(): pass")) != found
    for folder in (".venv", "node_modules"):
        test.rename(tmp_path / "kept")
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_f.py").write_text(text)
        assert told(tmp_path, ("code.py", "", cheat)) == []
        (tmp_path / "kept").rename(test)
    linked = test.rename(tmp_path / "plain.txt")
    test.symlink_to(linked)
    assert told(tmp_path, ("code.py", "", cheat)) == []
    test.unlink()
    linked.rename(test)
    for most, expected in ((3, found), (2, [])):
        monkeypatch.setattr(weakened_tests, "_READ", most)
        (test.parent / "test_a_pipe.py").unlink(missing_ok=True)
        assert told(tmp_path, ("code.py", "", cheat), ("test_o.py", "", "")) == expected


@pytest.mark.parametrize(
    "body", ["    pass\n", "    ...\n", "    '''What it does (later).'''\n    x = 1\n", "    assert True\n"]
)
def test_a_new_test_that_can_only_pass_is_told(tmp_path, body):
    assert told_of(tmp_path, None, f"\ndef test_a():\n{body}") == [
        (2, "test-asserts-nothing", "The new test test_a asserts nothing.")
    ]
    for other in (f"def test_a():\n{body}", f"@pytest.mark.skip\ndef test_a():\n{body}"):
        assert told_of(tmp_path, other, other) == []
    for fine in (
        f"def test_a():\n{body}    f()\n",
        f"@pytest.fixture\ndef test_a():\n{body}",
        f"def helper():\n{body}",
    ):
        assert told_of(tmp_path, None, fine) == [], "what is called may fail"


def test_a_test_that_becomes_a_fixture_is_taken_away(tmp_path):
    was = f"def test_a():\n{ASSERTS}"
    assert [one[1] for one in told_of(tmp_path, was, f"@pytest.fixture(autouse=True)\n{was}")] == ["test-removed"]


HOOK = "def pytest_collection_modifyitems(items):\n    items.clear()\n"


@pytest.mark.parametrize(
    ("before", "after", "line", "name"),
    [
        (None, f"\n{HOOK}", 2, "pytest_collection_modifyitems"),
        (HOOK, HOOK.replace("clear", "pop"), 1, "pytest_collection_modifyitems"),
        (HOOK, "x = 1\n", 1, "pytest_collection_modifyitems"),
        ("x = 1\n", "x = 1\ncollect_ignore = ['test_a.py']\n", 2, "collect_ignore"),
        ("collect_ignore_glob = []\n", "collect_ignore_glob = ['*']\n", 1, "collect_ignore_glob"),
        (None, "pytest_plugins: list = ['x']\n", 1, "pytest_plugins"),
    ],
)
def test_what_decides_which_tests_run_is_told_where_it_changes(tmp_path, before, after, line, name):
    words = f"It changes which tests run, or how they end: {name}."
    assert told_of(tmp_path, before, after, "tests/conftest.py") == [(line, "gate-config-changed", words)]
    assert told_of(tmp_path, after, f"{after}\n# why\n", "tests/conftest.py") == []
    assert told_of(tmp_path, before, after, "tests/test_a.py") == []
    assert told_of(tmp_path, before, f"{after}(", "tests/conftest.py") == []
