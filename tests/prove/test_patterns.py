"""Every pattern, on the letters of every other."""

import importlib

import pytest

patterns = importlib.import_module("tests.patterns")


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("package", patterns.PACKAGES)
def test_no_pattern_takes_more_than_linear_time(package):
    assert list(filter(None, (patterns.slow(*row) for row in patterns.index(package)))) == []
