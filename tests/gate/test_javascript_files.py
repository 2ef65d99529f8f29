"""JavaScript and TypeScript: one syntax finding, ESLint and Prettier, and no project code without consent.

Most tests use small stand-ins for ESLint and Prettier in the project's own ``node_modules``, so that they need
Node.js and no network. Those marked "real" run the real packages where the machine has them: in the user's tool
folder, or in a folder named by AI_RAILS_JAVASCRIPT.
"""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from rails.gate.languages.javascript import node_worker
from rails.gate.support import executed_config
from rails.sandbox.run import start
from rails.sandbox.values import NONE, Label

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed"),
]

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules"
real = pytest.mark.skipif(not (REAL / "eslint").is_dir(), reason="ESLint and Prettier are not installed")

# A formatter that collapses runs of spaces and wants semicolons, and a parser that refuses "@@".
PRETTIER = """
const parse = (text) => {
  const at = text.split("\\n").findIndex((line) => line.includes("@@"));
  if (at >= 0) {
    const error = new SyntaxError(`Unexpected @@ (${at + 1}:1)`);
    error.loc = { start: { line: at + 1, column: 1 } };
    throw error;
  }
};
exports.__debug = { parse: async (text) => parse(text) };
const fs = require("fs"), path = require("path");
exports.clearConfigCache = () => {};
exports.resolveConfigFile = async (file) => {
  const place = path.join(path.dirname(file), "prettier.config.js");
  return fs.existsSync(place) ? place : null;
};
exports.resolveConfig = async () => null;
exports.getFileInfo = async () => ({ ignored: false });
exports.format = async (text, options) => {
  parse(text);
  if (/crash/.test(text)) throw new Error("formatter broke");
  const tidy = (line) => line.trimEnd().replace(/(\\S)  +/g, "$1 ").replace(/([^;{}])$/, "$1;");
  return text.split("\\n").map((line) => (line.trim() ? tidy(line) : "")).join("\\n");
};
"""
# A linter with two rules, one of them fixable, that runs a configuration file unless told not to.
ESLINT = """
const fs = require("fs"), path = require("path");
exports.ESLint = class {
  constructor(options) {
    this.options = options;
    if (options.overrideConfigFile !== true) {
      const file = path.join(options.cwd, "eslint.config.js");
      if (fs.existsSync(file)) this.own = require(file);
    }
  }
  async lintText(text, { filePath }) {
    if (/skipped/.test(filePath)) {
      const message = "File ignored because of a matching ignore pattern.";
      return [{ messages: [{ ruleId: null, severity: 1, message }] }];
    }
    const messages = [];
    if (this.own && this.own.empty) return [{ messages }];
    text.split("\\n").forEach((line, index) => {
      const at = line.indexOf("debugger");
      if (at >= 0) messages.push({ ruleId: "no-debugger", severity: 2, message: "Unexpected debugger.", line: index + 1,
        column: at + 1, endLine: index + 1, endColumn: at + 9 });
    });
    for (const found of text.matchAll(/ == /g)) {
      const line = text.slice(0, found.index).split("\\n").length;
      messages.push({ ruleId: "eqeqeq", severity: 2, message: "Use ===.", line, column: 1, endLine: line, endColumn: 2,
        fix: { range: [found.index, found.index + 4], text: " === " } });
    }
    return [{ messages }];
  }
};
"""


def package(world, name, code, version="10.0.0", **files):
    world.put(f"node_modules/{name}/package.json", json.dumps({"name": name, "version": version, "main": "index.js"}))
    world.put(f"node_modules/{name}/index.js", code)
    for file, text in files.items():
        world.put(f"node_modules/{name}/{file}.js", text)


@pytest.fixture
def traces(monkeypatch):
    """Let the Node worker run as the user: what it executes can leave a trace, which the sandbox would keep in."""
    label = Label(NONE, why="a test looks for traces")
    monkeypatch.setattr("rails.sandbox.run.start", lambda argv, view, **_: start(argv, view, label=label))


