"""Deciding in a real Chromium while a real session runs: every way an answer can take, and those it must not."""

import contextlib
import http.server
import os
import pty
import threading
import time

import pytest

from rails.approval.terminal.approver import TerminalApprover
from rails.core.events.base import UnknownEvent
from rails.core.events.session import HumanSteered
from rails.core.outcomes import is_good
from rails.log.writer import SessionLog
from rails.session.ask_user import UserQuestion, as_logged

from ..running import tool
from .conftest import late

# Every test of the browser runs in one process, so that one Chromium serves them all.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]


def write(path="b.txt", content="hello\n", why="Say hello"):
    return tool("write_file", file_path=path, content=content, why=why)


@pytest.fixture
def tabs(chromium, served):
    """Open tabs with the address that decides: ``tabs(run)``; none may have a problem in the end."""
    contexts = []

    def tab(run=None, server=None, right="decide", **more):
        context = late(chromium.new_context(**{"viewport": {"width": 1000, "height": 800}, **more}))
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.sent = []
        # That an answer came too late is no problem; the console says so of any 409.
        page.on("console", lambda message: "409" in message.text or page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.sent.append(request.url))
        page.set_default_timeout(60_000)
        page.goto((server or served.server).url_for(right, run.id if run else ""))
        return page

    tab.contexts = contexts
    yield tab
    pages = [page for context in contexts for page in context.pages]
    problems = [problem for page in pages for problem in page.problems]
    elsewhere = [url for page in pages for url in page.sent if not url.startswith("http://127.0.0.1:")]
    for context in contexts:
        context.close()
    assert (problems, elsewhere) == ([], [])


def armed(page):
    page.wait_for_selector(".bar-answer:not(.unarmed)")


def says(page, words):
    page.wait_for_selector(f"#status:has-text('{words}')")


def test_a_whole_live_run_with_refresh_denial_edit_and_approval(runs, tabs):
    (runs.project / "pyproject.toml").write_text("[tool.black]\n")
    (runs.project / "a.py").write_text("def f():\n    return 1\n")
    edit = tool("edit_file", file_path="a.py", old_string="return 1", new_string="return 2")
    run = runs(write(), write(content="hi\n"), edit)
    page = tabs(run)
    armed(page)
    assert page.locator("#pills li").get_attribute("data-seen").split()[-1] == "waiting"
    page.reload()
    armed(page)
    page.keyboard.press("d")
    page.keyboard.type("Shorter, <b>please</b>.")
    page.get_by_role("button", name="Deny with this reason").click()
    page.wait_for_selector("tr.add:has-text('hi')")
    armed(page)
    assert "Asking the model to fix it (denied, attempt 1 of 3)" in page.locator("#live-facts").inner_text()
    page.keyboard.press("a")
    page.wait_for_selector("tr.add:has-text('return 2')")
    armed(page)
    page.get_by_role("button", name="Edit the text").click()
    page.locator("textarea.edit-text").fill("def f():\n    return   3\n")
    page.keyboard.press("Tab")
    page.locator("[data-do=approve]").click(force=True)
    says(page, "not checked yet")
    page.reload()
    armed(page)
    assert page.locator("textarea.edit-text").input_value() == "def f():\n    return   3\n", "the draft is kept"
    page.get_by_role("button", name="Check my version").click()
    page.wait_for_selector("tr:has-text('return 3')")
    armed(page)
    page.locator("[data-do=approve]").click()
    page.wait_for_selector("header .badge:has-text('Changed')")
    assert page.locator("#asked").is_hidden()
    assert is_good(run.end().outcome)
    assert (run.project / "b.txt").read_text() == "hi\n"
    assert (run.project / "a.py").read_text() == "def f():\n    return 3\n"
    assert [decision["answer"] for decision in run.events("HUMAN_DECISION")] == ["deny", "approve", "approve"]
    assert "Human Feedback: Shorter, <b>please</b>." in run.events("FEEDBACK_SENT")[0]["text"]
    page.wait_for_selector("section.turn:has-text('Shorter, <b>please</b>.')")


