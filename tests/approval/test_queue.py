"""One queue for terminal and page: the first valid answer decides, exactly once; what is no answer decides nothing."""

import os
import pty
import re
import threading
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rails.approval.answer import PageAnswer, read_answer
from rails.approval.decision import NO_HUMAN, Decision, sign_changes, still_valid
from rails.approval.options import user_question
from rails.approval.policy.grants import Grants, as_toml, propose
from rails.approval.queue import IN_PAGE, IN_REVIEW, ApprovalQueue
from rails.approval.terminal.approver import TerminalApprover
from rails.core.errors import UnansweredError, UsageError
from rails.core.events.approval import AskedOption
from rails.core.events.record import Record
from tests.rows import walked


class Box:
    """Pending answers in memory."""

    def __init__(self):
        self.letters = {}
        self.lock = threading.Lock()

    def place(self, question, answer):
        with self.lock:
            return self.letters.setdefault(question, answer) is answer

    def waiting(self, question):
        return question in self.letters

    def read(self, question):
        return self.letters.get(question)

    def discard(self, question):
        self.letters.pop(question, None)


class Desk:
    """A queue, its box, and what it published; ``leave`` answers the open question as a page would."""

    def __init__(self, judge=None, here=None, **more):
        self.box = Box()
        self.records = []
        self.grants = Grants()
        self.on_open = lambda record: None
        self.queue = ApprovalQueue(judge=judge, grants=self.grants, page_waits=more.pop("page_waits", True), **more)
        self.queue.here = here
        self.queue.open(self.box, self.publish)

    def publish(self, event, agent_role=""):
        details = event.to_json()
        record = Record(len(self.records) + 1, "t", "s", agent_role, "m", event.type, event.message, details, "", "")
        self.records.append(record)
        if event.type == "APPROVAL_OPENED":
            self.on_open(record)
        return record

    def answers(self, *answers):
        """Answer each question with the next of ``answers``: (do, more) pairs; ``None`` leaves the digest out."""
        left = iter(answers)

        def leave(record):
            do, more = next(left)
            answer = PageAnswer(do, more.pop("digest", record.details["digest"]), **more)
            self.box.place(record.seq, answer.to_json())

        self.on_open = leave
        return self


def judge_of(make):
    return lambda changes: make.verdict(*changes.changes)


def test_an_approval_in_the_page_is_signed_like_any_other(make):
    desk = Desk().answers(("approve", {}))
    request = make.ask()
    decision = desk.queue.decide(request)
    assert (decision.answer, decision.by, decision.scope) == ("approve", IN_PAGE, "once")
    assert still_valid(sign_changes(request, decision), request)


def test_a_denial_brings_its_reason_and_a_stop_stops(make):
    decision = Desk().answers(("deny", {"reason": "use argparse"})).queue.decide(make.ask())
    assert (decision.answer, decision.reason, decision.of) == ("deny", "use argparse", make.ask().digest)
    assert Desk().answers(("abort", {})).queue.decide(make.ask()).answer == "abort"


def test_what_is_shown_is_in_the_record(make):
    change = make.change(after=b"a = 2\n", proposed=b"a=2\n")
    desk = Desk(judge=judge_of(make), from_project=("edit_file",)).answers(("approve", {}))
    desk.queue.decide(make.ask(change, findings=[make.finding()], notes=["matched at rung 3"]))
    facts = desk.records[0].details
    assert facts["files"][0]["before"] == "a = 1\n"
    assert facts["files"][0]["proposed"] == "a=2\n"
    assert facts["files"][0]["after"] == "a = 2\n"
    assert facts["verdict"]["findings"][0]["rule"] == "F401"
    assert facts["requests"][0]["definition"] == "d" * 64
    assert facts["requests"][0]["from_project"] is True
    assert facts["notes"] == ["matched at rung 3"]
    assert facts["grant"]["why_not"]


