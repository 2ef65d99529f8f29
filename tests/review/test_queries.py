"""A session's view is a fold over its log: complete, tolerant, and it explains failures."""

import json
from importlib import resources

import jsonschema
from hypothesis import example, given
from hypothesis import strategies as st

from rails.core.events.record import BY_TYPE
from rails.projections.common import fixed_in_words
from rails.projections.session import session_as_json, session_view


def schema():
    return json.loads(resources.files("rails.review").joinpath("session.schema.json").read_text("utf-8"))


def check_schema(view):
    value = json.loads(json.dumps(session_as_json(view)))
    jsonschema.Draft202012Validator(schema()).validate(value)
    return value


def outcomes(*events, log):
    return [turn.outcome for turn in session_view(log.records(*events)).turns]


def test_a_whole_session(log):
    view = session_view(log.demo())
    assert (view.task, view.project, view.outcome, view.message) == ("bump a", "/p", "changed", "All done.")
    assert (view.agents, view.models) == (("coder",), ("recorded:demo",))
    assert [turn.outcome for turn in view.turns] == ["refused", "findings", "denied", "applied", "answered"]
    assert [turn.failed for turn in view.turns] == [True, True, True, False, False]
    totals = view.totals
    assert (totals.turns, totals.requests, totals.repairs, totals.refusals, totals.retries) == (5, 4, 1, 1, 3)
    assert (totals.findings, totals.findings_fixed) == (1, 3)
    assert (totals.approved, totals.denied, totals.files_changed) == (1, 1, 1)
    assert (totals.input_tokens, totals.output_tokens) == (500, 100)
    assert totals.seconds == {"model": 7.5, "gate": 0.75, "human": 9.0, "write": 0.012}
    assert view.failures == (
        "coder failed 3 times (turns 1, 2, 3): schema, F401, denied; then: 1 gone, 0 left, 1 new ×2; turn 4 passed.",
    )


def test_a_turn_holds_everything_that_happened_in_it(log):
    first, second, third, fourth, _ = session_view(log.demo()).turns
    assert first.requests[0].repairs == ("trailing_comma at 7: ',]' → ']'",)
    assert first.requests[0].valid is False
    assert first.refusals[0].code == "schema"
    assert first.feedback == "Correct this."
    assert second.requests[0].coerced == ("edits: text to array",)
    assert second.notes == ("matched at rung 5",)
    assert second.gates[0].verdict.findings[0].rule == "F401"
    assert fixed_in_words(second.gates[0].verdict) == ("black format ×2 in app.py",)
    assert (third.approvals[0].answer, third.approvals[0].reason) == ("deny", "use argparse")
    assert fourth.approvals[0].diff == log.DIFF
    assert fourth.results[0].changes[0].path == "app.py"
    assert fourth.checkpoints == (1,)
    assert (first.first_seq, first.last_seq, second.first_seq) == (3, 7, 8)


def test_the_json_form_satisfies_its_schema(log):
    value = check_schema(session_view(log.demo(), ["line 3: torn"]))
    assert value["turns"][0]["failed"] is True
    assert value["damage"] == ["line 3: torn"]
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_schema_describes_every_key_and_no_other(log):
    def keys(value, definition):
        if "$ref" in definition:
            definition = schema()["$defs"][definition["$ref"].rpartition("/")[2]]
        if isinstance(value, dict) and "properties" in definition:
            assert set(value) == set(definition["properties"]) == set(definition["required"])
            for key, item in value.items():
                keys(item, definition["properties"][key])
        for item in value if isinstance(value, list) else ():
            keys(item, definition["items"])

    keys(session_as_json(session_view(log.demo())), schema())


def test_an_unfinished_turn_is_open(log):
    assert outcomes(log.call(1), log=log) == ["open"]
    assert outcomes(log.call(1), log.answer(), log.gate(), log.asked(), log=log) == ["open"]
    started = ("EXECUTION_STARTED", {"ids": ["t1.1"]})
    assert outcomes(log.call(1), log.answer(), log.asked(), log.decided(), started, log=log) == ["open"]


