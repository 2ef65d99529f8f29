"""Answers that come late, twice or for a page that was left: what is shown is what was asked for last, once."""

import pytest

from rails.log.writer import SessionLog

from ..running import tool
from .test_changes import LONG

# Every test of the browser runs in one process, so that one Chromium serves them all.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]

#: Answers to addresses that hold the text ``holding`` wait until ``release()``, whatever becomes of who asked.
HOLD = """{
    const real = window.fetch;
    window.holding = "";
    window.held = [];
    window.release = () => { window.holding = ""; window.held.splice(0).forEach((go) => go()); };
    window.fetch = async (...asked) => {
        const answer = await real(...asked);
        const late = window.holding && String(asked[0]).includes(window.holding);
        if (late) await new Promise((go) => window.held.push(go));
        return answer;
    };
}"""


@pytest.fixture
def late(page):
    page.add_init_script(HOLD)
    yield page
    assert page.problems == []


def wait_held(page, count=1):
    page.wait_for_function(f"() => window.held.length >= {count}")


def test_older_hits_that_are_asked_for_twice_come_once(late, served, state, log):
    writer = SessionLog.create(state)
    served.append(writer, log.records(log.START, *(log.told("same words") for _ in range(120)), log.END))
    writer.close()
    late.goto(served.server.url)
    late.wait_for_selector(".card")
    late.evaluate("location.hash = '#/q/words'")
    late.wait_for_selector(".more")
    late.evaluate("""() => {
        window.holding = "before=";
        for (const _ of [1, 2]) document.querySelector(".more").click();
    }""")
    wait_held(late)
    late.evaluate("release()")
    late.wait_for_function("() => document.querySelectorAll('.hits a').length > 50")
    late.wait_for_function("() => !document.querySelector('.more:disabled')")
    places = late.locator(".hits a").evaluate_all("all => all.map(one => one.href)")
    assert len(places) == len(set(places)) == 100


def test_a_session_that_was_left_does_not_keep_the_next_one_from_growing(late, served, state, log):
    demo = log.demo()
    first = served.write(state, demo[:7])
    second = served.write(state, demo[:7])
    late.goto(f"{served.server.url}&s={first.session_id}")
    late.wait_for_selector("#turn-1")
    late.evaluate("window.holding = '?first='")
    served.append(first, demo[7:10])
    wait_held(late)
    late.evaluate(f"window.holding = ''; location.hash = '#/s/{second.session_id}'")
    late.wait_for_selector(f"#deeds[data-session='{second.session_id}']", state="attached")
    served.append(second, demo[7:14])
    late.wait_for_selector("#turn-2")
    late.evaluate("release()")
    first.close()
    second.close()


def test_what_came_while_nobody_followed_is_there_once_one_follows_again(late, served, state, log):
    demo = log.demo()
    writer = served.write(state, demo[:7])
    late.goto(f"{served.server.url}&s={writer.session_id}")
    late.wait_for_selector("#turn-1")
    late.evaluate("window.holding = '?first='")
    served.append(writer, demo[7:14])
    wait_held(late)
    late.keyboard.press("f")
    late.evaluate("release()")
    late.wait_for_selector("#status:has-text('Paused')")
    late.keyboard.press("f")
    late.wait_for_selector("#turn-2")
    writer.close()


def test_a_part_that_was_left_out_is_left_out_after_the_card_is_drawn_again(page, runs, served):
    (runs.project / "long.txt").write_text(LONG)
    text = LONG.replace("line 30\n", "thirty\n").replace("line 60\n", "sixty\n")
    run = runs(tool("write_file", file_path="long.txt", content=text))
    page.goto(served.server.url_for("decide", run.id))
    page.wait_for_selector(".bar-answer:not(.unarmed)")
    page.locator("[data-piece='1']").uncheck()
    page.reload()
    page.wait_for_selector(".bar-answer.edited:not(.unarmed) [aria-disabled=true]")
    assert page.locator("[data-piece='0']").is_checked()
    assert not page.locator("[data-piece='1']").is_checked()
    assert page.locator("tr.left-out").count() == 2
    assert page.problems == []