HASTY = """() => new MutationObserver(() => {
  for (const key of "aaa") document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  document.querySelector("[data-do=approve]")?.click();
}).observe(document.getElementById("asked"), { childList: true })"""


def test_only_a_typed_a_after_a_moment_of_quiet_approves(runs, tabs):
    run = runs(write(why="Say\nhello"))
    page = tabs()
    page.evaluate(HASTY)
    page.locator(".wait:has-text('coder: Say hello')").click()
    says(page, "are ignored for a moment")
    assert run.id in page.url
    assert page.title().startswith("●")
    armed(page)
    page.wait_for_selector("header .badge:has-text('Waiting for approval')")
    button = page.locator('[data-do="approve"]')
    for key in ("Enter", "Space", "Escape", "y", "Enter"):
        button.focus()
        page.keyboard.press(key)
    says(page, "never approve")
    assert run.events("HUMAN_DECISION") == []
    page.wait_for_timeout(400)
    page.locator("#search").focus()
    page.keyboard.press("a")
    assert run.events("HUMAN_DECISION") == [], "text in a field is no shortcut"
    page.keyboard.press("Escape")
    page.wait_for_timeout(400)
    page.keyboard.press("w")
    page.wait_for_timeout(400)
    page.keyboard.press("a")
    assert is_good(run.end().outcome)


def test_risks_have_to_be_confirmed_by_typing(runs, tabs):
    (runs.project / "b.txt").write_text("x\n")
    run = runs(tool("delete_file", file_path="b.txt"))
    page = tabs(run)
    armed(page)
    assert "Deletes b.txt" in page.locator(".risks-box").inner_text()
    page.keyboard.press("a")
    says(page, "There are risks")
    page.keyboard.type("approv")
    page.keyboard.press("Enter")
    assert run.events("HUMAN_DECISION") == []
    page.keyboard.type("e")
    page.keyboard.press("Enter")
    assert is_good(run.end().outcome)
    assert not (run.project / "b.txt").exists()


def test_findings_of_style_are_marked_at_their_line_and_accepted_with_the_typed_word(runs, tabs):
    (runs.project / "pyproject.toml").write_text("[tool.ruff]\nline-length = 40\nlint.select = ['E']\n")
    run = runs(write("a.py", f'TEXT = "{"long " * 10}"\n'))
    page = tabs(run)
    armed(page)
    assert page.locator(".risks-box").inner_text().count("style: a.py:1: E501") == 1
    assert page.locator("#asked tr.add + tr.finding").inner_text().split()[1:5] == ["line", "1,", "column", "41:"]
    page.keyboard.press("a")
    says(page, "There are risks")
    page.keyboard.type("approve")
    page.keyboard.press("Enter")
    assert is_good(run.end().outcome)
    assert (run.project / "a.py").read_text().startswith('TEXT = "long')


def test_parts_are_left_out_by_their_boxes(runs, tabs):
    (runs.project / "a.txt").write_text("one\n\n\n\n\n\ntwo\n")
    parts = [{"file_path": "a.txt", "old_string": old, "new_string": old.upper()} for old in ("one", "two")]
    run = runs(tool("multi_edit", edits=parts))
    page = tabs(run)
    armed(page)
    page.locator("input[data-piece='0']").uncheck()
    assert page.locator("tr.left-out").count() == 2
    page.get_by_role("button", name="Check my version").click()
    page.wait_for_selector(".box.good:has-text('Your version')")
    armed(page)
    page.locator("[data-do=approve]").click()
    run.end()
    assert (run.project / "a.txt").read_text() == "one\n\n\n\n\n\nTWO\n"


