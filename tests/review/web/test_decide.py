"""Deciding over real HTTP: a real run in another thread or process asks, the page answers, and only the page."""

import json
import re
import threading
import time

import pytest

from rails.approval.pending import PendingAnswers
from rails.core.events.base import UnknownEvent
from rails.core.outcomes import is_good
from rails.log.reader import read_strict
from rails.log.writer import SessionLog
from tests.rows import walked

from ..running import KEY, tool


@pytest.fixture
def asked(runs, served):
    """A run that waits for an answer about a new file."""
    run = runs(tool("write_file", file_path="b.txt", content="hello\n", why="Say hello"))
    question = served.question(run.id)
    run.answer = {"session": run.id, "question": question["question"], "digest": question["digest"]}
    run.question = question
    return run


def test_an_approval_in_the_page_writes_the_file(asked, served):
    assert "Say hello" in asked.question["html"]
    assert not (asked.project / "b.txt").exists()
    status, outcome = served.decide({**asked.answer, "do": "approve"})
    assert (status, outcome["state"]) == (200, "approved")
    assert is_good(asked.end().outcome)
    assert (asked.project / "b.txt").read_text() == "hello\n"
    decision = asked.events("HUMAN_DECISION")[0]
    assert (decision["by"], decision["digest"]) == ("human in the page", asked.answer["digest"])


def test_a_denial_reaches_the_agent_word_for_word(asked, served):
    assert served.decide({**asked.answer, "do": "deny", "reason": "No <b>greetings</b>."})[0] == 200
    asked.end()
    assert "Human Feedback: No <b>greetings</b>." in asked.events("FEEDBACK_SENT")[0]["text"]
    assert not (asked.project / "b.txt").exists()


def test_the_same_answer_twice_is_one_and_another_one_comes_too_late(asked, served):
    approve = {**asked.answer, "do": "approve"}
    assert served.decide(approve)[0] == 200
    assert served.decide(approve)[0] == 409
    status, outcome = served.decide({**asked.answer, "do": "deny", "reason": "no"})
    assert (status, outcome["state"]) == (409, "approved")
    assert "human in the page" in outcome["words"]
    asked.end()
    assert len(asked.events("HUMAN_DECISION")) == 1


def test_of_two_servers_and_many_tabs_one_answer_is_taken(asked, served):
    outcomes = []
    with served.other() as other:
        clients = [served, served.client(other)] * 3
        for number, client in enumerate(clients):
            client_answer = {**asked.answer, "do": "deny", "reason": f"tab {number}"}

            def send(client=client, answer=client_answer):
                outcomes.append(client.decide(answer))

            threading.Thread(target=send).start()
        asked.end()
        while len(outcomes) < len(clients):
            time.sleep(0.01)
    assert sorted(status for status, _ in outcomes) == [200, *[409] * 5]
    assert len(asked.events("HUMAN_DECISION")) == 1


def test_a_digest_that_is_not_the_one_asked_about_is_stale(asked, served):
    status, outcome = served.decide({**asked.answer, "digest": "0" * 64, "do": "approve"})
    assert (status, outcome["state"]) == (409, "stale")
    assert served.decide({**asked.answer, "question": 3, "do": "approve"})[0] == 404


def test_what_waits_is_there_again_after_the_server_was_restarted(asked, served):
    with served.other() as other:
        client = served.client(other)
        again = client.question(asked.id)
        assert (again["question"], again["digest"]) == (asked.answer["question"], asked.answer["digest"])
        assert client.json("/api/waiting")["count"] == 1
        assert client.decide({**asked.answer, "do": "approve"})[0] == 200
    asked.end()


def test_a_file_that_changed_meanwhile_is_stale_and_not_a_denial(asked, served):
    (asked.project / "b.txt").write_text("mine\n")
    served.decide({**asked.answer, "do": "approve"})
    asked.end()
    assert (asked.project / "b.txt").read_text() == "mine\n"
    assert "stale" in served.decide({**asked.answer, "do": "approve"})[1]["state"]
    assert asked.events("HUMAN_DECISION")[0]["answer"] == "approve"


