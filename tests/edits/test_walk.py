"""Any walk of two sessions and a human: undo and redo go where the model says, byte for byte, mode for mode."""

import pytest

from .walk import Walk


@pytest.mark.usefixtures("quick_disk")
@pytest.mark.parametrize("seed", range(1))
def test_undo_and_redo_are_one_stack_whatever_happens_between(tmp_path, seed):
    walk = Walk(tmp_path, seed)
    walk.run(120)
    assert min(walk.done.values()) > 0, walk.done