def test_a_change_of_two_files_is_read_file_by_file_and_commented_at_its_lines(runs, tabs):
    (runs.project / "a.txt").write_text("one\n\n\n\n\n\ntwo\n")
    (runs.project / "b.txt").write_text("x\n")
    places = (("a.txt", "one"), ("a.txt", "two"), ("b.txt", "x"))
    parts = [{"file_path": path, "old_string": old, "new_string": old.upper()} for path, old in places]
    run = runs(tool("multi_edit", edits=parts))
    page = tabs(run, viewport={"width": 1440, "height": 900})
    armed(page)
    page.locator(".files input").last.check()
    assert page.locator(".files p").inner_text() == "2 files, 1 viewed"
    assert page.locator("#asked .diff").last.get_attribute("open") is None
    page.keyboard.press("Tab")
    page.locator("#card-title").focus()
    page.wait_for_timeout(400)
    page.keyboard.press("v")
    halves = page.locator("#asked .split td.line").evaluate_all("all => all.map(one => one.offsetWidth)")
    assert min(halves[:4]) > 500, "each side has half of the width"
    page.locator("#asked .split input").first.uncheck()
    assert page.locator("#asked input[data-piece='0']").is_checked() is False
    page.locator("#asked .split input").first.check()
    page.locator("#card-title").focus()
    page.wait_for_timeout(400)
    page.keyboard.press("c")
    page.keyboard.press("ArrowDown")
    page.keyboard.type("Why is this blank?")
    page.locator("#card-title").focus()
    page.wait_for_timeout(400)
    page.keyboard.press("a")
    says(page, "Your comments go to the model")
    page.wait_for_timeout(400)
    page.keyboard.press("d")
    page.keyboard.press("Escape")
    assert page.locator("#deny-panel").is_hidden()
    page.wait_for_timeout(400)
    page.keyboard.press("d")
    page.keyboard.type("No.")
    page.keyboard.press("Control+Enter")
    run.end()
    assert run.events("HUMAN_DECISION")[0]["reason"] == "No.\na.txt:2 (): Why is this blank?"


def test_a_grant_is_shown_as_a_rule_before_it_is_given(runs, tabs):
    run = runs(write("notes/a.txt"), write("notes/b.txt"))
    page = tabs(run)
    armed(page)
    page.keyboard.press("A")
    page.wait_for_selector("#grant-panel pre:has-text('notes/*')")
    page.wait_for_selector("#dry-run:not(:empty)")
    assert run.events("HUMAN_DECISION") == []
    page.locator("#uses").fill("1")
    page.get_by_role("button", name="Approve and add this rule").click()
    assert is_good(run.end().outcome)
    assert [decision["by"] for decision in run.events("HUMAN_DECISION")] == ["human in the page", "grant 1"]


def test_an_approval_is_widened_for_the_session_and_taken_back_with_one_key(runs, tabs):
    run = runs(write("a.txt"), write("b.txt"), tool("delete_file", file_path="a.txt"), write("c.txt"))
    page = tabs()
    page.wait_for_selector(".wait")
    page.keyboard.press("w")
    armed(page)
    assert page.locator("[data-do=widen]").inner_text().startswith("Approve all edits that pass the gate, this session")
    page.keyboard.press("W")
    page.wait_for_selector(".bar-answer .badge:has-text('grant 1: all edits that pass the gate, this session')")
    armed(page)
    page.keyboard.press("R")
    page.wait_for_selector(".bar-answer .badge", state="detached")
    armed(page)
    page.keyboard.press("d")
    page.wait_for_timeout(400)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".card-asked:has-text('c.txt')")
    assert page.locator(".bar-answer .badge").count() == 0
    armed(page)
    page.keyboard.press("a")
    run.end()
    decisions = [(one["answer"], one["by"]) for one in run.events("HUMAN_DECISION")]
    first = ("approve", "human in the page")
    second = ("approve", "grant 1")
    assert decisions == [first, second, ("deny", "human in the page"), first]


def test_of_two_tabs_one_decides_and_the_other_is_told(runs, tabs):
    run = runs(write())
    one = tabs(run)
    other = tabs(run)
    for page in (one, other):
        armed(page)
    press = "setTimeout(() => document.querySelector('[data-do=approve]')?.click(), 150)"
    for page in (one, other):
        page.evaluate(press)
    assert is_good(run.end().outcome)
    for page in (one, other):
        page.wait_for_selector("header .badge:has-text('Changed')")
        assert page.locator("#asked").is_hidden()
    assert len(run.events("HUMAN_DECISION")) == 1