@pytest.fixture
def script(world, monkeypatch, tmp_path, traces):
    """A project with the stand-ins installed."""
    monkeypatch.setattr(node_worker, "tool_folder", lambda: tmp_path / "none")
    package(world, "prettier", PRETTIER)
    world.put("package.json", '{"devDependencies": {"prettier": "*"}}')
    more = {"use-at-your-own-risk": "exports.builtinRules = new Map();"}
    package(world, "eslint", ESLINT, **more)
    return world


@pytest.fixture
def bare(world, monkeypatch, tmp_path):
    """A project without any JavaScript tool."""
    monkeypatch.setattr(node_worker, "tool_folder", lambda: tmp_path / "none")
    return world


@pytest.fixture
def genuine(world, traces):
    """A project with the real packages."""
    (world.project / "node_modules").symlink_to(REAL)
    world.put("package.json", '{"devDependencies": {"prettier": "*"}}')
    return world


def rules(verdict):
    return [finding.rule for finding in verdict.findings]


def after(verdict, index=0):
    return verdict.proposal.changes[index].after.decode()


def test_a_clean_file_passes_and_every_tool_ran(script):
    verdict = script.judge(("a.js", "const a = 1;\n"))
    assert verdict.status == "pass", verdict
    assert {(run.name, run.version) for run in verdict.checks} >= {("eslint", "10.0.0"), ("prettier", "10.0.0")}


def test_files_are_fixed_and_formatted(script):
    verdict = script.judge(("a.ts", "const  a = x == 1\n"))
    assert verdict.status == "pass", verdict
    assert after(verdict) == "const a = x === 1;\n"
    assert {(fixed.rule, fixed.tool) for fixed in verdict.fixed} == {("eqeqeq", "eslint"), ("format", "prettier")}


def test_only_new_findings_and_no_format_in_an_unformatted_file(script):
    before = "const  a = 1\ndebugger\nconst  b = x == 2\n"
    verdict = script.judge(("a.js", before, before + "const  c = x == 3\n"))
    assert verdict.status == "pass", verdict
    assert after(verdict) == before + "const  c = x === 3\n"


def test_positions_count_characters(script):
    verdict = script.judge(("a.js", 'const s = "\U0001f600\u00e9"; debugger;\n'))
    (finding,) = verdict.findings
    assert (finding.rule, finding.line, finding.column, finding.end_column) == ("no-debugger", 1, 17, 25)


def test_a_broken_file_is_one_finding(script):
    verdict = script.judge(("a.js", "const a = 1;\n@@\ndebugger;\n"))
    assert [(f.rule, f.line, f.message) for f in verdict.findings] == [("syntax-error", 2, "Unexpected @@")]


def test_a_fence_is_named_though_backquotes_parse(script):
    verdict = script.judge(("a.js", "```js\nconst a = 1;\n```\n"))
    assert [(f.rule, "Markdown" in f.message) for f in verdict.findings] == [("syntax-error", True)]


@pytest.mark.parametrize(
    "comment", ["// eslint-disable-line", "/* eslint-disable */", "// @ts-ignore", "// prettier-ignore"]
)
def test_a_new_suppression_is_a_finding(script, comment):
    verdict = script.judge(("a.js", f"const a = 1; {comment}\n"))
    assert "new-suppression" in rules(verdict)


def test_a_file_that_eslint_skips_is_not_checked(script):
    verdict = script.judge(("skipped.js", "const a = 1;\n"))
    assert verdict.status == "pass"
    assert "excludes this file" in verdict.not_checked[0].reason


def test_a_tool_that_breaks_is_not_checked(script):
    verdict = script.judge(("a.js", "const crash = 1;\n"))
    assert verdict.status == "error"
    assert "formatter broke" in verdict.not_checked[0].reason


def test_configuration_that_is_a_program_is_not_executed(script, tmp_path):
    trace = tmp_path / "trace"
    for name in ("eslint.config.js", "prettier.config.js"):
        script.put(name, f"require('fs').writeFileSync({str(trace)!r}, 'ran'); module.exports = {{}};\n")
    verdict = script.judge(("a.js", "const a = 1;\n"))
    assert not trace.exists()
    assert {miss.check for miss in verdict.not_checked} == {"eslint", "prettier"}
    assert verdict.status == "pass"


