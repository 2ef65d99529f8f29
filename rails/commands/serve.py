"""``ai-rails serve``: the sessions as a page, on this machine only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rails.commands import common
from rails.core.app_dirs import config_folder
from rails.core.errors import EXIT_OK, LogError, UsageError
from rails.session.project import state_of

if TYPE_CHECKING:
    from rails.review.web.server import ReviewServer


OPTIONS = """
session? ()  a session to begin with
--port N:port (0)  which port (default: a free one)
@project
"""


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from rails.commands.log import chosen_session

    project = common.project_of(options)
    state = state_of(project)
    if not state.is_dir():
        raise UsageError("There is no session here. Start one with ai-rails run, or name the project with --project.")
    session_id = chosen_session(state, options.session).session_id if options.session else ""
    server = server_of(project, options.port)
    try:
        print(*addresses(server, session_id), "Press Ctrl-C to stop.", sep="\n", flush=True)
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nStopped. Open questions stay open.")
    return EXIT_OK


def server_of(project: Path, port: int = 0) -> ReviewServer:
    """Return an unstarted server of the sessions; read-only without the user's key."""
    from rails.approval.pending import answer_key
    from rails.commands.session_actions import AgreedChanges
    from rails.config.prices import PRICES_NAME
    from rails.review.web.server import ReviewServer

    try:
        key = answer_key(config_folder())
    except LogError as error:
        print(f"The page is read-only: {error}", file=sys.stderr)
        key = None
    return ReviewServer(
        state_of(project), port=port, key=key, prices=(config_folder() / PRICES_NAME), changes=AgreedChanges(project)
    )


def addresses(server: ReviewServer, session_id: str = "") -> Iterator[str]:
    """Yield the two addresses, each alone on its line for narrow terminals."""
    yield "To review and decide (keep this link secret, it can approve changes):"
    yield server.url_for("decide", session_id)
    yield "Read-only link:"
    yield server.url_for("read", session_id)
