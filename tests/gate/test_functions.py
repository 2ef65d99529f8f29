"""A Python function of the project as a check: it runs contained, once a human agreed to it as it is."""

import pytest

from rails.core.paths import parse_path
from rails.gate.gate import Gate
from rails.gate.support import executed_config

CHECK = '''"""Checks."""

from pathlib import Path


def verdict(paths):
    """Say what is wrong with the first bad file."""
    print("noise")
    bad = [path for path in paths if "bad" in Path(path).read_text("utf-8")]
    return {"valid": not bad, "reason": f"bad words in {bad[0]}" if bad else ""}


def issues(paths):
    """List every bad line."""
    found = []
    for path in paths:
        for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
            if "bad" in line:
                found.append({"path": path, "line": number, "rule": "W1", "message": "a bad word"})
    return found


def text(paths):
    """Say it in a sentence."""
    return "never good" if paths else {"valid": True}


def crash(paths):
    """Fail."""
    raise RuntimeError("no disk")


def nothing(paths):
    """Forget to answer."""
'''


@pytest.fixture
def judged(world, project, pool):
    """Return a function that judges a text by a function of the project's, agreed to."""

    def judge(function, *files, agree=True):
        world.put("tools/words.py", CHECK)
        own = f'[[gate.command]]\nname = "words"\nfunction = "tools.words:{function}"\n'.encode()
        world.put(".rails.toml", own)
        if agree:
            executed_config.agree(project, own)
        with Gate(project, pool=pool) as gate:
            world.gate = gate
            return world.judge(*files)

    return judge


def told(verdict):
    return [(one.path, one.line, one.rule, one.message) for one in verdict.findings if one.tool == "words"]


def test_c12_12_a_function_answers_with_valid_and_a_reason(judged):
    assert told(judged("verdict", ("a.txt", "bad\n"))) == [(".", 0, "words", "bad words in a.txt")]
    assert judged("verdict", ("a.txt", "fine\n")).status == "pass"


def test_c12_12_a_function_answers_with_a_list_of_findings_and_only_new_ones_count(judged):
    verdict = judged("issues", ("a.txt", "bad\n", "top\nbad\nbad again\n"))
    assert told(verdict) == [("a.txt", 3, "W1", "a bad word")]
    assert verdict.status == "fail"


def test_a_sentence_is_a_reason(judged):
    assert told(judged("text", ("a.txt", "fine\n"))) == [(".", 0, "words", "never good")]


@pytest.mark.parametrize(
    ("function", "words"), [("crash", "no disk"), ("nothing", "must return"), ("absent", "absent")]
)
def test_a_function_that_fails_or_answers_nothing_is_never_a_pass(judged, function, words):
    verdict = judged(function, ("a.txt", "fine\n"))
    assert verdict.status == "error"
    assert any(words in miss.reason for miss in verdict.not_checked)


def test_without_agreement_and_after_a_change_of_the_function_it_does_not_run(judged, world, project):
    verdict = judged("text", ("a.txt", "fine\n"), agree=False)
    assert told(verdict) == []
    assert verdict.status == "error"
    assert judged("text", ("a.txt", "fine\n")).status == "fail"
    world.put("tools/words.py", CHECK + "\nVALUE = 1\n")
    with Gate(project) as gate:
        world.gate = gate
        assert told(world.judge(("a.txt", "fine\n"))) == []


def test_c12_12_files_as_they_are_are_judged_whole(judged, world, project, pool):
    judged("text", ("a.py", '"""A."""\n'))
    world.put("a.py", '"""A."""\n')
    with Gate(project, pool=pool) as gate:
        verdict = gate.check_files([parse_path("a.py")])
    assert [finding.message for finding in verdict.blocking] == ["never good"]