def test_an_edited_version_is_gated_again_before_it_can_be_approved(runs, served):
    (runs.project / "pyproject.toml").write_text("[tool.black]\n")
    (runs.project / "a.py").write_text("def f():\n    return 1\n")
    edit = tool("edit_file", file_path="a.py", old_string="return 1", new_string="return 2")
    run = runs(edit)
    first = served.question(run.id)
    assert first["texts"] == {"a.py": "def f():\n    return 2\n"}
    answer = {"session": run.id, "question": first["question"], "digest": first["digest"], "do": "edit"}
    bad = {**answer, "files": {"a.py": "def f():\n    return undefined_name\n"}}
    assert served.decide(bad)[1]["state"] == "replaced"
    second = served.question(run.id)
    assert second["digest"] != first["digest"]
    assert "F821" in second["html"]
    assert second["risky"], "a version that fails the checks has to be confirmed"
    good = {**answer, "question": second["question"], "digest": second["digest"]}
    served.decide({**good, "files": {"a.py": "def f():\n    return   3\n"}})
    third = served.question(run.id)
    assert "return 3" in re.sub("<[^>]*>", "", third["html"]), "the formatter has been at it"
    approve = {"session": run.id, "question": third["question"], "digest": third["digest"], "do": "approve"}
    assert served.decide(approve)[0] == 200
    assert is_good(run.end().outcome)
    assert (run.project / "a.py").read_text() == "def f():\n    return 3\n"
    assert "+    return 3" in run.events("HUMAN_DECISION")[0]["account"]
    assert "The human changed your proposal" in run.events("FEEDBACK_SENT")[0]["text"]


def test_a_grant_holds_for_what_follows_and_says_what_it_would_have_done(runs, served):
    write = [tool("write_file", file_path=f"notes/{name}.txt", content="x\n") for name in "ab"]
    run = runs(*write)
    question = served.question(run.id)
    rule = question["grant"]["rule"]
    assert 'path = ["notes/*"]' in rule
    words = served.json(f"/api/session/{run.id}/question/{question['question']}/rule")["words"]
    assert words
    answer = {"session": run.id, "question": question["question"], "digest": question["digest"], "do": "grant"}
    assert served.decide({**answer, "rule": rule.replace("notes", "**"), "uses": 2})[0] == 409
    assert served.decide({**answer, "rule": rule, "uses": 2, "minutes": 5})[0] == 200
    assert is_good(run.end().outcome)
    assert [decision["by"] for decision in run.events("HUMAN_DECISION")] == ["human in the page", "grant 1"]
    assert len(run.events("APPROVAL_OPENED")) == 1


def test_nobody_in_time_pauses_the_run_and_resuming_asks_again(runs, served):
    write = tool("write_file", file_path="b.txt", content="hello\n")
    run = runs(write, patience_s=0.3)
    assert run.end().outcome == "unanswered"
    opened = next(record for record in read_strict(run.log.path) if record.event_type == "APPROVAL_OPENED")
    ended = {"question": opened.seq, "digest": opened.details["digest"]}
    answer = {"session": run.id, "question": ended["question"], "digest": ended["digest"], "do": "approve"}
    status, outcome = served.decide(answer)
    assert (status, outcome["state"]) == (409, "expired")
    assert not run.events("HUMAN_DECISION")
    again = runs(session=run.id)
    question = served.question(run.id)
    assert question["digest"] == ended["digest"]
    assert served.decide(answer)[0] == 409, "an answer to the first asking is none to the second"
    assert served.decide({**answer, "question": question["question"]})[0] == 200
    assert is_good(again.end().outcome)
    assert (run.project / "b.txt").read_text() == "hello\n"


def test_a_run_that_died_takes_no_answer(served, state):
    log = SessionLog.create(state)
    PendingAnswers(state, log.session_id, KEY).listen()
    facts = {"id": "t1.1", "digest": "d" * 64, "kind": "tool", "requests": [], "files": []}
    number = log.append(UnknownEvent("APPROVAL_OPENED", "asked", facts)).seq
    assert served.json(f"/api/session/{log.session_id}/question")["decides"] == "yes"
    log.close()
    assert served.json(f"/api/session/{log.session_id}/question")["decides"] == "not running"
    answer = {"session": log.session_id, "question": number, "digest": "d" * 64, "do": "approve"}
    status, outcome = served.decide(answer)
    assert (status, outcome["state"]) == (409, "withdrawn")
    assert "--resume" in outcome["words"]
    assert served.json("/api/waiting")["count"] == 0


