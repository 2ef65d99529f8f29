"""``ai-rails log``: search all sessions, verify a log, export one in other programs' formats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rails.commands import common
from rails.commands.options import add_description, add_project
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, UsageError
from rails.core.events.record import Record
from rails.core.text import one_line, printable
from rails.log.index.index import Index
from rails.log.reader import SessionSummary, damage_in_words, full, read_lenient, sessions, verify
from rails.review.export.formats import FORMATS
from rails.session.project import state_of


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    add_description(
        parser,
        'Search words, "phrases" and fields: type role model tool path rule code by is session after before; '
        'text:"rse_req" is any piece of text, also inside words.',
    )
    parser.add_argument("action", choices=("search", "verify", "export"), help="what to do")
    parser.add_argument("words", nargs="*", help="the search line, or a session (default: the last)")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="hits at most (default: 50)")
    parser.add_argument("--format", default="markdown", help="markdown, html, sarif, transcript, atif or recording")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """Do what the action says and return the exit code."""
    state = state_of(common.project_of(options))
    if options.action == "search":
        return _search(state, " ".join(options.words), options.limit)
    chosen = chosen_session(state, options.words[0] if options.words else "last")
    if options.action == "verify":
        report = verify(chosen.path)
        print(printable(str(report)))
        return EXIT_OK if report else EXIT_BROKEN
    return _export(state, chosen, options.format)


def _export(state: Path, chosen: SessionSummary, form: str) -> int:
    formats = {**FORMATS, "html": _html, "sarif": _sarif}
    if form not in formats:
        raise UsageError(f"--format takes one of {', '.join(sorted(formats))}, not {one_line(form)!r}.")
    records, damages = read_lenient(chosen.path)
    print(formats[form]([full(record, state) for record in records]), end="")
    for words in damage_in_words(damages):
        print(f"Not in the export: {one_line(words, 300)}", file=sys.stderr)
    return EXIT_OK


def _html(records: Sequence[Record]) -> str:
    from rails.projections.session import session_view
    from rails.review.html import render_html

    return render_html(session_view(records))


def _sarif(records: Sequence[Record]) -> str:
    from rails.review.reports.sarif import to_sarif

    return to_sarif(records)


def _search(state: Path, line: str, limit: int) -> int:
    if not line.strip():
        raise UsageError('What shall be searched? For example: ai-rails log search "rule:F821 is:failed"')
    if not state.is_dir():
        raise UsageError("There is no session here. Start one with ai-rails run, or name the project with --project.")
    with Index(state) as index:
        index.refresh()
        hits = index.search(line, limit=limit).hits
    for hit in hits:
        record = hit.record
        print(f"{hit.place}  {record.timestamp[:19]}  {record.event_type:24}  {one_line(record.message, 100)}")
    if not hits:
        print("Nothing found.", file=sys.stderr)
    return EXIT_OK if hits else EXIT_FINDINGS


def chosen_session(state: Path, wanted: str) -> SessionSummary:
    """Return the session of that name, of a name that begins or ends so, or the last one for "last".

    Raises UsageError.
    """
    known = sessions(state)
    if not known:
        raise UsageError("There is no session here. Start one with ai-rails run, or name the project with --project.")
    name = known[-1].session_id if wanted == "last" else wanted
    for session in known:
        if session.session_id == name:
            return session
    alike = [session for session in known if session.session_id.endswith(name) or session.session_id.startswith(name)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        some = ", ".join(session.session_id for session in alike[-3:])
        raise UsageError(f"{len(alike)} sessions are called so: {one_line(name)!r} could be {some}. Name one in full.")
    raise UsageError(f"There is no session {one_line(name)!r}. The last one is {known[-1].session_id}.")
