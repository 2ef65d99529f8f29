"""What a command that checks the project is: its arguments, and how its output is read. Nothing is run here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, field

from rails.sandbox.functions import PATTERN, function_argv

OutputFormat = Literal["regex", "sarif", "junit", "exit"]


class CheckCommand(Struct, frozen=True):
    """A command that checks the project.

    ``argv`` starts with an absolute path. ``reads`` says how its output becomes findings: "regex" (each
    match of ``pattern``, with the groups path, line, column, rule, message), "sarif" or "junit" (the file
    ``report`` in the copy, or standard output), or "exit" (any code but 0 is one finding). ``ok_codes`` are exit codes
    of a run that worked, with or without findings; any other is a crash. ``endings`` limits it to changes of such
    files ("" for all).
    ``takes_paths`` is whether it reads the paths of the change, as a list of JSON, from standard input.
    ``blocking`` is whether its new findings fail the verdict. ``measures`` is whether it is pytest, whose coverage can
    be judged: by the project's own threshold or, with ``changed``, by the lines that a change wrote; ``coverage`` is
    the percentage that is wanted of these. ``says`` is the message of a match without one, ``both`` whether standard
    error is read too, ``needs`` what is shown to it, and ``optional`` whether a run that fails is only noted.
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
    changed: bool = False
    coverage: float | None = None
    says: str = ""
    both: bool = False
    needs: tuple[Path, ...] = ()
    optional: bool = False


def python_function(name: str, module_and_name: str, python: str) -> CheckCommand:
    """Return a Python function of the project as a check."""
    argv = function_argv(python, module_and_name, name)
    return CheckCommand(name, argv, pattern=PATTERN, ok_codes=frozenset({0}), takes_paths=True)


def mypy(python: str) -> CheckCommand:
    """Return mypy, run by ``python`` with the project's own configuration: what it excludes, how strict it is."""
    shape = ("--no-pretty", "--hide-error-end", "--hide-error-context", "--no-error-summary")
    flags = (*shape, "--show-column-numbers", "--show-error-codes", "--no-incremental")
    pattern = (
        r"(?m)^(?P<path>[^\n:]+):(?P<line>\d+):(?P<column>\d+): error: (?P<message>.+?)(?:  \[(?P<rule>[\w-]+)\])?$"
    )
    return CheckCommand("mypy", (python, "-I", "-m", "mypy", *flags, "."), pattern=pattern, endings=(".py", ".pyi"))


def bandit(python: str) -> CheckCommand:
    """Return bandit, run by ``python``, over all Python files of the project."""
    form = "{relpath}:{line}:{col}: {test_id} {msg}"
    pattern = r"(?m)^(?:\./)?(?P<path>[^\n:]+):(?P<line>\d+):(?P<column>\d+): (?P<rule>B\d+) (?P<message>.+)$"
    argv = (python, "-I", "-m", "bandit", "-q", "-r", ".", "-f", "custom", "--msg-template", form)
    return CheckCommand("bandit", argv, pattern=pattern, endings=(".py",))


def pytest(python: str) -> CheckCommand:
    """Return the project's tests, run by ``python``. No test that ran is a finding too."""
    argv = (python, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=.rails-junit.xml")
    codes = frozenset({0, 1, 2, 5})
    return CheckCommand(
        "pytest", argv, reads="junit", report=".rails-junit.xml", ok_codes=codes, endings=(".py",), measures=True
    )


#: The commands that need no more than their name in the settings.
SHIPPED: Final[Mapping[str, Callable[[str], CheckCommand]]] = {"mypy": mypy, "bandit": bandit, "pytest": pytest}


def program(name: str, project: Path) -> str:
    """Return a program by absolute path: "python" is the project's own where it has one, else ours.

    Other names are looked up in the user's ``PATH`` without what lies in the project; a name that is not
    found comes back as it is, and is refused when it is to run.
    """
    import shutil  # most changes ask for no program

    if name in ("python", "python3"):
        places = (project / folder / "bin" / "python" for folder in (".venv", "venv"))
        return next((str(place) for place in places if os.access(place, os.X_OK)), sys.executable)
    if "/" in name:
        return name
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    safe = [one for one in folders if Path(one).is_absolute() and project not in Path(one, "x").resolve().parents]
    return shutil.which(name, path=os.pathsep.join(safe)) or name
