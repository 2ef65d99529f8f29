"""The command that tests a project, by its configuration."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from rails.core.plain_file import read_ordinary
from rails.sandbox.places import python_of

_BYTES: Final = 1_000_000
_TARGET: Final = re.compile(r"^test\s*:", re.M)
#: Test files that are read to see what they are written for.
_LOOKED_AT: Final = 20
#: What npm writes where there are no tests.
_NO_TESTS: Final = "no test specified"


def command_for_tests(project: Path) -> tuple[str, ...]:
    """Return the command, () if unknown."""
    return next(_commands(project), ())


def _commands(project: Path) -> Iterator[tuple[str, ...]]:
    python = python_of(project)
    pytest = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    if _names_pytest(project) and _has_pytest(python):
        yield pytest
    if _script(project):
        yield ("npm", "test", "--silent")
    if any(_TARGET.search(file_text(project / name)) for name in ("Makefile", "makefile", "GNUmakefile")):
        yield ("make", "test")
    files = list(islice(_python_tests(project), _LOOKED_AT))
    if files:
        own = any("import unittest" in file_text(file) for file in files) or not _has_pytest(python)
        # unittest looks for others only if it is told
        named = () if all(file.name.startswith("test_") for file in files) else ("-p", "*test*.py")
        unittest = (python, "-m", "unittest", "discover", "-t", ".", "-s", _start(project), *named)
        yield unittest if own else pytest


def found_none(code: int, output: str) -> bool:
    """Return whether a run found no tests: pytest ends with 5, unittest prints it."""
    return (code == 5 and "no tests ran" in output) or "\nRan 0 tests in " in output


def _names_pytest(project: Path) -> bool:
    with contextlib.suppress(tomllib.TOMLDecodeError):
        if "pytest" in tomllib.loads(file_text(project / "pyproject.toml")).get("tool", {}):
            return True
    if (project / "pytest.ini").is_file() or (project / "conftest.py").is_file():
        return True
    return "[tool:pytest]" in file_text(project / "setup.cfg") or "[pytest]" in file_text(project / "tox.ini")


def _has_pytest(python: str) -> bool:
    if python == sys.executable:
        return importlib.util.find_spec("pytest") is not None
    return any(Path(python).parent.parent.glob("lib/python3*/site-packages/pytest"))


def _script(project: Path) -> bool:
    with contextlib.suppress(ValueError, AttributeError):
        script = json.loads(file_text(project / "package.json") or "{}").get("scripts", {}).get("test", "")
        return isinstance(script, str) and bool(script) and _NO_TESTS not in script
    return False


def _python_tests(project: Path) -> Iterator[Path]:
    for folder in (project, project / "tests", project / "test"):
        yield from folder.glob("test_*.py")
        yield from folder.glob("*_test.py")


def _start(project: Path) -> str:
    return next((name for name in ("tests", "test") if any((project / name).glob("test_*.py"))), ".")


def file_text(file: Path) -> str:
    """Return an ordinary file's text, bounded; "" if it cannot be read."""
    try:
        return read_ordinary(file, _BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
