"""A review reads from top to bottom and no text of the log can do anything to the terminal."""

import re

from rails.log.session_stats import SessionStats
from rails.projections.session import session_view
from rails.render.table import table_as_text
from rails.review.reports.session_text import render_session
from rails.review.reports.sessions import sessions_table
from tests.rows import walked

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_a_session_is_told_turn_by_turn(log):
    text = render_session(session_view(log.demo(), ["line 9 (byte 3, 4 bytes): torn"]))
    for words in (
        "Session 20261121-230000-abcd",
        "  task     │ bump a",
        "  damaged  │ line 9 (byte 3, 4 bytes): torn",
        "── turn 1  coder  refused  [first try]",
        "  asks     │ edit_file app.py (not valid): bump a",
        "  adjusted │ JSON repaired: trailing_comma at 7: ',]' → ']'",
        "  refused  │ schema: content is missing Send content.",
        "  told     │ Correct this.",
        "── turn 2  coder  stopped by the checks  [1 gone, 0 left, 1 new]",
        "  adjusted │ converted edits: text to array",
        "  note     │ matched at rung 5",
        "           │ app.py:3:8 F401 'os' imported but unused",
        "  fixed    │ black format ×2 in app.py",
        "  decision │ deny by human after 4.5 s: use argparse",
        "           │     1 -  a = 1\n           │     1 +  a = 2",
        '           │ flow.json: 1 node added; 1 wire added\n           │   + node "Post" (n8n-nodes-base.slack 2)',
        "           │      url: 1 → 2",
        "  decision │ approve by human after 4.5 s",
        "  written  │ modify app.py",
        "  why      │ coder failed 3 times (turns 1, 2, 3): schema, F401, denied",
        " turns, 4 requests, 1 repaired, 1 refused, 3 retries, ",
        "  time     │ model 7.5 s, gate 0.8 s, human 9.0 s, write 0.0 s",
        "  outcome  │ changed: All done.",
    ):
        assert words in text, words
    assert "\x1b" not in text


def test_a_task_of_several_lines_is_lines_among_the_facts_and_one_line_in_a_list(log):
    task = "# Instructions\n\nCount the words.\r\nNothing else."
    start = (log.START[0], {**log.START[1], "task": task})
    text = render_session(session_view(log.records(start, log.END)))
    rows = ("# Instructions", "Count the words.", "Nothing else.")
    assert "\n           │ ".join(rows) in text
    table = table_as_text(sessions_table([SessionStats("b", task=task)]))
    assert " ".join(rows) in table


def test_colour_only_adds_colour(log):
    view = session_view(log.demo())
    coloured = render_session(view, colour=True)
    assert ANSI.sub("", coloured) == render_session(view)
    assert coloured != render_session(view)


def test_an_unfinished_session_says_so(log):
    text = render_session(session_view(log.records(log.START, log.call(1), log.answer(), log.asked())))
    assert "waiting for approval" in text
    assert "interrupted" in text
    assert "ai-rails run --resume " in text


def test_long_diffs_and_texts_are_cut_with_counts(log):
    asked = log.asked()
    head = "--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1,1000 @@\n"
    asked[1]["diff"] = head + "\n".join(f"+line {n}" for n in range(1000))
    text = render_session(session_view(log.records(log.call(1), log.answer("\n".join(map(str, range(100)))), asked)))
    assert "[… 881 lines not shown …]" in text
    assert "1000 +  line 999" in text
    assert "[… 88 more lines …]" in text


@walked("evil", ["\x1b[2J", "\r", "\u202e", "\x9b", "a\nb\u2028", "\x07", "\U000e0001"])
def test_no_text_of_the_log_reaches_the_terminal_raw(log, evil):
    records = [log.poisoned(record, evil) for record in log.demo()]
    text = render_session(session_view(records, [evil]))
    assert all(char == "\n" or char.isprintable() for char in text), ascii(text)
