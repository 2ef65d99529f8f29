"""Checks that are commands of the user's tools: wanted where the project names them, and only what is new counts."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from rails.gate.gate import Gate
from rails.gate.support import known_tools
from rails.sandbox import probe
from rails.sandbox.values import NONE

#: Where else the tools may be: beside the Python that runs the tests, and where a developer keeps them.
PLACES = (str(Path(sys.executable).parent), os.environ.get("AI_RAILS_KNOWN_TOOLS", ""))
contained = pytest.mark.skipif(probe.label().level == NONE, reason="nothing contains a command here")

#: Tool, configuration, file, a text in which it finds nothing, and lines in which it does.
CASES = [
    ("yamllint", {".yamllint": "extends: default\n"}, "a.yml", "---\na: 1\n", "b:   1\n"),
    ("sqlfluff", {".sqlfluff": "[sqlfluff]\ndialect = ansi\n"}, "a.sql", "SELECT a FROM t;\n", "SELECT b from u;\n"),
    ("shellcheck", {".shellcheckrc": ""}, "a.sh", "#!/bin/sh\necho a\n", "rm $2\n"),
    ("shfmt", {".pre-commit-config.yaml": "- id: shfmt\n"}, "a.sh", "echo a\n", "if true; then\n echo\nfi\n"),
    ("hadolint", {".hadolint.yaml": "{}\n"}, "Dockerfile", "FROM debian:12\n", "RUN sudo ls\n"),
    ("rustfmt", {"Cargo.toml": "[package]\n"}, "a.rs", "fn main() {}\n", "fn g( ) {}\n"),
]


@pytest.fixture
def tool(monkeypatch):
    def find(name):
        monkeypatch.setenv("PATH", os.pathsep.join((*filter(None, PLACES), os.environ["PATH"])))
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")

    return find


@contained
@pytest.mark.parametrize(("name", "config", "path", "clean", "bad"), CASES, ids=[case[0] for case in CASES])
def test_what_is_new_counts_and_what_was_there_does_not(world, tool, name, config, path, clean, bad):
    tool(name)
    for file, text in config.items():
        world.put(file, text)
    verdicts = {
        "new file": world.judge((path, clean + bad)),
        "added": world.judge((path, clean, clean + bad)),
        "was there": world.judge(
            (path, clean + bad, clean + bad + ("c: 1\n" if name == "yamllint" else f"{clean.splitlines()[-1]}\n"))
        ),
        "clean": world.judge((path, clean)),
    }
    for verdict in verdicts.values():
        assert name not in {miss.check for miss in verdict.not_checked}, verdict.not_checked
    found = {way: {one.weight for one in verdict.findings if one.tool == name} for way, verdict in verdicts.items()}
    assert found == {"new file": {"style"}, "added": {"style"}, "was there": set(), "clean": set()}


def test_a_tool_that_is_wanted_and_not_installed_is_named_and_blocks_nothing(world, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    world.put(".yamllint", "extends: default\n")
    verdict = world.judge(("a.yml", "a:   1\n"))
    assert verdict.status == "pass"
    assert [(miss.check, miss.required) for miss in verdict.not_checked] == [("yamllint", False)]


@pytest.mark.parametrize(
    ("files", "path", "wanted"),
    [
        ({}, "a.yml", []),
        ({".yamllint": "x: 1\n"}, "a.yml", ["yamllint"]),
        ({".yamllint": "x: 1\n"}, "a.txt", []),
        ({"pyproject.toml": "[tool.sqlfluff.core]\ndialect = 'ansi'\n"}, "q/a.sql", ["sqlfluff"]),
        ({".pre-commit-config.yaml": "- id: sqlfluff-lint\n"}, "a.sql", ["sqlfluff"]),
        ({".pre-commit-config.yaml": "- id: hadolint-docker\n"}, "Dockerfile", ["hadolint"]),
        ({".pre-commit-config.yaml": "# - id: shfmt\n"}, "a.sh", []),
        ({"Cargo.toml": "[package]\n"}, "src/a.rs", ["rustfmt"]),
        ({"go.mod": "module m\n"}, "a.go", ["gofmt"]),
        ({".github/actionlint.yaml": "x: 1\n"}, "a.yml", []),
        ({".github/actionlint.yaml": "x: 1\n"}, ".github/workflows/a.yml", ["actionlint"]),
        ({"tsconfig.json": "{}\n"}, "a.ts", []),
    ],
)
def test_a_tool_for_single_files_is_wanted_where_the_project_names_it(world, files, path, wanted):
    for name, text in files.items():
        world.put(name, text)
    assert [one.name for one in known_tools.wanted_tools(world.project, [path])] == wanted


def test_every_row_can_be_read():
    for name, row in known_tools.known_rows().items():
        assert "path" in re.compile(row["pattern"]).groupindex, name
        assert row["weight"] in ("style", "breaks"), name
        assert row.get("whole") or row.get("config") or row.get("hooks") or name == "shfmt", name


def test_a_tool_for_the_whole_tree_is_run_where_the_settings_name_it(project, pool, own_config, tool):
    tool("cargo")
    (project / "Cargo.toml").write_text('[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n')
    own_config.mkdir()
    (own_config / "gate.toml").write_text('[[command]]\nname = "cargo check"\n')
    with Gate(project, pool=pool) as gate:
        verdict = gate.check_contents({"src/main.rs": "fn main() { let x: u8 = no; }\n"})
    assert "E0425" in {one.rule for one in verdict.findings}
