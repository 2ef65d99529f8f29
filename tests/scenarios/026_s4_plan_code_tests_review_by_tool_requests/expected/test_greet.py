"""Tests of greet."""

from greet import greet


def test_a_greeting_ends_with_an_exclamation_mark() -> None:
    """It is loud."""
    assert greet("Ada") == "Hello, Ada!"
