"""Scratch folders are private and gone afterwards."""

from pathlib import Path

from rails.core import scratch


def test_a_scratch_folder_is_private_named_and_gone_afterwards():
    with scratch.scratch_folder("check") as name:
        folder = Path(name)
        assert folder.name.startswith("ai-rails-check-")
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "below").mkdir()
        (folder / "below" / "file").touch()
    assert not folder.exists()


def test_a_kept_folder_stays_until_somebody_removes_it():
    folder = scratch.kept_folder("demo")
    try:
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o777 == 0o700
    finally:
        folder.rmdir()