@pytest.mark.parametrize("first", ["page", "terminal"])
def test_terminal_and_page_at_once(runs, tabs, first):
    master, slave = pty.openpty()
    with contextlib.ExitStack() as stack:
        keyboard = stack.enter_context(os.fdopen(slave, "r", encoding="utf-8"))
        out = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        run = runs(write(), here=lambda elsewhere: TerminalApprover(keyboard, out, quiet_s=0.01, elsewhere=elsewhere))
        page = tabs(run)
        armed(page)
        if first == "page":
            page.keyboard.press("a")
        os.write(master, b"d no\n")
        ended = run.end().outcome
        page.wait_for_selector("header .badge:has-text('Changed')" if ended == "changed" else "header .badge.bad")
    os.close(master)
    decisions = run.events("HUMAN_DECISION")
    assert len(decisions) == 1
    assert ended == ("changed" if decisions[0]["answer"] == "approve" else "gave_up")
    assert first == "page" or decisions[0]["by"] == "human"
    assert (run.project / "b.txt").exists() is (decisions[0]["answer"] == "approve")


def test_the_address_that_looks_shows_the_card_without_answers(runs, tabs):
    run = runs(write())
    page = tabs(run, right="read")
    page.wait_for_selector(".card-asked:has-text('This link is read-only')")
    assert page.locator(".card-asked button").count() == 0
    page.keyboard.press("a")
    assert run.events("HUMAN_DECISION") == []