@walked(
    "letter",
    [
        {},
        {"do": "approve"},
        {"do": "approve", "digest": "0" * 64},
        {"do": "yes", "digest": "0" * 64},
        {"do": "grant", "digest": None, "rule": "[[rule]]"},
    ],
)
def test_what_is_no_valid_answer_is_thrown_away_and_the_question_stays(make, letter):
    desk = Desk()
    request = make.ask()
    letter = {**letter, **({"digest": request.digest} if letter.get("digest", "") is None else {})}

    def leave(record):
        desk.box.place(record.seq, letter)

        def later():
            while desk.box.waiting(record.seq):
                time.sleep(0.005)
            desk.box.place(record.seq, PageAnswer("deny", request.digest, "now").to_json())

        threading.Thread(target=later, daemon=True).start()

    desk.on_open = leave
    assert desk.queue.decide(request).reason == "now"


def test_an_edit_is_judged_and_asked_about_anew_and_approved_as_such(make):
    request = make.ask(make.change(before=b"a = 1\n", after=b"a = 2\n"))
    edit = ("edit", {"files": {"src/app.py": "a = 3\n"}})
    desk = Desk(judge=judge_of(make)).answers(edit, ("approve", {}))
    decision = desk.queue.decide(request)
    assert decision.edited.changes.changes[0].after == b"a = 3\n"
    assert decision.edited.digest != request.digest
    assert still_valid(sign_changes(decision.edited, decision), decision.edited)
    assert [record.details["replaces"] for record in desk.records] == [0, 1]


def test_parts_can_be_left_out_and_the_agents_version_had_back(make):
    change = make.change(before=b"a\nb\nc\nd\n", after=b"A\nb\nc\nD\n")
    left_out = ("edit", {"left_out": {"src/app.py": (0,)}})
    desk = Desk(judge=judge_of(make)).answers(left_out, ("approve", {}))
    assert desk.queue.decide(make.ask(change)).edited.changes.changes[0].after == b"a\nb\nc\nD\n"
    request = make.ask(change)
    again = Desk(judge=judge_of(make)).answers(left_out, ("edit", {"original": True}), ("approve", {}))
    decision = again.queue.decide(request)
    assert decision.edited is None
    assert decision.of == request.digest


def test_an_edit_that_cannot_be_used_is_said_and_the_question_is_asked_again(make):
    for edit, words in [
        ({"files": {"other.py": "x"}}, "not in the proposal"),
        ({"files": {"src/app.py": "a = 2\n"}}, "Nothing was changed"),
        ({"left_out": {"src/app.py": (0,)}}, "Nothing of the proposal is left"),
        ({"files": {"src/app.py": "x"}, "left_out": {"src/app.py": (0,)}}, "twice"),
    ]:
        desk = Desk(judge=judge_of(make)).answers(("edit", edit), ("deny", {}))
        assert desk.queue.decide(make.ask()).answer == "deny"
        assert words in desk.records[1].details["note"]


def test_a_file_with_a_masked_secret_is_not_edited_in_the_page(make):
    desk = Desk(judge=judge_of(make)).answers(("edit", {"files": {"src/app.py": "key = '«secret»'\n"}}), ("deny", {}))
    publish = desk.publish

    def masking(event, agent_role):
        files = tuple(replace(file, after=file.after.replace("2", "«secret»")) for file in event.files)
        return publish(replace(event, files=files), agent_role)

    desk.queue.open(desk.box, masking)
    desk.queue.decide(make.ask())
    assert "masked" in desk.records[1].details["note"]


def test_a_grant_holds_the_rule_that_was_shown_for_as_often_as_was_said(make):
    request = make.ask()
    rule = as_toml(propose(request))
    desk = Desk().answers(("grant", {"rule": rule, "uses": 2, "minutes": 5}))
    assert "grant 1" in desk.queue.decide(request).scope
    assert desk.grants.active()[0].uses == 2
    assert 290 < desk.grants.active()[0].ends - time.time() <= 300


