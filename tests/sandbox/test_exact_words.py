"""How a contained command is bounded, labelled and told."""

import pytest

from rails.core.errors import CheckError
from rails.sandbox import bubblewrap
from rails.sandbox.view import HOST, Label, Result, SandboxLimits, SandboxView


def test_whether_the_command_was_started_is_read_from_the_report():
    assert bubblewrap.first_process(b'{ "child-pid": 4711, "net-namespace": 1 }\n') == 4711
    assert bubblewrap.first_process(b"") == 0
    bubblewrap.check_status(b'{"child-pid": 1}', "words of the command itself")
    for errors, words in (
        ("one\n  bwrap: no way \n\n", "  bwrap: no way"),
        ("", "it said nothing"),
        ("x" * 400, "x" * 300),
    ):
        with pytest.raises(CheckError) as raised:
            bubblewrap.check_status(b'{"exit-code": 1}', errors)
        assert str(raised.value) == f"The sandbox could not be made: {words}. Nothing was run."


def test_a_commands_bounds_and_how_it_ended_are_told_exactly(tmp_path):
    assert SandboxLimits() == SandboxLimits(120.0, 4 << 30, 1 << 30, 4 << 30, 512, 1_000_000)
    view = SandboxView(tmp_path)
    assert (view.layer, view.read_only, view.environment, view.folder) == (None, (), {}, ".")
    fine = Result(0, "out")
    assert (fine.err, fine.timed_out, fine.printed, fine.seconds, fine.left_out) == ("", False, 0, 0.0, ())
    assert not fine.changes
    ended = [Result(0, ""), Result(1, ""), Result(-9, ""), Result(0, "", timed_out=True, seconds=1.23456)]
    assert [(one.ok, one.status) for one in ended] == [
        (True, "exit code 0"),
        (False, "exit code 1"),
        (False, "ended by signal 9"),
        (False, "stopped after 1.23 s (the time limit)"),
    ]


def test_a_label_says_what_holds_and_what_does_not():
    labels = [
        Label(3, "bubblewrap"),
        Label(2, "x", ("network",)),
        Label(1, "Landlock", ("names", "files")),
        Label(1, "y"),
        Label(0, why="there is none"),
    ]
    assert [(one.contained, str(one)) for one in labels] == [
        (True, "contained: files, network, processes (bubblewrap)"),
        (False, "contained: files, processes (x). Not contained: network"),
        (False, "contained: network, processes (Landlock). Not contained: names, files"),
        (False, "contained: files, network, processes (y)"),
        (False, "NOT contained: commands run as you, because there is none"),
    ]
    assert Label(2).contained


def test_a_host_is_a_name_perhaps_with_a_star_and_a_port():
    longest = "a" * 251
    for name in ("a", "example.org", "*.example.org", "10.0.0.1:8080", "x:1", "x:65535", longest):
        assert HOST.fullmatch(name), name
    for name in ("", "*", "*.", ".a", "-a", "a b", "a:", "a:123456", "a/b", "*.*.a", "a@b", "é.org", f"{longest}a"):
        assert not HOST.fullmatch(name), name
