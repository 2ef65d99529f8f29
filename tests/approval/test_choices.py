"""At the terminal: edit, leave parts out, grant. Each shows what it would mean before it counts."""

import io

import pytest

from rails.approval.decision import request_for_tool
from rails.approval.policy.grants import Grants
from rails.approval.terminal.approver import Choices, TerminalApprover
from rails.core.errors import CheckError
from rails.core.tool_request import ToolRequest

AFTER = b"one\n2\n3\nnew\n4\n"


@pytest.fixture
def ask(make):
    def ask(typed, request=None, **choices):
        out = io.StringIO()
        choices.setdefault("judge", lambda changes: make.verdict(*changes.changes))
        approver = TerminalApprover(io.StringIO(typed), out, accept_pipe=True, width=100, choices=Choices(**choices))
        return approver.decide(request or make.ask()), out.getvalue()

    return ask


def write(text):
    return lambda paths: [path.write_bytes(text) for path in paths]


def test_an_edit_is_shown_again_and_approved_instead(ask):
    decision, screen = ask("e\na\n", editor=write(b"a = 3\n"))
    assert decision.answer == "approve"
    assert decision.edited.changes.changes[0].after == b"a = 3\n"
    assert "Checking your version." in screen
    assert "note    │ edited by the human" in screen
    assert screen.index("+  a = 2") < screen.index("+  a = 3")


def test_an_edit_alone_approves_nothing(ask):
    decision, _ = ask("e\n", editor=write(b"a = 3\n"))
    assert (decision.answer, decision.edited) == ("deny", None)
    assert ask("e\nd no\n", editor=write(b"a = 3\n"))[0].edited is None


def test_an_edit_that_fails_the_checks_needs_the_whole_word(ask, make):
    decision, screen = ask(
        "e\na\napprove\n",
        judge=lambda changes: make.verdict(*changes.changes, status="fail", findings=[make.finding()]),
        editor=write(b"import os\n"),
    )
    assert decision.answer == "approve"
    assert "The checks did not pass" in screen
    assert 'type the whole word "approve"' in screen


def test_an_edit_that_cannot_be_checked_is_not_taken(ask):
    def broken(changes):
        raise CheckError("ruff is missing")

    decision, screen = ask("e\na\n", judge=broken, editor=write(b"a = 3\n"))
    assert "ruff is missing" in screen
    assert decision.answer == "approve"
    assert decision.edited is None


def test_parts_can_be_left_out_by_number(ask, make):
    request = make.ask(make.change(before=b"1\n2\n3\n4\n", after=AFTER))
    decision, screen = ask("p\n2\na\n", request)
    assert "1: src/app.py\n   | - 1\n   | + one\n2: src/app.py\n   | + new\n" in screen
    assert decision.edited.changes.changes[0].after == b"one\n2\n3\n4\n"


def test_a_number_that_is_none_leaves_everything_as_it_is(ask, make):
    for typed in ["0", "3", "x", "-1", "1.5", "²", "99999999999999999999"]:
        request = make.ask(make.change(before=b"1\n2\n3\n4\n", after=AFTER))
        decision, screen = ask(f"p\n{typed}\na\n", request)
        assert "Type numbers from 1 to 2." in screen
        assert (decision.answer, decision.edited) == ("approve", None)


def test_leaving_out_everything_is_not_an_approval(ask, make):
    request = make.ask(make.change(before=b"1\n2\n3\n4\n", after=AFTER))
    decision, screen = ask("p\n1 2\n", request)
    assert "Nothing of the proposal is left" in screen
    assert decision.answer == "deny"


def test_without_a_gate_nothing_can_be_edited(ask):
    decision, screen = ask("e\np\n", judge=None)
    assert screen.count("Not a valid choice") == 2
    assert "[e]dit" not in screen
    assert decision.answer == "deny"


def test_a_grant_shows_its_rule_and_what_it_would_have_done(ask, make):
    grants = Grants()
    request = make.ask(make.change("tests/test_a.py"))
    decision, screen = ask("g\ngrant\n", request, grants=grants, dry_run=lambda rule: "It would have matched 143.")
    assert decision.answer == "approve"
    assert decision.scope.startswith("grant 1: coder may create or modify tests/*")
    assert 'path = ["tests/*"]' in screen
    assert "It would have matched 143." in screen
    assert len(grants.active()) == 1


