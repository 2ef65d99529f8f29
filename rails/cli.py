"""The command line: a table of verbs, and exceptions to exit codes. Only the called verb's file is imported."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from rails.core.errors import EXIT_BROKEN, EXIT_INTERRUPTED, EXIT_USAGE, RailsError

#: What each verb does, by what it is for, the most used first. Its options and work are in ``rails/commands/VERB.py``.
GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "use": {
        "run": "let an agent work on a task",
        "chat": "talk with an agent; ai-rails alone does the same at a terminal",
        "apply": "apply a saved answer: find, validate, gate, show, approve, write",
        "gate": "check files: syntax, linters, formatters, n8n workflows",
        "sandbox": "run a command contained, show what it changed, ask whether to take it",
        "undo": "take a step of a session back, byte for byte",
        "redo": "do an undone step again",
        "demo": "run the shipped example on a fresh copy",
        "prompt": "print what to paste into a chat first, so that apply can read its answers",
        "new": "begin a project: its folder and a page to fill in",
        "feature": "begin a feature of this project: a page to fill in",
        "takeover": "take over a project: a page with what is there, to fill in",
    },
    "look back": {
        "review": "list sessions, show one turn by turn, compare two, or look over all",
        "serve": "the sessions as a page in the browser, on this machine only",
        "why": "which edit made a line, and who approved it",
        "log": "search all sessions, verify a log, export a session",
    },
    "extend": {
        "tools": "list, show, check, start, trust, try, import and offer tools",
        "agents": "list the agents, show one, or accept a project's own",
        "hook": "the gate for other agents: Claude Code, Codex",
    },
    "n8n": {
        "n8n": "workflows of n8n: rules, node catalogue, picture, diff, dry run",
    },
    "set up": {
        "doctor": "say what works here and what is missing",
        "config": "show every setting, its value and where it comes from",
        "policy": "check your policy file and try it on past sessions",
        "grants": "list the grants in force, or revoke one",
        "completion": "print a script for your shell that completes commands and options",
        "parse": "show what is found in a text: requests, refusals, ignored blocks",
    },
}
VERBS: Final[Mapping[str, str]] = {verb: words for group in GROUPS.values() for verb, words in group.items()}

_REPORT: Final = "Set AI_RAILS_DEBUG=1 to see where it happened, and report that, please."


def console() -> NoReturn:
    """Run the command of this process's own command line and end the process with its exit code."""
    code = main()
    if sys.argv[1:2] == ["gate"]:  # hooks wait for it
        importlib.import_module("rails.commands.leave").end_process(code)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Every message for the operator goes to standard error."""
    words = sys.argv[1:] if argv is None else argv
    try:
        words = words or (["chat"] if _at_home() else [])
        return _run(words[0], words[1:]) if words and words[0] in VERBS else _explain(words)
    except RailsError as error:
        print(f"ai-rails: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nai-rails: stopped. What was approved and written stays; nothing is half done.", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        print(f"ai-rails: {file}{error.strerror or error}. Nothing more was done.", file=sys.stderr)
        return EXIT_BROKEN
    except Exception as error:
        if os.environ.get("AI_RAILS_DEBUG"):
            raise
        words = f"{type(error).__name__}: {error}".partition("\n")[0]
        print(f"ai-rails: a fault of AI-Rails itself ({words}). What was written stays. {_REPORT}", file=sys.stderr)
        return EXIT_BROKEN


def _at_home() -> bool:
    """Whether a person sits at a terminal, in a project."""
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout)) and os.access(".git", os.F_OK)


def _run(verb: str, words: Sequence[str]) -> int:
    module = importlib.import_module(f"rails.commands.{verb}")
    if (at_once := getattr(module, "without_options", None)) and (code := at_once(words)) is not None:
        return int(code)
    from rails.commands.options import verb_parser

    return int(module.run(verb_parser(verb, VERBS[verb], module.options).parse_args(words)))


def _explain(words: Sequence[str]) -> int:
    """Print help or the version, or say what is wrong; argparse raises SystemExit for all but no word at all."""
    from rails.commands.options import top_parser

    parser = top_parser(GROUPS)
    parser.parse_args(words[:1])
    parser.print_help()
    return EXIT_USAGE
