"""One harmful fix gives back only its group; a count that grew is worse than before; digits hide no name."""

import json

import pytest

from rails.gate.report.text import render, verdict_as_json, verdict_as_text
from rails.gate.support.diagnostics import Diagnostic, FixEdit, apply_fixes
from rails.session import feedback

CONFIG = "[tool.ruff]\ntarget-version = 'py310'\n[tool.ruff.format]\n[tool.ruff.lint]\n"
CONFIG += "select = ['E', 'W', 'F', 'I', 'UP', 'C90']\n[tool.ruff.lint.mccabe]\nmax-complexity = 2\n"
TWICE = "import os\nimport sys\nimport json\nimport os\n\nprint(os.name, sys.path)\n"
INNER = "from a import b\nfrom a import b\nimport json\n\n\ndef f():\n    import json\n\n    return json.dumps(b)\n"
TYPES = "from typing import List\nfrom typing import List, Dict\nimport re\n\n\n"
TYPES += "def f(x: List[int]) -> Dict[str, List[int]]:\n    return {}\n"


@pytest.mark.parametrize("text", [TWICE, INNER, TYPES], ids=["twice", "inner", "types"])
def test_a_name_that_is_imported_twice_and_used_stays_imported_once_and_the_rest_is_fixed(world, text):
    world.put("pyproject.toml", CONFIG)
    verdict = world.judge(("a.py", text))
    after = verdict.proposal.changes[0].after.decode()
    compile(after, "a.py", "exec")
    assert not [found for found in verdict.findings if found.rule in ("F401", "F811", "F821")], after
    assert not verdict.not_checked
    assert "import re\n" not in after


def test_deletions_that_touch_are_made_together_and_insertions_that_touch_are_not():
    lines = [Diagnostic("F401", "", (n, 1), (n, 9), (FixEdit((n, 1), (n + 1, 1), ""),), safe=True) for n in (1, 2, 3)]
    made, applied = apply_fixes("import a\nimport b\nimport c\nx = 1\n", lines)
    assert (made, applied) == ("x = 1\n", lines)
    words = [Diagnostic("W", "", (1, 1), (1, 1), (FixEdit((1, 1), (1, 1), text),), safe=True) for text in "ab"]
    assert apply_fixes("x\n", words) == ("ax\n", words[:1])


def branches(count):
    return "def f(x):\n" + "".join(f"    if x == {n}:\n        return {n}\n" for n in range(count)) + "    return x\n"


def test_a_complexity_that_grew_is_worse_than_before(world):
    world.put("pyproject.toml", CONFIG)
    verdict = world.judge(("a.py", branches(5), branches(6)))
    assert [found.rule for found in verdict.blocking] == ["C901"]
    assert verdict.blocking[0].message.startswith("worse than before (6): ")
    assert [found.worse_than for found in verdict.worse] == [6]
    assert world.judge(("a.py", branches(6), branches(5))).status == "pass"
    assert world.judge(("a.py", branches(6), f"{branches(6)}\n\nX = 1\n")).status == "pass"


def test_a_count_that_grew_is_found_beside_a_larger_one_of_the_same_name(world):
    world.put("pyproject.toml", CONFIG)
    both = "class A:\n    {}\n\n\nclass B:\n    {}\n"
    methods = [branches(n).strip().replace("\n", "\n    ") for n in (9, 4, 5, 9)]
    verdict = world.judge(("a.py", both.format(*methods[:2]), both.format(methods[0], methods[2])))
    assert [found.worse_than for found in verdict.worse] == [5]
    assert world.judge(("b.py", both.format(*methods[:2]), both.format(methods[1], methods[1]))).worse == ()


def test_worse_than_before_is_a_class_of_its_own_for_programs_people_and_models(world):
    world.put("pyproject.toml", CONFIG)
    verdict = world.judge(("a.py", branches(5), f"import os\n\n\n{branches(6)}\n\nos.foo(unknown)\n"))
    assert sorted(one["worse_than"] or 0 for one in verdict_as_json(verdict)["findings"]) == [0, 6]
    assert "Fail: 2 findings in 1 file, 1 worse than before." in verdict_as_text(verdict)
    states = [one["baselineState"] for one in json.loads(render(verdict, "sarif"))["runs"][0]["results"]]
    assert sorted(states) == ["new", "updated"]
    told = feedback.gate(("e1",), verdict).text
    assert "worse than before (6): " in told
    assert "Bring it back to 6 or below." in told


def test_another_undefined_name_is_another_finding_whatever_its_digits(world):
    world.put("pyproject.toml", CONFIG)
    verdict = world.judge(("a.py", "print(item1, 'abc')\n", "print(item2, 'abc')\n"))
    assert [(found.rule, found.message) for found in verdict.blocking] == [("F821", "Undefined name `item2`")]
