"""The command line. Its verbs' options are in ``rails/commands/options.py``, what they do in ``rails/commands/``.

Only the standard library is imported before a verb is known, so that help and hooks answer at once.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, NoReturn, cast

from rails.core.errors import EXIT_BROKEN, EXIT_USAGE, RailsError

if TYPE_CHECKING:
    import argparse

#: What hooks wait for. These commands hold nothing that only the interpreter's own end would save.
_LEFT_AT_ONCE: Final = frozenset({"gate"})
#: What ``ai-rails gate`` does when only paths are given; its options' defaults in rails/commands/options.py.
_GATE: Final[Mapping[str, object]] = {
    "diff": None,
    "staged": False,
    "all": False,
    "fix": False,
    "format": "text",
    "trust": False,
    "explain": False,
    "profile": "import",
    "strict": False,
    "project": ".",
}


def console() -> NoReturn:
    """Run the command of this process's own command line and end the process with its exit code.

    Taking a whole interpreter apart takes longer than ruff for five files, so a command that a hook waits for
    ends as a forked worker does: what was registered for the end is run, what was printed is flushed, and that is all.
    """
    code = main()
    if len(sys.argv) > 1 and sys.argv[1] in _LEFT_AT_ONCE and _finished():
        os._exit(code)
    sys.exit(code)


def _finished() -> bool:
    """Do what the interpreter does before it ends; say whether nothing is left that it would have to wait for."""
    threading = sys.modules.get("threading")
    if threading and any(
        not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()
    ):
        return False
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:  # the interpreter's own end says what is wrong
        return False
    return True


def _options(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; ``gate`` with nothing but paths, a hook's call, needs no parser for it."""
    if len(words) > 1 and words[0] == "gate" and not any(word.startswith("-") for word in words):
        return cast("argparse.Namespace", SimpleNamespace(verb="gate", paths=list(words[1:]), **_GATE))
    from rails.commands.options import parse_options

    return parse_options(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Every message for the operator goes to standard error."""
    if argv is None:
        # What is imported stays: looking through it for garbage every 700 objects takes a tenth of a short command.
        gc.set_threshold(20_000, 20, 20)
        # A thread that has an answer of a tool's gets its turn soon, also while another one computes.
        sys.setswitchinterval(0.001)
    words = sys.argv[1:] if argv is None else argv
    options = _options(words)
    if not hasattr(options, "verb"):
        from rails.commands.options import parser

        parser().print_help()
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
    console()
