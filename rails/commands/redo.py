"""``ai-rails redo``: the inverse of ``undo``, whose code it uses."""

from __future__ import annotations

import argparse

from rails.commands.options import add_project, from_one
from rails.commands.undo import move


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("session", nargs="?", help="which session (default: the last that has one)")
    parser.add_argument("--step", type=from_one, metavar="N", help="which step (default: the last undone)")
    add_project(parser)


def run(options: argparse.Namespace) -> int:
    """Redo the named step, or the last undone one."""
    return move(options, redo=True)
