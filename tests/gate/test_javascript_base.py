"""JavaScript is judged by the configuration of the base commit: no change excuses itself, ESLint and Prettier real."""

import json
import os
import shutil
from pathlib import Path

import pytest

from rails.cli import main
from rails.core import limits
from rails.gate.languages.javascript import node_worker
from rails.gate.support import executed_config

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules"
pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(not (REAL / "eslint").is_dir() or shutil.which("node") is None, reason="no ESLint"),
]
STRICT = "export default [{ rules: { 'no-console': 'error' } }];\n"
LOOSE = "export default [{ rules: { 'no-console': 'off', 'no-var': 'error' } }];\n"
IMPORTS = "import rules from './lint/rules.js';\nexport default [{ rules }];\n"
PACKAGE = '{"type": "module", "devDependencies": {"eslint": "*", "prettier": "*"}}\n'
BAD = "console.log(1);\n"
LONG = "const value = { first: 'one', second: 'two' };\nexport default value;\n"  # double quotes are the default
BASE = {"package.json": PACKAGE, ".gitignore": "node_modules\n.rails/\n", "eslint.config.js": STRICT}
BASE |= {"a.js": "export {};\n", "pkg/b.js": "export {};\n"}
SINGLE = '{ "singleQuote": true }\n'
DOUBLE = LONG.replace("'", '"')


@pytest.fixture
def planted(world, monkeypatch, capsys):
    """A repository with ``base`` that a human agreed to, then ``change``; what the gate says of it."""

    def plant(base, change, *words, agreed=True):
        for path, text in {**BASE, **base}.items():
            if text is not None:
                world.put(path, text)
        world.git("init", "-q")
        world.git("add", "-A")
        world.git("commit", "-qm", "base")
        (world.project / "node_modules").symlink_to(REAL)
        if agreed:
            executed_config.agree(
                world.project, (world.project / ".rails.toml").read_bytes() if ".rails.toml" in base else b""
            )
        for path, text in change.items():
            world.put(path, text) if text is not None else (world.project / path).unlink()
        monkeypatch.chdir(world.project)
        if "--staged" in words:
            world.git("add", "-A")
        code = main(["gate", "--format", "json", *words])
        report = json.loads(capsys.readouterr().out)
        return code, report

    return plant


def rules(report, path):
    return {one["rule"] for one in report["findings"] if one["path"] == path and one["severity"] == "error"}


ESLINT = {
    "rule off": ({}, {"eslint.config.js": LOOSE}),
    "nested for its folder": ({}, {"eslint.config.js": LOOSE, "pkg/eslint.config.js": LOOSE}),
    "another form beside it": ({}, {"eslint.config.mjs": LOOSE, "eslint.config.js": None}),
    "what that imports": (
        {
            "eslint.config.js": IMPORTS,
            "lint/rules.js": "export { default } from './more';\n".replace("more", "more.js"),
            "lint/more.js": "export default { 'no-console': 'error' };\n",
        },
        {"lint/more.js": "export default { 'no-console': 'off', 'no-var': 'error' };\n"},
    ),
    "what it requires": (
        {
            "eslint.config.js": None,
            "eslint.config.cjs": "const rules = require('./lint');\nmodule.exports = [{ rules }];\n",
            "lint/index.cjs": "module.exports = { 'no-console': 'error' };\n",
            "lint/package.json": '{"main": "index.cjs"}',
        },
        {
            "lint/other.cjs": "module.exports = { 'no-console': 'off', 'no-var': 'error' };\n",
            "lint/package.json": '{"main": "other.cjs"}',
        },
    ),
    "suppressions file": ({}, {"eslint-suppressions.json": '{"a.js": {"no-console": {"count": 9}}}'}),
    ".eslintignore": ({}, {".eslintignore": "*.js\n"}),
}


@pytest.mark.parametrize(("base", "change"), ESLINT.values(), ids=ESLINT)
def test_eslint_counts_as_the_base_commit_has_it(planted, base, change):
    words = ("--staged",) if len(change) > 1 else ("--diff", "HEAD")
    code, report = planted(base, {"a.js": BAD, "pkg/b.js": BAD, **change}, *words)
    assert code == 1
    assert rules(report, "a.js") == {"no-console"}
    assert "no-console" in rules(report, "pkg/b.js")
    changed = [path for path in change if "lint/" not in path and path not in ("rules.json", "package.json")]
    told = {one["path"] for one in report["findings"] if one["rule"].startswith("gate-config")}
    assert told >= {path for path in changed if change[path] is not None}, (told, changed)


PRETTIER = {
    ".prettierrc": (".prettierrc", SINGLE),
    ".prettierrc.json5": (".prettierrc.json5", "{ singleQuote: true, /* a */ // b\n}\n"),
    ".prettierrc.toml": (".prettierrc.toml", "singleQuote = true\n"),
    "package.json": ("package.json", PACKAGE.replace("{", '{"prettier": {"singleQuote": true}, ', 1)),
    "overrides": (".prettierrc", '{ "overrides": [{ "files": "*.js", "options": { "singleQuote": true } }] }\n'),
}


@pytest.mark.parametrize("form", [".prettierrc", ".prettierrc.toml", "package.json"])
def test_prettier_counts_as_the_base_commit_has_it(planted, form):
    name, text = PRETTIER[form]
    change = {
        "a.js": LONG,
        "pkg/b.js": LONG,
        name: PACKAGE if name == "package.json" else "{}\n" if "toml" not in name else "\n",
    }
    _, report = planted({name: text}, change, "--diff", "HEAD")
    assert "format" not in rules(report, "a.js") | rules(report, "pkg/b.js"), report


