"""``ai-rails gate``: the checks alone, on files in a repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.commands import common
from rails.core import limits
from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, Refusal, UsageError
from rails.core.paths import exact_path
from rails.core.plain_file import real_path
from rails.core.text import counted, one_line, printable
from rails.gate.changed_files import read_changed_files

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from rails.core.paths import WorkspacePath
    from rails.core.verdict import NotChecked, Verdict
    from rails.gate.gate import Gate

_EXIT: Final = {"pass": EXIT_OK, "fail": EXIT_FINDINGS, "error": EXIT_BROKEN}
_PROFILES: Final = ("import", "api", "publish", "strict")

OPTIONS = """
paths* PATH:text  files or folders (default: all that git knows)
--diff REF:text  files changed since REF, and only new findings
--staged  staged files, and only new findings
--all  every file that git knows (the default)
--fix  write safe fixes and formatting
--format FORMAT=text|json|sarif|github|junit (text)  text, json, sarif, github or junit
--trust  trust the project's own commands and executable configuration in their present state
--explain  list the checks that ran, with versions and settings
--profile PROFILES (import)  where n8n workflows go: import (default), api, publish, strict; several with commas
--settings-agreed  a person has agreed to changes of the check settings (for CI, by a label)
--strict  fail if an optional check is missing
--stdin-filename FILE:text  check standard input as this file; with --fix, print the fixed text
--here  only below the current folder
--require  exit code 3 if no check applied to anything
@project
"""


def run(options: argparse.Namespace) -> int:
    """Return 0 (pass), 1 (findings) or 3 (could not check)."""
    if options.all and (options.diff or options.staged or options.paths):
        raise UsageError("--all means every file; leave out --diff, --staged and the paths.")
    if unknown := set(options.profile.split(",")).difference(_PROFILES):
        raise UsageError(f"There is no profile {one_line(min(unknown))!r}; use {', '.join(_PROFILES)}.")
    project = common.project_above(options)
    if options.stdin_filename:
        return _judge_buffer(options, project)
    if options.trust:
        _trust(project)
    named = _named(project, options)
    since = os.environ.get("PRE_COMMIT_FROM_REF")
    if since and options.staged and options.paths and not options.diff:
        options.diff = since
        options.staged = False
    base, compared = _base(project, options)
    files = read_changed_files(project, named, base=base, staged=options.staged)
    if not files.chosen and not files.deleted and not files.missed:
        in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
        vacuous = options.require or not base or (in_ci and (options.staged or options.paths))
        print(f"gate: there is no file to check{', which is no pass' if vacuous else ''}", file=sys.stderr)
        return EXIT_BROKEN if vacuous else EXIT_OK
    chosen = files.chosen
    from rails.gate.gate import Gate
    from rails.gate.report.text import render
    from rails.gate.verdicts import checked_nothing
    from rails.render.terminal import wants_colour

    agreed = options.settings_agreed
    with Gate(project, strict=options.strict, profile=options.profile, settings_agreed=agreed) as gate:
        if options.fix and compared is None and len(chosen) > limits.FILES_PER_STEP:
            verdict = _in_steps(gate, chosen, files.missed)
        else:
            verdict = gate.check_files(
                chosen,
                base=compared,
                fix=options.fix,
                staged=options.staged,
                deleted=files.deleted,
                missed=files.missed,
                whole=files.whole,
            )
            if options.fix and verdict.proposal:
                from rails.edits.checkpoint_commits import fix_run

                _write(project, verdict.proposal, fix_run())
    report = render(verdict, options.format, colour=wants_colour(sys.stdout), explain=options.explain)
    print(report.rstrip("\n"))
    return EXIT_BROKEN if options.require and checked_nothing(verdict) else _EXIT[verdict.status]


def _base(project: Path, options: argparse.Namespace) -> tuple[str | None, str | None]:
    from rails.git import listing
    from rails.git.revisions import EMPTY_TREE

    asked = "HEAD" if options.staged and not options.diff else options.diff
    if not asked:
        return None, None
    if asked == "HEAD" and not listing.knows(project, "HEAD"):  # nothing was committed yet
        return EMPTY_TREE, None
    base = asked if asked == "HEAD" else listing.merge_base(project, asked)
    return base, base


def _judge_buffer(options: argparse.Namespace, project: Path) -> int:
    import shutil

    from rails.gate.gate import Gate, not_read
    from rails.gate.report.text import render
    from rails.gate.support.read_file import LARGE
    from rails.render.terminal import wants_colour

    if options.paths or options.diff or options.staged or options.all or options.trust:
        raise UsageError(
            "--stdin-filename checks standard input: leave out paths, --diff, --staged, --all and --trust."
        )

    target = real_path(Path.cwd() / options.stdin_filename)
    if not target.is_relative_to(project):
        raise UsageError(f"{one_line(options.stdin_filename)} is outside the project {project}.")
    path = exact_path(target.relative_to(project).as_posix())
    if isinstance(path, Refusal):
        raise UsageError(f"{path} Nothing was checked.")
    data = sys.stdin.buffer.read(limits.FILE_BYTES + 1)
    with Gate(project, strict=options.strict, profile=options.profile) as gate:
        if len(data) > limits.FILE_BYTES:
            verdict = gate.check_files((), missed=[not_read(path, LARGE)], executing=False)
        else:
            verdict = gate.judge(ChangeSet((FileChange(path, None, data),)), fix=options.fix)
    if options.fix:
        kept = verdict.proposal.get(path)
        sys.stdout.buffer.write((kept.after if kept else data) or b"")
        if kept is None:  # too large to be judged, never cut
            shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)
        sys.stdout.flush()
    report = render(verdict, options.format, colour=wants_colour(sys.stdout), explain=options.explain)
    print(report.rstrip("\n"), file=sys.stderr if options.fix else sys.stdout)
    return _EXIT[verdict.status]


def _trust(project: Path) -> None:
    import shlex

    from rails.gate.languages.python import own_tools
    from rails.gate.support import config_files, executed_config, settings
    from rails.sandbox.functions import function_of

    own = config_files.read_config_file(project / settings.PROJECT_FILE)
    commands = settings.commands_of(project)
    for command in commands:
        words = function_of(command.argv) or shlex.join(command.argv)
        print(f"gate: may run {command.name}: {printable(words, keep='')}", file=sys.stderr)
    files = executed_config.executed(project, own)
    tools = own_tools.installed_tools(project)
    for name in (*files, *map(str, tools)):
        what = f"what is installed, as in {name}" if Path(name).is_absolute() else name
        print(f"gate: may run {printable(what, keep='')}", file=sys.stderr)
    if not commands and not files and not tools:
        print("gate: this project has no commands and no executable configuration", file=sys.stderr)
    elif not common.typed("trust", "let them run"):
        raise UsageError("Nothing was trusted: --trust needs a person who types the word at a terminal.")
    else:
        executed_config.agree(project, own)
        own_tools.agree(project)


def _in_steps(gate: Gate, chosen: Sequence[WorkspacePath], missed: Sequence[NotChecked]) -> Verdict:
    from rails.edits.checkpoint_commits import fix_run

    run = fix_run()
    corrected = 0

    def write(proposal: ChangeSet, seen: int) -> None:
        nonlocal corrected
        corrected += len(proposal.changes)
        _write(gate.project, proposal, run)
        print(f"gate: {seen:,} of {counted(len(chosen), 'file')}, {corrected:,} corrected", file=sys.stderr)

    verdict = gate.fix_in_steps(chosen, missed, write)
    if corrected:
        print(f"gate: ai-rails undo {run} takes all of it back", file=sys.stderr)
    return verdict


def _write(project: Path, proposal: ChangeSet, run: str) -> None:
    """Write the fixes; ``--fix`` is the consent."""
    if proposal:
        from rails.approval.decision import Decision, request_for_changes, sign_changes
        from rails.core.verdict import Verdict
        from rails.edits.apply import apply
        from rails.edits.checkpoint_commits import StepFacts

        for part in _parts(proposal):
            asked = request_for_changes("fix", "gate", (), Verdict("pass", part))
            signed = sign_changes(asked, Decision("approve", "", "--fix on the command line"))
            done = apply(signed, project, step=StepFacts(run, f"gate --fix ({counted(len(part.changes), 'file')})"))
            if done.unrecorded:
                print(f"gate: fixed, and it cannot be undone yet: {done.unrecorded}", file=sys.stderr)


def _parts(changes: ChangeSet) -> Iterator[ChangeSet]:
    part: list[FileChange] = []
    room = limits.CHANGE_BYTES
    for change in changes.changes:
        size = max(len(change.before or b""), len(change.after or b""))
        if part and (len(part) >= limits.FILES_PER_CHANGE or size > room):
            yield ChangeSet(tuple(part))
            part = []
            room = limits.CHANGE_BYTES
        part.append(change)
        room -= size
    yield ChangeSet(tuple(part))


def _named(project: Path, options: argparse.Namespace) -> list[str]:
    """Return paths with links unresolved; by default what is staged or differs, else the current folder."""
    names = []
    inside = Path.cwd() != project and Path.cwd().is_relative_to(project)
    if not options.paths and inside and options.project == "." and not options.all:
        if options.here or not (options.staged or options.diff):
            return [Path.cwd().relative_to(project).as_posix()]
        print(f"gate: all of {project.name} is checked; --here checks only this folder", file=sys.stderr)
    for name in options.paths:
        place = Path.cwd() / name
        target = real_path(place.parent) / place.name if place.name not in ("", "..") else real_path(place)
        if not target.is_relative_to(project):
            raise UsageError(f"{one_line(name)} is outside the project {project}. Name the project with --project DIR.")
        if not os.path.lexists(target):
            raise UsageError(f"{one_line(name)} does not exist.")
        names.append("" if target == project else target.relative_to(project).as_posix())
    return list(dict.fromkeys(names))


def known_files(project: Path) -> list[str]:
    """Return the files git knows or would add; without git, those not hidden."""
    return [str(path) for path in read_changed_files(project, ()).chosen]
