"""Runs of one tool are one question; the whole word approves all, numbers approve some, nothing else any."""

import io
import os
import re
import sys

import pytest

from rails.approval.decision import Decision, request_for_tool, sign_tool, still_valid
from rails.approval.policy.policy import PolicyApprover
from rails.approval.policy.rules import Policy, PolicyRule
from rails.approval.terminal.approver import TerminalApprover
from rails.approval.terminal.batch import alike, digest_of_all
from rails.approval.terminal.console import Pasted
from rails.approval.terminal.scripted import ScriptedApprover
from rails.core.dataclass import replace


def run_of(make, target, number=1, **more):
    request = replace(make.tool_request("run_tests", "run", **more), id=f"t1.r{number}", parameters={"target": target})
    return request_for_tool(request.id, "coder", request)


@pytest.fixture
def three(make):
    return [run_of(make, f"tests.test_{name}", number) for number, name in enumerate("abc", start=1)]


def ask(requests, typed, **more):
    out = io.StringIO()
    approver = TerminalApprover(io.StringIO(typed), out, accept_pipe=True, width=100, **more)
    return approver.decide_batch(requests), out.getvalue()


def answers(decisions):
    return [decision and decision.answer for decision in decisions]


def test_the_list_shows_every_run_and_one_digest_over_all(make, three):
    decisions, screen = ask(three, "approve\n")
    assert answers(decisions) == ["approve"] * 3
    assert "Run this tool 3 times?" in screen
    for number, name in enumerate("abc", start=1):
        assert f'{number} │ {{"target": "tests.test_{name}"}}' in screen
    assert '1 │ {"target": "café"}' in ask([run_of(make, "café"), three[1]], "o\n")[1], "as it is, with no escapes"
    assert digest_of_all(three)[:16] in screen
    assert {decision.batch for decision in decisions} == {digest_of_all(three)[:16]}
    for request, decision in zip(three, decisions, strict=True):
        assert still_valid(sign_tool(request, decision), request)
        assert decision.of == request.digest


def test_an_approval_of_a_batch_is_good_for_its_own_run_only(three):
    decisions, _ = ask(three, "approve\n")
    with pytest.raises(Exception, match="another request"):
        sign_tool(three[1], decisions[0])


def test_some_can_be_approved_and_the_others_are_asked_about_by_themselves(three):
    assert answers(ask(three, "approve 1 3\n")[0]) == ["approve", None, "approve"]
    assert answers(ask(three, "approve 1,2\n")[0]) == ["approve", "approve", None]
    assert answers(ask(three, "o\n")[0]) == [None, None, None]


@pytest.mark.parametrize(
    "typed",
    [
        *("", "\n", " \n", "\x1b\n", "a\n", "y\n", "yes\n", "approve 4\n", "approve 0\n", "approve x\n", "approve"),
        *(f"approve {words}\n" for words in ("1 4", "0 1", "1 x", "1,2,9", "1 \u00b2", "1 -2", "1 2 all")),
    ],
)
def test_nothing_else_approves_any(three, typed):
    decisions, _ = ask(three, typed)
    assert answers(decisions) == ["deny"] * 3
    assert {decision.by for decision in decisions} == {"end of input"}


def test_all_are_denied_with_one_reason_or_the_session_is_stopped(three):
    assert [d.reason for d in ask(three, "d not now\n")[0]] == ["not now"] * 3
    assert [d.reason for d in ask(three, "d\nlater\n")[0]] == ["later"] * 3
    assert answers(ask(three, "s\n")[0]) == ["abort"] * 3


def test_each_run_can_be_seen_in_full(make):
    long = [run_of(make, "x" * 400, 1), run_of(make, "y", 2)]
    decisions, screen = ask(long, "v 1\napprove\n")
    assert answers(decisions) == ["approve"] * 2
    assert "x" * 60 in screen.partition("Run this tool?")[2]
    assert "That decides nothing." in ask(long, "v\napprove\n")[1]


def test_what_is_different_is_not_put_together(make, three):
    one = three[0]
    other_tool = make.ask_tool("deploy")
    repaired = run_of(make, "b", 2, repairs=["trailing_comma"])
    local = request_for_tool("x", "coder", one.tool_request, from_project=["run_tests"])
    definition = request_for_tool("x", "coder", replace(one.tool_request, definition_digest="e" * 64))
    agent = request_for_tool("x", "debugger", one.tool_request)
    assert alike(one, three[1])
    assert not any(alike(one, other) for other in (other_tool, repaired, local, definition, agent, make.ask()))


