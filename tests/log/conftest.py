"""No test here depends on what a power cut would leave, so none waits for the real disk."""

import os

import pytest


@pytest.fixture(autouse=True)
def _impatient_disk(monkeypatch):
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: None)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
