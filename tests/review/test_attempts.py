"""The strip of attempts says why each failed again: repeated, ignored, in circles, brought in by a correction."""

from rails.projections.attempts import caption, causes_of, rows_of
from rails.projections.session import session_view


def planned(after):
    change = {"path": "app.py", "kind": "modify", "before_sha256": "a" * 64, "after_sha256": after * 64}
    return ("CHANGE_PLANNED", {"changes": [change]})


def ask(log, number, said, *events):
    kind, details = log.formulated(f"t{number}.1")
    details = {**details, "parameters": {"file_path": "app.py", "new_string": said}}
    return [log.call(number), log.answer(), (kind, details), *events]


def found(log, rule="F401", after="b"):
    return [planned(after), log.gate("fail", [{**log.FINDING, "rule": rule}])]


def labels(log, *tries):
    events = [event for number, (said, failure) in enumerate(tries, 1) for event in ask(log, number, said, *failure)]
    return [turn.attempt for turn in session_view(log.records(*events)).turns]


def test_the_very_same_answer_is_told_from_another_one_with_the_same_failure(log):
    assert labels(log, ("x", found(log)), ("x", found(log))) == ["first", "repeated"]
    assert labels(log, ("x", found(log)), ("y", found(log, after="c"))) == ["first", "ignored"]


def test_feedback_that_left_the_named_file_as_it_was_is_called_ignored(log):
    events = [*ask(log, 1, "x", *found(log)), *ask(log, 2, "y", *found(log))]
    turn = session_view(log.records(*events)).turns[1]
    assert (turn.attempt, turn.progress) == (
        "ignored",
        "the same again: the feedback was ignored, the file that it names did not change",
    )


def test_going_back_to_an_earlier_failure_or_earlier_bytes_is_oscillation(log):
    assert (
        labels(log, ("x", found(log)), ("y", found(log, "E501", "c")), ("z", found(log, "F401", "d")))[2]
        == "oscillating"
    )
    back = (("x", found(log)), ("y", found(log, "E501", "c")), ("z", found(log, "B006", "b")))
    events = [event for number, (said, failure) in enumerate(back, 1) for event in ask(log, number, said, *failure)]
    turn = session_view(log.records(*events)).turns[2]
    assert (turn.attempt, turn.progress) == ("oscillating", "back to the content of turn 1: it goes in circles")


def test_another_failure_is_progress(log):
    assert labels(log, ("x", found(log)), ("y", found(log, "E501", "c")))[1] == "progress"


CORRECTION = {
    "id": "t1.1",
    "before": '{"tool": "edit_file", "path": "app.py", "new_string": "limit = 10"',
    "after": '{"tool": "edit_file", "path": "app.py", "new_string": "limit = 100"}',
    "taken": True,
}


def test_a_failure_that_a_correction_brought_in_names_the_changed_value(log):
    events = ask(log, 1, "limit = 100", ("CORRECTION", CORRECTION), *found(log))
    turn = session_view(log.records(*events)).turns[0]
    assert turn.attempt == "introduced"
    assert turn.progress == "brought in by the model's correction, which changed new_string"


def test_a_correction_of_the_syntax_alone_is_not_blamed(log):
    mended = {**CORRECTION, "after": CORRECTION["before"] + "}"}
    events = ask(log, 1, "limit = 10", ("CORRECTION", mended), *found(log))
    assert session_view(log.records(*events)).turns[0].attempt == "first"
    refused = ask(log, 1, "limit = 100", ("CORRECTION", {**CORRECTION, "taken": False}), *found(log))
    assert session_view(log.records(*refused)).turns[0].attempt == "first"


def test_the_same_bytes_refused_and_then_passed_show_checks_that_disagree(log):
    events = [
        *ask(log, 1, "x", *found(log)),
        *ask(log, 2, "x", planned("b"), log.gate(), log.asked(), log.decided(), log.written()),
    ]
    turn = session_view(log.records(*events)).turns[1]
    assert turn.attempt == "flaky"
    assert turn.progress.endswith("turn 1 was refused with the same content: the checks disagree")


def test_the_same_bytes_denied_and_then_approved_are_no_quarrel_of_the_checks(log):
    def passed(number, word):
        return ask(log, number, "x", planned("b"), log.gate(), log.asked(), log.decided(word, "not yet"))

    view = session_view(log.records(*passed(1, "deny"), *passed(2, "approve"), log.written()))
    assert [turn.attempt for turn in view.turns] == ["first", "right"]


def test_a_row_of_tries_is_told_in_a_line(log):
    view = session_view(log.demo())
    (row,) = rows_of(view.turns)
    assert caption(row) == "coder failed 3 times (turns 1, 2, 3); turn 4 was right."
    assert [causes_of(turn) for turn in row.tries] == [("schema",), ("F401",), ("denied",)]
    assert causes_of(view.turns[3]) == ()
