"""No pattern takes more than linear time, whatever a model, a file or a program hands it."""

import importlib

import pytest

patterns = importlib.import_module("tests.patterns")


@pytest.mark.parametrize("package", patterns.PACKAGES)
def test_eight_times_as_much_text_takes_at_most_twelve_times_as_long(package):
    """Of its own letters; `make prove` tries those of all others, too."""
    found = [patterns.slow(*row, every=False) for row in patterns.index(package)]
    assert list(filter(None, found)) == []


def test_a_pattern_that_is_not_linear_is_found(monkeypatch):
    monkeypatch.setattr(patterns, "LIMIT", 0.2)  # enough for these, which are quadratic or worse
    kinds = {r"a*b": "finditer", r"\s*x": "search", r"(?:a+)+b": "match", r'"(?:[^"\\]|\\.)*"': "finditer"}
    assert all(patterns.slow(pattern, 0, "x", {use}, every=False) for pattern, use in kinds.items())
    assert not patterns.slow(r"(?<!a)a*+b", 0, "x", {"finditer"})


def test_what_is_said_of_a_pattern_is_said_of_one_that_is_there():
    told = {*patterns.USES, *patterns.BOUNDED}
    packages = {name.split(".")[1] for name in told}
    assert told <= {name for package in packages for _, _, name, _ in patterns.index(package)}
