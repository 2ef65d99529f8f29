"""Greetings."""


def greet(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}"
