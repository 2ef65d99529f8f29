"""What is in doubt or was waved through is said in the review."""

from rails.projections.session import session_view
from rails.review.html import render_html
from rails.review.reports.session_text import render_session
from tests.rows import walked


def attention(log, *events, ended=True):
    return session_view(log.records(log.call(1), log.answer(), *events, *([log.END] if ended else []))).attention


def large(log, lines=30):
    asked = log.asked()
    asked[1]["diff"] = f"--- /dev/null\n+++ b/x\n@@ -0,0 +1,{lines} @@\n" + "\n".join(["+x"] * lines)
    return asked


def decided(log, seconds, by="human"):
    kind, details = log.decided()
    return kind, {**details, "seconds": seconds, "by": by}


STARTED = ("EXECUTION_STARTED", {"ids": ["t1.1"]})


def test_a_good_session_needs_no_second_look(log):
    assert session_view(log.demo()).attention == ()
    assert "look" not in render_session(session_view(log.demo()))


def test_what_was_begun_without_a_result_is_in_doubt(log):
    assert attention(log, log.asked(), log.decided(), STARTED) == (
        "Turn 1: something was begun and has no result; compare the files with what was approved.",
    )
    assert attention(log, log.asked(), log.decided(), STARTED, log.written(), STARTED)[0].startswith(
        "Turn 1: something"
    )


def test_an_approval_without_consequences_and_an_unanswered_question_are_told(log):
    assert attention(log, log.asked(), log.decided()) == ("Turn 1: was approved, but nothing was executed.",)
    assert attention(log, log.asked()) == ("Turn 1: a question was never answered.",)


def test_a_running_session_is_given_time(log):
    assert attention(log, log.asked(), ended=False) == ()
    assert attention(log, log.asked(), log.decided(), ended=False) == ()


@walked(
    ("lines", "seconds", "by", "told"),
    [(30, 0.8, "human", True), (30, 2.5, "human", False), (5, 0.8, "human", False), (30, 0.0, "script", False)],
)
def test_a_reflex_is_told(log, lines, seconds, by, told):
    said = attention(log, large(log, lines), decided(log, seconds, by), log.written())
    assert said == ((f"Turn 1: {lines} changed lines were approved after 0.8 s.",) if told else ())


def test_what_was_approved_against_the_checks_or_regretted_is_told(log):
    step = ("CHECKPOINT", {"step": 4, "paths": ["app.py"]})
    undo = ("UNDO", {"step": 4, "paths": ["app.py"]})
    assert attention(log, log.gate("fail"), log.asked(), decided(log, 9), log.written(), step, undo) == (
        "Turn 1: was approved although the checks said 'fail'.",
        "Turn 1: was approved and written, and undone later (step 4).",
    )


def test_it_stands_in_the_terminal_and_on_the_page(log):
    view = session_view(log.records(log.call(1), log.answer(), log.asked(), log.END))
    assert "  look     │ Turn 1: a question was never answered." in render_session(view)
    assert "Worth a second look" in render_html(view)
