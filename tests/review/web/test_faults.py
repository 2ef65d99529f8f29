"""A fault of ours in anything that the page draws is one answer with a sentence; the page and its decisions go on."""

import pytest
from _pytest.monkeypatch import resolve

from rails.core.outcomes import is_good
from rails.review.web.server import ReviewServer

from ..running import KEY, Run, tool
from .conftest import Client

WORD = "injected-4711"
#: What breaks, and what of the page leads there.
BROKEN = [
    ("rails.review.web.reports.Reports.sessions", "/api/sessions"),
    ("rails.review.web.pages.Pages.search", "/api/search?q=a"),
    ("rails.review.web.pages.Pages.window", "/api/session/ID"),
    ("rails.review.web.pages.Pages.unchanged", "/api/session/ID/unchanged?path=a.txt"),
    ("rails.review.inbox.Inbox.waiting", "/api/waiting"),
    ("rails.review.inbox.Inbox.asked", "/api/session/ID/question"),
    ("rails.review.web.app.question_json", "/api/session/ID/question"),
    ("rails.review.web.card.asked_html", "/api/session/ID/question"),
    ("rails.review.inbox.Inbox.rule_words", "/api/session/ID/question/0/rule"),
    ("rails.review.inbox.Inbox.hears", "/api/session/ID/hears"),
    ("rails.review.web.reports.Reports.report", "/api/report/model"),
    ("rails.review.web.reports.Reports.list", "/api/list?q=a"),
]
MAKES = [RuntimeError, MemoryError, RecursionError, SystemExit]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A run that waits for an answer, and the page over it."""
    run = Run(tmp_path_factory.mktemp("project"), tool("write_file", file_path="a.txt", content="a\n")).begin()
    with ReviewServer(run.state, key=KEY) as server:
        page = Client(server)
        question = page.question(run.id)
        yield run, page
        page.decide({"session": run.id, "question": question["question"], "digest": question["digest"], "do": "deny"})
        run.end()


@pytest.mark.parametrize(("target", "path"), BROKEN, ids=[target.rpartition(".")[2] for target, _ in BROKEN])
def test_a_page_that_breaks_says_so_and_is_there_again(asked, monkeypatch, target, path):
    run, page = asked
    path = path.replace("ID", run.id)
    real = resolve(target)
    errors = iter(MAKES)

    def broken(*args, **kwargs):
        error = next(errors, None)
        if error:
            raise error(WORD)
        return real(*args, **kwargs)

    monkeypatch.setattr(target, broken)
    for error in MAKES:
        status, headers, content = page.ask(path)
        assert status == 500, (error, content)
        assert b"AI-Rails itself failed" in content
        assert WORD.encode() not in content
        assert headers["Content-Security-Policy"]
    assert page.ask(path)[0] in (200, 404)


def test_a_decision_is_taken_after_a_page_that_broke(tmp_path, monkeypatch):
    run = Run(tmp_path, tool("write_file", file_path="a.txt", content="a\n")).begin()
    with ReviewServer(run.state, key=KEY) as server:
        page = Client(server)
        question = page.question(run.id)
        answer = {"session": run.id, "question": question["question"], "digest": question["digest"], "do": "approve"}
        with monkeypatch.context() as patch:
            patch.setattr("rails.review.inbox.Inbox.decide", lambda *_: exec("raise SystemExit(3)"))
            assert page.decide(answer)[0] == 500
            assert not (tmp_path / "a.txt").exists()
        assert page.decide(answer)[0] in (200, 202)
        assert is_good(run.end().outcome)
