"""The house stands: imports only go down, nothing heavy or loud at start-up, proofs are made in one place."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

RAILS = Path(__file__).parent.parent / "rails"

# A room may import itself and what is on a lower floor; neighbours on one floor don't see each other.
FLOORS = [
    {"core"},
    {"intake", "tools", "edits", "gate", "approval", "models", "log", "sandbox", "messages", "contracts", "prices"},
    {"agents", "feedback"},
    {"setting", "resume", "budget", "flows", "escalation", "human", "kickoff"},
    {"correction", "handoff", "job", "oversight"},
    {"narration"},
    {"admission", "ahead", "asking", "placing"},
    {"turn"},
    {"engagement"},
    {"session"},
    {"review", "doors", "screen"},
    {"testing"},
    {"commands", "options"},
    {"cli"},
    {"__main__"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def modules():
    return sorted(path for path in RAILS.rglob("*.py") if "_data" not in path.parts)


def room_of(path):
    relative = path.relative_to(RAILS).with_suffix("")
    return relative.parts[0]


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write it in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "rails" else [node.module]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "rails" and len(parts) > 1 and parts[1] != "__version__":
                yield parts[1]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(RAILS)))
def test_a_room_imports_only_itself_and_lower_floors(path):
    room = room_of(path)
    if room == "__init__":
        assert not list(imported_rooms(path))
        return
    assert room in FLOOR_OF, f"{room} has no floor yet: add it to FLOORS"
    for other in imported_rooms(path):
        assert other == room or FLOOR_OF[other] < FLOOR_OF[room], f"{path}: {room} must not import {other}"


def calls_of(name):
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if function == name:
                    yield str(path.relative_to(RAILS))


@pytest.mark.parametrize(
    ("proof", "makers"),
    [
        ("WorkspacePath", {"core/paths.py"}),
        ("ToolRequest", {"tools/contract.py"}),
        ("Approved", {"approval/decision.py"}),
    ],
)
def test_a_type_that_carries_a_proof_is_made_in_one_place(proof, makers):
    assert set(calls_of(proof)) <= makers


def importers_of(package):
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            if any(name.split(".")[0] == package for name in names):
                yield str(path.relative_to(RAILS))


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("git", {"edits/history.py"}),
        ("anthropic", {"models/anthropic.py"}),
        ("jsonschema", {"tools/definitions.py", "tools/contract.py", "gate/pyworker.py"}),
    ],
)
def test_a_heavy_package_is_used_in_one_room(package, allowed):
    assert set(importers_of(package)) <= allowed


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(RAILS)))
def test_nothing_evaluates_text_or_starts_a_shell(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            assert name not in {"eval", "exec", "__import__"}, f"{path}:{node.lineno}: {name}()"
            for keyword in node.keywords:
                shell = keyword.arg == "shell" and getattr(keyword.value, "value", None) is not False
                assert not shell, f"{path}:{node.lineno}: shell=…"


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


def test_importing_the_package_is_silent_and_touches_nothing(tmp_path):
    code = f"import os; os.chdir({str(tmp_path)!r}); import rails; print(os.listdir('.'))"
    assert run_python(code) == "[]\n"


def test_importing_the_package_takes_under_50_ms():
    code = "import time; t = time.perf_counter(); import rails; print(time.perf_counter() - t)"
    assert min(float(run_python(code)) for _ in range(3)) < 0.05


def test_help_imports_nothing_heavy():
    code = (
        "import sys, contextlib, io\n"
        "from rails.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        "print([m for m in ('anthropic', 'git', 'black', 'rich', 'jsonschema', 'starlette', 'yaml', 'pydantic') "
        "if m in sys.modules])"
    )
    assert run_python(code) == "[]\n"


# What costs more to import than it gives a hook: compilers of classes, OpenSSL, the parser of options, compression …
SLOW = ["dataclasses", "inspect", "hashlib", "tokenize", "shutil", "tempfile", "difflib", "importlib.metadata"]
SLOW += ["rails.approval", "rails.edits", "rails.tools", "rails.intake", "rails.core.requests", "rails.gate.partial"]


@pytest.mark.parametrize("words", [["a.py"], ["."], ["--all"], ["a.py", "--format", "json"]])
def test_a_gate_s_call_imports_nothing_slow(tmp_path, words):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    (tmp_path / "a.py").write_text("print(undefined)\n")
    slow = SLOW if any(word.startswith("-") for word in words) else [*SLOW, "argparse", "gettext"]
    code = (
        f"import os, sys; os.chdir({str(tmp_path)!r})\n"
        "from rails.cli import main\n"
        f"assert main({['gate', *words]!r}) == 1\n"
        f"print([m for m in {slow!r} if m in sys.modules])"
    )
    assert run_python(code).splitlines()[-1] == "[]"


def test_ruff_runs_before_the_gate_is_imported(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    code = (
        f"import os, sys; os.chdir({str(tmp_path)!r})\n"
        "from rails.cli import main\n"
        "from rails.gate import tools\n"
        "start, seen = tools.start, []\n"
        "def watched(argv, **more):\n"
        "    seen.append(sorted(m for m in sys.modules if m.startswith('rails.gate.')))\n"
        "    return start(argv, **more)\n"
        "tools.start = watched\n"
        "main(['gate', 'a.py'])\n"
        "print(seen[0])"
    )
    assert run_python(code).splitlines()[-1] == "['rails.gate.tools']"


def test_help_imports_no_compiler_of_classes():
    code = (
        "import sys, contextlib, io\n"
        "from rails.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        "print([m for m in ('dataclasses', 'inspect', 'pathlib', 'subprocess', 'hashlib') if m in sys.modules])"
    )
    assert run_python(code) == "[]\n"
