"""Verbs only, no logic."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    del argv
    return 0
