"""Greetings."""


def greet(name: str) -> str:
    """Say hello."""
    return f"こんにちは, {name}"
