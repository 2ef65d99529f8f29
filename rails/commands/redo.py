"""``ai-rails redo``: do an undone step again; it shares everything with ``undo``."""

from __future__ import annotations

import argparse

from rails.commands.options import add_project, from_one
from rails.commands.undo import move


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("session", nargs="?", help="which session (default: the last that has one)")
    parser.add_argument("--step", type=from_one, metavar="N", help="which step (default: the last undone)")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """Do the named step again, or the last one that was undone."""
    return move(options, redo=True)
