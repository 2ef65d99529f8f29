"""Any command as a check: it runs on a scratch copy of the project and its output becomes findings.

They come from the settings (``rails.gate.support.settings``), or whoever makes the :class:`rails.gate.gate.Gate`
hands them in. Commands execute code of the project, so the project's own need a human's agreement first. The copy keeps
them from changing the workspace; containing them further is the sandbox's work.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from rails.core.dataclass import dataclass, field
from rails.core.errors import CheckError
from rails.core.scratch import ScratchFolder, scratch_folder
from rails.core.text import one_line, plain_text
from rails.core.verdict import Finding, Severity
from rails.gate.baseline import TextFindings, mark_new, split_lines
from rails.processes import programs

#: Left out of the copy: history, our own state, and what tools can make again.
_SKIPPED: Final = frozenset(
    {".git", ".hg", ".svn", ".rails", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
#: Linked into the copy instead of copied: installed packages, which are large and not the agent's to change.
_LINKED: Final = frozenset({"node_modules", ".venv", "venv"})
#: A project larger than this is not copied for a check.
_COPY_BYTES: Final = 200_000_000
_MARK: Final = "AI_RAILS_CHECK"

OutputFormat = Literal["regex", "sarif", "junit"]


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """A command that checks the project.

    ``argv`` starts with an absolute path. ``reads`` says how its output becomes findings: "regex" (each
    match of ``pattern``, with the groups path, line, column, rule, message), "sarif" or "junit" (the file
    ``report`` in the copy, or standard output). ``ok_codes`` are exit codes of a run that worked, with or
    without findings; any other is a crash. ``endings`` limits it to changes of such files ("" for all).
    ``blocking`` is whether its new findings fail the verdict.
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


def mypy(python: str) -> CheckCommand:
    """Return mypy, run by ``python``, without the project's plugins."""
    flags = ("--no-error-summary", "--show-column-numbers", "--show-error-codes", "--config-file=", "--no-incremental")
    pattern = (
        r"(?m)^(?P<path>[^\n:]+):(?P<line>\d+):(?P<column>\d+): error: (?P<message>.+?)(?:  \[(?P<rule>[\w-]+)\])?$"
    )
    return CheckCommand("mypy", (python, "-I", "-m", "mypy", *flags, "."), pattern=pattern, endings=(".py", ".pyi"))