def test_what_became_of_a_turn(log):
    failed = ("TOOL_EXECUTION_RESULT", {"ok": False, "text": "exit 1", "tool": "run_tests"})
    ran = ("TOOL_EXECUTION_RESULT", {"ok": True, "text": "ok", "tool": "run_tests"})
    refused = ("CHANGE_REFUSED", {"refusals": [{"code": "not_found", "message": "no such text"}]})
    begin = (log.call(1), log.answer())
    assert outcomes(*begin, ran, log=log) == ["ran"]
    assert outcomes(*begin, failed, log=log) == ["failed"]
    assert outcomes(*begin, refused, log=log) == ["refused"]
    assert outcomes(*begin, log.gate("error"), log=log) == ["failed"]
    assert outcomes(*begin, log.gate("fail"), log.asked(), log.decided(), log.written(), log=log) == ["applied"]
    assert outcomes(*begin, log.asked(), log.decided("abort"), log=log) == ["aborted"]


def test_an_overloaded_model_that_is_asked_again_is_one_turn(log):
    error = ("LLM_ERROR", {"error": "overloaded", "will_retry": True, "attempt": 1})
    view = session_view(log.records(log.call(1), error, log.call(1), error, log.call(1), log.answer()))
    assert [turn.outcome for turn in view.turns] == ["answered"]
    assert view.turns[0].errors == ("overloaded", "overloaded")


def test_a_model_that_never_answered_failed(log):
    error = ("LLM_ERROR", {"error": "overloaded", "will_retry": False, "attempt": 4})
    assert outcomes(log.call(1), error, log=log) == ["failed"]


def test_an_answer_from_a_file_has_no_model_and_is_turn_zero(log):
    whole = [log.gate(), log.asked(), log.decided(), log.written()]
    view = session_view(log.records(log.START, log.formulated(), log.valid(), *whole, log.END))
    assert [(turn.number, turn.outcome) for turn in view.turns] == [(0, "applied")]
    assert view.totals.turns == 0


def test_a_decision_belongs_to_its_question(log):
    other = ("APPROVAL_REQUESTED", {"id": "t1.2", "digest": "e" * 64, "kind": "tool", "tools": ["run_tests"]})
    view = session_view(log.records(log.call(1), log.answer(), log.asked(), other, log.decided()))
    assert [(a.id, a.answer) for a in view.turns[0].approvals] == [("t1.1", "approve"), ("t1.2", "")]


def test_a_decision_without_a_question_is_shown_all_the_same(log):
    view = session_view(log.records(log.call(1), log.decided("deny", "no")))
    assert view.turns[0].approvals[0].reason == "no"


def test_resumed_and_undone_sessions_say_so(log):
    resumed = ("SESSION_RESUMED", {"after_seq": 3})
    undone = ("UNDO", {"step": 2, "paths": ["app.py"]})
    view = session_view(log.records(log.START, log.END, resumed, undone))
    assert (view.resumed, view.undone, view.outcome) == (1, (2,), "")


def test_what_the_log_stores_elsewhere_is_shown_by_its_beginning_or_loaded(log):
    pointer = {"blob": "f" * 64, "bytes": 90_000, "head": "first words"}
    record = log.records(log.call(1), ("LLM_RESPONSE", {"text": pointer}))
    text = session_view(record).turns[0].text
    assert text.startswith("first words\n[… 90000 bytes, stored as ffffffffffff")

    from msgspec.structs import replace

    def load(item):
        return replace(item, details={**item.details, "text": "all of it"}) if "text" in item.details else item

    assert session_view(record, load=load).turns[0].text == "all of it"


def test_newer_event_types_are_counted_not_lost(log):
    view = session_view(log.records(log.call(1), log.answer(), ("QUANTUM_LEAP", {"x": 1})))
    assert view.unknown_events == 1
    assert view.turns[0].last_seq == 3


# -- why it failed -------------------------------------------------------------------------------


def tries(log, *failures):
    events = []
    for number, failure in enumerate(failures, start=1):
        events += [log.call(number), log.answer(), log.formulated(f"t{number}.1"), *failure]
    return session_view(log.records(*events))


def wrong(log, *messages):
    return [log.invalid(message=message) for message in messages]


def test_progress_and_new_mistakes_are_told_apart(log):
    view = tries(log, wrong(log, "a", "b"), wrong(log, "b"), wrong(log, "b", "c"), wrong(log, "d"))
    assert [turn.progress for turn in view.turns][1:] == [
        "1 gone, 1 left, 0 new",
        "0 gone, 1 left, 1 new",
        "2 gone, 0 left, 1 new",
    ]


