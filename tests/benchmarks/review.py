"""Figures of the review: folding a log, the HTML file, the page's first window, drawing and deciding,
and the reports.

python tests/benchmarks/review.py [RECORDS]     default 100000; Chromium is measured where Playwright is installed
python tests/benchmarks/review.py page [RECORDS …]     the page alone; default 300, 10,000 and 1,000,000 records

Beyond 200,000 records only the page is measured: the rest takes a session whole. The log is written without waiting for
the disk.
"""

import http.client
import importlib
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from rails.approval.decision import request_for_changes  # noqa: E402
from rails.approval.pending import PendingAnswers  # noqa: E402
from rails.approval.queue import ApprovalQueue  # noqa: E402
from rails.approval.terminal.screen import draw_request  # noqa: E402
from rails.core.changes import ChangeSet, FileChange  # noqa: E402
from rails.core.events.base import UnknownEvent  # noqa: E402
from rails.core.paths import WorkspacePath  # noqa: E402
from rails.core.verdict import Verdict  # noqa: E402
from rails.log.reader import read_lenient  # noqa: E402
from rails.log.writer import SessionLog  # noqa: E402
from rails.projections.session import session_view  # noqa: E402
from rails.review.html import render_html  # noqa: E402
from rails.review.web.server import ReviewServer  # noqa: E402

KEY = b"k" * 32
WHOLE = 200_000


def row(name, value, unit="ms"):
    print(f"{name:<58} {value:>12,.1f} {unit}")


def timed(job):
    started = time.perf_counter()
    result = job()
    return result, (time.perf_counter() - started) * 1000


def median(job, times=9):
    return statistics.median(timed(job)[1] for _ in range(times))


def rows(name, job, times=15):
    """The best says what the code takes, the median what this machine made of it."""
    took = [timed(job)[1] for _ in range(times)]
    row(f"{name}, best of {times}", min(took))
    row(f"{name}, median", statistics.median(took))


def shapes():
    """The records that the tests of the review use."""
    return importlib.import_module("tests.review.conftest")


def write_log(state, count):
    with mock.patch("os.fdatasync", return_value=None):
        return _write_log(state, count)


def _write_log(state, count):
    make = shapes()
    log = SessionLog.create(state)
    log.append(UnknownEvent("WORKFLOW_START", "bump a", {"task": "bump a", "project": "/p"}))
    number = 0
    while log_length(number) < count:
        number += 1
        turn = (make.call(number), make.answer(), make.formulated(f"t{number}.1"), make.gate(), make.told())
        for kind, details in turn:
            log.append(UnknownEvent(kind, kind, details), "coder", "m")
    log.close()
    return log


def log_length(turns):
    return 1 + 5 * turns


