"""The page in a real Chromium, under its own policy: no console message, no request elsewhere, hostile text inert.

Debian's Chromium is used if it is there, and installed if it is not and we are root. Without one these tests are
skipped, loudly; where ``CI`` is set they fail.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from rails.review.web.server import ReviewServer

from ..running import tool

# Every test of the browser runs in one process, so that one Chromium serves them all.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]


def test_from_the_list_to_a_turn_by_keys_alone(page, served, state, log):
    served.write(state, log.demo()).close()
    page.goto(served.server.url)
    page.wait_for_selector(".card")
    assert served.token not in page.url
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("section.turn")
    for key, title in (
        ("n", "Turn 1"),
        ("n", "Turn 2"),
        ("n", "Turn 3"),
        ("p", "Turn 2"),
        ("j", "Turn 3"),
        ("j", "Turn 4"),
    ):
        page.keyboard.press(key)
        assert page.locator(".current h2").inner_text().startswith(title), key
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("argparse")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits")
    page.locator(".hits a").first.click()
    page.wait_for_selector("section.turn.current")
    assert page.problems == []


def test_a_workflow_is_drawn_in_the_colours_of_the_readers_system(page, served, state, log):
    served.write(state, log.demo()).close()
    page.goto(served.server.url)
    page.locator(".card").click()
    box = page.locator("svg.flow .flow-is-add .flow-box")
    box.scroll_into_view_if_needed()
    assert box.bounding_box()["width"] > 40
    fills = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        fills[scheme] = box.evaluate("e => getComputedStyle(e).fill")
    assert fills == {"light": "rgb(227, 245, 233)", "dark": "rgb(23, 51, 34)"}
    assert page.problems == []


def test_a_running_session_is_followed_through_a_refresh(page, served, state, log):
    demo = log.demo()
    writer = served.write(state, demo[:7])
    page.goto(served.server.url)
    page.locator(".card").click()
    page.wait_for_selector("section.turn")
    assert page.locator("section.turn").count() == 1
    served.append(writer, demo[7:14])
    page.wait_for_selector("#turn-2")
    page.reload()
    page.wait_for_selector("#turn-2")
    served.append(writer, demo[14:])
    page.wait_for_selector("#turn-5")
    page.wait_for_selector("header .badge:has-text('Changed')")
    assert page.problems == []
    writer.close()


def test_what_is_being_read_is_not_replaced_by_what_comes(page, served, state, log):
    demo = log.demo()
    writer = served.write(state, demo[:14])
    page.goto(served.server.url)
    page.locator(".card").click()
    page.wait_for_selector("#turn-2")
    page.locator("section.turn").first.locator("details").first.click()
    page.evaluate("document.querySelector('section.turn').dataset.mine = 'yes'")
    served.append(writer, demo[14:])
    page.wait_for_selector("#turn-5")
    assert page.locator("section.turn").first.get_attribute("data-mine") == "yes"
    writer.close()


def test_a_server_that_stopped_is_said(page, served, state, log):
    writer = served.write(state, log.demo()[:7])
    with ReviewServer(state) as other:
        page.goto(other.url)
        page.locator(".card").click()
        page.wait_for_selector("section.turn")
    page.evaluate("location.hash = '#/'")
    page.wait_for_selector("#status:has-text('cannot be reached')")
    assert page.locator("section.turn").count() == 1
    writer.close()


def test_without_the_token_there_is_nothing_but_a_reason(page, served, state, log):
    served.write(state, log.demo()).close()
    page.goto(f"http://127.0.0.1:{served.port}/")
    page.wait_for_selector("#status:has-text('token')")
    assert page.locator(".card").count() == 0


EVIL = (
    '<script>window.owned=1</script><img src=x onerror="window.owned=1">'
    '<svg onload="window.owned=1"></svg><a href="javascript:window.owned=1">x</a>'
    "<iframe srcdoc='<script>parent.owned=1</script>'></iframe>\u202e'\"-->"
)


def test_hostile_text_in_every_field_is_inert(page, served, state, log):
    def poisoned(value):
        if isinstance(value, str):
            return value + EVIL
        if isinstance(value, list):
            return [poisoned(item) for item in value]
        return {key: poisoned(item) for key, item in value.items()} if isinstance(value, dict) else value

    records = [
        replace(record, details=poisoned(dict(record.details)), message=EVIL, agent_role=EVIL) for record in log.demo()
    ]
    writer = served.write(state, records)
    page.goto(served.server.url)
    page.wait_for_selector(".card")
    page.locator(".card").click()
    page.wait_for_selector("section.turn")
    page.evaluate("location.hash = '#/q/script'")
    page.wait_for_selector(".hits, .empty")
    page.wait_for_timeout(300)
    assert page.evaluate("window.owned") is None
    assert page.locator("#page script, #page img, #page iframe, #page a[href^=javascript]").count() == 0
    assert page.problems == []
    writer.close()


def test_raw_markup_is_refused_by_trusted_types(page, served):
    page.goto(served.server.url)
    refused = page.evaluate(
        """() => { try { document.body.innerHTML = "<b>x</b>"; return false } catch (error) { return true } }"""
    )
    assert refused
    again = """() => { try { trustedTypes.createPolicy("other", {}); return false } catch (error) { return true } }"""
    assert page.evaluate(again)


def test_nothing_runs_out_of_a_narrow_window(page, served, state, log):
    width = 320
    served.write(state, log.demo()).close()
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(served.server.url)
    page.wait_for_selector(".card")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".card").first.click()
    page.wait_for_selector("section.turn")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_twenty_sessions_are_on_a_laptop_s_screen(page, served, state, log):
    for _ in range(24):
        served.write(state, log.demo()).close()
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(served.server.url)
    page.wait_for_selector(".card")
    bottoms = page.locator(".card").evaluate_all("all => all.map(one => one.getBoundingClientRect().bottom)")
    assert len([bottom for bottom in bottoms if bottom <= 768]) >= 20
    assert page.locator(".card .spark").count() == 24


AXE = Path(os.environ.get("AI_RAILS_JAVASCRIPT", "")) / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: nothing was tested for accessibility")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium, served, state, log, runs, scheme):
    writer = served.write(state, log.demo())
    writer.close()
    page = chromium.new_context(bypass_csp=True, color_scheme=scheme).new_page()
    page.set_default_timeout(60_000)
    run = runs(
        tool("write_file", file_path="a.py", content="a = 1\n"), tool("write_file", file_path="b.py", content="b")
    )
    page.goto(served.server.url_for("decide"))
    addresses = (f"s/{run.id}", "", f"s/{writer.session_id}", "q/argparse", "r/model", "r/rule", "f/is%3Adone", "y/")
    found = []
    for address in addresses:
        page.evaluate(f"location.hash = '#/{address}'")
        there = {"": ".card", "s": "section.turn", "q": ".hits", "w": ".bar-answer:not(.unarmed)"}
        page.wait_for_selector(there.get("w" if run.id in address else address[:1], "#page form.ask"))
        page.evaluate(AXE.read_text("utf-8"))
        result = page.evaluate("async () => (await axe.run()).violations")
        found += [(address[:1], one["id"], [node["html"][:160] for node in one["nodes"]][:3]) for one in result]
    page.context.close()
    assert found == []


def test_a_conversation_is_led_from_the_field_under_its_session(page, tmp_path, monkeypatch):
    project = tmp_path / "project"
    answers = tmp_path / "recorded.jsonl"
    project.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    told = ("Hello.", "Fine <img src=x onerror=alert(1)>.", "The last.")
    answers.write_text("".join(f"{json.dumps({'role': 'assistant', 'content': one})}\n" for one in told))
    words = [str(Path(sys.executable).with_name("ai-rails")), "chat", "hi", "--model", f"recorded:{answers}"]
    words += ["--approve", "policy", "--plain", "--web", "--project", str(project)]
    talk = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        line = next(line for line in talk.stdout if "token=" in line)
        page.goto(re.search(r"http://127[^ \n]+", line)[0])
        field = page.locator("#words")
        field.wait_for(state="visible")
        field.fill("now one\nnext <b>line</b>, n j ? /")
        page.get_by_role("button", name="Send").click()
        page.locator("#list").get_by_text("Fine <img src=x onerror=alert(1)>.").first.wait_for()
        field.wait_for(state="visible")
        assert field.input_value() == ""
        field.press_sequentially("once more")
        field.press("Control+Enter")
        page.locator("#list").get_by_text("The last.").first.wait_for()
        assert "next <b>line</b>" in page.locator("#list").text_content()
        field.wait_for(state="visible")
        field.fill("/quit")
        field.press("Control+Enter")
        talk.stdout.read()
        assert talk.wait(60) == 0
        field.wait_for(state="hidden")
    finally:
        talk.kill()
        talk.wait()
        talk.stdout.close()
    assert [one for one in page.problems if "ERR_" not in one and "Failed to load" not in one] == []