def test_nobody_in_time_is_no_denial(make):
    desk = Desk(patience_s=0.05)
    with pytest.raises(UnansweredError, match="nothing was changed"):
        desk.queue.decide(make.ask())
    assert desk.records[-1].event_type == "APPROVAL_CLOSED"
    assert desk.records[-1].details["state"] == "expired"
    assert desk.records[0].details["expires"]


class Here:
    """A terminal that answers as told, after ``wait``."""

    def __init__(self, answer="approve", by="human", wait=lambda: None):
        self.answer = answer
        self.by = by
        self.wait = wait
        self.asked = []

    def decide(self, request):
        self.asked.append(request.digest)
        self.wait()
        return Decision(self.answer, "", self.by, of=request.digest)


def test_the_page_wins_when_it_was_first_even_if_the_terminal_answers_too(make):
    desk = Desk(here=Here("approve")).answers(("deny", {"reason": "page"}))
    assert desk.queue.decide(make.ask()).reason == "page"


def test_the_terminal_is_asked_about_what_was_edited_in_the_page(make):
    here = Here(by="elsewhere")
    desk = Desk(judge=judge_of(make), here=here)
    desk.answers(("edit", {"files": {"src/app.py": "a = 3\n"}}), ("deny", {}))
    desk.queue.decide(make.ask())
    assert here.asked == [record.details["digest"] for record in desk.records]


class Hands(Here):
    """A terminal that gives each of its answers in turn: who decided, and what it edited."""

    def __init__(self, *answers):
        super().__init__()
        self.answers = list(answers)

    def decide(self, request):
        self.asked.append(request.digest)
        by, edited = self.answers.pop(0)
        return Decision("approve", "", by, edited=edited, of=request.digest)


EDIT = ("edit", {"files": {"src/app.py": "a = 3\n"}})


def test_what_the_page_edited_is_what_the_terminal_approves_and_signs(make):
    here = Hands(("elsewhere", None), ("human", None))
    desk = Desk(judge=judge_of(make), here=here).answers(EDIT)
    request = make.ask()
    desk.on_open = once(desk.on_open)
    decision = desk.queue.decide(request)
    assert (decision.answer, decision.by) == ("approve", "human")
    assert decision.edited.changes.changes[0].after == b"a = 3\n"
    assert sign_changes(decision.edited, decision).value.changes[0].after == b"a = 3\n"
    assert here.asked == [request.digest, decision.edited.digest]
    with pytest.raises(Exception, match="edited proposal"):
        sign_changes(request, decision)


def test_the_agents_own_version_that_the_page_took_back_is_no_edit_for_the_terminal(make):
    here = Hands(("elsewhere", None), ("elsewhere", None), ("human", None))
    desk = Desk(judge=judge_of(make), here=here).answers(EDIT, ("edit", {"original": True}))
    request = make.ask()
    desk.on_open = once(desk.on_open, 2)
    decision = desk.queue.decide(request)
    assert (decision.by, decision.edited) == ("human", None)
    assert sign_changes(request, decision).value is request.changes


def test_what_the_terminal_edited_itself_is_kept_as_its_own(make):
    own = make.ask(make.change(after=b"a = 9\n"))
    desk = Desk(judge=judge_of(make), here=Hands(("elsewhere", None), ("human", own))).answers(EDIT)
    desk.on_open = once(desk.on_open)
    assert desk.queue.decide(make.ask()).edited is own


def test_a_terminals_no_to_what_the_page_edited_is_a_no(make):
    here = Here("deny", wait=lambda: None)
    desk = Desk(judge=judge_of(make), here=Hands(("elsewhere", None))).answers(EDIT)
    opened = desk.on_open

    def open_and_change_hands(record):
        if record.seq == 1:
            opened(record)
        else:
            desk.queue.here = here

    desk.on_open = open_and_change_hands
    decision = desk.queue.decide(make.ask())
    assert (decision.answer, decision.edited, decision.by) == ("deny", None, "human")


