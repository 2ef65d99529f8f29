"""A grant is a rule that can be read, ends by itself, and never covers what is dangerous."""

import pytest

from rails.approval.decision import Decision
from rails.approval.policy.grants import Grants, as_toml, propose, sentence
from rails.approval.policy.policy import PolicyApprover, load_policy
from rails.approval.policy.rules import Policy, PolicyRule
from rails.core.events.approval import why_words
from tests.rows import walked


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


class NeverAsked:
    def decide(self, request):
        raise AssertionError("a human was asked")


@pytest.fixture
def clock():
    return Clock()


def in_tests(make, name="test_a.py", **more):
    return make.ask(make.change(f"tests/{name}", **more))


def granted(make, clock):
    grants = Grants(clock)
    grants.add(propose(in_tests(make)))
    return grants


def test_the_proposed_rule_covers_the_folder_and_nothing_more(make):
    rule = propose(in_tests(make))
    assert as_toml(rule).splitlines() == [
        "[[rule]]",
        'decision = "allow"',
        'tool = ["edit_file"]',
        'path = ["tests/*"]',
        'kind = ["create", "modify"]',
        'verdict = ["pass"]',
        'agent = ["coder"]',
        "max_lines = 200",
        "clean = true",
    ]
    assert sentence(rule) == (
        "coder may create or modify tests/* with edit_file, at most 200 lines, "
        "if the checks pass and nothing had to be repaired"
    )


def test_files_of_the_project_folder_or_of_several_folders_are_named_one_by_one(make):
    assert propose(make.ask(make.change("setup.txt"))).path == ("setup.txt",)
    both = make.ask(make.change("a/x.py"), make.change("b/y.py"))
    assert propose(both).path == ("a/x.py", "b/y.py")
    assert propose(make.ask(make.change("b/y.py"), make.change("a/x.py"))).path == ("a/x.py", "b/y.py")


def test_a_grant_approves_what_is_alike_and_is_named(make, clock):
    approver = PolicyApprover(Policy(), NeverAsked(), granted(make, clock))
    decision = approver.decide(in_tests(make, "test_b.py"))
    assert (decision.answer, decision.by, decision.scope) == ("approve", "grant 1", "grant")
    assert decision.reason.startswith("grant 1: coder may create or modify tests/*")
    assert why_words(decision.reason, decision.by).startswith(": coder may create"), "it is named once"
    assert "19 more" in decision.reason


def unlike(make):
    yield "other folder", make.ask(make.change("src/a.py"))
    yield "deeper folder", make.ask(make.change("tests/deep/a.py"))
    yield "one file more", make.ask(make.change("tests/a.py"), make.change("src/a.py"))
    yield "a deletion", in_tests(make, after=None)
    yield "an emptied file", in_tests(make, after=b"\n")
    yield "a protected file", in_tests(make, "conftest.py")
    yield "failed checks", make.ask(make.change("tests/a.py"), status="fail")
    yield "checks that could not run", make.ask(make.change("tests/a.py"), status="error")
    yield "a repaired request", make.ask(make.change("tests/a.py"), notes=["JSON repaired"])
    yield "a large change", in_tests(make, after=b"x\n" * 300)
    yield "another agent", make.ask(make.change("tests/a.py"), agent="debugger")
    yield "another tool", make.ask(make.change("tests/a.py"), tools=("write_file",))
    yield "a tool run", make.ask_tool("edit_file")


def test_a_grant_covers_nothing_that_is_different(make, clock):
    for name, request in unlike(make):
        grants = granted(make, clock)
        assert grants.take(request) == (), name
        assert PolicyApprover(Policy(), None, grants).decide(request).answer == "deny", name
        assert grants.active()[0].uses == 20, name


def test_a_grant_ends_after_its_uses(make, clock):
    grants = Grants(clock)
    grants.add(propose(in_tests(make)), uses=2)
    taken = [bool(grants.take(in_tests(make, f"t{n}.py"))) for n in range(4)]
    assert taken == [True, True, False, False]
    assert grants.active() == ()


def test_a_grant_ends_after_its_time(make, clock):
    grants = granted(make, clock)
    clock.now += 30 * 60 - 1
    assert grants.take(in_tests(make))
    clock.now += 2
    assert not grants.take(in_tests(make))


def test_a_grant_can_be_revoked(make, clock):
    grants = granted(make, clock)
    grants.revoke(1)
    grants.revoke(7)
    assert not grants.take(in_tests(make))


def test_what_was_given_and_revoked_is_told_once(make, clock):
    grants = granted(make, clock)
    assert grants.revoke(1) is True
    assert grants.revoke(1) is False
    assert [(change.what, change.grant.number) for change in grants.changes()] == [("given", 1), ("revoked", 1)]
    assert grants.changes() == ()


