"""A pin, hash, address or lock that gets looser is a note, which a project may make break."""

import tomllib
from pathlib import Path

import pytest

from rails.gate.gate import Gate
from rails.gate.pins import findings

CASES = tomllib.loads(Path(__file__).with_suffix("").with_name("pins.toml").read_text())["case"]


def filled(text):
    return text and text.replace("COMMIT", "b" * 40).replace("DIGEST", "a" * 64).encode()


def test_what_got_looser_is_said_and_nothing_else():
    for case in CASES:
        sides = (case["file"], filled(case["before"]), filled(case.get("after")))
        assert sorted(found.message for found in findings([sides])) == case["says"], case


@pytest.mark.parametrize(("settings", "status"), [("", "pass"), ('[[gate.mode]]\nmode = "blocking"\n', "fail")])
def test_it_is_a_note_unless_the_project_makes_it_break(project, settings, status):
    (project / ".rails.toml").write_text(settings and f'{settings}rule = "looser-pin"\n')
    (project / "requirements.txt").write_text("a==1\nrequests==2.31.0\n")
    with Gate(project) as gate:
        verdict = gate.check_contents({"requirements.txt": "a==1\nrequests\n"})
    found = [(one.rule, one.line) for one in verdict.findings]
    assert (verdict.status, found) == (status, [("looser-pin", 2)])
