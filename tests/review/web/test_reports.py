"""Reports, histories of lines and filtered lists: by HTTP, and by keys in a real Chromium."""

from urllib.parse import quote

import pytest
from playwright import sync_api

HARD = "20261118-091500-aa01"
EASY = "20261119-101500-aa02"


@pytest.fixture
def told(state, stories):
    stories.hard(state, HARD)
    stories.easy(state, EASY)
    (state.parent / "todo").mkdir()
    (state.parent / "todo" / "cli.py").write_text("x = 1\n")
    return state


def test_every_report_has_its_tables_and_tabs(told, served):
    for name, words in (
        ("morning", "Needs you"),
        ("model", "95 % interval"),
        ("rule", "F821"),
        ("tool", "edit_file"),
        ("decision", "median seconds"),
    ):
        html = served.json(f"/api/report/{name}")["html"]
        assert words in html, name
        assert f'href="#/r/{name}" aria-current="page"' in html
    assert served.json("/api/report/decision?q=" + quote(f"session:{EASY}"))["html"].count("<tr>") == 2
    assert served.ask("/api/report/nothing")[0] == 400
    assert served.ask("/api/report/model?q=is:happy")[0] == 400


def test_why_a_line_is_so_and_what_is_no_place(told, served):
    html = served.json("/api/why?at=" + quote("todo/cli.py:4"))["html"]
    assert "was written in session" in html
    assert "also changed outside" in html
    assert f'href="#/s/{EASY}/' in html
    assert 'data-target="y"' in served.json("/api/why?at=")["html"]
    for place in ("todo/cli.py", "todo/cli.py:0", ":3", "x:99999999999"):
        assert served.ask(f"/api/why?at={quote(place)}")[0] == 400, place


def test_no_file_outside_the_project_is_looked_at(told, served, tmp_path, monkeypatch):
    from pathlib import Path

    read = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: (read.append(self), whole(self))[1])
    for place in ("../outside.txt:1", "/etc/passwd:1"):
        assert "no session wrote this line" in served.json(f"/api/why?at={quote(place)}")["html"]
    assert [path for path in read if path.name in ("outside.txt", "passwd")] == []


def test_the_list_is_filtered(told, served):
    html = served.json("/api/list?q=is:denied")["html"]
    assert f"#/s/{HARD}" in html
    assert f"#/s/{EASY}" not in html
    assert "No session matches that." in served.json("/api/list?q=nothing")["html"]
    assert served.ask("/api/list?q=is:happy")[0] == 400


def test_a_hit_has_its_session_turn_and_words_and_chips_take_filters(told, served):
    html = served.json("/api/search?q=" + quote("json is:denied"))["html"]
    assert "<mark>json</mark>" in html
    assert "· turn " in html
    assert 'href="#/q/json" aria-current="true" aria-label="Without is:denied"' in html
    assert 'href="#/q/json%20is%3Adenied%20is%3Afailed" aria-label="Only is:failed"' in html
    listed = served.json("/api/list?q=is:denied")["html"]
    assert 'href="#/f/" aria-current="true" aria-label="Without is:denied"' in listed


def test_the_next_failure_is_found_in_both_directions(told, served):
    first = served.json(f"/api/failure/{HARD}?from=0")["seq"]
    second = served.json(f"/api/failure/{HARD}?from={first}")["seq"]
    assert served.json(f"/api/failure/{HARD}?from={second}&by=-1")["seq"] == first
    assert served.json(f"/api/failure/{HARD}?from=100000")["seq"] is None
    assert served.ask("/api/failure/nobody?from=x")[0] == 404


def test_hostile_text_in_reports_is_escaped(state, served, stories):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e"
    story = stories.Story(state, HARD, evil, evil, prompt=evil, agent=evil)
    story.ask(evil, path=evil).corrected('{"a": "b"}', '{"a": "<script>"}').found("F821")
    story.ask(evil).decided("deny", evil)
    story.end("gave_up", evil)
    stories.easy(state, EASY)
    paths = [f"/api/report/{name}" for name in ("model", "rule", "tool", "decision")]
    for path in (*paths, "/api/list", f"/api/list?q={quote('text:<script>')}"):
        html = served.json(path)["html"]
        assert "<script" not in html, path
        assert "<img" not in html, path
        assert "\u202e" not in html, path


@pytest.fixture
def page(page):
    yield page
    assert page.problems == []


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.timeout(300)
class TestInChromium:
    """What the keys lead to."""

    def test_reports_are_a_key_away(self, page, served, told):
        page.goto(served.server.url)
        page.wait_for_selector(".card")
        page.keyboard.press("r")
        page.wait_for_selector(".report table")
        page.locator(".tabs a", has_text="rule").click()
        page.wait_for_selector(".report td:has-text('ruff')")

    def test_why_and_filter_are_typed(self, page, served, told):
        page.goto(served.server.url)
        page.wait_for_selector(".card")
        page.keyboard.press("y")
        page.wait_for_selector("form.ask input:focus")
        page.keyboard.type("todo/cli.py:4")
        page.keyboard.press("Enter")
        page.wait_for_selector("a:has-text('Open this turn')")
        page.keyboard.press("Escape")
        page.keyboard.press("l")
        page.wait_for_selector(".card")
        page.keyboard.press("i")
        page.wait_for_selector("form.ask input:focus")
        page.keyboard.type("is:denied")
        page.keyboard.press("Enter")
        sync_api.expect(page.locator(".card")).to_have_count(1)

    def test_next_failure_goes_on_beyond_the_window(self, page, served, state, log):
        events = [log.START]
        for number in range(1, 320):
            events += [log.call(number), log.answer(), log.formulated(f"t{number}.1"), log.told()]
            if number in (5, 300):
                events += [log.invalid(f"t{number}.1")]
        writer = served.write(state, log.records(*events))
        writer.close()
        page.goto(f"{served.server.url}")
        page.wait_for_selector(".card")
        page.evaluate(f"location.hash = '#/s/{writer.session_id}/1'")
        page.wait_for_selector("section.turn")
        page.keyboard.press("n")
        page.wait_for_selector(".current h2:has-text('Turn 5')")
        page.keyboard.press("n")
        page.wait_for_selector(".current h2:has-text('Turn 300')")

    def test_the_help_names_every_key_of_the_page(self, page, served, told):
        page.goto(served.server.url)
        page.wait_for_selector(".card")
        page.keyboard.press("?")
        shown = page.locator("#help").inner_text()
        for words in ("next, previous failure", "sessions by model", "blame: where a line comes from"):
            assert words in shown

    @pytest.mark.parametrize("width", [320, 1280])
    def test_nothing_runs_out_of_the_window(self, page, served, told, width):
        page.set_viewport_size({"width": width, "height": 700})
        page.goto(served.server.url)
        page.wait_for_selector(".card")
        places = [f"#/r/{name}" for name in ("model", "rule", "tool", "decision")]
        for place in (*places, "#/y/todo%2Fcli.py%3A4", "#/f/is%3Adone"):
            page.evaluate(f"location.hash = {place!r}")
            sync_api.expect(page.locator("#page .report, #page .why, #page .ask").first).to_be_visible()
            sync_api.expect(page.locator("#status")).to_have_text("")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
