"""What greet returns."""

from greet import greet


def test_the_name_is_greeted():
    assert greet("Ada") == "Hello, Ada"
