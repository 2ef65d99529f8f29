"""``ai-rails run``: its options; the work is in ``rails/commands/job.py``."""

from __future__ import annotations

import argparse

from rails.commands import exit
from rails.commands.options import (
    above_zero,
    add_approval,
    add_correction,
    add_dialects,
    add_models,
    add_project,
    add_protocol,
    from_one,
)
from rails.core.errors import UsageError


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("task", nargs="?", help="what to do; with --resume: a hint for the agent")
    parser.add_argument("--agent", help="which agent (default: coder)")
    parser.add_argument(
        "--then",
        metavar="AGENTS",
        action="append",
        default=[],
        help="agents that work after it, in order (coder,reviewer), or AGENT=TASK",
    )
    parser.add_argument("--plan", metavar="NAME", help="the plan to work on, by name or as a file")
    parser.add_argument("--handoff", choices=("ask", "go"), help="between agents: ask you, or go on (default: ask)")
    parser.add_argument(
        "--max-reviews", type=from_one, metavar="N", help="how often a reviewer sends the work back (default: 2)"
    )
    add_models(parser)
    parser.add_argument(
        "--escalate",
        choices=("off", "again", "squash", "model"),
        help="when attempts run out: stop, ask a small local model the task again, retry with a summary in another "
        "protocol, or then a stronger model too (default: model; without a terminal again)",
    )
    parser.add_argument(
        "--max-attempts", type=from_one, metavar="N", help="failed attempts in a row (default: the agent's, 3)"
    )
    parser.add_argument("--max-turns", type=from_one, metavar="N", help="turns of an agent (default: the agent's, 25)")
    parser.add_argument("--max-tokens", type=from_one, metavar="N", help="tokens of the whole run (default: no bound)")
    parser.add_argument(
        "--max-minutes", type=above_zero, metavar="N", help="minutes of the whole run (default: no bound)"
    )
    parser.add_argument("--max-cost", type=above_zero, metavar="N", help="money for the whole run, by prices.toml")
    parser.add_argument(
        "--resume", nargs="?", const="", metavar="SESSION", help="go on with a session (default: the last)"
    )
    parser.add_argument("--web", action="store_true", help="show the run in the browser, and decide there")
    parser.add_argument(
        "--answer-within",
        type=above_zero,
        metavar="MINUTES",
        help="pause the run when nobody answers in time (default: wait)",
    )
    parser.add_argument("--events", choices=("jsonl", "sse"), help="events for another program on standard output")
    add_correction(parser, "model", default=None)
    add_dialects(parser)
    add_protocol(parser)
    parser.add_argument(
        "--file",
        metavar="PATH",
        action="append",
        default=[],
        help="a file to send in full with the task, where the model is asked in text; may be repeated",
    )
    parser.add_argument(
        "--tests",
        choices=("ask", "on", "off"),
        help="run the project's tests in the sandbox on each change before you see it (default: ask once)",
    )
    parser.add_argument(
        "--attempts",
        type=from_one,
        metavar="N",
        help="run N separate attempts and propose the best that passes",
    )
    parser.add_argument(
        "--attempt-model",
        metavar="MODEL",
        action="append",
        default=[],
        help="with --attempts: a model to use in turn; may be repeated",
    )
    parser.add_argument("--commit", action="store_true", help="make one commit on your branch at the end")
    parser.add_argument(
        "--backup", action="store_true", default=None, help="first save the work tree on a branch ai-rails-backup-TIME"
    )
    parser.add_argument("--debug", action="store_true", help="show the model's input and its blocks")
    add_project(parser)
    add_approval(parser, default=None)


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    if options.attempt_model and not options.attempts:
        raise UsageError("--attempt-model goes with --attempts N. Nothing was started.")
    if options.attempts:
        from rails.commands import attempts

        return attempts.run(options)
    from rails.commands.job import run_words  # it brings the whole pipeline, which help does not need

    exit.tell_of_threads()
    return run_words(options)
