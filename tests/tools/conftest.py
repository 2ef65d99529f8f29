"""Fixtures of the tools' tests."""

import importlib.util
from pathlib import Path

import pytest


def _loopback_module():
    spec = importlib.util.spec_from_file_location("tools_loopback", Path(__file__).with_name("loopback.py"))
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["tools_loopback"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def serving():
    """``with serving(answer) as server:`` runs a loopback HTTP server."""
    return _loopback_module().serving
