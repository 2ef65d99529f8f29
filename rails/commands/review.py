"""``ai-rails review``: the sessions, or one of them turn by turn."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rails.commands import common
from rails.commands.log import chosen_session
from rails.core.errors import EXIT_BROKEN, EXIT_OK
from rails.core.text import one_line, printable
from rails.core.wire import to_json
from rails.log.reader import full, read_lenient, sessions, verify
from rails.review.queries import as_json, session_view
from rails.review.terminal import render_session, render_sessions


def run(options: argparse.Namespace) -> int:
    """Print what the log says and return the exit code."""
    state = common.state_of(common.project_of(options))
    if options.web:
        from rails.commands import serve

        return serve.run(options)
    known = sessions(state)
    if not options.session and not options.verify and not options.html:
        if options.json:
            common.print_json([to_json(session) for session in known])
        else:
            print(render_sessions(known) if known else "No session yet. Start one with ai-rails run or ai-rails apply.")
        return EXIT_OK
    chosen = chosen_session(state, options.session or "last")
    if options.verify:
        report = verify(chosen.path)
        print(printable(str(report)))
        return EXIT_OK if report else EXIT_BROKEN
    records, damages = read_lenient(chosen.path)
    view = session_view(records, damages, load=lambda record: full(record, state))
    if options.html:
        from rails.review.html import render_html

        Path(options.html).write_text(render_html(view), "utf-8")
        print(f"Wrote {one_line(options.html)}")
    elif options.json:
        common.print_json(as_json(view))
    else:
        print(render_session(view, colour=common.colour_wanted(sys.stdout)))
    return EXIT_OK
