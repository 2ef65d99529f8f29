"""The power goes at any call: what was not synced is lost, torn or reordered, and the promise holds."""

import pytest

from rails.edits.apply import apply, recover

from .disks import PowerCut, PowerDisk
from .helpers import tree
from .test_faults import names, start

pytestmark = pytest.mark.usefixtures("quick_disk")

SURVIVORS = 6


@pytest.mark.parametrize("first", range(4))
def test_after_a_power_cut_the_tree_is_all_old_or_all_new(tmp_path, first):
    for cut in (*range(first, 46, 4), None):
        _cut(tmp_path / str(cut), cut)


def _cut(tmp_path, cut):
    project = tmp_path / "project"
    project.mkdir(parents=True)
    signed = start(project)
    before = tree(project)
    disk = PowerDisk(project, cut)
    reported = False
    try:
        apply(signed, project, disk=disk)
        reported = True
    except PowerCut:
        pass
    disk.cut = None
    for seed in range(SURVIVORS):
        survivor = tmp_path / f"survivor{seed}"
        disk.survive(survivor, seed)
        recover(survivor)
        now = tree(survivor)
        assert now == before or now == after(tmp_path), f"survivor {seed}"
        if reported:
            assert now != before, "what was reported done must be on the disk"
        assert not [name for name in names(survivor) if "ai-rails" in name]


def after(folder):
    """The tree as the change wants it, made once per test."""
    project = folder / "after"
    if not project.exists():
        project.mkdir()
        apply(start(project), project)
    return tree(project)
