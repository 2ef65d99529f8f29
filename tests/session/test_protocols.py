"""A model that is asked in text finishes real work: files come with the task, edits end it, words alone do not."""

from types import SimpleNamespace

import pytest

from rails.agents.prompt import REMINDERS
from rails.core.builtin_tools import RUNS_TESTS
from rails.core.conversation import Message, ModelAnswer, TextPart
from rails.core.errors import ModelError
from rails.core.events.changes import ToolExecutionResult
from rails.session.outcome import Deeds
from rails.testing import ScriptedHuman, ScriptedModel

from .test_turn import request, write

LEAP = "def leap(year):\n    pass\n"
SOLVED = "leap.py\n```python\ndef leap(year):\n    return year % 4 == 0\n```\n"
YES = ["approve"] * 4
TESTS = "".join(f"def test_{year}():\n    assert leap({year})\n\n\n" for year in range(1904, 1924, 4))


@pytest.fixture
def leap(work):
    (work.project / "leap.py").write_text(LEAP, "utf-8")

    def run(*answers, **more):
        task = more.pop("task", "Write leap.py so that it works.")
        return work(*answers, **{"tasks": (("coder", task),), "protocol": "whole", "approvals": YES, **more})

    run.project = work.project
    return run


def test_one_answer_with_a_whole_file_is_the_whole_session(leap):
    done = leap(SOLVED)
    assert (leap.project / "leap.py").read_text("utf-8").endswith("return year % 4 == 0\n")
    assert (done.ending.outcome, len(done.model.asked)) == ("changed", 1)
    said = leap(f"Centuries count.\n\n{SOLVED.replace('4', '400')}").ending.message
    assert said == "Centuries count.", "its words, and no text of the file"


def test_a_file_that_the_task_names_comes_first_and_the_reminder_last_and_nothing_is_sent_twice(leap):
    asked = leap(SOLVED).model.asked[0]
    first = asked.messages[0].text
    assert first.startswith(f"leap.py\n```\n{LEAP}```\n\nWrite leap.py")
    assert first.rstrip().endswith("its path alone on the line above.")
    assert asked.tools == ()
    assert "request_schema" not in asked.system
    assert "tool_request" not in asked.system


STORE = "class Store:\n    def __init__(self, path):\n        self.path = path\n"


@pytest.mark.parametrize(
    ("task", "files"),
    [
        ("Give Store a method delete.", ["store.py"]),
        ("Let `leap` and parse_key() refuse None.", ["leap.py", "keys.py"]),
        ("Make the store keep its path.", ["store.py"]),
        ("What Store.get gives should be a copy.", ["store.py"]),
        ("Do what the ticket says.", []),
    ],
)
def test_a_file_that_defines_what_the_task_names_comes_with_it(leap, task, files):
    (leap.project / "store.py").write_text(STORE, "utf-8")
    for name in ("keys", "more", "others"):
        (leap.project / f"{name}.py").write_text(f"def parse_{name.strip('s')}(text):\n    return text\n", "utf-8")
    first = leap("Nothing has to change.", task=task).model.asked[0].messages[0].text
    assert [name for name in ("leap.py", "store.py", "keys.py", "more.py") if f"{name}\n```" in first] == files


def test_of_a_small_project_all_comes_with_a_task_that_names_nothing_and_tests_where_it_is_about_them(leap):
    (leap.project / "store.py").write_text(STORE, "utf-8")
    (leap.project / "test_store.py").write_text(TESTS, "utf-8")
    for task, shown in (("Saving loses data.", False), ("Saving loses data. Add a test, too.", True)):
        first = leap("Nothing has to change.", task=task).model.asked[0].messages[0].text
        assert f"leap.py\n```\n{LEAP}```\n\nstore.py\n```\n{STORE}```" in first
        assert ("def test_1904" in first) == shown


