"""``ai-rails gate``: the checks alone, on files in a repository."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.commands import common
from rails.commands.options import add_project
from rails.core import limits
from rails.core.changes import ChangeSet, FileChange
from rails.core.dataclass import replace
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, UsageError
from rails.core.text import one_line, printable
from rails.gate.languages.python.ruff_client import head_start
from rails.gate.ledger import read_ledger

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from rails.core.verdict import Verdict

_EXIT: Final = {"pass": EXIT_OK, "fail": EXIT_FINDINGS, "error": EXIT_BROKEN}
_PROFILES: Final = ("import", "api", "publish", "strict")


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("paths", nargs="*", help="files or folders (default: what git knows of)")
    parser.add_argument("--diff", metavar="REF", help="only files changed since REF, and only what is new since then")
    parser.add_argument("--staged", action="store_true", help="only staged files, and only what is new since HEAD")
    parser.add_argument("--all", action="store_true", help="every file that git knows of (this is the default)")
    parser.add_argument("--fix", action="store_true", help="write safe fixes and formatting")
    words = "with --fix: also what n8n workflows are likely to mean (a misspelt parameter, a switch that is off)"
    parser.add_argument("--unsafe-fixes", action="store_true", help=words)
    parser.add_argument("--format", default="text", metavar="FORMAT", help="text, json, sarif, github, junit or rdjson")
    words = "let the project's own commands and executable configuration run as they are now, and remember it"
    parser.add_argument("--trust", action="store_true", help=words)
    parser.add_argument("--explain", action="store_true", help="say which checks ran, with which configuration")
    words = "where n8n workflows go: import (default), api, publish, strict; several with commas"
    parser.add_argument("--profile", type=_profile, default="import", metavar="PROFILE[,PROFILE]", help=words)
    parser.add_argument("--strict", action="store_true", help="a missing optional check fails too")
    add_project(parser)


def _profile(text: str) -> str:
    """Return one or several profiles as they were written. Raises UsageError for one that there is not."""
    if unknown := next((one for one in text.split(",") if one not in _PROFILES), None):
        raise UsageError(f"argument --profile: {unknown!r} is none: use {', '.join(_PROFILES)}, or several with commas")
    return text


def run(options: argparse.Namespace) -> int:
    """Check, print the report, and return 0 (pass), 1 (findings) or 3 (could not check)."""
    if options.all and (options.diff or options.staged or options.paths):
        raise UsageError("--all means every file; leave --diff, --staged and the paths away.")
    if options.unsafe_fixes and not options.fix:
        raise UsageError("--unsafe-fixes goes with --fix. Nothing was changed.")
    if options.format != "text":
        _require_format(options.format)
    project = common.project_of(options)
    if options.trust:
        _trust(project)
    base, compared = _base(project, options)
    ledger = read_ledger(project, _named(project, options), base=base, staged=options.staged)
    if not ledger.chosen and not ledger.deleted and not ledger.missed:
        print("gate: no file to check", file=sys.stderr)
        return EXIT_OK if base else EXIT_BROKEN
    chosen = list(ledger.chosen)
    ruff = head_start(project, chosen)
    # Only now, while ruff reads its configuration on the other core.
    from rails.gate.gate import Gate
    from rails.gate.report.text import render

    with Gate(project, strict=options.strict, profile=options.profile, ruff=ruff) as gate:
        unsafe = options.fix and options.unsafe_fixes
        verdict = gate.check_files(
            chosen,
            base=compared,
            fix=options.fix,
            unsafe_fixes=unsafe,
            staged=options.staged,
            deleted=ledger.deleted,
            missed=ledger.missed,
        )
    if options.fix:
        _write(project, verdict)
    report = render(verdict, options.format, colour=common.colour_wanted(sys.stdout), explain=options.explain)
    print(report.rstrip("\n"))
    return _EXIT[verdict.status]


def _base(project: Path, options: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return the revision that says which files differ, and the one to compare them with: none where all is new."""
    from rails.git import listing
    from rails.git.revisions import EMPTY_TREE

    asked = "HEAD" if options.staged and not options.diff else options.diff
    if not asked:
        return None, None
    if asked == "HEAD" and not listing.knows(project, "HEAD"):  # nothing was committed yet
        return EMPTY_TREE, None
    base = asked if asked == "HEAD" else listing.merge_base(project, asked)
    return base, base


def _require_format(name: str) -> None:
    from rails.gate.report.text import FORMATS

    if name not in FORMATS:
        raise UsageError(f"--format takes one of {', '.join(FORMATS)}, not {one_line(name)!r}.")


def _trust(project: Path) -> None:
    """Say what of the project may run from now on, and record that the person agrees."""
    import shlex

    from rails.gate.languages.python import config
    from rails.gate.support import executed_config
    from rails.gate.support import settings as gate_options

    own = config.read_config_file(project / gate_options.PROJECT_FILE)
    commands = gate_options.commands_of(project)
    executed_config.agree(project, own)
    for command in commands:
        print(f"gate: may run {command.name}: {printable(shlex.join(command.argv), keep='')}", file=sys.stderr)
    for name in executed_config.programs(project):
        print(f"gate: may run {name}", file=sys.stderr)
    if not commands and not executed_config.programs(project):
        print("gate: this project has no commands and no executable configuration", file=sys.stderr)


def _write(project: Path, verdict: Verdict) -> None:
    """Write the safe fixes and formatting, as many files at a time as one change may have.

    Whoever types --fix has agreed to them.
    """
    if verdict.proposal:
        from rails.approval.decision import Decision, request_for_changes, sign_changes
        from rails.edits.apply import apply

        for part in _parts(verdict.proposal):
            asked = request_for_changes("fix", "gate", (), replace(verdict, proposal=part))
            apply(sign_changes(asked, Decision("approve", "", "--fix on the command line")), project)


def _parts(changes: ChangeSet) -> Iterator[ChangeSet]:
    """Yield a change set in parts that are within the bounds of one change."""
    part: list[FileChange] = []
    room = limits.CHANGE_BYTES
    for change in changes.changes:
        size = max(len(change.before or b""), len(change.after or b""))
        if part and (len(part) >= limits.FILES_PER_CHANGE or size > room):
            yield ChangeSet(tuple(part))
            part, room = [], limits.CHANGE_BYTES
        part.append(change)
        room -= size
    yield ChangeSet(tuple(part))


def _named(project: Path, options: argparse.Namespace) -> list[str]:
    """Return the files and folders of the command line, from the project; links stay what they are."""
    names = []
    for name in options.paths:
        place = Path.cwd() / name
        target = place.parent.resolve() / place.name if place.name not in ("", "..") else place.resolve()
        if not target.is_relative_to(project):
            raise UsageError(f"{one_line(name)} is outside the project {project}. Name the project with --project DIR.")
        if not target.is_symlink() and not target.exists():
            raise UsageError(f"{one_line(name)} does not exist.")
        names.append("" if target == project else target.relative_to(project).as_posix())
    return list(dict.fromkeys(names))