def test_going_in_circles_is_seen(log):
    view = tries(log, wrong(log, "a"), wrong(log, "b"), wrong(log, "a"))
    assert view.turns[2].progress == "back to an earlier failure: it goes in circles"


def test_a_finding_that_moved_to_another_line_is_the_same_finding(log):
    moved = {**log.FINDING, "line": 9}
    view = tries(log, [log.gate("fail", [log.FINDING])], [log.gate("fail", [moved])])
    assert view.turns[1].attempt == "repeated"


def test_the_same_tests_that_fail_are_the_same_failure_however_long_they_took(log):
    runs = ["1 failed in 0.12s\nline 10", "1 failed in 0.48s\nline 12", "2 failed in 0.10s"]
    failed = [("TOOL_EXECUTION_RESULT", {"ids": [], "ok": False, "text": f"tests: {run}"}) for run in runs]
    view = tries(log, *([one] for one in failed))
    assert [turn.attempt for turn in view.turns] == ["first", "repeated", "progress"]


def test_a_cut_answer_is_named(log):
    events = [
        log.call(1),
        log.answer(),
        log.formulated(),
        log.invalid(),
        log.call(2),
        log.answer(stop="max_tokens"),
        log.invalid(),
    ]
    assert session_view(log.records(*events)).turns[1].progress == "the answer was cut off"


def test_success_ends_a_row_and_is_told(log):
    view = tries(log, wrong(log, "a"), [log.valid(), log.written()], wrong(log, "a"))
    assert [turn.progress for turn in view.turns] == ["first try", "fixed on retry 1", "first try"]
    assert len(view.failures) == 2


def test_agents_are_compared_with_themselves_only(log):
    def as_agent(events, role):
        return [(kind, {**details, "agent_role": role}) for kind, details in events]

    one = [log.call(1), log.answer(), log.invalid()]
    two = [log.call(2), log.answer(), log.invalid()]
    view = session_view(log.records(*as_agent(one, "coder"), *as_agent(two, "debugger")))
    assert [turn.progress for turn in view.turns] == ["first try", "first try"]


# -- anything at all -----------------------------------------------------------------------------

KEYS = [
    "id",
    "text",
    "usage",
    "refusals",
    "findings",
    "fixed",
    "checks",
    "not_checked",
    "changes",
    "ids",
    "answer",
    "digest",
    "step",
    "status",
    "repairs",
    "coerced",
    "blob",
    "head",
    "bytes",
    "duration_ms",
    "seconds",
    "code",
    "path",
    "count",
    "turn",
]
SIMPLE = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-9, 9) | st.text(max_size=5)
JSON = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


EVENTS = st.tuples(st.sampled_from([*sorted(BY_TYPE), "OTHER"]), st.dictionaries(st.sampled_from(KEYS), JSON))


@given(st.lists(EVENTS, max_size=12))
@example([("LLM_CALL", {"turn": -5})])
def test_no_record_however_odd_breaks_the_view_or_its_schema(log, events):
    from rails.review.reports.session_text import render_session

    view = session_view(log.records(*events))
    check_schema(view)
    assert all(char == "\n" or char.isprintable() for char in render_session(view))


def test_a_request_names_its_files_wherever_they_stand(log):
    kind, details = log.formulated()
    edits = [{"file_path": "a.py"}, {"path": "b.py"}, {"file_path": "a.py"}, "odd"]
    for parameters, expected in (
        ({"edits": edits}, ("a.py", "b.py")),
        ({"file_path": "a.py", "new_path": "b.py"}, ("a.py", "b.py")),
        ({"edits": 3, "path": 4}, ()),
        ([], ()),
    ):
        view = session_view(log.records(log.call(1), (kind, {**details, "parameters": parameters})))
        assert view.turns[0].requests[0].paths == expected


def test_what_is_asked_again_after_an_interruption_is_asked_once(log):
    events = [log.START, log.call(1), log.answer(), log.formulated(), log.valid(), log.gate(), log.asked()]
    resumed = ("SESSION_RESUMED", {"turns": 1})
    view = session_view(log.records(*events, resumed, log.gate(), log.asked(), log.decided(), log.written(), log.END))
    assert [approval.answer for approval in view.turns[0].approvals] == ["approve"]
    assert view.turns[0].outcome == "applied"
