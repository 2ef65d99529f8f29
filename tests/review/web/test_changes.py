"""What the page can do to a session that is over, and what it opens of a file: through the guard, and in a browser."""

import json

import pytest

from rails.commands.session_actions import AgreedChanges
from rails.edits.checkpoints import History
from rails.log.reader import read_strict, session_ids
from rails.log.writer import SessionLog
from rails.review.web.server import ReviewServer

from ..running import KEY, tool

LONG = "".join(f"line {n}\n" for n in range(1, 81))


def edited():
    edits = [(30, "thirty"), (60, "sixty")]
    text = LONG
    for number, word in edits:
        text = text.replace(f"line {number}\n", f"{word}\n")
    return tool("write_file", file_path="long.txt", content=text)


@pytest.fixture
def over(runs, served):
    """A session that is over and has written two files, in a project whose page can change it."""
    (runs.project / "long.txt").write_text(LONG)
    run = runs(edited(), tool("write_file", file_path="new.txt", content="new\n"))
    for _ in range(2):
        asked = served.question(run.id)
        status, _ = served.decide(
            {"session": run.id, "question": asked["question"], "digest": asked["digest"], "do": "approve"}
        )
        assert status == 200
    run.end()
    return run


@pytest.fixture
def able(over):
    with ReviewServer(over.state, key=KEY, changes=AgreedChanges(over.project)) as server:
        yield server


@pytest.fixture
def client(able, served):
    return served.client(able)


def post(client, session, do, digest, word=None, token=True):
    data = json.dumps({"session": session, "do": do, "digest": digest, "word": do if word is None else word}).encode()
    own = f"http://127.0.0.1:{client.port}"
    headers = {"Origin": own, "Content-Type": "application/json", "Content-Length": str(len(data))}
    status, _, content = client.ask("/api/change", "POST", data, token, **headers)
    return status, content.decode()


def test_undo_shows_the_step_takes_it_back_and_logs_it(over, client):
    offer = client.json(f"/api/session/{over.id}/change/undo")
    assert "Undo step 2" in offer["html"]
    assert "new.txt" in offer["html"]
    status, words = post(client, over.id, "undo", offer["digest"])
    assert (status, "Step 2 is undone: new.txt" in words) == (200, True)
    assert not (over.project / "new.txt").exists()
    assert read_strict(over.log.path)[-1].event_type == "UNDO"
    assert post(client, over.id, "undo", offer["digest"])[0] == 400, "what was shown was done already"
    assert (over.project / "long.txt").read_text() != LONG
    assert post(client, over.id, "undo", client.json(f"/api/session/{over.id}/change/undo")["digest"])[0] == 200
    assert (over.project / "long.txt").read_text() == LONG
    status, _, content = client.ask(f"/api/session/{over.id}/change/undo")
    assert (status, b"nothing to undo" in content) == (400, True)


def test_delete_takes_the_session_and_its_undo_and_no_file(over, client):
    offer = client.json(f"/api/session/{over.id}/change/delete")
    assert "2 steps of it in your files can then no longer be undone" in offer["html"]
    assert post(client, over.id, "delete", offer["digest"])[0] == 200
    assert session_ids(over.state) == []
    assert History(over.project).steps() == ()
    assert (over.project / "new.txt").read_text() == "new\n"
    assert client.ask(f"/api/session/{over.id}")[0] == 404


