"""Which files a project's tools look at: the answer of each tool itself, run on the folder, is what is judged."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
from rails.gate.languages.javascript import node_worker

ROWS = (Path(__file__).parent / "exclusions.toml").read_text("utf-8")
PACKAGES = Path(os.environ.get("AI_RAILS_JAVASCRIPT", node_worker.tool_folder())) / "node_modules"
BIOME = PACKAGES / "@biomejs/biome/bin/biome"
PYTHON = 'import os\nx = {  "a":1 }\n'
TEXTS = {"py": PYTHON, "pyi": PYTHON, "js": "const  a = {b:1}\ndebugger\n"}

#: How each is run, by the first word of its name, and what of its output names a file.
TOOLS = {
    "black": (f"{sys.executable} -m black --check .", "would reformat (.*)"),
    "flake8": (f"{sys.executable} -m flake8 .", r"(\S+?):\d+:\d+: F401"),
    "ruff": (f"{sys.executable} -m ruff check --no-cache --output-format concise .", r"(\S+?):\d+:\d+: F401"),
    "ruff format": (f"{sys.executable} -m ruff format --no-cache --check .", "--> (.*?):"),
    "biome": (f"node {BIOME} lint --reporter=github .", "noDebugger,file=(.*?),"),
    "biome format": (f"node {BIOME} format --reporter=github .", "title=format,file=(.*?),"),
    "prettier": (f"node {PACKAGES}/prettier/bin/prettier.cjs --list-different .", r"(?m)^(.*\.js)$"),
}


@pytest.mark.node
@pytest.mark.parametrize("family", tomllib.loads(ROWS))
def test_what_a_tool_leaves_out_of_its_folder_is_a_note_and_the_rest_is_judged(family, tmp_path, pool):
    """In each layout, of which the tool itself says what it looks at."""
    tools = {name: row for name, row in TOOLS.items() if name.split()[0] == family}
    if tools[family][0].startswith("node") and not PACKAGES.is_dir():
        pytest.skip("the tools of JavaScript are not installed")
    for title, layout in tomllib.loads(ROWS)[family].items():
        folder = tmp_path / title
        paths = layout.pop("paths")
        at = folder / layout.pop("at", ".")
        for name, text in {**layout, **{path: TEXTS[path.rpartition(".")[2]] for path in paths}}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.replace("HERE", str(folder)))
        (folder / "node_modules").symlink_to(PACKAGES)
        with Gate(folder, pool=pool) as gate:
            verdict = gate.check_files([WorkspacePath(path) for path in paths])
        for tool, (command, names) in tools.items():
            ran = subprocess.run(command.split(), cwd=at, capture_output=True, text=True, check=False)
            looked = {os.path.relpath(at / name, folder) for name in re.findall(names, ran.stdout + ran.stderr)}
            judged = {finding.path for finding in verdict.findings if finding.tool == tool}
            left = {miss.path for miss in verdict.not_checked if miss.check == tool and not miss.required}
            assert (judged, left) == (looked.intersection(paths), {*paths} - looked), (tool, title)