@pytest.mark.parametrize(("form", "folder"), [(".prettierrc", "pkg/"), ("package.json", ""), ("overrides", "pkg/")])
def test_new_configuration_of_prettier_excuses_nothing(planted, form, folder):
    name, text = PRETTIER[form]
    code, report = planted({}, {f"{folder}{name}": text, "pkg/b.js": LONG}, "--diff", "HEAD")
    assert (code, rules(report, "pkg/b.js")) == (1, {"format"})
    assert any(one["path"] == f"{folder}{name}" and one["tool"] == "gate" for one in report["findings"])


@pytest.mark.parametrize("form", [".prettierrc.json5", "package.json"])
def test_the_nearest_configuration_of_prettier_counts(planted, form):
    name, text = PRETTIER[form]
    nested = '{"prettier": {"singleQuote": true}}' if name == "package.json" else text
    base = {".prettierrc": '{ "tabWidth": 4 }\n', f"pkg/{name}": nested}
    code, report = planted(base, {"pkg/b.js": LONG, "a.js": DOUBLE}, "--diff", "HEAD")
    assert (code, report["findings"]) == (0, [])


IGNORED = {
    ".prettierignore": ({}, {".prettierignore": "*.js\n"}),
    "one more line": ({".prettierignore": "dist\n"}, {".prettierignore": "dist\npkg\n"}),
    "a line that takes back is gone": ({".prettierignore": "*.js\n!pkg/*.js\n"}, {".prettierignore": "*.js\n"}),
    ".editorconfig": ({".editorconfig": "[*]\nindent_size = 4\n"}, {".editorconfig": ""}),
}


@pytest.mark.parametrize(("base", "change"), IGNORED.values(), ids=IGNORED)
def test_no_ignore_file_of_the_change_excuses_layout(planted, base, change):
    text = "if (1) {\n  foo( );\n}\n"
    _, report = planted(base, {"pkg/b.js": text, **change}, "--diff", "HEAD")
    assert "format" in rules(report, "pkg/b.js")
    assert any(one["path"] in change and one["rule"].startswith("gate-config") for one in report["findings"])


COMMAND = '[[gate.command]]\nname = "words"\nrun = ["/bin/sh", "{}"]\n'
FINDS = "grep -Hn bad *.txt | sed s/:bad/:\\ bad/; ! grep -q bad *.txt\n"


@pytest.mark.parametrize(
    "settings", ["", COMMAND.format("true.sh"), COMMAND.format("words.sh") + 'mode = "advisory"\n']
)
def test_a_command_counts_as_the_base_commit_has_it(planted, settings):
    base = {"words.sh": FINDS, "package.json": "{}", "eslint.config.js": None}
    change = {"n.txt": "bad\n", "true.sh": "exit 0\n", ".rails.toml": settings}
    code, report = planted({**base, ".rails.toml": COMMAND.format("words.sh")}, change, "--diff", "HEAD")
    assert (code, rules(report, "n.txt")) == (1, {"words"})
    assert "gate-config-changed" in rules(report, ".rails.toml")


def test_nested_configuration_of_eslint_runs_only_once_a_human_agreed_to_it(planted, world):
    base = {"pkg/eslint.config.js": LOOSE.replace("no-var", "no-debugger")}
    _, report = planted(base, {"pkg/b.js": f"{BAD}debugger;\n", "a.js": BAD}, "--diff", "HEAD")
    assert (rules(report, "a.js"), rules(report, "pkg/b.js")) == ({"no-console"}, {"no-debugger"})
    world.put("pkg/eslint.config.js", "throw new Error('it ran')\n")
    verdict = world.judge(("pkg/b.js", "export const x = 1;\n"))
    assert [one.required for one in verdict.not_checked if "pkg/eslint.config.js is a program" in one.reason] == [False]


def test_what_a_human_agreed_to_covers_what_the_program_names(planted, world):
    base = {"eslint.config.js": IMPORTS, "lint/rules.js": "export default { 'no-console': 'error' };\n"}
    planted(base, {"a.js": BAD}, "--diff", "HEAD")
    world.put("lint/rules.js", "throw new Error('it ran')\n")
    verdict = world.judge(("a.js", "export const x = 1;\n"))
    assert ["--trust" in one.reason for one in verdict.not_checked] == [True]


def test_findings_of_eslint_beyond_the_bound_are_counted(planted, monkeypatch):
    monkeypatch.setattr(limits, "FINDINGS_LISTED", 5)
    _, report = planted({}, {"a.js": BAD * 9}, "--diff", "HEAD")
    found = [one["message"] for one in report["findings"] if one["rule"] == "more-findings"]
    assert [message.split(" in this")[0] for message in found] == ["4 more findings of `no-console`"]


def test_a_name_that_nothing_defines_breaks_without_a_list_of_globals_of_the_project(world):
    """Known are the names of browsers, Node.js, workers and test runners, whatever the project has installed."""
    world.put("package.json", PACKAGE)
    (world.project / "node_modules").symlink_to(REAL)
    texts = (
        "export function A() {\n  const [a] = useState(1);\n  return a;\n}\n",
        "export const f = () => fetch(new URL('x', document.baseURI)).then(process.exit);\n",
        "describe('x', () => it('y', () => expect(1).toBe(vi.fn())));\n",
        "self.addEventListener('install', () => importScripts('a.js'));\n",
    )
    found = world.judge(*((f"m{number}.js", text) for number, text in enumerate(texts))).findings
    named = [(one.path, one.rule, one.weight, one.message) for one in found if one.rule != "format"]
    assert named == [("m0.js", "no-undef", "breaks", "'useState' is not defined.")]
