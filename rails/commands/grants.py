"""``ai-rails grants``: the grants of the runs in this project, and taking one back from another terminal."""

from __future__ import annotations

import argparse

from rails.approval.policy.grants import EVERY, ask_to_revoke, posted_grants
from rails.commands import common
from rails.commands.options import add_description, add_project
from rails.core.errors import EXIT_OK, UsageError
from rails.core.text import one_line


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    add_description(parser, "A grant is what you gave with g at a question; it lives in the run that you gave it to.")
    parser.add_argument("action", nargs="?", choices=("list", "revoke"), default="list", help="what to do")
    parser.add_argument("number", nargs="?", help="with revoke: the grant's number, or all")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """List what is granted, or ask the run that holds a grant to end it."""
    common.refuse_more("grants list", (options.number,), int(options.action == "revoke"))
    folder = common.grants_folder(common.project_of(options))
    grants = list(posted_grants(folder))
    if options.action == "revoke":
        if not options.number:
            raise UsageError("Which grant? For example: ai-rails grants revoke 1, or: ai-rails grants revoke all")
        grants = [grant for grant in grants if options.number in (str(grant.number), EVERY)]
        if not grants:
            raise UsageError(
                f"No run in this project has a grant {one_line(options.number, 20)!r}. Nothing was changed."
            )
        ask_to_revoke(folder, grants)
        print("Revoked; from now on you are asked again:")
    elif not grants:
        print("No grant is in force.")
    for grant in grants:
        print(f"process {grant.process}, {one_line(grant.words, 400)}")
    return EXIT_OK