def test_a_file_that_lost_a_class_which_the_task_is_not_about_is_sent_back(leap):
    (leap.project / "leap.py").write_text(f"{LEAP}\n\n{STORE}", "utf-8")
    done = leap(SOLVED, f"{SOLVED.removesuffix('```')[:-4]}\n\n{STORE}```\n")
    assert "It takes away Store, which nobody asked for." in done.told[0]
    assert STORE in (leap.project / "leap.py").read_text("utf-8")


@pytest.fixture
def larger(leap):
    for name in ("one", "two", "three"):
        (leap.project / f"{name}.py").write_text(f"def {name}_of(text):\n    return text\n", "utf-8")
    (leap.project / "store.py").write_text(STORE, "utf-8")
    return leap


def test_what_a_person_says_next_comes_with_its_files_too_and_no_file_twice(larger):
    words = "Now give Store a method delete, as leap.py has it."
    said = [words, ""]
    done = larger("Nothing has to change.", "Nothing has to change.", talk=lambda _: said.pop(0))
    assert done.model.asked[1].messages[-1].text == f"store.py\n```\n{STORE}```\n\n{words}"


def test_a_file_that_was_never_seen_is_left_as_it_is_and_shown_where_nothing_else_was_sent(larger):
    blind = "store.py\n```python\nclass Store:\n    pass\n```\n"
    done = larger(blind, SOLVED + blind.replace("store", "one"))
    told = "You sent the whole of store.py without having seen it, so nothing was written. This is there now."
    assert told in done.told[0]
    assert f"store.py\n```\n{STORE}```" in done.told[0]
    assert "Not changed, because the agent never saw it: one.py" in done.events("APPROVAL_REQUESTED")[0]["notes"]
    assert (larger.project / "store.py").read_text("utf-8") == STORE
    assert done.ending.outcome == "changed"


@pytest.mark.parametrize("path", ["./store.py", "store.py/.", ".//store.py"])
def test_a_file_is_the_same_however_a_call_writes_its_path(larger, path):
    anew = write(path, "class Other:\n    pass\n")
    done = larger(anew, task="Change leap.py.")
    assert "You sent the whole of store.py without having seen it" in done.told[0]
    again = larger(anew, task="Change store.py.")
    assert "It takes away Store, which nobody asked for." in again.told[0]
    assert (larger.project / "store.py").read_text("utf-8") == STORE


@pytest.mark.parametrize("name", [".env", "secret.pem", "../outside.py", "/etc/passwd", "nothing.py"])
def test_what_no_agent_is_shown_does_not_come_with_the_task(leap, name):
    for place in (".env", "secret.pem"):
        (leap.project / place).write_text("API_KEY=abcdef\n", "utf-8")
    (leap.project / ".agent-restrictions").write_text("*.pem\n", "utf-8")
    done = leap("There is no such thing, so nothing has to change.", task=f"Read {name} and leap.py.")
    first = done.model.asked[0].messages[0].text
    assert "abcdef" not in first
    assert first.startswith("leap.py\n```")


MADE_UP = "leap_test.py\n```python\ndef test_leap():\n    assert leap(2000)\n```\n"


def test_a_test_file_that_the_agent_never_saw_and_makes_up_does_not_cost_it_its_solution(leap):
    (leap.project / "leap_test.py").write_text(TESTS, "utf-8")
    done = leap(SOLVED + MADE_UP)
    assert (leap.project / "leap.py").read_text("utf-8").endswith("return year % 4 == 0\n")
    assert (leap.project / "leap_test.py").read_text("utf-8") == TESTS
    assert "Not changed, because the agent never saw it: leap_test.py" in done.events("APPROVAL_REQUESTED")[0]["notes"]
    assert (done.ending.outcome, len(done.model.asked)) == ("changed", 1)


