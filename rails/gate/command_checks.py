"""Commands as checks: run in the sandbox on a copy of the changed project.

They execute unapproved code: what they write is dropped, the project's own need a person's agreement. Without a sandbox
they run as the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.plain_file import real_path
from rails.core.restrictions import Restrictions
from rails.core.text import one_line
from rails.core.verdict import Finding, Severity
from rails.gate.baseline import TextFindings, lines_of, new_findings
from rails.gate.support.check_command import CheckCommand
from rails.gate.support.config_files import read_config_file
from rails.sandbox import probe
from rails.sandbox.layer import Layer
from rails.sandbox.places import own_program
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import NONE, Result, SandboxLimits, SandboxView

#: Path, line, column, rule and message, as a command's report has them.
ReportRow = tuple[str, int, int, str, str]
#: Files by path; ``None``: there is none.
_Contents = Mapping[str, bytes | None]
#: What is kept of what a command prints: its findings are read from it.
_OUTPUT_BYTES: Final = 16_000_000

_NO_TESTS = "no-tests"
_FAILED = "test-failed"
_COVERAGE: Final = "coverage"
_DATA: Final = "--data-file=.rails-coverage"
#: Where the threshold is; a change does not judge itself by what it makes of them.
_CONFIGS: Final = ("pyproject.toml", ".coveragerc", "setup.cfg", "tox.ini", "pytest.ini")
_TOO_LITTLE: Final = re.compile(
    r"^(?:(?>.*?Required test coverage of ).* not reached|.*Coverage failure: total of).*$", re.M
)
_ABSENT: Final = re.compile(r"No module named '?coverage")
#: What no earlier state excuses.
_ALWAYS: Final = frozenset({_NO_TESTS, _COVERAGE})
_UNREAD: Final = "it would run unapproved code, and no sandbox works here"


class CommandFailedError(CheckError):
    """A command crashed, hung or gave unreadable output."""


def findings_of_command(
    command: CheckCommand,
    project: Path,
    before: _Contents,
    after: _Contents,
    *,
    whole: Collection[str] | None = (),
) -> list[Finding]:
    """Run ``command`` on the project ``after`` the change; return what was not there ``before``.

    Both map changed paths to bytes (``None``: no file). The old state runs only if needed. Of ``whole`` files (None: of
    all) every finding is new, as no test run and too little coverage always are. Raises CheckError.
    """
    changed = any(_content(project, path, {}) != (data or b"") for path, data in after.items())
    if changed and probe.label().level == NONE:
        raise CheckError(f"{command.name} was not run: {_UNREAD} ({probe.label().why})")
    every = run_check_command(command, project, after)
    if whole is None or before == after:
        return every
    counted = {path for path, data in before.items() if data is None}.union(whole)
    found: dict[str, list[Finding]] = {}
    marked: list[Finding] = []
    for finding in every:
        is_counted = finding.rule in _ALWAYS or finding.path in counted
        (marked if is_counted else found.setdefault(finding.path, [])).append(finding)
    if not found:
        return every
    old = run_check_command(replace(command, measures=False), project, before)
    for path, findings in found.items():
        was, now = (lines_of(_content(project, path, contents)) for contents in (before, after))
        known = TextFindings(was, [finding for finding in old if finding.path == path])
        marked += new_findings(known, TextFindings(now, findings), moved={})
    return marked


def _content(project: Path, path: str, contents: _Contents) -> bytes:
    if path in contents:
        return contents[path] or b""
    place = project / path
    try:
        return place.read_bytes() if project in real_path(place).parents else b""
    except OSError:
        return b""


def run_check_command(command: CheckCommand, project: Path, contents: _Contents) -> list[Finding]:
    """Run ``command`` in the sandbox with ``contents`` in place. Raises CheckError when it fails."""
    program = Path(command.argv[0])
    if not program.is_absolute():
        words = f"{one_line(command.argv[0])} was not found; install it, or give its absolute path"
        raise CheckError(f"{command.name} cannot be run: {words}.")
    label = probe.label()
    settings = b"\n".join(read_config_file(project / name) for name in _CONFIGS) if command.measures else b""
    argv = command.argv
    report: tuple[str, ...] = ()
    if threshold := re.search(rb"fail[_-]under", settings):
        argv, report = _measured(command.argv, settings)
        approved = {name: read_config_file(project / name) or None for name in _CONFIGS if name in contents}
        contents = {**contents, **approved}
    with layer_for(project, label=label, restrictions=Restrictions.of(project)) as layer:
        layer.put(contents)
        view = SandboxView(project, layer, (*own_program(program, project), *command.needs), command.environment)
        bounds = SandboxLimits(seconds=command.timeout_s, output=_OUTPUT_BYTES)
        paths = json.dumps([name for name, data in contents.items() if data is not None]).encode()
        ran = run(argv, view, limits=bounds, label=label, stdin=paths if command.takes_paths else b"", collect=False)
        if ran.timed_out:
            words = f"did not finish within {command.timeout_s:g} seconds and was stopped"
            raise CommandFailedError(f"{command.name} {words}.")
        if ran.exit_code not in command.ok_codes:
            raise CommandFailedError(f"{command.name} {_ended(ran)}")
        low = _too_little(ran) if threshold else ""
        found = list(_findings(command, ran, layer))
        if report and not any(finding.rule in (_NO_TESTS, _FAILED) for finding in found):
            low = low or _too_little(run(report, view, limits=bounds, label=label, collect=False))
    if low:
        found.append(_finding(command, (".", 0, 0, _COVERAGE, low)))
    if ran.exit_code and not found:
        raise CommandFailedError(
            f"{command.name} ended with code {ran.exit_code} and reported nothing that could be read."
        )
    return found


def _ended(ran: Result) -> str:
    return f"ended with code {ran.exit_code}: {one_line(' '.join((ran.err or ran.out)[-600:].split()), 300)}"


def _finding(command: CheckCommand, row: ReportRow) -> Finding:
    path, line, column, rule, words = row
    severity: Severity = "error" if command.blocking else "warning"
    return Finding(path, line, column, rule, one_line(words, 300), command.name, severity, end_line=line)


def _findings(command: CheckCommand, ran: Result, layer: Layer) -> Iterator[Finding]:
    text = f"{ran.out}\n{ran.err}" if command.both else ran.out
    if command.report:
        report = layer.read(command.report)
        if report is None:
            raise CommandFailedError(f"{command.name} wrote no {command.report}.")
        text = report.decode("utf-8", "replace")
    if command.reads == "exit":
        if ran.exit_code:
            yield _finding(command, (".", 0, 0, command.name, _ended(ran)))
        return
    readers = {"regex": _regex, "sarif": _sarif, "junit": _junit}
    for path, line, column, rule, message in readers[command.reads](command, text):
        clean = path.removeprefix(f"{layer.project}/").removeprefix(f"{layer.root}/").removeprefix("./")
        yield _finding(command, (clean, line, column, rule, message))


def _regex(command: CheckCommand, text: str) -> Iterator[ReportRow]:
    for found in re.finditer(command.pattern, text):
        groups = {"line": "1" if command.says else "0", "column": "0", "rule": "", "message": "", **found.groupdict()}
        line, column = (int(groups[name] or 0) for name in ("line", "column"))
        message = groups["message"] or command.says or found[0]
        yield groups["path"], line, column, groups["rule"] or command.name, message


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
        raise CommandFailedError(f"{command.name} printed something that is not SARIF.") from error


def _junit(command: CheckCommand, text: str) -> Iterator[ReportRow]:
    """Read a JUnit report; one without tests is a failure."""
    from xml.etree import ElementTree

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise CommandFailedError(f"{command.name} wrote XML with entities, which is not read.")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - entities are refused above
    except ElementTree.ParseError as error:
        raise CommandFailedError(f"{command.name} wrote something that is not JUnit XML.") from error
    cases = list(root.iter("testcase"))
    if all(case.find("skipped") is not None for case in cases):
        yield ".", 0, 0, _NO_TESTS, "No test ran: a suite that checks nothing proves nothing."
    for case in cases:
        for problem in (*case.findall("failure"), *case.findall("error")):
            name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
            path = case.get("file") or f"{case.get('classname', '').replace('.', '/')}.py"
            yield path, int(case.get("line") or 0), 0, _FAILED, f"{name}: {problem.get('message') or problem.tag}"


def _measured(argv: tuple[str, ...], settings: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if b"--cov" in settings:  # pytest-cov measures, and judges
        return argv, ()
    coverage = (argv[0], "-P", "-m", "coverage")
    source = () if re.search(rb"^[ \t]*source\b", settings, re.M) else ("--source=.",)
    return (*coverage, "run", _DATA, *source, *argv[argv.index("-m") :]), (*coverage, "report", _DATA)


def _too_little(ran: Result) -> str:
    """Return the message about a missed threshold, or "". Raises CheckError."""
    printed = ran.out + ran.err
    if _ABSENT.search(printed):
        raise CheckError("coverage.py is not installed where the tests run; install it there: pip install coverage")
    found = _TOO_LITTLE.search(printed)
    return found[0].strip() if found else ""