def once(call, times=1):
    """A call that does nothing after ``times``."""
    left = [None] * times

    def limited(*arguments):
        if left:
            left.pop()
            call(*arguments)

    return limited


def test_where_an_answer_was_given_is_told(make):
    for place, by in [("page", IN_PAGE), ("review", IN_REVIEW)]:
        desk = Desk().answers(("approve", {"place": place}))
        assert desk.queue.decide(make.ask()).by == by
        assert Desk().answers(("deny", {"place": place})).queue.decide(make.ask()).by == by


def test_an_opened_question_replaces_the_one_before_and_tells_what_is_possible(make):
    desk = Desk(judge=judge_of(make), patience_s=60).answers(EDIT, EDIT, ("approve", {}))
    desk.queue.decide(make.ask())
    facts = [record.details for record in desk.records if record.event_type == "APPROVAL_OPENED"]
    assert [one["replaces"] for one in facts] == [0, 1, 2]
    assert all(one["can_edit"] for one in facts)
    assert all(re.fullmatch(r"[-\d]{10}T[:\d]{8}\+00:00", one["expires"]) for one in facts)
    plain = Desk().answers(("approve", {}))
    plain.queue.decide(make.ask())
    assert (plain.records[0].details["can_edit"], plain.records[0].details["expires"]) == (False, "")


def test_nobody_is_asked_without_a_page_or_before_it_is_opened_but_the_terminal(make):
    request = make.ask()
    for queue in (Desk(page_waits=False).queue, ApprovalQueue(page_waits=True)):
        said = queue.decide(request)
        assert (said.answer, said.reason, said.by, said.of) == ("deny", NO_HUMAN, "headless", request.digest)
    assert (queue.attended, queue.answered_elsewhere()) == (False, False)
    queue.here = Here()
    assert queue.decide(request).by == "human"


def test_how_long_a_decision_took_is_told(make):
    times = iter([10.0, 12.3456, 99.0, 99.0])
    desk = Desk(clock=lambda: next(times)).answers(("approve", {}))
    assert desk.queue.decide(make.ask()).seconds == 2.346


def test_a_real_terminal_stops_asking_when_the_page_has_answered(make):
    master, slave = pty.openpty()
    with os.fdopen(slave, "r", encoding="utf-8") as keyboard, open(os.devnull, "w", encoding="utf-8") as out:
        desk = Desk()
        desk.queue.here = TerminalApprover(keyboard, out, quiet_s=0.01, elsewhere=desk.queue.answered_elsewhere)
        answer = PageAnswer("deny", make.ask().digest, "in the page").to_json()
        desk.on_open = lambda record: threading.Timer(0.2, desk.box.place, (record.seq, answer)).start()
        started = time.monotonic()
        assert desk.queue.decide(make.ask()).reason == "in the page"
        assert time.monotonic() - started < 40
    os.close(master)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.sampled_from(["approve", "deny", "abort"]), st.booleans())
def test_whoever_races_one_answer_is_taken_and_it_is_one_that_was_given(make, tabs, here, terminal_too):
    given_ = {here} | {f"deny {tab}" for tab in range(tabs)}
    desk = Desk(here=Here(here) if terminal_too else None)

    def race(record):
        letters = [PageAnswer("deny", record.details["digest"], f"deny {tab}").to_json() for tab in range(tabs)]
        racers = [threading.Thread(target=desk.box.place, args=(record.seq, letter)) for letter in letters]
        for racer in racers:
            racer.start()

    desk.on_open = race
    decision = desk.queue.decide(make.ask())
    assert (decision.reason or decision.answer) in given_
    assert len(desk.box.letters) == 1


