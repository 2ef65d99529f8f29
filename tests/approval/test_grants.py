"""A grant is a rule that can be read, ends by itself, and never covers what is dangerous."""

import os

import pytest

from rails.approval.decision import Decision
from rails.approval.policy.grants import Grants, GrantsFile, as_toml, ask_to_revoke, posted_grants, propose, sentence
from rails.approval.policy.policy import PolicyApprover, load_policy
from rails.approval.policy.rules import Policy, PolicyRule


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


def test_a_grant_approves_what_is_alike_and_is_named(make, clock):
    approver = PolicyApprover(Policy(), NeverAsked(), granted(make, clock))
    decision = approver.decide(in_tests(make, "test_b.py"))
    assert (decision.answer, decision.by, decision.scope) == ("approve", "grant 1", "grant")
    assert decision.reason.startswith("grant 1: coder may create or modify tests/*")
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


def test_another_process_sees_a_grant_and_can_revoke_it_and_can_do_nothing_else(make, clock, tmp_path):
    folder = tmp_path / ".rails" / "grants"
    grants = Grants(clock, GrantsFile(folder))
    assert list(posted_grants(folder)) == []
    grants.add(propose(in_tests(make)))
    grants.add(propose(make.ask(make.change("src/a.py"))))
    seen = list(posted_grants(folder))
    assert [(one.process, one.number) for one in seen] == [(os.getpid(), 1), (os.getpid(), 2)]
    assert "coder may create or modify tests/*" in seen[0].words
    assert "20 more" in seen[0].words
    assert grants.take(in_tests(make))
    assert "19 more" in next(posted_grants(folder)).words
    ask_to_revoke(folder, seen[:1])
    assert not grants.take(in_tests(make))
    assert [one.number for one in posted_grants(folder)] == [2]
    # what somebody writes onto the board gives nothing
    board = next(folder.glob("*.json"))
    board.write_text(board.read_text().replace('"number": 2', '"number": 9').replace("src/*", "**"))
    assert not grants.take(in_tests(make))
    assert grants.take(make.ask(make.change("src/b.py")))
    grants.close()
    assert list(posted_grants(folder)) == []


def test_a_board_of_a_process_that_is_gone_is_not_shown(tmp_path):
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    (tmp_path / f"{done.stdout.strip()}.json").write_text('[{"number": 1, "words": "grant 1"}]')
    (tmp_path / "1x.json").write_text("[]")
    (tmp_path / f"{os.getpid()}.json").write_text("not json")
    assert list(posted_grants(tmp_path)) == []


def test_a_board_that_leads_elsewhere_is_not_written(make, clock, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".rails").mkdir()
    (tmp_path / ".rails" / "grants").symlink_to(tmp_path / "elsewhere")
    grants = Grants(clock, GrantsFile(tmp_path / ".rails" / "grants"))
    grants.add(propose(in_tests(make)))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert grants.take(in_tests(make))


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_rule_of_the_user_outranks_a_grant(make, clock, decision):
    policy = Policy((PolicyRule(1, decision, "policy.toml", path=("tests/**",)),))
    answer = PolicyApprover(policy, None, granted(make, clock)).decide(in_tests(make))
    assert answer.answer == "deny"


@pytest.mark.parametrize(
    ("request_of", "why"),
    [
        (lambda make: make.ask_tool(), "Running a tool cannot be granted"),
        (lambda make: in_tests(make, "conftest.py"), "Protected file"),
        (lambda make: in_tests(make, after=None), "Deletes"),
        (lambda make: make.ask(status="fail"), "did not pass"),
        (lambda make: make.ask(notes=["JSON repaired"]), "JSON repaired"),
        (lambda make: in_tests(make, before=None, after=b"x\n" * 300), "more than 200 lines"),
    ],
)
def test_what_is_dangerous_cannot_be_granted(make, request_of, why):
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
