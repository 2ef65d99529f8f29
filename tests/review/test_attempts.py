"""The strip of attempts says why each failed again: repeated, ignored, in circles."""

from rails.projections.attempts import caption, rows_of
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


def test_the_same_bytes_denied_and_then_approved_are_no_quarrel_of_the_checks(log):
    def passed(number, word):
        return ask(log, number, "x", planned("b"), log.gate(), log.asked(), log.decided(word, "not yet"))

    view = session_view(log.records(*passed(1, "deny"), *passed(2, "approve"), log.written()))
    assert [turn.attempt for turn in view.turns] == ["first", "right"]


def test_a_look_mends_no_request_and_words_mend_no_claim(log):
    kind, details = log.formulated("t2.1")
    details = {**details, "tool_name": "read_file"}
    result = (
        "TOOL_EXECUTION_RESULT",
        {"ids": ["t2.1"], "ok": True, "text": "", "tool": "read_file", "duration_ms": 1.0},
    )
    look = [log.call(2), log.answer(), (kind, details), result]
    view = session_view(log.records(*ask(log, 1, "x", *found(log)), *look))
    assert view.turns[1].attempt == ""
    (row,) = rows_of(view.turns)
    assert caption(row).endswith("never passed.")


def test_a_row_of_tries_is_told_in_a_line(log):
    view = session_view(log.demo())
    (row,) = rows_of(view.turns)
    assert caption(row) == "coder failed 3 times (turns 1, 2, 3); turn 4 passed."
    assert [turn.causes for turn in row.tries] == [("schema",), ("F401",), ("denied",)]
    assert view.turns[3].causes == ()
