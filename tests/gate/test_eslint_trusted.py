"""The real ESLint with a project's own configuration, which a human agreed to: no way past it without a word."""

import os
import shutil
from pathlib import Path

import pytest

from rails.gate.languages.javascript import node_worker
from rails.gate.support import executed_config

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules"
pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(not (REAL / "eslint").is_dir() or shutil.which("node") is None, reason="no ESLint"),
]
STRICT = "export default [{ rules: { 'no-debugger': 'error', 'no-console': 'error' } }];\n"


@pytest.fixture
def agreed(world):
    """A project whose configuration of ESLint a human agreed to, as it is now."""
    (world.project / "node_modules").symlink_to(REAL)
    world.put("package.json", '{"type": "module", "devDependencies": {"eslint": "*"}}')

    def configure(text):
        world.put("eslint.config.js", text)
        executed_config.agree(world.project, b"")
        return world

    return configure


def required(verdict):
    return {miss.check for miss in verdict.not_checked if miss.required}


def test_the_projects_own_rules_count_once_a_human_agreed(agreed):
    assert [f.rule for f in agreed(STRICT).judge(("a.js", "console.log(1);\n")).findings] == ["no-console"]


def test_a_changed_configuration_is_a_new_question_and_a_new_answer_counts_at_once(agreed):
    world = agreed(STRICT)
    assert world.judge(("a.js", "console.log(1);\n")).status == "fail"
    world.put("eslint.config.js", STRICT.replace("'no-console': 'error'", "'no-console': 'off'"))
    verdict = world.judge(("a.js", "console.log(2);\n"))
    assert any("--trust" in miss.reason for miss in verdict.not_checked)
    executed_config.agree(world.project, b"")
    assert world.judge(("a.js", "console.log(2);\n")).status == "pass"


def test_a_planted_file_of_suppressions_hides_nothing(agreed):
    world = agreed(STRICT)
    world.put("eslint-suppressions.json", '{"a.js": {"no-debugger": {"count": 9}}}')
    assert [f.rule for f in world.judge(("a.js", "debugger;\n")).findings] == ["no-debugger"]


@pytest.mark.parametrize(
    "config",
    [
        "export default [{ rules: { nonsense: 'error' } }];\n",
        "throw new Error('no');\n",
        "export default [{ bad: 1 }];\n",
    ],
    ids=["unknown-rule", "throws", "unknown-key"],
)
def test_a_broken_configuration_is_a_crash_and_no_pass(agreed, config):
    verdict = agreed(config).judge(("a.js", "const a = 1;\nconsole.log(a);\n"))
    assert (verdict.status, "eslint" in required(verdict)) == ("error", True), verdict.not_checked


@pytest.mark.parametrize(
    "config",
    ["export default [{ ignores: ['gen.js'] }, { rules: { 'no-var': 2 } }];\n", "export default [];\n"],
    ids=["ignored", "no-rules"],
)
def test_a_file_that_the_project_excludes_is_noted(agreed, config):
    verdict = agreed(config).judge(("gen.js", "var a = 1;\n"))
    assert (verdict.status, required(verdict)) == ("pass", set())
    assert "eslint" in {miss.check for miss in verdict.not_checked}


def test_what_only_its_parser_refuses_is_not_checked(agreed):
    config = "export default [{ languageOptions: { ecmaVersion: 5, sourceType: 'script' }, rules: { 'no-var': 2 } }];\n"
    verdict = agreed(config).judge(("a.js", "const a = 1;\n"))
    assert (verdict.status, required(verdict)) == ("error", {"eslint"})


def test_a_changed_import_is_a_new_question_and_a_new_answer_counts_at_once(agreed):
    world = agreed("import rules from './rules.js';\nexport default [{ rules }];\n")
    world.put("rules.js", "export default { 'no-console': 'error' };\n")
    executed_config.agree(world.project, b"")
    assert [f.rule for f in world.judge(("a.js", "console.log(1);\n")).findings] == ["no-console"]
    world.put("rules.js", "export default { 'no-debugger': 'error' };\n")
    missed = world.judge(("a.js", "console.log(2);\n")).not_checked
    assert any("--trust" in miss.reason for miss in missed)
    executed_config.agree(world.project, b"")
    assert [f.rule for f in world.judge(("a.js", "console.log(3); debugger;\n")).findings] == ["no-debugger"]
