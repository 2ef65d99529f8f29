"""What the tests of this package share."""

import os

import pytest


@pytest.fixture
def quick_disk(monkeypatch):
    """No waiting for the real disk: a killed process loses nothing that was written."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