BAD = [
    None,
    [],
    {"do": "approve"},
    {"do": "approve", "digest": "short"},
    {"do": "approve", "digest": "d" * 64, "force": True},
    {"do": "deny", "digest": "d" * 64, "reason": "x" * 4001},
    {"do": "deny", "digest": "d" * 64, "reason": "\ud800"},
    {"do": "grant", "digest": "d" * 64, "uses": 21},
    {"do": "grant", "digest": "d" * 64, "uses": True},
    {"do": "grant", "digest": "d" * 64, "minutes": 0},
    {"do": "edit", "digest": "d" * 64, "files": {"a": 1}},
    {"do": "edit", "digest": "d" * 64, "files": {str(n): "" for n in range(101)}},
    {"do": "edit", "digest": "d" * 64, "left_out": {"a": [-1]}},
    {"do": "edit", "digest": "d" * 64, "left_out": []},
    {"do": "approve", "digest": "d" * 64, "place": "mail"},
    {"do": "choose", "digest": "d" * 64, "choice": 1},
    {"do": "edit", "digest": "d" * 64, "original": 1},
]


def test_an_odd_answer_is_refused_with_a_reason():
    for value in BAD:
        with pytest.raises(UsageError):
            read_answer(value)


def test_an_answer_is_read_as_it_is_written():
    answer = PageAnswer("edit", "d" * 64, "r", "", 3, 4, {"a": "b"}, {"c": (0, 2)}, False)
    assert read_answer(answer.to_json()) == answer
    least = {"do": "grant", "digest": "d" * 64, "uses": 1, "minutes": 1}
    assert read_answer(least) == PageAnswer("grant", "d" * 64, uses=1, minutes=1)
    assert read_answer({"do": "edit", "digest": "d" * 64, "original": True}).original is True


class Ticking:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


def test_a_question_waits_exactly_as_long_as_was_said(make, monkeypatch):
    clock = Ticking()
    request = make.ask()
    desk = Desk(patience_s=90, clock=clock)
    waited = []

    def passes(_seconds):
        waited.append(clock.now)
        clock.now += 30

    monkeypatch.setattr("rails.approval.queue.time.sleep", passes)
    with pytest.raises(UnansweredError, match=r"^Nobody answered within 1\.5 minutes; nothing was changed\.$"):
        desk.queue.decide(request)
    assert waited == [1_000.0, 1_030.0, 1_060.0]
    opened, closed = desk.records
    left = (datetime.fromisoformat(opened.details["expires"]) - datetime.now(UTC)).total_seconds()
    assert 20 < left < 92
    assert (closed.details["id"], closed.details["digest"]) == (request.id, request.digest)
    assert (closed.details["question"], closed.agent_role) == (1, request.agent)
    assert not desk.queue.answered_elsewhere()
    late = Desk(patience_s=90, clock=clock)
    monkeypatch.setattr("rails.approval.queue.time.sleep", lambda _: late.box.place(1, YES(request)))
    assert late.queue.decide(request).answer == "approve"


def YES(request):
    return PageAnswer("approve", request.digest).to_json()


def words_question():
    return user_question("words", ("Which?",), (AskedOption("one", "first"), AskedOption("deny", "none")))


def chosen(choice, digest=None, **more):
    return lambda record: PageAnswer("choose", digest or record.details["digest"], choice=choice, **more).to_json()


def closing(desk):
    last = desk.records[-1]
    assert last.event_type == "APPROVAL_CLOSED"
    return last.message, last.details["state"], last.details["question"]


@walked(
    "letter",
    [
        lambda record: {},
        chosen("fly"),
        chosen("deny", digest="0" * 64),
        lambda record: PageAnswer("deny", record.details["digest"]).to_json(),
        lambda record: PageAnswer("deny", record.details["digest"], choice="deny").to_json(),
    ],
)
def test_what_is_no_choice_of_this_question_is_thrown_away_and_it_stays(letter, monkeypatch):
    desk = Desk(patience_s=90, clock=Ticking())
    clock = desk.queue._clock
    desk.on_open = lambda record: desk.box.place(record.seq, letter(record))

    def passes(_seconds):
        assert not desk.box.waiting(1), "it was taken away"
        assert desk.queue.answered_elsewhere() is False
        clock.now += 90

    monkeypatch.setattr("rails.approval.queue.time.sleep", passes)
    assert desk.queue.pick(words_question(), None) is None
    assert closing(desk) == ("Nobody answered.", "expired", 1)
    assert clock.now == 1_090.0


