"""Only the page itself, with its token, gets an answer: no rebound name, no other site, no other program."""

import asyncio
from urllib.parse import unquote

from rails.core import limits
from rails.review.web.guard import DECIDES, HEADERS, OPEN_PATHS, TOKEN_HEADER, Guard, GuardedRequest, GuardMiddleware
from tests.rows import walked

GUARD = Guard(8123, "s3cret-token", "dec1de-token")
HOST = "127.0.0.1:8123"


def status(path="/api/sessions", host=(HOST,), origin=(), site=(), token=("s3cret-token",)):
    refused = GUARD.refusal(GuardedRequest(path, host, origin, site, token))
    return refused[0] if refused else 200


HOSTS = [
    (),
    ("",),
    (HOST, HOST),
    ("127.0.0.1",),
    ("127.0.0.1:8124",),
    ("127.0.0.1.:8123",),
    ("127.0.0.1.evil.example:8123",),
    ("evil.example:8123",),
    ("localhost.:8123",),
    ("LOCALHOST:8123",),
    ("[::1]:8123",),
    ("0.0.0.0:8123",),
    ("127.0.0.2:8123",),
    ("127.1:8123",),
    (" 127.0.0.1:8123",),
    ("127.0.0.1:8123, evil.example",),
    ("user@127.0.0.1:8123",),
]


@walked("host", HOSTS)
@walked("path", ["/", "/app.js", "/api/sessions"])
def test_any_other_name_is_refused_even_for_the_shell(host, path):
    assert status(path, host) == 400


@walked("host", [HOST, "localhost:8123"])
def test_our_own_names_are_answered(host):
    assert status(host=(host,)) == 200
    assert status(host=(host,), origin=(f"http://{host}",)) == 200


ORIGINS = [
    ("null",),
    ("",),
    ("http://evil.example",),
    ("https://127.0.0.1:8123",),
    ("http://127.0.0.1:8124",),
    ("http://127.0.0.1",),
    ("http://localhost:8123",),
    (f"http://{HOST}", "http://evil.example"),
    (f"http://{HOST}/",),
]


@walked("origin", ORIGINS)
def test_another_origin_is_refused(origin):
    assert status(origin=origin) == 403


FOREIGN = [("cross-site",), ("same-site",), ("",), ("same-origin", "cross-site"), ("Same-Origin",)]
WRONG = [(), ("",), ("s3cret-toke",), ("s3cret-token ",), ("é",), ("s3cret-token", "s3cret-token")]


@walked("site", FOREIGN)
def test_another_site_is_refused_even_for_the_shell(site):
    assert status(site=site) == status("/", site=site) == 403


@walked("site", [(), ("same-origin",), ("none",)])
def test_our_page_and_a_typed_address_are_answered(site):
    assert status(site=site) == 200


@walked("token", WRONG)
def test_without_the_token_only_the_shell_is_answered(token):
    assert status(token=token) == 401
    assert {status(path, token=token) for path in OPEN_PATHS} == {200}


@walked("path", ["", "//", "/app.js/", "/App.js", "/./", "/api", "/session.css/../api/sessions"])
def test_paths_are_compared_exactly(path):
    assert status(path, token=()) == 401


def test_the_token_header_is_ours_alone():
    assert TOKEN_HEADER.startswith("X-")


class Asked:
    """The middleware around an application that says what reached it."""

    def __init__(self, method="GET", target=b"/api/sessions", **headers):
        self.reached = None
        self.sent = []
        given = {"host": HOST, "x-ai-rails-token": "s3cret-token", **headers}
        path, _, query = target.partition(b"?")
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path.decode()),
            "raw_path": path,
            "query_string": query,
            "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items() if v is not None],
        }
        asyncio.run(GuardMiddleware(self.app, GUARD)(scope, self.receive, self.send))
        self.status = self.sent[0]["status"]
        self.headers = {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    async def app(self, scope, receive, send):
        self.reached = scope
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"x/y")]})
        await send({"type": "http.response.body", "body": b"answer"})

    async def receive(self):
        raise AssertionError("a body was read before it may be")

    async def send(self, message):
        self.sent.append(message)


def posted(**headers):
    given = {"origin": f"http://{HOST}", "content_type": "application/json", "content_length": "2"}
    return Asked("POST", b"/api/decide", **{"x_ai_rails_token": "dec1de-token", **given, **headers})


@walked(
    "asked",
    [
        Asked,
        lambda: Asked(host="evil.example"),
        lambda: Asked("PUT"),
        lambda: Asked(target=b"/x" * 5_000),
        lambda: posted(content_type="text/plain"),
    ],
)
def test_every_answer_has_our_headers_whoever_gives_it(asked):
    answer = asked()
    assert {name.lower(): value for name, value in HEADERS.items()}.items() <= answer.headers.items()
    if answer.status != 200:  # plain words, whatever they repeat of what was asked, and as many as are announced
        words = answer.sent[1]["body"]
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert int(answer.headers["content-length"]) == len(words) > 0


@walked("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "get"])
def test_another_method_reaches_nothing(method):
    answer = Asked(method)
    assert (answer.status, answer.reached) == (501, None)


def test_what_may_be_asked_reaches_the_application_with_the_right_it_has():
    assert Asked().reached[DECIDES] is False
    assert Asked(x_ai_rails_token="dec1de-token", **{"x-ai-rails-token": None}).reached[DECIDES] is True
    assert Asked().headers["content-type"] == "x/y"
    assert "connection" not in Asked().headers


@walked(
    ("target", "status"),
    [
        (b"/api/%73essions", 404),
        (b"/%61pp.js", 404),
        (b"/api/session/..%2fx", 404),
        (b"*", 404),
        (b"http://127.0.0.1:8123/app.js", 404),
        (b"/?" + b"q" * 4_096, 404),
        (b"/app.js?v=1", 200),
    ],
)
def test_a_path_that_is_not_plain_names_nothing(target, status):
    assert Asked(target=target).status == status
    assert (Asked(target=target).reached is not None) == (status == 200)


def test_a_post_is_refused_before_its_body_is_read_and_its_connection_ends():
    good = posted(**{"x-ai-rails-token": None})
    assert good.status == 200
    for wrong in (
        {"content_length": str(limits.PAGE_BODY_BYTES + 1)},
        {"content_length": None},
        {"transfer_encoding": "chunked"},
        {"origin": None},
        {"content_type": "text/plain"},
        {"x_ai_rails_token": "s3cret-token"},  # which only looks
    ):
        answer = posted(**{"x-ai-rails-token": None, **wrong})
        assert answer.reached is None, wrong
        assert answer.status in (403, 411, 413, 415)
        assert answer.headers["connection"] == "close"
