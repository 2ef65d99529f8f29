"""A person saves at any call that touches the disk, on any road, in any way: thousands of cases."""

import importlib
import os
import random
import shutil

import pytest

interleaving = importlib.import_module("tests.edits.interleaving")

#: Of the cases of a road, how many are taken: recovery alone has hundreds of thousands.
MOST = int(os.environ.get("AI_RAILS_INTERLEAVINGS", "3000"))


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("stage", ["Stage", "PlainStage"])
@pytest.mark.parametrize("road", interleaving.ROADS)
def test_nothing_of_a_person_is_lost_at_any_call(tmp_path, monkeypatch, road, stage):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    (tmp_path / "begun").mkdir()
    found = list(interleaving.cases(tmp_path / "begun", road, getattr(interleaving, stage)))
    wrong = []
    for case, begun in random.Random(1).sample(found, min(MOST, len(found))):
        top = tmp_path / "case"
        top.mkdir()
        if problem := interleaving.act(case, top, begun):
            wrong.append(f"{case}: {problem}")
        shutil.rmtree(top)
    assert wrong == []