def test_a_trusted_project_runs_its_own_configuration(script, project):
    script.put("eslint.config.js", "module.exports = { empty: true };\n")
    executed_config.agree(project, b"")
    verdict = script.judge(("a.js", "debugger;\n"))
    assert verdict.status == "pass"
    assert "selects no rule" in verdict.not_checked[0].reason


@real
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".prettierrc", '{"semi": false}'),
        (".prettierrc", "semi: false\n"),
        (".prettierrc.toml", "semi = false\n"),
        ("package.json", '{"prettier": {"semi": false}}'),
        (".prettierrc.json", '{"overrides": [{"files": ["*.{js,ts}"], "options": {"semi": false}}]}'),
    ],
)
def test_prettiers_options_are_the_projects(genuine, name, text):
    genuine.put(name, text)
    assert after(genuine.judge(("src/a.js", "const  a = 1\n"))) == "const a = 1\n"


@real
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".prettierrc", '"./shared.cjs"\n'),
        (".prettierrc", "./shared.cjs\n"),
        ("package.json", '{"prettier": "./shared.cjs"}'),
        ("package.yaml", "prettier: ./shared.cjs\n"),
        ("prettier.config.mjs", "import './shared.cjs'; export default {};\n"),
        (".prettierrc", '{"overrides": [{"files": "*.js", "options": {"plugins": ["./shared.cjs"]}}]}'),
    ],
)
def test_what_would_load_code_is_named_and_not_run(genuine, tmp_path, name, text):
    trace = tmp_path / "trace"
    genuine.put("shared.cjs", f"require('fs').writeFileSync({str(trace)!r}, 'ran'); module.exports = {{}};\n")
    genuine.put(name, text)
    verdict = genuine.judge(("src/a.js", "const  a = 1\n"))
    assert not trace.exists()
    assert [miss.reason for miss in verdict.not_checked if miss.check == "prettier"] == [
        f"{name} is a program or loads plugins, which are not executed"
    ]


def test_a_project_that_wants_eslint_and_has_none_is_an_error(bare):
    bare.put("package.json", '{"devDependencies": {"eslint": "^10", "prettier": "^3"}}')
    verdict = bare.judge(("a.js", "const a = 1;\n"))
    assert verdict.status == "error"
    assert {miss.check for miss in verdict.not_checked if miss.required} == {"eslint", "prettier"}
    assert "ai-rails doctor --install javascript" in verdict.not_checked[0].reason


def test_a_project_with_biome_that_is_not_installed_is_not_checked(script):
    script.put("biome.json", "{}")
    verdict = script.judge(("a.js", "const a = 1;\n"))
    assert verdict.status == "error"
    assert "npm install" in verdict.not_checked[0].reason


def test_without_any_package_node_still_reads_plain_javascript(bare):
    assert bare.judge(("a.js", "export const a = await 1;\n")).status == "pass"
    verdict = bare.judge(("b.js", "import a from 'a';\nfunction f( {\n  return a;\n}\n"))
    assert [(f.rule, f.line) for f in verdict.findings] == [("syntax-error", 3)]
    assert bare.judge(("c.cjs", "with (a) { b }\n")).status == "pass"


@pytest.mark.parametrize("name", ["a.ts", "a.tsx", "a.jsx"])
def test_without_a_parser_of_the_project_ours_reads_it(bare, name):
    assert bare.judge((name, "const a = 1;\n")).status == "pass"
    assert rules(bare.judge((name, "const a = ;\n"))) == ["syntax-error"]


def test_without_node_what_the_project_names_is_missing_and_syntax_is_still_read(bare, monkeypatch):
    monkeypatch.setattr(node_worker, "find_node", lambda project: None)
    assert rules(bare.judge(("a.js", "const a = ;\n"))) == ["syntax-error"]
    bare.put("package.json", '{"devDependencies": {"prettier": "*"}}')
    assert bare.judge(("a.js", "const a = 1;\n")).status == "error"


