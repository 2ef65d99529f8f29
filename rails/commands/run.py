"""``ai-rails run``: its options; the work is in ``rails/commands/job.py``."""

from __future__ import annotations

import argparse

from rails.commands import exit
from rails.core.errors import UsageError

OPTIONS = """
task?  what to do; with --resume: a hint for the agent
--agent AGENT  which agent (default: coder)
--then AGENTS...  agents that work after it, in order (coder,reviewer), or AGENT=TASK
--plan NAME  the plan to work on, by name or as a file
--handoff ask|go  between agents: ask you, or go on (default: ask)
--max-reviews N:count  how often a reviewer sends the work back (default: 2)
@models
--escalate off|again|squash|model  when attempts run out: stop, ask a small local model the task again, retry
    with a summary in another protocol, or then a stronger model too (default: model; without a terminal again)
--max-attempts N:count  failed attempts in a row (default: the agent's, 3)
--max-turns N:count  turns of an agent (default: the agent's, 25)
--max-tokens N:count  tokens of the whole run (default: no bound)
--max-minutes N:number  minutes of the whole run (default: no bound)
--max-cost N:number  money for the whole run, by prices.toml
--resume [SESSION]  go on with a session (default: the last)
--web  show the run in the browser, and decide there
--answer-within MINUTES:number  pause the run when nobody answers in time (default: wait)
--events jsonl|sse  events for another program on standard output
@correction-model (unset)
@dialects
@protocol
--file PATH...  a file to send in full with the task, where the model is asked in text; may be repeated
--tests ask|on|off  run the project's tests in the sandbox on each change before you see it (default: ask once)
--attempts N:count  run N separate attempts and propose the best that passes
--attempt-model MODEL...  with --attempts: a model to use in turn; may be repeated
--commit  make one commit on your branch at the end
--backup (unset)  first save the work tree on a branch ai-rails-backup-TIME
--debug  show the model's input and its blocks
@project
@approval (unset)
"""


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