def test_an_answer_that_cannot_be_taken_now_has_the_question_put_again_with_the_reason():
    desk = Desk()
    desk.on_open = lambda record: desk.box.place(record.seq, chosen("one" if record.seq == 1 else "deny")(record))
    question = words_question()
    found = desk.queue.pick(question, None, lambda answer: "not now" if answer.choice == "one" else "")
    assert found.choice == "deny"
    assert [(one.details["replaces"], one.details["note"]) for one in desk.records[:2]] == [(0, ""), (1, "not now")]
    assert closing(desk) == ("answered: deny, in the page", "answered", 2)
    assert not desk.queue.answered_elsewhere()


def test_a_page_that_was_first_wins_over_what_is_picked_at_the_terminal():
    desk = Desk()
    desk.on_open = lambda record: desk.box.place(record.seq, chosen("deny")(record))
    asked = []
    assert desk.queue.pick(words_question(), lambda: asked.append(1) or "mine").choice == "deny"
    assert asked == [1]
    alone = Desk(page_waits=False)
    assert alone.queue.pick(words_question(), None) is None
    assert alone.records == []
    refused = alone.queue.pick(words_question(), lambda: "mine", lambda answer: f"not {answer.choice}")
    assert refused == "mine", "what is said against an answer is said of the page's only"
    assert [one.event_type for one in alone.records] == ["APPROVAL_OPENED", "APPROVAL_CLOSED"]
    assert not alone.box.place(1, {}), "a page that comes now is too late"


def test_somebody_is_there_at_the_terminal_or_at_the_page():
    away = Here()
    away.attended = False
    here = Here()
    here.attended = True
    assert (Desk(here=here, page_waits=False).queue.attended, Desk(here=away, page_waits=False).queue.attended) == (
        True,
        False,
    )