def test_hostile_parameters_stay_inert_in_the_list(make):
    hostile = [run_of(make, "\x1b[2J\u202e\r\n 2 │ {}", n) for n in (1, 2)]
    _, screen = ask(hostile, "d no\n", colour=False)
    assert "\x1b" not in screen
    assert "\u202e" not in screen
    assert screen.count("2 │ {") == 1 + screen.count('2 │ {}"')


def test_rules_answer_what_they_can_and_the_human_the_rest(three):
    human = TerminalApprover(io.StringIO("approve\n"), io.StringIO(), accept_pipe=True)
    assert answers(PolicyApprover(Policy(), human).decide_batch(three)) == ["approve"] * 3
    deny = Policy((PolicyRule(1, "deny", "policy.toml", tool=("run_*",)),))
    assert answers(PolicyApprover(deny, human).decide_batch(three)) == ["deny"] * 3
    assert answers(PolicyApprover(Policy(), None).decide_batch(three)) == [None] * 3


def test_with_a_rule_that_counts_each_is_asked_about_by_itself(three):
    from rails.approval.policy.rules import Conditions

    counting = Policy((PolicyRule(1, "deny", "policy.toml", tool=("run_*",), when=Conditions(from_nth=2)),))
    human = TerminalApprover(io.StringIO("approve\n"), io.StringIO(), accept_pipe=True)
    assert answers(PolicyApprover(counting, human).decide_batch(three)) == [None] * 3


def test_without_a_terminal_all_are_denied(three):
    approver = TerminalApprover(io.StringIO("approve\n"), io.StringIO())
    assert [d.by for d in approver.decide_batch(three)] == ["headless"] * 3


