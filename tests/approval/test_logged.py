"""A request that was logged is drawn from its record exactly as the terminal drew it, and says what it cannot show."""

import json

from rails.approval.audit import audit_of
from rails.approval.terminal.screen import Look, draw_request
from rails.core.change_summary import ChangeSummary, SummaryLine
from rails.core.events.record import event_of
from rails.core.verdict import Fixed, NotChecked


def again(request, **more):
    """Through JSON, as the log does."""
    return asked(json.loads(json.dumps(audit_of(request, **more).to_json())))


def asked(details):
    return event_of("APPROVAL_OPENED", "", details)


def cases(make):
    changed = make.change(before=b"a = 1\n", after=b"a = 2\nb = 3\n", proposed=b"a=2\nb = 3\n")
    yield make.ask(changed, findings=[make.finding(line=2)], status="fail")
    yield make.ask(
        make.change("gone.py", b"x = 1\n" * 40, None),
        make.change("new.py", None, b"y = 1\n"),
        not_checked=(NotChecked("new.py", "mypy", "not installed", required=False),),
        fixed=(Fixed("new.py", "I001", "ruff", 2),),
        outlines=(ChangeSummary("f.json", "2 nodes", (SummaryLine("add", "node A"),), 3),),
        status="error",
    )
    yield make.ask_tool(command="rm -r build\nls", note="x")


def test_the_record_is_drawn_as_the_request_is(make):
    for full in [False, True]:
        for which in range(3):
            request = list(cases(make))[which]
            look = Look(colour=True, width=80)
            assert draw_request(again(request), look, full=full) == draw_request(request, look, full=full)
            assert again(request).unseen == ()


def test_what_the_log_has_no_text_of_is_said_with_its_hash(make):
    change = make.change("logo.png", b"\0\1", b"\0\2")
    (line,) = again(make.ask(change)).unseen
    assert "logo.png (modify): not text" in line
    assert change.after_sha256 in line


def test_a_masked_secret_is_said(make):
    card = audit_of(make.ask(make.change("a.env", b"", b"KEY=secret\n"))).to_json()
    card["files"][0]["after"] = "KEY=***\n"
    (line,) = asked(card).unseen
    assert line == "A secret is masked in a.env as shown here; the file would hold its real value."


def test_an_odd_record_is_drawn_as_something_empty():
    for odd in [{}, {"files": [1, {"path": "../x"}], "verdict": {"status": 3}, "requests": [{"parameters": 1}]}]:
        assert draw_request(asked(odd)).lines
