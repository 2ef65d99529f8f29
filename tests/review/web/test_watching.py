"""Watching a run on the page: what the agent writes as it comes, bars of the budget, a notification, two columns."""

import pytest

from rails.core.events.base import UnknownEvent
from rails.log.live_text import LiveText, live_text
from rails.log.writer import SessionLog
from rails.render.html_page.prose import prose_html

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]


def test_an_unfinished_answer_is_masked_and_never_ends_within_a_word(tmp_path):
    log = SessionLog.create(tmp_path / ".rails", secrets=["hunter2hunter2"])
    heard = []
    with log, LiveText(log, heard.append) as live:
        for text in ("I take hunter2", "hunter2 and go", " on\n-----BEGIN RSA PRIVATE KEY-----\nabc def "):
            live._at = 0.0
            live.hear(text)
            assert "hunter2" not in live_text(log.state, log.session_id)
        shown = live_text(log.state, log.session_id)
        assert shown.startswith("I take ")
        assert "and go on" in shown
        assert "abc" not in shown
        assert "".join(heard).endswith("abc def ")
        live.note(log.append(UnknownEvent("LLM_RESPONSE", "answered", {"text": "x"})))
        assert live_text(log.state, log.session_id) == ""
    assert [one.name for one in log.path.parent.iterdir() if one.name.startswith("live")] == []


def test_prose_is_markdown_of_a_fixed_set_of_elements():
    text = "# Head\n\n**b** `c` [l](javascript:x) [h](http://e.example) ![p](http://e.example/p.png)"
    text += "\n\n<img src=x>\n\n- one"
    html = prose_html(text)
    for part in (
        "<h3>Head</h3>",
        "<strong>b</strong>",
        "<code>c</code>",
        "h (http://e.example)",
        "<li><p>one</p></li>",
    ):
        assert part in html, part
    for part in ("<img", "<a", "href", "src="):
        assert part not in html.replace("&lt;img src=x&gt;", ""), part


def test_what_the_agent_writes_is_seen_before_it_is_whole(page, served, state, log):
    records = log.demo()[:3]
    limits = {"max_tokens": 200}
    start = ("WORKFLOW_START", {"task": "bump a", "limits": limits})
    writer = served.write(state, log.records(start, log.call(1), log.answer()))
    with LiveText(writer) as live:
        page.goto(f"{served.server.url}&s={writer.session_id}")
        page.wait_for_selector("#live-bars progress")
        assert page.locator("#live-bars progress").evaluate("one => one.value") == pytest.approx(0.6)
        live.hear("I look at the <b>file</b> first ")
        page.wait_for_selector("#live-text:has-text('I look at the <b>file</b> first')")
        served.append(writer, records[2:3])
        live.note(writer.append(UnknownEvent("LLM_RESPONSE", "answered", {"text": "x"})))
        page.wait_for_selector("#live-text", state="hidden")
    writer.close()
    assert page.problems == []


FAKE = """
window.shown = [];
window.Notification = class { constructor(title) { window.shown.push(title); } };
Notification.permission = "default";
Notification.requestPermission = async () => (Notification.permission = "granted");
Document.prototype.hasFocus = () => false;
"""


def test_a_notification_comes_only_to_who_asked_for_it(page, served, runs):
    from ..running import tool

    page.add_init_script(FAKE)
    page.goto(served.server.url)
    page.wait_for_selector("#notify[aria-pressed=false]")
    first = runs(tool("write_file", file_path="a.txt", content="a\n"))
    page.wait_for_selector(".wait")
    assert page.evaluate("shown") == []
    page.locator("#notify").click()
    page.wait_for_selector("#notify[aria-pressed=true]")
    page.evaluate(f"location.hash = '#/s/{first.id}'")
    page.wait_for_selector("#asked .card-asked")
    assert page.evaluate("shown") == ["AI-Rails is waiting for you"]
