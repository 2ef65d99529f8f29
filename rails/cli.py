"""The command line. Its verbs and their options are in ``rails/options.py``, what they do in ``rails/commands/``.

Only the standard library is imported before a verb is known, so that help and hooks answer at once.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence

from rails.core.errors import EXIT_BROKEN, EXIT_USAGE, RailsError
from rails.options import parser_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Every message for the operator goes to standard error."""
    if argv is None:
        # What is imported stays: looking through it for garbage every 700 objects takes a tenth of a short command.
        gc.set_threshold(20_000, 20, 20)
    words = sys.argv[1:] if argv is None else argv
    options = parser_of(words[0] if words else "").parse_args(words)
    if not hasattr(options, "verb"):
        parser_of().print_help()
        return EXIT_USAGE
    try:
        module = importlib.import_module(f"rails.commands.{options.verb}")
        code = module.run(options)
        assert isinstance(code, int), "a command returns its exit code"
        return code
    except RailsError as error:
        print(f"ai-rails: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nai-rails: stopped. What was approved and written stays; nothing is half done.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN


if __name__ == "__main__":
    sys.exit(main())