@pytest.mark.parametrize("task", ["Write leap.py and change leap_test.py.", "Change leap_test.py."])
def test_a_file_that_the_agent_saw_is_not_shortened_and_not_left_out(leap, task):
    (leap.project / "leap_test.py").write_text(TESTS, "utf-8")
    done = leap(SOLVED + MADE_UP, "It is as it should be.", task=task)
    assert "leap_test.py: The new text drops" in done.told[0]
    assert (leap.project / "leap.py").read_text("utf-8") == LEAP


@pytest.mark.parametrize(("protocol", "listed"), [("whole", False), ("edits", False), ("json", True)])
def test_a_coder_that_is_asked_in_text_does_not_read_that_there_are_tests(leap, protocol, listed):
    (leap.project / "leap_test.py").write_text(TESTS, "utf-8")
    first = leap("Nothing has to change.", protocol=protocol).model.asked[0].messages[0].text
    assert ("leap_test.py" in first) == listed


def test_a_show_line_gets_the_file_and_a_delete_line_is_asked_about(leap):
    (leap.project / "old.py").write_text("x = 1\n", "utf-8")
    done = leap("SHOW old.py\nSHOW .env\n", "DELETE old.py\n", approvals=["deny", "approve"])
    assert "old.py\n```\nx = 1\n```" in done.told[0]
    assert ".env is not shown: " in done.told[0]
    assert [one["tools"] for one in done.events("APPROVAL_REQUESTED")] == [["delete_file"]]
    assert (leap.project / "old.py").exists()


@pytest.mark.parametrize("wish", ["SHOW ./", "SHOW .env\nSHOW ../gone.py"])
def test_a_wish_for_what_cannot_be_shown_is_a_failed_attempt(leap, wish):
    (leap.project / ".env").write_text("A=b\n", "utf-8")
    done = leap(*[wish] * 9)
    assert done.ending.outcome == "gave_up"
    assert len(done.model.asked) == 2, "the same again ends it"


def test_a_file_is_shown_once_as_long_as_it_is_unchanged(leap):
    (leap.project / "old.py").write_text("x = 1\n", "utf-8")
    done = leap(*["SHOW old.py"] * 9)
    assert "x = 1" in done.told[0]
    assert "old.py is not shown: you have it above, unchanged." in done.told[1]
    assert (done.ending.outcome, len(done.model.asked)) == ("gave_up", 3)
    changed = leap("SHOW old.py", "old.py\n```\nx = 2\n```\nSHOW leap.py", "SHOW old.py", "That is all.")
    assert "leap.py is not shown: you have it above" in changed.told[1], "it came with the task"
    assert "x = 2" in changed.told[2]


@pytest.mark.parametrize("answer", [f"{SOLVED}\nSHOW leap.py\n", f"SHOW {SOLVED}", f"SHOW `leap.py`\n{SOLVED[8:]}"])
def test_a_wish_to_see_what_the_same_answer_writes_is_none(leap, answer):
    done = leap(answer, *["SHOW leap.py"] * 9)
    assert (done.ending.outcome, len(done.model.asked)) == ("changed", 1)
    assert [file.name for file in leap.project.glob("*leap*")] == ["leap.py"]


def test_continue_asks_for_the_rest(leap):
    done = leap(f"{SOLVED}\nCONTINUE\n", "more.py\n```python\nx = 1\n```\n")
    assert (done.ending.outcome, len(done.model.asked)) == ("changed", 2)
    assert (leap.project / "more.py").exists()


@pytest.mark.parametrize(
    "words",
    [
        "I have updated leap.py.",
        "Changes made:\n- leap works now",
        "Done.",
        "The function has been implemented. All tests pass.",
    ],
)
def test_a_claim_that_the_log_does_not_show_goes_back_once_and_is_never_green(leap, words):
    done = leap(words, words)
    assert done.ending.outcome == "claimed"
    assert len(done.told) == 1
    assert "nothing was written since you were asked" in done.told[0]
    assert leap(words, SOLVED).ending.outcome == "changed"


