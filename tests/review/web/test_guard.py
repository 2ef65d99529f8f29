"""Only the page itself, with its token, gets an answer: no rebound name, no other site, no other program."""

import pytest

from rails.review.web.guard import OPEN_PATHS, TOKEN_HEADER, Guard, GuardedRequest

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


@pytest.mark.parametrize("host", HOSTS, ids=repr)
@pytest.mark.parametrize("path", ["/", "/app.js", "/api/sessions"])
def test_any_other_name_is_refused_even_for_the_shell(host, path):
    assert status(path, host) == 400


@pytest.mark.parametrize("host", [HOST, "localhost:8123"])
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


@pytest.mark.parametrize("origin", ORIGINS, ids=repr)
def test_another_origin_is_refused(origin):
    assert status(origin=origin) == 403


FOREIGN = [("cross-site",), ("same-site",), ("",), ("same-origin", "cross-site"), ("Same-Origin",)]
WRONG = [(), ("",), ("s3cret-toke",), ("s3cret-token ",), ("é",), ("s3cret-token", "s3cret-token")]


@pytest.mark.parametrize("site", FOREIGN, ids=repr)
def test_another_site_is_refused_even_for_the_shell(site):
    assert status(site=site) == status("/", site=site) == 403


@pytest.mark.parametrize("site", [(), ("same-origin",), ("none",)])
def test_our_page_and_a_typed_address_are_answered(site):
    assert status(site=site) == 200


@pytest.mark.parametrize("token", WRONG, ids=repr)
def test_without_the_token_only_the_shell_is_answered(token):
    assert status(token=token) == 401
    assert {status(path, token=token) for path in OPEN_PATHS} == {200}


@pytest.mark.parametrize("path", ["", "//", "/app.js/", "/App.js", "/./", "/api", "/session.css/../api/sessions"])
def test_paths_are_compared_exactly(path):
    assert status(path, token=()) == 401


def test_the_token_header_is_ours_alone():
    assert TOKEN_HEADER.startswith("X-")