def pytest(python: str) -> CheckCommand:
    """Return the project's tests, run by ``python``. No test that ran is a finding too."""
    argv = (python, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=.rails-junit.xml")
    codes = frozenset({0, 1, 2, 5})
    return CheckCommand("pytest", argv, reads="junit", report=".rails-junit.xml", ok_codes=codes, endings=(".py",))


#: The commands that need no more than their name in the settings.
SHIPPED: Final[Mapping[str, Callable[[str], CheckCommand]]] = {"mypy": mypy, "pytest": pytest}


def program(name: str, project: Path) -> str:
    """Return a program by absolute path: "python" is the project's own where it has one, else ours.

    Other names are looked up in the user's ``PATH`` without what lies in the project; a name that is not
    found comes back as it is, and is refused when it is to run.
    """
    if name in ("python", "python3"):
        places = (project / folder / "bin" / "python" for folder in (".venv", "venv"))
        return next((str(place) for place in places if os.access(place, os.X_OK)), sys.executable)
    if "/" in name:
        return name
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    safe = [one for one in folders if Path(one).is_absolute() and project not in Path(one, "x").resolve().parents]
    return shutil.which(name, path=os.pathsep.join(safe)) or name


def findings_of_command(
    command: CheckCommand, project: Path, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> list[Finding]:
    """Run ``command`` on the project as it would be ``after`` the change; mark what was there ``before``.

    Both map the change's paths to bytes (``None``: no such file). The old state is only looked at when there is
    something to compare. Raises CheckError when either run fails: what cannot be compared is not called new.
    """
    found = run_check_command(command, project, after)
    created = {path for path, data in before.items() if data is None}
    if before == after or all(finding.path in created for finding in found):
        return found
    old = run_check_command(command, project, before)
    marked: list[Finding] = []
    for path in dict.fromkeys(finding.path for finding in found):
        sides = []
        for contents, findings in ((before, old), (after, found)):
            lines = split_lines(plain_text(_content(project, path, contents)) or "")
            sides.append(TextFindings(lines, [finding for finding in findings if finding.path == path]))
        marked += mark_new(*sides)
    return marked


def _content(project: Path, path: str, contents: Mapping[str, bytes | None]) -> bytes:
    if path in contents:
        return contents[path] or b""
    place = project / path
    try:
        return place.read_bytes() if project in place.resolve().parents else b""
    except OSError:
        return b""


def scratch_copy(project: Path, contents: Mapping[str, bytes | None]) -> ScratchFolder:
    """Return a scratch copy of the project with ``contents`` (path to bytes, ``None`` for no file) in place.

    Raises CheckError for a project that is too large. Links that lead out of the project are left out.
    """
    folder = scratch_folder("check")
    try:
        _copy_tree(project, Path(folder.name))
        for path, data in contents.items():
            place = Path(folder.name, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            if data is not None:
                place.write_bytes(data)
    except OSError as error:
        folder.cleanup()
        raise CheckError(f"The project could not be copied for the check: {error.strerror}.") from error
    except CheckError:
        folder.cleanup()
        raise
    return folder


def _copy_tree(project: Path, target: Path) -> None:
    size = 0
    for base, folders, files in os.walk(project):
        here = target / Path(base).relative_to(project)
        here.mkdir(exist_ok=True)
        for name in [name for name in folders if name in _LINKED]:
            (here / name).symlink_to(Path(base, name), target_is_directory=True)
        folders[:] = [name for name in folders if name not in _SKIPPED | _LINKED and not Path(base, name).is_symlink()]
        for name in files:
            source = Path(base, name)
            if source.is_symlink() and project not in source.resolve().parents:
                continue
            if not source.is_file():
                continue
            size += source.stat().st_size
            if size > _COPY_BYTES:
                raise CheckError(
                    f"The project has more than {_COPY_BYTES // 1_000_000} MB; it is not copied for a check."
                )
            shutil.copy2(source, here / name)


def run_check_command(command: CheckCommand, project: Path, contents: Mapping[str, bytes | None]) -> list[Finding]:
    """Run ``command`` on a copy of the project with ``contents`` in place. Raises CheckError when it fails."""
    if not Path(command.argv[0]).is_absolute():
        words = f"{one_line(command.argv[0])} was not found; install it, or give its absolute path"
        raise CheckError(f"{command.name} cannot be run: {words}.")
    mark = uuid.uuid4().hex
    with scratch_copy(project, contents) as folder:
        try:
            extra = {"HOME": folder, _MARK: mark, **command.environment}
            ran = programs.run_tool(command.argv, timeout=command.timeout_s, cwd=folder, extra=extra)
        finally:
            _end_marked(mark)
        if ran.code not in command.ok_codes:
            words = ran.complaint or one_line(ran.out[-300:].decode(errors="replace"), 200)
            raise CheckError(f"{command.name} ended with code {ran.code}: {words}")
        found = list(_findings(command, ran, Path(folder)))
    if ran.code != 0 and not found:
        raise CheckError(f"{command.name} ended with code {ran.code} and reported nothing that could be read.")
    return found


def _end_marked(mark: str) -> None:
    """Kill what left the process group (a daemon of its own session) but kept the environment it was given."""
    wanted = f"{_MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*") if Path("/proc/self").exists() else ():
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue


def _findings(command: CheckCommand, ran: programs.ToolRun, folder: Path) -> Iterator[Finding]:
    text = ran.out.decode(errors="replace")
    if command.report:
        try:
            text = (folder / command.report).read_text("utf-8", "replace")
        except OSError as error:
            raise CheckError(f"{command.name} wrote no {command.report}.") from error
    severity: Severity = "error" if command.blocking else "warning"
    readers = {"regex": _regex, "sarif": _sarif, "junit": _junit}
    for path, line, column, rule, message in readers[command.reads](command, text):
        clean = path.removeprefix(f"{folder}/").removeprefix("./")
        yield Finding(clean, line, column, rule, one_line(message, 300), command.name, severity, end_line=line)


ReportRow = tuple[str, int, int, str, str]


def _regex(command: CheckCommand, text: str) -> Iterator[ReportRow]:
    for found in re.finditer(command.pattern, text):
        groups = {"path": "", "line": "0", "column": "0", "rule": None, "message": found[0], **found.groupdict()}
        line, column = (int(str(groups[name] or 0)) for name in ("line", "column"))
        yield str(groups["path"]), line, column, str(groups["rule"] or command.name), str(groups["message"])


def _sarif(command: CheckCommand, text: str) -> Iterator[ReportRow]:
    try:
        for one in json.loads(text)["runs"]:
            for result in one.get("results", ()):
                place = (result.get("locations") or [{}])[0].get("physicalLocation", {})
                region = place.get("region", {})
                uri = str(place.get("artifactLocation", {}).get("uri", "")).removeprefix("file://")
                where = uri, int(region.get("startLine", 0)), int(region.get("startColumn", 0))
                yield *where, str(result.get("ruleId") or command.name), str(result["message"].get("text", ""))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckError(f"{command.name} printed something that is not SARIF.") from error


def _junit(command: CheckCommand, text: str) -> Iterator[ReportRow]:
    """Read failures and errors of JUnit XML; a report without any test is a failure of its own."""
    from xml.etree import ElementTree

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise CheckError(f"{command.name} wrote XML with entities, which is not read.")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - entities are refused above
    except ElementTree.ParseError as error:
        raise CheckError(f"{command.name} wrote something that is not JUnit XML.") from error
    cases = list(root.iter("testcase"))
    if all(case.find("skipped") is not None for case in cases):
        yield ".", 0, 0, "no-tests", "No test ran: a suite that checks nothing proves nothing."
    for case in cases:
        for problem in (*case.findall("failure"), *case.findall("error")):
            name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
            path = case.get("file") or f"{case.get('classname', '').replace('.', '/')}.py"
            yield path, int(case.get("line") or 0), 0, "test-failed", f"{name}: {problem.get('message') or problem.tag}"
