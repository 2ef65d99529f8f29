"""``ai-rails redo``: the inverse of ``undo``, whose code it uses."""

from __future__ import annotations

import argparse

from rails.commands.undo import move

OPTIONS = """
session?  which session (default: the last that has one)
--step N:count  which step (default: the last undone)
@project
"""


def run(options: argparse.Namespace) -> int:
    """Redo the named step, or the last undone one."""
    return move(options, redo=True)
