def greet(name: str) -> str:
    """Return a morning greeting."""
    return f"Hello, {name}"
