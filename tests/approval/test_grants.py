"""A grant is a rule that can be read, ends by itself, and never covers what is dangerous."""

import os

import pytest

from rails.approval.decision import Decision
from rails.approval.policy.grants import Grants, GrantsFile, as_toml, ask_to_revoke, posted_grants, propose, sentence
from rails.approval.policy.policy import PolicyApprover, load_policy
from rails.approval.policy.rules import Conditions, Policy, PolicyRule


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
    grants.revoke(2)
    assert list(folder.glob("*.json")) == [], "nothing is left of a board on which nothing stands"
    grants.close()


def test_a_board_of_a_process_that_is_gone_is_not_shown(tmp_path):
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    (tmp_path / f"{done.stdout.strip()}.json").write_text('[{"number": 1, "words": "grant 1"}]')
    (tmp_path / "1x.json").write_text("[]")
    for text in ("not json", "5", "[5]", "[{}]", '[{"number": 1}]', '[{"number": "x", "words": "w"}]'):
        (tmp_path / f"{os.getpid()}.json").write_text(text)
        assert list(posted_grants(tmp_path)) == [], text
    for blanks, shown in ((100_000, 1), (100_001, 0)):
        (tmp_path / f"{os.getpid()}.json").write_text('[{"number": 1, "words": "w"}'.ljust(blanks - 1) + "]")
        assert len(list(posted_grants(tmp_path))) == shown, "no more is read than this"


def test_every_board_and_every_grant_on_it_is_shown_and_what_is_used_up_or_over_is_not(make, clock, tmp_path):
    grants = Grants(clock, GrantsFile(tmp_path))
    grants.add(propose(in_tests(make)), uses=1)
    grants.add(propose(make.ask(make.change("src/a.py"))), minutes=1)
    (tmp_path / f"{os.getppid()}.json").write_text('[{"number": 7, "words": "w"}, {"number": 8, "words": 5}]')
    (tmp_path / "notes.json").write_text('[{"number": 9, "words": "w"}]')
    found = {(one.process == os.getpid(), one.number, one.words[:7]) for one in posted_grants(tmp_path)}
    assert found == {(True, 1, "grant 1"), (True, 2, "grant 2"), (False, 7, "w"), (False, 8, "5")}
    assert grants.take(in_tests(make))
    assert [one.number for one in posted_grants(tmp_path) if one.process == os.getpid()] == [2]
    assert [grant.number for grant in grants.active()] == [2]
    clock.now += 60
    assert grants.active() == ()
    grants.add(propose(in_tests(make)))
    assert [one.number for one in posted_grants(tmp_path) if one.process == os.getpid()] == [3]


def test_the_bound_on_boards_is_one_hundred(tmp_path, monkeypatch):
    monkeypatch.setattr("rails.approval.policy.grants._runs", lambda process: True)
    for number in range(1, 102):
        (tmp_path / f"{number}.json").write_text('[{"number": 1, "words": "w"}]')
    shown = [one.process for one in posted_grants(tmp_path)]
    assert shown == sorted(range(1, 102), key=str)[:100], "and always the same ones, in one order"


def test_the_board_of_a_process_of_somebody_else_is_shown(tmp_path, monkeypatch):
    def not_ours(process, signal):
        raise PermissionError

    (tmp_path / "4711.json").write_text('[{"number": 1, "words": "w"}]')
    monkeypatch.setattr(os, "kill", not_ours)
    assert [(one.process, one.number) for one in posted_grants(tmp_path)] == [(4711, 1)]


def test_what_a_board_asks_is_read_from_this_process_on_only_and_revokes_by_number_or_all(make, clock, tmp_path):
    (tmp_path / f"{os.getpid()}.revoke").write_text("1\n2\n")
    grants = Grants(clock, GrantsFile(tmp_path))
    for name in ("tests/a.py", "src/a.py", "docs/a.py", "lib/a.py"):
        grants.add(propose(make.ask(make.change(name))))
    assert [grant.number for grant in grants.active()] == [1, 2, 3, 4], "what an earlier process was asked is forgotten"
    ask_to_revoke(tmp_path, [one for one in posted_grants(tmp_path) if one.number in (2, 3)])
    assert [grant.number for grant in grants.active()] == [1, 4]
    (tmp_path / f"{os.getpid()}.revoke").write_text("x -1 99 all")
    assert grants.active() == ()
    told = [(change.what, change.grant.number) for change in grants.changes()]
    assert told == [("given", n) for n in (1, 2, 3, 4)] + [("revoked", n) for n in (2, 3, 1, 4)]


def test_a_wish_to_revoke_holds_although_another_grant_is_given_meanwhile(make, clock, tmp_path):
    grants = Grants(clock, GrantsFile(tmp_path))
    grants.add(propose(in_tests(make)))
    ask_to_revoke(tmp_path, posted_grants(tmp_path))
    grants.add(propose(make.ask(make.change("src/a.py"))))
    assert [grant.number for grant in grants.active()] == [2]
    assert not grants.take(in_tests(make))


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


@pytest.mark.parametrize("link", [".rails/grants", ".rails"])
def test_a_board_that_leads_elsewhere_is_not_written(make, clock, tmp_path, link):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    grants = Grants(clock, GrantsFile(tmp_path / ".rails" / "grants"))
    grants.add(propose(in_tests(make)))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    place = tmp_path / ".rails" / "grants"
    place.mkdir(exist_ok=True)
    (place / f"{os.getpid()}.revoke").write_text("all")
    assert grants.take(in_tests(make)), "nor is it read"


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_rule_of_the_user_outranks_a_grant(make, clock, decision):
    policy = Policy((PolicyRule(1, decision, "policy.toml", path=("tests/**",)),))
    answer = PolicyApprover(policy, None, granted(make, clock)).decide(in_tests(make))
    assert answer.answer == "deny"


def test_a_rule_that_asks_where_nobody_is_there_outranks_a_grant_there_only(make, clock):
    away = Policy((PolicyRule(1, "ask", "policy.toml", path=("tests/**",), when=Conditions(interactive=False)),))
    assert PolicyApprover(away, None, granted(make, clock)).decide(in_tests(make)).by == "headless"
    assert PolicyApprover(away, NeverAsked(), granted(make, clock)).decide(in_tests(make)).by == "grant 1"


@pytest.mark.parametrize(
    ("request_of", "why"),
    [
        (lambda make: make.ask_tool(), "Running a tool cannot be granted"),
        (lambda make: in_tests(make, "conftest.py"), "Protected file"),
        (lambda make: in_tests(make, after=None), "Deletes"),
        (lambda make: make.ask(status="fail"), "did not pass"),
        (lambda make: make.ask(notes=["JSON repaired"]), "JSON repaired"),
        (lambda make: in_tests(make, before=None, after=b"x\n" * 300), "more than 200 lines"),
        (lambda make: make.ask(tools=("edit_file", "odd[1]")), "names that are patterns"),
        (lambda make: make.ask(make.change("a.py"), make.change("b.py", None, b"x\n" * 201)), "more than 200 lines"),
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