def test_a_grant_is_told_in_words_with_what_is_left_of_it(make, clock):
    grant = Grants(clock).add(propose(in_tests(make)), uses=3, minutes=2)
    assert (grant.number, grant.uses, grant.ends) == (1, 3, clock.now + 120)
    assert (grant.rule.number, grant.rule.name, grant.rule.source) == (1, "grant", "this session")
    assert str(grant).startswith("grant 1: coder may create or modify tests/* with edit_file, at most 200 lines")
    assert str(grant).endswith("; 3 more, until 13:48 UTC")
    of_a_file = Grants(clock).add(PolicyRule(7, "allow", "policy.toml", name="mine"))
    assert (of_a_file.rule.number, of_a_file.rule.name, of_a_file.rule.source) == (1, "grant", "this session")
    assert sentence(PolicyRule(1, "allow", "")) == "any agent may use any file with any tool"
    two = PolicyRule(1, "allow", "", agent=("a", "b"), tool=("t", "u"), path=("x", "y"), verdict=("pass", "fail"))
    assert sentence(two) == "a or b may use x, y with t, u"
    assert as_toml(PolicyRule(1, "allow", "")) == '[[rule]]\ndecision = "allow"'


def test_a_rule_of_the_user_and_a_grant_may_cover_a_change_set_together_and_each_says_its_part(make, clock):
    policy = Policy((PolicyRule(1, "allow", "policy.toml", path=("docs/*",)),))
    both = make.ask(make.change("tests/a.py"), make.change("docs/b.py"))
    grants = granted(make, clock)
    decision = PolicyApprover(policy, NeverAsked(), grants).decide(both)
    assert (decision.by, decision.scope, grants.active()[0].uses) == ("grant 1", "grant", 19)
    two = granted(make, clock)
    two.add(propose(make.ask(make.change("docs/b.py"))))
    decision = PolicyApprover(Policy(), NeverAsked(), two).decide(both)
    assert [grant.uses for grant in two.active()] == [19, 19]
    assert decision.reason.count("grant ") == 2
    assert [change.what for change in PolicyApprover(Policy(), None, two).changes()] == ["given", "given"]
    assert PolicyApprover(Policy(), None).changes() == ()


@walked("decision", ["deny", "ask"])
def test_a_rule_of_the_user_outranks_a_grant(make, clock, decision):
    policy = Policy((PolicyRule(1, decision, "policy.toml", path=("tests/**",)),))
    answer = PolicyApprover(policy, None, granted(make, clock)).decide(in_tests(make))
    assert answer.answer == "deny"


def test_a_rule_that_asks_where_nobody_is_there_outranks_a_grant_there_only(make, clock):
    away = Policy((PolicyRule(1, "ask", "policy.toml", path=("tests/**",), interactive=False),))
    assert PolicyApprover(away, None, granted(make, clock)).decide(in_tests(make)).by == "headless"
    assert PolicyApprover(away, NeverAsked(), granted(make, clock)).decide(in_tests(make)).by == "grant 1"


def test_what_is_dangerous_cannot_be_granted(make):
    for request_of, why in [
        (lambda make: make.ask_tool(), "Running a tool cannot be granted"),
        (lambda make: in_tests(make, "conftest.py"), "Protected file"),
        (lambda make: in_tests(make, after=None), "Deletes"),
        (lambda make: make.ask(status="fail"), "did not pass"),
        (lambda make: make.ask(notes=["JSON repaired"]), "JSON repaired"),
        (lambda make: in_tests(make, before=None, after=b"x\n" * 300), "more than 200 lines"),
        (lambda make: make.ask(tools=("edit_file", "odd[1]")), "names that are patterns"),
        (lambda make: make.ask(make.change("a.py"), make.change("b.py", None, b"x\n" * 201)), "more than 200 lines"),
    ]:
        answer = propose(request_of(make))
        assert isinstance(answer, str)
        assert why in answer


def test_a_granted_rule_can_be_copied_into_the_policy_file(make, tmp_path):
    (tmp_path / "policy.toml").write_text(as_toml(propose(in_tests(make))), encoding="utf-8")
    policy = load_policy(folder=tmp_path)
    assert policy.judge(in_tests(make)).ruling == "allow"
    assert policy.judge(make.ask(make.change("tests/a.py"), notes=["repaired"])).ruling == "ask"


def test_without_a_grant_the_human_is_asked(make, clock):
    class Human:
        def decide(self, request):
            return Decision("deny", "mine", "human")

    assert PolicyApprover(Policy(), Human(), Grants(clock)).decide(in_tests(make)).reason == "mine"