def test_a_grant_needs_its_own_word(ask, make):
    for typed in ["", "g", "y", "a", "approve", "grants"]:
        grants = Grants()
        decision, screen = ask(f"g\n{typed}\n", make.ask(make.change("tests/test_a.py")), grants=grants)
        assert "Nothing was granted." in screen
        assert decision.answer == "deny"
        assert grants.active() == ()


def test_a_grant_is_listed_and_revoked_at_the_next_question(ask, make):
    grants = Grants()
    request = make.ask(make.change("tests/test_a.py"))
    ask("g\ngrant\n", request, grants=grants)
    decision, screen = ask("r\nd no\n", make.ask(), grants=grants)
    assert "[r]evoke grants" in screen.replace("\xa0", " ")
    assert "In force: grant 1: coder may" in screen
    assert "grant 1: coder may create or modify tests/*" in screen
    assert "20 more, until" in screen
    assert "Revoked: grant 1: coder may" in screen
    assert decision.answer == "deny"
    assert grants.active() == ()


def test_a_yes_is_for_one_and_a_wider_one_has_a_key_its_words_and_an_end(ask, make):
    grants = Grants()
    edit = make.ask(make.change("a.py"))
    decision, screen = ask("a\n", edit, grants=grants)
    assert (decision.scope, grants.active()) == ("once", ())
    assert "[w]iden to all edits that pass the gate, this session" in screen.replace("\xa0", " ")
    decision, screen = ask("w\n", edit, grants=grants)
    assert (decision.answer, decision.scope) == ("approve", "grant 1: all edits that pass the gate, this session")
    assert grants.take(make.ask(make.change("b.py")))
    assert not grants.take(make.ask(make.change("b.py"), status="fail"))
    assert not grants.take(make.ask(make.change("b.py", b"x\n", None))), "nothing is deleted by it"
    assert not grants.take(contained_run())
    decision, screen = ask("r\nd no\n", edit, grants=grants)
    assert "In force: grant 1: all edits that pass the gate, this session" in screen
    assert (decision.answer, grants.active()) == ("deny", ())


def contained_run(contained=True, tool="run_command"):
    request = ToolRequest("r1", tool, {"command": "make"}, "", "run", True, "d" * 64, "coder")
    return request_for_tool("t1.r1", "coder", request, contained=contained)


def test_commands_are_widened_to_only_where_a_sandbox_holds_them(ask):
    grants = Grants()
    decision, _ = ask("w\n", contained_run(), grants=grants)
    assert decision.scope == "grant 1: all sandboxed commands, this session"
    assert grants.take(contained_run(tool="run_tests"))
    assert not grants.take(contained_run(tool="send"))
    for asked in (contained_run(contained=False), contained_run(tool="send")):
        decision, screen = ask("w\nd\n\n", asked, grants=Grants())
        assert "[w]iden" not in screen
        assert decision.answer == "deny"


def test_a_question_without_grants_offers_none_to_revoke(ask):
    _, screen = ask("r\n", grants=Grants())
    assert "evoke" not in screen
    assert "Not a valid choice." in screen


def test_what_cannot_be_granted_says_why(ask, make):
    grants = Grants()
    _, screen = ask("g\n", make.ask(make.change("conftest.py")), grants=grants)
    assert "This cannot be granted: Protected file conftest.py" in screen
    assert grants.active() == ()


def test_a_tool_run_can_be_neither_edited_nor_granted(ask, make):
    _, screen = ask("e\ng\np\n", make.ask_tool(), grants=Grants())
    assert screen.count("Not a valid choice") == 3


def test_a_question_mark_explains_every_key_that_is_there(ask, make):
    _, screen = ask("?\n", grants=Grants())
    for words in ("a or approve", "d or deny", "s or stop", "v or view", "? or help", "Ctrl-C pauses"):
        assert words in screen, words
    assert "o or original" not in screen


def test_a_less_than_goes_back_from_a_reason(ask):
    decision, screen = ask("d\n<\na\n")
    assert decision.answer == "approve"
    assert screen.count("then Enter: ") == 2
