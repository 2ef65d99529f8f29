"""A command as a check: its arguments and how its output is read. Nothing runs here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from rails.sandbox.functions import PATTERN, function_argv

OutputFormat = Literal["regex", "sarif", "junit", "exit"]


class CheckCommand(Struct, frozen=True):
    """A command that checks the project.

    ``argv`` begins with an absolute path. ``reads``: "regex" (``pattern`` with groups path, line, column, rule,
    message), "sarif" or "junit" (the copy's file ``report``, or standard output), or "exit" (a finding unless 0). Exit
    codes outside ``ok_codes`` are crashes. ``endings`` limits it to such files ("": all). ``takes_paths``: changed
    paths come as JSON on standard input. ``blocking``: findings fail the verdict. ``measures``: it is pytest; coverage
    counts by the project's threshold. ``says`` is the default message, ``both`` adds standard error, ``needs`` is
    visible in the sandbox, ``optional`` only notes failure.
    """

    name: str
    argv: tuple[str, ...]
    reads: OutputFormat = "regex"
    pattern: str = r"(?P<path>[^\s:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<message>.+)"
    report: str = ""
    ok_codes: frozenset[int] = frozenset({0, 1})
    endings: tuple[str, ...] = ("",)
    blocking: bool = True
    timeout_s: float = 120.0
    environment: Mapping[str, str] = field(default_factory=dict)
    takes_paths: bool = False
    measures: bool = False
    says: str = ""
    both: bool = False
    needs: tuple[Path, ...] = ()
    optional: bool = False


def python_function(name: str, module_and_name: str, python: str) -> CheckCommand:
    """Return a project's Python function as a check."""
    argv = function_argv(python, module_and_name, name)
    return CheckCommand(name, argv, pattern=PATTERN, ok_codes=frozenset({0}), takes_paths=True)


def pytest(python: str) -> CheckCommand:
    """Return the tests; running none is a finding."""
    argv = (python, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=.rails-junit.xml")
    return CheckCommand(
        "pytest",
        argv,
        reads="junit",
        report=".rails-junit.xml",
        ok_codes=frozenset({0, 1, 2, 5}),
        endings=(".py",),
        measures=True,
    )


def program(name: str, project: Path) -> str:
    """Return a program's absolute path: "python" is the project's, else ours.

    Others come from ``PATH`` outside the project; an unknown name is returned unchanged and refused when run.
    """
    import shutil  # most changes ask for no program

    from rails.sandbox.places import python_of

    if name in ("python", "python3"):
        return python_of(project)
    if "/" in name:
        return name
    outside = (one for one in os.get_exec_path() if not Path(one).resolve().is_relative_to(project))
    safe = filter(os.path.isabs, outside)
    return shutil.which(name, path=os.pathsep.join(safe)) or name
