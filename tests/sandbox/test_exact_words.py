"""How a contained command is bounded, labelled and told."""

import pytest

from rails.core.errors import CheckError
from rails.sandbox import bubblewrap
from rails.sandbox.values import HOST, Label


def test_whether_the_command_was_started_is_read_from_the_report():
    assert bubblewrap.first_process(b'{ "child-pid": 4711, "net-namespace": 1 }\n') == 4711
    assert bubblewrap.first_process(b"") == 0
    bubblewrap.check_status(b'{"child-pid": 1}', "words of the command itself")
    for errors, words in (
        ("one\n  bwrap: no way \n\n", "  bwrap: no way"),
        ("", "there was no message"),
        ("x" * 400, "x" * 300),
    ):
        with pytest.raises(CheckError) as raised:
            bubblewrap.check_status(b'{"exit-code": 1}', errors)
        assert str(raised.value) == f"The sandbox could not be made: {words}. Nothing was run."


def test_a_label_says_what_holds_and_what_does_not():
    labels = [
        Label(3, "bubblewrap"),
        Label(2, "x", ("network",)),
        Label(1, "Landlock", ("names", "files")),
        Label(1, "y"),
        Label(0, why="there is none"),
    ]
    assert [(one.contained, str(one)) for one in labels] == [
        (True, "sandboxed: files, network, processes (bubblewrap)"),
        (False, "sandboxed: files, processes (x). Not sandboxed: network"),
        (False, "sandboxed: network, processes (Landlock). Not sandboxed: names, files"),
        (False, "sandboxed: files, network, processes (y)"),
        (False, "NOT sandboxed: commands run as you, because there is none"),
    ]
    assert Label(2).contained


def test_a_host_is_a_name_perhaps_with_a_star_and_a_port():
    longest = "a" * 251
    for name in ("a", "example.org", "*.example.org", "10.0.0.1:8080", "x:1", "x:65535", longest):
        assert HOST.fullmatch(name), name
    for name in ("", "*", "*.", ".a", "-a", "a b", "a:", "a:123456", "a/b", "*.*.a", "a@b", "é.org", f"{longest}a"):
        assert not HOST.fullmatch(name), name
