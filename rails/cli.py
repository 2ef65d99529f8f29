"""The command line: a table of verbs, and exceptions to exit codes. Only the called verb's file is imported."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NoReturn

from rails.commands.verbs import GROUPS, VERBS, with_verb
from rails.core.exit_codes import EXIT_BROKEN, EXIT_USAGE, RailsError

#: New objects between two collections: at the usual 700, a short command spends a tenth of its time looking through
#: modules that it has just loaded.
_COLLECT_AFTER: Final = 100_000
_REPORT: Final = "Set AI_RAILS_DEBUG=1 for the traceback, and please report it."


def console() -> NoReturn:
    """Run the command of this process's own command line and end the process with its exit code."""
    gc.set_threshold(_COLLECT_AFTER)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed by who started this: the next file opened would be taken for it
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
            setattr(sys, f"__{name}__", getattr(sys, name))
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":  # paths are UTF-8, as git's are
        os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal's encoding lacks is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    code: int | None = None
    leave = importlib.import_module("rails.commands.exit")
    try:
        leave.take_interrupts()
        code = main()
        if sys.argv[1:2] in (["apply"], ["gate"], ["hook"], ["parse"]):  # programs wait for them
            leave.end_process(code)
    except KeyboardInterrupt as stopped:  # nothing was begun yet, or all is done
        code = leave.code_after(str(stopped)) if code is None else code
    except SystemExit as ended:  # argparse has shown help, or said what is wrong
        code = ended.code if isinstance(ended.code, int) else EXIT_USAGE
    while True:
        try:
            code = leave.settle_streams(code)
            break
        except KeyboardInterrupt:
            continue
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Every message for the operator goes to standard error."""
    words = sys.argv[1:] if argv is None else argv
    try:
        words = with_verb(words)
        return _run(words[0], words[1:]) if words and words[0] in VERBS else _explain(words)
    except RailsError as error:
        _say(f"ai-rails: {error}")
        return error.exit_code
    except KeyboardInterrupt as stopped:
        return _stopped(stopped)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN
    except OSError as error:
        file = f"{error.filename}: " if error.filename else "" if _is_somewhere() else "the folder that you are in: "
        _say(f"ai-rails: {file}{error.strerror or error}. Nothing more was done.")
        return EXIT_BROKEN
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # it came while Python made a class
            return _stopped(error.__cause__)
        if os.environ.get("AI_RAILS_DEBUG"):
            raise
        from rails.core.text import one_line

        words = one_line(f"{type(error).__name__}: {error}".partition("\n")[0], 400)
        _say(f"ai-rails: a fault of AI-Rails itself ({words}). What was written stays. {_REPORT}")
        return EXIT_BROKEN


def _stopped(by: KeyboardInterrupt) -> int:
    _say("\nai-rails: stopped. What was approved and written stays; nothing is half done.")
    return int(importlib.import_module("rails.commands.exit").code_after(str(by)))


def _say(words: str) -> None:
    with suppress(OSError):
        print(words, file=sys.stderr)


def _is_somewhere() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109 - pathlib is not loaded for this
    except OSError:  # it was deleted
        return False


def _run(verb: str, words: Sequence[str]) -> int:
    module = importlib.import_module(f"rails.commands.{verb}")
    if (at_once := getattr(module, "without_options", None)) and (code := at_once(words)) is not None:
        return int(code)
    from rails.commands.options import verb_parser
    from rails.core.app_dirs import config_folder

    if (own := config_folder() / ".env").is_file():
        importlib.import_module("rails.commands.user_env").take(own)
    return int(module.run(verb_parser(verb, VERBS[verb], module).parse_args(words)))


def _explain(words: Sequence[str]) -> int:
    """Print help, the version or an error. Raises SystemExit, except for help and no words."""
    from rails.commands.options import top_parser

    parser = top_parser(GROUPS)
    if words[:1] != ["help"]:
        parser.parse_args(words[:1])
    parser.print_help()
    return EXIT_USAGE if not words else 0
