"""Pictures of the page and the terminal, at three sizes in both themes, to be looked at.

python tests/benchmarks/screenshots.py FOLDER     needs Playwright and Chromium; nothing is compared
"""

import importlib
import io
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402

from rails.approval.decision import request_for_changes  # noqa: E402
from rails.approval.pending import PendingAnswers  # noqa: E402
from rails.approval.queue import ApprovalQueue  # noqa: E402
from rails.approval.terminal.screen import Look, draw_request  # noqa: E402
from rails.core.changes import ChangeSet, FileChange  # noqa: E402
from rails.core.events.base import UnknownEvent  # noqa: E402
from rails.core.paths import WorkspacePath  # noqa: E402
from rails.core.verdict import CheckRun, Verdict  # noqa: E402
from rails.log.writer import SessionLog  # noqa: E402
from rails.review.web.server import ReviewServer  # noqa: E402

KEY = b"k" * 32
SIZES = ((1440, 900), (768, 1024), (390, 844))
CELLS = ((140, 44), (100, 32), (60, 40))
HARD = "20261118-091500-aa01"
BEFORE = b"""import sys


def total(items):
    result = 0
    for item in items:
        result += item
    return result
"""
AFTER = BEFORE.replace(b"import sys\n\n\n", b"").replace(b"result += item", b"result += item.price * item.count")


def question():
    change = FileChange(WorkspacePath("src/shop/totals.py"), BEFORE, AFTER)
    checks = (CheckRun("ruff", "0.17.6", 9.0), CheckRun("black", "26.10.1", 21.0))
    return request_for_changes("t1.1", "coder", (), Verdict("pass", ChangeSet((change,)), checks=checks))


def waiting(state):
    """A session that waits for a human, and its log."""
    log = SessionLog.create(state)
    log.append(
        UnknownEvent("WORKFLOW_START", "x", {"task": "count the price of every item", "limits": {"max_tokens": 9_000}})
    )
    log.append(UnknownEvent("LLM_CALL", "x", {"turn": 1}), "coder", "m")
    log.append(UnknownEvent("LLM_RESPONSE", "x", {"text": "Now.", "usage": {"input_tokens": 2_000}}), "coder", "m")
    box = PendingAnswers(state, log.session_id, KEY)
    queue = ApprovalQueue(page_waits=True)
    box.listen()
    queue.open(box, log.append)
    threading.Thread(target=lambda: queue.decide(question()), daemon=True).start()
    return log


def pages(state, folder, browser):
    log = waiting(state)
    time.sleep(0.5)
    with ReviewServer(state, key=KEY) as server:
        addresses = {
            "list": "#/",
            "session": f"#/s/{HARD}",
            "search": "#/q/json",
            "report": "#/r/model",
            "card": f"#/s/{log.session_id}",
        }
        for width, height in SIZES:
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
                page = context.new_page()
                page.goto(server.url_for("decide"))
                page.wait_for_selector(".card")
                for name, address in addresses.items():
                    page.evaluate(f"location.hash = '{address}'")
                    page.wait_for_timeout(900)
                    page.screenshot(path=folder / f"page-{name}-{width}-{scheme}.png")
                context.close()
    log.close()


def drawn(browser, svg, path):
    """Draw an SVG of Rich as a picture."""
    page = browser.new_page()
    page.set_content(f"<body style='margin:0'>{svg}</body>")
    page.locator("svg").first.screenshot(path=path)
    page.close()


def terminal():
    """The question at a terminal, by Rich, which knows the colours of a light and of a dark one."""
    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI
    from rich.text import Text

    for width, _ in CELLS:
        for name, theme in (("light", DEFAULT_TERMINAL_THEME), ("dark", DIMMED_MONOKAI)):
            console = Console(record=True, width=width, file=io.StringIO())
            lines = draw_request(question(), Look(colour=True, width=width, plain=False)).lines
            console.print(Text.from_ansi("\n".join(lines)))
            yield f"terminal-card-{width}-{name}", console.export_svg(title="ai-rails run", theme=theme)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    gallery = importlib.import_module("tests.review.gallery")
    with tempfile.TemporaryDirectory() as made:
        state = Path(made) / ".rails"
        gallery.gallery(state, more=24)
        shots = [*terminal()]
        with sync_playwright() as playwright:
            names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
            binary = next(filter(None, map(shutil.which, names)), None)
            browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
            for name, svg in shots:
                drawn(browser, svg, folder / f"{name}.png")
            pages(state, folder, browser)
            browser.close()
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


if __name__ == "__main__":
    main()
