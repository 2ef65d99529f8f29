"""A person saves at a call that touches the disk: their bytes are found again, on every road. tests/prove takes all."""

import random

import pytest

from .interleaving import ROADS, PlainStage, Stage, act, cases

pytestmark = pytest.mark.usefixtures("quick_disk")
#: Of the change sets, those whose cases the suite takes some of, and how many of them for each road.
SAMPLED = ("modify", "mode", "modify, create, delete")
MOST = 20


@pytest.mark.parametrize("road", ROADS)
def test_what_a_person_saves_at_any_call_is_in_its_file_or_in_a_place_that_is_named(tmp_path, road):
    slow = road in ("recovery", "undo", "redo")
    for stage in (Stage,) if slow else (Stage, PlainStage):
        top = tmp_path / stage.__name__
        top.mkdir()
        taken = []
        for number, (case, begun) in enumerate(cases(top, road, stage, SAMPLED[:2] if slow else SAMPLED)):
            if number % 53 == 0:
                taken.append((case, begun))
        for number, (case, begun) in enumerate(random.Random(len(road)).sample(taken, min(MOST, len(taken)))):
            assert act(case, top / f"case {number}", begun) == "", str(case)