def test_nothing_is_done_without_the_token_the_word_and_what_was_shown(over, client, served):
    digest = client.json(f"/api/session/{over.id}/change/delete")["digest"]
    assert client.ask(f"/api/session/{over.id}/change/delete", token=client.reading)[0] == 403
    assert client.ask(f"/api/session/{over.id}/change/rename")[0] == 404
    for wanted, answer in (
        (403, post(client, over.id, "delete", digest, token=client.reading)),
        (401, post(client, over.id, "delete", digest, token="")),
        (400, post(client, over.id, "delete", digest, word="yes")),
        (400, post(client, over.id, "delete", "0" * 64)),
        (404, post(client, "nobody", "delete", digest)),
        (404, post(client, over.id, "rename", digest)),
        (404, post(served, over.id, "delete", digest)),
    ):
        assert answer[0] == wanted, answer
    with SessionLog.reopen(over.state, over.id):
        assert client.json(f"/api/session/{over.id}")["changes"] is False
        for do in ("undo", "delete"):
            offer = client.json(f"/api/session/{over.id}/change/{do}")
            assert post(client, over.id, do, offer["digest"])[0] in (400, 500)
    assert session_ids(over.state) == [over.id]
    assert (over.project / "new.txt").exists()


def test_lines_that_a_difference_leaves_out_are_those_of_the_file_as_it_was(over, client):
    last = len(read_strict(over.log.path))
    place = f"/api/session/{over.id}/unchanged?first=1&last={last}&path=long.txt&from=34&to=56&at=57&old=57&text="
    found = client.json(f"{place}line%2057")
    assert found["html"].count("<tr") == 23
    assert "line 34" in found["html"]
    assert client.ask(f"{place}other")[0] == 404
    assert client.ask(place.replace("long.txt", "../secret"))[0] == 404
    (over.project / "long.txt").write_text("something else\n")
    assert client.json(f"{place}line%2057") == found, "from the log, not from the disk"


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.timeout(300)
class TestInABrowser:
    """In a real Chromium."""

    def test_unchanged_parts_open_by_click_and_by_key_and_have_the_focus(self, page, over, able):
        page.goto(able.url_for("decide", over.id))
        diff = page.locator('section.turn .diff:has-text("long.txt")').first
        gap = diff.locator("button.gap:has-text('23 unchanged lines')")
        gap.wait_for()
        assert diff.locator("tr:has-text('line 40')").count() == 0
        gap.focus()
        page.keyboard.press("Enter")
        diff.locator("tr:has-text('line 40')").wait_for()
        assert page.evaluate("document.activeElement.innerText.includes('line 34')")
        page.wait_for_selector("#status:has-text('23 unchanged lines are shown')")
        assert [int(n) for n in diff.locator("tr:has-text('line 40') .n").all_inner_texts()] == [40, 40]
        diff.locator("button.gap").first.click()
        diff.locator("tr:has-text('line 5')").first.wait_for()
        page.keyboard.press("v")
        assert diff.locator("table.split tr:has-text('line 40')").count() == 1
        page.keyboard.press("u")
        diff.locator("table.split tr:has-text('line 80')").wait_for()
        assert page.problems == []

    def test_undo_and_delete_ask_for_the_word_and_escape_changes_nothing(self, page, over, able):
        page.goto(able.url_for("decide", over.id))
        page.get_by_role("button", name="Undo its last step").click()
        page.wait_for_selector("#change-word:focus")
        page.keyboard.type("yes")
        page.keyboard.press("Enter")
        page.wait_for_selector("#change-said:has-text('in full')")
        page.keyboard.press("Escape")
        assert (over.project / "new.txt").exists()
        page.get_by_role("button", name="Undo its last step").click()
        page.locator("#change-word").fill("undo")
        page.keyboard.press("Enter")
        page.wait_for_selector("#status:has-text('Step 2 is undone')")
        page.get_by_role("button", name="Delete this session").click()
        page.locator("#change-word").fill("delete")
        page.get_by_role("button", name="Delete the session").click()
        page.wait_for_selector(".empty:has-text('No session yet')")
        page.wait_for_selector("#status:has-text('1 session is deleted')")
        assert session_ids(over.state) == []
        assert page.problems == []

    def test_who_may_only_look_sees_no_such_button(self, page, over, able):
        page.goto(able.url_for("read", over.id))
        page.wait_for_selector("section.turn")
        assert page.locator("#deeds").is_hidden()
