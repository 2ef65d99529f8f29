"""Biome, where the project uses it: the real binary, on proposed text, with evidence that it looked."""

import os
import shutil
from pathlib import Path

import pytest

from rails.gate.languages.javascript import node_worker

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules" / "@biomejs"
pytestmark = [pytest.mark.node, pytest.mark.skipif(not REAL.is_dir(), reason="Biome is not installed")]

CLEAN = "export const answer = 42;\n"


@pytest.fixture
def biome(world):
    world.put("biome.json", '{"formatter": {"indentStyle": "space"}}')
    (world.project / "node_modules").mkdir()
    (world.project / "node_modules" / "@biomejs").symlink_to(REAL, target_is_directory=True)
    return world


def found(verdict):
    return [(f.path, f.line, f.column, f.rule, f.severity) for f in verdict.findings]


def test_findings_have_their_place_and_formatting_is_done(biome):
    verdict = biome.judge(("src/a.ts", 'export  const é: string = "😀"; if (é == "b") { debugger }\n'))
    assert verdict.status == "fail"
    assert {rule for _, _, _, rule, _ in found(verdict)} == {"suspicious/noDoubleEquals", "suspicious/noDebugger"}
    after = verdict.proposal.changes[0].after.decode()
    assert after == 'export const é: string = "😀";\nif (é == "b") {\n  debugger;\n}\n'
    assert ("src/a.ts", 2, 7, "suspicious/noDoubleEquals", "error") in found(verdict)
    assert {(run.name, run.version != "") for run in verdict.checks} >= {("biome", True), ("biome format", True)}
    assert not list(biome.project.glob("src"))


def test_only_new_findings_count_and_warnings_do_not_block(biome):
    verdict = biome.judge(("a.js", "debugger;\n", "debugger;\nlet unused = 1;\n"))
    assert (verdict.status, {severity for *_, severity in found(verdict)}) == ("pass", {"warning"})


def test_a_broken_file_is_one_finding(biome):
    verdict = biome.judge(("a.js", "const a = (\nfunction {\n"))
    assert [(f.rule, f.tool) for f in verdict.findings] == [("syntax-error", "biome")]


@pytest.mark.parametrize(
    ("config", "required"),
    [
        ('{"linter": {"enabled": false}}', {"biome": False}),
        ('{"formatter": {"enabled": false}}', {"biome format": False}),
        ('{"nonsense": 1}', {"biome": True}),
        ("{", {"biome": True}),
    ],
    ids=["no-linter", "no-formatter", "unknown-key", "broken"],
)
def test_a_file_that_biome_does_not_look_at_is_not_a_pass(biome, config, required):
    biome.put("biome.json", config)
    verdict = biome.judge(("gen.js", CLEAN))
    assert verdict.status == ("error" if True in required.values() else "pass"), verdict
    assert {miss.check: miss.required for miss in verdict.not_checked} == required, verdict.not_checked


def test_an_ignored_file_must_still_parse(biome):
    biome.put("biome.json", '{"files": {"includes": ["**", "!**/gen.ts"]}}')
    assert biome.judge(("gen.ts", "const a: = 1;\n")).status == "fail"


def test_configuration_that_is_extended_or_nested_counts(biome):
    biome.put("base/shared.json", '{"linter": {"rules": {"suspicious": {"noDebugger": "off"}}}}')
    biome.put("biome.json", '{"extends": ["./base/shared.json"]}')
    assert biome.judge(("a.js", "debugger;\n")).status == "pass"
    biome.put("pkg/biome.json", '{"root": false, "linter": {"rules": {"suspicious": {"noDebugger": "error"}}}}')
    assert biome.judge(("pkg/a.js", "debugger;\n")).status == "fail"


def test_an_excuse_for_a_whole_file_is_a_finding(biome):
    verdict = biome.judge(("a.js", f"// biome-ignore-all lint: no\n{CLEAN}"))
    assert [f.rule for f in verdict.findings] == ["new-suppression"]


def test_weakening_biome_is_told(biome):
    verdict = biome.judge(("biome.json", "{}", '{"linter": {"enabled": false}}'), ("a.js", "debugger;\n"))
    assert {f.rule for f in verdict.findings} == {"gate-config-changed", "suspicious/noDebugger"}


def test_biome_lints_beside_prettier_which_formats(biome):
    prettier = REAL.parent / "prettier"
    if not prettier.is_dir() or shutil.which("node") is None:
        pytest.skip("Prettier is not installed")
    (biome.project / "node_modules" / "prettier").symlink_to(prettier, target_is_directory=True)
    biome.put("package.json", '{"devDependencies": {"prettier": "3"}}')
    verdict = biome.judge(("a.js", "const  a = 'x';\ndebugger; export {a}\n"))
    assert "prettier" in {fixed.tool for fixed in verdict.fixed}
    assert "suspicious/noDebugger" in {f.rule for f in verdict.findings}
