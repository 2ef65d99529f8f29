"""ruff prepares what it will be asked, and answers the same as when it is asked one thing after the other."""

import pytest

from rails.core.errors import CheckError
from rails.gate.languages.python.config import RuffSettings
from rails.gate.languages.python.ruff_server import RuffServer
from rails.processes import programs

TEXTS = {
    f"m{n}.py": f"import os\nx{n} = {{'a':{n}}}\n{'y = [ 1,2 ]' if n % 2 else 'print(z)'}\n".encode() for n in range(40)
}


@pytest.fixture
def server(project):
    options = (("lint.select", ("E", "F", "I")),)
    made = RuffServer(programs.find_ruff(), project, RuffSettings(False, options))
    yield made
    made.close()


def answers(server, names):
    return {name: (server.lint(name, TEXTS[name]), server.format(name, TEXTS[name])) for name in names}


def test_answers_are_the_same_in_whatever_order_they_are_asked_for(server):
    one_by_one = answers(server, TEXTS)
    server.expect([(what, name, data) for name, data in TEXTS.items() for what in ("lint", "format")])
    assert answers(server, reversed(TEXTS)) == one_by_one
    assert one_by_one["m1.py"][0]
    assert one_by_one["m1.py"][1] != TEXTS["m1.py"]


def test_several_texts_of_one_path_are_kept_apart(server):
    texts = [b"import os\n", b"x = 1\n", b"print(undefined)\n"]
    alone = [server.lint("a.py", text) for text in texts]
    server.expect([("lint", "a.py", text) for text in texts])
    assert [server.lint("a.py", text) for text in texts] == alone
    assert [[found.rule for found in some] for some in alone] == [["F401"], [], ["F821"]]


def test_what_nobody_asks_for_is_let_go(server):
    server.expect([("lint", name, data) for name, data in TEXTS.items()])
    server.forget()
    assert [found.rule for found in server.lint("a.py", b"import os\n")] == ["F401"]
    assert (server._expected, server._early) == ({}, {})


def test_what_is_not_text_is_not_asked_ahead(server):
    server.expect([("lint", "a.py", b"\xff"), ("lint", "b.py", b"import os\n")])
    assert [found.rule for found in server.lint("b.py", b"import os\n")] == ["F401"]


def test_a_server_that_died_says_so_and_the_gate_goes_on(world, server):
    server._pipe._process.kill()
    server._pipe._process.wait()
    with pytest.raises(CheckError):
        server.expect([("lint", "a.py", b"import os\n" * 50_000)])
    files = [(f"m{n}.py", "print(undefined)\n") for n in range(40)]
    assert {finding.path for finding in world.judge(*files).findings} == {path for path, _ in files}
    for running in world.gate._context.resources["ruff"].servers:
        running._pipe._process.kill()
    more = [(path, "print(another)\n") for path, _ in files]
    assert {finding.path for finding in world.judge(*more).findings} == {path for path, _ in files}
