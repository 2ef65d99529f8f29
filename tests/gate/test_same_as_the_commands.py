"""The warm Node process says what the commands of ESLint and Prettier say, on many files, to the column."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rails.core.text import decode_text
from rails.gate.languages.javascript import config, node_worker
from rails.gate.languages.javascript.node_tools import NodeTools
from rails.gate.support.check import CheckContext

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules"
pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(not (REAL / "eslint").is_dir() or shutil.which("node") is None, reason="no ESLint"),
]

LINT = "eslint/bin/eslint.js"
FORMAT = "prettier/bin/prettier.cjs"
#: Rules of every kind: fixable ones, layout, options, warnings, directives.
OWN = """export default [
  { linterOptions: { reportUnusedDisableDirectives: "warn" } },
  { files: ["**/*.js"], rules: {
    "no-var": "error", "prefer-const": "warn", "no-undef": "error", "dot-notation": "error", curly: "error",
    "object-shorthand": "error", "no-unused-vars": "error", "no-regex-spaces": "error", eqeqeq: ["error", "smart"],
    "no-irregular-whitespace": "error", "no-multi-str": "error", "no-else-return": "error", "no-debugger": "error",
    "no-extra-boolean-cast": "error", "operator-assignment": "error" } },
];
"""
#: Where columns, lines and offsets of ESLint differ from ours.
ODD = {
    "emoji.js": 'var s = "\U0001f600\U0001f600"; var t = s == 1; debugger;\n',
    "bom.js": "\ufeffvar a = 1;\nif (!!a) debugger\n",
    "crlf.js": "var a = 1;\r\nif (a == 2) debugger;\r\nvar b = a['c'];\r\n",
    "cr.js": "var a = 1;\rdebugger;\rvar b = 2;\r",
    "separator.js": "const s = `a\u2028b`; var t = 1;\nif (!!t) debugger;\n/* \u2029 */ var u = {v: u};\n",
    "directive.js": "/* eslint no-var: off */\nvar a = 1; // eslint-disable-line no-undef\nexport default a\n",
    "end.js": "function f() {\n  if (a) { return 1 } else { return 2 }\n}",
    "empty.js": "",
}


@pytest.fixture
def sources(project):
    """A project with the real packages and many files, old texts of ESLint's own among them."""
    (project / "node_modules").symlink_to(REAL)
    (project / "package.json").write_text('{"type": "module", "devDependencies": {"eslint": "*", "prettier": "*"}}')
    (project / "eslint.config.js").write_text(OWN)
    (project / ".prettierrc").write_text('{"singleQuote": true, "endOfLine": "auto"}')
    files = sorted((REAL / "eslint" / "lib" / "rules").glob("*.js"))[::60]
    texts = {file.name: file.read_text("utf-8").replace("const ", "var ", 9) for file in files} | ODD
    for name, text in texts.items():
        (project / name).write_bytes(text.encode())
    return sorted(texts)


def command(project, *words):
    ran = subprocess.run(
        ["node", str(REAL / words[0]), *words[1:]], cwd=project, capture_output=True, check=False, encoding="utf-8"
    )
    assert ran.returncode < 2, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("own", [True, False], ids=["own-rules", "our-rules"])
def test_the_worker_finds_what_the_command_finds(project, pool, sources, own):
    if not own:
        (project / "eslint.config.js").write_text(ours())
    told = {Path(one["filePath"]).name: one for one in json.loads(command(project, LINT, "-f", "json", *sources))}
    with tools_for(project, pool, trusted=own) as tools:
        for name in sources:
            text = (project / name).read_bytes().decode("utf-8-sig")
            mine = [as_told(one) for one in tools._eslint(name, text)]
            theirs = [expected(one, text) for one in told[name]["messages"]]
            # Which names exist is looked up in a package that not every ESLint brings.
            assert _known(mine) == _known(theirs), name
    assert sum(len(one["messages"]) for one in told.values()) > (40 if own else 0)


def _known(found):
    return [one for one in found if one[0] != "no-undef"]


def test_the_worker_formats_as_the_command_does(project, pool, sources):
    mine = {}
    with tools_for(project, pool) as tools:
        for name in sources:
            decoded = decode_text((project / name).read_bytes())
            mine[name] = decoded.encode(tools._prettier(name, decoded.text))
    command(project, FORMAT, "--write", *sources)
    for name in sources:
        assert mine[name] == (project / name).read_bytes(), name


def ours():
    """Return our own rules as the configuration that a project would write."""
    code = Path(node_worker.__file__).with_suffix(".cjs").read_text("utf-8")
    rules = dict.fromkeys(re.search(r"const RULES = `([^`]*)`", code)[1].split(), "error")
    names = {"require": False, "module": True, "process": False, "console": False}
    options = {"globals": names}
    return f"export default [{json.dumps({'files': ['**/*.js'], 'languageOptions': options, 'rules': rules})}];\n"


@contextlib.contextmanager
def tools_for(project, pool, *, trusted=False):
    context = CheckContext(project, pool, trusted=trusted)
    yield NodeTools(context, config.read_script_settings(project))
    context.resources["node"].close()


def as_told(found):
    edits = [(edit.start, edit.end, edit.content) for edit in found.edits]
    return found.rule, " ".join(found.message.split()), found.start, found.end, edits


def expected(message, text):
    """Return a message of the command with our lines and columns, worked out character by character."""
    theirs = [0, *(found.end() for found in re.finditer("\r\n|[\r\n\u2028\u2029]", text))]

    def units(offset):
        return text.encode("utf-16-le")[: 2 * offset].decode("utf-16-le", "replace")

    def at(before):
        lines = re.split("\r\n|\r|\n", before)
        return len(lines), len(lines[-1]) + 1

    def place(line, column):
        if not line:
            return 0, 0
        above = text[: theirs[line - 1]]
        rest = text[theirs[line - 1] :].encode("utf-16-le")[: 2 * (column - 1)].decode("utf-16-le")
        return at(above + rest)

    fix = message.get("fix")
    edits = [(at(units(fix["range"][0])), at(units(fix["range"][1])), fix["text"])] if fix else []
    end = place(message.get("endLine"), message.get("endColumn"))
    words = " ".join(message["message"].split())
    return message["ruleId"] or "eslint", words, place(message["line"], message["column"]), end, edits