class Answers:
    """A human who answers a batch as it is said, and remembers what was put to them."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, []

    def decide(self, request):
        raise AssertionError("a batch is not one question")

    def decide_batch(self, requests):
        self.asked.append([request.id for request in requests])
        both = zip(self.answers, requests, strict=True)
        return [answer and Decision(answer, "", "human", of=one.digest) for answer, one in both]


def denied(glob):
    return PolicyRule(1, "deny", "policy.toml", path=(glob,))


def reading(make, *paths):
    return [
        replace(make.ask_tool("read_file", "read", file_path=path), id=f"t1.r{number}")
        for number, path in enumerate(paths, start=1)
    ]


def test_each_answer_stands_at_its_own_question_where_rules_answer_some(make):
    four = reading(make, "a", "secret", "b", "c")
    human = Answers("approve", None, "deny")
    decisions = PolicyApprover(Policy((denied("secret"),)), human).decide_batch(four)
    assert answers(decisions) == ["approve", "deny", None, "deny"]
    assert [decision and decision.by for decision in decisions] == ["human", "policy: rule 1", None, "human"]
    assert human.asked == [["t1.r1", "t1.r3", "t1.r4"]]
    assert [decision.of for decision in decisions if decision] == [four[0].digest, four[1].digest, four[3].digest]


def test_the_one_that_rules_leave_is_asked_about_by_itself(make):
    human = Answers("approve", "approve")
    decisions = PolicyApprover(Policy((denied("secret"),)), human).decide_batch(reading(make, "secret", "b"))
    assert answers(decisions) == ["deny", None]
    assert human.asked == []
    assert answers(PolicyApprover(Policy(), human).decide_batch(reading(make, "a", "b"))) == ["approve", "approve"]


def test_a_human_who_answers_one_by_one_gets_no_batch(make):
    assert answers(PolicyApprover(Policy(), ScriptedApprover([])).decide_batch(reading(make, "a", "b"))) == [None, None]


def test_every_key_is_explained(three):
    decisions, screen = ask(three, "?\no\n")
    assert answers(decisions) == [None] * 3
    keys = (
        "approve",
        "approve 1 3",
        "o or one",
        "d or deny",
        "s or stop",
        "v 2 or view 2",
        "? or help",
        "anything else",
    )
    _, *explained = screen.partition("then Enter: ")[2].splitlines()[:8]
    assert all(
        re.match(rf"  {re.escape(key)} +[a-z].+\.$", line) for key, line in zip(keys[1:], explained, strict=True)
    )
    offered = re.sub(r"\s+", " ", screen.partition('{"target": "tests.test_c"}')[2]).strip()
    assert offered.startswith(
        'type "approve" for all or "approve 1 3" for some (the others are asked one by one) [o]ne by one '
        "[d]eny all with a reason [s]top the session [v]iew N in full [?], then Enter: approve run all of them"
    )


def test_what_all_of_them_have_is_told_above_the_list(make):
    alone = make.ask_tool("run_tests").tool_request
    runs = [
        request_for_tool(f"r{n}", "coder", replace(alone, id=f"r{n}", explanation=words, parameters={"n": n}))
        for n, words in enumerate(("first", "second", "first", " "), start=1)
    ]
    _, screen = ask(runs, "o\n")
    lines = [line.replace("│", " ").split() for line in screen.splitlines()]
    assert ["agent", "coder"] in lines
    assert ["tool", "run_tests"] in lines
    assert ["why", "first"] in lines
    assert screen.index("first") < screen.index("second") < screen.index('{"n": 1}')
    assert screen.count("second") == 1
    silent = [replace(one, explanation="") for one in runs]
    assert "(the agent did not say)" in ask(silent, "o\n")[1]
    wordy = [replace(one, explanation="é" * 450, tools=("t" * 450,)) for one in runs]
    shown = "".join(ask(wordy, "o\n")[1].replace("│", " ").split())
    assert [shown.count(char * 400 + "…(+50characters)") for char in "ét"] == [1, 1]


def test_twenty_answers_that_decide_nothing_are_a_no(three):
    decisions, screen = ask(three, "what\n" * 25)
    assert answers(decisions) == ["deny"] * 3
    assert {decision.reason for decision in decisions} == {"no clear answer in 20 tries"}
    assert screen.count("That decides nothing.") == 20
    assert answers(ask(three, "what\n" * 19 + "approve\n")[0]) == ["approve"] * 3


class Unplugged(io.StringIO):
    error = OSError

    def readline(self, *_):
        raise self.error("unplugged")


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_a_terminal_that_fails_denies_each_and_says_why(three, error):
    stream = Unplugged()
    stream.error = error
    approver = TerminalApprover(stream, io.StringIO(), accept_pipe=True, width=100)
    decisions = approver.decide_batch(three)
    assert [(one.answer, one.by, one.of) for one in decisions] == [("deny", "error", each.digest) for each in three]
    assert all("unplugged" in one.reason for one in decisions)


@pytest.mark.parametrize("target", ["a\u200bb", "a\u202eb", "x" * 5_000, "word " * 45])
def test_what_a_line_does_not_show_as_it_is_is_asked_about_by_itself(make, target):
    plain = run_of(make, "a")
    assert alike(plain, run_of(make, "b"))
    assert alike(plain, run_of(make, target)) is False
    assert alike(run_of(make, target), plain) is False
    assert alike(run_of(make, target), run_of(make, target)) is False


def test_a_run_of_two_hundred_characters_still_is_a_line(make):
    assert alike(run_of(make, ("word " * 40)[:186]), run_of(make, "b"))
    assert not alike(run_of(make, ("word " * 40)[:187]), run_of(make, "b"))


def test_a_no_to_all_names_the_batch_as_the_list_did_and_a_view_leaves_nothing_out(make, three):
    batch = digest_of_all(three)[:16]
    for typed in ("d no\n", "s\n", "what\n" * 20):
        assert {decision.batch for decision in ask(three, typed)[0]} == {batch}
    assert len(batch) == 16
    long = [run_of(make, [f"line {number}" for number in range(60)], 1), run_of(make, "y", 2)]
    shown = ask(long, "v 1\no\n")[1].partition("Run this tool?")[2]
    assert all(f'line {number}"' in shown for number in range(60))


def test_why_to_be_careful_stands_once_above_the_list(three):
    screen = ask(three, "o\n")[1]
    assert three[0].risks
    for risk in three[0].risks:
        assert " ".join(screen.replace("│", " ").split()).count(risk) == 1
    assert screen.index("runs a program") < screen.index("1 │")


def test_the_keys_are_read_in_any_letter_case_and_what_stands_behind_them_is_the_reason(three):
    assert answers(ask(three, "APPROVE 2\n")[0]) == [None, "approve", None]
    assert answers(ask(three, "One\n")[0]) == [None] * 3
    for typed, answer, reason in (
        ("DENY  No, Thanks \n", "deny", "No, Thanks"),
        ("stop\n", "abort", ""),
        ("S it is late\n", "abort", "it is late"),
        ("d\n", "deny", ""),
        ("d\n\n", "deny", ""),
    ):
        said, screen = ask(three, typed)
        assert [(one.answer, one.reason, one.by) for one in said] == [(answer, reason, "human")] * 3, typed
        assert [one.of for one in said] == [one.digest for one in three]
        assert ("Why not? The agent reads this (Enter: no reason): " in screen) is (typed[:2] == "d\n")


def test_several_runs_are_shown_in_full_in_their_order_and_the_question_stays(make):
    runs = [run_of(make, f"target {number}", number) for number in range(1, 10)]
    decisions, screen = ask(runs, "view 9,1\no\n")
    assert answers(decisions) == [None] * 9
    shown = screen.partition("[?]")[2]
    assert shown.index("target 1") < shown.index("target 9")
    assert "target 2" not in shown
    assert "That decides nothing." not in shown
    assert screen.count("[?], then Enter: ") == 2
    assert "Type numbers from 1 to 9.\n" in ask(runs, "approve 10\no\n")[1]
    assert "Type ? and Enter for what the keys do." in ask(runs, "v 10\no\n")[1]


class Pastes(io.StringIO):
    """A terminal into which somebody pastes once."""

    def __init__(self, typed, at):
        super().__init__(typed)
        self.left = at

    def readline(self, *size):
        self.left -= 1
        if self.left == 0:
            raise Pasted
        return super().readline(*size)


@pytest.mark.parametrize(("typed", "at"), [("approve\n", 1), ("d\napprove\n", 2)])
def test_a_paste_decides_nothing_not_even_a_reason_and_the_question_is_put_again_from_the_start(three, typed, at):
    out = io.StringIO()
    decisions = TerminalApprover(Pastes(typed, at), out, accept_pipe=True, width=100).decide_batch(three)
    assert answers(decisions) == ["approve"] * 3
    assert "More came than one typed line, so none of it counts. The question is asked again." in out.getvalue()
    assert out.getvalue().count("Run this tool 3 times?") == 2


def test_how_long_a_human_took_is_part_of_every_answer(three, monkeypatch):
    times = iter((10.0, 12.3456))
    monkeypatch.setattr("rails.approval.terminal.batch.time.monotonic", lambda: next(times, 12.3456))
    assert [one and one.seconds for one in ask(three, "approve 1 2\n")[0]] == [2.346, 2.346, None]


def test_a_long_run_goes_on_below_its_number_and_the_list_fits_the_terminal(make):
    runs = [run_of(make, "word " * 30, 1), run_of(make, "y", 2)]
    out = io.StringIO()
    TerminalApprover(io.StringIO("o\n"), out, accept_pipe=True, width=60).decide_batch(runs)
    lines = out.getvalue().splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("  1 │"))
    second = next(n for n, line in enumerate(lines) if line.startswith("  2 │"))
    assert second > first + 1
    assert all(line.startswith("    │") for line in lines[first + 1 : second])
    assert all(len(line) <= 60 for line in lines[first : second + 1])
    assert lines[first - 1] == ""
    assert lines[first].count("word") > 5


def test_runs_are_alike_only_where_nothing_stands_beside_either_of_them(make):
    one, other = run_of(make, "a", 1), run_of(make, "b", 2)
    for beside in ({"notes": ("repaired",)}, {"doubts": ("a doubt",)}, {"risks": ("a risk",)}, {"tool_request": None}):
        assert not alike(replace(one, **beside), other), beside
        assert alike(one, replace(other, **beside)) is False, beside
    assert digest_of_all([one, other]) != digest_of_all([other, one])
    assert len(digest_of_all([one])) == 64


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_what_was_typed_before_the_list_was_shown_decides_nothing(three):
    ours, theirs = os.openpty()
    os.write(ours, b"approve\n")
    with open(theirs, encoding="utf-8") as stream:
        out = io.StringIO()
        decisions = TerminalApprover(stream, out, quiet_s=0.01, timeout_s=0.1).decide_batch(three)
    os.close(ours)
    assert [(one.answer, one.by) for one in decisions] == [("deny", "timeout")] * 3
    assert "Run this tool 3 times?" in out.getvalue()
