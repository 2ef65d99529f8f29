"""Greetings."""


def greet(name: str) -> str:
    """Say good morning."""
    return f"Good morning, {name}"