class Evil(http.server.BaseHTTPRequestHandler):
    """Another site, without any policy of ours."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title>")

    def log_message(self, *_):
        pass


ATTACK = """async ([url, body]) => {
  const form = document.createElement("form");
  const frame = document.createElement("iframe");
  frame.name = "sink";
  Object.assign(form, { action: url, method: "POST", enctype: "text/plain", target: "sink" });
  const field = document.createElement("input");
  field.name = body.slice(0, -1) + ', "x": "';
  field.value = '"}';
  form.append(field);
  document.body.append(frame, form);
  form.submit();
  const tried = [];
  for (const options of [
    { method: "POST", mode: "no-cors", body },
    { method: "POST", body, headers: { "Content-Type": "application/json" } },
    { method: "POST", body, headers: { "Content-Type": "application/json", "X-AI-Rails-Token": "x" } },
    { mode: "no-cors" },
  ]) tried.push(await fetch(url, options).then((answer) => answer.type, () => "blocked"));
  navigator.sendBeacon(url, body);
  return tried;
}"""


FRAMED = """(url) => new Promise((done) => {
  const frame = document.createElement("iframe");
  Object.assign(frame, { src: url, onload: () => done(true) });
  document.body.append(frame);
})"""


def test_neither_another_site_nor_a_rebound_name_gets_in(runs, served, chromium):
    run = runs(write())
    question = served.question(run.id)
    evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, args=(0.02,), daemon=True).start()
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{evil.server_address[1]}/")
        numbers = f'"question": {question["question"]}, "digest": "{question["digest"]}"'
        body = f'{{"session": "{run.id}", {numbers}, "do": "approve"}}'
        tried = page.evaluate(ATTACK, [f"http://127.0.0.1:{served.port}/api/decide", body])
        assert tried == ["blocked"] * 4
        page.evaluate(FRAMED, served.server.url_for("decide"))
        assert page.frames[-1].url.startswith("chrome-error:"), "no site may frame the page"
        for path in ("/", "/api/waiting", f"/api/session/{run.id}/question"):
            answer = page.goto(f"http://rebound.example:{served.port}{path}")
            assert answer.status == 400
        rebound = f"http://rebound.example:{served.port}/"
        fetched = "async (token) => (await fetch('/api/waiting', { headers: { 'X-AI-Rails-Token': token } })).status"
        assert page.url == f"{rebound}api/session/{run.id}/question"
        assert page.evaluate(fetched, served.token) == 400, "not even with the token"
        time.sleep(0.1)
        assert run.events("HUMAN_DECISION") == []
    finally:
        context.close()
        evil.shutdown()
        evil.server_close()


HOSTILE = [
    "<script>window.owned=1</script>",
    "<img src=x onerror=window.owned=1>",
    "<svg/onload=window.owned=1>",
    "</textarea><script>window.owned=1</script>",
    "</td></tr></table><iframe srcdoc='<script>parent.owned=1</script>'>",
    "<a href=javascript:window.owned=1 autofocus onfocus=window.owned=1>x</a>",
    "'\"><style>*{display:none}</style>",
    "\u202e\u2066 gnp.exe \u200b\u00ad",
    "${window.owned=1} {{constructor.constructor('window.owned=1')()}}",
    "\x1b]0;owned\x07\x1b[31m",
]


def test_hostile_text_is_inert_on_the_card_and_comes_through_unchanged(runs, tabs, served):
    text = "\n".join(line.replace("\x1b", "").replace("\x07", "") for line in HOSTILE) + "\n"
    named = [tool(HOSTILE[1]), tool("write_file", file_path=f"../{HOSTILE[0]}", content="x")]
    run = runs(*named, write("b.txt", text, "\n".join(HOSTILE)))
    served.question(run.id)
    page = tabs(run)
    armed(page)
    page.keyboard.press("A")
    page.get_by_role("button", name="Edit the text").click()
    assert page.locator("textarea.edit-text").input_value() == text
    assert "\\u202e" in page.locator(".card-asked .diff table").inner_text()
    page.keyboard.press("Escape")
    page.locator("#reason").evaluate("(field, text) => { field.value = text }", "\n".join(HOSTILE))
    page.locator('[data-do="deny-now"]').evaluate("(button) => button.click()")
    run.end()
    page.wait_for_selector("header .badge:has-text('Gave up')")
    assert page.evaluate("window.owned") is None
    assert page.locator("main :is(script, img, iframe, style, a[href^=javascript])").count() == 0
    assert page.locator("#page").is_visible()


CONTRAST = """() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("nav *, main *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.disabled) continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(`${element.tagName}.${element.className}: ${element.textContent}`);
  }
  return bad;
}"""


UNNAMED = """() => [...document.querySelectorAll("button, input, textarea")]
  .filter((field) => !field.labels?.length && !field.ariaLabel && !field.textContent.trim())
  .map((field) => field.outerHTML)"""


def test_the_card_is_readable_and_fits(runs, tabs):
    (runs.project / "pyproject.toml").write_text("[tool.black]\n")
    (runs.project / "a.py").write_text("def f():\n    return 1\n")
    edits = [{"file_path": "a.py", "old_string": "def f():\n    return 1", "new_string": "def f( x ):\n    return x"}]
    run = runs(tool("multi_edit", edits=edits), tool("delete_file", file_path="a.py"))
    page = tabs(run, viewport={"width": 768, "height": 640})
    armed(page)
    bar = page.locator(".bar-top").bounding_box()
    assert page.locator("#status").bounding_box()["y"] >= bar["y"] + bar["height"], "it is not under the bar"
    page.set_viewport_size({"width": 320, "height": 640})
    for sign in ("tr.tool_add", ".risks-box"):
        page.wait_for_selector(sign)
        armed(page)
        page.keyboard.press("d")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert page.evaluate(CONTRAST) == [], scheme
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert page.evaluate(UNNAMED) == []
        page.get_by_role("button", name="Deny with this reason").click()
    run.end()
    assert [page.locator(part).count() for part in ("main", "nav.bar-top[aria-label]", "form[role=search]")] == [1] * 3


def test_after_a_night_the_first_decision_is_two_keystrokes(tabs, state):
    lines = ("── coder asks ──────", "  Which port?")
    options = {"1": ("80", "80"), "2": ("8080", "8080")}
    with SessionLog.create(state) as log:
        log.append(UnknownEvent("WORKFLOW_START", "serve it", {"task": "serve it"}), "coder")
        log.append(as_logged(UserQuestion("question", lines, options, "", free=True, request_id="t1.1")), "coder")
        log.append(HumanSteered("conversation", "unanswered", "", text="It pauses."))
    page = tabs()
    page.wait_for_selector("text=Which port?")
    page.keyboard.press("w")
    armed(page)
    page.keyboard.press("2")
    says(page, "Saved. To continue: ai-rails run --resume")
    page.wait_for_selector("text=8080")
