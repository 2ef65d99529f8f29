def greet(name: str) -> str:
    """Return a greeting."""
    return f"Good morning, {name}"
