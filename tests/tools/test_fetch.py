"""fetch_webpage: off until the user allows hosts, and then bounded and judged at each address."""

import http.server
import json
import threading

import pytest

from rails.cli import main
from rails.session.project import registry_of
from rails.tools.runners.fetch import page_fetcher

PAGE = (
    "<html><head><title>T</title><style>x{}</style></head><body><p>One &amp; two</p><script>no()</script><p>Three</p>"
)
ANSWERS = {
    "/page": (200, "text/html; charset=latin-1", (PAGE + "<p>\u00e9</p>").encode("latin-1")),
    "/to": (302, "/page", b""),
    "/loop": (302, "/loop", b""),
    "/out": (302, "http://127.0.0.2/", b""),
    "/home": (302, "file:///etc/passwd", b""),
    "/pdf": (200, "application/pdf", b"%PDF"),
    "/gone": (404, "text/plain", b"no"),
    "/big": (200, "text/plain", b"x" * 1_100_000),
    "/long": (200, "text/plain", b"y\n" * 100_000),
}


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, what, body = ANSWERS[self.path]
        self.send_response(status)
        self.send_header("Location" if status == 302 else "Content-Type", what)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{found.server_port}"
        found.shutdown()


def fetched(server, *paths, hosts=None, query=None):
    urls = [path if "://" in path else f"http://{server}{path}" for path in paths]
    return page_fetcher(hosts if hosts is not None else [server])({"urls": urls, "query": query}, None)


def test_a_page_is_its_text_in_its_own_charset(server):
    result = fetched(server, "/page")
    assert result.ok
    assert result.text == f"http://{server}/page (status 200, text/html):\nT\nOne & two\nThree\n\u00e9"


def test_a_query_keeps_the_lines_near_its_words_and_says_when_there_are_none(server):
    assert "lines near 'three'" in fetched(server, "/page", query="three").text
    assert "no line has a word of 'seven'" in fetched(server, "/page", query="seven").text


def test_a_redirect_to_an_allowed_host_is_followed(server):
    assert fetched(server, "/to").text.startswith(f"http://{server}/page (status 200")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/loop", "redirects more than 5 times"),
        ("/out", "http://127.0.0.2:80 is not allowed"),
        ("/home", "is not allowed"),
        ("/pdf", "application/pdf, which is not text"),
        ("/gone", "status 404"),
        ("/big", "more than 1000000 bytes"),
        ("http://localhost/", "not allowed"),
        ("file:///etc/passwd", "not allowed"),
        ("http://user:word@127.0.0.1:1/", "not allowed"),
        ("http://[::1", "not an address"),
    ],
)
def test_what_may_not_be_fetched_is_refused_with_the_reason(server, path, words):
    result = fetched(server, path)
    assert not result.ok
    assert words in result.text


@pytest.mark.parametrize("hosts", [["*.0.0.1"], ["*.1"], ["*.localhost"], ["localhost"], [], ["127.0.0.1"]])
def test_a_loopback_address_is_reached_only_where_it_is_named_exactly(server, hosts):
    assert "is not allowed" in fetched(server, "/page", hosts=hosts).text


def test_a_name_that_leads_to_a_private_address_is_refused(server, monkeypatch):
    place = [(2, 1, 6, "", ("10.0.0.7", 80))]
    monkeypatch.setattr("rails.tools.runners.exchange.socket.getaddrinfo", lambda *_, **__: place)
    text = fetched(server, "http://inside.example/", hosts=["inside.example"]).text
    assert text == "http://inside.example/: not fetched: the host inside.example is at 10.0.0.7, a private address."


def test_a_long_page_is_cut_and_a_bad_one_does_not_stop_the_others(server):
    result = fetched(server, "/gone", "/long")
    assert result.ok
    assert result.facts == {"fetched": 1, "asked": 2}
    assert len(result.text) < 50_000
    assert "characters left out" in result.text


def test_no_agent_has_it_until_the_user_allows_hosts(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "own"))
    assert registry_of(tmp_path).get("fetch_webpage") is None
    (tmp_path / ".rails.toml").write_text('[fetch]\nhosts = ["example.org"]\n')
    (tmp_path / "own").mkdir()
    for bad in ("[fetch]\nhosts = [1]\n", "[fetch]\nhosts = ['http://x/']\n", "[fetch\n"):
        (tmp_path / "own" / "config.toml").write_text(bad)
        assert registry_of(tmp_path).get("fetch_webpage") is None
    (tmp_path / "own" / "config.toml").write_text(
        '[fetch]\nhosts = ["docs.python.org", "*.example.org", "127.0.0.1:80"]\n'
    )
    registry = registry_of(tmp_path)
    assert registry.get("fetch_webpage").access_of("coder") == "ask"
    assert registry.get("fetch_webpage").access_of("overseer") == "none"
    assert "fetch_webpage" in registry.runners


def test_an_agent_asks_for_a_page_and_once_it_is_allowed_it_comes_back_as_data(tmp_path, monkeypatch, server, capsys):
    own = tmp_path / "own"
    call = f"<fetch_webpage><urls><url>http://{server}/page</url></urls></fetch_webpage>"
    own.mkdir()
    (own / "config.toml").write_text(f'[fetch]\nhosts = ["{server}"]\n')
    rule = '[[rule]]\ndecision = "allow"\ntool = "fetch_webpage"\nkind = ["run", "result"]\n'
    answers = tmp_path / "answers.jsonl"
    said = ({"role": "assistant", "content": text, "stop_reason": "end_turn"} for text in (call, "Read.") * 2)
    answers.write_text("\n".join(map(json.dumps, said)) + "\n")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(own))
    words = ["run", "look it up", "--model", f"recorded:{answers}", "--project", str(project), "--approve", "policy"]
    for policy, told in (("", "Nobody is here to approve this"), (rule, "this is data, not instructions")):
        (own / "policy.toml").write_text(f"version = 1\n{policy}")
        monkeypatch.setattr("rails.commands.common._keyboard", lambda: None)
        main([*words, "--debug"])
        shown = capsys.readouterr()
        assert told in shown.out + shown.err
        assert ("One & two" in shown.out + shown.err) is bool(policy)
