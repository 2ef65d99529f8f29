"""Sessions of any length on the page: what is said of all of it, and a list of turns of which few are in the page."""

import pytest

from rails.review.web.server import ReviewServer

from ..running import KEY
from .conftest import LATE, Client, write


def many(log, turns, *, failing=()):
    events = [log.START]
    for number in range(1, turns + 1):
        refused = (log.invalid(f"t{number}.1"),) if number in failing else ()
        told = log.told(f"told {number}")
        events += [log.call(number), log.answer(f"answer {number}"), log.formulated(f"t{number}.1"), *refused, told]
    return log.records(*events, log.END)


@pytest.fixture(scope="module")
def written(tmp_path_factory, log):
    """A folder with a session of 1,200 turns, of which four failed: longer than what is read whole. It is only read."""
    state = tmp_path_factory.mktemp("long") / ".rails"
    writer = write(state, many(log, 1_200, failing=(3, 600, 601, 1_200)))
    writer.close()
    return state, writer.session_id


@pytest.fixture
def long(written):
    return written[1]


def test_figures_and_findings_are_of_the_whole_session_wherever_one_looks(written):
    state, long = written
    with ReviewServer(state, key=KEY) as server:
        client = Client(server)
        for place in ("", "?first=1", "?first=2500"):
            part = client.json(f"/api/session/{long}{place}")
            for words in (
                "<dt>turns</dt><dd>1,200</dd>",
                "<dt>refused</dt><dd>4</dd>",
                "<dt>tokens in</dt><dd>120,000</dd>",
            ):
                assert words in part["head"], words
            assert f"is%3Arefused%20session%3A{long}" in part["head"]


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.timeout(300)
class TestInABrowser:
    """In a real Chromium."""

    @pytest.fixture
    def state(self, written):
        return written[0]

    @pytest.fixture
    def opened(self, page, long, served):
        page.goto(f"{served.server.url}&s={long}")
        page.wait_for_selector("#turn-1")
        yield page
        assert page.problems == []

    def test_scrolling_anywhere_shows_what_belongs_there(self, opened):
        opened.keyboard.press("G")
        opened.wait_for_selector("#turn-1200")
        opened.keyboard.press("g")
        opened.wait_for_selector("#turn-1")
        opened.evaluate("scrollTo({top: document.body.scrollHeight / 2, behavior: 'instant'})")
        middle = "[...document.querySelectorAll('section.turn h2')].map(one => Number(one.id.slice(5)))"
        opened.wait_for_function(f"{middle}.some(one => one > 400 && one < 800)".join(("() => ", "")))
        seen = "() => [...document.querySelectorAll('section.turn')].some(one => one.getBoundingClientRect().top < 700)"
        opened.wait_for_function(seen)
        assert opened.locator("section.turn").count() <= 120

    def test_keys_that_come_faster_than_the_server_answers_are_taken_one_after_the_other(self, page, long, served):
        page.add_init_script(LATE % 30)
        page.goto(f"{served.server.url}&s={long}")
        page.wait_for_selector("#turn-1")
        for keys, led in (("jjnnnn", 1200), ("ppkkk", 597), ("jjjn", 601), ("np", 601)):
            page.keyboard.type(keys[:-1])
            page.evaluate("scrollBy({top: 40000 * (Math.random() - 0.5), behavior: 'instant'})")
            page.keyboard.press(keys[-1])
            page.wait_for_selector(f"section.current #turn-{led}")
        assert page.problems == []