def test_a_long_change_says_what_it_leaves_out_and_shows_it_on_demand(runs, served):
    run = runs(tool("write_file", file_path="b.txt", content="\n".join(f"line {n}" for n in range(2000))))
    html = served.question(run.id)["html"]
    assert "Not shown: " in html
    assert "line 1200<" not in html
    whole = served.json(f"/api/session/{run.id}/question?full=1")["html"]
    assert "line 1200<" in whole
    assert "Not shown: " not in whole


def test_the_link_that_only_looks_cannot_decide(asked, served):
    approve = {**asked.answer, "do": "approve"}
    assert served.decide(approve, token=served.reading)[0] == 403
    assert served.decide(approve, token=None)[0] == 401
    status, _, content = served.ask(f"/api/session/{asked.id}/question", token=served.reading)
    assert status == 200
    assert json.loads(content)["decides"] == "read"
    assert b'data-do=\\"approve' not in content


CROSS_SITE = [
    ({"Host": "evil.example"}, 400),
    ({"Host": None}, 400),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": None}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Content-Type": "text/plain"}, 415),
    ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ({"Content-Type": "application/json, text/plain"}, 415),
    ({"Content-Type": None}, 415),
    ({"Content-Length": "99999999"}, 413),
    ({"Content-Length": "-1"}, 400),  # no HTTP: it never reaches the guard
    ({"Content-Length": None}, 411),
    ({"Transfer-Encoding": "chunked"}, 411),
]


def test_no_other_site_can_decide(asked, served):
    for headers, expected in CROSS_SITE:
        status, words = served.decide({**asked.answer, "do": "approve"}, **headers)
        assert status == expected, (headers, words)
    assert served.json("/api/waiting")["count"] == 1
    assert not (asked.project / "b.txt").exists()


@walked(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"session": 1, "question": 1}', b"[" * 50_000, b"\xff"],
)
def test_what_is_no_decision_is_refused(served, body):
    assert served.decide(body)[0] == 400


def test_a_decision_names_a_session_and_nothing_else(served):
    for session in ("../x", "a/b", "", "x" * 100):
        assert served.decide({"session": session, "question": 1, "do": "approve", "digest": "d" * 64})[0] == 400
    answer = {"session": "unknown", "question": 1, "do": "approve", "digest": "d" * 64}
    assert served.decide(answer)[0] == 404


def test_the_stream_tells_the_whole_life_and_resumes_anywhere(asked, served):
    served.decide({**asked.answer, "do": "approve"})
    asked.end()
    events = served.stream(asked.id)
    life = [data["status"] for _, kind, data in events if kind.startswith("json-tool")]
    assert life == ["buffering", "complete", "checked", "waiting", "approved", "executing", "completed"]
    assert [seq for seq, *_ in events] == sorted(seq for seq, *_ in events)
    told = [event for event in events if event[1] != "record"]
    for seen in range(events[-1][0]):
        again = [event for event in served.stream(asked.id, seen) if event[1] != "record"]
        assert [(seq, kind) for seq, kind, _ in again] == [(seq, kind) for seq, kind, _ in told if seq > seen]
        assert all(data["path"] == "b.txt" for _, kind, data in again if kind == "json-tool-status")


def test_who_is_far_behind_is_sent_to_the_window(served, state, log):
    events = [log.START, *[log.call(number) for number in range(1, 5_200)]]
    writer = served.write(state, log.records(*events))
    while served.json(f"/api/session/{writer.session_id}")["total"] < len(events):
        served.json("/api/sessions")
    assert served.stream(writer.session_id, 1, until="reset")[0][1] == "reset"
    writer.close()


def test_too_many_tabs_are_told(asked, served, monkeypatch):
    monkeypatch.setattr("rails.review.web.stream.MOST_STREAMS", 0)
    threads = []
    monkeypatch.setattr(
        "rails.review.web.pages.Pages.knows", lambda *_: threads.append(threading.current_thread().name) or True
    )
    assert served.ask(f"/api/session/{asked.id}/stream")[0] == 503
    assert "AnyIO" in threads[0], "the disk is not read on the event loop"
    monkeypatch.undo()
    assert served.ask("/api/session/unknown/stream")[0] == 404
