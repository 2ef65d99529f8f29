"""What a running session has used, what is left, and how far its plan is: in the answers, the stream, the browser."""

import pytest

CHAIN = [{"agent": name, "task": f"{name}'s part"} for name in ("planner", "coder")]
LIMITS = {"max_tokens": 10_000, "max_seconds": 900.0, "max_cost": 0.5}
USAGE = {"input_tokens": 1_000, "output_tokens": 100}  # (1,000 × 3 + 100 × 15) / 1,000,000 = 0.0045
#: The model's name that ``served.write`` gives its records is "m".
PRICES = 'currency = "USD"\n[models.m]\ninput = 3.0\noutput = 15.0\n'


@pytest.fixture
def prices(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(PRICES)
    return file


@pytest.fixture
def priced(served, prices):
    """A client of a server that knows prices."""
    with served.other(prices=prices) as server:
        client = served.client(server)
        client.server = server
        yield client


def answered(turn):
    return (
        ("LLM_CALL", {"turn": turn, "messages": 1}),
        ("LLM_RESPONSE", {"text": "I edit.", "prose": "I edit.", "stop_reason": "end_turn", "usage": USAGE}),
    )


def engaged(agent):
    return ("AGENT_ENGAGE", {"agent": agent, "task": "…", "agent_role": agent})


HANDED = (
    ("AGENT_FINISHED", {"outcome": "done"}),
    ("HANDOFF", {"sender": "planner", "receiver": "coder", "file": "02_for_coder.md"}),
    ("HUMAN_STEERED", {"about": "handoff", "answer": "go", "by": "human"}),
)
BEGUN = (("WORKFLOW_START", {"task": "due dates", "tasks": CHAIN, "limits": LIMITS}), engaged("planner"), *answered(1))


def test_a_window_says_what_the_whole_session_has_used(served, priced, state, log):
    writer = served.write(state, log.records(*BEGUN))
    part = priced.json(f"/api/session/{writer.session_id}")
    assert part["step"] == "Step 1 of 2"
    assert part["meter"].startswith("1,000 tokens in, 100 out · 0.0045 USD · Left: 8,900 of 10,000 tokens, ")
    assert part["meter"].endswith(" of 15 min, 0.4955 of 0.5000 USD")
    cost = "<dt>Cost</dt><dd><p>0.0045 USD</p></dd>"
    for words in (cost, "<dt>Budget left</dt>", "Running", "Running", "0 of 2 done"):
        assert words in part["head"], words
    writer.close()
    part = priced.json(f"/api/session/{writer.session_id}")
    assert "Running" not in part["head"], "nobody writes the log any more"


def test_without_prices_the_page_says_nothing_of_money(served, state, log):
    writer = served.write(state, log.records(*BEGUN))
    part = served.json(f"/api/session/{writer.session_id}")
    assert "8,900 of 10,000 tokens" in part["meter"]
    assert "Cost" not in part["head"]
    assert "0.5" not in part["meter"]
    writer.close()


def test_a_table_of_prices_that_is_wrong_is_said_and_hides_nothing(served, priced, prices, state, log):
    writer = served.write(state, log.records(*BEGUN))
    prices.write_text("[models.m]\ninput = -3\n")
    part = priced.json(f"/api/session/{writer.session_id}")
    assert "prices.toml" in part["head"]
    assert "No cost can be worked out." in part["head"]
    assert [turn["number"] for turn in part["turns"]] == [1]
    writer.close()


def test_a_window_of_a_long_session_has_the_plan_and_the_cost_of_all_of_it(served, priced, state, log):
    turns = [event for number in range(2, 400) for event in (*answered(number), log.told())]
    writer = served.write(state, log.records(*BEGUN, *HANDED, engaged("coder"), *turns))
    for first in ("", "?first=1", "?first=600"):
        part = priced.json(f"/api/session/{writer.session_id}{first}")
        assert part["step"] == "Step 2 of 2"
        assert "399,000 tokens in, 39,900 out · 1.80 USD · Left: 0 of 10,000 tokens" in part["meter"]
        assert "→ coder: 02_for_coder.md, handed over by human" in part["head"]
    writer.close()


@pytest.mark.parametrize("seen", [0, 3])
def test_the_stream_counts_on_from_what_is_counted(served, priced, state, log, seen):
    writer = served.write(state, log.records(*BEGUN))
    before = priced.json(f"/api/session/{writer.session_id}")["meter"]
    assert before.startswith("1,000 tokens in")
    served.append(writer, log.records(*answered(2)))
    found = priced.stream(writer.session_id, seen=seen, until="meter")
    assert found[-1][2]["words"].startswith("2,000 tokens in, 200 out · 0.0090 USD · Left: 7,800 of 10,000 tokens")
    writer.close()


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.timeout(300)
def test_money_and_plan_move_while_one_looks(page, served, priced, state, log):
    writer = served.write(state, log.records(*BEGUN))
    page.goto(priced.server.url)
    page.locator(".card").click()
    page.wait_for_selector("#live-meter:has-text('0.0045 USD')")
    assert page.locator("#live-facts").inner_text().startswith("Step 1 of 2")
    now = page.locator(".plan [aria-current=step]")
    assert now.inner_text().startswith("planner")
    served.append(writer, log.records(*HANDED, engaged("coder"), *answered(2)))
    page.wait_for_selector("#live-meter:has-text('0.0090 USD')")
    page.wait_for_selector(".plan [aria-current=step]:has-text('coder')")
    assert "Done" in page.locator(".plan li").first.inner_text()
    assert "0.0090 USD" in page.locator("header .facts").inner_text()
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    now.get_by_role("link").click()
    page.wait_for_selector("section.turn.current")
    assert page.problems == []
    writer.close()