def test_other_ways_to_say_that_something_was_done_are_claims_too(leap):
    for words in (
        "The bug has been resolved.",
        "Done and verified.",
        "All four items are done and checked.",
        "No stragglers, and the full test suite passes.",
        "Lint clean, suite green.",
        "Everything passes.",
        "I've already made the change, so that it cannot crash.",
        "I fixed leap.py; nothing else had to change.",
        "The bug is fixed. No further changes are needed.",
        "All tests pass, so nothing has to change.",
        "I ran `npm run build`. Nothing has to change.",
    ):
        assert leap(words, words).ending.outcome == "claimed", words


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        ("I updated a.txt and b.txt.", "b.txt"),
        ("I've added a test to tests/test_a.py.", "tests/test_a.py"),
        ("`src/a.txt` was updated.", "src/a.txt"),
        ("- Added the files c.txt, a.txt.", "c.txt"),
        ("I updated a.txt.", ""),
        ("I changed the fatal error to slog.Warn in a.txt.", ""),
        ("I updated the Node.js part of a.txt; b.txt could be updated, too.", ""),
        ("I changed self.load() in a.txt. See README.md.", ""),
        ("b.txt was changed by somebody else. I updated a.txt.", ""),
    ],
)
def test_a_file_that_is_said_to_be_changed_was_written(leap, words, lost):
    done = leap(request("write_file", {"file_path": "a.txt", "content": "x\n"}), words, words, protocol="json")
    assert done.ending.outcome == ("claimed" if lost else "changed")
    assert not lost or f"You say that you changed {lost} (" in done.told[-1]


def test_code_that_names_no_file_and_an_answer_without_a_word_are_told_once_and_never_green(leap):
    for text in ("```python\nx = 1\n```\n", '```json\n{"a": \n```\n', "Like this:\n\n```\nx = 1\n```\n"):
        done = leap(text, text)
        assert (done.ending.outcome, len(done.told)) == ("gave_up", 1), text
        assert "Send the change, or say in one sentence why nothing has to change." in done.told[0]
    assert leap(text, "It is so already; see line 3.").ending.outcome == "unchanged"


def test_what_code_does_is_no_claim(leap):
    for words in (
        "The year is changed in line 4.",
        "This was added in Python 3.9. The list was created by the caller.",
        "Rows are written when the buffer is full.",
        "The tests in test_leap.py cover this; nothing has to change.",
        "The list was changed in 3.9. Let me know when these steps are done.",
        "No files have been changed. I made no changes. You should see that the tests pass.",
        "It is done already. The test passes the year.",
        "The tests work by calling leap.\n- Split it another day.\n- Put the years in a module of their own.",
    ):
        done = leap(f"{words} Nothing has to change.")
        assert (done.ending.outcome, len(done.told)) == ("unchanged", 0), words


def test_an_end_without_a_change_has_a_reason_or_is_no_good_end(leap):
    for words in (
        "I've made leap case-insensitive.",
        "leap.py now handles centuries.",
        "The rule is tested in line 4.",
        "No.",
    ):
        done = leap(words, words)
        assert (done.ending.outcome, len(done.told)) == ("gave_up", 1), words
        for reason in ("It is right already.", "No edit is needed.", "I didn't change leap.py: it handles 1900."):
            assert leap(words, reason).ending.outcome == "unchanged", reason


def test_an_answer_that_claims_nothing_ends_as_what_it_is(leap):
    for words, outcome in (
        ("Nothing has to change: leap.py is right as it is.", "unchanged"),
        ("I could not change it, because the task contradicts itself.", "unchanged"),
        ("Should years before 1582 count?", "asked"),
        ("Which file do you mean? Please tell me.", "asked"),
    ):
        assert leap(words).ending.outcome == outcome, words