def asking(server, url):
    """Return a function that asks over one connection, as a browser does, and gives the body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    origin = {"Origin": f"http://127.0.0.1:{server.port}", "X-AI-Rails-Token": url.partition("token=")[2]}

    def ask(path, body=None):
        more = {"Content-Type": "application/json"} if body else {}
        for _ in range(2):  # one that was idle for long has been closed
            try:
                connection.request("POST" if body else "GET", path, body, {**origin, **more})
                answer = connection.getresponse()
                break
            except http.client.RemoteDisconnected:
                connection.close()
        content = answer.read()
        assert answer.status == 200, content
        return content

    return ask


SEEN = """() => [...document.querySelectorAll("section.turn")].some((one) => {
  const { top, bottom } = one.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
})"""


def page_figures(state, session_id):
    with ReviewServer(state) as server:
        get = asking(server, server.url)

        _, first = timed(lambda: get(f"/api/session/{session_id}?first=1"))
        row("page: first window, without an index (once)", first)
        chromium_figures(server, session_id, "while the index is built")
        started = time.perf_counter()
        while json.loads(get(f"/api/session/{session_id}?first=1&part"))["read"] < 1:
            time.sleep(0.5)
        row("page: the index was whole after (from here)", time.perf_counter() - started, "s")
        rows("page: last window, with the index", lambda: get(f"/api/session/{session_id}"))
        rows("page: a window in the middle", lambda: get(f"/api/session/{session_id}?first=50000"))
        row("page: search, newest 50", median(lambda: get("/api/search?q=correct")))
        row("page: list of sessions", median(lambda: get("/api/sessions")))
        chromium_figures(server, session_id, "with the index")


def chromium_figures(server, session_id, when):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("Chromium: not measured, Playwright is not installed")
        return
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(server.url)
        page.wait_for_selector(".card")

        def open_session():
            page.goto("about:blank")
            page.goto(f"http://127.0.0.1:{server.port}/#/s/{session_id}")
            page.wait_for_selector("section.turn")

        def jump(place):
            page.evaluate(f"scrollTo({{top: document.body.scrollHeight * {place}, behavior: 'instant'}})")
            page.wait_for_function(SEEN)

        rows(f"Chromium: navigation to first turns shown, {when}", open_session, 9)
        row(f"Chromium: jump to the middle, {when}", timed(lambda: jump(0.5))[1])
        row(f"Chromium: jump to the end, {when}", timed(lambda: jump(1))[1])
        nodes = page.evaluate("document.getElementsByTagName('*').length")
        row("Chromium: elements on the page", nodes, "elements")
        browser.close()


def approval_figures():
    before = b"".join(b"value_%d = %d\n" % (n, n) for n in range(3_000))
    after = before.replace(b"value_1500 = 1500", b"value_1500 = 1501")
    for name, old, new in (("3,000 lines, one changed", before, after), ("3,000 new lines", None, before)):
        changes = ChangeSet((FileChange(WorkspacePath("src/values.py"), old, new),))
        request = request_for_changes("a", "coder", (), Verdict("pass", changes))
        row(f"approval: drawing {name}", median(lambda asked=request: draw_request(asked)))


def decision_figures(state, rounds=20):
    """From the click to the run's own word that it has taken the answer: another process would take as long."""
    request = request_for_changes(
        "t1.1", "coder", (), Verdict("pass", ChangeSet((FileChange(WorkspacePath("a.py"), None, b"a = 1\n"),)))
    )
    log = SessionLog.create(state)
    box = PendingAnswers(state, log.session_id, KEY)
    queue = ApprovalQueue(page_waits=True)
    box.listen()
    queue.open(box, log.append)

    def run():
        for _ in range(rounds):
            decision = queue.decide(request)
            log.append(UnknownEvent("HUMAN_DECISION", "x", {"id": request.id, "answer": decision.answer}))

    thread = threading.Thread(target=run)
    thread.start()
    with ReviewServer(state, key=KEY) as server:
        ask = asking(server, server.url_for("decide"))

        def decide(asked):
            names = {"session": log.session_id, "question": asked["question"], "digest": asked["digest"]}
            ask("/api/decide", json.dumps({**names, "do": "deny", "reason": "no"}).encode())

        took = []
        while len(took) < rounds:
            asked = json.loads(ask(f"/api/session/{log.session_id}/question"))
            if asked["question"]:
                took.append(timed(lambda asked=asked: decide(asked))[1])
        row(f"decision: from the page into the run's log (median of {rounds})", statistics.median(took))
    thread.join()
    log.close()


def report_figures(state):
    """Reports over 200 sessions of ordinary length."""
    path = ROOT / "tests" / "review" / "gallery.py"
    spec = importlib.util.spec_from_file_location("gallery", path)
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    from rails.review.reports.grouped import GROUPS
    from rails.review.session_list import SessionList

    gallery.gallery(state, more=198)
    records = sum(card.records for card in SessionList(state).cards())
    library = SessionList(state)
    for name in GROUPS:
        _, took = timed(lambda name=name: library.report(name))
        row(f"report {name} over 200 sessions, {records:,} records", took)


def pages_alone(counts):
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / ".rails"
            log, _ = timed(lambda state=state, count=count: write_log(state, count))
            print(f"\n{count:,} records, {log.path.stat().st_size / 1e6:,.1f} MB")
            page_figures(state, log.session_id)


def main():
    if sys.argv[1:2] == ["page"]:
        pages_alone([int(count) for count in sys.argv[2:]] or [300, 10_000, 1_000_000])
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    approval_figures()
    with tempfile.TemporaryDirectory() as folder:
        decision_figures(Path(folder) / ".rails")
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / ".rails"
        log, took = timed(lambda: write_log(state, count))
        row(f"writing a session of {count:,} records, unsynced", took / 1000, "s")
        if count > WHOLE:
            print("the rest: not measured, the session is too long to be taken whole")
            page_figures(state, log.session_id)
            return
        (records, _), took = timed(lambda: read_lenient(log.path))
        row("reading it whole", took / 1000, "s")
        view, took = timed(lambda: session_view(records))
        row("folding it into a view", took / 1000, "s")
        page, took = timed(lambda: render_html(view))
        row(f"the HTML file ({len(page) / 1e6:.1f} MB)", took / 1000, "s")
        page_figures(state, log.session_id)
    with tempfile.TemporaryDirectory() as folder:
        report_figures(Path(folder) / ".rails")


if __name__ == "__main__":
    main()
