"""``ai-rails completion SHELL``: a script with all words of the parsers, so a Tab starts no Python."""

from __future__ import annotations

import argparse
import importlib

from rails.commands.options import add_verb
from rails.commands.verbs import VERBS
from rails.core.errors import EXIT_OK, UsageError
from rails.core.extras import install_command

OPTIONS = """
shell bash|zsh|fish  which shell the script is for
"""


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError as error:
        raise UsageError(f"This needs {error.name}. Install it: {install_command('completion')}") from None
    parser = argparse.ArgumentParser(prog="ai-rails")
    verbs = parser.add_subparsers()
    for name, summary in VERBS.items():
        add_verb(verbs.add_parser(name, help=summary), importlib.import_module(f"rails.commands.{name}"))
    print(shtab.complete(parser, options.shell))
    return EXIT_OK