def test_a_command_is_a_run_of_tests_only_if_it_runs_tests():
    for command in ("ls tests", "pip install pytest", "cat tests/test_a.py", "python setup.py", "true"):
        assert not RUNS_TESTS.search(command), command
    for command in ("python3 -m pytest -q", "sh -c 'cd a && pytest'", "npm run test", "make check", "go test ./..."):
        assert RUNS_TESTS.search(command), command
    deeds = Deeds()
    for ok, tests, tested in ((True, False, False), (True, True, True), (True, False, True), (False, True, False)):
        done = ToolExecutionResult(
            ids=("t1.1",), ok=ok, text="", tool="run_command", facts={"tests": tests}, duration_ms=0.0
        )
        deeds.take(SimpleNamespace(event=done, agent_role="coder"))
        assert deeds.tested is tested, (ok, tests)


def test_code_in_a_fence_without_a_file_goes_back_once(leap):
    done = leap("Use this:\n\n```python\ndef leap(year):\n    return year % 4 == 0\n```\n", SOLVED)
    assert done.ending.outcome == "changed"
    assert len(done.told) == 1


def test_the_same_change_again_is_no_failure_and_ends_the_run(leap):
    call = request("write_file", {"file_path": "a.txt", "content": "x\n"})
    done = leap(call, call, protocol="json")
    assert (done.ending.outcome, len(done.model.asked)) == ("changed", 2)
    assert done.events("CHANGE_REFUSED") == []


def test_a_file_that_is_so_already_is_told_and_is_no_change(leap):
    same = f"leap.py\n```python\n{LEAP}```\n"
    done = leap(same, "Nothing has to change, it is a stub on purpose.")
    assert done.ending.outcome == "unchanged"
    assert "leap.py is so already; nothing was written" in done.told[0]


def test_a_read_whose_result_it_has_is_told_so(leap):
    read = request("read_file", {"file_path": "leap.py"})
    done = leap(read, read, read, "Nothing has to change.", protocol="json")
    assert "def leap(year)" in done.told[0]
    assert "unchanged since you asked for it" in done.told[1]
    assert "You have asked 3 times" in done.told[2]


def test_a_loop_that_stands_still_begins_afresh_in_another_protocol(leap):
    bad = request("edit_file", {"file_path": "leap.py", "old_string": "not there", "new_string": "x"})
    done = leap(bad, bad, SOLVED, protocol="json", escalate="squash")
    assert done.ending.outcome == "changed"
    (step,) = done.events("ESCALATION")
    assert step["rung"] == "squash"
    assert "SEARCH" in done.model.asked[2].system
    assert "tool_request" not in done.model.asked[2].system


def test_a_file_that_is_longer_than_an_answer_may_be_comes_twice_and_is_then_asked_for_in_edits(leap, small):
    cut, again = (
        ModelAnswer(Message("assistant", (TextPart(f"{before}leap.py\n```python\ndef leap(year):"),)), "max_tokens")
        for before in ("", " ")
    )
    edit = "leap.py\n<<<<<<< SEARCH\n    pass\n=======\n    return year % 4 == 0\n>>>>>>> REPLACE\n"
    done = leap(cut, again, edit, escalate="model")
    assert done.ending.outcome == "changed"
    assert [step["rung"] for step in done.events("ESCALATION")] == ["squash"]
    assert "SEARCH" in done.model.asked[2].system
    page = done.model.asked[2].messages[0].text
    assert page.count(LEAP) == 1, "what it was shown comes once"
    assert page.rstrip().endswith(REMINDERS["edits"])
    assert REMINDERS["whole"] not in page


TEST = "from leap import leap\n\n\ndef test_leap():\n    assert leap(2000)\n    if leap(1900): raise ValueError(1900)\n"
RIGHT = SOLVED.replace("year % 4 == 0", "year % 400 == 0 or (year % 4 == 0 and year % 100 != 0)")


