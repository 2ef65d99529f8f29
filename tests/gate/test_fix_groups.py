"""One harmful fix gives back only its group; a count that grew is worse than before; digits hide no name."""

import pytest

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


def branches(count):
    return "def f(x):\n" + "".join(f"    if x == {n}:\n        return {n}\n" for n in range(count)) + "    return x\n"


def test_a_complexity_that_grew_is_worse_than_before(world):
    world.put("pyproject.toml", CONFIG)
    verdict = world.judge(("a.py", branches(5), branches(6)))
    assert [found.rule for found in verdict.blocking] == ["C901"]
    assert verdict.blocking[0].message.startswith("worse than before (6): ")
    assert world.judge(("a.py", branches(6), branches(5))).status == "pass"
    assert world.judge(("a.py", branches(6), f"{branches(6)}\n\nX = 1\n")).status == "pass"


def test_another_undefined_name_is_another_finding_whatever_its_digits(world):
    world.put("pyproject.toml", CONFIG)
    verdict = world.judge(("a.py", "print(item1, 'abc')\n", "print(item2, 'abc')\n"))
    assert [(found.rule, found.message) for found in verdict.blocking] == [("F821", "Undefined name `item2`")]