def test_node_is_not_taken_from_the_project(world, monkeypatch):
    world.put("bin/node", "#!/bin/sh\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{world.project / 'bin'}:relative:{os.environ['PATH']}")
    assert str(world.project) not in node_worker.find_node(world.project)


@real
def test_real_tools_fix_format_and_find(genuine):
    verdict = genuine.judge(("a.js", "const x = {a:1}\nif (x = 2) { debugger }\nexport default x\n"))
    assert after(verdict) == "const x = { a: 1 };\nif ((x = 2)) {\n  debugger;\n}\nexport default x;\n"
    assert {"no-debugger", "no-const-assign"} <= set(rules(verdict))


@real
@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("a.js", "const x: number = 1;\n", "TypeScript in a .js file"),
        ("a.ts", "export const e = <div>hi</div>;\n", "JSX in a .ts file"),
        ("a.tsx", "export const e = <div>hi</span>;\n", ""),
        ("a.js", "function f( {\n  return 1\n}\n", ""),
    ],
)
def test_real_parsers_name_the_cause(genuine, path, text, words):
    (finding,) = genuine.judge((path, text)).findings
    assert finding.rule == "syntax-error"
    assert words in finding.message


@real
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "export const A = () => <p>hi</p>;\n"),
        ("a.jsx", "export const A = () => <p>hi</p>;\n"),
        ("a.tsx", "export const A = (p: { x: string }) => <p>{p.x}</p>;\n"),
        ("a.ts", "export const a = <T,>(x: T): T => x;\n"),
        ("a.cjs", '"use strict";\nmodule.exports = 1;\n'),
    ],
)
def test_real_tools_pass_good_files(genuine, path, text):
    verdict = genuine.judge((path, text))
    assert verdict.status == "pass", verdict


@real
def test_real_tools_execute_no_configuration(genuine, tmp_path):
    trace = tmp_path / "trace"
    genuine.put("plugin.cjs", f"require('fs').writeFileSync({str(trace)!r}, 'ran');\n")
    genuine.put("eslint.config.js", "require('./plugin.cjs');\n")
    genuine.put(".prettierrc", '{"plugins": ["./plugin.cjs"]}')
    genuine.judge(("a.js", "const a = 1;\n"))
    assert not trace.exists()


def test_a_clean_file_costs_one_look_and_one_proof_that_rules_are_on(script, tmp_path):
    looks = counted(script, tmp_path / "looks")
    script.judge(("a.js", "const a = 1;\n"), ("b.js", "const b = 1;\n"), ("c.js", "debugger;\n"))
    assert looks() == 4


def test_the_compiler_of_typescript_is_loaded_for_typescript_only(script, tmp_path):
    trace = tmp_path / "trace"
    package(script, "typescript-eslint", f"require('fs').writeFileSync({str(trace)!r}, ''); exports.parser = {{}};")
    script.judge(("a.js", "const a = 1;\n"))
    assert not trace.exists()
    script.judge(("a.ts", "const a = 1;\n"))
    assert trace.exists()


def test_the_idle_worker_uses_no_processor(script, tmp_path):
    looks = counted(script, tmp_path / "looks")
    script.judge(("a.js", "const a = 1;\n"))
    asked = looks()
    pid = script.gate._context.resources["node"].pid
    assert min(processor_ms(pid, 0.3) for _ in range(3)) < 5, "a collection may follow; a loop does not end"
    assert looks() == asked


def processor_ms(pid, seconds):
    before = time.clock_gettime((~pid << 3) | 2)
    time.sleep(seconds)
    return (time.clock_gettime((~pid << 3) | 2) - before) * 1000


def counted(world, file):
    """Make the linter write down each text it is given; return how to count them."""
    code = ESLINT.replace("{ filePath }) {", f"{{ filePath }}) {{ fs.appendFileSync({str(file)!r}, '.');")
    world.put("node_modules/eslint/index.js", code)
    return lambda: len(file.read_text()) if file.exists() else 0
