"""``ai-rails serve``: the sessions as a page in the browser, on this machine only, until it is interrupted."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.core.errors import EXIT_OK, UsageError
from rails.review.web.server import ReviewServer


def run(options: argparse.Namespace) -> int:
    """Serve until the user stops it."""
    state = common.state_of(common.project_of(options))
    if not state.is_dir():
        raise UsageError("There is no session here. Start one with ai-rails run, or name the project with --project.")
    server = ReviewServer(state, port=options.port)
    print(f"Open {server.url}\nThe address holds a key that is only for you. Stop with Ctrl-C.", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nStopped.")
    return EXIT_OK
