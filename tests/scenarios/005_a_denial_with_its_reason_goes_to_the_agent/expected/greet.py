def greet(name: str) -> str:
    """Return a greeting."""
    return f"Hi, {name}"