def test_failing_tests_go_back_and_what_passes_is_said_on_the_card(leap):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    done = leap(SOLVED, RIGHT, tests="on")
    assert done.ending.outcome == "changed"
    assert "The project's tests fail with your change" in done.told[0]
    assert "raise ValueError(1900)" in done.told[0]
    (asked,) = done.events("APPROVAL_REQUESTED")
    assert any("tests: 1 passed" in note for note in asked["notes"])
    for step in (
        "✅ leap.py was shown",
        "❌ tests: 1 failed in",
        "    FAILED test_leap.py::test_leap - ValueError: 1900\n  →",
        "✅ tests: 1 passed in",
    ):
        assert step in done.shown
    assert "400" in (leap.project / "leap.py").read_text("utf-8")


def test_tests_are_offered_once_and_not_run_after_a_no(leap):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    human = ScriptedHuman(["no"])
    assert leap(SOLVED, tests="ask", human=human).ending.outcome == "changed"
    assert len(human.asked) == 1


def test_a_project_without_tests_is_not_held_up(leap):
    assert leap(SOLVED, tests="on").ending.outcome == "changed"


@pytest.fixture
def small(monkeypatch):
    """Have the scripted model be one that is served here; return the temperatures that it is asked at."""
    warm = []
    monkeypatch.setattr(ScriptedModel, "local", True)
    monkeypatch.setattr(ScriptedModel, "at", lambda model, degrees: warm.append(degrees) or model)
    return warm


def test_a_small_model_whose_answer_changes_nothing_or_fails_the_tests_is_asked_its_task_again(leap, small):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    done = leap(f"leap.py\n```\n{LEAP}```\n", SOLVED, RIGHT, tests="on", escalate="again")
    assert done.ending.outcome == "changed"
    first, *others = (asked.messages for asked in done.model.asked)
    assert [one.text for (one,) in others] == [first[0].text] * 2
    assert small == [0.7, 0.7]
    assert done.shown.count("coder is asked the task again: ") == 2


def test_a_session_that_is_resumed_asks_the_task_again_as_warm_as_before(leap, work, small):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    leap(SOLVED, ModelError("no service"), tests="on", escalate="again")
    del small[:]
    work.resume(RIGHT, protocol="whole", approvals=YES, tests="on", escalate="again")
    assert small == [0.7]


@pytest.mark.parametrize("how", [{"protocol": "edits"}, {"escalate": "off"}])
def test_others_are_told_what_failed(leap, small, how):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    done = leap(SOLVED, RIGHT, **{"tests": "on", "escalate": "again", **how})
    assert (done.ending.outcome, len(done.model.asked[1].messages), small) == ("changed", 3, [])


@pytest.mark.parametrize("lost", [f"```python\n{LEAP}```\n", "It works as it is: nothing has to change."])
def test_an_answer_that_sends_no_file_is_one_more_that_failed(leap, small, lost):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    done = leap(SOLVED, lost, RIGHT, tests="on", escalate="again")
    assert (done.ending.outcome, small) == ("changed", [0.7, 0.7])


def test_answers_that_all_fail_the_tests_end_with_the_person(leap, small):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    done = leap(*[SOLVED] * 9, tests="on", escalate="again")
    assert done.ending.outcome == "gave_up"
    assert "9 failed attempts (tests)" in done.ending.message
    assert "9 answers; then the task again." in (leap.project / done.ending.file).read_text("utf-8")
    assert (leap.project / "leap.py").read_text("utf-8") == LEAP


def test_nothing_has_to_change_is_no_reason_once_the_tests_have_failed(leap):
    (leap.project / "test_leap.py").write_text(TEST, "utf-8")
    done = leap(SOLVED, "Nothing has to change.", tests="on")
    assert done.ending.outcome == "gave_up"


def test_a_person_who_denied_an_answer_is_not_asked_about_others(leap, small):
    done = leap(*[SOLVED] * 7, approvals=["deny"] * 7, escalate="again")
    assert (done.ending.outcome, len(done.model.asked), small) == ("gave_up", 2, [])