def test_what_a_page_edits_is_the_files_own_text_in_its_own_encoding(make):
    def edits(before, after, text):
        desk = Desk(judge=judge_of(make)).answers(("edit", {"files": {"src/app.py": text}}), ("approve", {}))
        decision = desk.queue.decide(make.ask(make.change(before=before, after=after)))
        note = desk.records[1].details["note"]
        return (decision.edited.changes.changes[0].after if decision.edited else None), note

    assert edits(b"a\n", b"b\n", "\ufeffc\r\nd\n") == (b"c\nd\n", "")
    assert edits(b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n", "\ufeffc\n") == (b"\xef\xbb\xbfc\n", "")
    assert edits("é\n".encode("utf-16"), "è\n".encode("utf-16"), "ê\n")[0] == "ê\n".encode("utf-16")
    assert edits(b"a\r\n", b"b\r\n", "c\nd\n") == (b"c\r\nd\r\n", "")
    for before, mixed in ((b"a\r", b"b\rc\r"), (b"a\n", b"b\r\nc\n")):
        kept, note = edits(before, mixed, "c\n")
        assert (kept, note.endswith("would not survive the page. Edit it at the terminal.")) == (None, True)
    kept, note = edits("é\n".encode("latin-1"), "è\n".encode("latin-1"), "c \u4e16 d\n")
    assert kept is None
    assert note.startswith("src/app.py is in ")
    assert note.endswith(", which does not have '\u4e16'.")
    for run, told in ((20, "\u4e16" * 20), (21, "\u4e16" * 20 + "… (+1 characters)")):
        note = edits("é\n".encode("latin-1"), "è\n".encode("latin-1"), "\u4e16" * run)[1]
        assert note.endswith(f", which does not have {told!r}."), note
    assert edits(b"a\n", None, "c\n")[1].startswith("The line endings of src/app.py would not survive")


def test_an_edit_that_nobody_could_check_is_not_used(make):
    desk = Desk().answers(EDIT, ("approve", {}))
    assert desk.queue.decide(make.ask()).edited is None
    assert desk.records[1].details["note"] == "Edits cannot be checked here, so none is accepted."


def test_a_grant_of_another_rule_or_where_none_can_be_given_is_no_answer(make, monkeypatch):
    rule = as_toml(propose(make.ask()))
    for grants, text, answer in ((True, rule, "approve"), (True, rule + " ", "deny"), (False, rule, "deny")):
        desk = Desk()
        desk.queue.grants = desk.grants if grants else None
        desk.answers(("grant", {"rule": text, "uses": 3, "minutes": 7}))
        request = make.ask()
        no = PageAnswer("deny", request.digest).to_json()
        monkeypatch.setattr("rails.approval.queue.time.sleep", lambda _, desk=desk, no=no: desk.box.place(1, no))
        assert desk.queue.decide(request).answer == answer
        assert desk.records[0].details["grant"] is None or grants
        assert len(desk.grants.active()) == (answer == "approve")
    adjusted = make.ask(notes=["matched at rung 3"])
    desk = Desk().answers(("grant", {"rule": rule}))
    no = PageAnswer("deny", adjusted.digest).to_json()
    monkeypatch.setattr("rails.approval.queue.time.sleep", lambda _: desk.box.place(1, no))
    assert desk.queue.decide(adjusted).answer == "deny", "it can have no rule"
    assert desk.grants.active() == ()


def test_an_answer_at_the_very_moment_at_which_time_is_up_counts(make):
    desk = Desk(patience_s=5.0, clock=iter([0.0, 0.0, *[9.0] * 9]).__next__)
    late = PageAnswer("deny", make.ask().digest, "just in time").to_json()

    class Late(Box):
        def read(self, question):
            found = super().read(question)  # nothing yet
            self.place(question, late)
            return found

    desk.box = Late()
    desk.queue.open(desk.box, desk.publish)
    assert desk.queue.decide(make.ask()).reason == "just in time"
    assert [record.event_type for record in desk.records] == ["APPROVAL_OPENED"], "and nothing has expired"


def test_what_is_no_text_is_asked_about_like_any_other_file(make):
    for data in (b"\0\xff", None):
        desk = Desk().answers(("approve", {}))
        assert desk.queue.decide(make.ask(make.change("x.bin", b"\0", data))).answer == "approve"


def test_a_terminal_that_goes_away_is_not_asked_again_and_without_a_page_its_word_counts(make):
    here = Here("deny", by="end of input")
    desk = Desk(here=here, judge=judge_of(make)).answers(EDIT, ("approve", {}))
    assert desk.queue.decide(make.ask()).by == IN_PAGE
    assert (len(here.asked), desk.queue.here) == (1, None)
    alone = Desk(here=Here("deny", by="end of input"), page_waits=False)
    assert alone.queue.decide(make.ask()).by == "end of input"
    assert alone.queue.here is not None


def test_a_terminal_that_stopped_asking_has_not_answered_when_time_is_up(make):
    here = Here("deny", by="elsewhere")
    desk = Desk(here=here, patience_s=5.0, clock=iter([0.0, 0.0, 9.0, 9.0, 9.0, 9.0]).__next__)
    with pytest.raises(UnansweredError, match="nothing was changed"):
        desk.queue.decide(make.ask())
    assert desk.records[-1].details["state"] == "expired"
    assert len(here.asked) == 1


def test_what_the_terminal_decided_lies_in_the_box_for_whoever_comes_later(make):
    for answer in ["approve", "deny"]:
        desk = Desk(here=Here(answer))
        assert desk.queue.decide(make.ask()).by == "human"
        assert desk.box.letters == {1: {"do": answer, "digest": make.ask().digest}}
