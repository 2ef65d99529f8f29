"""Every form of comment by which a tool is switched off is known: read from the tools that are installed."""

import json
import os
import re
from itertools import product
from pathlib import Path

import pytest

from rails.gate.languages.javascript import node_worker
from rails.gate.support.suppressions import new_ones
from rails.processes import programs

REAL = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules"
LEADS = ["", "ruff: ", "ruff:", "RUFF: ", "flake8: ", "flake8=", "ruff = ", "isort: ", "isort:", "fmt: ", "yapf: "]
WORDS = ["noqa", "NoQA", "noqa: F401", "noqa:F401", "noqa:F401,E501", "noqa F401", "noqa : F401", "disable[F401]"]
WORDS += [
    "ignore[F401]",
    "file-ignore[F401]",
    "ignore",
    "disable",
    "skip",
    "off",
    "skip_file",
    "skip-file",
    "disable=F401",
]
FORMS = [f"{blank}{lead}{word}" for blank, lead, word in product([" ", ""], LEADS, WORDS)]


def known(path, text):
    return bool(new_ones(path, b"", text.encode()))


def test_what_silences_ruff_is_known(tmp_path):
    texts = [text for form in FORMS for text in (f"import os  #{form}\n", f"#{form}\nimport os\n")]
    for number, text in enumerate(texts):
        (tmp_path / f"f{number}.py").write_text(text)
    words = ["check", "--isolated", "--no-cache", "--preview", "--select=F401", "--output-format=json", str(tmp_path)]
    ran = programs.run_tool([*programs.find_ruff().argv, *words])
    loud = {Path(item["filename"]).name for item in json.loads(ran.out)}
    silent = [text for number, text in enumerate(texts) if f"f{number}.py" not in loud]
    assert len(silent) > 10
    assert [text for text in silent if not known("a.py", text)] == []


def test_what_silences_flake8_is_known():
    defaults = pytest.importorskip("flake8.defaults")
    patterns = [pattern for pattern in vars(defaults).values() if isinstance(pattern, re.Pattern)]
    silent = [form for form in FORMS if any(p.search(f"import os  #{form}") or p.match(f"#{form}") for p in patterns)]
    assert silent
    assert [form for form in silent if not known("a.py", f"import os  #{form}\n")] == []


def test_the_directives_of_eslint_are_known():
    folder = tools()
    source = "".join(
        place.read_text() for place in folder.glob("eslint/lib/**/*.js") if "directive" in place.read_text()
    )
    found = re.findall(r"case \"(eslint[\w-]*|exported|globals?)\"", source)
    assert {"eslint-disable", "exported", "global"} <= set(found)
    for word in {*found} - {"eslint-enable"}:
        assert known("a.js", f"/* {word} no-undef: 0 */\nfoo();\n"), word
        if word.startswith("eslint-disable-"):
            assert known("a.js", f"foo(); // {word} no-undef\n"), word


def test_the_comments_of_prettier_are_known():
    folder = tools()
    source = (folder / "prettier/index.mjs").read_text()
    source += "".join(place.read_text() for place in folder.glob("prettier/plugins/*.mjs"))
    words = {word for word in re.findall(r"prettier-ignore[a-z-]*", source) if not word.endswith("-")}
    assert "prettier-ignore" in words
    for word in words - {"prettier-ignore-end"}:
        for path, text in {
            "a.ts": f"// {word}\nlet a  = 1\n",
            "a.md": f"<!-- {word} -->\n",
            "a.yaml": f"# {word}\na:  1\n",
            "a.css": f"/* {word} */\na  {{}}\n",
            "a.html": f"<!-- {word} -->\n<a  />\n",
        }.items():
            assert known(path, text), (word, path)


def tools():
    if not (REAL / "eslint").is_dir():
        pytest.skip("ESLint and Prettier are not installed")
    return REAL
