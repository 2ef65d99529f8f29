"""Temporary files are kept in scratch/; one that an agent leaves elsewhere is reported."""

import pytest


def told(verdict):
    return [(finding.path, finding.remedy) for finding in verdict.findings if finding.rule == "misplaced-temporary"]


@pytest.mark.parametrize(
    "name", ["notes.tmp", "src/app.py.bak", "temp.txt", "tmp_probe.txt", "data copy.txt", "x.txt~"]
)
def test_c14_18_a_temporary_file_outside_of_scratch_is_a_finding_that_says_where_to_put_it(world, name):
    verdict = world.judge((name, "x\n"))
    short = name.rpartition("/")[2]
    assert told(verdict) == [(name, f"Write it to scratch/{short}, or give it the name of what it is.")]
    assert verdict.status == "fail"


@pytest.mark.parametrize(
    "name", ["scratch/notes.tmp", "src/scratch/temp.txt", "template.txt", "temperature.txt", "copy.txt"]
)
def test_c14_18_in_scratch_and_under_other_names_nothing_is_said(world, name):
    assert told(world.judge((name, "x\n"))) == []


def test_c14_18_a_file_that_was_there_before_is_left_alone(world):
    assert told(world.judge(("notes.tmp", "a\n", "b\n"))) == []
