"""Greetings."""


def greet(name: str) -> str:
    """Say hello."""
    return f"Good day, {name}"
