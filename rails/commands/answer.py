"""``ai-rails answer``: answer an agent's question after its session paused."""

from __future__ import annotations

import argparse

from rails.commands import common
from rails.commands.log import chosen_session
from rails.core.errors import EXIT_OK, UsageError
from rails.core.events.approval import ApprovalOpened
from rails.core.text import one_line, printable
from rails.log.actions import is_of_agent
from rails.review.inbox import Inbox
from rails.session.project import state_of

OPTIONS = """
> Without words it shows the question.
session? (last)  which session (default: the last)
words*  the answer, or the number of an option
@project
"""


def run(options: argparse.Namespace) -> int:
    """Show a question, or write its answer into the session's log."""
    state = state_of(common.project_of(options))
    session_id = chosen_session(state, options.session).session_id
    inbox = Inbox(state, None)
    question = inbox.open(session_id)
    asked = inbox.asked(question) if question else None
    if question is None or asked is None or not is_of_agent(asked):
        raise UsageError(f"No agent asks anything in session {session_id}. Nothing was done.")
    words = " ".join(options.words).strip()
    if not words:
        _show(asked, session_id)
        return EXIT_OK
    if words in map(str, range(1, len(asked.options))):
        words = asked.options[int(words) - 1].word
    print(inbox.answer(question, words, "human").words)
    return EXIT_OK


def _show(asked: ApprovalOpened, session_id: str) -> None:
    for line in asked.lines:
        print(printable(line))
    for number, option in enumerate(asked.options[:-1], 1):
        print(f"  [{number}] {one_line(option.meaning, 300)}")
    print(f"  Answer with: ai-rails answer {session_id} WORDS")
