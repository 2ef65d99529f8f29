"""What a human agrees to covers every file that is executed: whatever changes of them is a new question."""

import pytest

from rails.core.errors import UsageError
from rails.gate.support import executed_config

SETTINGS = b'[[gate.command]]\nname = "words"\nrun = ["python", "tools/words.py"]\n'
SETTINGS += b'[[gate.command]]\nname = "own"\nfunction = "tools.check:main"\n'


@pytest.fixture
def agreed(world):
    """A project with configuration that imports much, and commands, to which a human agreed as they are."""
    world.put(".rails.toml", SETTINGS)
    world.put("eslint.config.js", 'import rules from "./lint/rules.js";\nimport plugin from "eslint-plugin-own/x";\n')
    world.put("lint/rules.js", 'const deep = require("./deep");\nexport * from "../shared/all.mjs"\n')
    world.put("lint/deep/index.js", 'module.exports = require.resolve("./data.json");\n')
    world.put("lint/deep/data.json", "{}")
    world.put("shared/all.mjs", 'await import("./typed.js");\n')
    world.put("shared/typed.ts", "export default 1;\n")
    world.put("src/unrelated.js", "export default 1;\n")
    world.put("node_modules/.package-lock.json", '{"packages": {"node_modules/eslint": {"version": "9.1.0"}}}')
    world.put("node_modules/eslint/lib/index.js", "module.exports = 1;\n")
    world.put("tools/words.py", "import helper\n")
    world.put("tools/check.py", "")
    executed_config.agree(world.project, SETTINGS)
    assert executed_config.may_execute(world.project, SETTINGS)
    return world


def test_a_changed_file_that_is_executed_is_a_new_question(agreed):
    for name in (
        *("eslint.config.js", "lint/rules.js", "lint/deep/index.js", "lint/deep/data.json", "shared/all.mjs"),
        *("shared/typed.ts", "node_modules/.package-lock.json", "tools/words.py", "tools/check.py"),
    ):
        before = (agreed.project / name).read_bytes()
        agreed.put(name, before + b"\n")
        assert not executed_config.may_execute(agreed.project, SETTINGS), name
        agreed.put(name, before)
        assert executed_config.may_execute(agreed.project, SETTINGS), name


def test_a_new_file_that_would_be_executed_is_a_new_question(agreed):
    for name in ("lint/deep.js", "node_modules/.modules.yaml", "bun.lock", "eslint.config.ts"):
        place = agreed.put(name, "1")
        assert not executed_config.may_execute(agreed.project, SETTINGS), name
        place.unlink()


def test_what_is_not_executed_is_no_question(agreed):
    for name in ("src/unrelated.js", "node_modules/eslint/lib/index.js", "README.md"):
        agreed.put(name, "changed")
        assert executed_config.may_execute(agreed.project, SETTINGS), name


def test_what_is_installed_in_the_folder_above_counts(world):
    world.put("eslint.config.js", "export default [];\n")
    above = world.project.parent / "node_modules" / ".yarn-state.yml"
    above.parent.mkdir()
    above.write_text("1")
    assert str(above.resolve()) in executed_config.executed(world.project, b"")


def test_more_than_anybody_can_agree_to_is_refused(agreed, monkeypatch):
    monkeypatch.setattr(executed_config, "_NAMES", 3)
    assert not executed_config.may_execute(agreed.project, SETTINGS)
    with pytest.raises(UsageError, match="Nothing was agreed to"):
        executed_config.agree(agreed.project, SETTINGS)
